/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shutdown_test.c - stopping, under virtual time, with stand-ins for the
 * sessions and the pipeline
 */
#include <string.h>

#include "daemon/session.h"
#include "daemon/shutdown.h"
#include "daemon/writeback/file.h"
#include "daemon/writeback/pipeline.h"
#include "tests/unit.h"
#include "tests/vloop.h"

#define SECOND 1000000ull

static struct {
	uint64_t left;
	unsigned ending, stopped, drained, poked, named;
	bool drained_first;
} world;

void
sessions_stop(struct sessions *s)
{
	(void)s;
	world.stopped++;
	world.drained_first = world.drained > 0;
}

unsigned
sessions_left(const struct sessions *s)
{
	(void)s;
	return world.ending;
}

void
wb_drain(struct wb *wb, uint64_t now)
{
	(void)wb;
	(void)now;
	world.drained++;
}

void
wb_poke(struct wb *wb)
{
	(void)wb;
	world.poked++;
}

uint64_t
wb_left_bytes(const struct wb *wb)
{
	(void)wb;
	return world.left;
}

void
wb_each_left(struct wb *wb, void (*fn)(void *arg, struct wb_file *,
	     uint64_t offset, uint64_t length, int err), void *arg)
{
	(void)wb;
	fn(arg, NULL, 0, world.left / 2, -28);
	fn(arg, NULL, world.left / 2, world.left - world.left / 2, -28);
}

const char *
file_name(const struct wb_file *f)
{
	(void)f;
	world.named++;
	return "nfs://h/e/f";
}

struct scene {
	struct loop *loop;
	struct shutdown *shutdown;
};

static void
scene_open(struct scene *s, uint64_t left)
{
	struct shutdown_env env = { .timeout_usec = 90 * SECOND };

	memset(&world, 0, sizeof world);
	world.left = left;
	env.loop = s->loop = vloop_new(SECOND);
	s->shutdown = shutdown_new(&env);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->shutdown);
}

static void
scene_close(struct scene *s)
{
	shutdown_free(s->shutdown);
	loop_free(s->loop);
}

static void
nothing_is_accepted_before_writing_back_begins(void)
{
	struct scene s;

	scene_open(&s, 10);
	shutdown_begin(s.shutdown);
	CU_ASSERT_EQUAL(world.stopped, 1);
	CU_ASSERT_EQUAL(world.drained, 1);
	CU_ASSERT(!world.drained_first);
	CU_ASSERT_EQUAL(world.poked, 1);
	scene_close(&s);
}

static void
all_written(void *arg)
{
	struct scene *s = arg;

	world.left = 0;
	shutdown_look(s->shutdown);
}

static void
loop_stops_when_all_is_written(void)
{
	struct scene s;
	struct loop_timer *t;
	uint64_t start;

	scene_open(&s, 10);
	start = loop_now(s.loop);
	t = loop_timer(s.loop, all_written, &s);
	loop_timer_set(s.loop, t, 5 * SECOND);
	shutdown_begin(s.shutdown);
	shutdown_look(s.shutdown);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(loop_now(s.loop), start + 5 * SECOND);
	CU_ASSERT(shutdown_clean(s.shutdown));
	CU_ASSERT_EQUAL(world.named, 0);
	loop_timer_free(s.loop, t);
	scene_close(&s);
}

static void
what_is_left_at_the_deadline_is_named(void)
{
	struct scene s;
	uint64_t start;

	scene_open(&s, 10);
	start = loop_now(s.loop);
	shutdown_begin(s.shutdown);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(loop_now(s.loop), start + 90 * SECOND);
	CU_ASSERT(!shutdown_clean(s.shutdown));
	CU_ASSERT_EQUAL(world.named, 1);
	scene_close(&s);
}

static void
ranges_that_continue_each_other_are_named_once(void)
{
	struct scene s;

	scene_open(&s, 10);
	shutdown_begin(s.shutdown);
	shutdown_begin(s.shutdown);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(world.named, 1);
	scene_close(&s);
}

static void
sessions_of_the_dead_are_taken_over_before_the_end(void)
{
	struct scene s;
	uint64_t start;

	scene_open(&s, 0);
	world.ending = 1;
	start = loop_now(s.loop);
	shutdown_begin(s.shutdown);
	shutdown_look(s.shutdown);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(loop_now(s.loop), start + 90 * SECOND);
	CU_ASSERT(!shutdown_clean(s.shutdown));
	scene_close(&s);
}

static void
second_request_stops_at_once(void)
{
	struct scene s;
	uint64_t start;

	scene_open(&s, 10);
	start = loop_now(s.loop);
	shutdown_begin(s.shutdown);
	shutdown_begin(s.shutdown);
	loop_run(s.loop);
	CU_ASSERT_EQUAL(loop_now(s.loop), start);
	CU_ASSERT(!shutdown_clean(s.shutdown));
	scene_close(&s);
}

static void
look_before_the_request_does_nothing(void)
{
	struct scene s;

	scene_open(&s, 0);
	shutdown_look(s.shutdown);
	CU_ASSERT_EQUAL(world.stopped, 0);
	CU_ASSERT(!shutdown_clean(s.shutdown));
	scene_close(&s);
}

UNIT_TESTS(shutdown,
	UNIT(nothing_is_accepted_before_writing_back_begins),
	UNIT(loop_stops_when_all_is_written),
	UNIT(what_is_left_at_the_deadline_is_named),
	UNIT(ranges_that_continue_each_other_are_named_once),
	UNIT(sessions_of_the_dead_are_taken_over_before_the_end),
	UNIT(second_request_stops_at_once),
	UNIT(look_before_the_request_does_nothing),
)
