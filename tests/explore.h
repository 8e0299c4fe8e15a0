/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * explore.h - every order of events in a small world, on the real pipeline
 *
 * A world has a few files, blocks to write, fsyncs to ask for, restarts of the
 * server, refusals and timers to go off.  From its first state each thing that may
 * happen next does happen, in turn: a write, an fsync, the answer of any call that
 * is out, and so on, until nothing is left to happen.  A state that was seen before
 * (by a hash of all that counts) is not gone into again.  The pipeline can't
 * be copied, so a state is reached again by its path from the start.
 *
 * After every event the invariants are asked; what the first failure says is
 * printed with the path that led there.  A world is finite, so what holds at
 * the ends of all paths holds from every state.
 */
#ifndef NFSWB_TESTS_EXPLORE_H
#define NFSWB_TESTS_EXPLORE_H

#include <string.h>

#include "tests/wb_bench.h"

#define EXPLORE_FILES 3
#define EXPLORE_DEPTH 128

struct world {
	struct bench_options bench;
	unsigned files, writers;	/* file i is of writer i % writers */
	unsigned blocks;		/* written to each file, in its order */
	unsigned at_start;		/* of those, before it begins */
	unsigned overwrites;		/* of the first block, in all */
	unsigned syncs;			/* fsyncs a file */
	unsigned restarts;		/* of the server: another verifier */
	unsigned refusals;		/* JUKEBOX, for any call */
	unsigned timers;		/* the next one goes off */
	unsigned answers;		/* which calls may be answered: the oldest so
					   many; 0: any */
};

struct explored {
	unsigned long states, events, ends;
	unsigned long async_waits;	/* states in which the async pass waits */
	unsigned most_sync;		/* sync passes that waited at once */
};

/* false: an invariant was broken, or it did not end in max_states. */
bool explore(const struct world *, unsigned long max_states,
	     struct explored *);

/* The world while it is explored; for the invariants. */
struct explore_file {
	struct wb_handle *handle;
	unsigned written, syncs;
	unsigned long queued, by_sync;	/* WRITEs so far */
	struct bench_done done;
};

struct explore_state {
	const struct world *world;
	struct bench b;
	struct explore_file file[EXPLORE_FILES];
	unsigned overwrites, restarts, refusals, timers, verf;
	unsigned writer;		/* whose turn on the bench it is */
	bool by_sync[64];		/* a call object's WRITE: whose pass */
	const char *broken;
	/* before the event */
	struct {
		char event;
		unsigned nr;		/* the file */
		unsigned sync_out;	/* WRITEs that sync passes queued */
		unsigned order[EXPLORE_FILES], order_nr;
		unsigned long queued[EXPLORE_FILES], by_sync[EXPLORE_FILES];
		bool could;		/* nr's file had something to write */
	} before;
};

/* explore_check.c: what they say is NULL, or which invariant is broken. */
void explore_note(struct explore_state *, char event, unsigned nr);
const char *explore_check(struct explore_state *);
/* Asked of each WRITE as it is queued. */
const char *explore_check_write(struct explore_state *, struct wb_call *);
/* explore_hash.c */
uint64_t explore_hash(struct explore_state *);

#endif
