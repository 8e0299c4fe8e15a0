/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion.c - see congestion.h
 *
 *	async: waits while writeback > limit
 *	       wakes below  limit - min(limit/8, 1 MiB)
 *	sync:  waits while writeback > max(2 * limit, limit + wsize)
 *	       wakes below  2 * limit - min(limit/8, 1 MiB)
 *
 * A server with nothing in writeback wakes every pass, so that any limit, down
 * to one byte, makes progress.
 */
#include <sys/param.h>

#include "daemon/writeback/congestion.h"
#include "daemon/writeback/stats.h"

void
congestion_init(struct congestion *c, enum congestion_policy policy,
		uint64_t limit, uint64_t wsize)
{
	uint64_t hysteresis;

	if (policy == CONGESTION_SINGLE)	/* the kernel's since 2024 */
		limit = MIN(limit, 256ull << 20);
	hysteresis = policy == CONGESTION_SINGLE
		? limit / 4 : MIN(limit / 8, 1ull << 20);
	c->policy = policy;
	c->async = (struct congestion_queue) { .limit = limit,
		.wake = limit - hysteresis };
	c->sync = (struct congestion_queue) { .limit = 2 * limit,
		.wake = 2 * limit - hysteresis };
	if (c->sync.limit < limit + wsize)
		c->sync.limit = limit + wsize;
}

static struct congestion_queue *
queue_of(struct congestion *c, bool sync)
{
	return sync ? &c->sync : &c->async;
}

static bool
ruled(const struct congestion *c, bool sync)
{
	return c->policy == CONGESTION_SPLIT ||
	       (c->policy == CONGESTION_SINGLE && !sync);
}

bool
congestion_full(const struct congestion *c, bool sync, uint64_t writeback)
{
	const struct congestion_queue *q = sync ? &c->sync : &c->async;

	return ruled(c, sync) && writeback > q->limit;
}

bool
congestion_may_start(struct congestion *c, bool sync, uint64_t writeback,
		     uint64_t now, struct congestion_stats *st)
{
	struct congestion_queue *q = queue_of(c, sync);

	if (!ruled(c, sync) || !q->congested)
		return !congestion_full(c, sync, writeback);
	if (writeback && writeback >= q->wake)
		return false;
	q->congested = false;
	st->wakeups++;
	hist_add(&st->wait_us, now - q->since_usec);
	return true;
}

void
congestion_wait(struct congestion *c, bool sync, uint64_t now,
		struct congestion_stats *st)
{
	struct congestion_queue *q = queue_of(c, sync);

	if (q->congested)
		return;
	q->congested = true;
	q->since_usec = now;
	st->waits++;
}
