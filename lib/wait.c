/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wait.c - leader and followers
 *
 * Of the threads that wait on a session one polls the socket, for all: the
 * reader.  The others sleep on a condition of their own and are woken one by
 * one, for what each waits for.  When the reader has what it came for, it
 * passes the role on.
 *
 * Under NFSWB_INTR the others sleep in poll on an eventfd instead, since a
 * condition does not end by a signal.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/resume.h"
#include "lib/session.h"

#define NSEC 1000000000ull

uint64_t
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC + (uint64_t)t.tv_nsec;
}

uint64_t
deadline_of(struct nfswb *wb)
{
	int msec = atomic_load_explicit(&wb->timeout_msec,
					memory_order_relaxed);

	return msec < 0 ? NEVER : clock_now() + (uint64_t)msec * 1000000;
}

static struct timespec
to_timespec(uint64_t nsec)
{
	return (struct timespec){ .tv_sec = (time_t)(nsec / NSEC),
				  .tv_nsec = (long)(nsec % NSEC) };
}

/* ppoll without the lock, until a point in time; 0, or -EINTR. */
static int
poll_until(struct nfswb *wb, struct pollfd *p, nfds_t nr, uint64_t until)
{
	uint64_t now = clock_now();
	struct timespec t = to_timespec(until > now ? until - now : 0);
	int rc;

	session_unlock(wb);
	rc = ppoll(p, nr, until == NEVER ? NULL : &t, NULL);
	if (rc < 0)
		rc = -errno;
	session_lock(wb);
	return rc == -EINTR ? rc : 0;
}

static void
eventfd_reset(int fd)
{
	eventfd_t n;

	(void)eventfd_read(fd, &n);
}

void
wait_begin(struct nfswb *wb, struct waiter *w, unsigned mask)
{
	pthread_condattr_t attr;

	w->mask = mask | WAKE_LINK;
	w->woken = false;
	w->fd = wb->flags & NFSWB_INTR ?
		eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	TAILQ_INSERT_TAIL(&wb->waiters, w, link);
}

void
wait_end(struct nfswb *wb, struct waiter *w)
{
	struct waiter *next;

	TAILQ_REMOVE(&wb->waiters, w, link);
	pthread_cond_destroy(&w->cond);
	if (w->fd >= 0)
		close(w->fd);
	next = TAILQ_FIRST(&wb->waiters);
	if (next && !wb->reader)
		wake_waiter(wb, next);
}

/* The reader's turn: polls for all, and acts on what came. */
static int
read_for_all(struct nfswb *wb, struct waiter *w, uint64_t deadline)
{
	struct pollfd p[2];
	uint64_t until = NEVER;
	int rc;

	link_poll(wb, &p[0], &until);
	p[1] = (struct pollfd){ .fd = wb->wake_fd, .events = POLLIN };
	wb->reader = w;
	rc = poll_until(wb, p, 2, until < deadline ? until : deadline);
	wb->reader = NULL;
	if (rc == 0 && p[1].revents)
		eventfd_reset(wb->wake_fd);
	link_step(wb);
	return rc;
}

static int
sleep_until_woken(struct nfswb *wb, struct waiter *w, uint64_t deadline)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	struct timespec t = to_timespec(deadline);
	int rc;

	if (w->fd >= 0) {
		rc = poll_until(wb, &p, 1, deadline);
		if (rc == 0 && p.revents)
			eventfd_reset(w->fd);
		return rc;
	}
	if (deadline == NEVER)
		pthread_cond_wait(&w->cond, &wb->lock);
	else
		pthread_cond_timedwait(&w->cond, &wb->lock, &t);
	return 0;
}

int
wait_more(struct nfswb *wb, struct waiter *w, uint64_t deadline)
{
	int rc;

	while (!w->woken) {
		if (deadline != NEVER && clock_now() >= deadline)
			return -ETIMEDOUT;
		if (!wb->reader && link_needs_reader(wb))
			rc = read_for_all(wb, w, deadline);
		else
			rc = sleep_until_woken(wb, w, deadline);
		if (rc == -EINTR && wb->flags & NFSWB_INTR && !w->woken)
			return -EINTR;
	}
	w->woken = false;
	return 0;
}

void
wake_waiter(struct nfswb *wb, struct waiter *w)
{
	if (w->woken)
		return;
	w->woken = true;
	if (w == wb->reader)
		(void)eventfd_write(wb->wake_fd, 1);
	else if (w->fd >= 0)
		(void)eventfd_write(w->fd, 1);
	else
		pthread_cond_signal(&w->cond);
}

void
wake(struct nfswb *wb, unsigned mask)
{
	struct waiter *w;

	TAILQ_FOREACH(w, &wb->waiters, link)
		if (w->mask & mask)
			wake_waiter(wb, w);
}

int
turn_take(struct nfswb *wb, bool *taken, uint64_t deadline)
{
	struct waiter w;
	int rc = 0;

	if (!*taken) {
		*taken = true;
		return 0;
	}
	wait_begin(wb, &w, WAKE_TURN);
	while (*taken && !(rc = wait_more(wb, &w, deadline)))
		;
	wait_end(wb, &w);
	if (rc < 0)
		return rc;
	*taken = true;
	return 0;
}

void
turn_end(struct nfswb *wb, bool *taken)
{
	*taken = false;
	wake(wb, WAKE_TURN);
}
