/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hist.h - a histogram of times: {count, sum, p50, p90, p99, p999, max}
 *
 * Log-linear: each power of two in 8 steps, so a percentile is right within
 * 12.5%.  0 to 2^40 microseconds.  No allocation.
 */
#ifndef NFSWB_HIST_H
#define NFSWB_HIST_H

#include <stdint.h>

#define HIST_BUCKETS (8 + 38 * 8)

struct hist {
	uint64_t count, sum, max;
	uint32_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *, uint64_t usec);
/* The value below which permille thousandths of the entries lie (a bucket's
   upper edge, max at most); 0 when empty. */
uint64_t hist_percentile(const struct hist *, unsigned permille);

#endif
