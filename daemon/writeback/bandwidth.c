/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bandwidth.c - see bandwidth.h */
#include <sys/param.h>

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

/* ---- what became stable ---- */

#define DRAIN_USEC (16 * WINDOW_USEC)

void
drain_init(struct drain *d, uint64_t bytes_per_sec)
{
	*d = (struct drain) { .bytes_per_sec = bytes_per_sec };
}

void
drain_stable(struct drain *d, uint64_t bytes)
{
	d->new_bytes += bytes;
}

static void
drain_window(struct drain *d)
{
	double rate = (double)d->window_bytes * 1e6 / (double)d->busy_usec;
	double weight;

	d->known_usec = MIN(d->known_usec + d->busy_usec,
			    MAX(DRAIN_USEC, d->busy_usec));
	weight = (double)d->busy_usec / (double)d->known_usec;
	d->bytes_per_sec = (uint64_t)((double)d->bytes_per_sec * (1 - weight) +
				      rate * weight);
	d->window_bytes = d->busy_usec = 0;
}

void
drain_turn(struct drain *d, bool busy, uint64_t now)
{
	if (d->busy) {
		d->busy_usec += now - d->seen_usec;
		d->window_bytes += d->new_bytes;
	}
	d->new_bytes = 0;	/* without work it is not all that it can do */
	d->seen_usec = now;
	d->busy = busy;
	if (d->busy_usec >= (d->window_bytes ? WINDOW_USEC : DRAIN_USEC))
		drain_window(d);
}
