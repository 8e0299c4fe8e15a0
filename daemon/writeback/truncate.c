/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* truncate.c - see truncate.h */
#include <errno.h>
#include <stdlib.h>

#include "daemon/writeback/age.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/truncate.h"
#include "daemon/writeback/writepages.h"

static void
cut_held(struct wb_file *f, struct truncation *t)
{
	struct extent *e, *next;

	TAILQ_FOREACH_SAFE(e, &f->held, link, next) {
		if (e->seq > t->seq || extent_end(e) <= t->size)
			continue;
		if (e->offset < t->size)
			extent_trim(e, t->size);
		else
			extent_drop(e);
	}
}

static uint64_t
size_after(struct wb_file *f, struct truncation *t)
{
	uint64_t size = t->size;
	struct extent *e;

	TAILQ_FOREACH(e, &f->held, link)
		if (e->seq > t->seq && extent_end(e) > size)
			size = extent_end(e);
	return size;
}

static void
truncation_free(struct truncation *t)
{
	TAILQ_REMOVE(&t->file->truncations, t, link);
	cred_put(t->call.cred);
	free(t);
}

void
truncate_drop(struct wb_file *f)
{
	struct truncation *t;

	while ((t = TAILQ_FIRST(&f->truncations))) {
		truncation_free(t);
		file_put(f);
	}
}

static void
finish(struct truncation *t, int err, uint64_t now)
{
	struct wb_file *f = t->file;
	wb_done_fn *done = t->done;
	void *arg = t->arg;

	truncation_free(t);
	if (done)
		done(arg, err);
	extent_release_held(f, now);
	f->server->wb->slots_came_free = true;	/* appends waited for this */
	age_look(f);				/* and so did old data */
	file_kick(f);
	file_put(f);
}

static void
setsize_done(struct wb_call *c, uint64_t now)
{
	struct truncation *t = (struct truncation *)c;
	struct wb_file *f = t->file;
	struct wb_handle *h;

	f->server->wb->now = now;
	f->server->truncations_out--;
	jukebox_count(f->server, c);
	/* another copy, or one that was given up, may still cut */
	if (c->transmissions > 1 || c->err == -ETIMEDOUT)
		late_add(f, t->size, UINT64_MAX,
			  now + f->server->wb->limits.late_duplicate_usec);
	if (c->err == -EAGAIN || c->err == -ECANCELED) {
		t->out = false;
		jukebox_asked(f, now);
		file_kick(f);
		return;
	}
	reads_drop(f, 0, UINT64_MAX);
	if (c->err == 0) {
		LIST_FOREACH(h, &f->handles, link)
			handle_cut(h, t->size);
		extent_cut_behind(f, t->size);
		cut_held(f, t);
		f->size = size_after(f, t);
		tails_over(f);
		if (c->have_size) {
			f->reply_size = c->size_after;
			f->reply_ctime = c->ctime_nsec;
			f->cut_ctime = c->ctime_nsec;
		}
	}
	finish(t, c->err, now);
}

void
truncate_check(struct wb_file *f, uint64_t now)
{
	struct truncation *t = TAILQ_FIRST(&f->truncations);
	struct wb_server *s = f->server;

	if (!t || t->out || f->paused || s->wb->held || f->nr[EXTENT_WRITEBACK] ||
	    f->not_before_usec > now)
		return;
	late_expire(f, now);
	if (late_overlaps(f, 0, UINT64_MAX))
		return;
	if (wb_queue(s, &t->call) < 0) {
		file_wake_at(f, now + SHORT_USEC);
	} else {
		t->out = true;
		s->truncations_out++;
	}
}

void
file_truncate(struct wb_file *f, struct cred *cred, uint64_t size,
	      uint64_t now, wb_done_fn *done, void *arg)
{
	struct wb *wb = f->server->wb;
	struct truncation *t = calloc(1, sizeof *t);

	if (!t) {
		wb_fail_later(wb, done, arg, -ENOMEM);
		return;
	}
	t->file = file_ref(f);
	t->size = size;
	t->seq = wb->seq;
	t->done = done;
	t->arg = arg;
	t->call = (struct wb_call) {
		.kind = WB_CALL_SETSIZE,
		.class = WB_FOREGROUND,
		.fh = &f->fh,
		.cred = cred_ref(cred),
		.offset = size,
		.done = setsize_done,
	};
	TAILQ_INSERT_TAIL(&f->truncations, t, link);
	reads_drop(f, 0, UINT64_MAX);
	wb->now = now;
	writepages_raise(f, WB_FOREGROUND);	/* it waits for those */
	file_kick(f);
}
