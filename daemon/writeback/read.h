/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read.h - READs into a session's slab, and ahead of who reads on
 *
 * What a READ brings lies in chunks of the slab of who asked, and is told to that
 * session only: another's client could have changed it.  It counts against the
 * slab, not as dirtied, and may be dropped at any time; that a chunk was used anew
 * meanwhile is seen by its mark (nfswb_shm.h).
 */
#ifndef NFSWB_READ_H
#define NFSWB_READ_H

#include "daemon/writeback/slab.h"

#define READ_PIECES 64

struct read_piece {
	uint64_t place;			/* in the slab, or NFSWB_PLACE_ZEROS */
	uint64_t mark;			/* the chunk's */
	uint32_t length;
};

/* In file order; they may be less than was asked for. */
struct read_result {
	unsigned nr;
	uint32_t length;		/* of all pieces; 0: the file ends there */
	struct read_piece piece[READ_PIECES];
};

typedef void slab_read_fn(void *arg, int err, const struct read_result *);

/*
 * Reads what it can from offset on, length bytes at most, after file_is_settled or
 * file_flush_range.  size: where the file ended when it was asked for.
 * 1: it is in out.  0: fn tells, unless slab_read_abandon.  -ENOBUFS: there is no
 * room for it in the slab; -ENOMEM: to be read in another way, too.
 */
int slab_read(struct slab *, struct wb_handle *, uint64_t offset,
	      uint32_t length, uint64_t size, uint64_t now,
	      struct read_result *out, slab_read_fn *fn, void *arg);
void slab_read_abandon(struct slab *, const void *arg);

#endif
