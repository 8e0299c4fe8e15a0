/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write_answer.c - see write_answer.h */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "daemon/writeback/commit.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/write_answer.h"
#include "daemon/writeback/write_op.h"

#define WSIZE_MIN 4096		/* no server refuses this for its size */
#define ODD_MAX 8		/* WRITEs in a row of which nothing was written */

static void
refused(struct write_op *op)
{
	struct wb_file *f = op->file;
	struct extent *e;

	log_warning("%s: WRITE of %u bytes at %llu failed: %s", f->name,
		    op->call.count, (unsigned long long)op->call.offset,
		    strerror(-op->call.err));
	while ((e = TAILQ_FIRST(&op->extents))) {
		extent_list_remove(e);
		e->was_sent = false;
		e->err = op->call.err;
		extent_set_state(e, EXTENT_FAILED);
	}
	file_error(f, op->call.err);
}

/* DATA_SYNC holds the data and what it takes to read it again; but who asked for
   more was promised more, and a COMMIT makes it good. */
static bool
is_stable(const struct wb_call *c)
{
	return c->committed == WB_FILE_SYNC ||
	       (c->committed == WB_DATA_SYNC && c->stable != WB_FILE_SYNC);
}

static void
check_granted(struct write_op *op)
{
	static const char *const name[] = { "UNSTABLE", "DATA_SYNC",
					    "FILE_SYNC" };
	const struct wb_call *c = &op->call;
	struct wb_server *s = op->file->server;

	if (c->committed >= c->stable || s->less_stable)
		return;
	s->less_stable = true;
	log_warning("server %s grants %s where %s is asked for; COMMIT makes "
		    "up for it", s->name, name[c->committed], name[c->stable]);
}

static void
written(struct extent *e, const struct wb_call *c)
{
	extent_list_remove(e);
	e->was_sent = false;
	e->not_stable = c->stable == WB_FILE_SYNC;
	if (is_stable(c)) {
		extent_set_state(e, EXTENT_CLEAN);
		return;
	}
	memcpy(e->verf, c->verf, WB_VERF);
	extent_set_state(e, EXTENT_UNSTABLE);
}

/* The first count bytes are written, the rest is DIRTY again. */
static void
answered(struct write_op *op)
{
	struct wb_call *c = &op->call;
	uint64_t end = c->offset + c->written;
	struct extent *e;

	while ((e = TAILQ_FIRST(&op->extents))) {
		if (extent_end(e) <= end) {
			written(e, c);
			continue;
		}
		extent_list_remove(e);
		extent_set_state(e, EXTENT_DIRTY);
		if (e->offset < end && extent_split(e, end)) {
			extent_set_state(e, EXTENT_WRITEBACK);
			written(e, c);
		}
	}
}

/*
 * A server may refuse what it said it takes.  The file's WRITEs are halved then;
 * one that is taken proves that the size was to blame.  true: send it again.
 */
static bool
too_large(struct write_op *op)
{
	struct wb_file *f = op->file;
	uint32_t size = file_wsize(f);

	while (size >= op->call.count)
		size /= 2;
	if (op->call.err != -EINVAL || size < WSIZE_MIN) {
		f->wsize_try = 0;	/* it is not the size */
		return false;
	}
	f->wsize_try = size;
	return true;
}

static void
size_taken(struct write_op *op)
{
	struct wb_file *f = op->file;
	struct wb_server *s = f->server;

	if (!f->wsize_try || op->call.count <= f->wsize_try / 2)
		return;
	s->wsize_max = f->wsize_try;
	tails_over_all(s);
	f->wsize_try = 0;
	log_warning("server %s refuses WRITEs above %u bytes, though it offered "
		    "them", s->name, s->wsize_max);
}

/* 0: the answer makes sense; else what to make of it, -EAGAIN or -EIO. */
static int
check_answer(struct write_op *op)
{
	struct wb_call *c = &op->call;
	struct wb_file *f = op->file;

	if (c->written > c->count) {
		log_warning("%s: the server says it wrote %u of %u bytes",
			    f->name, c->written, c->count);
		c->written = c->count;
	}
	if (c->written) {
		f->odd_nr = 0;
		return 0;
	}
	if (++f->odd_nr < ODD_MAX)
		return -EAGAIN;
	log_warning("%s: the server wrote nothing %u times in a row",
		    f->name, ODD_MAX);
	f->odd_nr = 0;
	return -EIO;
}

void
write_answered(struct wb_call *c, uint64_t now)
{
	struct write_op *op = (struct write_op *)c;
	struct wb_file *f = op->file;
	struct wb_server *s = f->server;

	s->wb->now = s->moved_usec = s->answered_usec = now;
	s->answered_bytes += c->count;
	jukebox_count(s, c);
	/* another copy, or one that was given up, may still land */
	if (c->transmissions > 1 || c->err == -ETIMEDOUT)
		late_add(f, c->offset, c->offset + c->count,
			  now + s->wb->limits.late_duplicate_usec);
	if (c->err == 0)
		c->err = check_answer(op);
	if (f->forgotten) {
		write_op_forget(op);
	} else if (c->err == 0) {
		jukebox_write_taken(f);
		size_taken(op);
		if (c->have_size) {
			f->reply_size = c->size_after;
			f->reply_ctime = c->ctime_nsec;
		}
		check_granted(op);
		if (!is_stable(c))
			commit_verifier_seen(f, c->verf);
		answered(op);
		bandwidth_answered(&s->bandwidth, c->written,
				   now - c->sent_usec,
				   s->bytes[EXTENT_WRITEBACK] > 0, now);
	} else if (c->err == -EAGAIN || c->err == -ECANCELED) {
		write_op_undo(op);
		jukebox_write_asked(f, now);
	} else if (too_large(op)) {
		write_op_undo(op);
	} else {
		refused(op);
	}
	write_op_free(op);
	extent_release_held(f, now);
	file_kick(f);
}
