/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resolve.c - getaddrinfo in a short-lived thread of its own
 *
 *	loop: resolve_start ── thread: getaddrinfo
 *	                            │ one struct answer
 *	loop: answer_ready  ◄─ socket pair
 *
 * The two share nothing but the socket pair: the thread owns a copy of the name
 * and its end of the pair, so that a cancelled lookup may end whenever it
 * likes.  A literal never starts a thread.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/resolve.h"

struct answer {
	int gai;			/* getaddrinfo's result */
	int err;			/* errno, for EAI_SYSTEM */
	unsigned nr;
	struct resolved addr[RESOLVE_MAX];
};

/* What the thread owns. */
struct lookup {
	int fd;
	char host[];
};

struct resolve {
	struct loop *loop;
	struct loop_deferred *deferred;	/* a literal: answered at once */
	struct loop_watch *watch;
	int fd;
	resolve_fn *done;
	void *arg;
	struct answer answer;
	char host[];
};

/* Takes over the numeric form of one address. */
static bool
resolved_set(struct resolved *r, const struct sockaddr *addr, socklen_t len)
{
	memset(r, 0, sizeof *r);
	if (len > sizeof r->addr)
		return false;
	memcpy(&r->addr, addr, len);
	r->addr_len = len;
	return !getnameinfo(addr, len, r->literal, sizeof r->literal, NULL, 0,
			    NI_NUMERICHOST);
}

static void
ask(const char *host, int flags, struct answer *a)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = flags };
	struct addrinfo *list = NULL, *i;

	a->nr = 0;
	a->gai = getaddrinfo(host, NULL, &hints, &list);
	a->err = errno;
	if (a->gai)
		return;
	for (i = list; i && a->nr < RESOLVE_MAX; i = i->ai_next)
		if ((i->ai_family == AF_INET || i->ai_family == AF_INET6) &&
		    resolved_set(&a->addr[a->nr], i->ai_addr, i->ai_addrlen))
			a->nr++;
	freeaddrinfo(list);
}

static void *
lookup_run(void *arg)
{
	struct lookup *l = arg;
	struct answer a;
	ssize_t n;

	memset(&a, 0, sizeof a);
	ask(l->host, AI_ADDRCONFIG, &a);
	/* One datagram, whole or not at all; nobody may be there any more. */
	n = send(l->fd, &a, sizeof a, MSG_NOSIGNAL);
	(void)n;
	close(l->fd);
	free(l);
	return NULL;
}

/* All signals are blocked in the thread: they are the loop's. */
static int
lookup_start(const char *host, int fd)
{
	struct lookup *l = malloc(sizeof *l + strlen(host) + 1);
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!l)
		return -ENOMEM;
	l->fd = fd;
	strcpy(l->host, host);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, lookup_run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		free(l);
	return -err;
}

static void
resolve_free(struct resolve *r)
{
	loop_watch_free(r->loop, r->watch);
	loop_deferred_free(r->loop, r->deferred);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static int
gai_errno(const struct answer *a)
{
	switch (a->gai) {
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return a->err ? -a->err : -EIO;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -EHOSTUNREACH;
	}
}

static void
answer_tell(struct resolve *r)
{
	const struct answer *a = &r->answer;
	const char *why = a->gai ? gai_strerror(a->gai) : "it has no address";
	char text[512];

	if (!a->gai && a->nr) {
		r->done(r->arg, 0, NULL, a->addr, a->nr);
		return;
	}
	if (a->gai == EAI_SYSTEM)
		why = strerror(a->err);
	snprintf(text, sizeof text, "cannot find server '%.200s': %s; is the "
		 "name right, and does name resolution work?", r->host, why);
	r->done(r->arg, a->gai ? gai_errno(a) : -EHOSTUNREACH, text, NULL, 0);
}

static void
answer_deferred(void *arg)
{
	struct resolve *r = arg;

	answer_tell(r);
	resolve_free(r);
}

static void
answer_ready(void *arg, int fd, unsigned events)
{
	struct resolve *r = arg;
	ssize_t n = recv(fd, &r->answer, sizeof r->answer, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof r->answer) {
		r->answer.gai = EAI_SYSTEM;
		r->answer.err = EIO;
	}
	answer_tell(r);
	resolve_free(r);
}

int
resolve_literal(const char *host, struct resolved *r)
{
	struct answer a;

	ask(host, AI_NUMERICHOST, &a);
	if (a.gai == EAI_MEMORY)
		return -ENOMEM;
	if (a.gai || !a.nr)
		return -EINVAL;
	*r = a.addr[0];
	return 0;
}

static bool
start_thread(struct resolve *r)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return false;
	r->fd = pair[0];
	r->watch = loop_watch(r->loop, r->fd, LOOP_READ, answer_ready, r);
	if (!r->watch || lookup_start(r->host, pair[1])) {
		close(pair[1]);
		return false;
	}
	return true;
}

struct resolve *
resolve_start(struct loop *loop, const char *host, resolve_fn *done, void *arg)
{
	struct resolve *r = calloc(1, sizeof *r + strlen(host) + 1);

	if (!r)
		return NULL;
	r->loop = loop;
	r->fd = -1;
	r->done = done;
	r->arg = arg;
	strcpy(r->host, host);
	if (!resolve_literal(host, &r->answer.addr[0])) {
		r->answer.nr = 1;
		r->deferred = loop_deferred(loop, answer_deferred, r);
		if (r->deferred) {
			loop_defer(loop, r->deferred);
			return r;
		}
	} else if (start_thread(r)) {
		return r;
	}
	resolve_free(r);
	return NULL;
}

void
resolve_cancel(struct resolve *r)
{
	if (r)
		resolve_free(r);
}

void
resolve_set_port(struct sockaddr_storage *addr, unsigned port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port =
			htons((uint16_t)port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
}
