/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hist.c - log-linear buckets
 *
 * Values below 8 have a bucket each.  Above, the highest bit picks a power of
 * two and the next three bits one of its 8 steps:
 *
 *	usec = 1 s s s x x x x	->  bucket 8 + 8 * (bit - 3) + sss
 */
#include "common/hist.h"

#define HIST_USEC_MAX ((1ull << 41) - 1)	/* the last bucket's end */

static unsigned
bucket_of(uint64_t usec)
{
	unsigned bit;

	if (usec < 8)
		return (unsigned)usec;
	bit = 63 - (unsigned)__builtin_clzll(usec);
	return 8 + 8 * (bit - 3) + ((usec >> (bit - 3)) & 7);
}

/* The greatest value that falls into it. */
static uint64_t
bucket_end(unsigned i)
{
	uint64_t step;

	if (i < 8)
		return i;
	step = (i - 8) % 8 + 8;
	return ((step + 1) << ((i - 8) / 8)) - 1;
}

void
hist_add(struct hist *h, uint64_t usec)
{
	uint32_t *n;

	h->count++;
	h->sum += usec;
	if (h->max < usec)
		h->max = usec;
	n = &h->bucket[bucket_of(usec < HIST_USEC_MAX ? usec : HIST_USEC_MAX)];
	if (*n != UINT32_MAX)
		++*n;
}

uint64_t
hist_percentile(const struct hist *h, unsigned permille)
{
	uint64_t seen = 0, rank, end;
	unsigned i;

	if (!h->count)
		return 0;
	/* the entry with this number, from 1, rounded up without overflow */
	rank = h->count / 1000 * permille +
	       (h->count % 1000 * permille + 999) / 1000;
	if (!rank)
		rank = 1;
	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	if (i >= HIST_BUCKETS - 1)
		return h->max;
	end = bucket_end(i);
	return end < h->max ? end : h->max;
}
