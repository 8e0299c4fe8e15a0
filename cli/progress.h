/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * progress.h - what goes to standard error: complaints, and on a terminal a
 * bar below them with rate and time left
 *
 * All may be called from several threads.
 */
#ifndef NFSWB_CLI_PROGRESS_H
#define NFSWB_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "nfswb: ...", one line. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool progress_wanted(void);		/* standard error is a terminal */
/* total_bytes 0: unknown.  Does nothing where no bar is wanted. */
void progress_start(uint64_t total_bytes);
void progress_add(uint64_t bytes);
void progress_stop(void);

/* The bar's line, at most width characters (for the test). */
void progress_line(char *line, size_t size, unsigned width, uint64_t done,
		   uint64_t total, double bytes_per_sec);

#endif
