/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * truncate.h - a new size for a file with data under way
 *
 * Order: the WRITEs in flight come back, SETATTR goes out, what lay behind the
 * new size goes, what was held back meanwhile joins.
 */
#ifndef NFSWB_TRUNCATE_H
#define NFSWB_TRUNCATE_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "daemon/writeback/file.h"
#include "daemon/writeback/nfs_calls.h"

struct truncation {
	struct wb_call call;
	struct wb_file *file;
	uint64_t size, seq;		/* newer data survives it */
	bool out;			/* SETATTR is under way */
	wb_done_fn *done;
	void *arg;
	TAILQ_ENTRY(truncation) link;	/* file->truncations */
};

/* Goes on with the file's first truncation. */
void truncate_check(struct wb_file *, uint64_t now);
/* Nobody is told any more (the pipeline ends). */
void truncate_drop(struct wb_file *);

#endif
