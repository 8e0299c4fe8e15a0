/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write.h - len bytes into shared memory, piece by piece */
#ifndef NFSWB_LIB_WRITE_H
#define NFSWB_LIB_WRITE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/source.h"

struct nfswb;
struct nfswb_file;

/* With the lock.  Bytes posted, or -errno where there are none. */
ssize_t write_pieces(struct nfswb *, struct nfswb_file *, struct source *,
		     size_t len, uint64_t offset, uint64_t deadline);
/* append.c: the same to the end of file, whole; without the lock. */
ssize_t append_record(struct nfswb *, struct nfswb_file *, struct source *,
		      size_t len, uint64_t deadline);

#endif
