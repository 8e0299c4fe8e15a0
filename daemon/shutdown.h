/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shutdown.h - stopping without losing anything, within a deadline
 */
#ifndef NFSWB_SHUTDOWN_H
#define NFSWB_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"

struct notify;
struct wb;
struct sessions;

struct shutdown_env {
	struct loop *loop;
	struct wb *wb;
	struct sessions *sessions;
	struct notify *notify;
	uint64_t timeout_usec;
};

/* NULL: no memory.  The env is copied. */
struct shutdown *shutdown_new(const struct shutdown_env *);
void shutdown_free(struct shutdown *);	/* NULL is fine */

/* Accepts nothing more, writes everything back, then stops the loop.  The
   second call stops it at once. */
void shutdown_begin(struct shutdown *);
/* The pipeline had a turn: perhaps all is written. */
void shutdown_look(struct shutdown *);
/* Is all that was accepted on stable storage?  After the loop has stopped. */
bool shutdown_clean(const struct shutdown *);

#endif
