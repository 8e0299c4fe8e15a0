/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * watch.c - polls all sessions' sockets for their end, and resumes
 *
 * It reads nothing from a socket that is alive, so it takes no answer away from
 * the threads that wait.  It starts with the first session, ends with the last,
 * and takes no signal.  Its lock comes before a session's.
 *
 * In a forked child there is no such thread and there are no sessions.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/fork.h"
#include "lib/resume.h"
#include "lib/session.h"
#include "lib/watch.h"
#include "lib/wire.h"

#define FEW 32			/* polled when there is no memory for more */
#define FEW_NSEC 100000000ull

LIST_HEAD(session_list, nfswb);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session_list sessions = LIST_HEAD_INITIALIZER(sessions);
static bool running;
static _Atomic int kick_fd = -1;	/* once made, it stays */

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void
in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	LIST_INIT(&sessions);
	running = false;
	if (kick_fd >= 0)
		close(kick_fd);
	kick_fd = -1;
	fork_count();
}

static int atfork_error;

static void
register_handlers(void)
{
	atfork_error = pthread_atfork(before_fork, in_parent, in_child);
}

int
watch_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
	return -atfork_error;
}

void
watch_kick(void)
{
	int fd = atomic_load(&kick_fd);

	if (fd >= 0)
		(void)eventfd_write(fd, 1);
}

/* A session that is up: has its daemon gone? */
static void
look(struct nfswb *wb)
{
	struct pollfd p = { .fd = wb->fd, .events = POLLRDHUP };

	if (poll(&p, 1, 0) > 0)
		wire_receive(wb);
}

/* What to wait for, once all that can be done now is done. */
static struct pollfd
attend(struct nfswb *wb, uint64_t *until)
{
	struct pollfd p = { .fd = -1 };

	if (wb->link == LINK_UP)
		look(wb);
	link_resume(wb);
	if (wb->link == LINK_UP)
		p = (struct pollfd){ .fd = wb->fd, .events = POLLRDHUP };
	else
		link_poll(wb, &p, until);
	return p;
}

/* Is anything in its memory that only the next instance can save? */
static bool
holds_data(struct nfswb *wb)
{
	const struct shm_view *v = &wb->shm;
	uint32_t i;

	if (wb->head != atomic_load(&v->control->tail))
		return true;
	for (i = 0; i < v->layout.list_nr; i++)
		if (atomic_load(&v->list[i].seq))
			return true;
	return false;
}

static bool
is_over(struct nfswb *wb)
{
	return wb->gone && (wb->link == LINK_UP || wb->link == LINK_DEAD ||
			    !holds_data(wb));
}

struct poll_set {
	struct pollfd *p, few[FEW];
	nfds_t room, nr;
	uint64_t until;
};

static void
poll_set_add(struct poll_set *s, struct pollfd p)
{
	struct pollfd *more;

	if (p.fd < 0)
		return;
	if (s->nr == s->room) {
		more = realloc(s->p == s->few ? NULL : s->p,
			       (s->room * 2) * sizeof p);
		if (!more) {
			s->until = clock_now() + FEW_NSEC;
			return;
		}
		if (s->p == s->few)
			memcpy(more, s->few, sizeof s->few);
		s->p = more;
		s->room *= 2;
	}
	s->p[s->nr++] = p;
}

/* False: there is nothing left to watch. */
static bool
attend_all(struct poll_set *s)
{
	struct nfswb *wb, *next;
	struct pollfd p;
	bool over;

	s->nr = 0;
	s->until = NEVER;
	poll_set_add(s, (struct pollfd){ .fd = kick_fd, .events = POLLIN });
	for (wb = LIST_FIRST(&sessions); wb; wb = next) {
		next = LIST_NEXT(wb, watched);
		session_lock(wb);
		p = attend(wb, &s->until);
		over = is_over(wb);
		session_unlock(wb);
		if (over) {
			LIST_REMOVE(wb, watched);
			session_free(wb);
		} else {
			poll_set_add(s, p);
		}
	}
	return !LIST_EMPTY(&sessions);
}

static void
poll_all(struct poll_set *s)
{
	uint64_t now = clock_now(), wait;
	struct timespec t;
	eventfd_t n;

	wait = s->until > now ? s->until - now : 0;
	t.tv_sec = (time_t)(wait / 1000000000);
	t.tv_nsec = (long)(wait % 1000000000);
	if (ppoll(s->p, s->nr, s->until == NEVER ? NULL : &t, NULL) > 0 &&
	    s->p[0].revents)
		(void)eventfd_read(s->p[0].fd, &n);
}

static void *
watch_main(void *arg)
{
	struct poll_set s = { .room = FEW };
	bool more;

	(void)arg;
	pthread_setname_np(pthread_self(), "nfswb");
	s.p = s.few;
	for (;;) {
		pthread_mutex_lock(&lock);
		more = attend_all(&s);
		if (!more)
			running = false;
		pthread_mutex_unlock(&lock);
		if (!more)
			break;
		poll_all(&s);
	}
	if (s.p != s.few)
		free(s.p);
	return NULL;
}

static int
start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int err;

	if (kick_fd < 0)
		kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kick_fd < 0)
		return -errno;
	err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, watch_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

int
watch_add(struct nfswb *wb)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&sessions, wb, watched);
	if (!running) {
		err = start();
		running = err == 0;
		if (err < 0)
			LIST_REMOVE(wb, watched);
	}
	pthread_mutex_unlock(&lock);
	if (err == 0)
		watch_kick();
	return err;
}

void
watch_remove(struct nfswb *wb)
{
	bool over;

	pthread_mutex_lock(&lock);
	session_lock(wb);
	wb->gone = true;
	over = is_over(wb);
	session_unlock(wb);
	if (over) {
		LIST_REMOVE(wb, watched);
		session_free(wb);
	}
	pthread_mutex_unlock(&lock);
	watch_kick();
}
