/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * alloc_count.h - what the program allocates, counted, and refused if told to
 *
 * malloc, calloc and realloc of the whole process, libraries included
 * (tests/inject/inject_alloc.c).
 * $INJECT_ABORT: ends the program where it is refused, for a debugger.
 */
#ifndef NFSWB_TESTS_ALLOC_COUNT_H
#define NFSWB_TESTS_ALLOC_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on it counts; refuse: and whoever asks gets none. */
void alloc_watch(bool refuse);
/* No more; how many there were. */
uint64_t alloc_end(void);
/* Bytes that are allocated now; 0: that is not known here. */
uint64_t alloc_in_use(void);

#endif
