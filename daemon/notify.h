/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify.h - what the service manager is told, and given to keep
 *
 * Not started by one, all of this does nothing.
 */
#ifndef NFSWB_NOTIFY_H
#define NFSWB_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"

struct notify;

/* Feeds the watchdog from the loop, where one is set, while alive says yes.
   NULL: no memory. */
struct notify *notify_new(struct loop *, bool (*alive)(void *arg), void *arg);
void notify_free(struct notify *);	/* NULL is fine, here and below */

void notify_ready(struct notify *);
/* Executed anew, until notify_ready. */
void notify_reloading(struct notify *);
/* Stopping; it may take so long. */
void notify_stopping(struct notify *, uint64_t timeout_usec);
void notify_status(struct notify *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The descriptor is kept under this name and given to the next instance, until
   the name is dropped. */
void notify_store(struct notify *, const char *name, int fd);
void notify_unstore(struct notify *, const char *name);

#endif
