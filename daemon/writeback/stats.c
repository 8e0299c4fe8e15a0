/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stats.c - fills in what is counted elsewhere and told here */
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/throttle.h"

const char *
flush_cause_name(enum flush_cause c)
{
	switch (c) {
	case FLUSH_BACKGROUND:
		return "background";
	case FLUSH_AGE:
		return "age";
	case FLUSH_SYNC:
		return "sync";
	case FLUSH_CLOSE:
		return "close";
	case FLUSH_MEMORY:
		return "memory";
	case FLUSH_SHUTDOWN:
		return "shutdown";
	case FLUSH_CAUSE_NR:
		break;
	}
	return "?";
}

static void
queue_stats(const struct congestion_queue *q, uint64_t writeback)
{
	q->stats->limit = q->limit;
	q->stats->wake = q->wake;
	q->stats->congested = congestion_stops(q, writeback);
	q->stats->waiters = q->waiting_nr;
}

static uint64_t
oldest_dirty(struct wb_server *s, uint64_t now)
{
	uint64_t oldest = now;
	struct wb_file *f;
	struct extent *e;

	for (f = dirty_first(s); f; f = dirty_next(f)) {
		e = extent_oldest(&f->to_write);
		if (e && e->dirtied_usec < oldest)
			oldest = e->dirtied_usec;
	}
	return now - oldest;
}

const struct server_stats *
wb_server_stats(struct wb_server *s, uint64_t now)
{
	struct server_stats *st = &s->stats;

	st->write_bw = s->bandwidth.bytes_per_sec;
	st->drain_bw = s->drain.bytes_per_sec;
	st->nfs_write_size = st->nfs_nr_writes
		? s->write_bytes / st->nfs_nr_writes : 0;
	st->nfs_commit_size = st->nfs_nr_commits
		? s->commit_bytes / st->nfs_nr_commits : 0;
	st->dirty_bytes = s->bytes[EXTENT_DIRTY] + s->bytes[EXTENT_HELD];
	st->writeback_bytes = s->bytes[EXTENT_WRITEBACK];
	st->unstable_bytes = s->bytes[EXTENT_UNSTABLE];
	st->oldest_dirty_us = oldest_dirty(s, now);
	queue_stats(&s->congestion.async, s->bytes[EXTENT_WRITEBACK]);
	queue_stats(&s->congestion.sync, s->bytes[EXTENT_WRITEBACK]);
	return st;
}

/* Of the server whose writers go slowest, of those who don't run free; 0: all
   do. */
static uint64_t
balanced_rate(const struct wb *wb)
{
	const struct wb_server *s;
	uint64_t least = UINT64_MAX;

	LIST_FOREACH(s, &wb->servers, link)
		if (pace_on(s) && s->pace.balanced_rate < least)
			least = s->pace.balanced_rate;
	return least == UINT64_MAX ? 0 : least;
}

const struct wb_stats *
wb_stats(struct wb *wb, uint64_t now)
{
	struct wb_stats *st = &wb->stats;

	(void)now;
	st->throttle.balanced_rate = balanced_rate(wb);
	st->throttle.dirtied = throttle_dirtied(wb);
	st->throttle.background = wb->limits.dirty_background_bytes;
	st->throttle.limit = wb->limits.dirty_bytes;
	return st;
}
