/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keep.c - the sessions' memory in the hands of who outlives us
 *
 *	made ── put ──▶ kept ── everything on stable storage ──▶ dropped
 *	                 │ we died, or are executed anew
 *	                 ▼
 *	               came ── its client resumes, or is dead ──▶ adopted, kept on
 *	                 └──── no such session, or not as it was made ──▶ refused
 *
 * Who hands them to us is believed as little as a client: a name may be anything,
 * and a descriptor too.  Believed is what has the size and the seals that we gave
 * it, and belongs to a session of the table of tokens.
 *
 * A session's two have names of their own, session-17-control and -data, so that
 * neither their order nor what is in them decides which is which.
 */
#include "daemon/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/inherit.h"

enum half { CONTROL, DATA };

static const char *const half_name[] = { "control", "data" };

struct kept {
	LIST_ENTRY(kept) link;
	uint64_t session;
	int fd[2];			/* by half; -1: it did not come */
};

struct keep {
	struct keep_hooks hooks;
	void *arg;
	LIST_HEAD(, kept) came;
};

struct keep *
keep_new(const struct keep_hooks *hooks, void *arg)
{
	struct keep *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	k->hooks = *hooks;
	k->arg = arg;
	LIST_INIT(&k->came);
	return k;
}

static void
forget(struct kept *e)
{
	int h;

	LIST_REMOVE(e, link);
	for (h = CONTROL; h <= DATA; h++)
		if (e->fd[h] >= 0)
			close(e->fd[h]);
	free(e);
}

void
keep_free(struct keep *k)
{
	if (!k)
		return;
	while (!LIST_EMPTY(&k->came))
		forget(LIST_FIRST(&k->came));
	free(k);
}

static struct kept *
find(const struct keep *k, uint64_t session)
{
	struct kept *e;

	if (k)
		LIST_FOREACH(e, &k->came, link)
			if (e->session == session)
				return e;
	return NULL;
}

/* --- names --- */

static void
make_name(char name[64], uint64_t session, enum half h)
{
	snprintf(name, 64, "session-%" PRIu64 "-%s", session, half_name[h]);
}

static bool
read_name(const char *name, uint64_t *session, enum half *h)
{
	char again[64];

	if (sscanf(name, "session-%" SCNu64, session) != 1)
		return false;
	for (*h = CONTROL; *h <= DATA; (*h)++) {
		make_name(again, *session, *h);
		if (!strcmp(name, again))
			return true;
	}
	return false;
}

/* --- what came --- */

static struct kept *
kept_new(struct keep *k, uint64_t session)
{
	struct kept *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->session = session;
	e->fd[CONTROL] = e->fd[DATA] = -1;
	LIST_INSERT_HEAD(&k->came, e, link);
	return e;
}

int
keep_take(struct keep *k, struct inherit *in)
{
	uint64_t session;
	enum half h;
	struct kept *e;
	unsigned i;

	for (i = 0; i < in->nr; i++) {
		if (in->each[i].fd < 0 ||
		    !read_name(in->each[i].name, &session, &h))
			continue;
		e = find(k, session);
		if (!e)
			e = kept_new(k, session);
		if (!e)
			return -ENOMEM;
		if (e->fd[h] >= 0)	/* two of one name: neither is sure */
			close(e->fd[h]);
		e->fd[h] = in->each[i].fd;
		in->each[i].fd = -1;
	}
	return 0;
}

static void
refuse(struct keep *k, struct kept *e, const char *why)
{
	log_warning("memory that was kept for session %" PRIu64 " is refused: "
		    "%s", e->session, why);
	keep_drop(k, e->session);
	forget(e);
}

bool
keep_has(struct keep *k, uint64_t session, uint64_t data_bytes)
{
	struct kept *e = find(k, session);
	const char *why;

	if (!e)
		return false;
	if (e->fd[CONTROL] < 0 || e->fd[DATA] < 0)
		why = "one half of it did not come";
	else
		why = memory_not_ours(e->fd[CONTROL], e->fd[DATA], data_bytes);
	if (!why)
		return true;
	refuse(k, e, why);
	return false;
}

static bool
same_file(int a, int b)
{
	struct stat x, y;

	/* what is not in memory may have its fstat wait for a client */
	return fcntl(a, F_GET_SEALS) >= 0 && fcntl(b, F_GET_SEALS) >= 0 &&
	       !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

bool
keep_is(const struct keep *k, uint64_t session, int control_fd, int data_fd)
{
	const struct kept *e = find(k, session);

	return e && same_file(e->fd[CONTROL], control_fd) &&
	       same_file(e->fd[DATA], data_fd);
}

int
keep_adopt(struct keep *k, uint64_t session, uint64_t data_bytes,
	   struct memory *m, const char **why)
{
	struct kept *e = find(k, session);
	int err;

	*why = "its memory was not kept";
	if (!e)
		return -ENOENT;
	err = memory_adopt(m, e->fd[CONTROL], e->fd[DATA], data_bytes, why);
	if (err)
		return err;
	e->fd[CONTROL] = e->fd[DATA] = -1;
	forget(e);
	return 0;
}

void
keep_refuse_rest(struct keep *k, bool (*known)(void *arg, uint64_t session),
		 void *arg)
{
	struct kept *e, *next;

	if (!k)
		return;
	for (e = LIST_FIRST(&k->came); e; e = next) {
		next = LIST_NEXT(e, link);
		if (!known(arg, e->session))
			refuse(k, e, "no such session is known");
	}
}

/* --- what is to be kept --- */

void
keep_put(struct keep *k, uint64_t session, const struct memory *m)
{
	char name[64];

	if (!k || m->control_fd < 0)
		return;
	make_name(name, session, CONTROL);
	k->hooks.put(k->arg, name, m->control_fd);
	make_name(name, session, DATA);
	k->hooks.put(k->arg, name, m->data_fd);
}

void
keep_drop(struct keep *k, uint64_t session)
{
	char name[64];
	enum half h;

	if (!k)
		return;
	for (h = CONTROL; h <= DATA; h++) {
		make_name(name, session, h);
		k->hooks.drop(k->arg, name);
	}
}

static int
leave(struct inherit *in, uint64_t session, const int fd[2])
{
	char name[64];
	enum half h;
	int err = 0;

	for (h = CONTROL; h <= DATA && !err; h++) {
		make_name(name, session, h);
		err = inherit_add(in, name, fd[h]);
	}
	return err;
}

int
keep_leave(struct inherit *in, uint64_t session, const struct memory *m)
{
	const int fd[2] = { m->control_fd, m->data_fd };

	return m->control_fd < 0 ? 0 : leave(in, session, fd);
}

int
keep_leave_rest(const struct keep *k, struct inherit *in)
{
	const struct kept *e;
	int err = 0;

	LIST_FOREACH(e, &k->came, link)
		if (!err && e->fd[CONTROL] >= 0 && e->fd[DATA] >= 0)
			err = leave(in, e->session, e->fd);
	return err;
}
