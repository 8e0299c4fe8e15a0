/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * throttle.c - who gets room, how much and when
 *
 * Room is granted ahead: a queue of ahead_nr chunks, doubled each time the
 * library has used it up, so that a fast writer never waits for the loop while
 * there is room; where the limit is small, less, so that others have theirs.
 * Above the middle of background and limit only those who ask are granted room,
 * as much and as soon as the pace says (pace.c): until then they stand in
 * wb->paced.  Where there is none, at the limit or at the most that their server
 * may hold (share.c), they stand in wb->waiting; what others were granted and do
 * not fill is taken back for them.
 *
 *	THROTTLE_IOLESS		this
 *	THROTTLE_FOREGROUND	above the middle who asks writes first, see
 *				foreground.c
 *	THROTTLE_NONE		all run free up to the limit itself, and no
 *				server leaves room to others
 *
 * Cost: O(1) a chunk granted.
 */
#include <sys/param.h>

#include "common/crash.h"
#include "daemon/writeback/foreground.h"
#include "daemon/writeback/grant.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/room_queue.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/throttle.h"

#define AHEAD_MAX 256u
#define AHEAD_LEAST 8u		/* may have as many, where all together have */
#define AHEAD_LEAST_SHARE 4u	/* no more than such a part of the limit */
#define AHEAD_SHARE 64u		/* of the limit and of those who write */

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

/* Gives what it may to a slab that asked: what it wants, GRANT_TURN chunks at
   the most; why: it got nothing. */
static bool
grant_wanted(struct slab *s, enum waiting_for *why)
{
	struct chunk *c = grant_wanted_chunk(s);
	uint32_t n, got;

	if (c && (got = grant_raise(s, c, NFSWB_CHUNK_BYTES))) {
		pace_granted(s, got, false, s->wb->now);
		return true;
	}
	for (n = 0; s->turn_nr + n < GRANT_TURN; n++) {
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
		    s->turn_nr < GRANT_TURN;
	if (!s->partly)
		s->turn_nr = 0;
	return true;
}

/* Gives what the pace says, in the chunk it goes on with and in new ones. */
static bool
grant_paced(struct slab *s, enum waiting_for *why)
{
	uint64_t left = pace_bytes(s), got = 0;
	struct chunk *c = grant_wanted_chunk(s);
	uint32_t n;

	s->partly = false;
	if (c)
		got = grant_raise(s, c, left);
	while (left - got >= GRANT_MIN && (n = grant_chunk(s, left - got, why)))
		got += n;
	if (got)
		pace_granted(s, got, true, s->wb->now);
	return got > 0;
}

/* Room for data in messages: a chunk, or what the pace says, in the slab's own
   chunk or a new one; 0, and why. */
static uint32_t
grant_inline(struct slab *s, enum waiting_for *why)
{
	bool paced = is_paced(s);
	uint64_t most = paced ? pace_bytes(s) : NFSWB_CHUNK_BYTES;
	struct chunk *c = grant_inline_chunk(s);
	uint32_t got;

	if (c) {
		*why = WAIT_LIMIT;
		got = grant_raise(s, c, most);
	} else {
		c = grant_open(s, most, why);
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
	room_queue_leave(s, now);
	slab_wake(s);
}

/* Its wait is over: it gets room, or goes to those who wait for that. */
static void
serve_or_queue(struct slab *s, uint64_t now)
{
	enum waiting_for why = WAIT_LIMIT;

	if (room_queue_is_next(s) && serve_waiting(s, &why)) {
		served(s, now);
		return;
	}
	room_queue_leave(s, now);
	s->waiting_for = why;
	room_queue_join(s, now);
}

static void
run_paced(struct wb *wb, uint64_t now)
{
	struct slab *s = TAILQ_FIRST(&wb->paced);
	uint64_t until = now;

	pace_run(wb, now);
	if (s && s->due_usec <= now)
		until += PACE_TOGETHER_USEC;
	while ((s = TAILQ_FIRST(&wb->paced)) &&
	       (s->due_usec <= until || !is_paced(s)))
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
			grant_take_back_idle(wb, s, why != WAIT_LIMIT, now);
			if (why == WAIT_GRANT)
				grant_close_oldest(s);
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
		room_queue_hold(s, room_queue_holder(s));
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
	uint64_t limit = s->wb->limits.dirty_bytes / NFSWB_CHUNK_BYTES;
	uint64_t nr = MAX(s->wb->live_files, 1);
	uint64_t most = MAX(limit / AHEAD_SHARE / nr,
			    MIN(limit / AHEAD_LEAST_SHARE / nr, AHEAD_LEAST));

	most = MIN(most, s->view.layout.chunk_nr / 4);
	return (unsigned)MIN(MAX(most, 1), AHEAD_MAX);
}

/* used_up: the library had none left before it was granted what it asked for. */
static void
keep_ahead(struct slab *s, bool used_up)
{
	enum waiting_for why;
	unsigned ahead = s->ahead_nr;
	uint32_t got;

	if (used_up && s->ahead_nr < ahead_max(s))
		ahead = s->ahead_nr *= 2;
	if (ahead > ahead_max(s))
		ahead = s->ahead_nr = ahead_max(s);
	while (grant_queued(s) < ahead && room_queue_is_next(s) &&
	       !wb_lacks_slots(s->wb) && !over_middle(s)) {
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
	return room_queue_is_next(s) && serve_waiting(s, why);
}

void
slab_serve(struct slab *s, uint64_t now)
{
	struct nfswb_control *ctl = s->view.control;
	enum waiting_for why = WAIT_GRANT;
	bool used_up;

	s->wb->now = now;
	if (s->released)
		return;
	if (s->importing) {
		if (atomic_load(&ctl->head) != atomic_load(&ctl->tail))
			return;
		slab_import_end(s);
	}
	slab_check_closed(s);
	used_up = grant_queued(s) == 0;
	crash_point();
	if (atomic_exchange(&ctl->c_waits, 0)) {
		s->want = atomic_load(&ctl->want);
		s->wants_room = s->want & NFSWB_WANT_ROOM;
		s->want &= ~NFSWB_WANT_ROOM;
		s->want_chunk = atomic_load(&ctl->want_chunk);
		if (!s->want) {		/* waits for the tail, not for room */
			slab_wake(s);
			return;
		}
		if (s->waiting)
			return;
		if (grant_asked(s, &why, now)) {
			keep_ahead(s, used_up);
			slab_wake(s);
			return;
		}
		s->waiting_for = why;
		room_queue_join(s, now);
		return;
	}
	keep_ahead(s, used_up);
}

uint32_t
throttle_inline_room(struct slab *s, uint64_t *place)
{
	struct chunk *c = grant_inline_chunk(s);
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
		c = grant_inline_chunk(s);
	}
	*place = (uint64_t)s->inline_chunk * NFSWB_CHUNK_BYTES + c->posted;
	return c->granted - c->posted;
}
