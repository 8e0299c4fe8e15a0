/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop_test.c - what common/loop.h promises, on both loops that stand behind
 * it: every test runs once on libevent and once under virtual time
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "tests/inject/inject.h"
#include "tests/unit.h"
#include "tests/vloop.h"

static struct loop *
virtual(void)
{
	return vloop_new(1000000);
}

static struct loop *(*make)(void);

/* -- what the callbacks work on -- */

struct scene {
	struct loop *loop;
	int pair[2];
	struct loop_watch *watch, *other;
	struct loop_timer *timer, *late;
	struct loop_deferred *deferred, *second;
	unsigned calls;
	unsigned events;
	uint64_t at;
};

static void
scene_open(struct scene *s)
{
	*s = (struct scene){ .loop = make() };
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->loop);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, s->pair), 0);
}

static void
scene_close(struct scene *s)
{
	loop_watch_free(s->loop, s->watch);
	loop_watch_free(s->loop, s->other);
	loop_timer_free(s->loop, s->timer);
	loop_timer_free(s->loop, s->late);
	loop_deferred_free(s->loop, s->deferred);
	loop_deferred_free(s->loop, s->second);
	loop_free(s->loop);
	close(s->pair[0]);
	close(s->pair[1]);
}

static void
stop(void *arg)
{
	struct scene *s = arg;

	s->at = loop_now(s->loop);
	loop_stop(s->loop);
}

static void
count(void *arg)
{
	struct scene *s = arg;

	s->calls++;
}

static void
stop_fd(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	stop(arg);
}

/* -- tests -- */

static void
read_twice(void *arg, int fd, unsigned events)
{
	struct scene *s = arg;
	char c;

	s->events |= events;
	CU_ASSERT_EQUAL(read(fd, &c, 1), 1);
	if (++s->calls == 2)
		loop_stop(s->loop);
}

static void
watch_is_called_while_the_fd_is_ready(void)
{
	struct scene s;

	scene_open(&s);
	CU_ASSERT_EQUAL(write(s.pair[1], "ab", 2), 2);
	s.watch = loop_watch(s.loop, s.pair[0], LOOP_READ, read_twice, &s);
	CU_ASSERT_EQUAL(s.calls, 0);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 2);
	CU_ASSERT_EQUAL(s.events, LOOP_READ);
	scene_close(&s);
}

static void
writable_then_nothing(void *arg, int fd, unsigned events)
{
	struct scene *s = arg;

	(void)fd;
	s->events |= events;
	s->calls++;
	loop_watch_set(s->loop, s->watch, 0);
	loop_timer_set(s->loop, s->timer, 1000);
}

static void
watch_set_to_nothing_is_not_called_again(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, stop, &s);
	s.watch = loop_watch(s.loop, s.pair[0], 0, writable_then_nothing, &s);
	loop_watch_set(s.loop, s.watch, LOOP_WRITE);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	CU_ASSERT_EQUAL(s.events, LOOP_WRITE);
	scene_close(&s);
}

static void
free_both_watches(void *arg, int fd, unsigned events)
{
	struct scene *s = arg;

	(void)fd;
	(void)events;
	s->calls++;
	loop_watch_free(s->loop, s->watch);
	loop_watch_free(s->loop, s->other);
	s->watch = s->other = NULL;
	loop_timer_set(s->loop, s->timer, 1000);
}

/* Both are ready in one round; whichever comes first frees the two. */
static void
watch_may_be_freed_from_any_callback(void)
{
	struct scene s;

	scene_open(&s);
	CU_ASSERT_EQUAL(write(s.pair[0], "a", 1), 1);
	CU_ASSERT_EQUAL(write(s.pair[1], "a", 1), 1);
	s.timer = loop_timer(s.loop, stop, &s);
	s.watch = loop_watch(s.loop, s.pair[0], LOOP_READ | LOOP_WRITE,
			     free_both_watches, &s);
	s.other = loop_watch(s.loop, s.pair[1], LOOP_READ | LOOP_WRITE,
			     free_both_watches, &s);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
hang_up_is_readable(void)
{
	struct scene s;

	scene_open(&s);
	s.watch = loop_watch(s.loop, s.pair[0], LOOP_READ, stop_fd, &s);
	shutdown(s.pair[1], SHUT_RDWR);
	loop_run(s.loop);
	CU_ASSERT_NOT_EQUAL(s.at, 0);
	scene_close(&s);
}

static void
timer_never_fires_early(void)
{
	struct scene s;
	uint64_t start;

	scene_open(&s);
	s.timer = loop_timer(s.loop, stop, &s);
	start = loop_now(s.loop);
	loop_timer_set(s.loop, s.timer, 3000);
	loop_run(s.loop);
	/* two clocks cut to microseconds may differ by one */
	CU_ASSERT(s.at + 1 >= start + 3000);
	scene_close(&s);
}

static void
work_then_set(void *arg)
{
	struct scene *s = arg;
	uint64_t until = loop_now(s->loop) + 2000;

	while (make != virtual && loop_now(s->loop) < until)
		;
	s->at = loop_now(s->loop);
	loop_timer_set(s->loop, s->late, 1000);
}

static void
note_and_stop(void *arg)
{
	struct scene *s = arg;

	CU_ASSERT(loop_now(s->loop) + 1 >= s->at + 1000);
	s->calls++;
	loop_stop(s->loop);
}

/* A loop that keeps the time of its last wait would fire it at once. */
static void
delay_counts_from_the_call_that_sets_it(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, work_then_set, &s);
	s.late = loop_timer(s.loop, note_and_stop, &s);
	loop_timer_set(s.loop, s.timer, 0);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
timer_fires_once_and_the_last_setting_counts(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, count, &s);
	s.late = loop_timer(s.loop, stop, &s);
	loop_timer_set(s.loop, s.timer, 3600000000ull);
	loop_timer_set(s.loop, s.timer, 500);
	loop_timer_set(s.loop, s.late, 5000);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
cleared_timer_does_not_fire(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, count, &s);
	s.late = loop_timer(s.loop, stop, &s);
	loop_timer_set(s.loop, s.timer, 500);
	loop_timer_set(s.loop, s.late, 2000);
	loop_timer_clear(s.loop, s.timer);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 0);
	scene_close(&s);
}

static void
free_timers(void *arg)
{
	struct scene *s = arg;

	s->calls++;
	loop_timer_free(s->loop, s->timer);
	loop_timer_free(s->loop, s->late);
	s->timer = s->late = NULL;
	loop_stop(s->loop);
}

static void
timer_may_be_freed_from_its_own_callback(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, free_timers, &s);
	s.late = loop_timer(s.loop, free_timers, &s);
	loop_timer_set(s.loop, s.timer, 0);
	loop_timer_set(s.loop, s.late, 0);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
call_deferred_twice_runs_once(void)
{
	struct scene s;

	scene_open(&s);
	s.deferred = loop_deferred(s.loop, count, &s);
	s.timer = loop_timer(s.loop, stop, &s);
	loop_defer(s.loop, s.deferred);
	loop_defer(s.loop, s.deferred);
	CU_ASSERT_EQUAL(s.calls, 0);
	loop_timer_set(s.loop, s.timer, 1000);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
again(void *arg)
{
	struct scene *s = arg;

	if (!s->calls)
		CU_ASSERT_EQUAL(write(s->pair[1], "a", 1), 1);
	if (++s->calls < 100000)
		loop_defer(s->loop, s->deferred);
	else
		loop_stop(s->loop);
}

static void
deferred_call_that_asks_again_lets_fds_have_their_turn(void)
{
	struct scene s;

	scene_open(&s);
	s.deferred = loop_deferred(s.loop, again, &s);
	s.watch = loop_watch(s.loop, s.pair[0], LOOP_READ, stop_fd, &s);
	loop_defer(s.loop, s.deferred);
	loop_run(s.loop);
	CU_ASSERT(s.calls < 100);
	scene_close(&s);
}

static void
free_deferred(void *arg)
{
	struct scene *s = arg;

	s->calls++;
	loop_deferred_free(s->loop, s->deferred);
	loop_deferred_free(s->loop, s->second);
	s->deferred = s->second = NULL;
	loop_timer_set(s->loop, s->timer, 1000);
}

static void
deferred_call_may_be_freed_from_its_own_callback(void)
{
	struct scene s;

	scene_open(&s);
	s.timer = loop_timer(s.loop, stop, &s);
	s.deferred = loop_deferred(s.loop, free_deferred, &s);
	s.second = loop_deferred(s.loop, free_deferred, &s);
	loop_defer(s.loop, s.deferred);
	loop_defer(s.loop, s.second);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(s.calls, 1);
	scene_close(&s);
}

static void
raise_term(void *arg)
{
	(void)arg;
	raise(SIGTERM);
}

static void
signal_comes_through_the_loop(void)
{
	struct scene s;
	struct loop_signal *sig;

	if (make == virtual)		/* only the real loop has them */
		return;
	scene_open(&s);
	sig = evloop_signal(s.loop, SIGTERM, stop, &s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sig);
	s.timer = loop_timer(s.loop, raise_term, &s);
	loop_timer_set(s.loop, s.timer, 0);
	loop_run(s.loop);
	CU_ASSERT_NOT_EQUAL(s.at, 0);
	evloop_signal_free(sig);
	scene_close(&s);
}

/* Of the real loop alone: the virtual one needs nothing of the system. */
static void
what_could_not_be_waited_for_is_tried_again(void)
{
	struct scene s;
	struct loop_watch *w;
	int p[2];

	make = evloop_new;
	scene_open(&s);
	CU_ASSERT_EQUAL_FATAL(pipe(p), 0);
	w = loop_watch(s.loop, p[0], 0, stop_fd, &s);
	CU_ASSERT_EQUAL(write(p[1], "x", 1), 1);
	inject_begin(&(struct injection){ INJECT_CALL, 1, 2, 0 });
	loop_watch_set(s.loop, w, LOOP_READ);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(inject_end()->failed_nr, 2);
	CU_ASSERT_STRING_EQUAL(inject_end()->name, "epoll_ctl");
	loop_watch_free(s.loop, w);
	close(p[0]);
	close(p[1]);
	scene_close(&s);
}

#define BOTH(fn) \
	static void real_##fn(void) { make = evloop_new; fn(); } \
	static void virtual_##fn(void) { make = virtual; fn(); }
#define BOTH_UNITS(fn) UNIT(real_##fn), UNIT(virtual_##fn)

BOTH(watch_is_called_while_the_fd_is_ready)
BOTH(watch_set_to_nothing_is_not_called_again)
BOTH(watch_may_be_freed_from_any_callback)
BOTH(hang_up_is_readable)
BOTH(timer_never_fires_early)
BOTH(delay_counts_from_the_call_that_sets_it)
BOTH(timer_fires_once_and_the_last_setting_counts)
BOTH(cleared_timer_does_not_fire)
BOTH(timer_may_be_freed_from_its_own_callback)
BOTH(call_deferred_twice_runs_once)
BOTH(deferred_call_that_asks_again_lets_fds_have_their_turn)
BOTH(deferred_call_may_be_freed_from_its_own_callback)
BOTH(signal_comes_through_the_loop)

UNIT_TESTS(loop,
	BOTH_UNITS(watch_is_called_while_the_fd_is_ready),
	BOTH_UNITS(watch_set_to_nothing_is_not_called_again),
	BOTH_UNITS(watch_may_be_freed_from_any_callback),
	BOTH_UNITS(hang_up_is_readable),
	BOTH_UNITS(timer_never_fires_early),
	BOTH_UNITS(delay_counts_from_the_call_that_sets_it),
	BOTH_UNITS(timer_fires_once_and_the_last_setting_counts),
	BOTH_UNITS(cleared_timer_does_not_fire),
	BOTH_UNITS(timer_may_be_freed_from_its_own_callback),
	BOTH_UNITS(call_deferred_twice_runs_once),
	BOTH_UNITS(deferred_call_that_asks_again_lets_fds_have_their_turn),
	BOTH_UNITS(deferred_call_may_be_freed_from_its_own_callback),
	BOTH_UNITS(signal_comes_through_the_loop),
	UNIT(what_could_not_be_waited_for_is_tried_again),
)
