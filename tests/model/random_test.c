/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * random_test.c - random programs against plain memory
 *
 * Each seed is a program of its own, a server of its own moods, and a daemon of
 * its own sizes.  What fails is printed with its seed, and again cut down to
 * the operations that it takes.
 *
 *	SEED=N		this one only; the log with SIM_VERBOSE=1
 *	FIRST=N		the first seed
 *	MODEL_OPS=N	operations in all: 200,000 (50,000 under sanitizers)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/play.h"
#include "tests/random.h"
#include "tests/unit.h"

#define OPS 100
#define BATCH 50		/* programs of one process */
#define SHRINK_RUNS 2000
#ifdef __SANITIZE_ADDRESS__
#define OPS_IN_ALL 50000
#else
#define OPS_IN_ALL 200000
#endif

/* Shared with the processes that play. */
struct tally {
	uint64_t seed;
	struct played sum;
	uint64_t programs;
};

static struct tally *tally;

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

/* ---- a program ---- */

static unsigned
pick(uint64_t *r, const unsigned *weight, unsigned nr)
{
	unsigned sum = 0, i;
	uint64_t at;

	for (i = 0; i < nr; i++)
		sum += weight[i];
	at = random_next(r, sum);
	for (i = 0; at >= weight[i]; i++)
		at -= weight[i];
	return i;
}

static uint32_t
some_length(uint64_t *r)
{
	return 1 + (uint32_t)random_next(r, random_next(r, 3) ? 1500 : 16000);
}

static void
make_op(uint64_t *r, struct op *o)
{
	static const unsigned weight[OP_KINDS] = {
		[OP_OPEN] = 8, [OP_CLOSE] = 8, [OP_WRITE] = 38,
		[OP_TRUNCATE] = 5, [OP_READ] = 10, [OP_STAT] = 2,
		[OP_FSYNC] = 12, [OP_RENAME] = 3, [OP_UNLINK] = 2,
		[OP_SYNC] = 1, [OP_PASS] = 8, [OP_RESTART] = 2,
		[OP_VANISH] = 1,
	};

	memset(o, 0, sizeof *o);
	o->kind = (enum op_kind)pick(r, weight, OP_KINDS);
	o->client = (unsigned)random_next(r, CLIENTS);
	o->slot = (unsigned)random_next(r, SLOTS);
	o->name = (unsigned)random_next(r, NAMES);
	o->to = (unsigned)random_next(r, NAMES);
	o->offset = (uint32_t)random_next(r, 30000);
	o->length = some_length(r);
	if (random_next(r, 4) == 0)
		o->flags |= OPEN_APPEND;
	if (random_next(r, 8) == 0)
		o->flags |= OPEN_TRUNC;
	if (random_next(r, 16) == 0)
		o->flags |= OPEN_EXCL;
	if (random_next(r, 8) == 0)
		o->flags |= OPEN_PLAIN;
	o->beside = random_next(r, 2);
	o->after = (unsigned)random_next(r, random_next(r, 2) ? 3 : 25);
	if (o->kind == OP_PASS)
		o->length = (uint32_t)random_next(r, random_next(r, 3) ?
						  2000 : 8 * SECOND);
	if (o->kind == OP_RESTART)
		o->flags = (unsigned)random_next(r, TROUBLES);
}

/* Most servers are good at most things. */
static unsigned
mood(uint64_t *r, unsigned most)
{
	return random_next(r, 2) ? (unsigned)random_next(r, most) : 0;
}

static void
make_moods(uint64_t *r, struct moods *m)
{
	if (random_next(r, 8) == 0)
		return;
	m->jukebox = mood(r, 200);
	m->error = random_next(r, 3) ? 0 : mood(r, 150);
	m->full = random_next(r, 3) ? 0 : mood(r, 100);
	m->shortened = mood(r, 800);
	m->stable = mood(r, 500);
	m->hold = mood(r, 100);
	m->lose_call = mood(r, 150);
	m->lose_reply = mood(r, 150);
	m->copies = mood(r, 100);
	m->cut = mood(r, 100);
	m->cut_later = mood(r, 80);
	m->delay = mood(r, 600);
	m->crash = mood(r, 120);
	m->new_verifier = mood(r, 60);
}

static void
make_program(uint64_t seed, struct play *p, struct op *op)
{
	static const uint32_t wsize[] = { 4096, 8192, 16384, 65536 };
	uint64_t r = random_start(seed);
	unsigned i;

	memset(p, 0, sizeof *p);
	p->seed = seed;
	p->op = op;
	p->nr = OPS;
	make_moods(&r, &p->moods);
	p->world.wsize = wsize[random_next(&r, 4)];
	p->world.slab_bytes = (4 + random_next(&r, 8)) << 16;
	p->world.dirty_bytes = (6 + random_next(&r, 10)) << 16;
	for (i = 0; i < OPS; i++)
		make_op(&r, &op[i]);
	op[0].beside = false;
	p->world.congestion_kb = random_next(&r, 4) ? 0 : 1;
	p->world.as_linux_3 = random_next(&r, 8) == 0;
}

/* ---- playing, each in a process that may die of it ---- */

static void
add(struct played *sum, const struct played *p)
{
	sum->ops += p->ops;
	sum->calls += p->calls;
	sum->troubles += p->troubles;
	sum->crashes += p->crashes;
	sum->fsyncs += p->fsyncs;
	sum->beside += p->beside;
	sum->errors += p->errors;
	sum->usec += p->usec;
	sum->trace ^= p->trace;
}

static void
play_seed(uint64_t seed)
{
	struct op op[OPS];
	struct play p;
	struct played played;

	tally->seed = seed;
	make_program(seed, &p, op);
	play(&p, &played);
	add(&tally->sum, &played);
	tally->programs++;
}

static bool
ends_well(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
batch(uint64_t seed, unsigned nr)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return ends_well(pid);
	alarm(600);
	while (nr--)
		play_seed(seed++);
	fflush(stdout);
	exit(0);
}

static bool
fails(const struct play *p, bool loud)
{
	struct played played;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return !ends_well(pid);
	if (!loud && (!freopen("/dev/null", "w", stdout) ||
		      !freopen("/dev/null", "w", stderr)))
		_exit(0);
	if (loud)
		setenv("PLAY_VERBOSE", "1", 1);
	alarm(60);
	play(p, &played);
	_exit(0);
}

/* ---- cutting down what fails ---- */

/* Without those from at on; true: it still fails, and is the program now. */
static bool
without(struct play *p, struct op *op, unsigned at, unsigned nr)
{
	struct op less[OPS];
	struct play q = *p;

	memcpy(less, op, at * sizeof *op);
	memcpy(less + at, op + at + nr, (p->nr - at - nr) * sizeof *op);
	q.op = less;
	q.nr = p->nr - nr;
	if (!q.nr || !fails(&q, false))
		return false;
	memcpy(op, less, q.nr * sizeof *op);
	p->nr = q.nr;
	return true;
}

static void
shrink_ops(struct play *p, struct op *op, unsigned *runs)
{
	unsigned step, at;

	for (step = p->nr / 2; step; step /= 2)
		for (at = 0; at + step <= p->nr && *runs; (*runs)--)
			if (!without(p, op, at, step))
				at += step;
}

static void
shrink_moods(struct play *p, unsigned *runs)
{
	unsigned *mood = (unsigned *)&p->moods, i, was;

	for (i = 0; i < sizeof p->moods / sizeof *mood && *runs; i++) {
		if (!mood[i])
			continue;
		was = mood[i];
		mood[i] = 0;
		(*runs)--;
		if (!fails(p, false))
			mood[i] = was;
	}
}

static void
shrink(uint64_t seed)
{
	struct op op[OPS];
	struct play p;
	unsigned runs = SHRINK_RUNS, before;

	make_program(seed, &p, op);
	if (!fails(&p, false)) {
		printf("# seed %" PRIu64 " does not fail when played alone\n",
		       seed);
		return;
	}
	do {
		before = p.nr;
		shrink_moods(&p, &runs);
		shrink_ops(&p, op, &runs);
	} while (p.nr < before && runs);
	printf("# cut down (moods:");
	for (unsigned i = 0; i < sizeof p.moods / sizeof(unsigned); i++)
		printf(" %u", ((unsigned *)&p.moods)[i]);
	printf("; wsize %u, slab %" PRIu64 ", dirty %" PRIu64 "%s%s):\n",
	       p.world.wsize, p.world.slab_bytes, p.world.dirty_bytes,
	       p.world.congestion_kb ? ", congestion 1 KiB" : "",
	       p.world.as_linux_3 ? ", as Linux 3" : "");
	play_print(&p);
	fails(&p, true);
}

/* ---- the tests ---- */

static void
start_tally(void)
{
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		exit(99);
}

static void
say_tally(void)
{
	printf("# %" PRIu64 " programs, %u operations (%u beside another), "
	       "%u calls, %u promises, %u errors, %u crashes, %" PRIu64
	       " s of virtual time\n", tally->programs, tally->sum.ops,
	       tally->sum.beside, tally->sum.calls, tally->sum.fsyncs,
	       tally->sum.errors, tally->sum.crashes,
	       (uint64_t)(tally->sum.usec / SECOND));
}

static void
what_is_read_and_promised_is_what_plain_memory_says(void)
{
	uint64_t ops = from_env("MODEL_OPS", OPS_IN_ALL), failed = 0;
	uint64_t most = from_env("MODEL_FAILURES", 1);
	uint64_t seed = from_env("FIRST", 1), end = seed + ops / OPS;

	start_tally();
	if (getenv("SEED")) {
		seed = from_env("SEED", 1);
		end = seed + 1;
	}
	while (seed < end && failed < most) {
		unsigned nr = end - seed < BATCH ? (unsigned)(end - seed) :
						   BATCH;

		if (batch(seed, nr)) {
			seed += nr;
			continue;
		}
		failed++;
		printf("# seed %" PRIu64 " fails\n", tally->seed);
		seed = tally->seed + 1;
		shrink(tally->seed);
	}
	say_tally();
	CU_ASSERT_EQUAL(failed, 0);
}

static void
same_seed_does_the_same_again(void)
{
	uint64_t trace[2];
	unsigned i;

	start_tally();
	for (i = 0; i < 2; i++) {
		tally->sum.trace = 0;
		CU_ASSERT(batch(7, 5));
		trace[i] = tally->sum.trace;
	}
	CU_ASSERT_EQUAL(trace[0], trace[1]);
}

UNIT_TESTS(random_test,
	UNIT(what_is_read_and_promised_is_what_plain_memory_says),
	UNIT(same_seed_does_the_same_again),
)
