/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bandwidth.c - see bandwidth.h */
#include "daemon/writeback/bandwidth.h"

#define WINDOW_USEC 200000

void
bandwidth_init(struct bandwidth *b, uint64_t bytes_per_sec)
{
	*b = (struct bandwidth) { .bytes_per_sec = bytes_per_sec };
}

void
bandwidth_answered(struct bandwidth *b, uint64_t bytes, bool more,
		   uint64_t now)
{
	uint64_t took, rate;

	if (!b->measuring) {
		b->measuring = more;
		b->window_start = now;
		b->window_bytes = 0;
		return;
	}
	b->window_bytes += bytes;
	took = now - b->window_start;
	if (took >= WINDOW_USEC) {
		rate = b->window_bytes * 1000000 / took;
		b->bytes_per_sec = (b->bytes_per_sec * 7 + rate) / 8;
		b->window_start = now;
		b->window_bytes = 0;
	}
	if (!more)		/* idle time does not count */
		b->measuring = false;
}
