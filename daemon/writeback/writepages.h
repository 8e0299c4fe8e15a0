/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writepages.h - adjacent extents of one credential and one session become
 * WRITEs, so that what a session's memory does to one harms no other
 *
 * A pass takes DIRTY extents of one file and queues whole WRITEs; it never waits
 * in the middle of one.  The answer is handled here too: written, short, to be
 * tried again, refused.
 */
#ifndef NFSWB_WRITEPAGES_H
#define NFSWB_WRITEPAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/extent.h"
#include "daemon/writeback/nfs_calls.h"

struct wb;
struct wb_server;
struct wb_server_params;

#define WRITE_IOV_MAX 256

struct write_op {
	struct wb_call call;
	struct wb_file *file;
	struct extent_list extents;	/* in file order, all WRITEBACK */
	TAILQ_ENTRY(write_op) link;	/* file->ops, or server->free_ops */
	struct iovec iov[WRITE_IOV_MAX];
};

struct pass {
	bool sync;			/* somebody waits for the file */
	bool partial;			/* the tail of a growing file too */
	uint64_t target_seq;		/* sync: what was accepted up to here */
	uint64_t portion_bytes;
	enum wb_class class;
};

struct pass_result {
	uint64_t bytes;			/* queued */
	bool more;			/* ended by congestion or its portion */
};

/* WRITEs queued and on the wire at most. */
unsigned writepages_nr(const struct wb *, const struct wb_server_params *);
int writepages_init(struct wb_server *);
void writepages_free(struct wb_server *);
struct pass_result writepages(struct wb_file *, const struct pass *,
			      uint64_t now);
/* A WRITE of this extent alone, stable, ahead of others; the bytes, 0: not now
   (for reclaim_policy.c). */
uint64_t writepages_one(struct extent *, uint64_t now);
/* Is a call object left for such a pass? */
bool writepages_room(const struct wb_server *, bool sync);
/* Its calls are not answered any more (the pipeline ends). */
void writepages_drop(struct wb_file *);
/* Somebody waits for the file now: its queued WRITEs rise. */
void writepages_raise(struct wb_file *, enum wb_class);

#endif
