/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writepages.h - adjacent extents of one credential and one session become
 * WRITEs, so that what a session's memory does to one harms no other
 *
 * A pass takes DIRTY extents of one file and queues whole WRITEs; it never waits
 * in the middle of one.  The answers are write_answer.c's.
 */
#ifndef NFSWB_WRITEPAGES_H
#define NFSWB_WRITEPAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/extent.h"
#include "daemon/writeback/nfs_calls.h"

struct wb_server;

struct pass {
	bool sync;			/* somebody waits for the file */
	bool partial;			/* the tail of a growing file too */
	uint64_t target_seq;		/* sync: what was accepted up to here */
	uint64_t portion_bytes;
	enum wb_class class;
};

struct pass_result {
	uint64_t bytes;			/* queued */
	bool more;			/* ended by congestion or its portion */
};

struct pass_result writepages(struct wb_file *, const struct pass *,
			      uint64_t now);
/* A WRITE of this extent alone, stable, ahead of others; the bytes, 0: not now
   (for reclaim_policy.c). */
uint64_t writepages_one(struct extent *, uint64_t now);
/* Somebody waits for the file now: its queued WRITEs rise. */
void writepages_raise(struct wb_file *, enum wb_class);

#endif
