/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * excused.h - what a test itself does is not made to fail
 *
 * A rig's functions that stand for a client, a server or the service manager say
 * EXCUSED at their beginning: until they return, tests/inject counts nothing and
 * lets everything pass.  vloop excuses itself, and not what it calls.
 */
#ifndef NFSWB_TESTS_EXCUSED_H
#define NFSWB_TESTS_EXCUSED_H

extern unsigned excused;	/* in tests/vloop.c */

static inline unsigned
excused_begin(void)
{
	return excused++;
}

static inline unsigned
excused_not(void)
{
	unsigned was = excused;

	excused = 0;
	return was;
}

static inline void
excused_end(const unsigned *before)
{
	excused = *before;
}

#define EXCUSED \
	unsigned excused_before_ \
		__attribute__((cleanup(excused_end), unused)) = excused_begin()

#endif
