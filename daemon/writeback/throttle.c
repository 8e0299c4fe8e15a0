/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * throttle.c - grants
 *
 * Room is granted ahead: a queue of ahead_nr chunks, doubled each time the
 * library has used it up, so that a fast writer never waits for the loop while
 * there is room.  Above the middle of background and limit only those who ask are
 * granted room, as much and as soon as the pace says (pace.c): until then they
 * stand in wb->paced.  Where there is none, at the limit or at the most that
 * their server may hold (share.c), they stand in wb->waiting; what others were
 * granted and do not fill is taken back for them.
 *
 *	THROTTLE_IOLESS		this
 *	THROTTLE_FOREGROUND	above the middle who asks writes first, see
 *				foreground.c
 *	THROTTLE_NONE		all run free up to the limit itself, and no
 *				server leaves room to others
 *
 * What comes free at the limit goes to one writer until it has the whole of what
 * it asked for (WANT_MAX chunks at most), then to the next: WRITEs stay large
 * however many wait.  Writers that ask for little and have little under way go
 * before, and a small part of the limit is theirs alone (all this: BOUND_GRANTS).
 *
 * Cost: O(1) a chunk granted; who is paced is put among the others by time, in
 * O(1) where their pauses are alike.
 */
#include <assert.h>
#include <sys/param.h>

#include "daemon/writeback/foreground.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/share.h"
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
	return wb->granted_bytes + extent_live_bytes(wb->bytes);
}

bool
throttle_over_background(const struct wb *wb)
{
	return throttle_dirtied(wb) > wb->limits.dirty_background_bytes;
}

bool
throttle_urgent(const struct wb_server *s)
{
	const struct wb *wb = s->wb;

	return wb->short_nr || s->held_nr || wb_lacks_slots(wb);
}

bool
throttle_pushes(const struct wb_server *s)
{
	return throttle_over_background(s->wb) || pace_on(s);
}

static bool
is_paced(const struct slab *s)
{
	return s->server && pace_on(s->server);
}

/* Do its writers run free no more? */
static bool
over_middle(const struct slab *s)
{
	const struct wb *wb = s->wb;

	if (wb->limits.dirty_throttling == THROTTLE_NONE)
		return false;
	if (throttle_dirtied(wb) > pace_middle(wb, wb->limits.dirty_bytes))
		return true;
	if (wb->limits.dirty_throttling == THROTTLE_FOREGROUND)
		return s->server && share_dirtied(s->server) >
				    pace_middle(wb, share_most(s->server));
	return is_paced(s);
}

static uint64_t
below(uint64_t bytes, uint64_t most)
{
	return bytes < most ? most - bytes : 0;
}

/* Asks for little, and has little under way. */
static bool
is_light(const struct slab *s)
{
	const struct wb *wb = s->wb;
	uint64_t has = s->granted_bytes + extent_live_bytes(s->bytes);

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

static uint64_t
limit_left(const struct slab *s)
{
	return below(throttle_dirtied(s->wb) + reserve(s),
		     s->wb->limits.dirty_bytes);
}

static uint64_t
share_left(const struct slab *s)
{
	uint64_t most;

	if (!s->server || s->wb->limits.dirty_throttling == THROTTLE_NONE)
		return UINT64_MAX;
	most = share_most(s->server);
	return below(share_dirtied(s->server) + MIN(reserve(s), most / 8),
		     most);
}

/* Is it the server's share, and not the limit, that leaves no room? */
static bool
is_held(const struct slab *s)
{
	return limit_left(s) >= GRANT_MIN && share_left(s) < GRANT_MIN;
}

/* What may be granted now: whole pages, a chunk at most. */
static uint32_t
allowance(const struct slab *s)
{
	uint64_t left = MIN(limit_left(s), share_left(s));

	left = MIN(left, NFSWB_CHUNK_BYTES);
	return (uint32_t)(left - left % GRANT_MIN);
}

static void
account_grant(struct slab *s, struct chunk *c, uint32_t bytes)
{
	c->granted += bytes;
	slab_account_grant(s, bytes);
}

/* A fresh chunk, open for most bytes; NULL: no room, and why. */
static struct chunk *
open_chunk(struct slab *s, uint64_t most, enum waiting_for *why)
{
	uint32_t bytes = (uint32_t)MIN(allowance(s), most);
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

/* More room in a chunk that the library has and wants to go on with; the
   bytes. */
static uint32_t
raise_chunk(struct slab *s, struct chunk *c, uint64_t most)
{
	uint32_t bytes = (uint32_t)MIN(allowance(s), most);

	if (bytes > NFSWB_CHUNK_BYTES - c->granted)
		bytes = NFSWB_CHUNK_BYTES - c->granted;
	if (!bytes)
		return 0;
	account_grant(s, c, bytes);
	atomic_fetch_add(&s->view.mark[c - s->chunk],
			 (uint64_t)bytes * NFSWB_MARK_LIMIT_1);
	return bytes;
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

/* The bytes; 0: none, and why. */
static uint32_t
grant_chunk(struct slab *s, uint64_t most, enum waiting_for *why)
{
	struct chunk *c;

	*why = WAIT_GRANT;
	if (queued(s) >= s->view.layout.grant_nr)
		return 0;
	c = open_chunk(s, most, why);
	if (!c)
		return 0;
	ring_grant(&s->view, (uint32_t)(c - s->chunk));
	return c->granted;
}

/* The chunk that the library wants to go on with, if it may be raised. */
static struct chunk *
wanted_chunk(struct slab *s)
{
	uint32_t nr = s->want_chunk;
	struct chunk *c;

	if (nr >= s->view.layout.chunk_nr)
		return NULL;
	c = &s->chunk[nr];
	return c->state == CHUNK_OPEN && c->granted < NFSWB_CHUNK_BYTES ? c
									: NULL;
}

/* Gives what it may to a slab that asked: what it wants, WANT_MAX chunks at the
   most; why: it got nothing. */
static bool
grant_wanted(struct slab *s, enum waiting_for *why)
{
	struct chunk *c = wanted_chunk(s);
	uint32_t n, got;

	if (c && (got = raise_chunk(s, c, NFSWB_CHUNK_BYTES))) {
		pace_granted(s, got, false, s->wb->now);
		return true;
	}
	for (n = 0; s->turn_nr + n < WANT_MAX; n++) {
		if (n && (uint64_t)n * NFSWB_CHUNK_BYTES >= s->want)
			break;
		got = grant_chunk(s, NFSWB_CHUNK_BYTES, why);
		if (!got)
			break;
		pace_granted(s, got, false, s->wb->now);
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

/* Gives what the pace says, in the chunk it goes on with and in new ones. */
static bool
grant_paced(struct slab *s, enum waiting_for *why)
{
	uint64_t left = pace_bytes(s), got = 0;
	struct chunk *c = wanted_chunk(s);
	uint32_t n;

	s->partly = false;
	if (c)
		got = raise_chunk(s, c, left);
	while (left - got >= GRANT_MIN && (n = grant_chunk(s, left - got, why)))
		got += n;
	if (got)
		pace_granted(s, got, true, s->wb->now);
	return got > 0;
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

/* For a server's share; NULL: for the limit, or a chunk of its own. */
static void
hold(struct slab *s, struct wb_server *by)
{
	struct wb *wb = s->wb;

	if (s->held_by)
		s->held_by->held_nr--;
	else
		wb->short_nr--;
	s->held_by = by;
	if (by)
		by->held_nr++;
	else
		wb->short_nr++;
}

static struct wb_server *
holder(const struct slab *s)
{
	return s->waiting_for == WAIT_LIMIT && is_held(s) ? s->server : NULL;
}

void
throttle_aimed(struct slab *s)
{
	if (!s->held_by)
		return;
	hold(s, NULL);
	wb_poke(s->wb);
}

/* By time; behind those that are due with it. */
static void
pace_wait(struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;
	struct slab *before;

	s->due_usec = pace_when(s, now);
	TAILQ_FOREACH_REVERSE(before, &wb->paced, slab_wait_list, wait_link)
		if (before->due_usec <= s->due_usec)
			break;
	if (before)
		TAILQ_INSERT_AFTER(&wb->paced, before, s, wait_link);
	else
		TAILQ_INSERT_HEAD(&wb->paced, s, wait_link);
	pace_hungry(s, now);
	wb->stats.throttle.pauses++;
	if (s->due_usec < wb->deadline)
		wb_poke(wb);
}

void
throttle_wait(struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;

	if (s->waiting || s->released)
		return;
	s->waiting = true;
	s->waiting_since = now;
	if (s->waiting_for == WAIT_PACE) {
		pace_wait(s, now);
		return;
	}
	if (s->waiting_for == WAIT_WRITE) {
		TAILQ_INSERT_TAIL(&wb->driving, s, wait_link);
		return;
	}
	if (s->waiting_for == WAIT_NONE)
		s->waiting_for = WAIT_GRANT;
	wb->short_nr++;
	hold(s, holder(s));
	join_waiting(s);
	reclaim_looked(s, s->waiting_for, now);
	if (s->waiting_for == WAIT_LIMIT) {
		pace_hungry(s, now);
		wb->stats.throttle.limit_waits++;
	}
	wb_poke(wb);
}

void
throttle_unwait(struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;
	uint64_t waited = now - s->waiting_since;

	if (!s->waiting)
		return;
	s->waiting = false;
	if (s->waiting_for == WAIT_PACE) {
		TAILQ_REMOVE(&wb->paced, s, wait_link);
		hist_add(&wb->stats.throttle.pause_us, waited);
	} else if (s->waiting_for == WAIT_WRITE) {
		TAILQ_REMOVE(&wb->driving, s, wait_link);
	} else {
		TAILQ_REMOVE(&wb->waiting, s, wait_link);
		hold(s, NULL);
		wb->short_nr--;
		reclaim_looked(s, WAIT_NONE, now);
		if (s->waiting_for == WAIT_LIMIT)
			hist_add(&wb->stats.throttle.limit_wait_us, waited);
	}
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

static struct chunk *
inline_chunk(struct slab *s)
{
	struct chunk *c;

	if (s->inline_chunk == NFSWB_NO_CHUNK)
		return NULL;
	c = &s->chunk[s->inline_chunk];
	return c->state == CHUNK_OPEN && c->posted < NFSWB_CHUNK_BYTES ? c
								       : NULL;
}

/* Room for data in messages: a chunk, or what the pace says, in the slab's own
   chunk or a new one; 0, and why. */
static uint32_t
grant_inline(struct slab *s, enum waiting_for *why)
{
	bool paced = is_paced(s);
	uint64_t most = paced ? pace_bytes(s) : NFSWB_CHUNK_BYTES;
	struct chunk *c = inline_chunk(s);
	uint32_t got;

	if (c) {
		*why = WAIT_LIMIT;
		got = raise_chunk(s, c, most);
	} else {
		c = open_chunk(s, most, why);
		if (c)
			s->inline_chunk = (uint32_t)(c - s->chunk);
		got = c ? c->granted : 0;
	}
	if (got)
		pace_granted(s, got, paced, s->wb->now);
	return got;
}

static bool
serve_waiting(struct slab *s, enum waiting_for *why)
{
	if (s->want_inline)
		return grant_inline(s, why) > 0;
	return is_paced(s) ? grant_paced(s, why) : grant_wanted(s, why);
}

static void
served(struct slab *s, uint64_t now)
{
	s->want_inline = false;
	throttle_unwait(s, now);
	slab_wake(s);
}

/* Nobody who waits for the same room came before. */
static bool
is_next(const struct slab *s)
{
	return !s->wb->short_nr && !(s->server && s->server->held_nr);
}

/* Its wait is over: it gets room, or goes to those who wait for that. */
static void
serve_or_queue(struct slab *s, uint64_t now)
{
	enum waiting_for why = WAIT_LIMIT;

	if (is_next(s) && serve_waiting(s, &why)) {
		served(s, now);
		return;
	}
	throttle_unwait(s, now);
	s->waiting_for = why;
	throttle_wait(s, now);
}

static void
run_paced(struct wb *wb, uint64_t now)
{
	struct slab *s;

	pace_run(wb, now);
	while ((s = TAILQ_FIRST(&wb->paced)) &&
	       (s->due_usec <= now || !is_paced(s)))
		serve_or_queue(s, now);
	if (s)
		wb_due(wb, s->due_usec);
}

/* Whose WRITEs have been answered. */
static void
run_driving(struct wb *wb, uint64_t now)
{
	struct slab *s, *next;

	TAILQ_FOREACH_SAFE(s, &wb->driving, wait_link, next)
		if (foreground_ended(s))
			serve_or_queue(s, now);
}

void
throttle_run(struct wb *wb, uint64_t now)
{
	struct slab *s, *next;
	struct wb_server *full;
	enum waiting_for why = WAIT_GRANT;

	run_driving(wb, now);
	run_paced(wb, now);
	LIST_FOREACH(full, &wb->servers, link)
		full->full = false;
	TAILQ_FOREACH_SAFE(s, &wb->waiting, wait_link, next) {
		bool ok;

		if (s->server && s->server->full)
			continue;
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
			served(s, now);
			continue;
		}
		reclaim_looked(s, why, now);
		if (s->waiting_for != why) {
			s->waiting_for = why;
			if (why == WAIT_LIMIT)
				wb->stats.throttle.limit_waits++;
		}
		hold(s, holder(s));
		if (s->held_by)
			s->server->full = true;
		else if (why == WAIT_LIMIT)
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
	uint32_t got;

	if (queued(s) == 0 && s->ahead_nr < ahead_max(s))
		ahead = s->ahead_nr *= 2;
	if (ahead > ahead_max(s))
		ahead = s->ahead_nr = ahead_max(s);
	while (queued(s) < ahead && is_next(s) && !wb_lacks_slots(s->wb) &&
	       !over_middle(s)) {
		got = grant_chunk(s, NFSWB_CHUNK_BYTES, &why);
		if (!got)
			break;
		pace_granted(s, got, false, s->wb->now);
	}
}

/* Who asks is granted room at once, if it may be; else why not. */
static bool
grant_asked(struct slab *s, enum waiting_for *why, uint64_t now)
{
	*why = WAIT_GRANT;
	if (is_paced(s) && pace_when(s, now) > now) {
		*why = WAIT_PACE;
		return false;
	}
	if (s->wb->limits.dirty_throttling == THROTTLE_FOREGROUND &&
	    over_middle(s) && foreground_begins(s, now)) {
		*why = WAIT_WRITE;
		return false;
	}
	return is_next(s) && serve_waiting(s, why);
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
		if (grant_asked(s, &why, now)) {
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
	struct chunk *c = inline_chunk(s);
	enum waiting_for why;

	if (!c || c->posted == c->granted) {
		if (s->waiting)
			return 0;
		s->want_inline = true;
		if (!grant_asked(s, &why, s->wb->now)) {
			s->waiting_for = why;
			return 0;
		}
		s->want_inline = false;
		c = inline_chunk(s);
	}
	*place = (uint64_t)s->inline_chunk * NFSWB_CHUNK_BYTES + c->posted;
	return c->granted - c->posted;
}
