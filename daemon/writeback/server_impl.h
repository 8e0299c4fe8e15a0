/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* server_impl.h - struct wb_server, for the pipeline's own parts */
#ifndef NFSWB_SERVER_IMPL_H
#define NFSWB_SERVER_IMPL_H

#include "daemon/writeback/bandwidth.h"
#include "daemon/writeback/commit_window.h"
#include "daemon/writeback/congestion.h"
#include "daemon/writeback/file_impl.h"
#include "daemon/writeback/pace.h"
#include "daemon/writeback/stats.h"

TAILQ_HEAD(file_list, wb_file);
TAILQ_HEAD(commit_list, commit);
RB_HEAD(file_age_tree, wb_file);
RB_HEAD(file_bytes_tree, wb_file);
RB_HEAD(file_unstable_tree, wb_file);
RB_HEAD(file_dirty_tree, wb_file);
RB_HEAD(file_turn_tree, wb_file);

struct wb_server {
	struct wb *wb;
	char *name;
	struct wb_server_params params;
	const struct wb_calls *calls;
	void *calls_arg;
	LIST_ENTRY(wb_server) link;	/* wb->servers */

	struct wb_file *files;		/* uthash by fh */
	struct file_dirty_tree dirty_files;	/* by turns, see tails.h */
	struct turn hand;		/* whose turn came last, */
	uint64_t turn_nr;		/* and turns given */
	struct file_list tail_files;	/* those with nothing but a tail */
	struct file_list unstable_files;
	struct file_list sync_files;	/* to be written for somebody who waits */
	struct file_age_tree ages;	/* dirty files, see age.h */
	struct file_turn_tree aged;	/* those that are too old */
	uint64_t bytes[EXTENT_STATE_NR];

	struct write_op_list free_ops;
	struct write_op *ops;
	unsigned ops_nr, ops_out;
	uint64_t moved_usec;		/* a WRITE was answered, or the first
					   queued */
	uint64_t answered_usec;		/* a WRITE or COMMIT was, last */
	struct commit_list free_commits;
	unsigned commits_out, truncations_out;
	struct file_list want_commit;	/* a COMMIT is due, and can't go yet, */
	struct file_list want_waited;	/* ... and somebody waits for it */
	struct file_bytes_tree wanted_by_bytes, idle_by_bytes;	/* see
					   commit_queue.h */
	struct file_unstable_tree idle_by_age;
	uint64_t queued_nr;		/* the last that was given a file */
	uint64_t soon_nr;		/* all wanted until then are due */
	struct commit *commits;
	struct commit_window window_of_commits;

	struct congestion congestion;
	struct congestion_pass async_pass;
	struct bandwidth bandwidth;
	uint64_t small_sync_usec;	/* the last WRITE that was all of a sync */
	struct drain drain;
	struct pace pace;
	uint64_t granted_bytes;		/* to sessions that write to it */
	unsigned held_nr;		/* slabs that wait for its share */
	bool full;			/* seen in this turn */
	uint64_t answered_bytes;	/* WRITEs that ended, ever */
	unsigned char verf[WB_VERF];	/* the last seen */
	bool have_verf;
	unsigned odd_files;		/* whose verifiers never agreed */
	bool force_stable;
	unsigned jukebox_row;		/* files put off since a WRITE was taken */
	struct wbt wbt;
	bool yields;			/* as it was told to the transport */
	const void *jukebox_last;	/* the last of them; to compare only */
	unsigned window;		/* WRITEs out at most; 0: any */
	bool less_stable;		/* warned: it grants less than asked */
	uint32_t wsize_max;		/* it refused more; 0: no */
	uint64_t write_bytes, commit_bytes;	/* for the means */
	struct server_stats stats;
};

/* The bytes that may be on their way to stable storage beside what somebody waits
   for: a second's, an eighth of that while small syncs have to get through, less
   where foreground work suffers (wbt.c). */
uint64_t server_backlog(const struct wb_server *);

/* Without priorities everything is one class, first in, first out. */
static inline enum wb_class
server_class(const struct wb_server *s, enum wb_class class)
{
	return s->params.commit_priority == COMMIT_AHEAD ? class : WB_NORMAL;
}

#endif
