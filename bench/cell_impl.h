/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cell_impl.h - struct cell, for the cell's own parts */
#ifndef NFSWB_BENCH_CELL_IMPL_H
#define NFSWB_BENCH_CELL_IMPL_H

#include "bench/cell.h"
#include "common/loop.h"
#include "daemon/writeback/slab.h"
#include "rpc/gate.h"
#include "rpc/send.h"
#include "rpc/slots.h"

struct cell;
struct cell_call;

/* The client's side of the wire, see cell_calls.c. */
struct cell_net {
	struct loop *loop;
	const struct cell_params *params;
	uint64_t began_usec;
	bool stalls;
	struct model *model;
	struct slots slots;
	struct send_queue send;
	struct gate gate;
	struct wb_server *server;
	struct loop_deferred *pump;
	struct loop_timer *window;	/* the socket takes more then */
	struct cell_call *spare;
	struct rpc_op_stats ops[RPC_PROC_MAX];
	uint64_t queued, most_queued;	/* without a slot */
};

int cell_net_init(struct cell_net *, struct loop *,
		  const struct cell_params *, unsigned server);
/* What is out is forgotten. */
void cell_net_free(struct cell_net *);
extern const struct wb_calls cell_calls;	/* arg: struct cell_net */

/* A call that is not the pipeline's; done frees nothing, the cell does. */
struct cell_ask {
	uint32_t proc;
	enum model_kind kind;
	uint64_t file, offset, length;
	uint64_t reply_bytes;		/* beyond what any reply has */
	void (*done)(void *arg, uint64_t execute_usec);
	void *arg;
};
void cell_ask(struct cell_net *, const struct cell_ask *);
void cell_time_add(struct cell_times *, uint64_t usec);

struct cell;
struct foreground;
/* NULL: nobody asks. */
int foreground_start(struct cell *, struct foreground **);
void foreground_free(struct foreground *);

/* One session with one file, see cell_writer.c. */
struct writer {
	struct cell *cell;
	unsigned nr;
	const struct cell_group *group;	/* NULL: the sync writer */
	bool sync;
	struct shm_view view;
	void *control;
	size_t control_bytes;
	struct slab *slab;
	struct wb_handle *handle;
	struct loop_timer *timer;	/* computes until then */
	struct loop_deferred *go_on;
	uint32_t chunk;			/* being filled */
	unsigned file;			/* of several, one after the other */
	uint64_t offset, left;		/* of the file; of this write */
	uint64_t kept_place;		/* claimed, and not taken yet */
	uint32_t kept;
	uint64_t head;			/* ring position */
	uint64_t random;
	bool waits;			/* for room */
	bool ended;			/* all of its file is stable */
	uint64_t start_usec;		/* when all began */
	uint64_t began_usec, fsync_usec;	/* this write; 0: no fsync out */
	uint64_t measured_bytes;
	uint64_t traced_bytes;		/* offset, when it was last traced */
};

struct cell {
	struct cell_params params;
	struct loop *loop;
	struct cell_net net[CELL_SERVERS];
	unsigned server_nr;
	struct foreground *foreground;
	struct loop_timer *sampler;
	struct cell_sample sample;	/* the tenth under way */
	uint64_t began_usec;
	uint64_t measure_usec;		/* in the clock's time */
	struct wb *wb;
	struct wb_server *server[CELL_SERVERS];
	struct loop_deferred *turn;
	struct loop_timer *next_turn, *second, *trace;
	uint64_t second_bytes, second_taken;	/* when it began */
	struct cred *cred;
	unsigned char *data;		/* address space for every slab */
	uint64_t slab_bytes;
	struct writer *writer;
	unsigned writer_nr;		/* the sync writer is the last */
	struct cell_result *result;
};

/* What is dirtied now counts for most_dirtied. */
void cell_look(struct cell *);
/* When there is a trace: all its lines, from now on. */
int cell_trace_start(struct cell *);
/* group NULL: the sync writer. */
int writer_start(struct cell *, struct writer *, unsigned nr,
		 const struct cell_group *);
/* Before wb_free. */
void writer_stop(struct writer *);
/* After it. */
void writer_free(struct writer *);

#endif
