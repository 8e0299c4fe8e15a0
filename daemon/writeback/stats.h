/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats.h - what the pipeline counts; daemon/statistics.c makes JSON of it
 */
#ifndef NFSWB_STATS_H
#define NFSWB_STATS_H

#include <stdint.h>

#include "common/hist.h"
#include "daemon/writeback/server.h"

enum flush_cause { FLUSH_BACKGROUND, FLUSH_AGE, FLUSH_SYNC, FLUSH_CLOSE,
		   FLUSH_MEMORY, FLUSH_SHUTDOWN, FLUSH_CAUSE_NR };
const char *flush_cause_name(enum flush_cause);

struct congestion_stats {
	uint64_t limit, wake, congested, waiters, waits, wakeups;
	struct hist wait_us;
};

struct server_stats {
	uint64_t write_bw, drain_bw;		/* bytes a second */
	uint64_t nfs_nr_writes, nfs_nr_commits;
	uint64_t nfs_write_size, nfs_commit_size;	/* mean, bytes */
	uint64_t dirty_bytes, writeback_bytes, unstable_bytes;
	uint64_t verifier_changes, replayed_bytes;
	uint64_t delays;			/* calls put off: JUKEBOX */
	uint64_t flush_causes[FLUSH_CAUSE_NR];	/* passes */
	uint64_t oldest_dirty_us;
	struct congestion_stats async, sync;
	struct {
		uint64_t hits, waits, misses;	/* of who reads */
		uint64_t ahead_bytes, wasted_bytes;
	} read;
	struct {
		uint64_t depth, max_depth, windows, steps_down, steps_up;
		struct hist foreground_us;
	} wbt;
};
/* The pointer is good until the server goes. */
const struct server_stats *wb_server_stats(struct wb_server *, uint64_t now);

struct wb_stats {
	struct {
		uint64_t dirtied, background, limit, balanced_rate;
		uint64_t pauses, limit_waits;
		struct hist pause_us, limit_wait_us;
	} throttle;
	struct {
		uint64_t fast, slow, reclaims, freed_bytes;
		uint64_t reclaim_writes, written_bytes;
		struct hist fast_us, slow_us;
	} reclaim;
};
const struct wb_stats *wb_stats(struct wb *, uint64_t now);

#endif
