/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sync.h - who waits for a file: fsync, close, sync, and reads that need the
 * server to have the data
 *
 * A wait is for what was accepted before it (target_seq), so it ends though
 * writers never stop.
 */
#ifndef NFSWB_SYNC_H
#define NFSWB_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "daemon/writeback/file.h"

struct sync_group;

/* PAUSE and CUT wait for what is under way only: for all calls, for the sizes
   being set. */
enum sync_kind { SYNC_FSYNC, SYNC_CLOSE, SYNC_ALL, SYNC_FLUSH, SYNC_PAUSE,
		 SYNC_CUT };

struct sync_wait {
	enum sync_kind kind;
	struct wb_handle *handle;	/* FSYNC, CLOSE */
	uint64_t target_seq;
	uint64_t failures;		/* the file's count when it began */
	uint64_t offset, end;		/* FLUSH: whose failures count */
	wb_done_fn *done;
	void *arg;
	TAILQ_ENTRY(sync_wait) link;
};

struct sync_wait *sync_wait_new(void);	/* a handle's; free() */
/* Begins; -ENOMEM (never a CLOSE). */
int sync_begin(struct wb_file *, enum sync_kind, struct wb_handle *,
	       uint64_t now, wb_done_fn *, void *arg);
int sync_flush(struct wb_file *, uint64_t offset, uint64_t end, uint64_t now,
	       wb_done_fn *, void *arg);
/* Ends those that are done; puts the file on the server's list of files to
   flush, asks for a COMMIT. */
void sync_check(struct wb_file *, uint64_t now);
/* Handles that are being closed with nobody waiting. */
unsigned sync_unattended(const struct wb_file *);
/* Waits for several files as one: done comes when all are, with the first
   failure.  _end must follow _new, also when nothing was added. */
struct sync_group *sync_group_new(wb_done_fn *, void *arg);
void sync_group_add(struct sync_group *, struct wb_file *, uint64_t now);
void sync_group_end(struct sync_group *, struct wb *);
/* Nobody is told any more (the pipeline ends). */
void sync_drop(struct wb_file *);
void sync_drop_done(wb_done_fn *, void *arg);
/* What the flusher has to write for them; false: nothing. */
bool sync_target(struct wb_file *, uint64_t *target_seq, bool *only_close);

#endif
