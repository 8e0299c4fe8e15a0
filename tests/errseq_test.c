/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * errseq_test.c - each handle is told each failure exactly once: every case
 *
 * One, two or three handles; each opened at some time around a failure, each
 * making one call, in one session or in several; the server mends or goes on
 * refusing.  What each is told is what the table in nfswb(3) says, which is read
 * from the manual page itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

/* ---- the manual's table ---- */

enum came { SEEN, UNSEEN, BETWEEN, AFTER_FSYNC, FURTHER_TRY, TOLD, CAME_NR };
enum call { WRITE, FSYNC, CLOSE, CALL_NR };

static const char *const came_words[CAME_NR] = {
	[SEEN] = "before the open, and somebody was told",
	[UNSEEN] = "before the open, and nobody was told",
	[BETWEEN] = "between the open and the call",
	[AFTER_FSYNC] = "after an fsync that returned 0",
	[FURTHER_TRY] = "once more, on a further try",
	[TOLD] = "and was told, and the data has arrived",
};

enum says { MISSING, NOTHING, REASON };

static enum says table[CAME_NR][CALL_NR];

static enum says
meaning(const char *words)
{
	if (!strcmp(words, "0") || !strcmp(words, "accepted"))
		return NOTHING;
	return strcmp(words, "its reason") ? MISSING : REASON;
}

/* "|[ words" begins a row, ":[ words" goes on with it. */
static void
read_table(FILE *f)
{
	char line[256];
	int row = -1, column = 0;

	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "|[ ", 3)) {
			for (row = CAME_NR - 1; row >= 0; row--)
				if (!strcmp(line + 3, came_words[row]))
					break;
			column = 0;
		} else if (row >= 0 && column < CALL_NR &&
			   !strncmp(line, ":[ ", 3)) {
			table[row][column++] = meaning(line + 3);
		}
	}
}

static void
load_table(void)
{
	const char *top = getenv("top_srcdir");
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/man/nfswb.3.scd", top ? top : ".");
	f = fopen(path, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	read_table(f);
	fclose(f);
}

static void
manual_has_the_whole_table(void)
{
	int i, j;

	load_table();
	for (i = 0; i < CAME_NR; i++)
		for (j = 0; j < CALL_NR; j++)
			CU_ASSERT_NOT_EQUAL(table[i][j], MISSING);
}

/* ---- the cases ---- */

#define HANDLES 3
#define OPENED_NR 4		/* SEEN to AFTER_FSYNC */

struct one {
	struct wb_handle *h;
	enum came came;
	enum call call;
};

struct run {
	struct one one[HANDLES];
	unsigned nr;
	bool sessions;		/* a session each */
	bool mends;		/* the server, after the failure */
	unsigned wrong;
};

static struct bench b;
static const struct bench_options small = { .slab_bytes = 8 * 65536 };

/* Answers all that is out and comes; the WRITEs with err. */
static void
serve(int err)
{
	struct wb_call *c;

	bench_turn(&b);
	while ((c = bench_take(&b, 0)))
		bench_answer(&b, c, c->kind == WB_CALL_WRITE ? err : 0,
			     WB_UNSTABLE, 1);
}

static int
fsync_says(struct wb_handle *h, int err)
{
	struct bench_done d = { 0 };

	handle_fsync(h, b.now, bench_done, &d);
	serve(err);
	CU_ASSERT_EQUAL(d.nr, 1);
	return d.err;
}

static int
close_says(struct wb_handle *h, int err)
{
	struct bench_done d = { 0 };

	handle_close(h, b.now, bench_done, &d);
	serve(err);
	CU_ASSERT_EQUAL(d.nr, 1);
	return d.err;
}

/* A handle of a process of its own, or all of one. */
static void
open_those(struct run *r, enum came came)
{
	unsigned i;

	for (i = 0; i < r->nr; i++)
		if (r->one[i].came == came)
			r->one[i].h = bench_open(&b, 1,
				r->sessions ? 20 + i : 20, O_RDWR);
}

/* The write call itself never fails and tells nothing. */
static void
check_write(struct run *r, unsigned i)
{
	bool accepted;

	if (r->sessions && i % 2)
		bench_swap(&b);
	accepted = bench_write(&b, r->one[i].h, 1000 * i, 10, 'w');
	if (r->sessions && i % 2)
		bench_swap(&b);
	r->wrong += !accepted ||
		    table[r->one[i].came][WRITE] != NOTHING;
}

static void
check(struct run *r, enum came came, enum call call, int err)
{
	r->wrong += err != (table[came][call] == REASON ? -ENOSPC : 0);
}

static void
run_handle(struct run *r, unsigned i)
{
	struct one *o = &r->one[i];
	int server = r->mends ? 0 : -ENOSPC;
	enum came came = r->mends ? o->came : FURTHER_TRY;

	if (o->call == WRITE)
		check_write(r, i);
	if (o->call == CLOSE) {
		check(r, came, CLOSE, close_says(o->h, server));
		o->h = NULL;
		return;
	}
	check(r, came, FSYNC, fsync_says(o->h, server));
	check(r, r->mends ? TOLD : FURTHER_TRY, FSYNC,
	      fsync_says(o->h, server));
	if (o->call == FSYNC)
		return;
	check(r, r->mends ? TOLD : FURTHER_TRY, CLOSE,
	      close_says(o->h, server));
	o->h = NULL;
}

static bool
any(const struct run *r, enum came came)
{
	unsigned i;

	for (i = 0; i < r->nr; i++)
		if (r->one[i].came == came)
			return true;
	return false;
}

/* Who wrote what fails is one more, and closes last. */
static void
run(struct run *r)
{
	struct wb_handle *writer;
	unsigned i;

	bench_init(&b, &small);
	b.check_every = 50;
	writer = bench_open(&b, 1, 10, O_RDWR);
	open_those(r, BETWEEN);
	open_those(r, AFTER_FSYNC);
	for (i = 0; i < r->nr; i++)
		if (r->one[i].came == AFTER_FSYNC)
			CU_ASSERT_EQUAL(fsync_says(r->one[i].h, 0), 0);
	CU_ASSERT(bench_write(&b, writer, 0, 5000, 'x'));
	bench_advance(&b, 40000000);		/* it is old now */
	serve(-ENOSPC);
	CU_ASSERT_EQUAL(handle_file(writer)->nr[EXTENT_FAILED], 1);
	open_those(r, UNSEEN);
	if (any(r, SEEN)) {
		int server = r->mends ? 0 : -ENOSPC;

		check(r, BETWEEN, FSYNC, fsync_says(writer, server));
		open_those(r, SEEN);
	}
	for (i = 0; i < r->nr; i++)
		run_handle(r, i);
	for (i = 0; i < r->nr; i++)
		if (r->one[i].h)
			(void)close_says(r->one[i].h, 0);
	(void)close_says(writer, 0);
	bench_free(&b);
}

/* Every handle every way: the digits of n. */
static void
run_all(unsigned nr, bool sessions, bool mends)
{
	unsigned ways = 1, n, i, rest;
	struct run r;

	log_set_level(LOG_LEVEL_ERROR);
	if (!table[0][0])
		load_table();
	for (i = 0; i < nr; i++)
		ways *= OPENED_NR * CALL_NR;
	for (n = 0; n < ways; n++) {
		r = (struct run){ .nr = nr, .sessions = sessions,
				  .mends = mends };
		for (rest = n, i = 0; i < nr; i++) {
			r.one[i].came = rest % OPENED_NR;
			rest /= OPENED_NR;
			r.one[i].call = rest % CALL_NR;
			rest /= CALL_NR;
		}
		run(&r);
		if (r.wrong)
			printf("# %u handles, way %u\n", nr, n);
		CU_ASSERT_EQUAL(r.wrong, 0);
	}
}

static void
one_handle_is_told_as_the_manual_says(void)
{
	run_all(1, false, true);
	run_all(1, false, false);
	run_all(1, true, true);
	run_all(1, true, false);
}

static void
two_handles_are_told_as_the_manual_says(void)
{
	run_all(2, false, true);
	run_all(2, false, false);
	run_all(2, true, true);
	run_all(2, true, false);
}

static void
three_handles_of_one_process_are_told_as_the_manual_says(void)
{
	run_all(3, false, true);
	run_all(3, false, false);
}

static void
three_handles_of_several_processes_are_told_as_the_manual_says(void)
{
	run_all(3, true, true);
	run_all(3, true, false);
}

/* ---- nobody there to be told ---- */

static void
who_opens_after_the_writer_died_is_told(void)
{
	struct wb_handle *h;

	bench_init(&b, &small);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 5000, 'x'));
	handle_close(h, b.now, NULL, NULL);	/* its process is gone */
	serve(-EDQUOT);
	CU_ASSERT_EQUAL(b.gave_up, 5000);
	h = bench_open(&b, 1, 11, O_RDWR);
	CU_ASSERT_EQUAL(fsync_says(h, 0), -EDQUOT);
	CU_ASSERT_EQUAL(fsync_says(h, 0), 0);
	CU_ASSERT_EQUAL(close_says(h, 0), 0);
	h = bench_open(&b, 1, 12, O_RDWR);
	CU_ASSERT_EQUAL(close_says(h, 0), 0);
	bench_free(&b);
}

static void
what_nobody_asks_for_is_not_kept_for_ever(void)
{
	struct wb_handle *h;
	struct fh fh;

	bench_init(&b, &small);
	h = bench_open(&b, 1, 10, O_RDWR);
	fh = *file_fh(handle_file(h));
	CU_ASSERT(bench_write(&b, h, 0, 5000, 'x'));
	handle_close(h, b.now, NULL, NULL);
	serve(-EDQUOT);
	CU_ASSERT_PTR_NOT_NULL(file_find(b.server, &fh));
	bench_advance(&b, b.limits.clean_expire_usec + 1);
	CU_ASSERT_PTR_NULL(file_find(b.server, &fh));
	bench_free(&b);
}

UNIT_TESTS(errseq,
	UNIT(manual_has_the_whole_table),
	UNIT(one_handle_is_told_as_the_manual_says),
	UNIT(two_handles_are_told_as_the_manual_says),
	UNIT(three_handles_of_one_process_are_told_as_the_manual_says),
	UNIT(three_handles_of_several_processes_are_told_as_the_manual_says),
	UNIT(who_opens_after_the_writer_died_is_told),
	UNIT(what_nobody_asks_for_is_not_kept_for_ever),
)
