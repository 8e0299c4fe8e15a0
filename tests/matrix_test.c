/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * matrix_test.c - the matrix of bench/matrix, reduced: a minute of virtual time,
 * one seed, few cells
 *
 * Holds what the wait queues, the priority and the COMMIT rule are worth against
 * regressions, with margins that leave room for changes which are not; how much
 * it is exactly is in bench/results.  Nothing here depends on the machine.
 */
#include <stdio.h>
#include <string.h>

#include "bench/cell.h"
#include "tests/unit.h"

#define KIB 1024ull
#define MIB (1ull << 20)
#define NELEM(a) (sizeof(a) / sizeof *(a))

/* The margins, in thousandths of the historical baseline. */
#define DISK_TOTAL	1030	/* bandwidth, at least */
#define EXT3_TOTAL	1030
#define CELL_LEAST	600	/* of any cell */
#define QUEUE_MOST	600	/* the time a WRITE is queued, at most */
#define DISK_FSYNC	6	/* times better, at the 99th percentile */
#define EXT3_FSYNC	3
#define QUEUES_LEAST	980	/* bandwidth, of what it is without queues */

/* COMMITs a GB at most: one for 1.6 WRITEs, and one for each. */
#define DISK_COMMITS	600
#define EXT3_COMMITS	1000

struct variant {
	enum congestion_policy policy;
	enum commit_priority priority;
	enum commit_rule rule;
	enum wb_bounds bounds;
};

static const struct variant baseline = { CONGESTION_NONE, COMMIT_FIFO,
					 COMMIT_BY_KERNEL, BOUND_NONE };
static const struct variant ours = { CONGESTION_SPLIT, COMMIT_AHEAD,
				     COMMIT_BY_BANDWIDTH, BOUND_ALL };

static const struct {
	unsigned limit_mib, writers;
} cells[] = {
	{ 10, 1 }, { 10, 10 }, { 100, 1 }, { 100, 10 }, { 100, 100 },
	{ 1000, 10 },
};

static struct cell_params
params_of(const char *model, uint64_t limit, unsigned writers,
	  const struct variant *v)
{
	struct cell_params p = {
		.server = {
			.name = "sim", .slot_nr = 16,
			.congestion_bytes = limit / 8 > 512 * KIB ?
					    limit / 8 : 512 * KIB,
			.congestion_policy = v->policy,
			.commit_priority = v->priority,
			.commit_rule = v->rule,
			.bounds = v->bounds,
		},
		.limit_bytes = limit,
		.background_bytes = limit / 2,
		.throttling = THROTTLE_NONE,
		.wsize = MIB,
		.writers = writers,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1,
		.usec = 60 * 1000000ull,
	};

	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&p.model, model));
	return p;
}

static struct cell_result
run(const struct cell_params *p)
{
	struct cell_result r;

	CU_ASSERT_EQUAL_FATAL(cell_run(p, &r), 0);
	CU_ASSERT(r.most_dirtied <= p->limit_bytes);
	return r;
}

static struct cell_result
run_cell(const char *model, unsigned i, const struct variant *v)
{
	struct cell_params p = params_of(model, cells[i].limit_mib * MIB,
					 cells[i].writers, v);

	return run(&p);
}

static double
queue_usec(const struct cell_result *r)
{
	const struct hist *h = &r->write.queue_us;

	return h->count ? (double)h->sum / (double)h->count : 0;
}

static void
compare(const char *model, uint64_t total_least)
{
	uint64_t before = 0, after = 0;
	double queued_before = 0, queued_after = 0;
	struct cell_result a, b;
	unsigned i;

	for (i = 0; i < NELEM(cells); i++) {
		a = run_cell(model, i, &baseline);
		b = run_cell(model, i, &ours);
		CU_ASSERT(b.stable_bytes >= a.stable_bytes * CELL_LEAST / 1000);
		before += a.stable_bytes;
		after += b.stable_bytes;
		queued_before += queue_usec(&a);
		queued_after += queue_usec(&b);
	}
	CU_ASSERT(after >= before * total_least / 1000);
	CU_ASSERT(queued_after <= queued_before * QUEUE_MOST / 1000);
}

static void
one_disk_is_used_better_and_writes_are_queued_shorter(void)
{
	compare("disk", DISK_TOTAL);
}

static void
so_it_is_where_a_commit_drags_all_files_along(void)
{
	compare("ext3", EXT3_TOTAL);
}

static double
commits_per_gb(const struct cell_result *r)
{
	return (double)r->server.nfs_nr_commits * 1e9 /
	       (double)r->stable_bytes;
}

/* linux-mm 20111017030310.GA30011@localhost: three times as many COMMITs once
   there was a queue, for it made each pass smaller. */
static void
no_storm_of_commits(const char *model, double most)
{
	struct variant no_queues = ours;
	struct cell_result was, without, with;

	no_queues.policy = CONGESTION_NONE;
	was = run_cell(model, 1, &baseline);
	without = run_cell(model, 1, &no_queues);
	with = run_cell(model, 1, &ours);
	printf("# %s: %.0f COMMITs a GB, without queues %.0f, were %.0f; "
	       "%.2f GB, without queues %.2f, was %.2f\n", model,
	       commits_per_gb(&with), commits_per_gb(&without),
	       commits_per_gb(&was), (double)with.stable_bytes / 1e9,
	       (double)without.stable_bytes / 1e9,
	       (double)was.stable_bytes / 1e9);
	CU_ASSERT(commits_per_gb(&with) <= most);
	CU_ASSERT(commits_per_gb(&with) <= commits_per_gb(&was));
	CU_ASSERT(with.stable_bytes >=
		  without.stable_bytes * QUEUES_LEAST / 1000);
	CU_ASSERT(with.stable_bytes >= was.stable_bytes);
}

static void
ten_writers_below_10_mb_cause_no_storm_of_commits(void)
{
	no_storm_of_commits("disk", DISK_COMMITS);
	no_storm_of_commits("ext3", EXT3_COMMITS);
}

static uint64_t
fsync_p99(const char *model, const struct variant *v)
{
	struct cell_params p = params_of(model, 1000 * MIB, 10, v);
	struct cell_result r;

	p.sync_writer = true;
	p.usec *= 2;
	r = run(&p);
	CU_ASSERT(r.fsyncs > 0);
	return hist_percentile(&r.fsync_us, 990);
}

static void
sync_writer_is_not_held_up_by_floods(void)
{
	CU_ASSERT(fsync_p99("disk", &ours) * DISK_FSYNC <=
		  fsync_p99("disk", &baseline));
	CU_ASSERT(fsync_p99("ext3", &ours) * EXT3_FSYNC <=
		  fsync_p99("ext3", &baseline));
}

static void
same_seed_same_figures(void)
{
	struct cell_params p = params_of("disk", 100 * MIB, 10, &ours);
	struct cell_result a = run(&p), b = run(&p);

	CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof a), 0);
	p.seed = 2;
	b = run(&p);
	CU_ASSERT_NOT_EQUAL(memcmp(&a, &b, sizeof a), 0);
	CU_ASSERT(b.stable_bytes > a.stable_bytes * 8 / 10);
	CU_ASSERT(b.stable_bytes < a.stable_bytes * 12 / 10);
}

/* Any limit, of either kind, makes progress under every policy. */
static void
smallest_limits_make_progress(void)
{
	static const uint64_t limits[] = { 4 * KIB, 64 * KIB, MIB };
	static const uint64_t congestion[] = { 1, 4096, 512 * KIB };
	struct variant v = ours;
	struct cell_params p;
	struct cell_result r;
	unsigned i, k;

	for (i = 0; i < NELEM(limits); i++)
		for (k = 0; k < NELEM(congestion); k++)
			for (v.policy = CONGESTION_SPLIT;
			     v.policy <= CONGESTION_NONE; v.policy++) {
				p = params_of("disk", limits[i], 3, &v);
				p.server.congestion_bytes = congestion[k];
				p.usec = 10 * 1000000ull;
				r = run(&p);
				/* each a seek, 20 ms at the most */
				CU_ASSERT(r.stable_bytes >=
					  500 * p.limit_bytes / 2);
				CU_ASSERT(r.least_bytes > 0);
			}
}

UNIT_TESTS(matrix,
	UNIT(one_disk_is_used_better_and_writes_are_queued_shorter),
	UNIT(so_it_is_where_a_commit_drags_all_files_along),
	UNIT(ten_writers_below_10_mb_cause_no_storm_of_commits),
	UNIT(sync_writer_is_not_held_up_by_floods),
	UNIT(same_seed_same_figures),
	UNIT(smallest_limits_make_progress),
)
