/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bandwidth.c - see bandwidth.h */
#include "daemon/writeback/bandwidth.h"

#define WINDOW_USEC 200000

void
bandwidth_init(struct bandwidth *b, uint64_t bytes_per_sec)
{
	*b = (struct bandwidth) { .bytes_per_sec = bytes_per_sec };
}

static void
way(struct bandwidth *b, uint64_t bytes, uint64_t took_usec)
{
	uint64_t own = bytes * 1000 / (b->bytes_per_sec / 1000 + 1);

	/* faster than the estimate of the rate: that tells nothing of the way */
	if (took_usec <= own)
		return;
	if (!b->rtt_usec || took_usec - own < b->rtt_usec)
		b->rtt_usec = took_usec - own;
}

void
bandwidth_answered(struct bandwidth *b, uint64_t bytes, uint64_t took_usec,
		   bool more, uint64_t now)
{
	uint64_t took, rate;

	way(b, bytes, took_usec);

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
