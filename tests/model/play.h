/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * play.h - plays a program of operations by several applications against the
 * world, and holds each answer against plain memory
 *
 * An operation marked beside falls between the call and the return of the one
 * before it, as soon as that has waited so many rounds of the loop (or for so
 * many calls to reach the server), unless what both may give depends on their
 * order; then it comes after.
 *
 * An operation on a slot without an open file opens one: so any part of a
 * program is a program.
 */
#ifndef NFSWB_TESTS_MODEL_PLAY_H
#define NFSWB_TESTS_MODEL_PLAY_H

#include "tests/model/image.h"

#define CLIENTS 3
#define SLOTS 3
#define NAMES 4

enum op_kind { OP_OPEN, OP_CLOSE, OP_WRITE, OP_TRUNCATE, OP_READ, OP_STAT,
	       OP_FSYNC, OP_RENAME, OP_UNLINK, OP_SYNC, OP_PASS, OP_RESTART,
	       OP_VANISH, OP_KINDS };

/* of OP_OPEN, and of a slot that is opened by the way */
#define OPEN_PLAIN	0x1u	/* without O_CREAT */
#define OPEN_EXCL	0x2u
#define OPEN_TRUNC	0x4u
#define OPEN_APPEND	0x8u

/* What befalls the server; also OP_RESTART's flags. */
enum trouble { TROUBLE_CRASH,		/* forgets, the verifier is new */
	       TROUBLE_CUT,		/* connections only */
	       TROUBLE_VERIFIER,	/* a new verifier, nothing forgotten */
	       TROUBLES };

struct op {
	enum op_kind kind;
	unsigned client, slot, name, to, flags;
	uint32_t offset, length;	/* TRUNCATE: offset; PASS: usec */
	bool beside;
	unsigned after;
};

/* The server's moods, each in so many of 10,000 calls. */
struct moods {
	unsigned jukebox, error, shortened, stable, hold, lose_call,
		 lose_reply, copies, cut, delay, cut_later, crash,
		 new_verifier;
	unsigned full;			/* begins to be full, for a while */
	unsigned crash_usec;		/* not so many of 10,000: crashes at any
					   moment, so far apart on average, and
					   comes up again after a while */
};

struct play {
	const struct op *op;
	unsigned nr;
	uint64_t seed;
	struct world_options world;
	struct moods moods;
	unsigned clients;		/* 0: all */
	/* One trouble at a certain call, counted from 1 behind the first
	   prologue operations; 0: none. */
	unsigned prologue, at_call;
	bool after_reply;		/* else before it is done */
	enum trouble trouble;
	bool beside_calls;		/* op.after counts calls at the server */
	unsigned commit_delay_usec;	/* of its replies */
};

struct played {
	unsigned ops, calls, counted, troubles, crashes, fsyncs, beside, errors;
	uint64_t trace;			/* a sum over all calls that came */
	uint64_t usec;			/* of virtual time */
};

/* Ends the process (world_fail) where something is not as it must be. */
void play(const struct play *, struct played *);
void play_print(const struct play *);

#endif
