/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * server.h - one NFS server as the pipeline sees it: limits, queues, files
 */
#ifndef NFSWB_SERVER_H
#define NFSWB_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/nfs_calls.h"
#include "daemon/writeback/wbt.h"

struct wb;
struct wb_server;

enum congestion_policy { CONGESTION_SPLIT, CONGESTION_SINGLE, CONGESTION_NONE };

/* Do COMMITs, and WRITEs that somebody waits for, go before queued WRITEs? */
enum commit_priority { COMMIT_AHEAD, COMMIT_FIFO };

/* When is a COMMIT due that nobody waits for?  See commit.c. */
enum commit_rule { COMMIT_BY_BANDWIDTH, COMMIT_BY_KERNEL };

/* What background writeback denies itself, in bits; each where it is told. */
enum wb_bounds {
	BOUND_NONE = 0,
	BOUND_PASS = 1,			/* flusher.c */
	BOUND_TAILS = 2,		/* flusher.c */
	BOUND_COMMITS = 4,		/* commit_window.c */
	BOUND_GRANTS = 8,		/* room_queue.c, for all servers */
	BOUND_ALL = 15,
};

struct wb_server_params {
	const char *name;		/* host:port; copied */
	uint64_t congestion_bytes;	/* the async limit */
	enum congestion_policy congestion_policy;
	enum commit_priority commit_priority;
	enum commit_rule commit_rule;
	enum wb_bounds bounds;
	uint64_t wbt_lat_usec;		/* 0: off; WBT_AUTO: by its own round trip */
	unsigned slot_nr;		/* of the transport's slot table */
	unsigned write_nr;		/* WRITEs queued and on the wire at most,
					   set aside; 0: by congestion_bytes, for
					   CONGESTION_NONE by dirty_bytes */
};

struct wb_server *wb_server_new(struct wb *, const struct wb_server_params *,
				const struct wb_calls *, void *calls_arg,
				uint64_t now);
/* Such a server's WRITEs and COMMITs that are out at a time, at most: what the
   transport has to set aside. */
unsigned wb_server_call_nr(const struct wb *, const struct wb_server_params *);
/* Only when it has no files. */
void wb_server_free(struct wb_server *);
const char *wb_server_name(const struct wb_server *);
/* The calls_arg it was made with. */
void *wb_server_calls_arg(const struct wb_server *);

/* wbt: a foreground call of this NFS procedure, with a payload (either way) of so
   many bytes, has left as a whole; each such call once. */
void wb_server_foreground_sent(struct wb_server *, unsigned proc,
			       uint64_t bytes, uint64_t now);
/* ... and took so long from its last byte to the reply; ok false: there won't be
   any. */
void wb_server_foreground_ended(struct wb_server *, unsigned proc,
				uint64_t bytes, uint64_t rtt_usec, bool ok,
				uint64_t now);

/* A call that is not the pipeline's was put off (JUKEBOX). */
void wb_server_delayed(struct wb_server *);

#endif
