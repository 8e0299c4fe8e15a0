/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writepages.c - see writepages.h
 *
 *	extents  |----|--|------|   |---|		DIRTY, adjacent or not
 *	WRITEs   [=============]    [===]		wsize at most, ending on a
 *							wsize boundary
 *
 * Cost: O(log n) an extent taken; the payload is never touched, iov points into
 * the slabs.  Call objects are set aside per server.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "common/log.h"
#include "daemon/writeback/commit.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/writepages.h"

#define OPS_MIN 256		/* WRITEs queued and in flight, per server, */
#define OPS_MAX 2048		/* unless it was said */
#define OPS_NONE_MAX 16384	/* where there are no queues to bound it */
#define SYNC_SHARE 4		/* one in so many is for sync passes alone */
#define WSIZE_MIN 4096		/* no server refuses this for its size */
#define ODD_MAX 8		/* WRITEs in a row of which nothing was written */

/* As many as fill the sync mark with WRITEs of 1 MiB; without queues as many as
   dirty_bytes are, so that they do not stand in for a queue. */
unsigned
writepages_nr(const struct wb *wb, const struct wb_server_params *p)
{
	if (p->write_nr)
		return p->write_nr;
	if (p->congestion_policy == CONGESTION_NONE)
		return (unsigned)MIN((wb->limits.dirty_bytes >> 18) + 1024,
				     OPS_NONE_MAX);
	return (unsigned)MAX(MIN(2 * p->congestion_bytes >> 20, OPS_MAX),
			     OPS_MIN);
}

int
writepages_init(struct wb_server *s)
{
	unsigned i;

	s->ops_nr = writepages_nr(s->wb, &s->params);
	s->ops = calloc(s->ops_nr, sizeof *s->ops);
	if (!s->ops)
		return -ENOMEM;
	for (i = 0; i < s->ops_nr; i++) {
		TAILQ_INIT(&s->ops[i].extents);
		TAILQ_INSERT_TAIL(&s->free_ops, &s->ops[i], link);
	}
	return 0;
}

void
writepages_free(struct wb_server *s)
{
	free(s->ops);
}

bool
writepages_room(const struct wb_server *s, bool sync)
{
	unsigned kept = s->ops_nr > 1 ? MAX(s->ops_nr / SYNC_SHARE, 1) : 0;

	return s->ops_out < s->ops_nr - (sync ? 0 : kept);
}

/* ---- building ---- */

static uint64_t
block_of(uint64_t offset, uint32_t wsize)
{
	return offset - offset % wsize;
}

static struct extent *
dirty_before(struct extent *e)
{
	struct extent *b = extent_before(e);

	return b && b->state == EXTENT_DIRTY && b->cred == e->cred &&
	       b->slab == e->slab && extent_end(b) == e->offset ? b : NULL;
}

/* Back to where its run starts, within the wsize block it starts in. */
static struct extent *
run_start(struct extent *e)
{
	uint64_t block = block_of(e->offset, file_wsize(e->file));
	struct extent *b;

	while ((b = dirty_before(e)) && b->offset >= block)
		e = b;
	return e;
}

static struct extent *
oldest_dirty(struct wb_file *f, uint64_t target_seq)
{
	struct extent *e = extent_oldest(&f->to_write);

	return e && e->oldest_seq <= target_seq ? run_start(e) : NULL;
}

/* Where the next WRITE starts: async passes go round the file by offset, sync
   passes take the oldest that is waited for. */
static struct extent *
next_start(struct wb_file *f, const struct pass *p, uint64_t from)
{
	if (p->sync)
		return oldest_dirty(f, p->target_seq);
	return extent_dirty_from(f, from);
}

/* How far a WRITE that starts with e may go: the end of e's wsize block. */
static uint64_t
write_end(const struct extent *e)
{
	uint32_t wsize = file_wsize(e->file);

	return block_of(e->offset, wsize) + wsize;
}

/* Would the WRITE that starts with e be the unfinished tail of the file? */
static bool
is_tail(struct extent *e)
{
	struct wb_file *f = e->file;
	uint64_t end = write_end(e), at = e->offset;
	struct extent *n;

	if (f->size >= end || f->size < at)
		return false;
	for (n = e; n && n->offset == at && n->state == EXTENT_DIRTY;
	     n = extent_next(n))
		at = extent_end(n);
	return at == f->size;
}

static void
op_add(struct write_op *op, struct extent *e)
{
	struct wb_call *c = &op->call;

	op->iov[c->iov_nr].iov_base = e->slab->view.data + e->place;
	op->iov[c->iov_nr].iov_len = e->length;
	c->iov_nr++;
	c->count += e->length;
	extent_set_state(e, EXTENT_WRITEBACK);
	extent_list_append(&op->extents, e);
}

/* Fills op from e on.  false: e is longer than a WRITE and no slot is free to
   cut it. */
static bool
op_fill(struct write_op *op, struct extent *e)
{
	uint64_t end = write_end(e), at = e->offset;
	struct slab *slab = e->slab;
	struct extent *next;

	for (; e && e->state == EXTENT_DIRTY && e->offset == at &&
	     e->cred == op->call.cred && e->slab == slab && op->call.iov_nr < WRITE_IOV_MAX &&
	     at < end; e = next) {
		if (extent_end(e) > end && !extent_split(e, end) &&
		    extent_end(e) - op->call.offset > file_wsize(e->file))
			break;
		next = extent_next(e);
		at = extent_end(e);
		op_add(op, e);
	}
	return op->call.iov_nr > 0;
}

static enum wb_stable
stable_for(struct wb_file *f, const struct pass *p, uint32_t count)
{
	if (f->force_stable || f->server->force_stable)
		return WB_FILE_SYNC;
	/* all there is, in one WRITE, and somebody waits for it */
	if (p->sync && f->nr[EXTENT_DIRTY] == 0 && f->nr[EXTENT_HELD] == 0 &&
	    f->bytes[EXTENT_WRITEBACK] == count && !f->commit &&
	    !extent_oldest(&f->uncommitted)) {
		f->server->small_sync_usec = f->server->wb->now;
		return WB_FILE_SYNC;
	}
	return f->params.stable;
}

static void write_done(struct wb_call *, uint64_t now);

static struct write_op *
op_new(struct wb_file *f, struct extent *e, const struct pass *p)
{
	struct wb_server *s = f->server;
	struct write_op *op = TAILQ_FIRST(&s->free_ops);

	if (!op)
		return NULL;
	TAILQ_REMOVE(&s->free_ops, op, link);
	if (s->ops_out++ == 0)
		s->moved_usec = s->wb->now;
	op->file = f;
	op->call = (struct wb_call) {
		.kind = WB_CALL_WRITE,
		.class = server_class(s, p->class),
		.fh = &f->fh,
		.cred = cred_ref(e->cred),
		.offset = e->offset,
		.iov = op->iov,
		.done = write_done,
	};
	TAILQ_INSERT_TAIL(&f->ops, op, link);
	f->ops_nr++;
	f->ops_class = MAX(f->ops_class, op->call.class);
	return op;
}

static void
op_free(struct write_op *op)
{
	struct wb_server *s = op->file->server;

	TAILQ_REMOVE(&op->file->ops, op, link);
	op->file->ops_nr--;
	cred_put(op->call.cred);
	s->ops_out--;
	TAILQ_INSERT_HEAD(&s->free_ops, op, link);
}

/* Cancelled calls (our end is near) may have left: the next instance is told. */
static void
op_back_to_dirty(struct write_op *op)
{
	struct extent *e;

	while ((e = TAILQ_FIRST(&op->extents))) {
		extent_list_remove(e);
		if (op->call.err == -ECANCELED)
			e->was_sent = true;
		extent_set_state(e, EXTENT_DIRTY);
	}
}

/* Queues the WRITE that starts with e; the bytes, 0: not now. */
static uint64_t
queue_write(struct extent *e, const struct pass *p, uint64_t now)
{
	struct wb_file *f = e->file;
	struct wb_server *s = f->server;
	struct write_op *op = op_new(f, e, p);

	if (!op)
		return 0;
	if (!op_fill(op, e)) {
		file_short(f);
	} else {
		op->call.stable = stable_for(f, p, op->call.count);
		if (wb_queue(s, &op->call) == 0) {
			s->stats.nfs_nr_writes++;
			s->write_bytes += op->call.count;
			return op->call.count;
		}
		wb_due(s->wb, now + SHORT_USEC);
	}
	op_back_to_dirty(op);
	op_free(op);
	return 0;
}

uint64_t
writepages_one(struct extent *e, uint64_t now)
{
	static const struct pass p = { .class = WB_FOREGROUND };
	struct wb_file *f = e->file;
	struct wb_server *s = f->server;
	struct write_op *op;

	if (!writepages_room(s, false) ||
	    (e->length > file_wsize(f) &&
	     !extent_split(e, e->offset + file_wsize(f))))
		return 0;
	op = op_new(f, e, &p);
	if (!op)
		return 0;
	op_add(op, e);
	op->call.stable = WB_FILE_SYNC;
	if (wb_queue(s, &op->call) < 0) {
		wb_due(s->wb, now + SHORT_USEC);
		op_back_to_dirty(op);
		op_free(op);
		return 0;
	}
	s->stats.nfs_nr_writes++;
	s->write_bytes += op->call.count;
	return op->call.count;
}

struct pass_result
writepages(struct wb_file *f, const struct pass *p, uint64_t now)
{
	struct pass_result r = { 0, false };
	struct wb_server *s = f->server;
	uint64_t from = f->cursor, start, n;
	bool wrapped = from == 0;
	struct extent *e;

	/* What went before them must not come behind them. */
	writepages_raise(f, p->class);
	while (r.bytes < p->portion_bytes) {
		if (congestion_full(p->sync ? &s->congestion.sync
					    : &s->congestion.async,
				    s->bytes[EXTENT_WRITEBACK]) ||
		    !writepages_room(s, p->sync) || jukebox_full(f)) {
			r.more = next_start(f, p, 0) != NULL;
			return r;
		}
		e = next_start(f, p, from);
		if (!e && !p->sync && !wrapped) {
			wrapped = true;
			from = 0;
			continue;
		}
		if (!e)
			break;
		if (!p->partial && is_tail(e)) {
			from = write_end(e);
			continue;
		}
		start = e->offset;
		n = queue_write(e, p, now);
		if (!n) {
			r.more = true;
			return r;
		}
		r.bytes += n;
		f->cursor = from = start + n;
	}
	r.more = r.bytes >= p->portion_bytes && next_start(f, p, 0);
	return r;
}

void
writepages_raise(struct wb_file *f, enum wb_class class)
{
	struct wb_server *s = f->server;
	struct write_op *op;

	class = server_class(s, class);
	if (f->ops_class <= class)
		return;
	f->ops_class = class;
	/* Those that are in that class already, too: they were first. */
	TAILQ_FOREACH(op, &f->ops, link)
		if (op->call.class >= class) {
			op->call.class = class;
			s->calls->raise(s->calls_arg, &op->call, class);
		}
}

/* ---- the answer ---- */

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

/* The file is gone, and nobody will ask for its bytes. */
static void
forgotten(struct write_op *op)
{
	struct extent *e;

	while ((e = TAILQ_FIRST(&op->extents)))
		extent_drop(e);
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

static void
write_done(struct wb_call *c, uint64_t now)
{
	struct write_op *op = (struct write_op *)c;
	struct wb_file *f = op->file;
	struct wb_server *s = f->server;

	s->wb->now = s->moved_usec = now;
	jukebox_count(s, c);
	/* another copy, or one that was given up, may still land */
	if (c->transmissions > 1 || c->err == -ETIMEDOUT)
		late_add(f, c->offset, c->offset + c->count,
			  now + s->wb->limits.late_duplicate_usec);
	if (c->err == 0)
		c->err = check_answer(op);
	if (f->forgotten) {
		forgotten(op);
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
		op_back_to_dirty(op);
		jukebox_write_asked(f, now);
	} else if (too_large(op)) {
		op_back_to_dirty(op);
	} else {
		refused(op);
	}
	op_free(op);
	extent_release_held(f, now);
	file_kick(f);
}

void
writepages_drop(struct wb_file *f)
{
	struct write_op *op;

	while ((op = TAILQ_FIRST(&f->ops))) {
		forgotten(op);
		op_free(op);
	}
}
