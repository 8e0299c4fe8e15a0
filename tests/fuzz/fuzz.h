/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fuzz.h - what a fuzz target is made of
 *
 * A target is one file that defines fuzz_name and LLVMFuzzerTestOneInput, as
 * libFuzzer has it.  Whatever a run makes it takes away again, time is virtual,
 * and the same input does the same each time.  A promise that an input breaks is
 * FUZZ_CHECK's.
 *
 * Linked with replay.c it is a test that replays files; configured with
 * --enable-fuzzing it is linked with a fuzzer.
 */
#ifndef NFSWB_TESTS_FUZZ_H
#define NFSWB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern const char fuzz_name[];		/* its folder below tests/fuzz/seeds */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(what) do {						\
	if (!(what)) {							\
		fprintf(stderr, "%s:%d: broken: %s\n", __FILE__,	\
			__LINE__, #what);				\
		abort();						\
	}								\
} while (0)

/* The input, from front to back. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* A number of so many bytes, the first the highest; what is missing is 0. */
static inline uint64_t
fuzz_take(struct fuzz_input *in, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--) {
		value <<= 8;
		if (in->left) {
			value |= *in->at++;
			in->left--;
		}
	}
	return value;
}

/* The next bytes, len at most; *got of them are there. */
static inline const uint8_t *
fuzz_bytes(struct fuzz_input *in, size_t len, size_t *got)
{
	const uint8_t *at = in->at;

	*got = len < in->left ? len : in->left;
	in->at += *got;
	in->left -= *got;
	return at;
}

#endif
