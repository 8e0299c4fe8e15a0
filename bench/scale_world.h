/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scale_world.h - the pipeline with as many servers, sessions and files as wanted
 *
 * All of daemon/writeback/, in one process and in virtual time: writers claim room
 * and post as libnfswb and the session do, each turn is 1 ms, and a call is
 * answered in the turn after it was queued.  There is no payload, no socket and no
 * modelled disk: what is left is what the pipeline itself does for each write.
 *
 * Where that is done is told apart in stages.  Each has its time on the processor
 * and, where the pipeline was built with -fsanitize-coverage=trace-pc, its steps:
 * the basic blocks that ran, the same number every time.
 */
#ifndef NFSWB_BENCH_SCALE_WORLD_H
#define NFSWB_BENCH_SCALE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/pipeline_impl.h"

enum stage {
	STAGE_POST,		/* claim, post, serve */
	STAGE_TURN,		/* wb_run: throttle, flusher, WRITEs and COMMITs
				   go out */
	STAGE_ANSWER,		/* of a WRITE */
	STAGE_COMMIT,		/* the answer of a COMMIT */
	STAGE_RECLAIM,		/* sessions end, their CLEAN data goes */
	STAGE_NR
};
extern const char *const stage_name[STAGE_NR];

struct world_params {
	unsigned servers, sessions, files;
	uint64_t slab_bytes;
	uint64_t dirty_bytes, background_bytes;
};

struct cost {
	uint64_t steps, nsec;
};

struct world_session {
	struct slab *slab;
	struct shm_view view;
	void *control;
	size_t control_bytes;
	uint32_t chunk;			/* being filled */
	uint64_t head;
	uint64_t kept_place;		/* claimed, and the post refused */
	uint32_t kept;
};

struct world_call {
	struct wb_call *call;
	uint64_t due;
};

struct world {
	struct world_params params;
	uint64_t now, turns, writes;
	bool poked;
	struct wb *wb;
	struct wb_server **server;
	struct world_session *session;
	struct wb_handle **handle;	/* of file i, in session i; as many as
					   there are of the more */
	unsigned handle_nr;
	unsigned char *data;		/* address space of every slab */
	struct world_call *call;	/* out, a ring */
	uint64_t call_first, call_end, call_room;
	bool still;			/* no call is answered */
	uint64_t write_calls, commit_calls;
	struct cost cost[STAGE_NR];
	struct cost since;		/* of the stage under way */
};

/* The basic blocks that ran; 0: the pipeline does not count. */
uint64_t world_steps(void);

/* 0 or -errno. */
int world_init(struct world *, const struct world_params *);
void world_free(struct world *);
/* Handle h writes; false: no room even after many turns. */
bool world_write(struct world *, unsigned h, uint64_t offset, uint32_t length);
/* A millisecond later: what is out is answered, then the pipeline's turn. */
void world_turn(struct world *);
/* Turns until all is on stable storage; false: it never is. */
bool world_settle(struct world *);
/* Every session ends; what is CLEAN goes. */
void world_release(struct world *);
/* No costs so far. */
void world_forget_costs(struct world *);
struct cost world_cost(const struct world *);

#endif
