/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify.h - telling the service manager how we are
 *
 * Without systemd, or not started by it, all of this does nothing.
 */
#ifndef NFSWB_NOTIFY_H
#define NFSWB_NOTIFY_H

#include <stdint.h>

#include "common/loop.h"

/* Feeds the watchdog from the loop, where one is set.  NULL: no memory. */
struct notify;
struct notify *notify_new(struct loop *);
void notify_free(struct notify *);	/* NULL is fine */

void notify_ready(void);
/* Stopping; it may take so long. */
void notify_stopping(uint64_t timeout_usec);
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
