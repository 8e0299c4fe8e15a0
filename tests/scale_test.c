/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scale_test.c - a walk through everything, for one write, is seen
 *
 * The pipeline here counts the basic blocks that it runs (bench/scale_world.h), in
 * virtual time: the same number every time, on any machine.  Where there is a
 * thousand times as much of something, a write may take some steps more; a walk
 * through all of it would take a hundred times as many.  bench/scale has the curves.
 */
#include <stdio.h>

#include "bench/scale_world.h"
#include "common/log.h"
#include "tests/unit.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static bool
counts(void)
{
	static int yes = -1;

	if (yes < 0) {
		struct world_params p = { 1, 1, 1, MIB, 64 * MIB, 32 * MIB };
		struct world w;

		log_set_level(LOG_LEVEL_ERROR);
		CU_ASSERT_EQUAL_FATAL(world_init(&w, &p), 0);
		world_turn(&w);
		world_free(&w);
		yes = world_steps() > 0;
		if (!yes)
			puts("# the compiler counts no steps: nothing is shown");
	}
	return yes;
}

static double
steps_each(const struct world *w)
{
	return (double)world_cost(w).steps / (double)w->writes;
}

/* Steps for each of some writes by turns to the first `active` of so many files,
   each in a session, as far as there are so many. */
static double
of_many(unsigned sessions, unsigned files, unsigned active, uint64_t limit,
	uint32_t length)
{
	struct world_params p = { 1, sessions, files, 16 * MIB, limit,
				  limit / 4 };
	uint64_t warm = limit / length + files, nr = warm + 4000, i;
	struct world w;
	double steps;

	CU_ASSERT_EQUAL_FATAL(world_init(&w, &p), 0);
	for (i = 0; i < nr; i++) {
		if (i == warm)
			world_forget_costs(&w);
		CU_ASSERT_FATAL(world_write(&w, (unsigned)(i % active),
					    i / active * length, length));
		if (i % 16 == 15)
			world_turn(&w);
	}
	steps = steps_each(&w);
	world_free(&w);
	return steps;
}

static void
grew(const char *what, double one, double many, double at_most)
{
	printf("# %s: %.0f steps a write, %.0f with many\n", what, one, many);
	CU_ASSERT(many <= at_most * one);
}

static void
thousand_sessions_take_no_more_steps_a_write_than_one(void)
{
	if (counts())
		grew("sessions",
		     of_many(1, 1, 1, 256 * MIB, 64 * KIB),
		     of_many(1000, 1000, 1000, 256 * MIB, 64 * KIB), 2);
}

static void
thousands_of_files_take_no_more_steps_a_write_than_one(void)
{
	if (counts())
		grew("files",
		     of_many(1, 1, 1, 256 * MIB, 64 * KIB),
		     of_many(8, 8000, 8000, 256 * MIB, 64 * KIB), 2);
}

static void
who_is_idle_takes_no_steps(void)
{
	if (!counts())
		return;
	grew("idle sessions", of_many(1, 1, 1, 64 * MIB, 64 * KIB),
	     of_many(1000, 1000, 1, 64 * MIB, 64 * KIB), 2);
	grew("idle files", of_many(1, 1, 1, 64 * MIB, 64 * KIB),
	     of_many(1, 8000, 1, 64 * MIB, 64 * KIB), 2);
}

/* Each write is of a file of its own and grows old alone. */
static double
of_age(unsigned files)
{
	struct world_params p = { 1, 8, files, 16 * MIB, 512 * MIB,
				  256 * MIB };
	struct world w;
	double steps;
	unsigned i;

	CU_ASSERT_EQUAL_FATAL(world_init(&w, &p), 0);
	w.wb->limits.dirty_expire_usec = files * 1000;
	for (i = 0; i < 3 * files; i++) {
		if (i == 2 * files)
			world_forget_costs(&w);
		CU_ASSERT_FATAL(world_write(&w, i % files, i / files * 4096ull,
					    4096));
		world_turn(&w);
	}
	steps = steps_each(&w);
	world_free(&w);
	return steps;
}

static void
files_that_grow_old_one_by_one_are_found_without_a_walk(void)
{
	if (counts())
		grew("ages", of_age(16), of_age(4000), 3);
}

/* So many 4 KiB extents, far from each other, are written back, committed and
   given up. */
static double
of_extents(unsigned nr, unsigned times)
{
	struct world_params p = { 1, 8, 1, 256 * MIB, 4096 * MIB,
				  4096 * MIB - 1 };
	struct world w;
	double steps;
	uint64_t i;

	CU_ASSERT_EQUAL_FATAL(world_init(&w, &p), 0);
	while (times--) {
		for (i = 0; i < nr; i++)
			CU_ASSERT_FATAL(world_write(&w, (unsigned)i % 8,
				i * 0x9e3779b1u % nr * 8192, 4096));
		CU_ASSERT_FATAL(world_settle(&w));
	}
	world_release(&w);
	steps = steps_each(&w);
	world_free(&w);
	return steps;
}

static void
extents_take_hardly_more_steps_where_there_are_many(void)
{
	if (counts())
		grew("extents", of_extents(100, 100), of_extents(100000, 1),
		     2);
}

UNIT_TESTS(scale,
	UNIT(thousand_sessions_take_no_more_steps_a_write_than_one),
	UNIT(thousands_of_files_take_no_more_steps_a_write_than_one),
	UNIT(who_is_idle_takes_no_steps),
	UNIT(files_that_grow_old_one_by_one_are_found_without_a_walk),
	UNIT(extents_take_hardly_more_steps_where_there_are_many),
)
