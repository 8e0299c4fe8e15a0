/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bandwidth.h - a server's write bandwidth, from what it answered
 *
 * Windows of 200 ms with something in writeback, smoothed over eight of them
 * (Linux mm/page-writeback.c, wb_update_bandwidth, in its idea).  What a WRITE
 * takes beyond its bytes' time at that rate, at the least, is the way.
 */
#ifndef NFSWB_BANDWIDTH_H
#define NFSWB_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

struct bandwidth {
	uint64_t bytes_per_sec;		/* the estimate */
	uint64_t window_start, window_bytes;
	bool measuring;
	uint64_t rtt_usec;		/* the way there and back, at the least;
					   0: not known yet */
};

void bandwidth_init(struct bandwidth *, uint64_t bytes_per_sec);
/* A WRITE was answered that was sent took_usec ago; more: others are out. */
void bandwidth_answered(struct bandwidth *, uint64_t bytes, uint64_t took_usec,
			bool more, uint64_t now);

#endif
