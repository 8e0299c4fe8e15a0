/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slab.h - a session's memory: chunks, marks, grants, the list of extents
 *
 * The pipeline's side of SHARED-MEMORY: it keeps its own books of every chunk
 * and believes the shared words only after comparing.  Knows no descriptor: the
 * session maps the memory, and unmaps it when released says so.
 */
#ifndef NFSWB_SLAB_H
#define NFSWB_SLAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ring.h"
#include "daemon/writeback/file.h"

struct slab;
struct wb;

struct slab_hooks {
	/* Room was granted, or list slots came free: look at the ring again,
	   ring the bell if the library waits. */
	void (*room)(void *arg);
	/* The slab was given up by slab_release and its last extent is gone:
	   the memory may be unmapped.  The slab is freed after this. */
	void (*released)(void *arg);
	/* Nothing was wanted of this free room for long: its pages may go.
	   NULL: they stay. */
	void (*idle)(void *arg, uint64_t place, uint64_t length);
};

/* Over mapped memory, formatted; the view is copied.  NULL: no memory. */
struct slab *slab_new(struct wb *, const struct shm_view *,
		      const struct slab_hooks *, void *arg);

#define SLAB_WEIGHT 100		/* a user's, unless told otherwise */

/* Whose session it is, and the weight of his share of the bandwidth against
   other users', which those of his sessions that write have in equal parts.
   Without this, or without memory, it counts as a user of its own. */
void slab_set_user(struct slab *, uid_t, unsigned weight);

/* A file was opened that it will write: room granted before the first post counts
   for that file's server. */
void slab_expect(struct slab *, const struct wb_handle *);

/*
 * An entry of the ring, copied out by the caller, joins its file.  h: the
 * handle the entry's file number stands for; ringpos: the position behind it.
 * 0; -ENOBUFS: no list slot now, offer it again after room(); -EPROTO: it lies
 * outside what was granted, end this session; -EBADF, -EFBIG: the write itself
 * is refused (the file's error tells).
 */
int slab_post(struct slab *, struct wb_handle *h,
	      const struct nfswb_ring_entry *, uint64_t ringpos, uint64_t now);

/* Looks at c_waits, want and the room left, and asks the throttle for more.
   Called when a bell rings, after draining and while the daemon naps. */
void slab_serve(struct slab *, uint64_t now);

/*
 * Data that came in a message: copied into this slab (a daemon's own one).
 * The bytes taken, 0 when there is no room (room() tells), or -EFBIG, -EBADF.
 */
int64_t slab_write(struct slab *, struct wb_handle *, const void *data,
		   uint64_t length, uint64_t offset, uint64_t now);

/*
 * Resume: takes the list left by an earlier instance.  file_of answers the
 * handle for a file number (NULL: the entry is lost, and counted).  Entries of
 * all sessions must join in sequence: slab_import_next tells this slab's lowest
 * pending sequence (0: none left), slab_import_one takes that one.
 */
int slab_import_begin(struct slab *,
		      struct wb_handle *(*file_of)(void *arg, uint32_t file),
		      void *arg, uint64_t max_seq);
uint64_t slab_import_next(struct slab *);
int slab_import_one(struct slab *, uint64_t now);
/* Where draining goes on: the ring position behind what the list holds. */
uint64_t slab_import_ringpos(struct slab *, uint64_t tail, uint64_t head);
/* Closes all marks and takes unfilled room back; a resumed session starts
   with no grants. */
void slab_void_grants(struct slab *);

/* The session is gone: no more posts or grants; extents are written back. */
void slab_release(struct slab *, uint64_t now);

/* Failed data fills the slab: tries it once more; done tells how it went (0
   also when there was none). */
void slab_retry_failed(struct slab *, uint64_t now, wb_done_fn *, void *arg);

struct slab_usage {
	uint64_t granted, dirty, writeback, unstable, failed, clean;
	enum waiting_for waiting;	/* of its writers, for room */
	uint64_t waiting_usec;
	bool wants_tail;		/* somebody may wait for the ring's */
};
void slab_usage(const struct slab *, uint64_t now, struct slab_usage *);
const char *waiting_for_name(enum waiting_for);
/* What wb_sync, or slab_retry_failed, that was called with this arg waits for;
   looks at all files. */
enum waiting_for sync_waiting_for(const struct wb *, const void *arg);

#endif
