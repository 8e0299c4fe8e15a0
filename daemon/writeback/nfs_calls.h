/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs_calls.h - what the pipeline asks of the transport
 *
 * The pipeline knows no socket: it fills in one of these and hands it down.
 * The object and all it points to stay as they are until done, which comes
 * from the loop, exactly once per call, never from inside queue.
 */
#ifndef NFSWB_NFS_CALLS_H
#define NFSWB_NFS_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/cred.h"
#include "common/fh.h"

enum wb_stable { WB_UNSTABLE, WB_DATA_SYNC, WB_FILE_SYNC };	/* stable_how */
enum wb_class { WB_FOREGROUND, WB_NORMAL, WB_BACKGROUND };

#define WB_VERF 8	/* NFS3_WRITEVERFSIZE */

enum wb_call_kind { WB_CALL_WRITE, WB_CALL_COMMIT, WB_CALL_SETSIZE,
		    WB_CALL_READ };

struct wb_call {
	/* the question */
	enum wb_call_kind kind;
	enum wb_class class;
	bool ahead;			/* before others of its class */
	const struct fh *fh;
	struct cred *cred;
	uint64_t offset;		/* SETSIZE: the new size */
	uint32_t count;			/* WRITE, READ: the sum of iov */
	enum wb_stable stable;
	const struct iovec *iov;	/* READ: where the data goes */
	int iov_nr;
	void (*done)(struct wb_call *, uint64_t now);
	/* the answer */
	int err;			/* 0 or -errno; -EAGAIN: JUKEBOX */
	uint32_t nfs_status;		/* as the server said it; 0 where the
					   failure is our own */
	uint32_t written;		/* WRITE: the reply's count */
	uint32_t read;			/* READ: bytes that came, count at most */
	bool eof;			/* ... and the file ends there */
	enum wb_stable committed;
	unsigned char verf[WB_VERF];
	uint64_t size_after;		/* from post-op attributes */
	int have_size;
	uint64_t ctime_nsec;
	unsigned transmissions;
	uint64_t sent_usec;		/* when its first byte left */
	/* the transport's */
	void *transport;
};

struct wb_calls {
	/* 0, or -ENOMEM: nothing was queued, try later. */
	int (*queue)(void *arg, struct wb_call *);
	/* Somebody waits for it now; it goes ahead of others of that class. */
	void (*raise)(void *arg, struct wb_call *, enum wb_class);
	/* wbt: at most this many WRITEs in flight that nobody waits for; and
	   whether others ask this server, who are to be let through.  Either
	   may be NULL. */
	void (*background_depth)(void *arg, unsigned depth);
	/* READ: what its iov points to may not be written to any more; it is
	   answered all the same. */
	void (*drop_data)(void *arg, struct wb_call *);
	void (*yield)(void *arg, bool);
};

#endif
