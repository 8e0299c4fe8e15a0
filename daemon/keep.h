/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keep.h - the sessions' memory in the hands of who outlives us
 *
 * The service manager keeps both memfds of each session (its fd store), so that
 * they are there when both we and the application have died.  The next instance
 * gets them at its start, and so does what we execute in our place.
 */
#ifndef NFSWB_KEEP_H
#define NFSWB_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/memory.h"

struct keep;
struct inherit;

struct keep_hooks {
	void (*put)(void *arg, const char *name, int fd);
	void (*drop)(void *arg, const char *name);
};

/* NULL: no memory. */
struct keep *keep_new(const struct keep_hooks *, void *arg);
void keep_free(struct keep *);		/* NULL is fine, here and below */

/* Takes the memory of sessions out of what we were started with.  0, -ENOMEM. */
int keep_take(struct keep *, struct inherit *);

/* Is the memory of this session here, and as it was made?  Where it is not, that
   is logged, and it is kept no longer. */
bool keep_has(struct keep *, uint64_t session, uint64_t data_bytes);
/* Are these two the very files that are here? */
bool keep_is(const struct keep *, uint64_t session, int control_fd,
	     int data_fd);
/* It becomes the caller's; 0, or -errno and *why. */
int keep_adopt(struct keep *, uint64_t session, uint64_t data_bytes,
	       struct memory *, const char **why);
/* No session is known to what is here now: refused. */
void keep_refuse_rest(struct keep *, bool (*known)(void *arg, uint64_t session),
		      void *arg);

/* From now on it is kept, until dropped. */
void keep_put(struct keep *, uint64_t session, const struct memory *);
void keep_drop(struct keep *, uint64_t session);

/* For what is executed in our place: a session's memory, and what is still
   here.  0 or -ENOMEM. */
int keep_leave(struct inherit *, uint64_t session, const struct memory *);
int keep_leave_rest(const struct keep *, struct inherit *);

#endif
