/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_foreground.c - what others feel while files are written back, in virtual
 * time on bench/cell.h
 *
 * bench/foreground has all figures; here they are held, with margins.  Reported
 * elsewhere: a `stat` takes 15 s while one copy runs, because it waits behind
 * every WRITE in one client's queue (itecnotes.com/server/
 * linux-is-this-a-linux-nfs-client-bufferbloat).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "bench/cell.h"
#include "tests/unit.h"

#define MIB (1ull << 20)
#define SECOND 1000000ull
#define TENTH (SECOND / 10)
#define FLOOD 10			/* writers */

static struct cell_params
params_of(const char *model, unsigned writers, uint64_t lat_usec)
{
	struct cell_params p = {
		.server = {
			.name = "sim", .slot_nr = 16,
			.congestion_bytes = 128 * MIB, .bounds = BOUND_ALL,
			.wbt_lat_usec = lat_usec,
		},
		.limit_bytes = 1024 * MIB, .background_bytes = 512 * MIB,
		.throttling = THROTTLE_IOLESS,
		.wsize = MIB, .writers = writers,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1, .times = true, .usec = 30 * SECOND,
		.foreground = { .start_usec = 5 * SECOND, .read_ahead = 8 },
	};

	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&p.model, model));
	if (writers) {
		p.files = 1000;
		p.file_bytes = 96 * MIB;
	}
	return p;
}

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t
percentile(struct cell_times *t, unsigned percent)
{
	unsigned at = (t->nr * percent + 99) / 100;

	qsort(t->usec, t->nr, sizeof *t->usec, by_value);
	return t->nr ? t->usec[at ? at - 1 : 0] : 0;
}

static void
run(const struct cell_params *p, struct cell_result *r)
{
	CU_ASSERT_EQUAL_FATAL(cell_run(p, r), 0);
	CU_ASSERT(r->most_dirtied <= p->limit_bytes);
	if (getenv("SIM_VERBOSE"))
		printf("# %.1f MB/s written, %.1f read; stat p99 %.2f ms, "
		       "fsync p99 %.2f, program %.0f; steps %llu down, %llu up; "
		       "%llu COMMITs of %.1f MB\n",
		       (double)r->stable_bytes / (double)r->run_usec,
		       r->read_usec ? (double)r->read_bytes /
				      (double)r->read_usec : 0,
		       (double)percentile(&r->stats, 99) / 1e3,
		       (double)percentile(&r->fsync_each, 99) / 1e3,
		       (double)percentile(&r->programs, 50) / 1e3,
		       (unsigned long long)r->server.wbt.steps_down,
		       (unsigned long long)r->server.wbt.steps_up,
		       (unsigned long long)r->server.nfs_nr_commits,
		       (double)r->server.nfs_commit_size / 1e6);
}

static void
forget(struct cell_result *r)
{
	free(r->stats.usec);
	free(r->fsync_each.usec);
	free(r->programs.usec);
}

static uint64_t
stat_p99(const char *model, unsigned writers, uint64_t lat_usec)
{
	struct cell_params p = params_of(model, writers, lat_usec);
	struct cell_result r;
	uint64_t usec;

	p.foreground.stat_every_usec = TENTH;
	p.server.slot_nr = 64;		/* as nfswbd has by default */
	run(&p, &r);
	CU_ASSERT(r.stats.nr >= 240);
	usec = percentile(&r.stats, 99);
	forget(&r);
	return usec;
}

/* CASES D1 */
static void
stat_beside_a_copy_waits_for_one_write_on_the_wire_at_most(void)
{
	static const char *const models[] = { "disk", "ext3", "ssd", "10g" };
	uint64_t idle;
	unsigned i;

	for (i = 0; i < 4; i++) {
		idle = stat_p99(models[i], 0, WBT_AUTO);
		CU_ASSERT(stat_p99(models[i], 1, WBT_AUTO) <=
			  2 * idle + 10000);
		CU_ASSERT(stat_p99(models[i], FLOOD, WBT_AUTO) <=
			  2 * idle + 10000);
	}
	/* and it is this that does it */
	CU_ASSERT(stat_p99("disk", FLOOD, 0) > 20000);
}

static uint64_t
fsync_usec(uint64_t lat_usec, unsigned percent)
{
	struct cell_params p = params_of("disk", FLOOD, lat_usec);
	struct cell_result r;
	uint64_t usec;

	p.sync_writer = true;
	run(&p, &r);
	usec = percentile(&r.fsync_each, percent);
	forget(&r);
	return usec;
}

/* The goal is ten times at p99: bench/README.md says what bounds it. */
static void
small_syncs_beside_a_flood_are_several_times_faster(void)
{
	CU_ASSERT(fsync_usec(WBT_AUTO, 50) * 9 <= fsync_usec(0, 50));
	CU_ASSERT(fsync_usec(WBT_AUTO, 90) * 5 <= fsync_usec(0, 90));
	CU_ASSERT(fsync_usec(WBT_AUTO, 99) * 3 <= fsync_usec(0, 99));
}

static double
read_rate(unsigned writers)
{
	struct cell_params p = params_of("disk", writers, WBT_AUTO);
	struct cell_result r;

	p.foreground.read_bytes = 1000 * MIB;
	run(&p, &r);
	forget(&r);
	return (double)r.read_bytes / (double)r.read_usec;
}

static void
a_reader_beside_a_flood_has_seven_tenths_of_what_it_has_alone(void)
{
	CU_ASSERT(read_rate(FLOOD) >= 0.7 * read_rate(0));
}

static uint64_t
program_usec(const char *model, unsigned writers)
{
	struct cell_params p = params_of(model, writers, WBT_AUTO);
	struct cell_result r;
	uint64_t usec;

	p.foreground.program_files = 200;
	p.foreground.program_bytes = 16384;
	p.foreground.program_pause_usec = 2 * SECOND;
	run(&p, &r);
	CU_ASSERT(r.programs.nr >= 4);
	usec = percentile(&r.programs, 50);
	forget(&r);
	return usec;
}

static void
a_program_starts_beside_a_flood_in_twice_the_time(void)
{
	CU_ASSERT(program_usec("disk", FLOOD) <= 2 * program_usec("disk", 0));
	CU_ASSERT(program_usec("ssd", FLOOD) <= 2 * program_usec("ssd", 0));
}

static uint64_t
written(const char *model, uint64_t lat_usec, uint64_t stat_every)
{
	struct cell_params p = params_of(model, FLOOD, lat_usec);
	struct cell_result r;

	p.foreground.stat_every_usec = stat_every;
	run(&p, &r);
	forget(&r);
	return r.stable_bytes;
}

static void
light_foreground_costs_a_flood_a_tenth_at_most_and_none_costs_none(void)
{
	static const char *const models[] = { "disk", "ext3", "ssd", "long",
					      "10g" };
	uint64_t off;
	unsigned i;

	for (i = 0; i < 5; i++) {
		off = written(models[i], 0, 0);
		CU_ASSERT_EQUAL(written(models[i], WBT_AUTO, 0), off);
		CU_ASSERT(written(models[i], WBT_AUTO, TENTH) >= off / 10 * 9);
	}
}

/* ---- at every tenth of a second ---- */

struct watch {
	uint64_t depth_min, steps_max;
	uint64_t last_bytes, idle_tenths, idle_tenths_max;
	uint64_t read_ended_usec, read_bytes, free_usec;
};

static void
look(void *arg, const struct cell_sample *s)
{
	struct watch *w = arg;

	if (!w->depth_min || s->depth < w->depth_min)
		w->depth_min = s->depth;
	if (s->steps > w->steps_max)
		w->steps_max = s->steps;
	w->idle_tenths = s->clean_bytes > w->last_bytes ?
			 0 : w->idle_tenths + 1;
	/* what was sent before there was any foreground is over by then */
	if (s->usec > 8 * SECOND && w->idle_tenths > w->idle_tenths_max)
		w->idle_tenths_max = w->idle_tenths;
	w->last_bytes = MAX(w->last_bytes, s->clean_bytes);
	if (s->read_bytes == w->read_bytes && !w->read_ended_usec)
		w->read_ended_usec = s->usec;
	if (w->read_ended_usec && !w->free_usec && s->steps == 0)
		w->free_usec = s->usec;
}

static void
watched(struct cell_params *p, struct watch *w)
{
	struct cell_result r;

	*w = (struct watch){ .read_bytes = p->foreground.read_bytes };
	p->sample = look;
	p->sample_arg = w;
	run(p, &r);
	forget(&r);
}

static void
all_slots_are_free_again_a_second_after_the_reader_ended(void)
{
	struct cell_params p = params_of("disk", FLOOD, WBT_AUTO);
	struct watch w;

	p.foreground.read_bytes = 300 * MIB;
	watched(&p, &w);
	CU_ASSERT(w.steps_max >= 4);
	CU_ASSERT(w.read_ended_usec > 5 * SECOND);
	CU_ASSERT(w.free_usec != 0);
	CU_ASSERT(w.free_usec - w.read_ended_usec <= 10 * WBT_WINDOW_USEC);
}

/* Whatever the foreground, some of the flood is known to be stable within each
   half second or so, and a WRITE may be out. */
static void
no_foreground_starves_the_background(void)
{
	static const char *const models[] = { "disk", "ext3", "ssd", "long" };
	/* ext3: a COMMIT takes as long as all files do; long: a stat each
	   millisecond would fill all slots for ever, the flood has one */
	static const unsigned tenths[] = { 5, 20, 5, 10 };
	struct cell_params p;
	struct watch w;
	unsigned i, scene;

	for (i = 0; i < 4; i++)
		for (scene = 0; scene < 4; scene++) {
			p = params_of(models[i], FLOOD, WBT_AUTO);
			p.sync_writer = scene == 0;
			if (scene == 1)
				p.foreground.read_bytes = 4000 * MIB;
			if (scene == 2)
				p.foreground.stat_every_usec = 1000;
			if (scene == 3) {
				p.foreground.program_files = 1u << 30;
				p.foreground.program_bytes = 16384;
			}
			watched(&p, &w);
			CU_ASSERT(w.depth_min >= 1);
			if (getenv("SIM_VERBOSE"))
				printf("# %s %u: %llu tenths\n", models[i], scene,
				       (unsigned long long)w.idle_tenths_max);
			CU_ASSERT(w.idle_tenths_max <= tenths[i]);
		}
}

/* The server's disk works on a COMMIT for as long as it is of many bytes. */
static void
commits_are_of_few_bytes_while_the_disk_is_wanted(void)
{
	struct cell_params p = params_of("disk", FLOOD, WBT_AUTO);
	struct cell_result r;

	p.sync_writer = true;
	run(&p, &r);
	CU_ASSERT(r.server.nfs_commit_size < 2 * MIB);
	forget(&r);
	p.server.wbt_lat_usec = 0;
	run(&p, &r);
	CU_ASSERT(r.server.nfs_commit_size > 8 * MIB);
	forget(&r);
}

UNIT_TESTS(sim_foreground,
	UNIT(stat_beside_a_copy_waits_for_one_write_on_the_wire_at_most),
	UNIT(small_syncs_beside_a_flood_are_several_times_faster),
	UNIT(a_reader_beside_a_flood_has_seven_tenths_of_what_it_has_alone),
	UNIT(a_program_starts_beside_a_flood_in_twice_the_time),
	UNIT(light_foreground_costs_a_flood_a_tenth_at_most_and_none_costs_none),
	UNIT(all_slots_are_free_again_a_second_after_the_reader_ended),
	UNIT(no_foreground_starves_the_background),
	UNIT(commits_are_of_few_bytes_while_the_disk_is_wanted),
)
