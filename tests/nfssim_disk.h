/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_disk.h - a disk: one request at a time, at a rate, and a seek before a
 * request to another file than the last one's
 *
 * It asks for the next request whenever it is free, so the order is the
 * business of who answers (nfssim_cache.c).
 */
#ifndef NFSWB_TESTS_NFSSIM_DISK_H
#define NFSWB_TESTS_NFSSIM_DISK_H

#include "tests/nfssim_event.h"

struct disk_request {
	uint64_t file;		/* where the head has to be */
	uint64_t bytes;
	uint64_t extra_nsec;	/* on top */
	void *what;		/* the asker's */
};

/* false: nothing to do */
typedef bool disk_next_fn(void *arg, struct disk_request *);
typedef void disk_done_fn(void *arg, const struct disk_request *,
			  uint64_t when_nsec);

struct disk {
	struct sim_events *events;
	uint64_t bytes_per_sec;		/* 0: no limit */
	uint64_t seek_nsec;
	disk_next_fn *next;
	disk_done_fn *done;
	void *arg;

	struct disk_request now;
	bool busy, asking;
	uint64_t at_file;		/* 0: none yet */
	struct sim_event end;

	uint64_t requests, seeks, busy_nsec;
};

/* There may be something to do. */
void disk_kick(struct disk *, uint64_t when_nsec);
/* Forgets what it does. */
void disk_reset(struct disk *);

#endif
