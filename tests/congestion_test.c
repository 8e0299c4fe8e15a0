/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * congestion_test.c - passes that wait: marks, order, classes, what is told
 *
 * All orders of events in small worlds are congestion_explore_test's.
 */
#include <fcntl.h>

#include "daemon/writeback/sync.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define KIB 1024u
#define MIB (1u << 20)

static struct bench b;

static void
start(struct bench_options o)
{
	o.unbound = true;
	if (!o.wsize)
		o.wsize = 64 * KIB;
	bench_init(&b, &o);
}

static void
answer_oldest(void)
{
	struct wb_call *c = bench_take(&b, 0);

	CU_ASSERT_FATAL(c != NULL);
	bench_answer(&b, c, 0, c->stable, 1);
}

/* ---- the queue alone ---- */

static struct congestion_stats async_stats, sync_stats;
static struct congestion c;

static void
init(enum congestion_policy policy, uint64_t limit, uint64_t wsize)
{
	async_stats = sync_stats = (struct congestion_stats) { 0 };
	congestion_init(&c, policy, limit, &async_stats, &sync_stats);
	congestion_wsize(&c, wsize);
}

static void
marks_of_the_split_queues(void)
{
	init(CONGESTION_SPLIT, 64 * MIB, MIB);
	CU_ASSERT_EQUAL(c.async.limit, 64 * MIB);
	CU_ASSERT_EQUAL(c.async.wake, 63 * MIB);
	CU_ASSERT_EQUAL(c.sync.limit, 128 * MIB);
	CU_ASSERT_EQUAL(c.sync.wake, 127 * MIB);
	init(CONGESTION_SPLIT, 4 * MIB, MIB);
	CU_ASSERT_EQUAL(c.async.wake, 3 * MIB + MIB / 2);
	CU_ASSERT_EQUAL(c.sync.wake, 7 * MIB + MIB / 2);
}

static void
sync_mark_leaves_room_for_one_write_of_the_largest_size_known(void)
{
	init(CONGESTION_SPLIT, 1, 64 * KIB);
	CU_ASSERT_EQUAL(c.sync.limit, 64 * KIB + 1);
	congestion_wsize(&c, MIB);
	CU_ASSERT_EQUAL(c.sync.limit, MIB + 1);
	congestion_wsize(&c, 4 * KIB);
	CU_ASSERT_EQUAL(c.sync.limit, MIB + 1);
	/* async WRITEs alone, limit + wsize at the most, hold nobody there */
	CU_ASSERT(!congestion_held(&c.sync, MIB + 1));
}

static void
single_is_one_queue_of_256_mib_that_wakes_at_three_quarters(void)
{
	init(CONGESTION_SINGLE, 1ull << 30, MIB);
	CU_ASSERT_EQUAL(c.async.limit, 256 * MIB);
	CU_ASSERT_EQUAL(c.async.wake, 192 * MIB);
	CU_ASSERT(congestion_full(&c.async, 256 * MIB + 1));
	CU_ASSERT(!congestion_full(&c.async, 256 * MIB));
	CU_ASSERT(!congestion_stops(&c.sync, 1ull << 40));
	init(CONGESTION_NONE, 1, MIB);
	CU_ASSERT(!congestion_stops(&c.async, 1ull << 40));
	CU_ASSERT(!congestion_stops(&c.sync, 1ull << 40));
}

static void
with_nothing_in_writeback_nobody_is_held(void)
{
	init(CONGESTION_SPLIT, 1, 64 * KIB);
	CU_ASSERT(congestion_held(&c.async, 1));
	CU_ASSERT(!congestion_held(&c.async, 0));
	CU_ASSERT(!congestion_held(&c.sync, 0));
}

static void
waiting_again_keeps_the_place_and_each_wait_is_counted_once(void)
{
	struct congestion_pass p[3] = { { .waits = false } };

	init(CONGESTION_SPLIT, MIB, 64 * KIB);
	congestion_wait(&c.sync, &p[0], 10);
	congestion_wait(&c.sync, &p[1], 20);
	congestion_wait(&c.sync, &p[0], 30);
	congestion_wait(&c.sync, &p[2], 30);
	CU_ASSERT_PTR_EQUAL(TAILQ_FIRST(&c.sync.waiting), &p[0]);
	CU_ASSERT_EQUAL(sync_stats.waits, 3);
	CU_ASSERT_EQUAL(c.sync.waiting_nr, 3);
	congestion_wake(&c.sync, &p[0], 110);
	congestion_wake(&c.sync, &p[0], 120);	/* it does not wait */
	congestion_leave(&c.sync, &p[1], 120);
	CU_ASSERT_EQUAL(sync_stats.wakeups, 1);
	CU_ASSERT_EQUAL(sync_stats.wait_us.count, 2);
	CU_ASSERT_EQUAL(sync_stats.wait_us.sum, 200);
	CU_ASSERT_EQUAL(c.sync.waiting_nr, 1);
	CU_ASSERT_EQUAL(async_stats.waits, 0);
}

/* ---- passes ---- */

/* wsize 64 KiB and an async limit of 4 of those: what a background pass wrote. */
static struct wb_handle *
congested(unsigned file, uint32_t bytes)
{
	struct wb_handle *h;

	start((struct bench_options) { .congestion_bytes = 256 * KIB,
				       .background_bytes = 1 });
	h = bench_open(&b, file, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, bytes, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 5);		/* the fifth passed the mark */
	return h;
}

static void
a_pass_that_waited_goes_on_with_its_file_before_another_has_its_turn(void)
{
	struct wb_handle *h = congested(1, MIB), *h2;
	unsigned i, changes = 0;
	struct wb_file *last = NULL;

	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h2, 0, MIB, 'b'));
	bench_turn(&b);
	for (i = 0; i < 32; i++) {
		struct write_op *op = (struct write_op *)b.call[0];

		CU_ASSERT_EQUAL_FATAL(op->call.kind, WB_CALL_WRITE);
		changes += op->file != last;
		last = op->file;
		answer_oldest();
		while (b.call_nr && b.call[0]->kind == WB_CALL_COMMIT)
			answer_oldest();
	}
	CU_ASSERT_EQUAL(changes, 2);
	CU_ASSERT_PTR_EQUAL(last, h2->file);
	CU_ASSERT(!b.server->bytes[EXTENT_DIRTY]);
	(void)h;
	bench_free(&b);
}

static void
a_portion_used_up_in_several_passes_ends_the_turn(void)
{
	struct wb_handle *h, *h2;
	unsigned i;

	start((struct bench_options) { .congestion_bytes = 256 * KIB,
				       .background_bytes = 8 * MIB,
				       .slab_bytes = 32 * MIB });
	b.server->bandwidth.bytes_per_sec = 1;	/* the least: 4 MiB */
	h = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 7 * MIB, 'a'));
	CU_ASSERT(bench_write(&b, h2, 0, MIB, 'b'));
	b.wb->limits.dirty_background_bytes = 1;
	bench_turn(&b);
	for (i = 0; i < 64; i++) {
		CU_ASSERT_PTR_EQUAL(((struct write_op *)b.call[0])->file,
				    h->file);
		answer_oldest();
	}
	CU_ASSERT_PTR_EQUAL(((struct write_op *)b.call[0])->file, h2->file);
	bench_free(&b);
}

static void
an_async_pass_goes_on_where_the_last_write_ended(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	start((struct bench_options) { .background_bytes = MIB });
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 100 * KIB, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	/* extents of their own, in the block that was written in part */
	CU_ASSERT(bench_write(&b, h, 100 * KIB, 10 * KIB, 'b'));
	CU_ASSERT(bench_write(&b, h, 110 * KIB, 300 * KIB, 'b'));
	b.wb->limits.dirty_background_bytes = 1;
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call[0]->offset, 100 * KIB);
	CU_ASSERT_EQUAL(b.call[1]->offset, 128 * KIB);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
sync_passes_wait_in_a_row_while_too_much_is_in_writeback(void)
{
	struct bench_done d[3] = { { 0, 1 }, { 0, 1 }, { 0, 1 } };
	struct wb_handle *h[3];
	unsigned i;

	start((struct bench_options) { .congestion_bytes = 64 * KIB });
	for (i = 0; i < 3; i++) {
		h[i] = bench_open(&b, i, 10, O_RDWR);
		CU_ASSERT(bench_write(&b, h[i], 0, 256 * KIB, 's'));
	}
	for (i = 0; i < 3; i++) {
		handle_fsync(h[i], b.now, bench_done, &d[i]);
		bench_turn(&b);
	}
	CU_ASSERT_EQUAL(b.call_nr, 3);
	CU_ASSERT_EQUAL(b.server->congestion.sync.waiting_nr, 3);
	CU_ASSERT_EQUAL(wb_server_stats(b.server, b.now)->sync.waiters, 3);
	CU_ASSERT_EQUAL(wb_server_stats(b.server, b.now)->sync.congested, 1);
	CU_ASSERT_EQUAL(wb_server_stats(b.server, b.now)->async.waiters, 0);
	b.now += 500;
	answer_oldest();
	/* the first has written one more and stands behind the others */
	CU_ASSERT_PTR_EQUAL(((struct write_op *)b.call[2])->file, h[0]->file);
	CU_ASSERT_PTR_EQUAL(TAILQ_FIRST(&b.server->congestion.sync.waiting),
			    &h[1]->file->sync_pass);
	CU_ASSERT_EQUAL(b.server->stats.sync.wakeups, 1);
	CU_ASSERT_EQUAL(b.server->stats.sync.wait_us.max, 500);
	answer_oldest();
	CU_ASSERT_PTR_EQUAL(((struct write_op *)b.call[2])->file, h[1]->file);
	bench_serve(&b, 1);
	for (i = 0; i < 3; i++)
		CU_ASSERT(d[i].nr == 1 && d[i].err == 0);
	CU_ASSERT_EQUAL(wb_server_stats(b.server, b.now)->sync.waiters, 0);
	CU_ASSERT_EQUAL(wb_server_stats(b.server, b.now)->sync.congested, 0);
	CU_ASSERT_EQUAL(b.server->stats.sync.waits,
			b.server->stats.sync.wakeups);
	bench_free(&b);
}

static void
small_limits_let_sync_write_while_async_waits(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	congested(1, MIB);
	h = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 64 * KIB, 's'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 6);
	CU_ASSERT_EQUAL(b.call[5]->class, WB_FOREGROUND);
	CU_ASSERT(b.server->async_pass.waits);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
async_passes_leave_a_quarter_of_the_calls_to_sync_passes(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	start((struct bench_options) { .background_bytes = 1, .write_nr = 8 });
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 * MIB, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 6);
	h = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 128 * KIB, 's'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 8);
	CU_ASSERT_PTR_EQUAL(((struct write_op *)b.call[7])->file, h->file);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
single_and_none_hold_no_sync_pass(void)
{
	enum congestion_policy policy[] = { CONGESTION_SINGLE,
					    CONGESTION_NONE };
	unsigned i, async[] = { 1, 16 };

	for (i = 0; i < 2; i++) {
		struct bench_done d = { 0, 1 };
		struct wb_handle *h;

		start((struct bench_options) {
			.congestion_bytes = 1, .background_bytes = 1,
			.congestion_policy = policy[i] });
		h = bench_open(&b, 1, 10, O_RDWR);
		CU_ASSERT(bench_write(&b, h, 0, MIB, 'a'));
		bench_turn(&b);
		CU_ASSERT_EQUAL(b.call_nr, async[i]);
		handle_fsync(h, b.now, bench_done, &d);
		bench_turn(&b);
		CU_ASSERT_EQUAL(b.call_nr, 16);
		bench_serve(&b, 1);
		CU_ASSERT_EQUAL(d.nr, 1);
		bench_free(&b);
	}
}

/* ---- somebody starts to wait ---- */

static struct bench_done done;

static void
by_fsync(struct wb_handle *h)
{
	handle_fsync(h, b.now, bench_done, &done);
}

static void
by_close(struct wb_handle *h)
{
	handle_close(h, b.now, bench_done, &done);
}

static void
by_sync(struct wb_handle *h)
{
	(void)h;
	CU_ASSERT_EQUAL(wb_sync(b.wb, NULL, NULL, b.now, bench_done, &done),
			0);
}

static void
by_truncation(struct wb_handle *h)
{
	handle_truncate(h, 100, b.now, bench_done, &done);
}

static void
by_anothers_read(struct wb_handle *h)
{
	file_flush_range(h->file, 0, 1, b.now, bench_done, &done);
}

static void
by_pause(struct wb_handle *h)
{
	file_pause(h->file, b.now, bench_done, &done);
}

static void
queued_writes_rise_whoever_starts_to_wait_for_the_file(void)
{
	static void (*const way[])(struct wb_handle *) = {
		by_fsync, by_close, by_sync, by_truncation, by_anothers_read,
		by_pause,
	};
	unsigned i, n;

	for (i = 0; i < sizeof way / sizeof way[0]; i++) {
		struct wb_handle *h = congested(1, 512 * KIB);

		for (n = 0; n < b.call_nr; n++)
			CU_ASSERT_EQUAL(b.call[n]->class, WB_BACKGROUND);
		done = (struct bench_done) { 0, 1 };
		way[i](h);
		CU_ASSERT_EQUAL(b.raised, 5);
		bench_turn(&b);
		for (n = 0; n < b.call_nr; n++)
			CU_ASSERT_EQUAL(b.call[n]->class, WB_FOREGROUND);
		bench_serve(&b, 1);
		CU_ASSERT(done.nr == 1 && done.err == 0);
		bench_free(&b);
	}
}

static void
a_commit_rises_when_the_file_is_to_rest(void)
{
	struct wb_handle *h;

	start((struct bench_options) { .background_bytes = 1 });
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 64 * KIB, 'a'));
	bench_turn(&b);
	answer_oldest();
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(b.call[0]->kind, WB_CALL_COMMIT);
	CU_ASSERT_EQUAL(b.call[0]->class, WB_BACKGROUND);
	done = (struct bench_done) { 0, 1 };
	file_pause(h->file, b.now, bench_done, &done);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call[0]->class, WB_FOREGROUND);
	CU_ASSERT_EQUAL(file_waiting_for(h->file, &done), WAIT_COMMIT);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(done.nr, 1);
	bench_free(&b);
}

static void
it_is_told_whether_the_write_or_the_commit_is_waited_for(void)
{
	struct bench_done d = { 0, 1 }, all = { 0, 1 }, cut = { 0, 1 };
	struct wb_handle *h, *h2;

	start((struct bench_options) { .congestion_bytes = 1 });
	h = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 256 * KIB, 's'));
	CU_ASSERT(bench_write(&b, h2, 0, 128 * KIB, 't'));
	handle_fsync(h, b.now, bench_done, &d);
	CU_ASSERT_EQUAL(wb_sync(b.wb, NULL, NULL, b.now, bench_done, &all),
			0);
	bench_turn(&b);
	answer_oldest();
	/* some of it is UNSTABLE; the pass for the rest waits its turn */
	CU_ASSERT(h->file->sync_pass.waits);
	CU_ASSERT(h->file->bytes[EXTENT_UNSTABLE] > 0);
	CU_ASSERT_EQUAL(file_waiting_for(h->file, &d), WAIT_WRITE);
	CU_ASSERT_EQUAL(file_waiting_for(h->file, &cut), WAIT_NONE);
	CU_ASSERT_EQUAL(sync_waiting_for(b.wb, &all), WAIT_WRITE);
	CU_ASSERT_EQUAL(sync_waiting_for(b.wb, &d), WAIT_NONE);
	while (bench_count(&b, WB_CALL_WRITE)) {
		unsigned i = b.call[0]->kind != WB_CALL_WRITE;
		struct wb_call *w = bench_take(&b, i);

		CU_ASSERT_EQUAL_FATAL(w->kind, WB_CALL_WRITE);
		bench_answer(&b, w, 0, WB_UNSTABLE, 1);
	}
	CU_ASSERT_EQUAL(file_waiting_for(h->file, &d), WAIT_COMMIT);
	CU_ASSERT_EQUAL(sync_waiting_for(b.wb, &all), WAIT_COMMIT);
	bench_serve(&b, 1);
	CU_ASSERT(d.nr == 1 && all.nr == 1);
	CU_ASSERT_EQUAL(sync_waiting_for(b.wb, &all), WAIT_NONE);
	handle_truncate(h, 0, b.now, bench_done, &cut);
	bench_turn(&b);
	CU_ASSERT_EQUAL(file_waiting_for(h->file, &cut), WAIT_REPLY);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(cut.nr, 1);
	bench_free(&b);
}

UNIT_TESTS(congestion,
	UNIT(marks_of_the_split_queues),
	UNIT(sync_mark_leaves_room_for_one_write_of_the_largest_size_known),
	UNIT(single_is_one_queue_of_256_mib_that_wakes_at_three_quarters),
	UNIT(with_nothing_in_writeback_nobody_is_held),
	UNIT(waiting_again_keeps_the_place_and_each_wait_is_counted_once),
	UNIT(a_pass_that_waited_goes_on_with_its_file_before_another_has_its_turn),
	UNIT(a_portion_used_up_in_several_passes_ends_the_turn),
	UNIT(an_async_pass_goes_on_where_the_last_write_ended),
	UNIT(sync_passes_wait_in_a_row_while_too_much_is_in_writeback),
	UNIT(small_limits_let_sync_write_while_async_waits),
	UNIT(async_passes_leave_a_quarter_of_the_calls_to_sync_passes),
	UNIT(single_and_none_hold_no_sync_pass),
	UNIT(queued_writes_rise_whoever_starts_to_wait_for_the_file),
	UNIT(a_commit_rises_when_the_file_is_to_rest),
	UNIT(it_is_told_whether_the_write_or_the_commit_is_waited_for),
)
