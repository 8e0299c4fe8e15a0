/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * every.h - something shown every so often
 *
 *	struct every every = { .msec = 2000 };
 *	every_start();				only to catch q and ^C
 *	do
 *		show();
 *	while (every_wait(&every));
 *	every_stop();
 */
#ifndef NFSWB_CLI_EVERY_H
#define NFSWB_CLI_EVERY_H

#include <stdbool.h>

struct every {
	int msec;			/* 0: once only */
	int count;			/* times in all; 0: for ever */
	int done;
};

/* -i SEC and -c N as getopt_long gives them; -1: value is none. */
int every_option(struct every *, int c, const char *value);
#define EVERY_USAGE "%s: not a number above 0"

/* false: over, by count, by ^C or TERM, or by q on the terminal. */
bool every_wait(struct every *);

/* Catches these signals, and takes keys as they are typed.  Until every_stop
   the terminal does not echo. */
void every_start(void);
void every_stop(void);

#endif
