/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_trouble_test.c - the pipeline where something is short, late or not
 * as it should be
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define MiB (1u << 20)

static struct bench b;
static const struct bench_options roomy;

static void
start(const struct bench_options *o)
{
	bench_init(&b, o);
}

/* Answers all calls of one kind that are out now. */
static void
answer_all(enum wb_call_kind kind, int err, unsigned verf)
{
	unsigned i = 0;

	while (i < b.call_nr)
		if (b.call[i]->kind == kind)
			bench_answer(&b, bench_take(&b, i), err, WB_UNSTABLE,
				     verf);
		else
			i++;
}

/* ---- waits that somebody must end ---- */

static void
more_files_than_commits_are_synced(void)
{
	enum { FILES = 150 };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	unsigned i;

	start(&(struct bench_options) { .wsize = 4096 });
	for (i = 0; i < FILES; i++) {
		h = bench_open(&b, i, 10, O_RDWR);
		CU_ASSERT(bench_write(&b, h, 0, 8192, 'a'));
		handle_fsync(h, b.now, bench_done, &d);
	}
	bench_turn(&b);
	while (bench_count(&b, WB_CALL_WRITE))
		answer_all(WB_CALL_WRITE, 0, 1);
	while (bench_count(&b, WB_CALL_COMMIT))
		answer_all(WB_CALL_COMMIT, 0, 1);
	CU_ASSERT_EQUAL(d.nr, FILES);
	bench_free(&b);
}

static void
calls_that_find_no_memory_are_tried_again(void)
{
	struct bench_done d = { 0, 1 }, t = { 0, 1 };
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
	b.no_memory = true;
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	b.no_memory = true;
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_turn(&b);		/* a turn for another reason */
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	b.no_memory = true;
	handle_truncate(h, 10, b.now, bench_done, &t);
	bench_turn(&b);
	bench_turn(&b);
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_SETSIZE), 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(t.nr, 1);
	bench_free(&b);
}

UNIT_TESTS(writeback_trouble,
	UNIT(more_files_than_commits_are_synced),
	UNIT(calls_that_find_no_memory_are_tried_again),
)
