/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wb_bench.h - the pipeline on a bench: its calls are answered by hand
 *
 * A pipeline with one server, one slab on plain memory and files by number.  The
 * test writes as the library would, turns the clockwork, looks at the calls that
 * came out and answers them as it likes.
 */
#ifndef NFSWB_TESTS_WB_BENCH_H
#define NFSWB_TESTS_WB_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/pipeline_impl.h"

#define BENCH_CALLS 1024

struct bench {
	struct wb *wb;
	struct wb_server *server;
	struct slab *slab;
	struct shm_view view;
	void *control;
	uint64_t now;
	bool poked;
	unsigned rooms;			/* room() was called */
	unsigned released;
	uint64_t idle_bytes;
	uint64_t gave_up;
	struct wb_call *call[BENCH_CALLS];	/* out, oldest first */
	unsigned call_nr;
	unsigned raised;
	void (*queued)(struct bench *, struct wb_call *);	/* or NULL */
	uint64_t head;			/* ring position */
	uint32_t chunk;			/* the library's own */
	struct {			/* the other session, see bench_swap */
		struct slab *slab;
		struct shm_view view;
		void *control;
		uint64_t head;
		uint32_t chunk;
		uint64_t kept_place;
		uint32_t kept;
	} other;
	uint64_t slab_bytes;
	uint32_t wsize;
	struct wb_limits limits;
	struct wb_server_params params;
	uint64_t kept_place;		/* claimed, and the post refused */
	uint32_t kept;
	bool hostile;			/* the test writes to the list */
	bool no_memory;			/* queue refuses */
	unsigned check_every, turns;	/* 0: after every turn */
};

struct bench_options {
	uint64_t slab_bytes, dirty_bytes, background_bytes, congestion_bytes;
	uint32_t wsize;
	enum congestion_policy congestion_policy;
	unsigned write_nr;
	enum commit_priority commit_priority;
	enum commit_rule commit_rule;
	enum dirty_throttling dirty_throttling;
	enum reclaim_policy reclaim_policy;
	bool unbound;			/* BOUND_NONE, else BOUND_ALL */
};

/* 0 in an option: something roomy. */
void bench_init(struct bench *, const struct bench_options *);
void bench_free(struct bench *);
/* The daemon dies, another takes its place over the memory of both sessions: to
   be imported by the test.  Nothing is open. */
void bench_crash(struct bench *);

struct wb_handle *bench_open(struct bench *, unsigned file_nr, uid_t uid,
			     int oflags);
unsigned bench_file_nr(const struct wb_handle *);
/* Writes as the library does; false: no room was granted for all of it. */
bool bench_write(struct bench *, struct wb_handle *, uint64_t offset,
		 uint32_t length, unsigned char fill);
/* The same; the bytes for which there was room. */
uint32_t bench_write_some(struct bench *, struct wb_handle *, uint64_t offset,
			  uint32_t length, unsigned char fill);
/* From now on the other session writes (the first time: a new one). */
void bench_swap(struct bench *);
/* Turns until nothing asks for another turn; then the books must be right. */
void bench_turn(struct bench *);
void bench_advance(struct bench *, uint64_t usec);

/* Takes the oldest call out and answers it. */
struct wb_call *bench_take(struct bench *, unsigned index);
void bench_answer(struct bench *, struct wb_call *, int err,
		  enum wb_stable committed, unsigned verf);
/* Answers everything as a good server until nothing comes any more; returns
   how many. */
unsigned bench_serve(struct bench *, unsigned verf);
unsigned bench_count(const struct bench *, enum wb_call_kind);

/* A completion to look at. */
struct bench_done {
	unsigned nr;
	int err;
};
void bench_done(void *arg, int err);

/* A roomy bench on which file 1 has length bytes and its fsync is out: its calls
   wait for their answers. */
struct wb_handle *bench_fsync_out(struct bench *, uint32_t length,
				  struct bench_done *);

#endif
