/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pattern.c - a stream of bytes that is quick to make and never repeats
 *
 *	pattern LENGTH [SEED [OFFSET]]
 *
 * The byte at an offset depends on seed and offset alone (tests/pattern.h), so
 * that any part of it can be made again to compare with.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pattern.h"

#define BLOCK_BYTES (256u << 10)

static int
write_all(const uint8_t *at, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(STDOUT_FILENO, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static uint8_t block[BLOCK_BYTES];
	uint64_t left, seed, offset;
	size_t n;
	int err;

	if (argc < 2) {
		fprintf(stderr, "usage: pattern LENGTH [SEED [OFFSET]]\n");
		return 2;
	}
	left = strtoull(argv[1], NULL, 10);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	offset = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	for (; left; left -= n, offset += n) {
		n = left < sizeof(block) ? (size_t)left : sizeof(block);
		pattern_fill(block, n, seed, offset);
		err = write_all(block, n);
		if (err) {
			fprintf(stderr, "pattern: %s\n", strerror(-err));
			return 1;
		}
	}
	return 0;
}
