/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* crash.c - see crash.h */
#include "common/crash.h"

#ifdef NFSWB_CRASH_POINTS

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void (*hook)(void);
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static _Atomic unsigned long left;	/* 0: does not die */

static void
ask(void)
{
	const char *at = getenv("NFSWB_CRASH_AT");

	left = at ? strtoul(at, NULL, 10) : 0;
}

void
crash_hook(void (*f)(void))
{
	hook = f;
}

void
crash_point(void)
{
	pthread_once(&asked, ask);
	if (hook)
		hook();
	else if (left && atomic_fetch_sub(&left, 1) == 1)
		kill(getpid(), SIGKILL);
}

#endif
