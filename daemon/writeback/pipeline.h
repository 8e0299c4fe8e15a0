/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pipeline.h - the whole of writeback: one clockwork, wound from outside
 *
 * The pipeline does nothing by itself.  Whoever changes something in it (a
 * write, a reply, a request to sync) makes it ask for a turn by the poke hook;
 * the loop then calls wb_run, which does all that may be done at now, and
 * wb_deadline tells when the next turn is due if nothing happens before.
 * Completion functions (wb_done_fn) are called from wb_run or from a reply,
 * never from inside the call that took them.
 */
#ifndef NFSWB_PIPELINE_H
#define NFSWB_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wb;
struct wb_file;

/* err: 0 or -errno. */
typedef void wb_done_fn(void *arg, int err);

/* Who is held up, and where; see throttle.c. */
enum dirty_throttling { THROTTLE_IOLESS, THROTTLE_FOREGROUND, THROTTLE_NONE };

/* What reclaim does that finds no room; see reclaim_policy.c. */
enum reclaim_policy { RECLAIM_WAIT, RECLAIM_WRITE, RECLAIM_TIMED };

struct wb_limits {			/* global keys; 0 bytes are never valid */
	uint64_t dirty_bytes;
	uint64_t dirty_background_bytes;
	enum dirty_throttling dirty_throttling;
	enum reclaim_policy reclaim_policy;
	bool whole_grants;		/* BOUND_GRANTS; see room_queue.c */
	uint64_t dirty_expire_usec;
	uint64_t clean_expire_usec;
	uint64_t late_duplicate_usec;
};

struct wb_hooks {
	void (*poke)(void *arg);	/* wb_run is wanted soon */
	/* Bytes that were accepted are given up: to be logged and listed. */
	void (*gave_up)(void *arg, struct wb_file *, uid_t writer,
			uint64_t offset, uint64_t length, int err);
	/* A late copy of a call may land until then, which is later than what
	   was told before: to be remembered for the next instance.  NULL: not
	   told. */
	void (*late)(void *arg, uint64_t until_usec);
};

struct wb *wb_new(const struct wb_limits *, const struct wb_hooks *, void *arg,
		  uint64_t now);
/* Frees all; every server, file and slab must be gone or is dropped.  Calls that
   are out are not answered any more.  What was not written stays in the slabs'
   lists, for the next instance. */
void wb_free(struct wb *);
void wb_run(struct wb *, uint64_t now);
/* Absolute, in the clock of now; UINT64_MAX: only when poked. */
uint64_t wb_deadline(const struct wb *);
void wb_poke(struct wb *);
/* What the late hook told an earlier instance: until then files that are got are
   closed to newer data.  Nonsense (more than could have been told) is ignored. */
void wb_late(struct wb *, uint64_t until_usec);

/*
 * Waits until everything accepted before this call is on stable storage, in
 * all files match (NULL: in all) says yes to; err: the first failure.
 */
int wb_sync(struct wb *, bool (*match)(void *arg, struct wb_file *),
	    void *match_arg, uint64_t now, wb_done_fn *, void *arg);

/* Shutdown: from now on everything is written back as fast as may be. */
void wb_drain(struct wb *, uint64_t now);
/* No WRITE or truncation is begun from now on, until told otherwise.  Quiet: none
   is out. */
void wb_hold(struct wb *, bool hold);
bool wb_is_quiet(const struct wb *);
/* Is something overdue that no server, no delay and nobody else holds up?  Then
   we do; for the watchdog. */
bool wb_stands_still(const struct wb *, uint64_t now);

/* Bytes accepted that are not on stable storage (FAILED included). */
uint64_t wb_left_bytes(const struct wb *);
/* Each file with such bytes; for naming what a forced stop leaves. */
void wb_each_left(struct wb *, void (*fn)(void *arg, struct wb_file *,
		  uint64_t offset, uint64_t length, int err), void *arg);

#endif
