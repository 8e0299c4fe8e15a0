/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explore_check.c - what must hold in every state of a small world; the marks are
   reckoned here anew */
#include <sys/param.h>

#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/throttle.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"
#include "tests/explore.h"

struct marks {
	uint64_t async_limit, async_wake, sync_limit, sync_wake;
};

static struct marks
marks_of(const struct world *w)
{
	uint64_t limit = w->bench.congestion_bytes, eighth;
	struct marks m;

	eighth = MIN(limit / 8, 1u << 20);
	m.async_limit = limit;
	m.async_wake = limit - eighth;
	m.sync_limit = MAX(2 * limit, limit + w->bench.wsize);
	m.sync_wake = MAX(2 * limit - eighth, limit + w->bench.wsize + 1);
	if (w->bench.congestion_policy != CONGESTION_SPLIT)
		m.sync_limit = m.sync_wake = UINT64_MAX;
	if (w->bench.congestion_policy == CONGESTION_SINGLE)
		m.async_wake = limit - limit / 4;
	if (w->bench.congestion_policy == CONGESTION_NONE)
		m.async_limit = m.async_wake = UINT64_MAX;
	return m;
}

static uint64_t
in_writeback(const struct explore_state *x)
{
	return x->b.server->bytes[EXTENT_WRITEBACK];
}

/* WRITEs out that sync passes queued. */
static unsigned
sync_out(const struct explore_state *x)
{
	const struct wb_call *c;
	unsigned i, nr = 0;

	for (i = 0; i < x->b.call_nr; i++) {
		c = x->b.call[i];
		nr += c->kind == WB_CALL_WRITE &&
		      x->by_sync[(const struct write_op *)c -
				 x->b.server->ops];
	}
	return nr;
}

static bool
may_write(const struct explore_state *x, const struct wb_file *f)
{
	return TAILQ_EMPTY(&f->truncations) && !f->paused && !f->forgotten &&
	       f->not_before_usec <= x->b.now && !jukebox_full(f);
}

static bool
has_sync_work(struct wb_file *f)
{
	bool only_close;
	uint64_t target;

	return sync_target(f, &target, &only_close);
}

static unsigned
order_of(const struct explore_state *x, unsigned *order)
{
	const struct congestion_pass *p;
	unsigned nr = 0, i;

	TAILQ_FOREACH(p, &x->b.server->congestion.sync.waiting, link)
		for (i = 0; i < x->world->files; i++)
			if (p->file == x->file[i].handle->file)
				order[nr++] = i;
	return nr;
}

void
explore_note(struct explore_state *x, char event, unsigned nr)
{
	struct wb_file *f = x->file[nr < x->world->files ? nr : 0].handle->file;
	unsigned i;

	x->before.event = event;
	x->before.nr = nr;
	x->before.sync_out = sync_out(x);
	x->before.order_nr = order_of(x, x->before.order);
	for (i = 0; i < x->world->files; i++) {
		x->before.queued[i] = x->file[i].queued;
		x->before.by_sync[i] = x->file[i].by_sync;
	}
	x->before.could = f->nr[EXTENT_DIRTY] && may_write(x, f);
}

const char *
explore_check_write(struct explore_state *x, struct wb_call *c)
{
	struct wb_server *s = x->b.server;
	struct write_op *op = (struct write_op *)c;
	struct marks m = marks_of(x->world);
	uint64_t before = in_writeback(x) - c->count;
	bool by_sync = c->class == WB_FOREGROUND;
	unsigned i;

	x->by_sync[op - s->ops] = by_sync;
	for (i = 0; i < x->world->files; i++)
		if (x->file[i].handle && x->file[i].handle->file == op->file) {
			x->file[i].queued++;
			x->file[i].by_sync += by_sync;
		}
	if (before > (by_sync ? m.sync_limit : m.async_limit))
		return "a pass went on above its mark";
	if (c->count > x->world->bench.wsize)
		return "a WRITE is larger than wsize";
	return NULL;
}

/* ---- at rest ---- */

static const char *
check_async(struct explore_state *x, const struct marks *m)
{
	struct wb_server *s = x->b.server;
	struct wb *wb = x->b.wb;
	bool wanted = !TAILQ_EMPTY(&wb->waiting) || wb_lacks_slots(wb) ||
		      throttle_over_background(wb);
	bool waits = s->async_pass.waits;
	unsigned i;

	if (s->congestion.async.waiting_nr != waits)
		return "more than one async pass";
	if (waits && (!in_writeback(x) || in_writeback(x) < m->async_wake))
		return "the async pass was not woken below its mark";
	if (waits || !wanted || !write_ops_room(s, false))
		return NULL;
	for (i = 0; i < x->world->files; i++)
		if (x->file[i].handle->file->nr[EXTENT_DIRTY] &&
		    may_write(x, x->file[i].handle->file))
			return "an async pass could go on and does not";
	return NULL;
}

static const char *
check_sync(struct explore_state *x, const struct marks *m)
{
	struct wb_server *s = x->b.server;
	unsigned waiting = s->congestion.sync.waiting_nr, i;
	struct wb_file *f;

	if (waiting && (!in_writeback(x) || in_writeback(x) < m->sync_wake))
		return "a sync pass was not woken below its mark";
	if (waiting && !x->before.order_nr && in_writeback(x) <= m->sync_limit)
		return "a sync pass began to wait below its mark";
	if (waiting && !sync_out(x))
		return "a sync pass waits for async WRITEs alone";
	for (i = 0; i < x->world->files; i++) {
		f = x->file[i].handle->file;
		if (f->on_sync && !has_sync_work(f) && !s->ops_out)
			return "a file waits in the queue for nothing";
		if (has_sync_work(f) && !f->on_sync)
			return "nobody writes what is waited for";
		if (f->on_sync && !f->sync_pass.waits && has_sync_work(f) &&
		    may_write(x, f) && write_ops_room(s, true))
			return "a sync pass could go on and does not";
	}
	return NULL;
}

/* Whoever writes an fsync's data first of all does so at once, whatever async
   passes have under way. */
static const char *
check_begun(const struct explore_state *x)
{
	unsigned nr = x->before.nr;

	if (x->before.event == 'S' && x->before.could &&
	    !x->before.sync_out && !x->before.order_nr &&
	    x->file[nr].queued == x->before.queued[nr])
		return "a first sync pass was held up";
	return NULL;
}

static unsigned
place_in(const unsigned *order, unsigned nr, unsigned file)
{
	unsigned i;

	for (i = 0; i < nr && order[i] != file; i++)
		;
	return i;
}

/* Those that stayed are in front, in their order; and nobody who stood behind
   one that stayed, or came later, wrote anything. */
static const char *
check_order(const struct explore_state *x)
{
	unsigned order[EXPLORE_FILES], nr = order_of(x, order), i, at = 0;
	const unsigned *was = x->before.order;
	bool stayed = false;

	for (i = 0; i < x->before.order_nr; i++) {
		bool wrote = x->file[was[i]].queued != x->before.queued[was[i]];

		if (wrote && stayed)
			return "one was woken before another that came first";
		if (wrote || place_in(order, nr, was[i]) == nr)
			continue;
		stayed = true;
		if (place_in(order, nr, was[i]) != at++)
			return "one that waits lost its place";
	}
	for (i = 0; stayed && i < x->world->files; i++)
		if (place_in(was, x->before.order_nr, i) ==
		    x->before.order_nr &&
		    x->file[i].by_sync != x->before.by_sync[i])
			return "one that came later did not queue behind";
	return NULL;
}

/* What is waited for goes out as foreground. */
static const char *
check_classes(const struct explore_state *x)
{
	const struct write_op *op;
	const struct wb_call *c;
	unsigned i;

	for (i = 0; i < x->b.call_nr; i++) {
		c = x->b.call[i];
		op = (const struct write_op *)c;
		if (c->kind == WB_CALL_WRITE && x->before.event == 'S' &&
		    op->file == x->file[x->before.nr].handle->file &&
		    c->class != WB_FOREGROUND)
			return "a WRITE that is waited for did not rise";
	}
	return NULL;
}

const char *
explore_check(struct explore_state *x)
{
	struct marks m = marks_of(x->world);
	const char *broken = x->broken;

	if (throttle_dirtied(x->b.wb) > x->b.limits.dirty_bytes)
		return "the dirty limit is exceeded";
	if (!broken)
		broken = check_async(x, &m);
	if (!broken)
		broken = check_sync(x, &m);
	if (!broken)
		broken = check_begun(x);
	if (!broken)
		broken = check_order(x);
	if (!broken)
		broken = check_classes(x);
	return broken;
}
