/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vloop_test.c - the virtual-time loop keeps loop.h's promises */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/vloop.h"

#define HOUR 3600000000ull

static struct loop *l;
static char trace[64];	/* a letter for everything that happened */

static void
start(void)
{
	l = vloop_new(1000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(l);
	trace[0] = 0;
}

static void
note(void *arg)
{
	strcat(trace, arg);
}

static void
clock_jumps_from_timer_to_timer(void)
{
	struct loop_timer *a, *b;

	start();
	a = loop_timer(l, note, "a");
	b = loop_timer(l, note, "b");
	loop_timer_set(l, a, 2 * HOUR);
	loop_timer_set(l, b, HOUR);
	vloop_pass(l, HOUR);
	CU_ASSERT_STRING_EQUAL(trace, "b");
	CU_ASSERT_EQUAL(loop_now(l), 1000 + HOUR);
	vloop_pass(l, 3 * HOUR);
	CU_ASSERT_STRING_EQUAL(trace, "ba");
	CU_ASSERT_EQUAL(loop_now(l), 1000 + 4 * HOUR);
	loop_timer_free(l, a);
	loop_timer_free(l, b);
	loop_free(l);
}

static void
timers_due_together_run_in_the_order_they_were_set(void)
{
	static const char *name[] = { "a", "b", "c", "d" };
	struct loop_timer *t[4];
	int i;

	start();
	for (i = 0; i < 4; i++)
		t[i] = loop_timer(l, note, (void *)name[i]);
	loop_timer_set(l, t[2], 5);
	loop_timer_set(l, t[0], 5);
	loop_timer_set(l, t[3], 5);
	loop_timer_set(l, t[1], 4);
	loop_timer_set(l, t[2], 5);	/* forgets the first setting */
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "badc");
	for (i = 0; i < 4; i++)
		loop_timer_free(l, t[i]);
	loop_free(l);
}

static struct loop_timer *again;

static void
set_again(void *arg)
{
	strcat(trace, "t");
	if (strlen(trace) < 20)
		loop_timer_set(l, again, *(uint64_t *)arg);
}

static void
timer_may_set_itself_again(void)
{
	uint64_t delay = 0;

	start();
	again = loop_timer(l, set_again, &delay);
	loop_timer_set(l, again, 0);
	vloop_pass(l, 10);
	CU_ASSERT_EQUAL(strlen(trace), 20);
	loop_timer_free(l, again);
	loop_free(l);
}

static void
cleared_timer_does_not_run(void)
{
	struct loop_timer *t;

	start();
	t = loop_timer(l, note, "t");
	loop_timer_set(l, t, 5);
	loop_timer_clear(l, t);
	loop_timer_clear(l, t);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "");
	loop_timer_free(l, t);
	loop_free(l);
}

static bool
is_traced(void *arg)
{
	return strstr(trace, arg) != NULL;
}

static void
run_until_tells_done_from_out_of_time(void)
{
	struct loop_timer *t;

	start();
	t = loop_timer(l, note, "t");
	loop_timer_set(l, t, 100);
	CU_ASSERT(!vloop_run_until(l, is_traced, "t", 99));
	CU_ASSERT_EQUAL(loop_now(l), 1099);
	CU_ASSERT(vloop_run_until(l, is_traced, "t", HOUR));
	CU_ASSERT_EQUAL(loop_now(l), 1100);
	/* nothing can happen any more */
	CU_ASSERT(!vloop_run_until(l, is_traced, "x", UINT64_MAX));
	loop_timer_free(l, t);
	loop_free(l);
}

static struct loop_deferred *deferred;

static void
defer_twice(void *arg)
{
	(void)arg;
	strcat(trace, "(");
	loop_defer(l, deferred);
	loop_defer(l, deferred);
	strcat(trace, ")");
}

static void
deferred_runs_once_from_the_top(void)
{
	struct loop_timer *t;

	start();
	deferred = loop_deferred(l, note, "d");
	t = loop_timer(l, defer_twice, NULL);
	loop_timer_set(l, t, 1);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "()d");
	CU_ASSERT_EQUAL(loop_now(l), 1010);
	loop_timer_free(l, t);
	loop_deferred_free(l, deferred);
	loop_free(l);
}

static struct loop_deferred *d2;

static void
free_both(void *arg)
{
	strcat(trace, arg);
	loop_deferred_free(l, deferred);
	loop_deferred_free(l, d2);
}

static void
deferred_may_free_itself_and_its_neighbour(void)
{
	start();
	deferred = loop_deferred(l, free_both, "1");
	d2 = loop_deferred(l, free_both, "2");
	loop_defer(l, deferred);
	loop_defer(l, d2);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "1");
	loop_free(l);
}

static struct loop_timer *t2;

static void
free_both_timers(void *arg)
{
	strcat(trace, arg);
	loop_timer_free(l, again);
	loop_timer_free(l, t2);
}

static void
timer_may_free_itself_and_its_neighbour(void)
{
	start();
	again = loop_timer(l, free_both_timers, "1");
	t2 = loop_timer(l, free_both_timers, "2");
	loop_timer_set(l, again, 3);
	loop_timer_set(l, t2, 3);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "1");
	loop_free(l);
}

static int pair_a[2], pair_b[2];
static struct loop_watch *w[2];

static void
open_pairs(void)
{
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_a), 0);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair_b), 0);
}

static void
close_pairs(void)
{
	close(pair_a[0]);
	close(pair_a[1]);
	close(pair_b[0]);
	close(pair_b[1]);
}

static void
read_one(void *arg, int fd, unsigned events)
{
	char c;

	CU_ASSERT_EQUAL(events, LOOP_READ);
	CU_ASSERT_EQUAL(read(fd, &c, 1), 1);
	strcat(trace, arg);
}

static void
watches_are_level_triggered_and_run_before_the_clock_moves(void)
{
	struct loop_timer *t;

	start();
	open_pairs();
	w[0] = loop_watch(l, pair_a[0], LOOP_READ, read_one, "a");
	w[1] = loop_watch(l, pair_b[0], LOOP_READ, read_one, "b");
	t = loop_timer(l, note, "t");
	loop_timer_set(l, t, 1);
	CU_ASSERT_EQUAL(write(pair_a[1], "xx", 2), 2);
	CU_ASSERT_EQUAL(write(pair_b[1], "xx", 2), 2);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "ababt");
	loop_watch_free(l, w[0]);
	loop_watch_free(l, w[1]);
	loop_timer_free(l, t);
	close_pairs();
	loop_free(l);
}

static void
free_both_watches(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	strcat(trace, arg);
	loop_watch_free(l, w[0]);
	loop_watch_free(l, w[1]);
}

static void
watch_may_free_itself_and_its_neighbour(void)
{
	start();
	open_pairs();
	w[0] = loop_watch(l, pair_a[0], LOOP_WRITE, free_both_watches, "1");
	w[1] = loop_watch(l, pair_b[0], LOOP_WRITE, free_both_watches, "2");
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "1");
	close_pairs();
	loop_free(l);
}

static void
no_more_writes(void *arg, int fd, unsigned events)
{
	(void)fd;
	CU_ASSERT_EQUAL(events, LOOP_WRITE);
	strcat(trace, arg);
	loop_watch_set(l, w[0], 0);
	loop_watch_set(l, w[1], 0);
}

static void
watch_set_counts_within_the_round(void)
{
	start();
	open_pairs();
	w[0] = loop_watch(l, pair_a[0], LOOP_WRITE, no_more_writes, "1");
	w[1] = loop_watch(l, pair_b[0], LOOP_WRITE, no_more_writes, "2");
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "1");
	loop_watch_set(l, w[1], LOOP_WRITE);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "12");
	loop_watch_free(l, w[0]);
	loop_watch_free(l, w[1]);
	close_pairs();
	loop_free(l);
}

static void
hang_up(void *arg, int fd, unsigned events)
{
	char c;

	(void)events;
	strcat(trace, arg);
	CU_ASSERT_EQUAL(read(fd, &c, 1), 0);
	loop_watch_free(l, w[0]);
}

static void
hang_up_wakes_the_reader(void)
{
	start();
	open_pairs();
	w[0] = loop_watch(l, pair_a[0], LOOP_READ, hang_up, "h");
	shutdown(pair_a[1], SHUT_RDWR);
	vloop_pass(l, 10);
	CU_ASSERT_STRING_EQUAL(trace, "h");
	close_pairs();
	loop_free(l);
}

static void
stop_from_timer(void *arg)
{
	strcat(trace, arg);
	loop_stop(l);
}

static void
stop_ends_run(void)
{
	struct loop_timer *a, *b;

	start();
	a = loop_timer(l, stop_from_timer, "s");
	b = loop_timer(l, note, "n");
	loop_timer_set(l, a, 5);
	loop_timer_set(l, b, 6);
	loop_run(l);
	CU_ASSERT_STRING_EQUAL(trace, "s");
	loop_run(l);
	CU_ASSERT_STRING_EQUAL(trace, "sn");
	loop_timer_free(l, a);
	loop_timer_free(l, b);
	loop_free(l);
}

UNIT_TESTS(vloop,
	UNIT(clock_jumps_from_timer_to_timer),
	UNIT(timers_due_together_run_in_the_order_they_were_set),
	UNIT(timer_may_set_itself_again),
	UNIT(cleared_timer_does_not_run),
	UNIT(run_until_tells_done_from_out_of_time),
	UNIT(deferred_runs_once_from_the_top),
	UNIT(deferred_may_free_itself_and_its_neighbour),
	UNIT(timer_may_free_itself_and_its_neighbour),
	UNIT(watches_are_level_triggered_and_run_before_the_clock_moves),
	UNIT(watch_may_free_itself_and_its_neighbour),
	UNIT(watch_set_counts_within_the_round),
	UNIT(hang_up_wakes_the_reader),
	UNIT(stop_ends_run),
)
