/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_test.c - record marking, however the stream is cut */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record.h"
#include "tests/unit.h"

/* A stream of two fragments: "hello" + "world!" as one record. */
static const unsigned char two_fragments[] = {
	0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o',
	0x80, 0, 0, 6, 'w', 'o', 'r', 'l', 'd', '!',
};

static void
fragments_make_one_record_fed_byte_by_byte(void)
{
	struct record_reader r;
	size_t used, i;

	record_reader_init(&r, 11);
	for (i = 0; i < sizeof two_fragments; i++) {
		int ret = record_feed(&r, two_fragments + i, 1, &used);

		CU_ASSERT_EQUAL(used, 1);
		CU_ASSERT_EQUAL(ret, i == sizeof two_fragments - 1);
	}
	CU_ASSERT_EQUAL(r.length, 11);
	CU_ASSERT(!memcmp(r.data, "helloworld!", 11));
	record_reader_free(&r);
}

static void
empty_record_is_a_record_of_length_0(void)
{
	static const unsigned char bell[] = { 0x80, 0, 0, 0, 0x80, 0, 0, 0 };
	struct record_reader r;
	size_t used;

	record_reader_init(&r, 100);
	CU_ASSERT_EQUAL(record_feed(&r, bell, 8, &used), 1);
	CU_ASSERT_EQUAL(used, 4);
	CU_ASSERT_EQUAL(r.length, 0);
	CU_ASSERT_EQUAL(record_feed(&r, bell + 4, 4, &used), 1);
	CU_ASSERT_EQUAL(r.length, 0);
	CU_ASSERT_EQUAL(record_feed(&r, bell, 0, &used), 0);
	record_reader_free(&r);
}

static void
empty_fragment_ends_a_record(void)
{
	static const unsigned char s[] = { 0, 0, 0, 1, 'x', 0, 0, 0, 0,
					   0x80, 0, 0, 0 };
	struct record_reader r;
	size_t used;

	record_reader_init(&r, 1);
	CU_ASSERT_EQUAL(record_feed(&r, s, sizeof s, &used), 1);
	CU_ASSERT_EQUAL(used, sizeof s);
	CU_ASSERT_EQUAL(r.length, 1);
	record_reader_free(&r);
}

static void
record_of_max_bytes_passes_and_one_more_is_refused(void)
{
	struct record_reader r;
	unsigned char s[4 + 11] = "";
	size_t used;

	record_reader_init(&r, 10);
	record_mark(s, 10);
	CU_ASSERT_EQUAL(record_feed(&r, s, 14, &used), 1);
	record_mark(s, 11);
	CU_ASSERT_EQUAL(record_feed(&r, s, 15, &used), -EMSGSIZE);
	CU_ASSERT_EQUAL(record_feed(&r, s, 15, &used), -EMSGSIZE);
	record_reader_free(&r);
}

static void
fragments_that_sum_up_beyond_max_are_refused(void)
{
	static const unsigned char s[] = { 0, 0, 0, 3, 'a', 'b', 'c',
					   0x80, 0, 0, 2, 'd', 'e' };
	struct record_reader r;
	size_t used;

	record_reader_init(&r, 4);
	CU_ASSERT_EQUAL(record_feed(&r, s, sizeof s, &used), -EMSGSIZE);
	CU_ASSERT_EQUAL(used, 11);
	record_reader_free(&r);
}

static void
announced_size_alone_allocates_nothing(void)
{
	struct record_reader r;
	unsigned char mark[4];
	size_t used;

	record_reader_init(&r, 1u << 30);
	record_mark(mark, 1u << 30);
	CU_ASSERT_EQUAL(record_feed(&r, mark, 4, &used), 0);
	CU_ASSERT_PTR_NULL(r.data);
	CU_ASSERT_EQUAL(record_feed(&r, "x", 1, &used), 0);
	CU_ASSERT(r.room <= 1u << 17);
	record_reader_free(&r);
}

static void
reset_forgets_half_a_record(void)
{
	struct record_reader r;
	unsigned char s[5 + 4] = "";
	size_t used;

	record_reader_init(&r, 100);
	CU_ASSERT_EQUAL(record_feed(&r, two_fragments, 12, &used), 0);
	record_reader_reset(&r);
	record_mark(s, 5);
	memcpy(s + 4, "fresh", 5);
	CU_ASSERT_EQUAL(record_feed(&r, s, 9, &used), 1);
	CU_ASSERT_EQUAL(r.length, 5);
	CU_ASSERT(!memcmp(r.data, "fresh", 5));
	record_reader_free(&r);
}

/* Gives the reader some bytes, by room where it offers some. */
static int
give(struct record_reader *r, const unsigned char *s, size_t len, size_t *took)
{
	void *buf;
	size_t room = record_room(r, &buf);

	if (!room)
		return record_feed(r, s, len, took);
	*took = len < room ? len : room;
	memcpy(buf, s, *took);
	return record_took(r, *took);
}

/* Cuts nr records into random fragments; their bytes in stream order are
   0, 1, 2 … modulo 251.  Returns the stream's length. */
static size_t
make_stream(unsigned char *s, const size_t *record_len, unsigned nr)
{
	size_t at = 0, left, piece;
	unsigned i, byte = 0;

	for (i = 0; i < nr; i++) {
		left = record_len[i];
		do {
			piece = left ? (size_t)rand() % (left + 1) : 0;
			left -= piece;
			record_mark(s + at, piece);
			if (left)
				s[at] &= 0x7f;
			at += 4;
			while (piece--)
				s[at++] = (unsigned char)(byte++ % 251);
		} while (left);
	}
	return at;
}

static void
random_cuts_give_the_same_records(void)
{
	enum { NR = 20, LEN = 200000 };
	unsigned char *s = malloc((size_t)NR * LEN * 5);
	unsigned seed = 1, round, i, byte, n;
	size_t len[NR], end, at, took, most;
	struct record_reader r;
	int ret;

	printf("# seed %u\n", seed);
	srand(seed);
	record_reader_init(&r, LEN);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < NR; i++)
			len[i] = (size_t)rand() % (i % 3 ? 50 : LEN);
		end = make_stream(s, len, NR);
		for (at = 0, i = 0, byte = 0; at < end; at += took) {
			most = 1 + (size_t)rand() % (round % 2 ? 3 : 90000);
			ret = give(&r, s + at, at + most < end ? most :
				   end - at, &took);
			CU_ASSERT_FATAL(ret >= 0 && i < NR);
			if (ret == 0)
				continue;
			CU_ASSERT_EQUAL_FATAL(r.length, len[i]);
			for (n = 0; n < r.length; n++)
				if (r.data[n] != byte++ % 251)
					CU_FAIL_FATAL("wrong byte");
			i++;
		}
		CU_ASSERT_EQUAL(i, NR);
	}
	record_reader_free(&r);
	free(s);
}

UNIT_TESTS(record,
	UNIT(fragments_make_one_record_fed_byte_by_byte),
	UNIT(empty_record_is_a_record_of_length_0),
	UNIT(empty_fragment_ends_a_record),
	UNIT(record_of_max_bytes_passes_and_one_more_is_refused),
	UNIT(fragments_that_sum_up_beyond_max_are_refused),
	UNIT(announced_size_alone_allocates_nothing),
	UNIT(reset_forgets_half_a_record),
	UNIT(random_cuts_give_the_same_records),
)
