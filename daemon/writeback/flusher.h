/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flusher.h - one per server: which file is written next, and why
 */
#ifndef NFSWB_FLUSHER_H
#define NFSWB_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

struct extent;
struct slab;
struct wb_file;
struct wb_server;

/* Runs the passes that may run now: sync first, then one async at a time. */
void flusher_run(struct wb_server *, uint64_t now);
/* Is there a reason to write in the background? */
bool flusher_wanted(const struct wb_server *);
/* The oldest DIRTY extent of a slab, on this server (NULL: on any), whose file may
   be written now; NULL: none was found. */
struct extent *flusher_oldest(struct slab *, const struct wb_server *,
			      uint64_t now);
/* Of the oldest dirty file, so much is queued beside the flusher's pass (for
   foreground.c).  The bytes. */
uint64_t flusher_drive(struct wb_server *, uint64_t bytes, uint64_t now);
/* Is there data that should have left long ago, or been committed, though the
   server owes us nothing? */
bool flusher_overdue(struct wb_server *, uint64_t now);
/* Somebody waits for the file, and it has something to write; or no more. */
void flusher_sync(struct wb_file *, bool wanted, uint64_t now);
/* May a WRITE of it begin? */
bool flusher_may_write(struct wb_file *, uint64_t now);

#endif
