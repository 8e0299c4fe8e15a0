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

#include "daemon/writeback/pipeline.h"
#include "daemon/writeback/server.h"
#include "daemon/writeback/stats.h"
#include "rpc/client.h"
#include "tests/nfssim_model.h"

struct cell_params {
	struct model_params model;
	struct wb_server_params server;
	uint64_t limit_bytes, background_bytes;
	enum dirty_throttling throttling;
	enum reclaim_policy reclaim;
	uint64_t slab_bytes;		/* of a writer; 0: generously */
	uint32_t wsize;
	unsigned writers;
	uint64_t copy_bytes_per_sec;	/* of a writer */
	bool sync_writer;		/* 4 KiB and fsync, every 100 ms */
	uint64_t bulk_bytes;		/* the first one fsyncs so many; 0: not */
	uint64_t file_bytes;		/* each writes so much, and fsyncs; 0: they
					   write until time is up */
	uint64_t seed;
	uint64_t usec;			/* how long, at most */
};

struct cell_result {
	uint64_t written_bytes;		/* accepted of the writers */
	uint64_t stable_bytes;		/* on the server's disk */
	uint64_t clean_bytes;		/* and known to be so by the client */
	uint64_t least_bytes, most_bytes;	/* stable, of one file */
	struct rpc_op_stats write, commit;
	struct server_stats server;
	struct wb_stats wb;
	struct model_stats model;
	uint64_t most_dirtied, most_queued;
	struct hist fsync_us, sync_write_us;	/* of the sync writer */
	unsigned fsyncs;
	struct hist bulk_us;		/* fsyncs of the first writer */
	uint64_t run_usec;		/* until the last had ended, or all */
	unsigned ended;			/* writers */
	uint64_t turns;
};

/* 0, or -errno (-EDEADLK: nothing goes on any more, a bug of the product). */
int cell_run(const struct cell_params *, struct cell_result *);

#endif
