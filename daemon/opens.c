/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * opens.c - which sessions have a file open, and who is told
 *
 * While only one session has a file open, the order of its ring is order
 * enough.  When a second one opens it, all of them get the file's shared flag:
 * from then on a write returns only when its entry was taken.  The flag is
 * stored before the rings are drained and the open is answered.
 */
#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "common/crash.h"
#include "daemon/session_impl.h"

struct open_file {
	struct wb_file *file;		/* the key */
	LIST_HEAD(, session_file) users;
	bool shared;
	UT_hash_handle hh;
};

static void
tell(struct session_file *sf, bool shared)
{
	struct memory *m = &sf->session->memory;

	if (!m->data_bytes)
		return;
	crash_point();
	atomic_store_explicit(&m->view.shared[sf->number], shared,
			      memory_order_seq_cst);
}

static void
set_shared(struct open_file *of, bool shared)
{
	struct session_file *sf;

	of->shared = shared;
	LIST_FOREACH(sf, &of->users, link)
		tell(sf, shared);
	atomic_thread_fence(memory_order_seq_cst);
}

static struct open_file *
find(struct sessions *o, struct wb_file *file)
{
	struct open_file *of;

	HASH_FIND_PTR(o->opens, &file, of);
	return of;
}

int
opens_add(struct session_file *sf)
{
	struct sessions *o = sf->session->owner;
	struct open_file *of = find(o, sf->file);
	bool second;

	if (!of) {
		of = calloc(1, sizeof *of);
		if (!of)
			return -ENOMEM;
		of->file = sf->file;
		LIST_INIT(&of->users);
		HASH_ADD_PTR(o->opens, file, of);
		if (!of->hh.tbl) {
			free(of);
			return -ENOMEM;
		}
	}
	second = !LIST_EMPTY(&of->users) &&
		 LIST_FIRST(&of->users)->session != sf->session;
	LIST_INSERT_HEAD(&of->users, sf, link);
	sf->open = of;
	if (second && !of->shared)
		set_shared(of, true);
	else
		tell(sf, of->shared);
	return 0;
}

static bool
one_session_only(const struct open_file *of)
{
	const struct session *s = LIST_FIRST(&of->users)->session;
	const struct session_file *sf;

	LIST_FOREACH(sf, &of->users, link)
		if (sf->session != s)
			return false;
	return true;
}

void
opens_remove(struct session_file *sf)
{
	struct open_file *of = sf->open;

	if (!of)
		return;
	sf->open = NULL;
	LIST_REMOVE(sf, link);
	tell(sf, false);
	if (LIST_EMPTY(&of->users)) {
		HASH_DEL(sf->session->owner->opens, of);
		free(of);
	} else if (of->shared && one_session_only(of)) {
		set_shared(of, false);
	}
}

bool
opens_has(struct session *s, struct wb_file *file)
{
	struct open_file *of = find(s->owner, file);
	struct session_file *sf;

	if (of)
		LIST_FOREACH(sf, &of->users, link)
			if (sf->session == s)
				return true;
	return false;
}

bool
opens_drain(struct sessions *o, struct wb_file *file)
{
	struct open_file *of = find(o, file);
	struct session_file *sf;
	bool all = true;

	if (!of)
		return true;
	LIST_FOREACH(sf, &of->users, link)
		all &= drain_all(sf->session);
	return all;
}

bool
opens_drain_every(struct sessions *o)
{
	struct session *s;
	bool all = true;

	TAILQ_FOREACH(s, &o->list, link)
		all &= drain_all(s);
	return all;
}
