/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell.h - one cell of the matrix: writers, the pipeline, a modelled server,
 * virtual time
 *
 * What runs is the product's own: all of daemon/writeback, the slot table and
 * send order of rpc/.  The network and the server are tests/nfssim_model.h.  No
 * payload is there: the slabs' data is reserved address space that nobody
 * touches.  The same parameters do the same every time.
 */
#ifndef NFSWB_BENCH_CELL_H
#define NFSWB_BENCH_CELL_H

#include <stdio.h>

#include "daemon/writeback/pipeline.h"
#include "daemon/writeback/server.h"
#include "daemon/writeback/stats.h"
#include "rpc/client.h"
#include "tests/nfssim_model.h"

#define CELL_GROUPS 3
#define CELL_SERVERS 2

struct cell_group {			/* of writers that are alike */
	unsigned nr;			/* 0: there is no such group */
	unsigned server;		/* 0, or 1 */
	uint64_t bytes_per_sec;		/* 0: as fast as it is let */
	uint64_t write_bytes;		/* 0: 1 MiB */
	unsigned uid, weight;		/* as slab_set_user; 0: not called */
	uint64_t start_usec, stop_usec;	/* they write; 0: all the time */
};

/* Who else asks things of the first server, see cell_foreground.c.  0: none. */
struct cell_foreground {
	uint64_t start_usec;		/* all of it begins then */
	uint64_t read_bytes;		/* of a file that is not in its memory */
	unsigned read_ahead;		/* READs of 1 MiB out at a time */
	uint64_t stat_every_usec;
	unsigned program_files;		/* opened and read one after the other, */
	uint32_t program_bytes;		/* so long each; and the next program */
	uint64_t program_pause_usec;	/* after so long */
};

/* What a tenth of a second was like. */
struct cell_sample {
	uint64_t usec;			/* its end, since the beginning */
	uint64_t depth, steps;
	uint64_t stat_usec, fsync_usec;	/* the longest that ended; 0: none */
	uint64_t read_bytes, stable_bytes;
	uint64_t clean_bytes;		/* stable, as the client knows */
};

struct cell_params {
	struct model_params model;
	struct model_params second;	/* the second server's */
	struct cell_group group[CELL_GROUPS];	/* none: so many writers as
					   said below, on the first */
	uint64_t measure_usec;		/* the groups' figures are from then on */
	uint64_t stall_usec;		/* then the second server falls silent;
					   0: never */
	uint64_t bump_usec, bump_every_usec;	/* COMMITs take so long for so
					   long in each such time; 0: not */
	struct wb_server_params server;
	uint64_t limit_bytes, background_bytes;
	enum dirty_throttling throttling;
	enum reclaim_policy reclaim;
	uint64_t expire_usec;		/* as dirty_expire_centisecs; 0: 30 s */
	uint64_t slab_bytes;		/* of a writer; 0: generously */
	uint32_t wsize;
	unsigned writers;
	uint64_t copy_bytes_per_sec;	/* of a writer */
	bool sync_writer;		/* 4 KiB and fsync, every 100 ms */
	struct cell_foreground foreground;
	bool times;			/* each of some is kept, in cell_times */
	void (*sample)(void *arg, const struct cell_sample *);	/* or NULL */
	void *sample_arg;
	uint64_t bulk_bytes;		/* the first one fsyncs so many; 0: not */
	uint64_t file_bytes;		/* each writes so much, and fsyncs; 0: they
					   write until time is up */
	unsigned files;			/* of that length, one after the other, and
					   no fsync; 0: one */
	uint64_t seed;
	uint64_t usec;			/* how long, at most */
	FILE *trace;			/* see cell_trace.c; may be NULL */
};

struct cell_group_result {
	uint64_t bytes, least_bytes, most_bytes;	/* accepted; of one */
	double jain;			/* how even: 1 / nr to 1 */
	struct hist write_us;		/* that a write took */
};

/* Each, for percentiles that are exact. */
struct cell_times {
	uint32_t *usec;			/* the caller's to free */
	unsigned nr, room;
};

struct cell_result {
	struct cell_group_result group[CELL_GROUPS];
	uint64_t written_bytes;		/* accepted of the writers */
	uint64_t stable_bytes;		/* on the server's disk */
	uint64_t clean_bytes;		/* and known to be so by the client */
	uint64_t least_bytes, most_bytes;	/* stable, of one file */
	struct rpc_op_stats write, commit;
	struct server_stats server;
	struct wb_stats wb;
	struct model_stats model;
	uint64_t most_dirtied, most_queued;
	uint64_t most_age_usec;		/* of the oldest dirty byte; looked at in
					   every turn, if expire_usec was said */
	uint64_t least_second, most_second;	/* stable in each, measured */
	uint64_t least_taken, most_taken;	/* ... accepted */
	struct hist fsync_us, sync_write_us;	/* of the sync writer */
	unsigned fsyncs;
	struct hist bulk_us;		/* fsyncs of the first writer */
	struct cell_times stats, fsync_each, programs;
	uint64_t read_bytes, read_usec;	/* of the reader */
	uint64_t run_usec;		/* until the last had ended, or all */
	unsigned ended;			/* writers */
	uint64_t turns;
};

/* 0, or -errno (-EDEADLK: nothing goes on any more, a bug of the product). */
int cell_run(const struct cell_params *, struct cell_result *);

#endif
