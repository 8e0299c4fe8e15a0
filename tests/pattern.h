/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pattern.h - test data: the byte at an offset depends on seed and offset */
#ifndef NFSWB_TESTS_PATTERN_H
#define NFSWB_TESTS_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The pattern's eight bytes at 8 * index (splitmix64). */
static inline uint64_t
pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t z = (seed + 1) * 0xd1342543de82ef95ull +
		index * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline void
pattern_fill(uint8_t *to, size_t len, uint64_t seed, uint64_t offset)
{
	size_t n, skip;
	uint64_t w;

	for (; len; to += n, len -= n, offset += n) {
		w = pattern_word(seed, offset / 8);
		skip = offset % 8;
		n = 8 - skip < len ? 8 - skip : len;
		memcpy(to, (const uint8_t *)&w + skip, n);
	}
}

#endif
