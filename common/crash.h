/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * crash.h - places to die at, for tests
 *
 * One stands before each store to the memory that application and daemon share,
 * so that a test can end either between any two of them.  They are there only when
 * built with --enable-crash-points; else nothing is.
 *
 * A program that was built so and is started with NFSWB_CRASH_AT=N kills itself
 * (SIGKILL) at the N-th place it comes to, counted over all threads.
 */
#ifndef NFSWB_COMMON_CRASH_H
#define NFSWB_COMMON_CRASH_H

#ifdef NFSWB_CRASH_POINTS

void crash_point(void);
/* Called at each instead (NULL: no more); for one thread. */
void crash_hook(void (*)(void));

#else

static inline void
crash_point(void)
{
}

#endif
#endif
