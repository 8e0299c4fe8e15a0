/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bandwidth.h - a server's write bandwidth, from what it answered
 *
 * Windows of 200 ms with something in writeback, smoothed over eight of them
 * (Linux mm/page-writeback.c, wb_update_bandwidth, in its idea).
 */
#ifndef NFSWB_BANDWIDTH_H
#define NFSWB_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

struct bandwidth {
	uint64_t bytes_per_sec;		/* the estimate */
	uint64_t window_start, window_bytes;
	bool measuring;
};

void bandwidth_init(struct bandwidth *, uint64_t bytes_per_sec);
/* A WRITE was answered; more: others are still out. */
void bandwidth_answered(struct bandwidth *, uint64_t bytes, bool more,
			uint64_t now);

#endif
