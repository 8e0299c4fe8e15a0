/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop.h - the real event loop behind common/loop.h, on libevent
 *
 * Only the wiring makes one; everybody else takes a struct loop.
 */
#ifndef NFSWB_DAEMON_LOOP_H
#define NFSWB_DAEMON_LOOP_H

#include "common/loop.h"

/* NULL: no memory or no descriptor.  Freed by loop_free, after everything
   that was made on it. */
struct loop *evloop_new(void);

/* Calls fn from the loop when the process gets signo.  NULL: no memory. */
struct loop_signal;
struct loop_signal *evloop_signal(struct loop *, int signo, loop_fn *,
				  void *arg);
void evloop_signal_free(struct loop_signal *);	/* NULL is fine */

#endif
