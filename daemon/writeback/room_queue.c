/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room_queue.c - see room_queue.h
 *
 * What comes free at the limit goes to one writer until it has the whole of what
 * it asked for (GRANT_TURN chunks at most), then to the next: WRITEs stay large
 * however many wait.  Writers that ask for little and have little under way go
 * before (all this: BOUND_GRANTS).
 *
 * Cost: O(1), but who is paced is put among the others by time, in O(1) where
 * their pauses are alike.
 */
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/room.h"
#include "daemon/writeback/room_queue.h"

/* First light writers, then the one that has got a part of its turn, then the
   others; each kind first in, first out. */
static void
join_waiting(struct slab *s)
{
	struct wb *wb = s->wb;
	struct slab *before = TAILQ_LAST(&wb->waiting, slab_wait_list);

	s->wait_rank = !wb->limits.whole_grants ? WAIT_RANK_REST :
		       room_is_light(s) ? WAIT_RANK_LIGHT :
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
room_queue_hold(struct slab *s, struct wb_server *by)
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

struct wb_server *
room_queue_holder(const struct slab *s)
{
	return s->waiting_for == WAIT_LIMIT && room_is_held(s) ? s->server
							       : NULL;
}

void
room_queue_aimed(struct slab *s)
{
	if (!s->held_by)
		return;
	room_queue_hold(s, NULL);
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
room_queue_join(struct slab *s, uint64_t now)
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
	room_queue_hold(s, room_queue_holder(s));
	join_waiting(s);
	reclaim_looked(s, s->waiting_for, now);
	if (s->waiting_for == WAIT_LIMIT) {
		pace_hungry(s, now);
		wb->stats.throttle.limit_waits++;
	}
	wb_poke(wb);
}

void
room_queue_leave(struct slab *s, uint64_t now)
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
		room_queue_hold(s, NULL);
		wb->short_nr--;
		reclaim_looked(s, WAIT_NONE, now);
		if (s->waiting_for == WAIT_LIMIT)
			hist_add(&wb->stats.throttle.limit_wait_us, waited);
	}
	s->waiting_for = WAIT_NONE;
}

bool
room_queue_is_next(const struct slab *s)
{
	return !s->wb->short_nr && !(s->server && s->server->held_nr);
}
