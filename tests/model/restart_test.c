/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * restart_test.c - a thousand crashes of the server under load
 *
 * Three sessions write, append, cut, fsync and close without rest; the server
 * crashes at any moment and before any call, is down for a while or up at once,
 * and has forgotten what it had in memory.  At each crash, all that an fsync, a
 * close or a sync has ever promised is looked up on its disk.
 *
 *	RESTARTS=N	so many crashes
 *	SEED=N		the first program's
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/play.h"
#include "tests/random.h"
#include "tests/unit.h"

#define OPS 400
#define OPS_LEAST 20000

static struct op op[OPS];
static struct play now = { .op = op };

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void
make_op(uint64_t *r, struct op *o)
{
	static const enum op_kind kind[] = {
		OP_WRITE, OP_WRITE, OP_WRITE, OP_WRITE, OP_WRITE, OP_WRITE,
		OP_FSYNC, OP_FSYNC, OP_FSYNC, OP_TRUNCATE, OP_CLOSE, OP_READ,
		OP_PASS, OP_SYNC,
	};
	uint64_t which = random_next(r, sizeof kind / sizeof kind[0]);

	*o = (struct op){
		.kind = kind[which],
		.client = (unsigned)random_next(r, CLIENTS),
		.slot = (unsigned)random_next(r, SLOTS),
		.name = (unsigned)random_next(r, NAMES),
		.flags = random_next(r, 4) ? 0 : OPEN_APPEND,
		.offset = (uint32_t)random_next(r, 28000),
		.length = 1 + (uint32_t)random_next(r, 20000),
		.beside = random_next(r, 2),
		.after = (unsigned)random_next(r, 12),
	};
	if (o->kind == OP_PASS)
		o->length = (uint32_t)random_next(r, 20000);
}

static void
make_program(uint64_t seed)
{
	uint64_t r = random_start(seed);
	unsigned i;

	now.seed = seed;
	now.nr = OPS;
	now.world = (struct world_options){
		.wsize = 4096u << random_next(&r, 3),
	};
	now.moods = (struct moods){
		.crash = 50, .crash_usec = 100000, .delay = 100,
		.lose_reply = 50, .hold = 20,
	};
	for (i = 0; i < OPS; i++)
		make_op(&r, &op[i]);
}

static void
say_seed(void)
{
	printf("# seed %" PRIu64 "\n", now.seed);
}

static void
crash_often(uint64_t crashes)
{
	struct played p;
	uint64_t sum = 0, promises = 0, ops = 0, usec = 0, seed;

	world_on_fail(say_seed);
	for (seed = from_env("SEED", 1); sum < crashes || ops < OPS_LEAST; seed++) {
		make_program(seed);
		play(&now, &p);
		sum += p.crashes;
		promises += p.fsyncs;
		ops += p.ops;
		usec += p.usec;
	}
	printf("# %" PRIu64 " crashes, %" PRIu64 " operations, %" PRIu64
	       " promises, %" PRIu64 " s of virtual time\n", sum, ops,
	       promises, (uint64_t)(usec / SECOND));
}

static void
no_promise_is_lost_in_a_thousand_crashes_under_load(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		crash_often(from_env("RESTARTS", 1000));
		fflush(stdout);
		exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

UNIT_TESTS(restart_test,
	UNIT(no_promise_is_lost_in_a_thousand_crashes_under_load),
)
