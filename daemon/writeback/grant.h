/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * grant.h - chunks and their marks: how room is handed out and taken back
 *
 * How much and when is throttle.c's.
 */
#ifndef NFSWB_GRANT_H
#define NFSWB_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/slab.h"

struct chunk;
struct wb;

#define GRANT_MIN 4096u		/* and all are multiples of it */
#define GRANT_TURN 16u		/* chunks for one that waits, in its turn */
#define GRANT_TURN_BYTES (GRANT_TURN * NFSWB_CHUNK_BYTES)

/* A fresh chunk, open for most bytes; NULL: no room, and why. */
struct chunk *grant_open(struct slab *, uint64_t most, enum waiting_for *why);
/* The same, put in the queue that the library takes them from: the bytes. */
uint32_t grant_chunk(struct slab *, uint64_t most, enum waiting_for *why);
/* More room in a chunk that the library has and wants to go on with; the
   bytes. */
uint32_t grant_raise(struct slab *, struct chunk *, uint64_t most);
/* Chunks in that queue. */
uint32_t grant_queued(struct slab *);
/* The chunk that the library wants to go on with, and that for data in messages;
   NULL: none that may be raised, or filled. */
struct chunk *grant_wanted_chunk(struct slab *);
struct chunk *grant_inline_chunk(struct slab *);

/* Idle grants come back: those of others when the limit is what is waited for,
   the slab's own when it has no chunk left. */
void grant_take_back_idle(struct wb *, struct slab *, bool own_only,
			  uint64_t now);
/* Closes a chunk of its own that is full by its grant, so that it can be
   written out and come back (no chunk is free, all are open). */
void grant_close_oldest(struct slab *);

#endif
