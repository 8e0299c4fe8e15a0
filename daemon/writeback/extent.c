/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent.c - the life of a run of accepted bytes
 *
 *	from		what happens			to
 *	-		the application writes		DIRTY
 *	DIRTY		taken into a WRITE		WRITEBACK
 *	DIRTY		overwritten			gone
 *	WRITEBACK	overwritten			goes on; the new one is
 *							HELD until the reply
 *	WRITEBACK	reply FILE_SYNC / UNSTABLE	CLEAN / UNSTABLE
 *	WRITEBACK	short reply			as above, the rest DIRTY
 *	WRITEBACK	JUKEBOX				DIRTY, not before a delay
 *	WRITEBACK	ENOSPC, EIO, ...		FAILED
 *	UNSTABLE	COMMIT, same verifier		CLEAN
 *	UNSTABLE	another verifier		DIRTY
 *	UNSTABLE	COMMIT refused			FAILED
 *	UNSTABLE	overwritten			GHOST until its COMMIT
 *	CLEAN		overwritten, room wanted	gone
 *	FAILED		fsync or close again		DIRTY
 *	FAILED		overwritten			gone
 *
 * What supersedes another answers for its bytes from then on (oldest_seq): an
 * fsync that waits for the old ones waits for the new.
 *
 * Cost: that of extent_tree.c for each change; joining looks at the HELD ones one
 * by one, which are few.
 */
#include <assert.h>
#include <errno.h>

#include "daemon/writeback/age.h"
#include "daemon/writeback/commit_queue.h"
#include "daemon/writeback/extent_tree.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/tails.h"

static const struct {
	bool data, live;
} state_is[EXTENT_STATE_NR] = {
	[EXTENT_FREE] = { false, false },
	[EXTENT_DIRTY] = { true, true },
	[EXTENT_HELD] = { true, true },
	[EXTENT_WRITEBACK] = { true, true },
	[EXTENT_UNSTABLE] = { true, true },
	[EXTENT_GHOST] = { false, false },
	[EXTENT_CLEAN] = { true, false },
	[EXTENT_FAILED] = { true, true },
};

void
extent_list_append(struct extent_list *list, struct extent *e)
{
	extent_list_remove(e);
	TAILQ_INSERT_TAIL(list, e, link);
	e->list = list;
}

void
extent_list_remove(struct extent *e)
{
	if (!e->list)
		return;
	TAILQ_REMOVE(e->list, e, link);
	e->list = NULL;
}

/* The sums that a state's bytes count in; sign is 1 or -1. */
static void
account(struct extent *e, enum extent_state s, int sign)
{
	uint64_t n = sign > 0 ? e->length : -(uint64_t)e->length;

	if (s == EXTENT_FREE)
		return;
	e->file->bytes[s] += n;
	e->file->nr[s] += (unsigned)sign;
	e->file->server->bytes[s] += n;
	e->slab->wb->bytes[s] += n;
	e->slab->bytes[s] += n;
}

/* The file enters the flusher's list with its first DIRTY extent and leaves
   with its last. */
static void
dirty_list_check(struct wb_file *f)
{
	bool dirty = f->nr[EXTENT_DIRTY] > 0;

	if (dirty && !f->on_dirty) {
		dirty_add(f);
	} else if (!dirty && f->on_dirty) {
		dirty_remove(f);
		f->portion_used = 0;
	}
}

/* So does it the list of those that a COMMIT would free room of. */
static void
unstable_list_check(struct wb_file *f)
{
	struct wb_server *s = f->server;
	bool unstable = f->nr[EXTENT_UNSTABLE] > 0;

	if (unstable && !f->on_unstable)
		TAILQ_INSERT_TAIL(&s->unstable_files, f, unstable_link);
	else if (!unstable && f->on_unstable)
		TAILQ_REMOVE(&s->unstable_files, f, unstable_link);
	if (unstable == f->on_unstable)
		return;
	if (unstable)
		f->unstable_nr = ++s->queued_nr;
	f->on_unstable = unstable;
	commit_queue_look(f);
}

/* So it counts among those that share the limit. */
static void
live_check(struct wb_file *f)
{
	bool live = f->nr[EXTENT_DIRTY] || f->nr[EXTENT_HELD] ||
		    f->nr[EXTENT_WRITEBACK] || f->nr[EXTENT_UNSTABLE];

	if (live != f->is_live)
		f->server->wb->live_files += live ? 1 : -1u;
	f->is_live = live;
}

/* Does the list hold it in this state, and as what? */
static bool
listed(const struct extent *e, enum extent_state s, enum nfswb_list_state *as)
{
	switch (s) {
	case EXTENT_DIRTY:
	case EXTENT_HELD:
	case EXTENT_FAILED:
		*as = e->was_sent ? NFSWB_LIST_SENT : NFSWB_LIST_DIRTY;
		return true;
	case EXTENT_WRITEBACK:
		*as = NFSWB_LIST_SENT;
		return true;
	case EXTENT_UNSTABLE:
		/* for the next instance; another copy may be on its way */
		*as = late_overlaps(e->file, e->offset, extent_end(e)) ?
		      NFSWB_LIST_SENT : NFSWB_LIST_ANSWERED;
		return true;
	case EXTENT_GHOST:
	case EXTENT_CLEAN:
	case EXTENT_FREE:
	case EXTENT_STATE_NR:
		break;
	}
	return false;
}

static void
list_entry(struct extent *e, enum extent_state to)
{
	enum nfswb_list_state as;

	if (e->slab->wb->ending)
		return;
	if (listed(e, to, &as))
		slab_list_state(e, as);
	else
		slab_strike(e);
}

/* What comes back from the server is older than what is new. */
static void
slab_order(struct extent *e, enum extent_state from)
{
	struct slab *s = e->slab;

	if (from == EXTENT_FREE || from == EXTENT_HELD)
		TAILQ_INSERT_TAIL(&s->dirty, e, link);
	else
		TAILQ_INSERT_HEAD(&s->dirty, e, link);
}

void
extent_set_state(struct extent *e, enum extent_state to)
{
	enum extent_state from = e->state;
	struct wb_file *f = e->file;
	struct chunk *c = slab_chunk(e->slab, e->place);

	if (from == to)
		return;
	if (from == EXTENT_DIRTY)
		TAILQ_REMOVE(&e->slab->dirty, e, link);
	account(e, from, -1);
	extent_tree_leave(e, to);
	if (state_is[from].live)
		c->live_nr--;
	if (state_is[from].data && !state_is[to].data)
		LIST_REMOVE(e, chunk_link);
	if (from != EXTENT_FREE && from != EXTENT_CLEAN)
		e->slab->live_nr--;

	e->state = to;
	list_entry(e, to);
	account(e, to, 1);
	extent_tree_enter(e, from);
	if (state_is[to].live)
		c->live_nr++;
	if (state_is[to].data && !state_is[from].data)
		LIST_INSERT_HEAD(&c->extents, e, chunk_link);
	if (to != EXTENT_FREE && to != EXTENT_CLEAN)
		e->slab->live_nr++;

	if (to == EXTENT_CLEAN) {
		drain_stable(&f->server->drain, e->length);
		extent_list_append(&e->slab->clean_extents, e);
		e->slab->wb->slots_came_free = true;	/* if need be */
	} else if (to == EXTENT_HELD)
		extent_list_append(&f->held, e);
	else if (to == EXTENT_UNSTABLE)
		extent_list_append(&f->unstable, e);
	else if (to != EXTENT_GHOST && to != EXTENT_WRITEBACK)
		extent_list_remove(e);
	if (to == EXTENT_DIRTY) {
		tails_joined(e);
		slab_order(e, from);
	} else if (from == EXTENT_DIRTY || to == EXTENT_HELD) {
		tails_over(f);
	}
	dirty_list_check(f);
	if (to == EXTENT_DIRTY)
		age_joined(e);
	unstable_list_check(f);
	live_check(f);
	slab_chunk_check(e->slab, c);
}

void
extent_drop(struct extent *e)
{
	extent_set_state(e, EXTENT_FREE);
	slab_extent_put(e);
}

static void
set_length(struct extent *e, uint32_t length)
{
	enum nfswb_list_state as;

	account(e, e->state, -1);
	e->length = length;
	tails_over(e->file);
	account(e, e->state, 1);
	if (listed(e, e->state, &as))
		slab_relength(e);
}

struct extent *
extent_split(struct extent *e, uint64_t at)
{
	struct extent *rest = slab_extent_get(e->slab, true);
	enum extent_state s = e->state;
	struct extent_list *list = e->list;
	enum nfswb_list_state as;
	uint32_t keep = (uint32_t)(at - e->offset);

	assert(s != EXTENT_WRITEBACK && at > e->offset && at < extent_end(e));
	if (!rest)
		return NULL;
	rest->file = e->file;
	rest->cred = cred_ref(e->cred);
	rest->offset = at;
	rest->place = e->place + keep;
	rest->length = e->length - keep;
	rest->seq = e->seq;
	rest->oldest_seq = e->oldest_seq;
	rest->dirtied_usec = e->dirtied_usec;
	memcpy(rest->verf, e->verf, WB_VERF);
	rest->err = e->err;
	rest->not_stable = e->not_stable;
	rest->was_sent = e->was_sent;
	rest->file_nr = e->file_nr;
	rest->ringpos = e->ringpos;
	if (listed(rest, s, &as))
		slab_publish(rest, as);		/* before e is shortened */
	set_length(e, keep);
	extent_set_state(rest, s);
	if (s == EXTENT_DIRTY) {	/* as old as e */
		TAILQ_REMOVE(&e->slab->dirty, rest, link);
		TAILQ_INSERT_AFTER(&e->slab->dirty, e, rest, link);
	}
	if (list && rest->list != list)
		extent_list_append(list, rest);
	return rest;
}

void
extent_trim(struct extent *e, uint64_t at)
{
	uint32_t keep = (uint32_t)(at - e->offset);

	assert(at > e->offset && at < extent_end(e));
	set_length(e, keep);
}

static bool
overlap(const struct extent *e, uint64_t offset, uint64_t end)
{
	return e->offset < end && extent_end(e) > offset;
}

/* Must a new extent of this range wait?  Those HELD from upto on do not
   count. */
static bool
blocked(struct wb_file *f, uint64_t offset, uint64_t end,
	const struct extent *upto)
{
	struct extent *e;

	if (!TAILQ_EMPTY(&f->truncations) || late_overlaps(f, offset, end))
		return true;
	TAILQ_FOREACH(e, &f->held, link) {
		if (e == upto)
			break;
		if (overlap(e, offset, end))
			return true;
	}
	if (!f->nr[EXTENT_WRITEBACK] && !f->imported)
		return false;
	for (e = extent_at(f, offset); e && e->offset < end;
	     e = extent_next(e))
		if (e->state == EXTENT_WRITEBACK || e->was_sent)
			return true;
	return false;
}

static void
take_over(struct extent *n, struct extent *old)
{
	if (old->oldest_seq < n->oldest_seq)
		extent_inherit(n, old->oldest_seq);
	if (old->dirtied_usec < n->dirtied_usec)
		n->dirtied_usec = old->dirtied_usec;
}

static void
hold(struct extent *n)
{
	struct wb_file *f = n->file;
	struct extent *e, *next;

	TAILQ_FOREACH_SAFE(e, &f->held, link, next)
		if (e->offset >= n->offset && extent_end(e) <= extent_end(n)) {
			take_over(n, e);
			extent_drop(e);
		}
	extent_set_state(n, EXTENT_HELD);
}

/* The slots that cutting the edges of what it overlaps would take. */
static bool
cuts_possible(struct extent *n)
{
	uint64_t end = extent_end(n);
	struct extent *e, *left = NULL, *right = NULL;

	for (e = extent_at(n->file, n->offset); e && e->offset < end;
	     e = extent_next(e)) {
		if (e->state == EXTENT_CLEAN)
			continue;
		if (e->offset < n->offset)
			left = e;
		if (extent_end(e) > end)
			right = e;
	}
	if (left && right && left->slab == right->slab)
		return slab_has_slots(left->slab, 2);
	return (!left || slab_has_slots(left->slab, 1)) &&
	       (!right || slab_has_slots(right->slab, 1));
}

static void
supersede(struct extent *n, struct extent *e)
{
	if (e->state == EXTENT_UNSTABLE) {
		extent_set_state(e, EXTENT_GHOST);
		return;
	}
	take_over(n, e);
	extent_drop(e);
}

static void
cut_and_supersede(struct extent *n)
{
	uint64_t end = extent_end(n);
	struct extent *e, *next;

	for (e = extent_at(n->file, n->offset); e && e->offset < end;
	     e = next) {
		next = extent_next(e);
		if (e->state == EXTENT_CLEAN) {
			extent_drop(e);
			continue;
		}
		if (e->offset < n->offset)
			e = extent_split(e, n->offset);
		if (extent_end(e) > end)
			(void)extent_split(e, end);
		supersede(n, e);
	}
}

int
extent_may_join(struct extent *n)
{
	return blocked(n->file, n->offset, extent_end(n), NULL) ||
	       cuts_possible(n) ? 0 : -ENOBUFS;
}

int
extent_join(struct extent *n)
{
	if (blocked(n->file, n->offset, extent_end(n), NULL)) {
		hold(n);
		return 0;
	}
	if (!cuts_possible(n))
		return -ENOBUFS;
	cut_and_supersede(n);
	extent_set_state(n, EXTENT_DIRTY);
	return 0;
}

void
extent_release_held(struct wb_file *f, uint64_t now)
{
	struct extent *e, *next;

	late_expire(f, now);
	TAILQ_FOREACH_SAFE(e, &f->held, link, next) {
		if (blocked(f, e->offset, extent_end(e), e))
			continue;
		if (!cuts_possible(e)) {
			file_short(f);
			continue;
		}
		cut_and_supersede(e);
		extent_set_state(e, EXTENT_DIRTY);
	}
}

void
extent_cut_behind(struct wb_file *f, uint64_t size)
{
	struct extent *e, *next;

	for (e = extent_at(f, size); e; e = next) {
		next = extent_next(e);
		if (e->state == EXTENT_WRITEBACK)
			continue;
		if (e->offset < size)
			extent_trim(e, size);
		else
			extent_drop(e);
	}
}
