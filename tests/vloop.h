/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vloop.h - common/loop.h under virtual time
 *
 * Fds are real (socketpairs, pipes) and polled without waiting; the clock is
 * not: while anything is ready it stands still, and when nothing is it jumps to
 * the next timer.  The same program does the same every time:
 *
 *	round:  ready fds, in the order they were watched
 *	        timers due, by time, then in the order they were set
 *	        deferred calls, in the order they were asked for
 *
 * What a round's callbacks ask for comes in the next round.
 */
#ifndef NFSWB_TESTS_VLOOP_H
#define NFSWB_TESTS_VLOOP_H

#include "common/loop.h"

/* The clock begins at start_usec.  NULL: no memory. */
struct loop *vloop_new(uint64_t start_usec);

/*
 * Runs until done(arg) is true (asked before every round): true.  False: max_usec
 * of virtual time have passed, nothing is left that could happen, loop_stop was
 * called, or a million rounds went by and the clock stood still (a callback
 * that does not do away with why it is called; said on stderr).  done NULL:
 * lets max_usec pass.
 */
bool vloop_run_until(struct loop *, bool (*done)(void *arg), void *arg,
		     uint64_t max_usec);

/* How often it came round since it began. */
uint64_t vloop_rounds(struct loop *);

/* Lets time pass, all that falls due in it included. */
static inline void
vloop_pass(struct loop *l, uint64_t usec)
{
	vloop_run_until(l, NULL, NULL, usec);
}

#endif
