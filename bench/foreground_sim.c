/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * foreground_sim.c - what others feel while 50 files are written back
 *
 *	foreground_sim model=disk scene=stat flood=1 wbt=auto seconds=40 ...
 *
 * Prints what came out of it as name=value, one a line; with trace=1 also a line
 * for each tenth of a second.  bench/foreground runs this for every scene, and
 * makes tables of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cell_options.h"

#define KIB 1024ull
#define MIB (1ull << 20)
#define SECOND 1000000ull

/* The flood: so many writers, each this many files of that length. */
#define WRITERS 10
#define FILES 5
#define FILE_BYTES (96 * MIB)		/* 100 MB, in whole MiB */

struct run {
	struct cell_params cell;
	uint64_t start_usec;
	bool flood, trace;
	uint64_t read_ahead;
};

static void
show_sample(void *arg, const struct cell_sample *s)
{
	(void)arg;
	printf("at %.1f depth %llu steps %llu stat_ms %.3f fsync_ms %.3f "
	       "read_mb %.1f stable_mb %.1f\n", (double)s->usec / 1e6,
	       (unsigned long long)s->depth, (unsigned long long)s->steps,
	       (double)s->stat_usec / 1e3, (double)s->fsync_usec / 1e3,
	       (double)s->read_bytes / 1e6, (double)s->stable_bytes / 1e6);
}

static bool
set_scene(struct run *r, const char *v)
{
	struct cell_foreground *f = &r->cell.foreground;
	bool all = !strcmp(v, "all"), ok = all || !strcmp(v, "none");

	if (all || !strcmp(v, "read")) {
		f->read_bytes = 1000000000;
		ok = true;
	}
	if (all || !strcmp(v, "stat")) {
		f->stat_every_usec = SECOND / 10;
		ok = true;
	}
	if (all || !strcmp(v, "sync"))
		ok = r->cell.sync_writer = true;
	if (all || !strcmp(v, "program")) {
		f->program_files = 200;
		f->program_bytes = 16 * KIB;
		f->program_pause_usec = 2 * SECOND;
		ok = true;
	}
	return ok;
}

static bool
set(struct run *r, const char *arg)
{
	size_t len = strcspn(arg, "=");
	const char *v = arg[len] ? arg + len + 1 : "";
	struct cell_params *p = &r->cell;
	uint64_t n = 0;

#define IS(name) (len == sizeof name - 1 && !memcmp(arg, name, len))
	if (IS("model"))
		return !model_params_parse(&p->model, v);
	if (IS("scene"))
		return set_scene(r, v);
	if (IS("wbt") && !strcmp(v, "auto")) {
		p->server.wbt_lat_usec = WBT_AUTO;
		return true;
	}
	if (!cell_number(v, &n))
		return false;
	if (IS("wbt"))
		p->server.wbt_lat_usec = n;
	else if (IS("flood"))
		r->flood = n;
	else if (IS("limit"))
		p->limit_bytes = n;
	else if (IS("start"))
		r->start_usec = n * SECOND;
	else if (IS("ahead"))
		r->read_ahead = n;
	else if (IS("seconds"))
		p->usec = n * SECOND;
	else if (IS("slots"))
		p->server.slot_nr = (unsigned)n;
	else if (IS("seed"))
		p->seed = n;
	else if (IS("trace"))
		r->trace = n;
	else
		return false;
#undef IS
	return true;
}

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
say(const char *name, double value)
{
	printf("%s=%.10g\n", name, value);
}

/* Milliseconds; percentiles are exact, of all that ended. */
static void
say_times(const char *name, struct cell_times *t)
{
	static const unsigned permille[] = { 500, 900, 990, 1000 };
	unsigned i, at;

	printf("%s_nr=%u\n", name, t->nr);
	qsort(t->usec, t->nr, sizeof *t->usec, by_value);
	for (i = 0; i < 4 && t->nr; i++) {
		at = (t->nr * permille[i] + 999) / 1000;
		printf("%s_p%u=%.3f\n", name, permille[i] / 10,
		       (double)t->usec[at ? at - 1 : 0] / 1e3);
	}
	free(t->usec);
}

static void
report(struct cell_result *r)
{
	double sec = (double)r->run_usec / 1e6;

	say("seconds", sec);
	say("write_bw", (double)r->stable_bytes / sec / 1e6);
	say("accepted_bw", (double)r->written_bytes / sec / 1e6);
	say("read_mb", (double)r->read_bytes / 1e6);
	say("read_bw", r->read_usec ?
	    (double)r->read_bytes / (double)r->read_usec : 0);
	say_times("stat", &r->stats);
	say_times("fsync", &r->fsync_each);
	say_times("program", &r->programs);
	say("commits", (double)r->server.nfs_nr_commits);
	say("writes", (double)r->server.nfs_nr_writes);
	say("commit_mb", (double)r->server.nfs_commit_size / 1e6);
	say("seeks", (double)r->model.seeks);
	say("steps_down", (double)r->server.wbt.steps_down);
	say("steps_up", (double)r->server.wbt.steps_up);
	say("depth", (double)r->server.wbt.depth);
	say("limit_waits", (double)r->wb.throttle.limit_waits);
	say("pauses", (double)r->wb.throttle.pauses);
}

static void
settle(struct run *r)
{
	struct cell_params *p = &r->cell;

	p->background_bytes = p->limit_bytes / 2;
	p->server.congestion_bytes = p->limit_bytes / 8;
	p->foreground.start_usec = r->start_usec;
	p->foreground.read_ahead = (unsigned)r->read_ahead;
	if (r->flood) {
		p->writers = WRITERS;
		p->files = FILES;
		p->file_bytes = FILE_BYTES;
	}
	if (r->trace)
		p->sample = show_sample;
}

int
main(int argc, char **argv)
{
	struct run r = {
		.cell = {
			.server = { .name = "sim", .slot_nr = 16,
				    .bounds = BOUND_ALL },
			.limit_bytes = 1024 * MIB,
			.throttling = THROTTLE_IOLESS,
			.wsize = MIB,
			.copy_bytes_per_sec = 5000000000,
			.seed = 1, .times = true,
			.usec = 40 * SECOND,
		},
		.flood = true, .read_ahead = 8, .start_usec = 5 * SECOND,
	};
	struct cell_result result;
	int i, err;

	model_params_parse(&r.cell.model, "disk");
	for (i = 1; i < argc; i++)
		if (!set(&r, argv[i])) {
			fprintf(stderr, "foreground_sim: %s: not understood\n",
				argv[i]);
			return 2;
		}
	settle(&r);
	err = cell_run(&r.cell, &result);
	if (err) {
		fprintf(stderr, "foreground_sim: %s\n", err == -EDEADLK ?
			"the clock stands still" : strerror(-err));
		return 1;
	}
	report(&result);
	return 0;
}
