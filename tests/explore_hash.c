/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explore_hash.c - all of a small world's state that decides what happens next,
   as one number; times and sequence numbers count from now */
#include "daemon/writeback/commit.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"
#include "tests/explore.h"

static uint64_t hash;

static void
mix(uint64_t value)
{
	int i;

	for (i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * 1099511628211ull;
}

static void
mix_time(const struct explore_state *x, uint64_t usec)
{
	mix(usec == UINT64_MAX ? usec : usec - x->b.now);
}

static unsigned
number_of(const struct wb_file *f)
{
	unsigned nr;

	memcpy(&nr, f->fh.data, sizeof nr);
	return nr;
}

static void
mix_extent(const struct explore_state *x, const struct extent *e)
{
	unsigned verf;

	mix(e->state);
	mix(e->offset);
	mix(e->length);
	mix(e->place);
	mix(x->b.wb->seq - e->seq);
	mix(x->b.wb->seq - e->oldest_seq);
	mix_time(x, e->dirtied_usec);
	memcpy(&verf, e->verf, sizeof verf);
	mix(e->state == EXTENT_UNSTABLE || e->state == EXTENT_GHOST
	    ? x->verf - verf : 0);
}

static void
mix_list(const struct explore_state *x, const struct extent_list *list)
{
	const struct extent *e;

	mix('l');
	TAILQ_FOREACH(e, list, link)
		mix_extent(x, e);
}

static void
mix_file(const struct explore_state *x, struct wb_file *f)
{
	const struct sync_wait *w;
	const struct extent *e;

	mix('f');
	for (e = extent_at(f, 0); e; e = extent_next((struct extent *)e))
		mix_extent(x, e);
	mix_list(x, &f->held);
	mix_list(x, &f->unstable);
	if (f->commit)
		mix_list(x, &f->commit->extents);
	TAILQ_FOREACH(w, &f->waits, link) {
		mix(w->kind);
		mix(x->b.wb->seq - w->target_seq);
	}
	mix(f->cursor);
	mix(f->portion_used);
	mix((uint64_t)f->commit_soon << 3 | f->on_sync << 2 |
	    f->sync_pass.waits << 1 | f->force_stable);
	mix_time(x, f->not_before_usec > x->b.now ? f->not_before_usec
						  : x->b.now);
	mix(f->jukebox_nr << 8 | f->window);
	mix(f->mismatch_nr);
	mix(f->size);
}

static void
mix_server(const struct explore_state *x, struct wb_server *s)
{
	const struct congestion_pass *p;
	struct wb_file *f;

	mix('d');
	for (f = dirty_first(s); f; f = dirty_next(f)) {
		mix(number_of(f));
		mix(f->only_tail);
	}
	mix('s');
	TAILQ_FOREACH(f, &s->sync_files, sync_link)
		mix(number_of(f));
	mix('q');
	TAILQ_FOREACH(p, &s->congestion.sync.waiting, link)
		mix(number_of(p->file));
	mix(s->async_pass.waits);
	mix('u');
	TAILQ_FOREACH(f, &s->unstable_files, unstable_link)
		mix(number_of(f));
	mix(s->have_verf);
	mix(s->odd_files << 1 | s->force_stable);
	mix(s->window << 8 | s->jukebox_row);
	mix(s->bandwidth.bytes_per_sec);
	mix(s->bandwidth.measuring);
	mix_time(x, s->bandwidth.measuring ? s->bandwidth.window_start
					   : x->b.now);
	mix(s->bandwidth.measuring ? s->bandwidth.window_bytes : 0);
}

static void
mix_slab(const struct explore_state *x, struct slab *s)
{
	struct chunk *c;
	uint32_t i;

	mix('s');
	for (i = 0; i < s->view.layout.chunk_nr; i++) {
		c = &s->chunk[i];
		mix(c->state);
		if (c->state == CHUNK_FREE)
			continue;
		mix((uint64_t)c->granted << 32 | c->posted);
		mix(atomic_load(slab_mark(s, c)));
		mix_time(x, c->used_usec);
	}
	mix(s->ahead_nr);
	mix((uint64_t)s->waiting << 8 | s->waiting_for);
	mix(s->want);
	mix(atomic_load(&s->view.control->g_head) -
	    atomic_load(&s->view.control->g_tail));
}

static void
mix_calls(const struct explore_state *x)
{
	const struct wb_call *c;
	const struct wb_server *s = x->b.server;
	unsigned i;

	for (i = 0; i < x->b.call_nr; i++) {
		c = x->b.call[i];
		mix(c->kind << 16 | c->class << 8 | c->stable);
		mix(c->offset);
		mix(c->count);
		mix(c->fh->data[0]);
		if (c->kind == WB_CALL_WRITE)
			mix(x->by_sync[(const struct write_op *)c - s->ops]);
	}
}

uint64_t
explore_hash(struct explore_state *x)
{
	const struct explore_file *f;
	unsigned i;

	hash = 14695981039346656037ull;
	for (i = 0; i < x->world->files; i++) {
		f = &x->file[i];
		mix(f->written << 16 | f->syncs << 8 | f->done.nr);
		mix_file(x, f->handle->file);
	}
	mix(x->overwrites << 24 | x->restarts << 16 | x->refusals << 8 |
	    x->timers);
	mix_calls(x);
	mix_server(x, x->b.server);
	mix_slab(x, x->b.slab);
	if (x->b.other.slab)
		mix_slab(x, x->b.other.slab);
	mix_time(x, wb_deadline(x->b.wb));
	return hash;
}
