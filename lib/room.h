/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room.h - room in the shared memory: chunks, claims, waiting for a grant
 *
 * Between room_claim and post_claimed nothing may wait.
 */
#ifndef NFSWB_LIB_ROOM_H
#define NFSWB_LIB_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct nfswb;
struct nfswb_file;

struct need {
	uint64_t bytes;		/* what the call still has to write */
	bool whole;		/* all of it in one piece, or nothing */
	bool no_wait;		/* -EAGAIN instead of waiting for room */
};

struct claim {
	uint64_t place;
	uint32_t length;
};

/* With the lock: a piece of room and a slot in the ring.  0, or -errno. */
int room_claim(struct nfswb *, struct nfswb_file *, const struct need *,
	       uint64_t deadline, struct claim *);
/* Where the write ended: who writes on gets a chunk of its own. */
void room_follow(struct nfswb_file *, uint64_t offset, uint64_t length);
/* The file is closed: its chunk is somebody else's, or goes back. */
void room_leave(struct nfswb *, struct nfswb_file *);
/* All grants are void. */
void room_forget_chunks(struct nfswb *);

/* Says in the shared memory that somebody waits, for room (in chunk, if it is
   one) or for the tail only.  Then look again, then room_ring, then sleep. */
void room_ask(struct nfswb *, uint32_t chunk);
void room_ring(struct nfswb *);

#endif
