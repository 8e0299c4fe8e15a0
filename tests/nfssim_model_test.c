/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_model_test.c - the modelled server takes the time it says it takes
 *
 * Times are exact but for the loop's microsecond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_model.h"
#include "tests/unit.h"
#include "tests/vloop.h"

#define MIB (1ull << 20)
#define SECOND 1000000000ull
#define OPS 4096

static struct loop *l;
static struct model *m;
static struct model_params params;
static struct model_op op[OPS];
static uint64_t ended[OPS];	/* nanoseconds from the start; 0: not yet */
static unsigned op_nr, ended_nr;
static uint64_t order;		/* a sum over which ended when */

static void
start(const char *text)
{
	memset(&params, 0, sizeof params);
	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&params, text));
	l = vloop_new(0);
	m = model_new(l, &params);
	memset(op, 0, sizeof op);
	memset(ended, 0, sizeof ended);
	op_nr = ended_nr = 0;
	order = 0;
}

static void
stop(void)
{
	model_free(m);
	loop_free(l);
}

static void
op_ended(void *arg, uint64_t when)
{
	struct model_op *o = arg;

	ended[o - op] = when ? when : 1;
	ended_nr++;
	order = (order ^ (uint64_t)(o - op)) * 1099511628211ull + when;
}

static unsigned
add(enum model_kind kind, uint64_t file, uint64_t offset, uint64_t length)
{
	struct model_op *o = &op[op_nr];

	o->kind = kind;
	o->file = file;
	o->offset = offset;
	o->length = length;
	o->done = op_ended;
	o->arg = o;
	model_run(m, o, loop_now(l) * 1000);
	return op_nr++;
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return ended_nr == op_nr;
}

static bool
run(void)
{
	return vloop_run_until(l, all_ended, NULL, 10000 * 1000000ull);
}

/* MiB by MiB, waiting for all. */
static void
fill(uint64_t file, uint64_t from_mib, uint64_t mib)
{
	uint64_t i;

	for (i = 0; i < mib; i++) {
		add(MODEL_WRITE, file, (from_mib + i) * MIB, MIB);
		if (i % 16 == 15)
			CU_ASSERT_FATAL(run());
	}
	CU_ASSERT_FATAL(run());
}

/* Nanoseconds that a COMMIT of the file takes from now. */
static uint64_t
commit(uint64_t file)
{
	uint64_t before = loop_now(l) * 1000;
	unsigned c = add(MODEL_COMMIT, file, 0, 0);

	CU_ASSERT_FATAL(run());
	return ended[c] - before;
}

static uint64_t
disk_nsec(uint64_t bytes)
{
	return (uint64_t)((unsigned __int128)bytes * SECOND / 80000000);
}

#define SEEK 8000000ull
#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL((double)(a), (double)(b), 5000.0)

static void
commit_takes_what_the_disk_takes(void)
{
	start("disk");
	fill(1, 0, 1024);
	CU_ASSERT_EQUAL(model_stats(m).disk_written_bytes, 0);
	NEAR(commit(1), SEEK + disk_nsec(1024 * MIB));
	CU_ASSERT_EQUAL(model_stats(m).disk_written_bytes, 1024 * MIB);
	CU_ASSERT_EQUAL(model_stats(m).disk_requests, 1024);
	CU_ASSERT(commit(1) <= 1);	/* nothing to do */
	stop();
}

static void
two_files_take_turns_of_8_mib_and_each_turn_seeks(void)
{
	unsigned a, b;
	uint64_t before;

	start("disk");
	fill(1, 0, 64);
	fill(2, 0, 64);
	before = loop_now(l) * 1000;
	a = add(MODEL_COMMIT, 1, 0, 0);
	b = add(MODEL_COMMIT, 2, 0, 0);
	CU_ASSERT(run());
	NEAR(ended[b] - before, 16 * SEEK + disk_nsec(128 * MIB));
	NEAR(ended[a] - before, 15 * SEEK + disk_nsec(120 * MIB));
	CU_ASSERT_EQUAL(model_stats(m).seeks, 16);
	stop();
}

static void
overwritten_bytes_go_to_the_disk_once(void)
{
	start("disk");
	fill(1, 0, 8);
	fill(1, 0, 8);
	NEAR(commit(1), SEEK + disk_nsec(8 * MIB));
	stop();
}

static void
commit_covers_what_was_there_when_it_started(void)
{
	unsigned c, i;

	start("disk");
	fill(1, 0, 16);
	c = add(MODEL_COMMIT, 1, 0, 0);
	for (i = 0; i < 100; i++)
		add(MODEL_WRITE, 1, (i + 8) * MIB, MIB);
	CU_ASSERT(run());
	CU_ASSERT(ended[c] < SECOND / 2);
	/* the 100, less the 8 that were there: 92 new ones; and of the 8 what
	   came while the disk was at it */
	CU_ASSERT(model_stats(m).dirty_bytes >= 92 * MIB);
	NEAR(commit(1), disk_nsec(model_stats(m).disk_written_bytes -
				  16 * MIB));
	stop();
}

static void
commit_of_a_range_leaves_the_rest(void)
{
	unsigned c;

	start("disk");
	fill(1, 0, 64);
	c = add(MODEL_COMMIT, 1, 10 * MIB, 4 * MIB);
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(model_stats(m).disk_written_bytes, 4 * MIB);
	CU_ASSERT_EQUAL(model_stats(m).dirty_bytes, 60 * MIB);
	CU_ASSERT(ended[c] > 0);
	stop();
}

static void
flusher_works_from_the_background_share_on(void)
{
	start("disk,memory=1000MB,copy=0,write=0");
	fill(1, 0, 95);				/* 99.6 MB of 100 */
	vloop_pass(l, 1000000);
	CU_ASSERT_EQUAL(model_stats(m).disk_written_bytes, 0);
	fill(1, 95, 20);
	vloop_pass(l, 10000000);
	CU_ASSERT(model_stats(m).dirty_bytes <= 100000000);
	CU_ASSERT(model_stats(m).dirty_bytes > 98000000);
	stop();
}

static void
writes_wait_at_the_hard_share_and_then_go_as_fast_as_the_disk(void)
{
	uint64_t before;

	start("disk,memory=1000MB");
	fill(1, 0, 300);
	CU_ASSERT(model_stats(m).held_writes > 0);
	before = loop_now(l) * 1000;
	fill(1, 300, 800);
	CU_ASSERT_DOUBLE_EQUAL((double)(loop_now(l) * 1000 - before),
			       (double)disk_nsec(800 * MIB), 0.05 * SECOND);
	CU_ASSERT(model_stats(m).dirty_bytes <= 201 * MIB);
	stop();
}

static void
commit_goes_before_the_flusher(void)
{
	start("disk,memory=1000MB,hard=90");
	fill(1, 0, 400);
	fill(2, 0, 1);
	/* at most the request the disk is at, one seek, one request */
	CU_ASSERT(commit(2) <= SEEK + disk_nsec(2 * MIB) + 10000);
	CU_ASSERT(model_stats(m).dirty_bytes > 100 * MIB);
	stop();
}

static void
threads_are_busy_for_the_whole_of_a_write_or_commit(void)
{
	unsigned i, last = 0;

	start("threads=2,write=30us,copy=1500MB");
	for (i = 0; i < 10; i++)
		last = add(MODEL_WRITE, 1, i * MIB, MIB);
	CU_ASSERT(run());
	NEAR(ended[last], 5 * (30000 + MIB * SECOND / 1500000000));
	CU_ASSERT_EQUAL(model_stats(m).most_queued, 8);
	stop();

	start("disk,threads=1");
	fill(1, 0, 100);
	add(MODEL_COMMIT, 1, 0, 0);
	last = add(MODEL_WRITE, 2, 0, 1);
	CU_ASSERT(run());
	CU_ASSERT(ended[last] > disk_nsec(100 * MIB));
	stop();
}

static void
hold_keeps_a_thread(void)
{
	unsigned last;

	start("threads=1");
	op[0].hold_usec = 5000;
	add(MODEL_OTHER, 0, 0, 0);
	last = add(MODEL_OTHER, 0, 0, 0);
	CU_ASSERT(run());
	NEAR(ended[last], 5000000);
	stop();
}

static void
stable_write_ends_when_it_is_on_the_disk(void)
{
	start("disk,write=0,copy=0");
	op[0].stable = true;
	add(MODEL_WRITE, 1, 0, MIB);
	CU_ASSERT(run());
	NEAR(ended[0], SEEK + disk_nsec(MIB));
	stop();
}

static void
link_carries_one_message_after_the_other(void)
{
	unsigned i;

	start("link=1G,rtt=200us");
	for (i = 0; i < 3; i++) {
		op[i].arg = &op[i];
		model_carry(m, &op[op_nr++], LINK_IN, MIB, op_ended);
	}
	op[3].arg = &op[3];
	model_carry(m, &op[op_nr++], LINK_OUT, 1250, op_ended);
	CU_ASSERT(run());
	NEAR(ended[0], MIB * 8 + 100000);
	NEAR(ended[2], 3 * MIB * 8 + 100000);
	NEAR(ended[3], 10000 + 100000);		/* the other way is free */
	stop();
}

static void
link_that_is_behind_says_when_it_is_not(void)
{
	unsigned i;
	uint64_t usec;

	start("link=1G,window=2M");
	for (i = 0; i < 4; i++) {
		op[i].arg = &op[i];
		model_carry(m, &op[op_nr++], LINK_IN, MIB, op_ended);
	}
	usec = model_congested(m, LINK_IN);
	CU_ASSERT(usec > 25000 && usec < 25200);	/* 3 MiB */
	vloop_pass(l, usec);
	CU_ASSERT_EQUAL(model_congested(m, LINK_IN), 0);
	stop();
}

/* S2 */

static void
ext3_commit_flushes_all_files_and_the_journal(void)
{
	start("ext3");
	fill(1, 0, 64);
	fill(2, 0, 1);
	/* file 1, file 2 between its turns, the journal's seek and time */
	CU_ASSERT_DOUBLE_EQUAL((double)commit(2),
			       (double)(disk_nsec(65 * MIB) + 4 * SEEK +
					20000000), 1e6);
	CU_ASSERT_EQUAL(model_stats(m).dirty_bytes, 0);
	CU_ASSERT_EQUAL(model_stats(m).journals, 1);
	stop();
}

static void
ext3_commits_that_come_meanwhile_share_the_next_journal(void)
{
	unsigned a, b, c;

	start("ext3");
	fill(1, 0, 16);
	a = add(MODEL_COMMIT, 1, 0, 0);
	vloop_pass(l, 1000);
	add(MODEL_WRITE, 2, 0, MIB);
	add(MODEL_WRITE, 3, 0, MIB);
	vloop_pass(l, 1000);
	b = add(MODEL_COMMIT, 2, 0, 0);
	c = add(MODEL_COMMIT, 3, 0, 0);
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(model_stats(m).journals, 2);
	CU_ASSERT_EQUAL(ended[b], ended[c]);
	CU_ASSERT(ended[a] + 3 * SEEK + 20000000 <= ended[b]);
	stop();
}

static void
ext3_commit_whose_bytes_await_the_journal_waits_for_that_one(void)
{
	unsigned a, b;

	start("ext3,journal=1s");
	fill(1, 0, 1);
	fill(2, 0, 1);
	a = add(MODEL_COMMIT, 1, 0, 0);
	vloop_pass(l, 500000);		/* both are on the disk */
	b = add(MODEL_COMMIT, 2, 0, 0);
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(ended[a], ended[b]);
	CU_ASSERT_EQUAL(model_stats(m).journals, 1);
	stop();
}

/* READ */

static void
cold_read_goes_to_the_disk_once(void)
{
	unsigned a, b;

	start("disk,other=0");
	a = add(MODEL_READ, 1, 0, MIB);
	CU_ASSERT(run());
	NEAR(ended[a], SEEK + disk_nsec(MIB));
	b = add(MODEL_READ, 1, 0, MIB);
	CU_ASSERT(run());
	NEAR(ended[b], ended[a]);
	fill(2, 0, 1);
	CU_ASSERT(run());
	b = add(MODEL_READ, 2, 0, MIB);		/* was written just now */
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(model_stats(m).disk_read_bytes, MIB);
	stop();
}

static void
cold_read_comes_between_two_turns_of_a_commit(void)
{
	unsigned r;
	uint64_t before;

	start("disk,other=0");
	fill(1, 0, 100);
	add(MODEL_COMMIT, 1, 0, 0);
	vloop_pass(l, 20000);		/* the disk is in its first turn */
	before = loop_now(l) * 1000;
	r = add(MODEL_READ, 2, 0, MIB);
	CU_ASSERT(run());
	NEAR(ended[r] - before + 20000000,
	     2 * SEEK + disk_nsec(8 * MIB) + disk_nsec(MIB));
	stop();
}

/* A reader that asks for the next MiB as soon as it has the last. */
static void
read_on(void *arg, uint64_t when)
{
	struct model_op *o = arg;

	o->offset += MIB;
	o->done = read_on;
	model_run(m, o, when);
}

static void
readers_do_not_keep_a_commit_from_the_disk(void)
{
	unsigned c, i;

	start("disk,other=0");
	fill(1, 0, 32);
	for (i = 0; i < 2; i++) {
		c = add(MODEL_READ, 2 + i, 0, MIB);
		op[c].done = read_on;
	}
	vloop_pass(l, 1000000);
	c = add(MODEL_COMMIT, 1, 0, 0);
	vloop_pass(l, 2000000);
	/* four turns of it, and between two of them a READ of each reader */
	CU_ASSERT(ended[c] > 0);
	CU_ASSERT(ended[c] < SECOND + 5 * (disk_nsec(8 * MIB) + 3 * SEEK +
					   2 * disk_nsec(MIB)) + 2 * SECOND);
	stop();
}

static void
memory_forgets_what_was_used_longest_ago(void)
{
	start("disk,memory=100MB,background=50,hard=60,other=0");
	fill(1, 0, 20);
	CU_ASSERT(commit(1) > 0);
	fill(2, 0, 20);
	commit(2);
	fill(3, 0, 40);
	commit(3);
	fill(4, 0, 30);
	commit(4);
	add(MODEL_READ, 4, 0, MIB);
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(model_stats(m).disk_read_bytes, 0);
	add(MODEL_READ, 1, 0, MIB);
	CU_ASSERT(run());
	CU_ASSERT_EQUAL(model_stats(m).disk_read_bytes, MIB);
	stop();
}

/* the whole */

static void
crash_forgets_all_that_is_under_way(void)
{
	unsigned i, nr;

	start("ext3");
	fill(1, 0, 32);
	nr = ended_nr;
	for (i = 0; i < 20; i++)
		add(i % 2 ? MODEL_COMMIT : MODEL_READ, i, 0, MIB);
	add(MODEL_COMMIT, 1, 0, 0);
	op[op_nr].arg = &op[op_nr];
	model_carry(m, &op[op_nr++], LINK_IN, MIB, op_ended);
	vloop_pass(l, 5000);
	model_crash(m);
	CU_ASSERT_EQUAL(model_stats(m).dirty_bytes, 0);
	nr = ended_nr;
	vloop_pass(l, 100000000);
	CU_ASSERT_EQUAL(ended_nr, nr);
	ended_nr = op_nr;
	fill(1, 0, 16);				/* and it works again */
	CU_ASSERT(commit(1) > disk_nsec(16 * MIB));
	stop();
}

static void
truncate_takes_dirty_bytes_away_and_lets_a_commit_go(void)
{
	unsigned c;

	start("disk");
	fill(1, 0, 500);
	c = add(MODEL_COMMIT, 1, 0, 0);
	vloop_pass(l, 100000);
	model_truncate(m, 1, MIB);
	CU_ASSERT(run());
	CU_ASSERT(ended[c] < SECOND);
	CU_ASSERT_EQUAL(model_stats(m).dirty_bytes, 0);
	stop();
}

static uint64_t
any(uint64_t nr)
{
	return (uint64_t)random() % nr;
}

static uint64_t
random_run(const char *text, unsigned seed)
{
	static const enum model_kind kinds[] = {
		MODEL_WRITE, MODEL_WRITE, MODEL_WRITE, MODEL_WRITE,
		MODEL_WRITE, MODEL_COMMIT, MODEL_READ, MODEL_OTHER,
	};
	unsigned i;

	srandom(seed);
	start(text);
	for (i = 0; i < 2000; i++) {
		op[op_nr].stable = any(10) == 0;
		add(kinds[any(8)], 1 + any(5), any(200) * MIB / 4,
		    1 + any(MIB));
		if (any(50) == 0)
			model_truncate(m, 1 + any(5), any(50) * MIB);
		vloop_pass(l, any(20000));
	}
	CU_ASSERT(run());
	for (i = 1; i <= 5; i++)
		commit(i);
	CU_ASSERT_EQUAL(model_stats(m).dirty_bytes, 0);
	CU_ASSERT_EQUAL(model_stats(m).queued, 0);
	stop();
	return order;
}

static void
same_seed_same_times_and_nothing_waits_for_ever(void)
{
	static const char *const models[] = {
		"disk", "ext3", "ssd", "10g,memory=50MB",
		"ext3,memory=20MB,threads=3",
	};
	unsigned i, seed;

	for (i = 0; i < sizeof models / sizeof *models; i++)
		for (seed = 1; seed <= 3; seed++) {
			printf("# %s, seed %u\n", models[i], seed);
			CU_ASSERT_EQUAL(random_run(models[i], seed),
					random_run(models[i], seed));
			CU_ASSERT_NOT_EQUAL(random_run(models[i], seed),
					    random_run(models[i], seed + 9));
		}
}

static void
presets_are_what_they_are_called_and_can_be_changed(void)
{
	struct model_params p = { 0 };

	CU_ASSERT_PTR_NULL(model_params_parse(&p, "long"));
	CU_ASSERT_EQUAL(p.rtt_usec, 20000);
	CU_ASSERT_EQUAL(p.disk_bytes_per_sec, 80000000);
	CU_ASSERT_PTR_NULL(model_params_parse(&p, "ssd,rtt=1.5ms,link=10G"));
	CU_ASSERT_EQUAL(p.seek_usec, 0);
	CU_ASSERT_EQUAL(p.rtt_usec, 1500);
	CU_ASSERT_EQUAL(p.link_bits_per_sec, 10000000000);
	CU_ASSERT_EQUAL(p.threads, 8);
	CU_ASSERT_PTR_NOT_NULL(model_params_parse(&p, "floppy"));
	CU_ASSERT_PTR_NOT_NULL(model_params_parse(&p, "disk,seek=fast"));
	CU_ASSERT_PTR_NOT_NULL(model_params_parse(&p, "disk=-1"));
}

UNIT_TESTS(nfssim_model,
	UNIT(commit_takes_what_the_disk_takes),
	UNIT(two_files_take_turns_of_8_mib_and_each_turn_seeks),
	UNIT(overwritten_bytes_go_to_the_disk_once),
	UNIT(commit_covers_what_was_there_when_it_started),
	UNIT(commit_of_a_range_leaves_the_rest),
	UNIT(flusher_works_from_the_background_share_on),
	UNIT(writes_wait_at_the_hard_share_and_then_go_as_fast_as_the_disk),
	UNIT(commit_goes_before_the_flusher),
	UNIT(threads_are_busy_for_the_whole_of_a_write_or_commit),
	UNIT(hold_keeps_a_thread),
	UNIT(stable_write_ends_when_it_is_on_the_disk),
	UNIT(link_carries_one_message_after_the_other),
	UNIT(link_that_is_behind_says_when_it_is_not),
	UNIT(ext3_commit_flushes_all_files_and_the_journal),
	UNIT(ext3_commits_that_come_meanwhile_share_the_next_journal),
	UNIT(ext3_commit_whose_bytes_await_the_journal_waits_for_that_one),
	UNIT(cold_read_goes_to_the_disk_once),
	UNIT(cold_read_comes_between_two_turns_of_a_commit),
	UNIT(readers_do_not_keep_a_commit_from_the_disk),
	UNIT(memory_forgets_what_was_used_longest_ago),
	UNIT(crash_forgets_all_that_is_under_way),
	UNIT(truncate_takes_dirty_bytes_away_and_lets_a_commit_go),
	UNIT(same_seed_same_times_and_nothing_waits_for_ever),
	UNIT(presets_are_what_they_are_called_and_can_be_changed),
)
