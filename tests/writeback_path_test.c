/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_path_test.c - the write path's finer promises: what was granted,
 * where files end, who is held back
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

static struct bench b;
static const struct bench_options roomy;

static void
start(const struct bench_options *o)
{
	bench_init(&b, o);
}

static int
closed(struct wb_handle *h)
{
	struct bench_done d = { 0 };

	handle_close(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	return d.err;
}

/* ---- where files end ---- */

static void
last_offset_there_is_may_be_written(void)
{
	struct wb_handle *h;
	struct wb_call *c;
	struct bench_done d = { 0 };

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, INT64_MAX - 1, 1, 'z'));
	CU_ASSERT_EQUAL(file_size(handle_file(h)), INT64_MAX);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL(c->offset, INT64_MAX - 1);
	CU_ASSERT_EQUAL(c->count, 1);
	bench_answer(&b, c, 0, WB_FILE_SYNC, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

/* Where an append will lie is not known to its writer. */
static void
append_beyond_the_servers_largest_file_is_told_and_listed(void)
{
	struct wb_handle *h;
	struct bench_done d = { 0 };

	start(&roomy);
	h = bench_open(&b, 1, 10, O_WRONLY | O_APPEND);
	handle_file(h)->params.max_size = 10;
	file_server_attr(handle_file(h), 8, 1, true);
	CU_ASSERT_FALSE(bench_write(&b, h, 0, 3, 'a'));
	b.kept = 0;			/* its room is used up all the same */
	CU_ASSERT_EQUAL(b.gave_up, 3);
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 8);
	CU_ASSERT_EQUAL(handle_reserve(h, 3), -EFBIG);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -EFBIG);
	CU_ASSERT_EQUAL(handle_reserve(h, 2), 8);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

UNIT_TESTS(writeback_path,
	UNIT(last_offset_there_is_may_be_written),
	UNIT(append_beyond_the_servers_largest_file_is_told_and_listed),
)
