/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bandwidth.h - a server's write bandwidth: what it answers, and what it drains
 *
 * Bandwidth, from WRITEs that were answered, is that of the link and of the
 * server's memory: windows of 200 ms with something in writeback, smoothed over
 * eight of them (Linux mm/page-writeback.c, wb_update_bandwidth, in its idea).
 * What a WRITE takes beyond its bytes' time at that rate, at the least, is the
 * way.
 *
 * The drain rate, from bytes that became stable, is that of its disk, and is what
 * writers can go on at: windows of 200 ms in which it had as much work as it
 * could do, smoothed over sixteen of them (3.2 s), since bytes become stable
 * many at a time.  For the same reason a window lasts until some have: while a
 * COMMIT takes its time nothing is known of the rate, for 3.2 s.
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

struct drain {
	uint64_t bytes_per_sec;		/* the estimate */
	uint64_t window_bytes, busy_usec;	/* of the current window */
	uint64_t new_bytes;		/* since the last turn */
	uint64_t seen_usec;
	uint64_t known_usec;		/* what it is the mean of */
	bool busy;
};

void drain_init(struct drain *, uint64_t bytes_per_sec);
void drain_stable(struct drain *, uint64_t bytes);
/* At each turn: has the server work from now on? */
void drain_turn(struct drain *, bool busy, uint64_t now);

#endif
