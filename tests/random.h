/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* random.h - numbers for random tests, the same for the same seed: xorshift64* */
#ifndef NFSWB_TESTS_RANDOM_H
#define NFSWB_TESTS_RANDOM_H

#include <stdint.h>

/* A state, never 0, for any seed. */
static inline uint64_t
random_start(uint64_t seed)
{
	return seed * 0x9e3779b97f4a7c15ull + 1;
}

static inline uint64_t
random_next(uint64_t *state, uint64_t below)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 2685821657736338717ull >> 20) % below;
}

#endif
