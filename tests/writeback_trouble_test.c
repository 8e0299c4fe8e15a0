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

/* ---- list slots ---- */

static void
scattered_bytes_that_use_up_the_list_are_written_to_make_room(void)
{
	enum { WRITES = 30000 };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	unsigned n = 0, i;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 2 * WRITES && n < WRITES; i++)
		if (bench_write(&b, h, 2ull * n, 1, 'a')) {
			n++;
		} else {
			if (b.rooms) {	/* some came free before */
				b.rooms = 0;
				continue;
			}
			bench_turn(&b);
			CU_ASSERT_FATAL(b.call_nr > 0);
			bench_serve(&b, 1);
			CU_ASSERT_FATAL(b.rooms > 0);
			b.rooms = 0;
		}
	CU_ASSERT_EQUAL(n, WRITES);
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
inline_data_waits_quietly_for_a_truncation_and_for_slots(void)
{
	struct bench_done t = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned n = 0;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR | O_APPEND);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "abc", 3, 0, b.now), 3);
	handle_truncate(h, 1, b.now, bench_done, &t);
	bench_turn(&b);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL_FATAL(c->kind, WB_CALL_SETSIZE);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "de", 2, 0, b.now), 0);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);	/* nothing has changed */
	bench_answer(&b, c, 0, 0, 1);
	CU_ASSERT(b.rooms > 0);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "de", 2, 0, b.now), 2);
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 3);
	h = bench_open(&b, 2, 10, O_RDWR);
	while (n < 5000 && slab_write(b.slab, h, "x", 1, 2 * n, b.now) == 1)
		n++;
	CU_ASSERT(n < 5000);
	b.rooms = 0;
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);
	CU_ASSERT(b.call_nr > 0);
	bench_serve(&b, 1);
	CU_ASSERT(b.rooms > 0);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "x", 1, 2 * n, b.now), 1);
	bench_free(&b);
}

static void
refused_post_does_not_wake_its_own_session(void)
{
	struct wb_handle *h;
	unsigned n = 0;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR);
	while (n < 5000 && bench_write(&b, h, 2 * n, 1, 'a'))
		n++;
	bench_turn(&b);
	b.rooms = 0;
	CU_ASSERT(!bench_write(&b, h, 2 * n, 1, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);
	bench_free(&b);
}

/* ---- truncation ---- */

static void
truncation_cuts_without_a_free_slot(void)
{
	struct bench_done d = { 0, 1 }, t = { 0, 1 };
	struct wb_handle *h, *h2;
	struct extent *e;
	unsigned i;

	start(&(struct bench_options) { .slab_bytes = MiB, .wsize = 1024 });
	h = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 12 * 65536, 'a'));
	CU_ASSERT(bench_write(&b, h2, 0, 3000, 'b'));
	for (i = 0; bench_write(&b, h2, 5000 + 2 * i, 1, 'b'); i++)
		;
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);			/* cut into WRITEs of 1024 */
	for (i = 0; i < 100 && slab_has_slots(b.slab, 1); i++)
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT(!slab_has_slots(b.slab, 1));
	handle_truncate(h2, 1000, b.now, bench_done, &t);
	bench_turn(&b);
	for (i = 0; i < b.call_nr; i++)
		if (b.call[i]->kind == WB_CALL_SETSIZE)
			break;
	CU_ASSERT_FATAL(i < b.call_nr);
	bench_answer(&b, bench_take(&b, i), 0, 0, 1);
	e = extent_at(handle_file(h2), 0);
	CU_ASSERT_EQUAL(t.nr, 1);
	CU_ASSERT_EQUAL(e->length, 1000);
	CU_ASSERT_PTR_NULL(extent_next(e));
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
late_copy_of_a_truncation_cuts_no_newer_data(void)
{
	struct bench_done t = { 0, 1 }, d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	handle_truncate(h, 1000, b.now, bench_done, &t);
	bench_turn(&b);
	c = bench_take(&b, 0);
	c->err = 0;
	c->have_size = 0;
	c->transmissions = 2;
	c->done(c, b.now);
	bench_turn(&b);
	CU_ASSERT_EQUAL(t.nr, 1);
	CU_ASSERT(bench_write(&b, h, 500, 1000, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
pipeline_that_ends_lets_go_of_what_waits(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	handle_truncate(h, 10, b.now, bench_done, &d);
	wb_sync(b.wb, NULL, NULL, b.now, bench_done, &d);
	bench_turn(&b);
	while ((c = bench_take(&b, 0))) {	/* as the transport's end does */
		c->err = -ECANCELED;
		c->transmissions = 1;
		c->done(c, b.now);
	}
	bench_free(&b);
	CU_ASSERT_EQUAL(d.nr, 0);
}

/* ---- late copies ---- */

static void
file_that_a_late_copy_may_hit_is_not_forgotten(void)
{
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	c = bench_take(&b, 0);
	c->err = 0;
	c->written = c->count;
	c->committed = WB_FILE_SYNC;
	c->transmissions = 2;
	c->done(c, b.now);
	slab_release(b.slab, b.now);	/* its CLEAN data goes */
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.released, 1);
	bench_swap(&b);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'b'));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	slab_release(b.slab, b.now);
	bench_turn(&b);
	CU_ASSERT_PTR_NULL(b.server->files);
	bench_free(&b);
}

UNIT_TESTS(writeback_trouble,
	UNIT(more_files_than_commits_are_synced),
	UNIT(calls_that_find_no_memory_are_tried_again),
	UNIT(scattered_bytes_that_use_up_the_list_are_written_to_make_room),
	UNIT(inline_data_waits_quietly_for_a_truncation_and_for_slots),
	UNIT(refused_post_does_not_wake_its_own_session),
	UNIT(truncation_cuts_without_a_free_slot),
	UNIT(late_copy_of_a_truncation_cuts_no_newer_data),
	UNIT(pipeline_that_ends_lets_go_of_what_waits),
	UNIT(file_that_a_late_copy_may_hit_is_not_forgotten),
)
