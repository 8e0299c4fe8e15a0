/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * units.h - sizes and times for people
 *
 *	printf("%s in %s\n", units_bytes(n).s, units_usec(t).s);
 *
 * ASCII only, so that columns stay columns.
 */
#ifndef NFSWB_CLI_UNITS_H
#define NFSWB_CLI_UNITS_H

#include <stdint.h>

struct units { char s[40]; };

struct units units_bytes(uint64_t bytes);	/* 512 B, 1.5 MiB, 120 GiB */
struct units units_rate(double bytes_per_sec);	/* 430 MiB/s */
struct units units_usec(uint64_t usec);		/* 0, 850 us, 3.4 ms, 2 min 5 s */
struct units units_count(uint64_t nr);		/* 99999, then 1.2 M */

/* "2" or "0.5" seconds as milliseconds; -1: no such time (0 is none either). */
int units_parse_seconds(const char *);
/* A whole number from 1; -1: none. */
int units_parse_count(const char *);

#endif
