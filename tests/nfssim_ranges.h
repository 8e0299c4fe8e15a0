/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_ranges.h - a set of bytes, as ranges that know when they came
 *
 * By offset in a tree, and in the order they came in a list.  gen is a number
 * that never falls from one call of ranges_add to the next; a byte that is in
 * the set already keeps the gen it has.
 */
#ifndef NFSWB_TESTS_NFSSIM_RANGES_H
#define NFSWB_TESTS_NFSSIM_RANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

struct range {
	uint64_t from, to, gen;
	RB_ENTRY(range) link;
	TAILQ_ENTRY(range) order;
};

RB_HEAD(range_tree, range);
TAILQ_HEAD(range_list, range);

struct ranges {
	struct range_tree tree;
	struct range_list list;
	uint64_t bytes;
};

void ranges_init(struct ranges *);
void ranges_free(struct ranges *);
/* Both say how many bytes that changed. */
uint64_t ranges_add(struct ranges *, uint64_t from, uint64_t to, uint64_t gen);
uint64_t ranges_remove(struct ranges *, uint64_t from, uint64_t to);
/* The first that came of those between from and to with gen at most that;
   *a … *b is what lies between them.  false: none. */
bool ranges_first(const struct ranges *, uint64_t from, uint64_t to,
		  uint64_t gen, uint64_t *a, uint64_t *b);
/* By offset: the first bytes between from and to that are in the set, or that
   are not.  false: none. */
bool ranges_next(const struct ranges *, uint64_t from, uint64_t to,
		 uint64_t *a, uint64_t *b);
bool ranges_gap(const struct ranges *, uint64_t from, uint64_t to,
		uint64_t *a, uint64_t *b);

#endif
