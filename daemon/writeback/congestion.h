/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion.h - when a writepages pass has to wait: two queues per server
 *
 * writeback: bytes in WRITEs queued or on the wire.  A pass ends when writeback
 * passes its mark; if more remains it waits, holding nothing, until writeback
 * has fallen below the wake mark: sync passes by their own, higher marks, so
 * that async work never holds them up (the 2011 patch "nfs: writeback pages wait
 * queue" split the one queue so).
 */
#ifndef NFSWB_CONGESTION_H
#define NFSWB_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/server.h"

struct congestion_stats;

struct congestion_queue {
	uint64_t limit, wake;
	bool congested;			/* a pass waits */
	uint64_t since_usec;
};

struct congestion {
	enum congestion_policy policy;
	struct congestion_queue async, sync;
};

/* limit_bytes: the async limit; any, down to one. */
void congestion_init(struct congestion *, enum congestion_policy,
		     uint64_t limit_bytes, uint64_t wsize);

/* May a pass of this kind queue WRITEs now?  A pass that waits is woken here
   when writeback has fallen below its wake mark. */
bool congestion_may_start(struct congestion *, bool sync, uint64_t writeback,
			  uint64_t now, struct congestion_stats *);
/* Must a running pass end? */
bool congestion_full(const struct congestion *, bool sync, uint64_t writeback);
/* It ended with more left to write: it waits. */
void congestion_wait(struct congestion *, bool sync, uint64_t now,
		     struct congestion_stats *);

#endif
