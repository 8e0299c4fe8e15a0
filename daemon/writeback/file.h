/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file.h - a file of a server: its extents, its size, its errors, its handles
 *
 * One wb_file per (server, file handle), shared by all sessions.  It lives while
 * it has references, handles, extents or calls.  A wb_handle is one open file
 * of one session.
 */
#ifndef NFSWB_FILE_H
#define NFSWB_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cred.h"
#include "common/fh.h"
#include "daemon/writeback/nfs_calls.h"
#include "daemon/writeback/pipeline.h"
#include "daemon/writeback/server.h"

struct wb_file;
struct wb_handle;

enum waiting_for { WAIT_NONE, WAIT_GRANT, WAIT_PACE, WAIT_LIMIT, WAIT_WRITE,
		   WAIT_COMMIT, WAIT_REPLY, WAIT_RESUME };

/* Per mount: what its files need to know. */
struct wb_file_params {
	uint32_t wsize;			/* bytes, one WRITE at most */
	uint32_t rsize;			/* the same of a READ; 0: some 32 KiB */
	uint64_t read_ahead;		/* bytes, at most; 0: none */
	enum wb_stable stable;		/* key stable */
	uint64_t max_size;		/* FSINFO's maxfilesize */
};

/* Finds or makes it; name (target) is for people, copied.  The caller owns a
   reference.  NULL: no memory. */
struct wb_file *file_get(struct wb_server *, const struct fh *,
			 const struct wb_file_params *, const char *name);
/* Finds it only, and gives no reference; NULL: nobody has it open and nothing
   of it is here. */
struct wb_file *file_find(struct wb_server *, const struct fh *);
struct wb_file *file_ref(struct wb_file *);
void file_put(struct wb_file *);
const char *file_name(const struct wb_file *);
void file_rename(struct wb_file *, const char *name);	/* for people */
const struct fh *file_fh(const struct wb_file *);
struct wb_server *file_server(const struct wb_file *);
unsigned file_handle_nr(const struct wb_file *);
/* Of those the ones with an owner: not what is closed and nobody waits for. */
unsigned file_user_nr(const struct wb_file *);
/* Bytes DIRTY, in WRITEBACK, UNSTABLE or FAILED. */
uint64_t file_left_bytes(const struct wb_file *);

/* What the server said of it: at open (CLEAN data is dropped unless size and
   ctime match our last reply) and after any call that returned attributes. */
void file_server_attr(struct wb_file *, uint64_t size, uint64_t ctime_nsec,
		      bool at_open);
/* The size as its users see it: the server's, or the end of what is here. */
uint64_t file_size(const struct wb_file *);
/* The same, but UINT64_MAX while a file that an earlier instance had open has
   not been heard of by the server: it may be longer than what is here. */
uint64_t file_size_at_most(const struct wb_file *);
/* No byte may lie at or behind it. */
uint64_t file_max_size(const struct wb_file *);

/* The file is gone on the server (last link removed, nobody has it open): what
   is not written yet is dropped, that is not a loss. */
void file_forget(struct wb_file *);

/*
 * Nothing of the file is sent until file_go_on, once for each; done when nothing
 * is under way any more.  So its last name can be taken, and no WRITE comes
 * after that.
 */
void file_pause(struct wb_file *, uint64_t now, wb_done_fn *, void *arg);
void file_go_on(struct wb_file *);

/*
 * Tells once, from wb_run, that the last handle was closed and all of the file
 * is written or given up: the hidden name of an unlinked file can go.  One
 * watcher a file; fn NULL: none.  A file with a watcher is not freed.
 */
void file_when_closed(struct wb_file *, void (*fn)(void *arg,
		      struct wb_file *), void *arg);

/* A handle; it takes its own references.  oflags as open(2).  NULL: no
   memory. */
struct wb_handle *handle_open(struct wb_file *, struct cred *, int oflags);
struct wb_file *handle_file(const struct wb_handle *);

/* Waits until all accepted for the file before is on stable storage. */
void handle_fsync(struct wb_handle *, uint64_t now, wb_done_fn *, void *arg);
/*
 * The same, reports, and frees the handle, whatever the error; the handle must
 * not be used after the call.  With nobody waiting (done NULL: the session is
 * gone) the file is written back all the same.
 */
void handle_close(struct wb_handle *, uint64_t now, wb_done_fn *done,
		  void *arg);
/* What who called with this arg (to fsync, close, truncate, …) waits for. */
enum waiting_for file_waiting_for(struct wb_file *, const void *arg);
/* Stops telling: done will not be called for what waits with this arg. */
void handle_abandon(struct wb_file *, void *arg);

/* Cuts or extends to size: what lies behind goes, SETATTR follows what is in
   flight, later writes are held back until it is done. */
void handle_truncate(struct wb_handle *, uint64_t size, uint64_t now,
		     wb_done_fn *, void *arg);
/* The same without a handle (nfswb_setattr, O_TRUNC). */
void file_truncate(struct wb_file *, struct cred *, uint64_t size,
		   uint64_t now, wb_done_fn *, void *arg);

/*
 * Room at the end of the file for an append of length bytes, which the caller
 * writes in pieces.  A truncation in between cuts the record as if all of it
 * had been there: what of it comes later is dropped.  Returns its start, -EFBIG,
 * or -EAGAIN: the end is not known now, file_when_cut tells.
 */
int64_t handle_reserve(struct wb_handle *, uint64_t length);
/* The end of a range that an append was given, known from a RESUME. */
void handle_reserved(struct wb_handle *, uint64_t end);
/* Done when no size is being set. */
void file_when_cut(struct wb_file *, uint64_t now, wb_done_fn *, void *arg);

/*
 * Reads from what is here: copies the length bytes at offset to buf when all
 * of them are cached and were written by cred's uid: 1.  Else 0: call
 * file_flush_range, then READ from the server.
 */
int file_read_cached(struct wb_file *, struct cred *, uint64_t offset,
		     uint64_t length, void *buf);
/* Has the server every byte of the range that was accepted, and can't forget it?
   Then file_flush_range has nothing to wait for. */
bool file_is_settled(struct wb_file *, uint64_t offset, uint64_t end);
/* Where the file ends by what is not at the server yet; 0: all is. */
uint64_t file_local_end(const struct wb_file *);
/* Done when the server has every byte of the range accepted before the call,
   and can't forget it before a READ comes: on stable storage. */
void file_flush_range(struct wb_file *, uint64_t offset, uint64_t length,
		      uint64_t now, wb_done_fn *, void *arg);

#endif
