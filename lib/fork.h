/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fork.h - a connection belongs to the process that made it
 *
 * After fork() the child's copy is stale: its memory is not mapped there, its
 * locks may be held by threads that do not exist.
 */
#ifndef NFSWB_LIB_FORK_H
#define NFSWB_LIB_FORK_H

#include <stdbool.h>

struct nfswb;

/* How many forks lie behind this process since the library was loaded. */
unsigned fork_generation(void);
void fork_count(void);			/* watch.c: in the child */
bool fork_is_stale(const struct nfswb *);

#endif
