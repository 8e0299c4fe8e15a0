/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commit.h - COMMIT, and what the write verifier tells (RFC 1813, 3.3.21)
 *
 * One COMMIT per file is out at a time, for the whole file; WRITEs go on
 * meanwhile.  It speaks for the extents whose reply was in before it was asked
 * for, no others.
 */
#ifndef NFSWB_COMMIT_H
#define NFSWB_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/commit_window.h"
#include "daemon/writeback/extent.h"
#include "daemon/writeback/nfs_calls.h"

#define COMMITS_NR 64			/* out at a time, per server */

struct wb_server;

struct commit {
	struct wb_call call;
	struct wb_file *file;
	struct extent_list extents;	/* UNSTABLE and GHOST */
	struct commit_trip trip;
	TAILQ_ENTRY(commit) link;	/* server->free_commits */
};

int commit_init(struct wb_server *);
void commit_free(struct wb_server *);
/* Sends a COMMIT if one is due; waited: somebody waits for the file's. */
void commit_check(struct wb_file *, bool waited, uint64_t now);
/* Sends those that were due and could not go. */
void commit_run(struct wb_server *, uint64_t now);
/* Sends those that are due since room is short. */
void commit_for_room(struct wb_server *, uint64_t now);
/* It wants none any more. */
void commit_unwant(struct wb_file *);
/* Enough is under way: if no COMMIT is out, that of the file which has been
   UNSTABLE the longest. */
void commit_oldest(struct wb_server *, uint64_t now);
/* Its call is not answered any more (the pipeline ends). */
void commit_drop(struct wb_file *);
/* A WRITE was answered with this verifier: older UNSTABLE extents of the file
   under another one are DIRTY again. */
void commit_verifier_seen(struct wb_file *, const unsigned char verf[WB_VERF]);

#endif
