/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file.h - an open file: its position, its calls; without the lock */
#ifndef NFSWB_LIB_FILE_H
#define NFSWB_LIB_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "include/nfswb_prot.h"

struct nfswb;
struct nfswb_file;

#define POSITION_AT_END INT64_MIN

/* The position is this call's until file_end_position says the new one.  After
   an append it is POSITION_AT_END; resolve: what that means in bytes. */
int file_take_position(struct nfswb_file *, uint64_t deadline, bool resolve,
		       int64_t *);
void file_end_position(struct nfswb_file *, int64_t);

int file_size_now(struct nfswb_file *, uint64_t deadline, int64_t *);
int file_fsync(struct nfswb_file *, uint64_t deadline);
/* Not known to anybody any more; with the lock. */
void file_free(struct nfswb *, struct nfswb_file *);

void stat_from_attr(struct stat *, const nfswb_attr *);
void attr_from_stat(nfswb_attr *, const struct stat *);

#endif
