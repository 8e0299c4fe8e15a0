/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wiring.h - the parts put together: a whole daemon on a loop
 */
#ifndef NFSWB_WIRING_H
#define NFSWB_WIRING_H

#include <stdbool.h>

#include "common/loop.h"
#include "daemon/config.h"

struct daemon;

/* Until the daemon minds them, the signals it is asked by wait. */
void daemon_block_signals(void);
/*
 * Starts everything on a loop made by evloop_new; socket NULL: by the
 * configuration; argv: by what it is executed anew.  All must outlive the
 * daemon.  NULL, and *error is one line that the caller frees.  It stops the loop
 * when it was asked to stop (SIGTERM, SIGINT) and is done.
 */
struct daemon *daemon_start(struct loop *, const struct config *,
			    const char *socket, char **argv, char **error);
/* After the loop: frees all.  True when everything that was accepted is on
   stable storage. */
bool daemon_stop(struct daemon *);

#endif
