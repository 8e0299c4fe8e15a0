/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion.h - two wait queues per server for writepages passes
 *
 * writeback: bytes in WRITEs queued or on the wire.  A pass ends when writeback
 * passes its mark; if more remains it joins its queue, holding nothing, and goes
 * on when writeback has fallen below the wake mark: the server's one async pass
 * by one pair of marks, sync passes (one for each file somebody waits for) by a
 * higher one, so that async work never holds them up (the 2011 patch "nfs:
 * writeback pages wait queue" split the one queue so).
 */
#ifndef NFSWB_CONGESTION_H
#define NFSWB_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "daemon/writeback/server.h"

struct congestion_stats;
struct wb_file;

struct congestion_pass {		/* in whoever the pass is for */
	TAILQ_ENTRY(congestion_pass) link;
	struct wb_file *file;		/* a sync pass' */
	bool waits;
	uint64_t since_usec;
};
TAILQ_HEAD(congestion_list, congestion_pass);

struct congestion_queue {
	uint64_t limit, wake;
	bool open;			/* by the policy nobody waits here */
	struct congestion_list waiting;	/* first in, first out */
	unsigned waiting_nr;
	struct congestion_stats *stats;
};

struct congestion {
	enum congestion_policy policy;
	uint64_t limit_bytes, wsize;
	struct congestion_queue async, sync;
};

/* limit_bytes: the async limit; any, down to one. */
void congestion_init(struct congestion *, enum congestion_policy,
		     uint64_t limit_bytes, struct congestion_stats *async,
		     struct congestion_stats *sync);
/* A file whose WRITEs may be as large as this: the largest one counts. */
void congestion_wsize(struct congestion *, uint64_t wsize);

/* Must a running pass end? */
bool congestion_full(const struct congestion_queue *, uint64_t writeback);
/* Must those that wait go on waiting? */
bool congestion_held(const struct congestion_queue *, uint64_t writeback);
/* Must a pass that comes now wait: for room, or behind others? */
bool congestion_stops(const struct congestion_queue *, uint64_t writeback);

/* Joins the queue; one that waits keeps its place. */
void congestion_wait(struct congestion_queue *, struct congestion_pass *,
		     uint64_t now);
/* Leaves it, to go on; nothing if it does not wait. */
void congestion_wake(struct congestion_queue *, struct congestion_pass *,
		     uint64_t now);
/* The same, because nothing is left to write. */
void congestion_leave(struct congestion_queue *, struct congestion_pass *,
		      uint64_t now);

#endif
