/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scale_sim.c - what a write costs in a pipeline of a given size
 *
 *	scale_sim [servers=N] [sessions=N] [files=N] [active=N] [extent=BYTES]
 *		  [dirty=N] [writes=N] [random=1] [limit=MIB] [slab=MIB]
 *
 * With dirty=N: so many extents (as long as was said, each apart from others) are
 * made DIRTY, written back, committed and reclaimed; as often as it takes for that
 * to be `writes`.  Else `writes` go to the first `active` files by turns, through a
 * pipeline whose flusher runs.  Prints NAME=VALUE: steps and ns for each write, by
 * stage, and what an extent took of memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "bench/scale_world.h"
#include "common/log.h"

#define MIB (1ull << 20)
#define BATCH 256			/* writes between two turns */

static uint64_t servers = 1, sessions = 1, files = 1, active, extent = 4096,
		dirty, writes = 100000, at_random, limit = 1024, slab = 64;

static const struct {
	const char *name;
	uint64_t *value;
} options[] = {
	{ "servers", &servers }, { "sessions", &sessions },
	{ "files", &files }, { "active", &active }, { "extent", &extent },
	{ "dirty", &dirty }, { "writes", &writes }, { "random", &at_random },
	{ "limit", &limit }, { "slab", &slab },
};

static int
take_option(const char *arg)
{
	size_t i, n = strcspn(arg, "=");

	for (i = 0; arg[n] && i < sizeof options / sizeof options[0]; i++)
		if (!strncmp(arg, options[i].name, n) &&
		    !options[i].name[n]) {
			*options[i].value = strtoull(arg + n + 1, NULL, 10);
			return 0;
		}
	fprintf(stderr, "scale_sim: what is %s?\n", arg);
	return -1;
}

/* kB of this process' own memory. */
static uint64_t
rss_anon(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	uint64_t kb = 0;
	char line[128];

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "RssAnon: %" SCNu64, &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

/* A permutation of 0 .. n-1 where n is a power of two; else close to one: no two
   of its values are neighbours in time. */
static uint64_t
scatter(uint64_t i, uint64_t n)
{
	return at_random ? i * 0x9e3779b1u % n : i;
}

static bool
fill(struct world *w, uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++) {
		if (!world_write(w, (unsigned)(i % w->handle_nr),
				 2 * scatter(i, nr) * extent,
				 (uint32_t)extent))
			return false;
		if (i % BATCH == BATCH - 1)
			world_turn(w);
	}
	return true;
}

/* Bytes of extents a piece; of nothing else changes while they are made. */
static double memory;

static bool
run_dirty(struct world *w)
{
	uint64_t done, before;

	for (done = 0; done < writes; done += dirty) {
		before = rss_anon();
		if (!fill(w, dirty))
			return false;
		if (!done)
			memory = (double)(rss_anon() - before) * 1024 /
				 (double)dirty;
		if (!world_settle(w))
			return false;
	}
	world_release(w);
	return true;
}

static bool
run_files(struct world *w)
{
	uint64_t nr = active ? active : w->handle_nr, i, n = 0, warm;

	/* until the limit has been met once */
	warm = limit * MIB / extent + writes / 4;
	for (i = 0; i < warm + writes; i++) {
		if (i == warm)
			world_forget_costs(w);
		if (!world_write(w, (unsigned)(i % nr),
				 (at_random ? 2 : 1) * (i / nr) * extent,
				 (uint32_t)extent))
			return false;
		n += extent;
		if (n >= MIB) {		/* 1 GiB/s */
			world_turn(w);
			n = 0;
		}
	}
	return true;
}

static void
report(const struct world *w)
{
	struct cost all = world_cost(w);
	double nr = (double)w->writes;
	int i;

	printf("writes=%" PRIu64 "\nturns=%" PRIu64 "\n", w->writes, w->turns);
	printf("steps=%.1f\nnsec=%.1f\n", (double)all.steps / nr,
	       (double)all.nsec / nr);
	for (i = 0; i < STAGE_NR; i++)
		printf("%s_steps=%.1f\n%s_nsec=%.1f\n", stage_name[i],
		       (double)w->cost[i].steps / nr, stage_name[i],
		       (double)w->cost[i].nsec / nr);
	printf("write_calls=%" PRIu64 "\ncommit_calls=%" PRIu64 "\n",
	       w->write_calls, w->commit_calls);
	printf("extent_rss=%.1f\n", memory);
	printf("extent_bytes=%zu\nentry_bytes=%zu\nchunk_bytes=%zu\n"
	       "file_bytes=%zu\nhandle_bytes=%zu\nslab_bytes=%zu\n",
	       sizeof(struct extent), sizeof(struct nfswb_list_entry),
	       sizeof(struct chunk) + sizeof(uint64_t),
	       sizeof(struct wb_file), sizeof(struct wb_handle),
	       sizeof(struct slab));
}

int
main(int argc, char **argv)
{
	struct world_params p;
	struct world w;
	bool ok;
	int i;

	for (i = 1; i < argc; i++)
		if (take_option(argv[i]))
			return 2;
	p = (struct world_params) {
		.servers = (unsigned)servers, .sessions = (unsigned)sessions,
		.files = (unsigned)files, .slab_bytes = slab * MIB,
		.dirty_bytes = limit * MIB, .background_bytes = limit * MIB / 4,
	};
	if (dirty)			/* nothing goes before it is told to */
		p.background_bytes = p.dirty_bytes - 1;
	log_set_level(LOG_LEVEL_ERROR);
	if (world_init(&w, &p)) {
		fprintf(stderr, "scale_sim: no memory\n");
		return 1;
	}
	ok = dirty ? run_dirty(&w) : run_files(&w);
	if (ok)
		report(&w);
	else
		fprintf(stderr, "scale_sim: a write got no room\n");
	world_free(&w);
	return !ok;
}
