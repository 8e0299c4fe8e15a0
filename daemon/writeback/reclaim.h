/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim.h - chunks to grant: free ones, then the oldest CLEAN one
 *
 * Reclaim never writes and never picks what to write.
 */
#ifndef NFSWB_RECLAIM_H
#define NFSWB_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

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
/* A chunk is CLEAN since then. */
void reclaim_clean_from(struct wb *, uint64_t since_usec);
/* CLEAN data that nobody wanted for clean_expire. */
void reclaim_expire(struct wb *, uint64_t now);

#endif
