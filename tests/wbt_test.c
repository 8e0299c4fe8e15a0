/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wbt_test.c - windows, steps and what is learned of an idle server */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/writeback/wbt.h"
#include "tests/unit.h"

#define MIB (1u << 20)
#define GETATTR 1
#define READ 6
#define SLOTS 16
#define STAT_KIND wbt_kind(GETATTR, 0)
#define READ_KIND wbt_kind(READ, MIB)

struct rig {
	struct wbt w;
	uint64_t now;
	uint64_t load;			/* bytes out */
};

static void
begin(struct rig *r, uint64_t lat_usec)
{
	*r = (struct rig){ .now = 1000000 };
	wbt_init(&r->w, lat_usec, SLOTS);
	wbt_turn(&r->w, 0, r->now);
}

static void
pass(struct rig *r, uint64_t usec)
{
	r->now += usec;
	wbt_turn(&r->w, r->load, r->now);
}

/* One call, and the rest of so long a time. */
static void
call(struct rig *r, unsigned kind, uint64_t rtt, uint64_t in_usec)
{
	wbt_sent(&r->w, kind, r->now);
	pass(r, rtt);
	wbt_ended(&r->w, kind, true, rtt, r->now);
	pass(r, in_usec - rtt);
}

/* A window each. */
static void
stats(struct rig *r, uint64_t rtt, unsigned nr)
{
	while (nr--)
		call(r, STAT_KIND, rtt, WBT_WINDOW_USEC);
}

static void
slow_calls_halve_the_background_down_to_one_write(void)
{
	static const unsigned depths[] = { 16, 8, 4, 2, 1, 1, 1 };
	struct rig r;
	unsigned i;

	begin(&r, 10000);
	r.load = 64 * MIB;
	for (i = 0; i < 7; i++) {
		CU_ASSERT_EQUAL(wbt_depth(&r.w), depths[i]);
		CU_ASSERT_EQUAL(wbt_share(&r.w, 64 * MIB), 64 * MIB >> i);
		stats(&r, 11000, 1);
	}
	stats(&r, 11000, 50);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 1);
	CU_ASSERT_EQUAL(wbt_commits(&r.w, r.now), 1);
	CU_ASSERT_EQUAL(wbt_share(&r.w, 8 * MIB), MIB);
	CU_ASSERT_EQUAL(r.w.steps_down, 6);
	CU_ASSERT_EQUAL(r.w.steps_up, 0);
}

static void
what_is_four_times_too_slow_makes_two_steps(void)
{
	struct rig r;

	begin(&r, 10000);
	r.load = MIB;
	stats(&r, 41000, 1);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 4);
}

static void
fast_calls_and_zero_change_nothing(void)
{
	struct rig r;

	begin(&r, 10000);
	r.load = 64 * MIB;
	stats(&r, 9000, 20);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), SLOTS);
	begin(&r, 0);
	r.load = 64 * MIB;
	stats(&r, 90000, 20);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), SLOTS);
	CU_ASSERT_EQUAL(wbt_turn(&r.w, r.load, r.now), UINT64_MAX);
	CU_ASSERT_EQUAL(wbt_commits(&r.w, r.now), UINT32_MAX);
}

/* A server deaf with COMMITs answers nothing that could be measured. */
static void
a_call_that_is_out_too_long_needs_no_answer_to_count(void)
{
	struct rig r;

	begin(&r, 10000);
	r.load = 64 * MIB;
	wbt_sent(&r.w, STAT_KIND, r.now);
	pass(&r, WBT_WINDOW_USEC);
	CU_ASSERT(wbt_depth(&r.w) < SLOTS);
	pass(&r, WBT_WINDOW_USEC);
	pass(&r, WBT_WINDOW_USEC);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 1);
}

/* Sent just before the window's end, it is not late yet. */
static void
a_call_that_has_just_left_does_not_count(void)
{
	struct rig r;

	begin(&r, 10000);
	r.load = 64 * MIB;
	stats(&r, 1000, 1);
	pass(&r, WBT_WINDOW_USEC - 5000);
	wbt_sent(&r.w, STAT_KIND, r.now);
	pass(&r, 5000);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), SLOTS);
	CU_ASSERT_EQUAL(r.w.steps_down, 0);
}

static void
a_server_that_is_slow_by_itself_is_not_blamed_on_writeback(void)
{
	struct rig r;

	begin(&r, 10000);
	stats(&r, 3000, 3);
	stats(&r, 90000, 20);
	CU_ASSERT_EQUAL(r.w.steps_down, 0);
	r.load = MIB;
	stats(&r, 90000, 1);
	CU_ASSERT(r.w.steps_down > 0);
}

static void
the_limit_is_twice_what_was_seen_while_nothing_was_written(void)
{
	struct rig r;

	begin(&r, 2000);
	stats(&r, 8000, 5);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 16000);
	r.load = 64 * MIB;
	stats(&r, 15000, 20);
	CU_ASSERT_EQUAL(r.w.steps_down, 0);
	stats(&r, 17000, 1);
	CU_ASSERT_EQUAL(r.w.steps_down, 1);
}

/* A bufferbloated client never sees its server idle, and must not take that for
   the server's way. */
static void
a_flood_teaches_nothing_about_an_idle_server(void)
{
	struct rig r;
	unsigned i;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 50000, 10);
	for (i = 0; i < 50; i++) {
		stats(&r, 50000, 1);
		CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 2000);
	}
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 1);
	/* the window after it may still be full of it */
	r.load = 0;
	stats(&r, 30000, 1);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 2000);
	stats(&r, 9000, 2);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 18000);
}

/* ... but where the background is at its least, in fact and for a while. */
static void
the_least_background_tells_what_nothing_else_can(void)
{
	struct rig r;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 9000, 10);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 1);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 2000);
	r.load = MIB;
	stats(&r, 9000, 5);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND), 18000);
}

static void
what_was_seen_long_ago_is_forgotten(void)
{
	struct rig r;
	unsigned i;

	begin(&r, 2000);
	stats(&r, 3000, 5);
	for (i = 0; i < 2; i++) {
		stats(&r, 30000, 610);
		CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, STAT_KIND),
				i ? 60000 : 6000);
	}
}

static void
the_target_follows_the_way_unless_it_is_said(void)
{
	struct rig r;

	begin(&r, WBT_AUTO);
	CU_ASSERT_EQUAL(wbt_target_usec(&r.w), 2000);
	stats(&r, 20000, 5);
	CU_ASSERT_EQUAL(wbt_target_usec(&r.w), 40000);
	stats(&r, 300, 5);
	CU_ASSERT_EQUAL(wbt_target_usec(&r.w), 2000);
	begin(&r, 7000);
	stats(&r, 20000, 5);
	CU_ASSERT_EQUAL(wbt_target_usec(&r.w), 7000);
}

/* Eight READs out, one answered every so often, for so many windows. */
static void
stream(struct rig *r, uint64_t each_usec, unsigned windows)
{
	uint64_t end = r->now + windows * WBT_WINDOW_USEC;

	while (r->w.kind[READ_KIND].out < 8)
		wbt_sent(&r->w, READ_KIND, r->now);
	while (r->now < end) {
		pass(r, each_usec);
		wbt_ended(&r->w, READ_KIND, true, 8 * each_usec, r->now);
		wbt_sent(&r->w, READ_KIND, r->now);
	}
}

/* Its round trip is eight times what one alone has. */
static void
a_reader_is_not_held_against_its_own_read_ahead(void)
{
	struct rig r;
	unsigned i;

	begin(&r, 2000);
	for (i = 0; i < 3; i++)
		call(&r, READ_KIND, 13000, WBT_WINDOW_USEC);
	CU_ASSERT_EQUAL(wbt_limit_usec(&r.w, READ_KIND), 13000 * 4 / 3);
	r.load = 64 * MIB;
	stream(&r, 13000, 20);
	CU_ASSERT_EQUAL(r.w.steps_down, 0);
	stream(&r, 26000, 5);
	CU_ASSERT(r.w.steps_down > 0);
}

static void
all_is_free_again_ten_windows_after_the_last_call(void)
{
	struct rig r;
	unsigned i;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 90000, 30);
	CU_ASSERT_EQUAL(r.w.level, r.w.level_max);
	for (i = 0; i < 10; i++)
		pass(&r, WBT_WINDOW_USEC);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), SLOTS);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now), 0);
	CU_ASSERT_EQUAL(r.w.steps_up, r.w.steps_down);
	/* and nobody is woken any more */
	pass(&r, WBT_WINDOW_USEC);
	CU_ASSERT_EQUAL(wbt_turn(&r.w, r.load, r.now), UINT64_MAX);
}

static void
calls_that_are_lost_leave_nothing_behind(void)
{
	struct rig r;
	unsigned i;

	begin(&r, 2000);
	r.load = 64 * MIB;
	wbt_sent(&r.w, STAT_KIND, r.now);
	wbt_sent(&r.w, READ_KIND, r.now);
	pass(&r, 3 * WBT_WINDOW_USEC);
	wbt_ended(&r.w, STAT_KIND, false, 0, r.now);
	wbt_ended(&r.w, READ_KIND, false, 0, r.now);
	for (i = 0; i < 11; i++)
		pass(&r, WBT_WINDOW_USEC);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), SLOTS);
	CU_ASSERT_EQUAL(wbt_turn(&r.w, r.load, r.now), UINT64_MAX);
}

/* Windows from one step up that fails to the next. */
static unsigned
until_next_try(struct rig *r)
{
	uint64_t ups = r->w.steps_up;
	unsigned nr = 0;

	for (; r->w.steps_up == ups && nr < 1000; nr++)
		stats(r, 1000, 1);
	stats(r, 3000, 1);
	return nr;
}

static void
tries_that_fail_come_more_and_more_rarely(void)
{
	struct rig r;
	unsigned nr[8], i;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 3000, 4);
	for (i = 0; i < 8; i++)
		nr[i] = until_next_try(&r);
	CU_ASSERT_EQUAL(nr[0], 2);
	CU_ASSERT_EQUAL(nr[1], 4);
	CU_ASSERT_EQUAL(nr[2], 8);
	CU_ASSERT_EQUAL(nr[7], 256);
}

static void
commits_pause_at_the_end_of_the_scale(void)
{
	struct rig r;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 3000, 4);
	wbt_committed(&r.w, 20000, r.now);
	CU_ASSERT_EQUAL(wbt_depth(&r.w), 1);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now), 0);
	stats(&r, 3000, 1);
	wbt_committed(&r.w, 20000, r.now);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now), 20000);
	stats(&r, 3000, 1);
	wbt_committed(&r.w, 20000, r.now);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now), 60000);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now + 50000), 10000);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now + 60000), 0);
}

/* One call each 100 ms, of 10 ms: a COMMIT of 20 ms fits behind it, and not
   before the next. */
static void
commits_go_into_the_gaps_of_calls_that_come_at_intervals(void)
{
	struct rig r;

	begin(&r, 2000);
	r.load = 64 * MIB;
	stats(&r, 10000, 20);
	wbt_committed(&r.w, 20000, r.now);
	/* it stands at 90 ms behind the last answer */
	CU_ASSERT(wbt_commit_wait_usec(&r.w, r.now) > 100000);
	wbt_sent(&r.w, STAT_KIND, r.now);
	pass(&r, 10000);
	CU_ASSERT(wbt_commit_wait_usec(&r.w, r.now) > 100000);
	wbt_ended(&r.w, STAT_KIND, true, 10000, r.now);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now), 0);
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now + 60000), 0);
	CU_ASSERT(wbt_commit_wait_usec(&r.w, r.now + 70000) > 0);
	/* nobody comes any more: it does not wait for ever */
	CU_ASSERT_EQUAL(wbt_commit_wait_usec(&r.w, r.now + 400000), 0);
}

static void
whatever_comes_one_write_and_a_commit_may_go(void)
{
	unsigned kinds[] = { STAT_KIND, READ_KIND }, i, k;
	unsigned seed = 1;
	struct rig r;

	printf("# seed %u\n", seed);
	srandom(seed);
	begin(&r, WBT_AUTO);
	for (i = 0; i < 200000; i++) {
		k = kinds[random() % 2];
		switch (random() % 6) {
		case 0:
			/* at times nobody asks anything */
			if (r.w.kind[k].out < 50 && i % 2000 < 1000)
				wbt_sent(&r.w, k, r.now);
			break;
		case 1:
			wbt_ended(&r.w, k, random() % 8,
				  (uint64_t)random() % 200000, r.now);
			break;
		case 2:
			r.load = (uint64_t)random() % (100 * MIB);
			break;
		case 3:
			wbt_committed(&r.w, (uint64_t)random() % 10000000,
				      r.now);
			break;
		default:
			pass(&r, (uint64_t)random() % 60000);
		}
		CU_ASSERT_FATAL(wbt_depth(&r.w) >= 1 &&
				wbt_depth(&r.w) <= SLOTS);
		CU_ASSERT_FATAL(wbt_commits(&r.w, r.now) >= 1);
		CU_ASSERT_FATAL(wbt_share(&r.w, 0) == (r.w.level ? MIB : 0));
		CU_ASSERT_FATAL(r.w.level <= r.w.level_max);
		CU_ASSERT_FATAL(r.w.steps_down - r.w.steps_up == r.w.level);
	}
	CU_ASSERT(r.w.steps_up > 10);
}

UNIT_TESTS(wbt,
	UNIT(slow_calls_halve_the_background_down_to_one_write),
	UNIT(what_is_four_times_too_slow_makes_two_steps),
	UNIT(fast_calls_and_zero_change_nothing),
	UNIT(a_call_that_is_out_too_long_needs_no_answer_to_count),
	UNIT(a_call_that_has_just_left_does_not_count),
	UNIT(a_server_that_is_slow_by_itself_is_not_blamed_on_writeback),
	UNIT(the_limit_is_twice_what_was_seen_while_nothing_was_written),
	UNIT(a_flood_teaches_nothing_about_an_idle_server),
	UNIT(the_least_background_tells_what_nothing_else_can),
	UNIT(what_was_seen_long_ago_is_forgotten),
	UNIT(the_target_follows_the_way_unless_it_is_said),
	UNIT(a_reader_is_not_held_against_its_own_read_ahead),
	UNIT(all_is_free_again_ten_windows_after_the_last_call),
	UNIT(calls_that_are_lost_leave_nothing_behind),
	UNIT(tries_that_fail_come_more_and_more_rarely),
	UNIT(commits_pause_at_the_end_of_the_scale),
	UNIT(commits_go_into_the_gaps_of_calls_that_come_at_intervals),
	UNIT(whatever_comes_one_write_and_a_commit_may_go),
)
