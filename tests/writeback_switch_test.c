/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_switch_test.c - what each switch of the pipeline changes
 */
#include <fcntl.h>

#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define MIB (1u << 20)

/* Over the background limit: 2 MiB of WRITEs are out, then an fsync begins.
   Returns the COMMIT, the last call, its WRITEs answered. */
static struct wb_call *
sync_beside_background(struct bench *b, struct bench_done *d)
{
	struct wb_handle *h = bench_open(b, 1, 10, O_RDWR);
	struct wb_call *c;

	CU_ASSERT_FATAL(bench_write(b, h, 0, 2 * MIB, 'a'));
	bench_turn(b);
	CU_ASSERT_EQUAL_FATAL(bench_count(b, WB_CALL_WRITE), 2);
	handle_fsync(h, b->now, bench_done, d);
	bench_turn(b);
	while ((c = bench_take(b, 0))->kind == WB_CALL_WRITE)
		bench_answer(b, c, 0, WB_UNSTABLE, 1);
	return c;
}

static void
what_is_waited_for_rises_and_a_commit_goes_ahead(void)
{
	static const struct bench_options o = { .background_bytes = MIB / 4 };
	struct bench_done d = { 0, 0 };
	struct bench b;
	struct wb_call *c;

	bench_init(&b, &o);
	c = sync_beside_background(&b, &d);
	CU_ASSERT_EQUAL(b.raised, 2);
	CU_ASSERT_EQUAL(c->kind, WB_CALL_COMMIT);
	CU_ASSERT_EQUAL(c->class, WB_FOREGROUND);
	CU_ASSERT(c->ahead);
	bench_answer(&b, c, 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
without_priorities_all_is_one_class_in_its_order(void)
{
	static const struct bench_options o = {
		.background_bytes = MIB / 4, .commit_priority = COMMIT_FIFO,
	};
	struct bench_done d = { 0, 0 };
	struct bench b;
	struct wb_call *c;

	bench_init(&b, &o);
	c = sync_beside_background(&b, &d);
	CU_ASSERT_EQUAL(b.raised, 0);
	CU_ASSERT_EQUAL(c->kind, WB_CALL_COMMIT);
	CU_ASSERT_EQUAL(c->class, WB_NORMAL);
	CU_ASSERT_FALSE(c->ahead);
	bench_answer(&b, c, 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

/* 8 MiB dirty over a background limit of 1 MiB, this many of 8 WRITEs answered;
   is a COMMIT out? */
static bool
commits_after(enum commit_rule rule, unsigned answered)
{
	struct bench_options o = {
		.background_bytes = MIB, .commit_rule = rule,
	};
	struct bench b;
	struct wb_handle *h;
	unsigned nr;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, 8 * MIB, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(bench_count(&b, WB_CALL_WRITE), 8);
	while (answered--)
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	nr = bench_count(&b, WB_CALL_COMMIT);
	bench_free(&b);
	return nr;
}

static void
kernels_rule_commits_when_more_than_half_is_unstable(void)
{
	CU_ASSERT_FALSE(commits_after(COMMIT_BY_KERNEL, 4));
	CU_ASSERT(commits_after(COMMIT_BY_KERNEL, 5));
}

static void
own_rule_commits_by_bandwidth_or_when_all_is_written(void)
{
	CU_ASSERT_FALSE(commits_after(COMMIT_BY_BANDWIDTH, 7));
	CU_ASSERT(commits_after(COMMIT_BY_BANDWIDTH, 8));
}

/* The server has more than a second's work; more becomes dirty.  How many
   WRITEs does that make? */
static unsigned
writes_beyond_a_second(bool unbound)
{
	struct bench_options o = {
		.background_bytes = MIB, .unbound = unbound,
		.slab_bytes = 32 * MIB,
	};
	struct bench b;
	struct wb_handle *h;
	unsigned before, more;

	bench_init(&b, &o);
	b.server->bandwidth.bytes_per_sec = 2 * MIB;
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, 4 * MIB, 'a'));
	bench_turn(&b);
	before = b.call_nr;
	CU_ASSERT(before >= 3);
	CU_ASSERT_FATAL(bench_write(&b, h, 4 * MIB, 4 * MIB, 'a'));
	bench_turn(&b);
	more = b.call_nr - before;
	bench_serve(&b, 1);		/* none is forgotten */
	CU_ASSERT(wb_left_bytes(b.wb) <= MIB);
	bench_free(&b);
	return more;
}

static void
no_background_pass_begins_beyond_a_second_of_work(void)
{
	CU_ASSERT(writes_beyond_a_second(true) >= 3);
	CU_ASSERT_EQUAL(writes_beyond_a_second(false), 0);
}

/* A file of nearly 1.5 MiB over the background limit, among so many under this
   limit.  Its WRITEs. */
static unsigned
writes_of_one_and_a_half(uint64_t dirty_bytes, unsigned files, bool unbound)
{
	struct bench_options o = {
		.dirty_bytes = dirty_bytes, .background_bytes = MIB / 4,
		.unbound = unbound,
	};
	struct wb_handle *h[9];
	struct bench b;
	unsigned i, nr = 0;

	bench_init(&b, &o);
	for (i = 0; i < files; i++)
		h[i] = bench_open(&b, i + 1, 10, O_RDWR);
	for (i = 1; i < files; i++)
		CU_ASSERT_FATAL(bench_write(&b, h[i], 0, 4096, 'a'));
	CU_ASSERT_FATAL(bench_write(&b, h[0], 0, 3 * MIB / 2 - 65536, 'a'));
	bench_turn(&b);
	for (i = 0; i < b.call_nr; i++)
		nr += b.call[i]->fh == file_fh(h[0]->file);
	bench_free(&b);
	return nr;
}

static void
unfinished_tail_waits_where_shares_are_large(void)
{
	CU_ASSERT_EQUAL(writes_of_one_and_a_half(2 * MIB, 8, false), 1);
	CU_ASSERT(writes_of_one_and_a_half(2 * MIB, 9, false) > 1);
	CU_ASSERT(writes_of_one_and_a_half(2 * MIB, 1, true) > 1);
}

/* A WRITE is out and not answered, a writer waits at the limit, and all the rest
   is tails. */
static void
tails_do_not_wait_for_ever_for_a_write_that_is_stuck(void)
{
	struct bench_options o = {
		.dirty_bytes = 2 * MIB, .background_bytes = MIB / 4,
		.dirty_throttling = THROTTLE_NONE,
	};
	struct wb_handle *h[3];
	struct bench b;
	unsigned i;

	bench_init(&b, &o);
	for (i = 0; i < 3; i++)
		h[i] = bench_open(&b, i + 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h[0], 0, MIB, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(bench_count(&b, WB_CALL_WRITE), 1);
	CU_ASSERT_FATAL(bench_write(&b, h[1], 0, MIB / 2, 'a'));
	CU_ASSERT(bench_write_some(&b, h[2], 0, MIB, 'a') < MIB);
	bench_advance(&b, 500000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 1);
	CU_ASSERT(wb_deadline(b.wb) <= b.now + 500000);
	bench_advance(&b, 500000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 3);
	bench_free(&b);
}

/* Room that a writer has ahead when half of the limit is used up, and asks for
   nothing. */
static uint64_t
granted_ahead(enum dirty_throttling t)
{
	struct bench_options o = {
		.dirty_bytes = 4 * MIB, .background_bytes = MIB,
		.dirty_throttling = t,
	};
	struct bench b;
	uint64_t granted;

	bench_init(&b, &o);
	CU_ASSERT_FATAL(bench_write(&b, bench_open(&b, 1, 10, O_RDWR), 0,
				    3 * MIB, 'a'));
	slab_serve(b.slab, b.now);
	granted = b.wb->granted_bytes;
	bench_free(&b);
	return granted;
}

static void
without_throttling_writers_run_free_up_to_the_limit(void)
{
	CU_ASSERT(granted_ahead(THROTTLE_NONE) > granted_ahead(THROTTLE_IOLESS));
}

/* ---- the window of COMMITs ---- */

/* All WRITEs that are out are answered; COMMITs stay. */
static void
answer_writes(struct bench *b)
{
	unsigned i;

	for (i = 0; i < b->call_nr; )
		if (b->call[i]->kind == WB_CALL_WRITE)
			bench_answer(b, bench_take(b, i), 0, WB_UNSTABLE, 1);
		else
			i++;
}

/* Files of so many MiB each are written; their COMMITs are due. */
static void
due(struct bench *b, bool unbound, const unsigned *mib, unsigned nr,
    struct wb_handle **h)
{
	struct bench_options o = {
		.slab_bytes = 32 * MIB, .dirty_bytes = 16 * MIB,
		.background_bytes = MIB / 4, .unbound = unbound,
	};
	unsigned i;

	bench_init(b, &o);
	for (i = 0; i < nr; i++) {
		h[i] = bench_open(b, i + 1, 10, O_RDWR);
		CU_ASSERT_FATAL(bench_write(b, h[i], 0, mib[i] * MIB, 'a'));
	}
	bench_turn(b);
	answer_writes(b);
}

/* The file that the only COMMIT out is for; it is answered. */
static unsigned
one_commit(struct bench *b, struct wb_handle *const *h)
{
	struct wb_call *c;
	unsigned i = 0;

	CU_ASSERT_EQUAL_FATAL(b->call_nr, 1);
	c = bench_take(b, 0);
	CU_ASSERT_EQUAL_FATAL(c->kind, WB_CALL_COMMIT);
	while (c->fh != file_fh(h[i]->file))
		i++;
	bench_answer(b, c, 0, WB_UNSTABLE, 1);
	return i + 1;
}

static void
commits_go_one_by_one_the_largest_first_every_fourth_the_oldest(void)
{
	static const unsigned mib[] = { 1, 1, 2, 3, 2, 1, 1 };
	static const unsigned order[] = { 1, 2, 4, 5, 3, 6, 7 };
	struct wb_handle *h[7];
	struct bench b;
	unsigned i;

	due(&b, false, mib, 7, h);
	for (i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(one_commit(&b, h), order[i]);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_free(&b);
}

static void
without_the_window_every_commit_that_is_due_goes(void)
{
	static const unsigned mib[] = { 1, 1, 2, 3, 2 };
	struct wb_handle *h[5];
	struct bench b;

	due(&b, true, mib, 5, h);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 5);
	bench_free(&b);
}

static void
commit_that_is_waited_for_needs_no_window(void)
{
	static const unsigned mib[] = { 1, 1, 1 };
	struct bench_done d = { 0, 0 };
	struct wb_handle *h[3];
	struct bench b;

	due(&b, false, mib, 3, h);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	handle_fsync(h[2], b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 2);
	bench_answer(&b, bench_take(&b, 1), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
commit_that_is_stuck_holds_up_no_other_for_long(void)
{
	static const unsigned mib[] = { 1, 1, 1 };
	struct wb_handle *h[3];
	struct bench b;

	due(&b, false, mib, 3, h);
	bench_advance(&b, 9999999);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	CU_ASSERT_EQUAL(wb_deadline(b.wb), b.now + 1);
	bench_advance(&b, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 2);
	bench_answer(&b, bench_take(&b, 1), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 2);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	CU_ASSERT_EQUAL(b.server->window_of_commits.out, 1);
	bench_free(&b);
}

/* COMMITs out after six of twelve, each of which took so long. */
static unsigned
out_after_six(uint64_t usec)
{
	static const unsigned mib[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct wb_handle *h[12];
	struct bench b;
	unsigned i, nr;

	due(&b, false, mib, 12, h);
	for (i = 0; i < 6; i++) {
		bench_advance(&b, usec);
		one_commit(&b, h);
	}
	nr = bench_count(&b, WB_CALL_COMMIT);
	bench_free(&b);
	return nr;
}

static void
server_that_takes_others_along_gets_more_commits_at_once(void)
{
	CU_ASSERT_EQUAL(out_after_six(1000), 6);
	CU_ASSERT_EQUAL(out_after_six(100000), 1);
}

/* One file is written without end, so that its next COMMIT is due when one
   ends; another has waited for its own since the first. */
static void
file_that_waits_for_its_commit_is_not_passed_over_by_one_that_comes(void)
{
	static const unsigned mib[] = { 4, 1 };
	struct wb_handle *h[2];
	struct bench b;
	unsigned i;

	due(&b, false, mib, 2, h);
	b.server->bandwidth.bytes_per_sec = 40 * MIB;
	for (i = 0; i < 8; i++) {
		CU_ASSERT_FATAL(bench_write(&b, h[0], (i + 1) * 4ull * MIB,
					    4 * MIB, 'a'));
		bench_turn(&b);
		answer_writes(&b);
		if (one_commit(&b, h) == 2)
			break;
	}
	CU_ASSERT(i < 8);
	bench_free(&b);
}

/* ---- grants ---- */

/* The first of two writers at the limit has got a part of what it waits for and
   asks for the rest.  Is it before the other? */
static bool
stays_first(bool unbound)
{
	struct bench_options o = {
		.dirty_bytes = MIB, .background_bytes = MIB / 4,
		.wsize = 65536, .unbound = unbound,
		.dirty_throttling = THROTTLE_NONE,
	};
	struct wb_handle *h;
	struct slab *first;
	struct bench b;
	bool stays;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, MIB, 'a'));
	CU_ASSERT_EQUAL(bench_write_some(&b, h, MIB, MIB, 'a'), 0);
	first = b.slab;
	bench_swap(&b);
	CU_ASSERT_EQUAL(bench_write_some(&b, h, 2 * MIB, MIB, 'b'), 0);
	bench_swap(&b);
	bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 1);
	CU_ASSERT_EQUAL(bench_write_some(&b, h, MIB, MIB, 'a'), 65536);
	stays = TAILQ_FIRST(&b.wb->waiting) == first;
	bench_free(&b);
	return stays;
}

static void
writer_at_the_limit_gets_all_it_asked_for_before_the_next(void)
{
	CU_ASSERT(stays_first(false));
	CU_ASSERT_FALSE(stays_first(true));
}

/* One session fills the limit, another asks for little.  Does it get it? */
static bool
light_one_gets_room(bool unbound)
{
	struct bench_options o = {
		.slab_bytes = 64 * MIB, .dirty_bytes = 32 * MIB,
		.background_bytes = 16 * MIB, .unbound = unbound,
		.dirty_throttling = THROTTLE_NONE,
	};
	struct wb_handle *h;
	struct bench b;
	uint32_t got;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	(void)bench_write_some(&b, h, 0, 64 * MIB, 'a');
	bench_swap(&b);
	got = bench_write_some(&b, bench_open(&b, 2, 10, O_RDWR), 0, 4096, 'b');
	CU_ASSERT(throttle_dirtied(b.wb) <= 32 * MIB);
	bench_free(&b);
	return got == 4096;
}

static void
part_of_the_limit_is_kept_for_those_who_ask_for_little(void)
{
	CU_ASSERT(light_one_gets_room(false));
	CU_ASSERT_FALSE(light_one_gets_room(true));
}

static void
who_asks_for_little_waits_before_who_asks_for_much(void)
{
	struct bench_options o = {
		.dirty_bytes = 4 * MIB, .background_bytes = MIB,
		.dirty_throttling = THROTTLE_NONE,
	};
	struct wb_handle *h[3];
	struct slab *heavy;
	struct bench b;
	unsigned i;

	bench_init(&b, &o);
	for (i = 0; i < 3; i++)
		h[i] = bench_open(&b, i + 1, 10, O_RDWR);
	CU_ASSERT(bench_write_some(&b, h[0], 0, 8 * MIB, 'a') < 8 * MIB);
	heavy = b.slab;
	bench_swap(&b);
	CU_ASSERT_EQUAL(bench_write_some(&b, h[1], 0, 4096, 'b'), 0);
	CU_ASSERT_PTR_EQUAL(TAILQ_FIRST(&b.wb->waiting), b.slab);
	CU_ASSERT_PTR_EQUAL(TAILQ_LAST(&b.wb->waiting, slab_wait_list), heavy);
	bench_free(&b);
}

/* WRITEs that 8 MiB of async data make beyond 4 MiB that are out already, after
   a small sync or without one. */
static unsigned
writes_after(bool small_sync)
{
	struct bench_options o = {
		.background_bytes = MIB, .slab_bytes = 32 * MIB,
	};
	struct bench_done d = { 0, 0 };
	struct wb_handle *h[2];
	struct bench b;
	unsigned nr;

	bench_init(&b, &o);
	b.server->bandwidth.bytes_per_sec = 16 * MIB;
	h[0] = bench_open(&b, 1, 10, O_RDWR);
	h[1] = bench_open(&b, 2, 10, O_RDWR);
	if (small_sync) {
		CU_ASSERT_FATAL(bench_write(&b, h[0], 0, 4096, 's'));
		handle_fsync(h[0], b.now, bench_done, &d);
		bench_turn(&b);
		CU_ASSERT_EQUAL(b.call[0]->stable, WB_FILE_SYNC);
		bench_serve(&b, 1);
		CU_ASSERT_EQUAL(d.nr, 1);
	}
	CU_ASSERT_FATAL(bench_write(&b, h[1], 0, 12 * MIB, 'a'));
	bench_turn(&b);
	nr = bench_count(&b, WB_CALL_WRITE);
	bench_free(&b);
	return nr;
}

static void
small_syncs_have_background_writeback_keep_less_under_way(void)
{
	CU_ASSERT_EQUAL(writes_after(false), 12);
	CU_ASSERT(writes_after(true) < 6);
}

/* A writer that asks for more than it will ever get takes what comes free at the
   limit, and asks again at once. */
static void
writer_that_asks_for_very_much_is_not_served_for_ever(void)
{
	static const struct bench_options o = {
		.dirty_bytes = MIB, .background_bytes = MIB / 4,
		.wsize = 65536, .slab_bytes = 64 * MIB,
	};
	struct wb_handle *h;
	struct slab *other;
	uint64_t at = MIB;
	struct bench b;
	unsigned i;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, MIB, 'a'));
	CU_ASSERT_EQUAL(bench_write_some(&b, h, at, 64 * MIB, 'a'), 0);
	bench_swap(&b);
	CU_ASSERT_EQUAL(bench_write_some(&b, h, 512 * MIB, MIB, 'b'), 0);
	other = b.slab;
	bench_swap(&b);
	for (i = 0; i < 40 && other->waiting; i++) {
		bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 1);
		at += bench_write_some(&b, h, at, 64 * MIB, 'a');
	}
	CU_ASSERT_FALSE(other->waiting);
	CU_ASSERT(at <= 3 * MIB);
	bench_free(&b);
}

UNIT_TESTS(writeback_switch,
	UNIT(what_is_waited_for_rises_and_a_commit_goes_ahead),
	UNIT(without_priorities_all_is_one_class_in_its_order),
	UNIT(kernels_rule_commits_when_more_than_half_is_unstable),
	UNIT(own_rule_commits_by_bandwidth_or_when_all_is_written),
	UNIT(no_background_pass_begins_beyond_a_second_of_work),
	UNIT(unfinished_tail_waits_where_shares_are_large),
	UNIT(tails_do_not_wait_for_ever_for_a_write_that_is_stuck),
	UNIT(without_throttling_writers_run_free_up_to_the_limit),
	UNIT(commits_go_one_by_one_the_largest_first_every_fourth_the_oldest),
	UNIT(without_the_window_every_commit_that_is_due_goes),
	UNIT(commit_that_is_waited_for_needs_no_window),
	UNIT(commit_that_is_stuck_holds_up_no_other_for_long),
	UNIT(server_that_takes_others_along_gets_more_commits_at_once),
	UNIT(file_that_waits_for_its_commit_is_not_passed_over_by_one_that_comes),
	UNIT(writer_at_the_limit_gets_all_it_asked_for_before_the_next),
	UNIT(writer_that_asks_for_very_much_is_not_served_for_ever),
	UNIT(part_of_the_limit_is_kept_for_those_who_ask_for_little),
	UNIT(who_asks_for_little_waits_before_who_asks_for_much),
	UNIT(small_syncs_have_background_writeback_keep_less_under_way),
)
