/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * small_test.c - all small programs, and a trouble at every reply
 *
 * After CrashMonkey and ACE (Mohan et al., OSDI 2018): most faults of this kind
 * take few operations.  Every program of up to three of
 *
 *	write overwrite append truncate rename unlink fsync close
 *
 * runs once undisturbed, then again for each call that came, the server
 * crashing (what is not on its disk is forgotten, the verifier is new), only
 * changing its verifier, or only cutting the connection, before that call is
 * done and after its reply.  After each, what fsync or close promised is on
 * stable storage.  Then the same with a second session, which does something and
 * calls fsync, too, between the call and the return of the first's fsync: at
 * once, or after so many calls came; with COMMITs answered as fast as WRITEs,
 * and so late that WRITEs sent after them are answered first.
 *
 *	SMALL_OPS=N	up to N operations: 3 (2 under sanitizers)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/play.h"
#include "tests/unit.h"

#ifdef __SANITIZE_ADDRESS__
#define OPS_MOST 2
#else
#define OPS_MOST 3
#endif
#define OPS_MAX 5
#define PROLOGUE 4

static struct {
	struct op op[PROLOGUE + OPS_MAX + 2];
	struct play play;
	unsigned programs, runs, promises, beside;
} now;

static const struct op
	write_op = { .kind = OP_WRITE, .length = 10000 },
	overwrite = { .kind = OP_WRITE, .offset = 3000, .length = 5000 },
	append = { .kind = OP_WRITE, .slot = 1, .flags = OPEN_APPEND,
		   .length = 2500 },
	cut = { .kind = OP_TRUNCATE, .offset = 6000 },
	rename_op = { .kind = OP_RENAME, .to = 1 },
	unlink_op = { .kind = OP_UNLINK },
	fsync_op = { .kind = OP_FSYNC },
	close_op = { .kind = OP_CLOSE };

static const struct op *const all[] = {
	&write_op, &overwrite, &append, &cut, &rename_op, &unlink_op,
	&fsync_op, &close_op,
};

static const struct op *const on_data[] = {
	&write_op, &overwrite, &append, &cut, &fsync_op,
};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* f0 and f1 with something in them, f0 still open. */
static void
prologue(unsigned clients)
{
	static const struct op before[PROLOGUE] = {
		{ .kind = OP_WRITE, .slot = 2, .name = 1, .length = 3000 },
		{ .kind = OP_CLOSE, .slot = 2, .name = 1 },
		{ .kind = OP_WRITE, .offset = 500, .length = 2000 },
		{ .kind = OP_OPEN, .client = 1 },
	};

	memcpy(now.op, before, sizeof before);
	if (clients == 1)
		now.op[3] = (struct op){ .kind = OP_FSYNC };
	now.play = (struct play){
		.op = now.op, .seed = 1, .clients = clients,
		.prologue = PROLOGUE, .beside_calls = true,
		.world = { .wsize = 4096, .slab_bytes = 4 << 16,
			   .dirty_bytes = 8 << 16 },
	};
}

static void
run(struct played *played)
{
	play(&now.play, played);
	now.runs++;
	now.promises += played->fsyncs;
}

static void
say_program(void)
{
	play_print(&now.play);
}

/* The most telling first. */
static const struct {
	enum trouble trouble;
	bool after_reply;
} troubles_in_order[] = {
	{ TROUBLE_CRASH, false }, { TROUBLE_CRASH, true },
	{ TROUBLE_VERIFIER, false }, { TROUBLE_CUT, true },
	{ TROUBLE_VERIFIER, true }, { TROUBLE_CUT, false },
};

static void
run_with_troubles(unsigned troubles)
{
	struct played first, again;
	unsigned t;

	now.programs++;
	now.play.at_call = 0;
	run(&first);
	now.beside += first.beside;
	for (now.play.at_call = 1; now.play.at_call <= first.counted;
	     now.play.at_call++)
		for (t = 0; t < troubles; t++) {
			now.play.trouble = troubles_in_order[t].trouble;
			now.play.after_reply =
				troubles_in_order[t].after_reply;
			run(&again);
		}
}

/* Every sequence of nr of the operations, as a number. */
static void
set_program(const struct op *const *from, unsigned kinds, unsigned nr,
	    unsigned which)
{
	unsigned i;

	for (i = 0; i < nr; i++, which /= kinds)
		now.op[PROLOGUE + i] = *from[which % kinds];
	now.play.nr = PROLOGUE + nr;
}

static unsigned
power(unsigned base, unsigned n)
{
	unsigned p = 1;

	while (n--)
		p *= base;
	return p;
}

static unsigned
most_ops(void)
{
	const char *s = getenv("SMALL_OPS");

	return s ? (unsigned)atoi(s) : OPS_MOST;
}

static void
every_program(unsigned most)
{
	unsigned nr, i;

	prologue(1);
	for (nr = 1; nr <= most; nr++)
		for (i = 0; i < power(NR(all), nr); i++) {
			set_program(all, NR(all), nr, i);
			run_with_troubles(most > 3 ? 6 : 4);
		}
}

/* ---- a second session between the call and the return of fsync ---- */

static void
with_second(unsigned nr, const struct op *second, unsigned troubles)
{
	struct op *o = now.op + PROLOGUE + nr;
	unsigned moment;

	o[0] = fsync_op;
	o[1] = *second;
	o[1].client = 1;
	o[1].beside = true;
	o[2] = fsync_op;
	o[2].client = 1;
	o[2].beside = true;
	now.play.nr = PROLOGUE + nr + 3;
	for (moment = 0; moment < 4; moment++) {
		o[1].after = moment;
		run_with_troubles(troubles);
	}
}

static void
every_second(unsigned most)
{
	unsigned nr, i, k;

	for (nr = 0; nr < most; nr++)
		for (i = 0; i < power(NR(on_data), nr); i++)
			for (k = 0; k < NR(on_data); k++) {
				set_program(on_data, NR(on_data), nr, i);
				with_second(nr, on_data[k], most > 3 ? 6 : 2);
			}
}

static void
every_second_twice(unsigned most)
{
	prologue(2);
	every_second(most);
	now.play.commit_delay_usec = 3000;
	every_second(most);
}

/* In a process of its own, which ends where something is wrong. */
static void
apart(void (*every)(unsigned), unsigned most)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		world_on_fail(say_program);
		every(most);
		printf("# up to %u operations: %u programs, %u runs, %u "
		       "promises held; %u operations beside another\n", most,
		       now.programs, now.runs, now.promises, now.beside);
		fflush(stdout);
		exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
every_small_program_keeps_its_promises_at_every_trouble(void)
{
	apart(every_program, most_ops());
}

static void
a_second_session_within_fsync_breaks_no_promise(void)
{
	apart(every_second_twice, most_ops());
}

UNIT_TESTS(small_test,
	UNIT(every_small_program_keeps_its_promises_at_every_trouble),
	UNIT(a_second_session_within_fsync_breaks_no_promise),
)
