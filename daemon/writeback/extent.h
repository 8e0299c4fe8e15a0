/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent.h - a run of accepted bytes and where it stands
 *
 * One extent stands for one slot of its slab's shared list.  All that depends on
 * its state (trees, sums, the list's entry) changes in one function,
 * extent_set_state.
 */
#ifndef NFSWB_EXTENT_H
#define NFSWB_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

#include "common/cred.h"
#include "daemon/writeback/nfs_calls.h"

struct wb_file;
struct slab;

enum extent_state {
	EXTENT_FREE,
	EXTENT_DIRTY,
	EXTENT_HELD,		/* dirty, kept back: overlaps a WRITE in flight */
	EXTENT_WRITEBACK,
	EXTENT_UNSTABLE,
	EXTENT_GHOST,		/* was UNSTABLE, superseded: place, no data */
	EXTENT_CLEAN,
	EXTENT_FAILED,
	EXTENT_STATE_NR
};

TAILQ_HEAD(extent_list, extent);

/* What a search reads of each lies together. */
struct extent {
	RB_ENTRY(extent) by_offset;
	uint64_t offset;
	RB_ENTRY(extent) by_dirty;
	RB_ENTRY(extent) by_seq;
	uint64_t oldest_seq;	/* the oldest accepted byte it answers for */
	uint64_t seq;		/* when accepted; the first of those merged */
	uint64_t place;
	uint32_t length;
	enum extent_state state : 8;
	bool was_sent;		/* an earlier instance sent it: not superseded
				   before our own WRITE is answered */
	bool not_stable;	/* the server was asked for FILE_SYNC, in vain */
	struct wb_file *file;
	struct slab *slab;
	struct cred *cred;
	uint64_t dirtied_usec;
	unsigned char verf[WB_VERF];
	int err;		/* FAILED: why */
	uint32_t file_nr, ringpos;	/* what its list entry says */
	TAILQ_ENTRY(extent) link;	/* DIRTY: in slab->dirty; */
	struct extent_list *list;	/* else in this one, or NULL */
	LIST_ENTRY(extent) chunk_link;
};

/* Zeros: empty. */
#define EXTENT_TREE(name) \
	RB_HEAD(name##_root, extent); \
	struct name { \
		struct name##_root root; \
		struct extent *last;	/* NULL: empty */ \
	}
EXTENT_TREE(extent_offset_tree);
EXTENT_TREE(extent_dirty_tree);
EXTENT_TREE(extent_seq_tree);

/* Of bytes by state: those that are neither stable nor FAILED. */
static inline uint64_t
extent_live_bytes(const uint64_t bytes[EXTENT_STATE_NR])
{
	return bytes[EXTENT_DIRTY] + bytes[EXTENT_HELD] +
	       bytes[EXTENT_WRITEBACK] + bytes[EXTENT_UNSTABLE];
}

static inline uint64_t
extent_end(const struct extent *e)
{
	return e->offset + e->length;
}

/* The one function that changes a state. */
void extent_set_state(struct extent *, enum extent_state);
/* Gone: out of everything, its slot free. */
void extent_drop(struct extent *);

/* The first in the file (not HELD, not GHOST) that ends behind offset. */
struct extent *extent_at(struct wb_file *, uint64_t offset);
struct extent *extent_next(struct extent *);
struct extent *extent_before(struct extent *);
/* The first DIRTY one at or behind offset; the next DIRTY one. */
struct extent *extent_dirty_from(struct wb_file *, uint64_t offset);
struct extent *extent_dirty_next(struct extent *);
/* The one that answers for the oldest byte. */
struct extent *extent_oldest(struct extent_seq_tree *);
struct extent *extent_older_next(struct extent *);

/* Answers for older bytes too from now on. */
void extent_inherit(struct extent *, uint64_t oldest_seq);

/* Cuts e at a file offset within it: e keeps the first part, the rest is the
   new extent.  NULL: no slot.  Never while in WRITEBACK. */
struct extent *extent_split(struct extent *, uint64_t at);

/* Cuts e at a file offset within it; what lies behind is gone. */
void extent_trim(struct extent *, uint64_t at);

/* Puts it at the end of a list, takes it out of the one it is in. */
void extent_list_append(struct extent_list *, struct extent *);
void extent_list_remove(struct extent *);

/*
 * A new extent (state FREE, filled in) joins its file: it supersedes what it
 * may, or is HELD.  0, or -ENOBUFS: some slab lacks a slot for what is cut; then
 * nothing has changed.
 */
int extent_join(struct extent *);
/* Would it?  0 or -ENOBUFS; asked before its entry is published. */
int extent_may_join(struct extent *);
/* Lets HELD ones join whose way is free now. */
void extent_release_held(struct wb_file *, uint64_t now);
/* What lies at or behind size is gone (truncate). */
void extent_cut_behind(struct wb_file *, uint64_t size);

#endif
