/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wb_check.c - see wb_check.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/writeback/commit.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/throttle.h"
#include "daemon/writeback/truncate.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"
#include "tests/wb_check.h"

#define CHECK(what)						\
	do {							\
		if (!(what)) {					\
			printf("# wb_check: line %d: %s\n",	\
			       __LINE__, #what);		\
			fflush(stdout);				\
			abort();				\
		}						\
	} while (0)

struct sums {
	uint64_t bytes[EXTENT_STATE_NR];
	unsigned nr[EXTENT_STATE_NR];
};

static void
count(struct sums *s, const struct extent *e)
{
	s->bytes[e->state] += e->length;
	s->nr[e->state]++;
}

static void
add(struct sums *to, const struct sums *s)
{
	int i;

	for (i = 0; i < EXTENT_STATE_NR; i++) {
		to->bytes[i] += s->bytes[i];
		to->nr[i] += s->nr[i];
	}
}

static bool
same_bytes(const uint64_t *a, const uint64_t *b)
{
	return !memcmp(a, b, EXTENT_STATE_NR * sizeof *a);
}

/* ---- a file ---- */

static void
check_offsets(struct wb_file *f, struct sums *sums)
{
	struct extent *e, *last = NULL;
	unsigned dirty = 0;
	uint64_t end = 0;

	for (e = extent_at(f, 0); e; e = extent_next(e)) {
		CHECK(e->file == f && e->length > 0);
		CHECK(e->offset >= end);
		end = extent_end(e);
		CHECK(end > e->offset && end <= INT64_MAX);
		CHECK(e->state != EXTENT_HELD && e->state != EXTENT_GHOST &&
		      e->state != EXTENT_FREE);
		count(sums, e);
		last = e;
	}
	CHECK(f->extents.last == last);
	last = NULL;
	for (e = extent_dirty_from(f, 0); e; e = extent_dirty_next(e)) {
		CHECK(e->state == EXTENT_DIRTY);
		dirty++;
		last = e;
	}
	CHECK(f->dirty.last == last);
	CHECK(dirty == sums->nr[EXTENT_DIRTY]);
}

static unsigned
check_seqs(struct extent_seq_tree *t, unsigned states, struct sums *ghosts)
{
	uint64_t seq = 0;
	struct extent *e, *last = NULL;
	unsigned nr = 0;

	for (e = extent_oldest(t); e; e = extent_older_next(e)) {
		CHECK(states & 1u << e->state);
		CHECK(e->oldest_seq >= seq && e->oldest_seq <= e->seq);
		seq = e->oldest_seq;
		if (e->state == EXTENT_GHOST)
			count(ghosts, e);
		nr++;
		last = e;
	}
	CHECK(t->last == last);
	return nr;
}

static void
check_held(struct wb_file *f, struct sums *sums)
{
	uint64_t seq = 0;
	struct extent *e;

	TAILQ_FOREACH(e, &f->held, link) {
		CHECK(e->state == EXTENT_HELD && e->list == &f->held);
		CHECK(e->seq >= seq);
		seq = e->seq;
		count(sums, e);
	}
}

static void
check_unstable(struct wb_file *f, const struct sums *sums)
{
	unsigned nr = 0;
	struct extent *e;

	TAILQ_FOREACH(e, &f->unstable, link) {
		CHECK(e->list == &f->unstable && e->file == f);
		nr++;
	}
	if (f->commit)
		TAILQ_FOREACH(e, &f->commit->extents, link) {
			CHECK(e->list == &f->commit->extents && e->file == f);
			nr++;
		}
	CHECK(nr == sums->nr[EXTENT_UNSTABLE] + sums->nr[EXTENT_GHOST]);
}

static void
check_op(struct wb_file *f, struct write_op *op, unsigned *nr)
{
	uint64_t at = op->call.offset;
	struct extent *e;
	int i = 0;

	CHECK(op->file == f);
	TAILQ_FOREACH(e, &op->extents, link) {
		CHECK(e->state == EXTENT_WRITEBACK && e->list == &op->extents);
		CHECK(e->offset == at && e->cred == op->call.cred);
		CHECK(e->slab == TAILQ_FIRST(&op->extents)->slab);
		CHECK(op->iov[i].iov_base == e->slab->view.data + e->place);
		CHECK(op->iov[i].iov_len == e->length);
		at = extent_end(e);
		(*nr)++;
		i++;
	}
	CHECK(i == op->call.iov_nr);
	CHECK(at == op->call.offset + op->call.count);
}

/* Where it counts as one, no whole WRITE of it is DIRTY. */
static void
check_tail(struct wb_file *f)
{
	struct extent *e, *last = NULL;

	if (!f->only_tail)
		return;
	CHECK(f->on_dirty && f->size < f->tail_end);
	for (e = extent_dirty_from(f, 0); e; e = extent_dirty_next(e)) {
		CHECK(!last || extent_end(last) == e->offset);
		CHECK(e->offset + file_wsize(f) >= f->tail_end);
		last = e;
	}
	CHECK(last && extent_end(last) == f->size);
}

#define IS(state) (1u << (state))

static void
check_file(struct wb_file *f, struct sums *all)
{
	struct sums s = { 0 };
	struct write_op *op;
	unsigned nr = 0;

	check_offsets(f, &s);
	check_held(f, &s);
	CHECK(check_seqs(&f->uncommitted, IS(EXTENT_UNSTABLE) |
			 IS(EXTENT_GHOST), &s) ==
	      s.nr[EXTENT_UNSTABLE] + s.nr[EXTENT_GHOST]);
	CHECK(check_seqs(&f->to_write, IS(EXTENT_DIRTY), &s) ==
	      s.nr[EXTENT_DIRTY]);
	CHECK(check_seqs(&f->under_way, IS(EXTENT_HELD) | IS(EXTENT_WRITEBACK),
			 &s) == s.nr[EXTENT_HELD] + s.nr[EXTENT_WRITEBACK]);
	CHECK(check_seqs(&f->failed, IS(EXTENT_FAILED), &s) ==
	      s.nr[EXTENT_FAILED]);
	check_unstable(f, &s);
	TAILQ_FOREACH(op, &f->ops, link)
		check_op(f, op, &nr);
	CHECK(nr == s.nr[EXTENT_WRITEBACK]);
	CHECK(same_bytes(s.bytes, f->bytes));
	CHECK(!memcmp(s.nr, f->nr, sizeof s.nr));
	CHECK(f->on_dirty == (s.nr[EXTENT_DIRTY] > 0));
	CHECK((f->on_age != AGE_NONE) == f->on_dirty);
	check_tail(f);
	CHECK(f->on_unstable == (s.nr[EXTENT_UNSTABLE] > 0));
	CHECK((f->queue == QUEUE_WANTED) ==
	      (f->wants_commit && !f->commit_waited));
	CHECK((f->queue == QUEUE_IDLE) ==
	      (f->on_unstable && !f->commit && !f->wants_commit));
	if (f->forgotten)	/* nobody would ever write them */
		CHECK(!s.nr[EXTENT_DIRTY] && !s.nr[EXTENT_FAILED]);
	add(all, &s);
}

static bool
is_live(const struct wb_file *f)
{
	return f->nr[EXTENT_DIRTY] || f->nr[EXTENT_HELD] ||
	       f->nr[EXTENT_WRITEBACK] || f->nr[EXTENT_UNSTABLE];
}

/* ---- a slab ---- */

static void
check_entry(struct slab *s, struct extent *e)
{
	struct nfswb_list_entry *l = &s->view.list[slab_slot(s, e)];
	bool listed = e->state != EXTENT_FREE && e->state != EXTENT_GHOST &&
		      e->state != EXTENT_CLEAN;

	CHECK((atomic_load(&l->seq) != 0) == listed);
	if (!listed)
		return;
	CHECK(l->offset == e->offset && l->place == e->place);
	CHECK((uint32_t)atomic_load(&l->length_ringpos) == e->length);
	if (e->state == EXTENT_WRITEBACK)
		CHECK(atomic_load(&l->state) == NFSWB_LIST_SENT);
}

static void
check_chunk(struct slab *s, struct chunk *c, uint64_t *granted)
{
	uint32_t live = 0, clean = 0;
	struct extent *e;

	LIST_FOREACH(e, &c->extents, chunk_link) {
		CHECK(slab_chunk(s, e->place) == c && e->slab == s);
		live += e->state != EXTENT_CLEAN;
		clean += e->state == EXTENT_CLEAN;
	}
	CHECK(live == c->live_nr);
	CHECK(c->granted <= NFSWB_CHUNK_BYTES && c->posted <= c->granted);
	*granted += c->granted - c->posted;
	if (s->importing || c->state == CHUNK_OPEN)
		return;
	if (c->state == CHUNK_READ || c->state == CHUNK_HANDED) {
		CHECK(!live && !clean && c->posted == c->granted);
		return;
	}
	if (c->posted < c->granted || live)
		CHECK(c->state == CHUNK_CLOSED);
	else
		CHECK(c->state == (clean ? CHUNK_CLEAN : CHUNK_FREE));
}

static void
check_slots(struct slab *s, struct sums *sums, bool hostile)
{
	uint32_t i, nr_free = 0, live = 0, dirty = 0;
	struct extent *e;

	if (s->import)
		return;		/* some are filled in and in no file yet */
	for (i = 0; i < s->fresh_nr; i++) {
		e = &s->extent[i];
		if (!hostile)
			check_entry(s, e);
		if (e->state == EXTENT_FREE) {
			CHECK(e->list == &s->free_extents && !e->cred);
			nr_free++;
			continue;
		}
		CHECK(e->slab == s);
		count(sums, e);
		live += e->state != EXTENT_CLEAN;
	}
	CHECK(nr_free == s->free_nr);
	CHECK(live == s->live_nr);
	CHECK(same_bytes(sums->bytes, s->bytes));
	CHECK(s->fresh_nr <= s->view.layout.list_nr);
	TAILQ_FOREACH(e, &s->dirty, link) {
		CHECK(e->state == EXTENT_DIRTY && e->slab == s);
		dirty++;
	}
	CHECK(dirty == sums->nr[EXTENT_DIRTY]);
}

static unsigned
chunks_in(const struct chunk_list *list, enum chunk_state state)
{
	const struct chunk *c;
	unsigned nr = 0;

	TAILQ_FOREACH(c, list, link) {
		CHECK(c->state == state);
		nr++;
	}
	return nr;
}

/* Each READ chunk belongs to one block, and known ones don't overlap. */
static void
check_reads(struct slab *s)
{
	struct read_block *b, *other;
	uint32_t nr = 0, i;

	TAILQ_FOREACH(b, &s->reads, link) {
		CHECK(b->slab == s && b->got <= b->asked);
		CHECK(b->state != READ_HERE || b->known ||
		      !TAILQ_EMPTY(&b->waits));
		for (i = 0; i < b->chunk_nr; i++)
			CHECK(s->chunk[b->chunk[i]].state == CHUNK_READ);
		nr += b->chunk_nr;
		LIST_FOREACH(other, &b->file->reads, file_link)
			if (other != b && other->slab == s && b->known &&
			    other->known)
				CHECK(read_end(other) <= b->offset ||
				      other->offset >= read_end(b));
	}
	CHECK(nr == chunks_in(&s->read, CHUNK_READ));
	CHECK(nr + chunks_in(&s->handed, CHUNK_HANDED) == s->read_nr);
}

static void
check_slab(struct slab *s, struct sums *all, uint64_t *granted, bool hostile)
{
	struct sums sums = { 0 };
	uint64_t mine = 0;
	uint32_t i;

	for (i = 0; i < s->view.layout.chunk_nr; i++)
		check_chunk(s, &s->chunk[i], &mine);
	CHECK(mine == s->granted_bytes);
	CHECK(chunks_in(&s->free, CHUNK_FREE) + chunks_in(&s->open, CHUNK_OPEN)
	      + chunks_in(&s->closed, CHUNK_CLOSED) +
	      chunks_in(&s->clean, CHUNK_CLEAN) +
	      chunks_in(&s->read, CHUNK_READ) +
	      chunks_in(&s->handed, CHUNK_HANDED) == s->view.layout.chunk_nr);
	check_reads(s);
	check_slots(s, &sums, hostile);
	*granted += mine;
	add(all, &sums);
}

/* ---- who waits, and for what ---- */

/* Is any call out?  Without one only a deadline can wake somebody. */
static bool
calls_out(struct wb *wb)
{
	struct wb_server *s;
	struct wb_file *f, *next;
	struct truncation *t;

	LIST_FOREACH(s, &wb->servers, link) {
		if (s->ops_out)
			return true;
		HASH_ITER(hh, s->files, f, next) {
			t = TAILQ_FIRST(&f->truncations);
			if (f->commit || (t && t->out))
				return true;
		}
	}
	return false;
}

static bool
has_timer(const struct wb *wb)
{
	return wb_deadline(wb) != UINT64_MAX;
}

static void
check_waits(struct wb_file *f, bool calls)
{
	if (calls)
		return;
	if (!TAILQ_EMPTY(&f->waits) || !TAILQ_EMPTY(&f->truncations) ||
	    f->nr[EXTENT_HELD])
		CHECK(has_timer(f->server->wb));
}

static void
check_writer(struct slab *s, bool calls)
{
	if (calls || s->released || s->bytes[EXTENT_FAILED])
		return;
	if (s->waiting || s->starved)
		CHECK(has_timer(s->wb));
}

/* ---- COMMITs ---- */

static unsigned
wanting(const struct file_list *list, bool waited)
{
	const struct wb_file *f;
	unsigned nr = 0;

	TAILQ_FOREACH(f, list, want_link) {
		CHECK(f->wants_commit && f->commit_waited == waited);
		nr++;
	}
	return nr;
}

static void
check_commits(struct wb_server *s)
{
	unsigned out = 0, want = 0;
	uint64_t out_bytes = 0;
	struct wb_file *f, *next;

	HASH_ITER(hh, s->files, f, next) {
		want += f->wants_commit;
		if (f->commit) {
			if (f->commit->trip.counts) {
				out++;
				out_bytes += f->commit->trip.bytes;
			}
		} else if (!TAILQ_EMPTY(&f->unstable) && file_all_written(f) &&
			   !f->paused && f->not_before_usec <= s->wb->now) {
			CHECK(f->wants_commit || f->on_timed);
		}
	}
	CHECK(out == s->window_of_commits.out);
	CHECK(out_bytes == s->window_of_commits.out_bytes);
	CHECK(want == wanting(&s->want_commit, false) +
		      wanting(&s->want_waited, true));
	if (!TAILQ_EMPTY(&s->free_commits)) {
		CHECK(TAILQ_EMPTY(&s->want_waited));
		CHECK(TAILQ_EMPTY(&s->want_commit) || !commit_window_open(s));
	}
}

/* Whose the grants are, and who waits for what. */
static void
check_grants(const struct wb *wb)
{
	const struct wb_server *server;
	const struct slab *s;
	uint64_t granted;
	unsigned held, shorts = 0, in_list = 0;

	LIST_FOREACH(server, &wb->servers, link) {
		granted = held = 0;
		LIST_FOREACH(s, &wb->slabs, link) {
			granted += s->server == server ? s->granted_bytes : 0;
			held += s->held_by == server;
		}
		CHECK(granted == server->granted_bytes);
		CHECK(held == server->held_nr);
		shorts += held;
	}
	TAILQ_FOREACH(s, &wb->waiting, wait_link)
		in_list++;
	CHECK(in_list == shorts + wb->short_nr);
}

void
wb_check(struct wb *wb, bool hostile)
{
	struct sums in_slabs = { 0 }, in_files = { 0 };
	struct wb_server *server;
	uint64_t granted = 0;
	struct wb_file *f, *next;
	struct slab *s;
	bool importing = false, calls = calls_out(wb);
	unsigned live = 0;

	LIST_FOREACH(s, &wb->slabs, link) {
		importing |= s->import != NULL;
		check_slab(s, &in_slabs, &granted, hostile);
		check_writer(s, calls || hostile);
	}
	CHECK(granted == wb->granted_bytes);
	check_grants(wb);
	LIST_FOREACH(server, &wb->servers, link) {
		struct sums here = { 0 };

		HASH_ITER(hh, server->files, f, next) {
			check_file(f, &here);
			check_waits(f, calls);
			live += is_live(f);
		}
		check_commits(server);
		CHECK(same_bytes(here.bytes, server->bytes));
		add(&in_files, &here);
	}
	CHECK(same_bytes(in_files.bytes, wb->bytes));
	CHECK(live == wb->live_files);
	if (!importing)
		CHECK(same_bytes(in_slabs.bytes, wb->bytes));
	CHECK(throttle_dirtied(wb) >= granted);
}
