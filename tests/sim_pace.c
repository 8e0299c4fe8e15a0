/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_pace.c - writers that are paced, in virtual time on bench/cell.h
 *
 * Reported elsewhere: one server that stalls slows the whole machine
 * (openzfs/zfs#15734; lkml.iu.edu/hypermail/linux/kernel/1012.0/01579.html); big
 * limits give pauses and bursts (pocketnix.org, "Bursty NFS Transfers"); equal
 * clients get unequal throughput ("Linux NFSv4.1 Performance Under a Microscope",
 * LISA'14).  SIM_VERBOSE: the figures are shown.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/cell.h"
#include "daemon/writeback/pace.h"
#include "tests/unit.h"

#define KIB 1024ull
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define SECOND 1000000ull

static struct cell_params
params_of(const char *model, uint64_t limit)
{
	struct cell_params p = {
		.server = {
			.name = "sim", .slot_nr = 16,
			.congestion_bytes = limit / 8 > 512 * KIB ?
					    limit / 8 : 512 * KIB,
			.bounds = BOUND_ALL,
		},
		.limit_bytes = limit, .background_bytes = limit / 2,
		.throttling = THROTTLE_IOLESS,
		.wsize = MIB,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1,
		.measure_usec = 15 * SECOND, .usec = 75 * SECOND,
	};

	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&p.model, model));
	p.second = p.model;
	return p;
}

static void
show(const struct cell_result *r)
{
	const struct wb_stats *w = &r->wb;
	unsigned i;

	if (!getenv("SIM_VERBOSE"))
		return;
	printf("# drains %.1f MB/s; pauses %llu, p99 %.1f ms, max %.1f ms; "
	       "limit waits %llu, max %.1f ms; most dirtied %.1f MB\n",
	       (double)r->server.drain_bw / 1e6,
	       (unsigned long long)w->throttle.pauses,
	       (double)hist_percentile(&w->throttle.pause_us, 990) / 1e3,
	       (double)w->throttle.pause_us.max / 1e3,
	       (unsigned long long)w->throttle.limit_waits,
	       (double)w->throttle.limit_wait_us.max / 1e3,
	       (double)r->most_dirtied / 1e6);
	for (i = 0; i < CELL_GROUPS; i++)
		printf("# group %u: %.2f MB (%.2f to %.2f each), jain %.4f, "
		       "longest write %.1f ms\n", i,
		       (double)r->group[i].bytes / 1e6,
		       (double)r->group[i].least_bytes / 1e6,
		       (double)r->group[i].most_bytes / 1e6, r->group[i].jain,
		       (double)r->group[i].write_us.max / 1e3);
	printf("# seconds of %.1f to %.1f MB on the disk, %.1f to %.1f taken\n",
	       (double)r->least_second / 1e6, (double)r->most_second / 1e6,
	       (double)r->least_taken / 1e6, (double)r->most_taken / 1e6);
}

static struct cell_result
run(const struct cell_params *p)
{
	struct cell_result r;

	CU_ASSERT_EQUAL_FATAL(cell_run(p, &r), 0);
	show(&r);
	CU_ASSERT(r.most_dirtied <= p->limit_bytes);
	return r;
}

/* ---- the curve ---- */

static void
curve_is_two_at_the_middle_one_half_way_and_nought_at_the_limit(void)
{
	uint64_t x, before = 2 * PACE_ONE, r;

	CU_ASSERT_EQUAL(pace_curve(0, 750, 1000), 2 * PACE_ONE);
	CU_ASSERT_EQUAL(pace_curve(75000, 75000, 100000), 2 * PACE_ONE);
	CU_ASSERT_EQUAL(pace_curve(87500, 75000, 100000), PACE_ONE);
	CU_ASSERT_EQUAL(pace_curve(100000, 75000, 100000), 0);
	CU_ASSERT_EQUAL(pace_curve(UINT64_MAX, 75000, 100000), 0);
	CU_ASSERT_EQUAL(pace_curve(1, 1, 1), 0);
	for (x = 75000; x <= 100000; x += 100) {
		r = pace_curve(x, 75000, 100000);
		CU_ASSERT(r <= before);
		before = r;
	}
	/* flat about the setpoint, steep at the ends */
	CU_ASSERT(pace_curve(81250, 75000, 100000) < PACE_ONE * 9 / 8 + 2);
	CU_ASSERT(pace_curve(93750, 75000, 100000) > PACE_ONE * 7 / 8 - 2);
}

/* ---- how long, and how even ---- */

/* All the server has, no pause that is long, nobody at the limit. */
static void
steady(const char *model, unsigned writers, uint64_t seed)
{
	struct cell_params p = params_of(model, 1000 * MIB);
	struct cell_result r;

	p.group[0].nr = writers;
	p.seed = seed;
	r = run(&p);
	CU_ASSERT(r.wb.throttle.pauses > 0);
	CU_ASSERT(hist_percentile(&r.wb.throttle.pause_us, 990) <= 50000);
	CU_ASSERT(r.wb.throttle.pause_us.max <= 200000);
	CU_ASSERT_EQUAL(r.wb.throttle.limit_waits, 0);
	CU_ASSERT(r.group[0].jain >= 0.95);
}

static const char *const servers[] = {
	"disk", "ext3", "ssd", "ssd,link=10G,disk=200MB",
};

static void
on_all_servers(void (*fn)(const char *, unsigned, uint64_t), unsigned writers)
{
	unsigned i, seed;

	for (i = 0; i < sizeof servers / sizeof *servers; i++)
		for (seed = 1; seed <= (writers < 100 ? 2 : 1); seed++)
			fn(servers[i], writers, seed + i);
}

static void
ten_equal_writers_are_paced_evenly_for_a_minute(void)
{
	on_all_servers(steady, 10);
}

static void
hundred_equal_writers_are_paced_evenly_for_a_minute(void)
{
	on_all_servers(steady, 100);
}

static void
one_writer_goes_at_the_rate_of_the_disk(void)
{
	struct cell_params p = params_of("disk", 1000 * MIB);
	struct cell_result r;

	on_all_servers(steady, 1);
	p.group[0].nr = 1;
	r = run(&p);
	CU_ASSERT(r.group[0].bytes >= 60 * 76 * 1000000ull);
}

static bool
is_about(double a, double b)
{
	return a >= b * 0.9 && a <= b * 1.1;
}

/* Users: one of weight 300 with one session, one of 100 with two, one of 100 with
   four. */
static void
weights(const char *model, uint64_t seed)
{
	struct cell_params p = params_of(model, 1000 * MIB);
	struct cell_result r;

	p.seed = seed;
	p.group[0] = (struct cell_group) { .nr = 1, .uid = 1, .weight = 300 };
	p.group[1] = (struct cell_group) { .nr = 2, .uid = 2, .weight = 100 };
	p.group[2] = (struct cell_group) { .nr = 4, .uid = 3, .weight = 100 };
	r = run(&p);
	CU_ASSERT(is_about((double)r.group[0].bytes,
			   3.0 * (double)r.group[1].bytes));
	CU_ASSERT(is_about((double)r.group[1].bytes,
			   (double)r.group[2].bytes));
	CU_ASSERT(r.group[1].jain >= 0.95 && r.group[2].jain >= 0.95);
}

static void
weights_are_honoured_and_shared_by_a_users_sessions(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 3; seed++) {
		weights("ssd,link=10G,disk=200MB", seed);
		weights("disk", seed);
	}
}

/* Of 80 MB/s, 0.8 are theirs. */
static void
flood_gets_what_modest_writers_leave(void)
{
	struct cell_params p = params_of("disk", 1000 * MIB);
	struct cell_result r;

	p.slab_bytes = 1000 * MIB;
	p.group[0].nr = 1;
	p.group[1] = (struct cell_group) {
		.nr = 20, .bytes_per_sec = 40000, .write_bytes = 4096,
	};
	r = run(&p);
	CU_ASSERT(r.group[0].bytes >= 60 * 72 * 1000000ull);
	CU_ASSERT(r.wb.throttle.balanced_rate >= 60 * 1000000ull);
	CU_ASSERT(r.group[1].bytes >= 60 * 20 * 39000ull);
	CU_ASSERT(r.group[1].write_us.max <= 10000);
}

/* ---- those who ask for little ---- */

static void
logger(const char *model, uint64_t limit, unsigned floods)
{
	struct cell_params p = params_of(model, limit);
	struct cell_result r;

	p.group[0].nr = floods;
	p.group[1] = (struct cell_group) {
		.nr = 1, .bytes_per_sec = 1000, .write_bytes = 100,
	};
	p.group[2] = (struct cell_group) {
		.nr = 1, .bytes_per_sec = 10000, .write_bytes = 1000,
	};
	p.usec = 215 * SECOND;		/* it uses up what it had at first */
	r = run(&p);
	CU_ASSERT(r.group[1].write_us.max <= 10000);
	CU_ASSERT(r.group[1].bytes >= 199 * 1000);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
	CU_ASSERT(r.group[2].bytes >= 199 * 10000);
}

static void
logger_does_not_wait_beside_floods(void)
{
	logger("disk", 1000 * MIB, 10);
	logger("disk", 1000 * MIB, 100);
	logger("disk", 100 * MIB, 10);
	logger("ext3", 1000 * MIB, 10);
}

/* ---- two servers ---- */

/* What five writers on the first server get while as many write to a second. */
static struct cell_result
beside_with(const char *first, uint64_t limit, unsigned others,
	    const char *second, uint64_t stall_usec)
{
	struct cell_params p = params_of(first, limit);

	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&p.second, second));
	p.group[0].nr = 5;
	p.group[1] = (struct cell_group) { .nr = others, .server = 1 };
	p.group[2] = (struct cell_group) {
		.nr = 1, .bytes_per_sec = 1000, .write_bytes = 100,
	};
	p.stall_usec = stall_usec;
	return run(&p);
}

static struct cell_result
beside(unsigned others, const char *second, uint64_t stall_usec)
{
	return beside_with("disk", 1000 * MIB, others, second, stall_usec);
}

/* Where the limit is too small for pacing. */
static void
stalled_server_leaves_room_at_a_small_limit_too(void)
{
	struct cell_result alone = beside_with("ssd", 100 * MIB, 0, "ssd", 0),
			   r = beside_with("ssd", 100 * MIB, 5, "ssd", 1);

	CU_ASSERT(r.wb.throttle.limit_waits > 0);
	CU_ASSERT(r.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
}

static void
server_that_stalls_or_is_slow_does_not_slow_writers_on_another(void)
{
	struct cell_result alone = beside(0, "disk", 0), r;

	r = beside(5, "disk", 1);		/* from the beginning */
	CU_ASSERT(r.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
	r = beside(5, "disk", 15 * SECOND);
	CU_ASSERT(r.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
	r = beside(5, "disk,disk=1MB", 0);
	CU_ASSERT(r.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
}

/* A backup target that hangs drags the whole node (longhorn/longhorn#4772). */
static void
hundred_writers_whose_server_is_away_for_15_minutes_slow_nobody_else(void)
{
	struct cell_params p = params_of("disk", 1000 * MIB);
	struct cell_result alone, r;

	p.usec = 15 * 60 * SECOND + p.measure_usec;
	p.group[0].nr = 5;
	p.group[2] = (struct cell_group) {
		.nr = 1, .bytes_per_sec = 1000, .write_bytes = 100,
	};
	alone = run(&p);
	p.group[1] = (struct cell_group) { .nr = 100, .server = 1 };
	p.stall_usec = 14 * SECOND;
	r = run(&p);
	CU_ASSERT(r.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(r.group[2].write_us.max <= 10000);
	CU_ASSERT(r.group[1].bytes <= 1000 * MIB);	/* they do wait */
}

static void
two_servers_are_used_as_well_as_one(void)
{
	struct cell_result alone = beside(0, "disk", 0),
			   both = beside(5, "disk", 0);

	CU_ASSERT(alone.group[0].bytes >= 60 * 76 * 1000000ull);
	CU_ASSERT(both.group[0].bytes >= alone.group[0].bytes * 9 / 10);
	CU_ASSERT(both.group[1].bytes >= alone.group[0].bytes * 9 / 10);
}

/* ---- the limit ---- */

static void
limit_is_never_exceeded_whatever_it_is(void)
{
	static const uint64_t limits[] = { 64 * KIB, 100 * KIB, MIB, 10 * MIB,
					   100 * MIB, 2 * GIB };
	static const unsigned writers[] = { 1, 2, 30 };
	static const enum dirty_throttling how[] = { THROTTLE_IOLESS,
						     THROTTLE_FOREGROUND };
	struct cell_params p;
	struct cell_result r;
	unsigned i, k, l;

	for (i = 0; i < sizeof limits / sizeof *limits; i++)
		for (k = 0; k < 3; k++)
			for (l = 0; l < 2; l++) {
				p = params_of("disk", limits[i]);
				p.group[0].nr = writers[k];
				p.throttling = how[l];
				p.measure_usec = 0;
				p.usec = 20 * SECOND;
				r = run(&p);
				CU_ASSERT(r.group[0].least_bytes >= 64 * KIB);
			}
}

static uint64_t
power_of_two(unsigned least, unsigned most)
{
	return 1ull << (least + (unsigned)random() % (most - least + 1));
}

/* run() looks after every turn and every request. */
static void
limit_is_never_exceeded_whatever_happens(void)
{
	static const char *const models[] = { "disk", "ext3", "ssd", "10g",
					      "disk,disk=1MB" };
	const char *given = getenv("SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)time(NULL);
	struct cell_params p;
	unsigned i;

	printf("# SEED=%u\n", seed);
	for (i = 0; i < 20; i++) {
		srandom(seed + i);
		p = params_of(models[random() % 5], power_of_two(16, 30));
		p.limit_bytes += (uint64_t)random() % p.limit_bytes;
		p.background_bytes = p.limit_bytes / (1 + random() % 8);
		p.throttling = random() % 3;
		p.group[0].nr = (unsigned)power_of_two(0, 6);
		p.group[0].write_bytes = power_of_two(9, 21);
		p.group[1] = (struct cell_group) {
			.nr = (unsigned)random() % 10,
			.server = (unsigned)random() % 2,
			.write_bytes = power_of_two(9, 21),
		};
		p.stall_usec = (uint64_t)random() % (10 * SECOND);
		if (random() % 2) {
			p.bump_usec = SECOND;
			p.bump_every_usec = 3 * SECOND;
		}
		p.seed = seed + i;
		p.usec = 5 * SECOND;
		p.measure_usec = 0;
		(void)run(&p);
	}
}

/* Ever so many that begin at once. */
static void
server_holds_three_quarters_of_the_limit_at_most(void)
{
	static const uint64_t limits[] = { 10 * MIB, 100 * MIB, 1000 * MIB };
	struct cell_params p;
	struct cell_result r;
	unsigned i;

	for (i = 0; i < 3; i++) {
		p = params_of("disk", limits[i]);
		p.group[0].nr = 100;
		p.usec = 20 * SECOND;
		r = run(&p);
		CU_ASSERT(r.most_dirtied <= limits[i] * 3 / 4);
		CU_ASSERT(r.most_dirtied >= limits[i] / 2);
	}
}

/* ---- what pacing costs ---- */

static uint64_t
stable(const char *model, uint64_t limit, unsigned writers,
       enum dirty_throttling t)
{
	struct cell_params p = params_of(model, limit);

	p.group[0].nr = writers;
	p.throttling = t;
	return run(&p).stable_bytes;
}

/* Where writers run into the limit, and it is as much as one server may hold. */
static void
pacing_costs_next_to_no_bandwidth(void)
{
	static const struct {
		const char *model;
		uint64_t limit_mib;
		unsigned writers, least;	/* per cent */
	} cells[] = {
		{ "disk", 100, 10, 98 }, { "disk", 100, 100, 98 },
		{ "disk", 200, 10, 97 }, { "disk", 200, 100, 98 },
		{ "disk", 500, 10, 98 }, { "disk", 500, 100, 98 },
		{ "disk", 1000, 1, 98 }, { "disk", 1000, 10, 98 },
		{ "disk", 1000, 100, 98 }, { "ssd", 1000, 100, 98 },
		{ "ext3", 100, 10, 94 }, { "ext3", 200, 10, 92 },
		{ "ext3", 500, 100, 97 }, { "ext3", 1000, 10, 97 },
		{ "ext3", 1000, 100, 97 },
	};
	uint64_t limit, paced, free;
	unsigned i;

	for (i = 0; i < sizeof cells / sizeof *cells; i++) {
		limit = cells[i].limit_mib * MIB;
		paced = stable(cells[i].model, limit, cells[i].writers,
			       THROTTLE_IOLESS);
		free = stable(cells[i].model, limit / 4 * 3, cells[i].writers,
			      THROTTLE_NONE);
		if (getenv("SIM_VERBOSE"))
			printf("# %s, %llu MiB, %u writers: %.1f %%\n",
			       cells[i].model,
			       (unsigned long long)cells[i].limit_mib,
			       cells[i].writers,
			       (double)paced * 100 / (double)free);
		CU_ASSERT(paced * 100 >= free * cells[i].least);
	}
}

/* ---- a server that stops and goes ---- */

static void
bumpy(const char *model, unsigned writers, uint64_t seed)
{
	struct cell_params p = params_of(model, GIB);
	struct cell_result r;

	p.group[0].nr = writers;
	p.seed = seed;
	p.bump_usec = 2 * SECOND;
	p.bump_every_usec = 5 * SECOND;
	r = run(&p);
	CU_ASSERT(r.wb.throttle.pause_us.max <= 200000);
	CU_ASSERT_EQUAL(r.wb.throttle.limit_waits, 0);
}

static void
commits_that_take_two_seconds_pause_nobody_for_long(void)
{
	on_all_servers(bumpy, 1);
	on_all_servers(bumpy, 10);
	on_all_servers(bumpy, 100);
}

static void
large_limit_and_slow_server_go_on_evenly(void)
{
	struct cell_params p = params_of("disk,disk=20MB", 16 * GIB);
	struct cell_result r;

	p.group[0].nr = 10;
	r = run(&p);
	CU_ASSERT(r.least_second * 10 >= r.most_second * 8);
	/* and writers neither stop nor come in bursts at the wire's speed */
	CU_ASSERT(r.least_taken >= 20000000 / 4);
	CU_ASSERT(r.most_taken <= 20000000 * 3);
}

UNIT_TESTS(pace,
	UNIT(curve_is_two_at_the_middle_one_half_way_and_nought_at_the_limit),
	UNIT(ten_equal_writers_are_paced_evenly_for_a_minute),
	UNIT(hundred_equal_writers_are_paced_evenly_for_a_minute),
	UNIT(one_writer_goes_at_the_rate_of_the_disk),
	UNIT(weights_are_honoured_and_shared_by_a_users_sessions),
	UNIT(flood_gets_what_modest_writers_leave),
	UNIT(logger_does_not_wait_beside_floods),
	UNIT(server_that_stalls_or_is_slow_does_not_slow_writers_on_another),
	UNIT(hundred_writers_whose_server_is_away_for_15_minutes_slow_nobody_else),
	UNIT(stalled_server_leaves_room_at_a_small_limit_too),
	UNIT(two_servers_are_used_as_well_as_one),
	UNIT(limit_is_never_exceeded_whatever_it_is),
	UNIT(limit_is_never_exceeded_whatever_happens),
	UNIT(server_holds_three_quarters_of_the_limit_at_most),
	UNIT(pacing_costs_next_to_no_bandwidth),
	UNIT(commits_that_take_two_seconds_pause_nobody_for_long),
	UNIT(large_limit_and_slow_server_go_on_evenly),
)
