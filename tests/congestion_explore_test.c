/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion_explore_test.c - the wait queues in all small worlds
 *
 * $EXPLORE: larger ones too, for minutes.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "tests/explore.h"
#include "tests/unit.h"

#define BLOCK 4096u		/* wsize, in every world */
#define STATES 4000000ul

/* Which waits the world has to come to, lest it prove nothing. */
enum { NO_WAITS, ASYNC = 1, SYNC = 2, BOTH = 3 };

static bool
big(void)
{
	return getenv("EXPLORE");
}

static void
try(unsigned waits, struct world w)
{
	struct explored r;
	clock_t start = clock();
	bool ok;

	log_set_level(LOG_LEVEL_ERROR);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);	/* memory stays at hand */
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	w.bench.wsize = BLOCK;
	w.bench.unbound = true;
	if (!w.bench.slab_bytes)
		w.bench.slab_bytes = 4 * NFSWB_CHUNK_BYTES;
	if (!w.bench.write_nr)
		w.bench.write_nr = 16;
	if (!w.writers)
		w.writers = 1;
	ok = explore(&w, STATES, &r);
	printf("# %lu states, %lu events, %lu ends, async waits in %lu, "
	       "sync passes %u at most, %.1f s\n", r.states, r.events, r.ends,
	       r.async_waits, r.most_sync,
	       (double)(clock() - start) / CLOCKS_PER_SEC);
	CU_ASSERT(ok);
	CU_ASSERT_EQUAL(!!r.async_waits, !!(waits & ASYNC));
	CU_ASSERT_EQUAL(!!r.most_sync, !!(waits & SYNC));
}

#define WORLD(...) ((struct world) { __VA_ARGS__ })
#define LIMIT(bytes, ...) { .congestion_bytes = bytes, __VA_ARGS__ }
#define ALWAYS .background_bytes = 1	/* all that is dirty goes out */

static void
limit_of_one_byte(void)
{
	try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS),
			.files = 2, .blocks = 2, .syncs = 1));
	try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS),
			.files = 3, .blocks = 1, .syncs = 1));
}

static void
limit_of_one_block(void)
{
	try(BOTH, WORLD(.bench = LIMIT(BLOCK, ALWAYS), .files = 2,
			.blocks = 3, .at_start = 2, .syncs = 1,
			.answers = 2));
	try(BOTH, WORLD(.bench = LIMIT(BLOCK, ALWAYS),
			.files = 1, .blocks = 4, .syncs = 2));
}

static void
limit_of_two_blocks(void)
{
	try(BOTH, WORLD(.bench = LIMIT(2 * BLOCK, ALWAYS), .files = 2,
			.blocks = 4, .at_start = 4, .syncs = 1, .answers = 3));
	if (big())
		try(BOTH, WORLD(.bench = LIMIT(2 * BLOCK, ALWAYS), .files = 2,
				.blocks = 3, .at_start = 2, .syncs = 1));
}

/* limit / 8 is a block */
static void
limit_with_a_mark_to_wake_below(void)
{
	try(BOTH, WORLD(.bench = LIMIT(8 * BLOCK, ALWAYS, .write_nr = 64), .files = 2,
			.blocks = 12, .at_start = 12, .syncs = 1,
			.answers = 1));
	try(SYNC, WORLD(.bench = LIMIT(8 * BLOCK, .write_nr = 64), .files = 3,
			.blocks = 8, .at_start = 8, .syncs = 1,
			.answers = 1));
	if (big())
		try(SYNC, WORLD(.bench = LIMIT(8 * BLOCK, .write_nr = 64), .files = 3,
				.blocks = 9, .at_start = 8, .syncs = 1,
				.answers = 1));
}

/* Nothing is written but what somebody waits for. */
static void
sync_passes_among_themselves(void)
{
	try(SYNC, WORLD(.bench = LIMIT(1), .files = 3, .blocks = 2,
			.at_start = 2, .syncs = 1));
	try(SYNC, WORLD(.bench = LIMIT(1), .files = 3, .blocks = 3,
			.at_start = 3, .syncs = 1, .answers = 2));
}

static void
dirty_limit_of_one_block(void)
{
	try(NO_WAITS, WORLD(.bench = LIMIT(1, .dirty_bytes = BLOCK, ALWAYS),
			    .files = 2, .blocks = 2, .syncs = 1,
			    .timers = 2));
	try(NO_WAITS, WORLD(.bench = LIMIT(BLOCK, .dirty_bytes = BLOCK,
					   .background_bytes = BLOCK),
			    .files = 2, .writers = 2, .blocks = 2,
			    .syncs = 1, .timers = 1));
	if (big())
		try(BOTH, WORLD(.bench = LIMIT(1, .dirty_bytes = 3 * BLOCK,
					       .background_bytes = BLOCK),
				.files = 2, .writers = 2, .blocks = 2,
				.syncs = 1, .timers = 2));
}

static void
server_that_restarts(void)
{
	try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS), .files = 2, .blocks = 2,
			.at_start = 2, .syncs = 1, .restarts = 1));
	try(ASYNC, WORLD(.bench = LIMIT(BLOCK, ALWAYS), .files = 1,
			 .blocks = 3, .syncs = 1, .restarts = 2));
	if (big())
		try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS), .files = 2,
				.blocks = 2, .at_start = 1, .syncs = 1,
				.restarts = 1));
}

static void
server_that_asks_for_patience(void)
{
	try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS), .files = 2, .blocks = 2,
			.at_start = 2, .syncs = 1, .refusals = 1,
			.timers = 2));
}

static void
blocks_written_again_while_they_are_on_their_way(void)
{
	try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS), .files = 2, .blocks = 2,
			.at_start = 2, .syncs = 1, .overwrites = 1));
	if (big())
		try(BOTH, WORLD(.bench = LIMIT(1, ALWAYS), .files = 2,
				.blocks = 2, .at_start = 1, .syncs = 1,
				.overwrites = 2));
}

static void
old_data(void)
{
	try(BOTH, WORLD(.bench = LIMIT(1), .files = 2, .blocks = 2,
			.at_start = 1, .syncs = 1, .timers = 1));
	if (big())
		try(BOTH, WORLD(.bench = LIMIT(1), .files = 2, .blocks = 2,
				.syncs = 1, .timers = 2));
}

/* Not the marks hold the passes, but the call objects. */
static void
few_calls(void)
{
	try(NO_WAITS, WORLD(.bench = LIMIT(1 << 20, .write_nr = 4, ALWAYS),
			    .files = 2, .blocks = 4, .at_start = 4,
			    .syncs = 1, .answers = 2));
	try(NO_WAITS, WORLD(.bench = LIMIT(1 << 20, .write_nr = 2, ALWAYS),
			    .files = 2, .blocks = 2, .syncs = 1));
}

static void
other_policies(void)
{
	try(ASYNC, WORLD(.bench = LIMIT(1, ALWAYS, .congestion_policy =
					CONGESTION_SINGLE),
			 .files = 2, .blocks = 2, .syncs = 1));
	try(ASYNC, WORLD(.bench = LIMIT(4 * BLOCK, ALWAYS, .congestion_policy =
					CONGESTION_SINGLE),
			 .files = 2, .blocks = 6, .at_start = 6, .syncs = 1,
			 .answers = 2));
	try(NO_WAITS, WORLD(.bench = LIMIT(1, ALWAYS, .congestion_policy =
					   CONGESTION_NONE),
			    .files = 2, .blocks = 2, .at_start = 1,
			    .syncs = 1));
}

UNIT_TESTS(congestion_explore,
	UNIT(limit_of_one_byte),
	UNIT(limit_of_one_block),
	UNIT(limit_of_two_blocks),
	UNIT(limit_with_a_mark_to_wake_below),
	UNIT(sync_passes_among_themselves),
	UNIT(dirty_limit_of_one_block),
	UNIT(server_that_restarts),
	UNIT(server_that_asks_for_patience),
	UNIT(blocks_written_again_while_they_are_on_their_way),
	UNIT(old_data),
	UNIT(few_calls),
	UNIT(other_policies),
)
