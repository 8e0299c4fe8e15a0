/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_cache.h - the modelled server's memory, and what its disk does next
 *
 *	WRITE	the bytes are dirty; above the hard share it waits until fewer are
 *	COMMIT	waits until the bytes of its file (S2: of all files) that were
 *		dirty when it started are on the disk
 *	READ	waits for the disk where the bytes are not in memory
 *
 * The disk works in turns: of one file at most turn_bytes, then the next file.
 * Turns for COMMITs go before those of the flusher, which works while more than
 * the background share is dirty.  A READ is served between two turns, in the
 * order in which READs and turns came to be.
 *
 * S2 (commit_all) is a file system with one journal: a COMMIT flushes all
 * files, then the journal is written; those that come meanwhile share the next
 * one.
 *
 * Only the time is modelled here, bytes are counted, not kept.
 */
#ifndef NFSWB_TESTS_NFSSIM_CACHE_H
#define NFSWB_TESTS_NFSSIM_CACHE_H

#include <sys/queue.h>

#include "tests/nfssim_disk.h"
#include "tests/nfssim_ranges.h"

struct cache_params {
	uint64_t memory_bytes;		/* 0: no limit, and no flusher */
	uint64_t background_bytes, hard_bytes;
	uint64_t request_bytes, turn_bytes;
	bool commit_all;
	uint64_t journal_nsec;
};

/* Who waits; all but fn and arg belong to the cache.  fn must not call it. */
struct cache_wait {
	sim_event_fn *fn;
	void *arg;
	struct cached_file *file;
	uint64_t from, to, gen, ticket;
	TAILQ_ENTRY(cache_wait) link;
};

TAILQ_HEAD(cache_wait_list, cache_wait);
TAILQ_HEAD(cached_file_list, cached_file);

struct cache {
	struct cache_params params;
	struct disk *disk;
	struct cached_file *files;
	struct cached_file_list dirty_files;	/* the next one's turn first */
	struct cached_file_list lru;
	uint64_t gen, seq;
	uint64_t dirty_bytes;		/* with what the disk is at */
	uint64_t cached_bytes;
	struct cache_wait_list writes, reads, group, next_group;
	bool group_runs;
	uint64_t group_gen;
	struct {			/* what the disk is at */
		struct cached_file *file;
		uint64_t from, to;
	} flying;
	struct {
		struct cached_file *file;	/* NULL: over */
		bool sync;
		uint64_t left, ticket;
		bool has_ticket;
	} turn;

	uint64_t written_bytes, read_bytes;	/* by the disk */
	uint64_t commits, journals, held_writes;
};

/* Makes the disk ask here. */
void cache_init(struct cache *, const struct cache_params *, struct disk *);
void cache_free(struct cache *);
/* A crash: all is forgotten, and nobody is called. */
void cache_reset(struct cache *);

/* true: at once, fn is not called; false: fn will be. */
bool cache_write(struct cache *, struct cache_wait *, uint64_t file,
		 uint64_t from, uint64_t to, uint64_t when);
bool cache_commit(struct cache *, struct cache_wait *, uint64_t file,
		  uint64_t from, uint64_t to, uint64_t when);
bool cache_read(struct cache *, struct cache_wait *, uint64_t file,
		uint64_t from, uint64_t to, uint64_t when);

/* What lies behind size is no more.  0: the whole file. */
void cache_truncate(struct cache *, uint64_t file, uint64_t size,
		    uint64_t when);

#endif
