/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim.h - chunks to grant: free ones, then the oldest CLEAN one
 *
 * Reclaim drops what is CLEAN and nothing else; it never writes and never picks
 * what to write, unless reclaim_policy says so.
 */
#ifndef NFSWB_RECLAIM_H
#define NFSWB_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/file.h"

struct chunk;
struct slab;
struct wb;

/* A FREE chunk, made by giving up CLEAN data if need be; NULL: everything is
   in use. */
struct chunk *reclaim_chunk(struct slab *);
/* Gives up the oldest CLEAN chunk's data; false: there is none. */
bool reclaim_clean_chunk(struct slab *);
/* The same where list slots, not chunks, are short: the oldest CLEAN extent. */
bool reclaim_clean_extent(struct slab *);
/*
 * The slow path, in reclaim_policy.c.  Looked: a slab that waits, and why it still
 * does (WAIT_NONE: it waits no more).  Found: there was a chunk for it.  Sleeps:
 * it is not to be looked at now.
 */
void reclaim_looked(struct slab *, enum waiting_for why, uint64_t now);
void reclaim_found(struct slab *, uint64_t now);
bool reclaim_sleeps(const struct slab *, uint64_t now);
/* Somebody waits, and all who do lack chunks of their own only, with something
   under way for each. */
bool reclaim_served(const struct wb *);

/* A chunk is CLEAN since then. */
void reclaim_clean_from(struct wb *, uint64_t since_usec);
/* CLEAN data that nobody wanted for clean_expire. */
void reclaim_expire(struct wb *, uint64_t now);

#endif
