/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * closer.c - closes descriptors whose close may take as long as a client likes
 *
 * The last close of a descriptor can wait: for the answer of a FUSE server, for
 * the data of a socket that lingers.  Who sends such a one and closes its own
 * leaves the last close to us, be it our close(), or the kernel's when it throws
 * away what nobody received.  So every descriptor that comes is received, and
 * closed by a thread made for this, that shares nothing with the loop but a list.
 * A thread that hangs is one of a few; more are made while there are any left.
 *
 * Where all of them hang, what is to be closed stays open.  Where memory is out,
 * entries come from a few that are always there; where no thread can be made it
 * waits for the next that is.  These threads end with the process; one that waits
 * for a FUSE server keeps the process from vanishing until that server answers or
 * dies.
 */
#include "daemon/closer.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS_MAX 64
#define SPARE_NR    64		/* entries for when memory is out */

struct entry {
	STAILQ_ENTRY(entry) link;
	int fd;
	bool spare, used;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static STAILQ_HEAD(, entry) entries = STAILQ_HEAD_INITIALIZER(entries);
static unsigned thread_nr;
static struct entry spare[SPARE_NR];

/* With the list locked.  NULL: memory is out, and the spare ones are used. */
static struct entry *
entry_new(void)
{
	struct entry *e = calloc(1, sizeof *e);
	unsigned i;

	for (i = 0; !e && i < SPARE_NR; i++)
		if (!spare[i].used)
			e = &spare[i];
	if (e && i)
		e->spare = e->used = true;
	return e;
}

static void
entry_free(struct entry *e)
{
	if (!e->spare) {
		free(e);
		return;
	}
	pthread_mutex_lock(&mutex);
	e->used = false;
	pthread_mutex_unlock(&mutex);
}

/* NULL: nothing is left, and this thread is one less. */
static struct entry *
next(void)
{
	struct entry *e;

	pthread_mutex_lock(&mutex);
	e = STAILQ_FIRST(&entries);
	if (e)
		STAILQ_REMOVE_HEAD(&entries, link);
	else
		thread_nr--;
	pthread_mutex_unlock(&mutex);
	return e;
}

static void *
run(void *arg)
{
	struct entry *e;

	while ((e = next())) {
		close(e->fd);
		entry_free(e);
	}
	return arg;
}

/* With the list locked.  Signals are the loop's. */
static void
start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, &attr, run, NULL))
		thread_nr++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void
closer_close(int fd)
{
	struct entry *e;

	pthread_mutex_lock(&mutex);
	e = entry_new();
	if (e) {		/* else left open: better than waiting */
		e->fd = fd;
		STAILQ_INSERT_TAIL(&entries, e, link);
	}
	if (thread_nr < THREADS_MAX)
		start_thread();
	pthread_mutex_unlock(&mutex);
}

/* Once it is shut down nothing more can come; what is there may hold
   descriptors. */
void
closer_hang_up(int fd)
{
	char byte;

	shutdown(fd, SHUT_RDWR);
	if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		closer_close(fd);
	else
		close(fd);
}
