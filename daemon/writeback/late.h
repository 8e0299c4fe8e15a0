/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * late.h - ranges of a file where a copy of an older call may still land
 *
 * A WRITE or truncation that was sent more than once, or given up, may be run by
 * the server late.  Its range stays closed to newer data until that cannot be
 * any more (late_duplicate_sec).
 */
#ifndef NFSWB_LATE_H
#define NFSWB_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

struct wb_file;

/* A range where a copy of an older WRITE may still land. */
struct late_range {
	uint64_t offset, end, until_usec;
	TAILQ_ENTRY(late_range) link;
};
TAILQ_HEAD(late_list, late_range);
#define LATE_MAX 256		/* told apart, per file */

void late_add(struct wb_file *, uint64_t offset, uint64_t end,
	      uint64_t until_usec);
/* Anywhere in the file. */
void late_add_all(struct wb_file *, uint64_t until_usec);
void late_expire(struct wb_file *, uint64_t now);
/* Takes all of them out of the books (the pipeline ends). */
void late_drop(struct wb_file *);
bool late_overlaps(const struct wb_file *, uint64_t offset, uint64_t end);

#endif
