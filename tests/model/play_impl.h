/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * play_impl.h - what the parts of a play share
 *
 *	play.c		the program, and what may run beside what
 *	play_op.c	the operations
 *	play_server.c	the server's moods, and its contents
 */
#ifndef NFSWB_TESTS_MODEL_PLAY_IMPL_H
#define NFSWB_TESTS_MODEL_PLAY_IMPL_H

#include <stddef.h>

#include "tests/model/play.h"

#define STATES 6
#define DEPTH 3
#define XIDS 512
#define DELIVERY_USEC 1000	/* of a reply that is not delayed */

struct slot {
	struct nfswb_file *file;	/* NULL: none open */
	struct image *image;
	bool append;
	bool busy;			/* fsync or close is under way */
	unsigned begun_nr;	/* of the image's errors: when its last fsync
				   began */
	unsigned ended_nr;	/* ... when it ended */
	bool must;		/* its next fsync or close has to fail */
};

struct client {
	struct nfswb *nfs;
	struct slot slot[SLOTS];
};

/* A call under way. */
struct flight {
	struct flight *next;
	unsigned client, names;
	struct image *image;
	bool mutates, all;
	bool cuts;			/* one write may cross it */
	uint32_t crossed_offset, crossed_len;
	unsigned state_nr;
	struct state state[STATES];
};

struct stage {
	const struct play *play;
	struct played *played;
	struct world *world;
	uint64_t random;
	bool loud;
	unsigned next, depth, calls_at_begin;
	struct client client[CLIENTS];
	struct image *name[NAMES];
	struct image *images;
	struct flight *flights;
	struct flight *flight[DEPTH + 1];
	/* the server */
	bool calm, counting, reached;
	uint64_t full_until;
	uint32_t xid[XIDS];
	unsigned xid_nr;
	bool cut_any_time;		/* from now on */
	struct loop_timer *crash;
	bool down;
};

extern struct stage *st;

void flight_begin(struct flight *, const struct op *, struct image *,
		  bool keep_states);
void flight_end(struct flight *);
void flights_see(struct image *);

void op_run(const struct op *);

void stage_fault(void *, const struct nfssim_call *, struct nfssim_verdict *);
void stage_trouble(enum trouble);
void stage_crash_later(void);
struct image *stage_image(const struct fh *);
/* The name it has on the server now; NULL: none. */
const char *stage_name(const struct image *);
/* What fsync or close promised of it: is it on stable storage? */
void stage_promise(struct image *, const struct state *, unsigned nr,
		   const char *who);
void stage_check_promises(const char *when);
/* Brings all home, closes all, looks at what is left. */
void stage_end(void);

#endif
