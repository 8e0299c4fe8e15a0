/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pipeline_impl.h - struct wb, for the pipeline's own parts */
#ifndef NFSWB_PIPELINE_IMPL_H
#define NFSWB_PIPELINE_IMPL_H

#include <assert.h>

#include "daemon/writeback/pipeline.h"
#include "daemon/writeback/server_impl.h"
#include "daemon/writeback/slab_impl.h"
#include "daemon/writeback/stats.h"

/* A completion put off to the next turn. */
struct wb_later {
	wb_done_fn *done;
	void *arg;
	int err;
	STAILQ_ENTRY(wb_later) link;
};

LIST_HEAD(server_list, wb_server);
STAILQ_HEAD(later_list, wb_later);
LIST_HEAD(slab_list, slab);
TAILQ_HEAD(slab_wait_list, slab);
LIST_HEAD(user_list, wb_user);

struct wb {
	struct wb_limits limits;
	struct wb_hooks hooks;
	void *hooks_arg;
	uint64_t now;			/* of the current turn */
	uint64_t seq;			/* the last one given */
	bool draining;
	bool held;			/* no WRITE is begun */
	uint64_t late_told_usec;	/* by the hook, see late.c */
	uint64_t late_before_usec;	/* of an earlier instance: new files */
	bool ending;			/* the lists stay as they are */
	bool slots_came_free;		/* or truncations ended */
	unsigned reclaiming;		/* inside of it; see wb_queue */
	uint32_t slots_max, slots_nr;	/* of all slabs, see slots.c */
	unsigned starved_nr;		/* slabs that lack slots */
	struct file_list short_files;	/* lack slots to cut something */
	struct server_list servers;
	struct slab_list slabs;
	struct slab_list ending_slabs;	/* those that were released */
	bool some_stalled;		/* a slab waits for a truncation */
	uint64_t next_clean_usec;	/* no CLEAN chunk expires before */
	uint64_t next_read_usec;	/* the same of what was READ */
	struct slab_wait_list waiting;	/* slabs, first in first out */
	unsigned short_nr;		/* of them, not for a server's share only */
	struct slab_wait_list paced;	/* slabs, the first that is due first */
	struct slab_wait_list driving;	/* slabs, see foreground.c */
	struct user_list users;
	uint64_t paced_usec;		/* the rates were set then */
	struct file_list kicked;
	struct file_list timed;		/* to be kicked at a time, */
	uint64_t timed_usec;		/* none before that */
	uint64_t bytes[EXTENT_STATE_NR];
	uint64_t granted_bytes;
	unsigned live_files;		/* with bytes that are dirtied */
	struct later_list later;
	uint64_t deadline;
	struct wb_stats stats;
};

/* Does somebody lack list slots, for a post or to cut something? */
static inline bool
wb_lacks_slots(const struct wb *wb)
{
	return wb->starved_nr || !TAILQ_EMPTY(&wb->short_files);
}

static inline uint64_t
wb_next_seq(struct wb *wb)
{
	return ++wb->seq;
}

/* Accepted bytes will never be written: said so, once, here. */
void wb_give_up(struct wb_file *, const struct cred *writer, uint64_t offset,
		uint64_t length, int err);
/* Calls done with err from the next turn. */
void wb_fail_later(struct wb *, wb_done_fn *, void *arg, int err);

/* Hands a call down.  Reclaim never does, but by its policy; checked unless
   NDEBUG. */
static inline int
wb_queue(struct wb_server *s, struct wb_call *c)
{
	assert(!s->wb->reclaiming ||
	       s->wb->limits.reclaim_policy == RECLAIM_WRITE);
	return s->calls->queue(s->calls_arg, c);
}

#define SHORT_USEC 100000		/* memory was short: try again then */

/* The next turn is due at at_usec at the latest. */
static inline void
wb_due(struct wb *wb, uint64_t at_usec)
{
	if (at_usec < wb->deadline)
		wb->deadline = at_usec;
}

#endif
