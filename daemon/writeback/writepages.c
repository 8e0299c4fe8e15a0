/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writepages.c - see writepages.h
 *
 *	extents  |----|--|------|   |---|		DIRTY, adjacent or not
 *	WRITEs   [=============]    [===]		wsize at most, ending on a
 *							wsize boundary
 *
 * Cost: O(log n) an extent taken; the payload is never touched, iov points into
 * the slabs.
 */
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"

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

/* Queues the WRITE that starts with e; the bytes, 0: not now. */
static uint64_t
queue_write(struct extent *e, const struct pass *p, uint64_t now)
{
	struct wb_file *f = e->file;
	struct wb_server *s = f->server;
	struct write_op *op = write_op_new(e, p->class);

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
	write_op_undo(op);
	write_op_free(op);
	return 0;
}

uint64_t
writepages_one(struct extent *e, uint64_t now)
{
	struct wb_file *f = e->file;
	struct wb_server *s = f->server;
	struct write_op *op;

	if (!write_ops_room(s, false) ||
	    (e->length > file_wsize(f) &&
	     !extent_split(e, e->offset + file_wsize(f))))
		return 0;
	op = write_op_new(e, WB_FOREGROUND);
	if (!op)
		return 0;
	op_add(op, e);
	op->call.stable = WB_FILE_SYNC;
	if (wb_queue(s, &op->call) < 0) {
		wb_due(s->wb, now + SHORT_USEC);
		write_op_undo(op);
		write_op_free(op);
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
		    !write_ops_room(s, p->sync) || jukebox_full(f)) {
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
