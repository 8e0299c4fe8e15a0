/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion.c - see congestion.h
 *
 *	split	async: waits while writeback > limit
 *		       wakes below  limit - min(limit/8, 1 MiB)
 *		sync:  waits while writeback > max(2 * limit, limit + wsize)
 *		       wakes below  2 * limit - min(limit/8, 1 MiB), but never
 *		       waits for async WRITEs alone, which are limit + wsize at
 *		       the most
 *	single	async: limit 256 MB at most, wakes below 3/4; sync never waits
 *	none	nobody waits
 *
 * A server with nothing in writeback holds nobody, so that any limit, down to
 * one byte, makes progress.
 *
 * Cost: O(1).
 */
#include <sys/param.h>

#include "daemon/writeback/congestion.h"
#include "daemon/writeback/stats.h"

#define SINGLE_MAX (256ull << 20)
#define HYSTERESIS_MAX (1ull << 20)

static void
set_marks(struct congestion *c)
{
	uint64_t limit = c->limit_bytes, most = limit + c->wsize;
	uint64_t hysteresis = c->policy == CONGESTION_SINGLE
		? limit / 4 : MIN(limit / 8, HYSTERESIS_MAX);

	c->async.limit = limit;
	c->async.wake = limit - hysteresis;
	c->sync.limit = MAX(2 * limit, most);
	c->sync.wake = MAX(2 * limit - hysteresis, most + 1);
}

static void
queue_init(struct congestion_queue *q, bool open, struct congestion_stats *st)
{
	*q = (struct congestion_queue) { .open = open, .stats = st };
	TAILQ_INIT(&q->waiting);
}

void
congestion_init(struct congestion *c, enum congestion_policy policy,
		uint64_t limit_bytes, struct congestion_stats *async,
		struct congestion_stats *sync)
{
	if (policy == CONGESTION_SINGLE)	/* the kernel's since 2024 */
		limit_bytes = MIN(limit_bytes, SINGLE_MAX);
	c->policy = policy;
	c->limit_bytes = limit_bytes;
	c->wsize = 0;
	queue_init(&c->async, policy == CONGESTION_NONE, async);
	queue_init(&c->sync, policy != CONGESTION_SPLIT, sync);
	set_marks(c);
}

void
congestion_wsize(struct congestion *c, uint64_t wsize)
{
	if (wsize <= c->wsize)
		return;
	c->wsize = wsize;
	set_marks(c);
}

bool
congestion_full(const struct congestion_queue *q, uint64_t writeback)
{
	return !q->open && writeback > q->limit;
}

bool
congestion_held(const struct congestion_queue *q, uint64_t writeback)
{
	return writeback && writeback >= q->wake;
}

bool
congestion_stops(const struct congestion_queue *q, uint64_t writeback)
{
	return congestion_full(q, writeback) ||
	       (!TAILQ_EMPTY(&q->waiting) && congestion_held(q, writeback));
}

void
congestion_wait(struct congestion_queue *q, struct congestion_pass *p,
		uint64_t now)
{
	if (p->waits)
		return;
	TAILQ_INSERT_TAIL(&q->waiting, p, link);
	q->waiting_nr++;
	p->waits = true;
	p->since_usec = now;
	q->stats->waits++;
}

void
congestion_leave(struct congestion_queue *q, struct congestion_pass *p,
		 uint64_t now)
{
	if (!p->waits)
		return;
	TAILQ_REMOVE(&q->waiting, p, link);
	q->waiting_nr--;
	p->waits = false;
	hist_add(&q->stats->wait_us, now - p->since_usec);
}

void
congestion_wake(struct congestion_queue *q, struct congestion_pass *p,
		uint64_t now)
{
	q->stats->wakeups += p->waits;
	congestion_leave(q, p, now);
}
