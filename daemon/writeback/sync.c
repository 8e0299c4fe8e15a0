/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sync.c - see sync.h
 *
 *	something <= target DIRTY, HELD or WRITEBACK	the flusher writes it
 *	something <= target UNSTABLE or GHOST		COMMIT
 *	nothing						done: with the failure
 *			this handle has not seen, or that of what is FAILED
 *
 * A read that needs the server to have the data waits for the COMMIT of its
 * range, too: what is UNSTABLE a server that restarts has no longer, and its
 * READ would not show it.
 *
 * FAILED data is tried again when a wait begins.  Only the last close gives it
 * up.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/writeback/commit.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/truncate.h"
#include "daemon/writeback/writepages.h"

static void
retry_failed(struct wb_file *f)
{
	struct extent *e;

	while ((e = extent_oldest(&f->failed)))
		extent_set_state(e, EXTENT_DIRTY);
}

struct sync_wait *
sync_wait_new(void)
{
	return calloc(1, sizeof(struct sync_wait));
}

static struct sync_wait *
begin(struct wb_file *f, enum sync_kind kind, struct wb_handle *h,
      uint64_t now, wb_done_fn *done, void *arg)
{
	struct wb *wb = f->server->wb;
	struct sync_wait *w;

	if (kind == SYNC_CLOSE) {
		w = h->closing;
		h->closing = NULL;
	} else {
		w = sync_wait_new();
	}
	if (!w)
		return NULL;
	wb->now = now;
	w->kind = kind;
	w->handle = h;
	w->target_seq = wb->seq;
	w->failures = f->failures;
	w->done = done;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&f->waits, w, link);
	writepages_raise(f, WB_FOREGROUND);
	file_kick(f);
	return w;
}

static bool
flushes(enum sync_kind kind)
{
	return kind != SYNC_PAUSE && kind != SYNC_CUT;
}

int
sync_begin(struct wb_file *f, enum sync_kind kind, struct wb_handle *h,
	   uint64_t now, wb_done_fn *done, void *arg)
{
	if (!begin(f, kind, h, now, done, arg))
		return -ENOMEM;
	if (flushes(kind))
		retry_failed(f);
	return 0;
}

int
sync_flush(struct wb_file *f, uint64_t offset, uint64_t end, uint64_t now,
	   wb_done_fn *done, void *arg)
{
	struct sync_wait *w = begin(f, SYNC_FLUSH, NULL, now, done, arg);

	if (!w)
		return -ENOMEM;
	w->offset = offset;
	w->end = end;
	return 0;
}

static bool
has_older(struct extent_seq_tree *t, uint64_t target)
{
	struct extent *e = extent_oldest(t);

	return e && e->oldest_seq <= target;
}

static int
failed_error(struct wb_file *f, uint64_t target)
{
	struct extent *e = extent_oldest(&f->failed);

	return e && e->oldest_seq <= target ? e->err : 0;
}

static int
failed_within(struct wb_file *f, uint64_t offset, uint64_t end)
{
	struct extent *e;

	if (!f->nr[EXTENT_FAILED])
		return 0;
	for (e = extent_at(f, offset); e && e->offset < end;
	     e = extent_next(e))
		if (e->state == EXTENT_FAILED)
			return e->err;
	return 0;
}

/* GHOSTs too: a server that restarts shows what lay under them, until what
   superseded them is there. */
static bool
uncommitted_within(struct wb_file *f, const struct sync_wait *w)
{
	struct extent *e;

	for (e = extent_oldest(&f->uncommitted);
	     e && e->oldest_seq <= w->target_seq; e = extent_older_next(e))
		if (e->offset < w->end && extent_end(e) > w->offset)
			return true;
	return false;
}

static bool
waits_for_commit(struct wb_file *f, const struct sync_wait *w)
{
	if (w->kind == SYNC_FLUSH)
		return uncommitted_within(f, w);
	return has_older(&f->uncommitted, w->target_seq);
}

/* The last close: what still fails is lost, and said so. */
static void
give_up(struct wb_file *f)
{
	struct extent *e;

	while ((e = extent_oldest(&f->failed))) {
		wb_give_up(f, e->cred, e->offset, e->length, e->err);
		extent_drop(e);
	}
}

static int
verdict(struct wb_file *f, struct sync_wait *w)
{
	int err = 0;

	switch (w->kind) {
	case SYNC_CLOSE:
		if (!w->done)
			return 0;	/* nobody is told: it stays unseen */
		/* fallthrough */
	case SYNC_FSYNC:
		err = errseq_check_and_advance(&f->errors, &w->handle->since);
		break;
	case SYNC_ALL:
		if (f->failures != w->failures)
			err = f->errors.err;
		break;
	case SYNC_FLUSH:
		return failed_within(f, w->offset, w->end);
	case SYNC_PAUSE:
	case SYNC_CUT:
		return 0;
	}
	return err ? err : failed_error(f, w->target_seq);
}

static void
finish(struct wb_file *f, struct sync_wait *w)
{
	int err = verdict(f, w);

	TAILQ_REMOVE(&f->waits, w, link);
	if (w->kind == SYNC_CLOSE) {
		if (f->handle_nr == 1)
			give_up(f);
		handle_free(w->handle);
	}
	if (w->done)
		w->done(w->arg, err);
	free(w);
}

static bool
at_rest(const struct wb_file *f)
{
	const struct truncation *t = TAILQ_FIRST(&f->truncations);

	return TAILQ_EMPTY(&f->ops) && !f->commit && !(t && t->out);
}

/* One that asks for nothing to be written. */
static void
check_rest(struct wb_file *f, struct sync_wait *w, uint64_t now)
{
	if (w->kind == SYNC_PAUSE && f->commit)
		commit_check(f, true, now);	/* it is waited for */
	if (w->kind == SYNC_PAUSE ? at_rest(f) : TAILQ_EMPTY(&f->truncations))
		finish(f, w);
}

void
sync_check(struct wb_file *f, uint64_t now)
{
	struct sync_wait *w, *next;
	bool flush = false, commit = false;

	TAILQ_FOREACH_SAFE(w, &f->waits, link, next) {
		if (!flushes(w->kind))
			check_rest(f, w, now);
		else if (has_older(&f->to_write, w->target_seq))
			flush = true;
		else if (has_older(&f->under_way, w->target_seq))
			continue;
		else if (waits_for_commit(f, w))
			commit = true;
		else
			finish(f, w);
	}
	flusher_sync(f, flush, now);
	if (commit)
		commit_check(f, true, now);
}

bool
sync_target(struct wb_file *f, uint64_t *target_seq, bool *only_close)
{
	const struct sync_wait *w;
	bool any = false;

	*target_seq = 0;
	*only_close = true;
	TAILQ_FOREACH(w, &f->waits, link) {
		if (!flushes(w->kind))
			continue;
		any = true;
		if (w->target_seq > *target_seq)
			*target_seq = w->target_seq;
		if (w->kind != SYNC_CLOSE)
			*only_close = false;
	}
	return any && has_older(&f->to_write, *target_seq);
}

/* WRITEs, be they queued or still to be; then the COMMIT. */
static enum waiting_for
wait_for(struct wb_file *f, const struct sync_wait *w)
{
	switch (w->kind) {
	case SYNC_CUT:
		return WAIT_REPLY;
	case SYNC_PAUSE:
		return !TAILQ_EMPTY(&f->ops) ? WAIT_WRITE :
		       f->commit ? WAIT_COMMIT : WAIT_REPLY;
	default:
		return has_older(&f->to_write, w->target_seq) ||
		       has_older(&f->under_way, w->target_seq) ? WAIT_WRITE :
								 WAIT_COMMIT;
	}
}

enum waiting_for
file_waiting_for(struct wb_file *f, const void *arg)
{
	const struct sync_wait *w;
	const struct truncation *t;

	TAILQ_FOREACH(w, &f->waits, link)
		if (w->arg == arg)
			return wait_for(f, w);
	TAILQ_FOREACH(t, &f->truncations, link)
		if (t->arg == arg)
			return f->nr[EXTENT_WRITEBACK] ? WAIT_WRITE
						       : WAIT_REPLY;
	return WAIT_NONE;
}

unsigned
sync_unattended(const struct wb_file *f)
{
	const struct sync_wait *w;
	unsigned nr = 0;

	TAILQ_FOREACH(w, &f->waits, link)
		nr += w->kind == SYNC_CLOSE && !w->done;
	return nr;
}

void
sync_drop(struct wb_file *f)
{
	struct sync_wait *w;

	while ((w = TAILQ_FIRST(&f->waits))) {
		TAILQ_REMOVE(&f->waits, w, link);
		sync_drop_done(w->done, w->arg);
		free(w);
	}
}
