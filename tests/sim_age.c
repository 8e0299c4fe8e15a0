/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_age.c - how old dirty data gets, in virtual time on bench/cell.h
 *
 * No byte stays DIRTY for longer than dirty_expire_centisecs and the time in which
 * the server takes what was dirtied at most: whichever file it is in, however many
 * others there are, and whatever the cause the flusher writes for.  SIM_VERBOSE:
 * the figures are shown.
 */
#include <stdlib.h>

#include "bench/cell.h"
#include "tests/unit.h"

#define MIB (1ull << 20)
#define SECOND 1000000ull
#define EXPIRE (5 * SECOND)

static struct cell_params
params_of(const char *model, uint64_t limit)
{
	struct cell_params p = {
		.server = {
			.name = "sim", .slot_nr = 16,
			.congestion_bytes = limit / 8 > MIB / 2 ? limit / 8
								: MIB / 2,
			.bounds = BOUND_ALL,
		},
		.limit_bytes = limit, .background_bytes = limit / 2,
		.throttling = THROTTLE_IOLESS,
		.wsize = MIB,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1,
		.expire_usec = EXPIRE,
		.usec = 120 * SECOND,
	};

	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&p.model, model));
	return p;
}

/* What was dirtied at most, at the rate that the disk had over the whole run. */
static uint64_t
drain_usec(const struct cell_result *r)
{
	return (uint64_t)((double)r->most_dirtied * (double)r->run_usec /
			  (double)r->stable_bytes);
}

static void
no_byte_is_older(const struct cell_params *p)
{
	struct cell_result r;

	CU_ASSERT_EQUAL_FATAL(cell_run(p, &r), 0);
	if (getenv("SIM_VERBOSE"))
		printf("# oldest %.1f s; most dirtied %.1f MB, drains in "
		       "%.1f s\n", (double)r.most_age_usec / 1e6,
		       (double)r.most_dirtied / 1e6,
		       (double)drain_usec(&r) / 1e6);
	CU_ASSERT(r.most_age_usec > 0);
	CU_ASSERT(r.most_age_usec <= EXPIRE + drain_usec(&r));
}

/* Those that write a little now and then, beside floods. */
static void
modest(struct cell_params *p, unsigned floods, unsigned nr, uint64_t rate)
{
	p->group[0].nr = floods;
	p->group[1] = (struct cell_group) {
		.nr = nr, .bytes_per_sec = rate, .write_bytes = 4096,
	};
	p->slab_bytes = p->limit_bytes;
}

static void
files_beside_floods_wait_for_their_turn_and_no_longer(void)
{
	static const char *const models[] = { "disk", "ext3", "ssd" };
	struct cell_params p;
	unsigned i;

	for (i = 0; i < 3; i++) {
		p = params_of(models[i], 1000 * MIB);
		modest(&p, 1, 20, 10000);
		no_byte_is_older(&p);
		p = params_of(models[i], 200 * MIB);
		modest(&p, 10, 100, 4096);
		no_byte_is_older(&p);
	}
}

/* Nothing but their age has them written. */
static void
files_that_nothing_else_would_write_go_when_they_are_old(void)
{
	struct cell_params p = params_of("disk", 1000 * MIB);

	p.background_bytes = p.limit_bytes - MIB;
	p.throttling = THROTTLE_NONE;
	modest(&p, 0, 200, 40960);
	no_byte_is_older(&p);
}

static void
small_limits_and_slow_servers_keep_no_byte_longer(void)
{
	struct cell_params p = params_of("disk,disk=2MB", 20 * MIB);

	modest(&p, 2, 10, 4096);
	no_byte_is_older(&p);
	p = params_of("disk,disk=20MB", MIB);
	modest(&p, 2, 5, 4096);
	no_byte_is_older(&p);
}

UNIT_TESTS(age,
	UNIT(files_beside_floods_wait_for_their_turn_and_no_longer),
	UNIT(files_that_nothing_else_would_write_go_when_they_are_old),
	UNIT(small_limits_and_slow_servers_keep_no_byte_longer),
)
