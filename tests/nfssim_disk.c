/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_disk.c - see nfssim_disk.h */
#include "tests/nfssim_disk.h"

static uint64_t
time_of(struct disk *d, const struct disk_request *r)
{
	uint64_t nsec = r->extra_nsec;

	if (r->file != d->at_file) {
		nsec += d->seek_nsec;
		d->seeks++;
		d->at_file = r->file;
	}
	if (d->bytes_per_sec)
		nsec += (uint64_t)((unsigned __int128)r->bytes * 1000000000 /
				   d->bytes_per_sec);
	return nsec;
}

static void
ended(void *arg, uint64_t when)
{
	struct disk *d = arg;
	struct disk_request r = d->now;

	d->busy = false;
	d->done(d->arg, &r, when);
	disk_kick(d, when);
}

void
disk_kick(struct disk *d, uint64_t when)
{
	uint64_t nsec;

	if (d->busy || d->asking)
		return;
	d->asking = true;
	d->now = (struct disk_request){ 0 };
	d->busy = d->next(d->arg, &d->now);
	d->asking = false;
	if (!d->busy)
		return;
	nsec = time_of(d, &d->now);
	d->requests++;
	d->busy_nsec += nsec;
	sim_event_set(d->events, &d->end, when + nsec, ended, d);
}

void
disk_reset(struct disk *d)
{
	sim_event_clear(d->events, &d->end);
	d->busy = false;
	d->at_file = 0;
}
