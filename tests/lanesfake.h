/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lanesfake.h - rpcfake's client with several connections, and their other ends
 *
 * Each connection of the client (a lane, 0 to 15) is a socketpair, whose other
 * end does as the test says: is refused, reads nothing, answers at once or when
 * it is told, is cut.  What came over each is noted.  A WRITE of lanes_write has
 * its own offset and contents, which are looked at when it arrives.
 */
#ifndef NFSWB_TESTS_LANESFAKE_H
#define NFSWB_TESTS_LANESFAKE_H

#include "rpc/parts.h"
#include "tests/rpcfake.h"

#define LANES 16

struct lanes;

/* A call that came. */
struct came {
	unsigned lane, connection;	/* the lane's first, second, … */
	uint32_t xid, proc, bytes;
	uint64_t offset;
	bool answered;
};

struct end {
	struct lanes *lanes;
	unsigned lane;
	int fd;			/* -1: there is none */
	struct loop_watch *watch;
	struct record_reader reader;
	unsigned attempt_nr, connection_nr;
	bool refuse, paused;
	unsigned came_nr;	/* over it, of whichever connection */
};

struct lanes {
	struct fake f;		/* client, loop, params */
	struct end end[LANES];
	bool auto_reply, hang_up;	/* …: on whoever connects */
	struct came *came;
	unsigned came_nr, came_room;
};

/* nr connections, with nothing on them: timeo 10 s, retrans 3, 64 slots. */
void lanes_start(struct lanes *, unsigned nr);
/* The same, but params may be changed before lanes_go. */
void lanes_prepare(struct lanes *, unsigned nr);
void lanes_go(struct lanes *);
void lanes_stop(struct lanes *);

void lanes_run(struct lanes *);
void lanes_pass(struct lanes *, uint64_t usec);
void lanes_cut(struct lanes *, unsigned lane);
void lanes_pause(struct lanes *, unsigned lane, bool paused);
/* Answers what came over it and was not answered. */
void lanes_answer(struct lanes *, unsigned lane);
void lanes_send_raw(struct lanes *, unsigned lane, const void *, size_t);

/* A WRITE of bytes (a multiple of 8) that bears that number. */
void lanes_write(struct lanes *, enum rpc_class, uint32_t number,
		 uint32_t bytes, struct outcome *, struct rpc_call **);
/* The last call with that number, or of that procedure; NULL: none came. */
const struct came *lanes_find_write(const struct lanes *, uint32_t number);
const struct came *lanes_find(const struct lanes *, uint32_t proc);
unsigned lanes_count_write(const struct lanes *, uint32_t number);

#endif
