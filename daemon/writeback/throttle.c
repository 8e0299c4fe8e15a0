/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * throttle.c - grants
 *
 * Room is granted ahead: a queue of ahead_nr chunks, doubled each time the
 * library has used it up, so that a fast writer never waits for the loop while
 * there is room.  Above the middle of background and limit one chunk is granted
 * at a time, to those that ask.  At the limit they wait; what others were granted
 * and do not fill is taken back for them.  THROTTLE_NONE: all run free up to the
 * limit itself.
 *
 * What comes free at the limit goes to one writer until it has the whole of what
 * it asked for (WANT_MAX chunks at most), then to the next: WRITEs stay large
 * however many wait.  Writers that ask for little and have little under way go
 * before, and a small part of the limit is theirs alone (all this: BOUND_GRANTS).
 *
 * Cost: O(1) a chunk granted.
 */
#include <assert.h>
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/throttle.h"

#define GRANT_MIN 4096u
#define AHEAD_MAX 64u
#define WANT_MAX 16u		/* for one that waits, at a time */
#define TURN_BYTES (WANT_MAX * NFSWB_CHUNK_BYTES)
#define LIGHT_SHARE 8		/* of a file's share of the limit */
#define RESERVE_SHARE 64	/* of the limit, for light writers */
#define RESERVE_MAX (4ull << 20)
#define RESERVE_FROM (32ull << 20)	/* limits below have none to spare */
#define IDLE_USEC 10000		/* a grant nobody filled for so long */

uint64_t
throttle_dirtied(const struct wb *wb)
{
	return wb->granted_bytes + wb->bytes[EXTENT_DIRTY] +
	       wb->bytes[EXTENT_HELD] + wb->bytes[EXTENT_WRITEBACK] +
	       wb->bytes[EXTENT_UNSTABLE];
}

bool
throttle_over_background(const struct wb *wb)
{
	return throttle_dirtied(wb) > wb->limits.dirty_background_bytes;
}

bool
throttle_waiting(const struct wb *wb)
{
	return !TAILQ_EMPTY(&wb->waiting) || wb->starved_nr ||
	       !TAILQ_EMPTY(&wb->short_files);
}

static bool
over_middle(const struct wb *wb)
{
	return wb->limits.dirty_throttling != THROTTLE_NONE &&
	       throttle_dirtied(wb) > (wb->limits.dirty_background_bytes +
				       wb->limits.dirty_bytes) / 2;
}

/* Asks for little, and has little under way. */
static bool
is_light(const struct slab *s)
{
	const struct wb *wb = s->wb;
	uint64_t has = s->granted_bytes + s->bytes[EXTENT_DIRTY] +
		       s->bytes[EXTENT_HELD] + s->bytes[EXTENT_WRITEBACK] +
		       s->bytes[EXTENT_UNSTABLE];

	return wb->limits.whole_grants && s->want && !s->want_inline &&
	       s->want <= NFSWB_CHUNK_BYTES &&
	       has <= wb->limits.dirty_bytes / LIGHT_SHARE /
		      MAX(wb->live_files, 1);
}

/* What only light writers may have: whole turns, so that the others' still come
   out even. */
static uint64_t
reserve(const struct slab *s)
{
	uint64_t limit = s->wb->limits.dirty_bytes;
	uint64_t turns = MIN(limit / RESERVE_SHARE, RESERVE_MAX) / TURN_BYTES;

	if (!s->wb->limits.whole_grants || limit < RESERVE_FROM ||
	    is_light(s))
		return 0;
	return MAX(turns, 1) * TURN_BYTES;
}

/* What may be granted now: whole pages, a chunk at most. */
static uint32_t
allowance(const struct slab *s)
{
	const struct wb *wb = s->wb;
	uint64_t dirtied = throttle_dirtied(wb) + reserve(s), left;

	if (dirtied >= wb->limits.dirty_bytes)
		return 0;
	left = wb->limits.dirty_bytes - dirtied;
	if (left >= NFSWB_CHUNK_BYTES)
		return NFSWB_CHUNK_BYTES;
	return (uint32_t)(left - left % GRANT_MIN);
}

static void
account_grant(struct slab *s, struct chunk *c, uint32_t bytes)
{
	c->granted += bytes;
	s->granted_bytes += bytes;
	s->wb->granted_bytes += bytes;
}

/* A fresh chunk, open for bytes; NULL: no room, and why. */
static struct chunk *
open_chunk(struct slab *s, enum waiting_for *why)
{
	uint32_t bytes = allowance(s);
	struct chunk *c;

	*why = WAIT_LIMIT;
	if (!bytes)
		return NULL;
	*why = WAIT_GRANT;
	if (!slab_has_slots(s, slab_reserve(s) + 1))
		return NULL;
	c = reclaim_chunk(s);
	if (!c)
		return NULL;
	assert(c->live_nr == 0);
	c->granted = c->posted = 0;
	account_grant(s, c, bytes);
	atomic_store(&s->view.mark[c - s->chunk],
		     (uint64_t)bytes * NFSWB_MARK_LIMIT_1);
	slab_chunk_move(s, c, CHUNK_OPEN);
	return c;
}

/* More room in a chunk that the library has and wants to go on with. */
static bool
raise_chunk(struct slab *s, struct chunk *c)
{
	uint32_t bytes = allowance(s);

	if (bytes > NFSWB_CHUNK_BYTES - c->granted)
		bytes = NFSWB_CHUNK_BYTES - c->granted;
	if (!bytes)
		return false;
	account_grant(s, c, bytes);
	atomic_fetch_add(&s->view.mark[c - s->chunk],
			 (uint64_t)bytes * NFSWB_MARK_LIMIT_1);
	return true;
}

static uint32_t
queued(struct slab *s)
{
	uint64_t n = atomic_load(&s->view.control->g_head) -
		     atomic_load(&s->view.control->g_tail);

	/* g_tail is the library's word: nonsense counts as a full queue */
	return n > s->view.layout.grant_nr ? s->view.layout.grant_nr
					   : (uint32_t)n;
}

static bool
grant_chunk(struct slab *s, enum waiting_for *why)
{
	struct chunk *c;

	*why = WAIT_GRANT;
	if (queued(s) >= s->view.layout.grant_nr)
		return false;
	c = open_chunk(s, why);
	if (!c)
		return false;
	ring_grant(&s->view, (uint32_t)(c - s->chunk));
	return true;
}

/* Gives what it may to a slab that asked: what it wants, WANT_MAX chunks at the
   most; why: it got nothing. */
static bool
grant_wanted(struct slab *s, enum waiting_for *why)
{
	uint32_t want = s->want_chunk, n;
	struct chunk *c;

	if (want < s->view.layout.chunk_nr) {
		c = &s->chunk[want];
		if (c->state == CHUNK_OPEN && c->granted < NFSWB_CHUNK_BYTES &&
		    raise_chunk(s, c))
			return true;
	}
	for (n = 0; s->turn_nr + n < WANT_MAX; n++) {
		if (n && (uint64_t)n * NFSWB_CHUNK_BYTES >= s->want)
			break;
		if (!grant_chunk(s, why))
			break;
	}
	if (!n)			/* its turn is not over */
		return false;
	s->turn_nr += n;
	s->partly = (uint64_t)n * NFSWB_CHUNK_BYTES < s->want &&
		    s->turn_nr < WANT_MAX;
	if (!s->partly)
		s->turn_nr = 0;
	return true;
}

/* ---- waiting ---- */

/* First light writers, then the one that has got a part of its turn, then the
   others; each kind first in, first out. */
static void
join_waiting(struct slab *s)
{
	struct wb *wb = s->wb;
	struct slab *before = TAILQ_LAST(&wb->waiting, slab_wait_list);

	s->wait_rank = !wb->limits.whole_grants ? WAIT_RANK_REST :
		       is_light(s) ? WAIT_RANK_LIGHT :
		       s->partly ? WAIT_RANK_PARTLY : WAIT_RANK_REST;
	if (before && before->wait_rank > s->wait_rank) {
		before = TAILQ_FIRST(&wb->waiting);
		while (before->wait_rank <= s->wait_rank)
			before = TAILQ_NEXT(before, wait_link);
		TAILQ_INSERT_BEFORE(before, s, wait_link);
	} else {
		TAILQ_INSERT_TAIL(&wb->waiting, s, wait_link);
	}
}

void
throttle_wait(struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;

	if (s->waiting || s->released)
		return;
	s->waiting = true;
	s->waiting_since = now;
	if (s->waiting_for == WAIT_NONE)
		s->waiting_for = WAIT_GRANT;
	join_waiting(s);
	reclaim_looked(s, s->waiting_for, now);
	if (s->waiting_for == WAIT_LIMIT)
		wb->stats.throttle.limit_waits++;
	wb_poke(wb);
}

void
throttle_unwait(struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;
	uint64_t waited = now - s->waiting_since;

	if (!s->waiting)
		return;
	TAILQ_REMOVE(&wb->waiting, s, wait_link);
	s->waiting = false;
	reclaim_looked(s, WAIT_NONE, now);
	if (s->waiting_for == WAIT_LIMIT)
		hist_add(&wb->stats.throttle.limit_wait_us, waited);
	s->waiting_for = WAIT_NONE;
}

/* Idle grants come back: those of others when the limit is what is waited for,
   the slab's own when it has no chunk left. */
static void
take_back_idle(struct wb *wb, struct slab *for_slab, bool own_only,
	       uint64_t now)
{
	struct slab *s;
	struct chunk *c, *next;

	if (!own_only && !wb->granted_bytes)
		return;
	LIST_FOREACH(s, &wb->slabs, link) {
		if (own_only ? s != for_slab : !s->granted_bytes)
			continue;
		slab_check_closed(s);
		TAILQ_FOREACH_SAFE(c, &s->open, link, next) {
			if (c->granted == c->posted)
				continue;
			if (now - c->used_usec < IDLE_USEC) {
				wb_due(wb, c->used_usec + IDLE_USEC);
				break;	/* the others are younger */
			}
			if (slab_take_back(s, c, true) && own_only)
				return;
		}
	}
}

/* Closes a chunk of its own that is full by its grant, so that it can be
   written out and come back (no chunk is free, all are open). */
static void
close_oldest_open(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->open);

	if (c && TAILQ_EMPTY(&s->closed) && TAILQ_EMPTY(&s->clean) &&
	    TAILQ_EMPTY(&s->free))
		(void)slab_take_back(s, c, true);
}

static bool
serve_waiting(struct slab *s, enum waiting_for *why)
{
	if (s->want_inline) {
		uint64_t place;

		return throttle_inline_room(s, &place) > 0;
	}
	return grant_wanted(s, why);
}

void
throttle_run(struct wb *wb, uint64_t now)
{
	struct slab *s, *next;
	enum waiting_for why = WAIT_GRANT;

	TAILQ_FOREACH_SAFE(s, &wb->waiting, wait_link, next) {
		bool ok;

		if (reclaim_sleeps(s, now))
			continue;
		ok = serve_waiting(s, &why);
		if (!ok) {
			take_back_idle(wb, s, why != WAIT_LIMIT, now);
			if (why == WAIT_GRANT)
				close_oldest_open(s);
			ok = serve_waiting(s, &why);
		}
		if (ok) {
			s->want_inline = false;
			throttle_unwait(s, now);
			slab_wake(s);
			continue;
		}
		reclaim_looked(s, why, now);
		if (s->waiting_for != why) {
			s->waiting_for = why;
			if (why == WAIT_LIMIT)
				wb->stats.throttle.limit_waits++;
		}
		if (why == WAIT_LIMIT)
			break;		/* first in, first out */
	}
}

/* ---- what the library asks for ---- */

static unsigned
ahead_max(const struct slab *s)
{
	unsigned quarter = s->view.layout.chunk_nr / 4;

	return quarter < AHEAD_MAX ? (quarter ? quarter : 1) : AHEAD_MAX;
}

static void
keep_ahead(struct slab *s)
{
	enum waiting_for why;
	unsigned ahead = s->ahead_nr;

	if (queued(s) == 0 && s->ahead_nr < ahead_max(s))
		ahead = s->ahead_nr *= 2;
	if (ahead > ahead_max(s))
		ahead = s->ahead_nr = ahead_max(s);
	if (over_middle(s->wb) || throttle_waiting(s->wb))
		return;
	while (queued(s) < ahead && !over_middle(s->wb))
		if (!grant_chunk(s, &why))
			break;
}

void
slab_serve(struct slab *s, uint64_t now)
{
	struct nfswb_control *ctl = s->view.control;
	enum waiting_for why = WAIT_GRANT;

	s->wb->now = now;
	if (s->released)
		return;
	if (s->importing) {
		if (atomic_load(&ctl->head) != atomic_load(&ctl->tail))
			return;
		slab_import_end(s);
	}
	slab_check_closed(s);
	if (atomic_exchange(&ctl->c_waits, 0)) {
		s->want = atomic_load(&ctl->want);
		s->want_chunk = atomic_load(&ctl->want_chunk);
		if (!s->want) {		/* waits for the tail, not for room */
			slab_wake(s);
			return;
		}
		if (s->waiting)
			return;
		if (TAILQ_EMPTY(&s->wb->waiting) && grant_wanted(s, &why)) {
			keep_ahead(s);
			slab_wake(s);
			return;
		}
		s->waiting_for = why;
		throttle_wait(s, now);
		return;
	}
	keep_ahead(s);
}

uint32_t
throttle_inline_room(struct slab *s, uint64_t *place)
{
	struct chunk *c;

	c = s->inline_chunk == NFSWB_NO_CHUNK ? NULL
					      : &s->chunk[s->inline_chunk];
	if (c && (c->state != CHUNK_OPEN || c->posted == NFSWB_CHUNK_BYTES))
		c = NULL;
	if (c && c->posted == c->granted && !raise_chunk(s, c))
		return 0;
	if (!c) {
		c = open_chunk(s, &s->waiting_for);
		if (!c)
			return 0;
		s->inline_chunk = (uint32_t)(c - s->chunk);
	}
	*place = (uint64_t)s->inline_chunk * NFSWB_CHUNK_BYTES + c->posted;
	return c->granted - c->posted;
}
