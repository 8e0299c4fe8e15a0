/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell_foreground.c - those who ask the server while others write
 *
 *	reader		one long file from its beginning to its end, so many READs
 *			of 1 MiB out at a time
 *	stat		a GETATTR every so often, whether or not the last one was
 *			answered
 *	program		so many small files, one after the other: LOOKUP, GETATTR
 *			(open), READ
 *
 * What they read is not in the server's memory, and nobody else uses it.  All
 * calls are of the foreground class, and go the way of the pipeline's.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "bench/cell_impl.h"
#include "rpc/nfs3.h"

#define MIB (1u << 20)
#define READ_FILE 1000000	/* file numbers that no writer has */
#define PROGRAM_FILE 2000000

enum program_step { STEP_LOOKUP, STEP_GETATTR, STEP_READ, STEP_NR };

struct foreground {
	struct cell *cell;
	struct cell_foreground params;
	struct loop_timer *start, *stat, *program;
	uint64_t read_at, read_began_usec;
	unsigned program_nr, program_file;
	enum program_step step;
	uint64_t program_began_usec;
};

void
cell_time_add(struct cell_times *t, uint64_t usec)
{
	uint32_t *more;

	if (t->nr == t->room) {
		more = realloc(t->usec, (t->room * 2 + 64) * sizeof *more);
		if (!more)
			exit(1);
		t->usec = more;
		t->room = t->room * 2 + 64;
	}
	t->usec[t->nr++] = (uint32_t)MIN(usec, UINT32_MAX);
}

static void
ask(struct foreground *f, struct cell_ask a)
{
	a.arg = f;
	cell_ask(&f->cell->net[0], &a);
}

/* ---- the reader ---- */

static void read_came(void *, uint64_t);

static void
read_more(struct foreground *f)
{
	uint64_t n = MIN(f->params.read_bytes - f->read_at, MIB);

	if (!n)
		return;
	ask(f, (struct cell_ask){
		.proc = NFSPROC3_READ, .kind = MODEL_READ, .file = READ_FILE,
		.offset = f->read_at, .length = n, .reply_bytes = n,
		.done = read_came });
	f->read_at += n;
}

static void
read_came(void *arg, uint64_t usec)
{
	struct foreground *f = arg;
	struct cell_result *r = f->cell->result;

	(void)usec;
	r->read_bytes = MIN(r->read_bytes + MIB, f->params.read_bytes);
	f->cell->sample.read_bytes = r->read_bytes;
	r->read_usec = loop_now(f->cell->loop) - f->read_began_usec;
	read_more(f);
}

/* ---- stat ---- */

static void
stat_came(void *arg, uint64_t usec)
{
	struct foreground *f = arg;
	struct cell_sample *s = &f->cell->sample;

	if (f->cell->params.times)
		cell_time_add(&f->cell->result->stats, usec);
	s->stat_usec = MAX(s->stat_usec, usec);
}

static void
stat_now(void *arg)
{
	struct foreground *f = arg;

	ask(f, (struct cell_ask){ .proc = NFSPROC3_GETATTR,
				  .kind = MODEL_OTHER, .done = stat_came });
	loop_timer_set(f->cell->loop, f->stat, f->params.stat_every_usec);
}

/* ---- the program ---- */

static void program_came(void *, uint64_t);

static void
program_step(struct foreground *f)
{
	static const struct cell_ask steps[STEP_NR] = {
		[STEP_LOOKUP] = { .proc = NFSPROC3_LOOKUP,
				  .kind = MODEL_OTHER },
		[STEP_GETATTR] = { .proc = NFSPROC3_GETATTR,
				   .kind = MODEL_OTHER },
		[STEP_READ] = { .proc = NFSPROC3_READ, .kind = MODEL_READ },
	};
	struct cell_ask a = steps[f->step];

	a.done = program_came;
	a.file = PROGRAM_FILE + f->program_file;
	if (f->step == STEP_READ)
		a.length = a.reply_bytes = f->params.program_bytes;
	ask(f, a);
}

static void
program_came(void *arg, uint64_t usec)
{
	struct foreground *f = arg;
	struct loop *loop = f->cell->loop;

	(void)usec;
	if (++f->step == STEP_NR) {
		f->step = STEP_LOOKUP;
		if (++f->program_file % f->params.program_files == 0) {
			if (f->cell->params.times)
				cell_time_add(&f->cell->result->programs,
					      loop_now(loop) -
					      f->program_began_usec);
			loop_timer_set(loop, f->program,
				       f->params.program_pause_usec);
			return;
		}
	}
	program_step(f);
}

static void
program_now(void *arg)
{
	struct foreground *f = arg;

	f->program_began_usec = loop_now(f->cell->loop);
	program_step(f);
}

/* ---- all of them ---- */

static void
start(void *arg)
{
	struct foreground *f = arg;
	unsigned i;

	f->read_began_usec = loop_now(f->cell->loop);
	for (i = 0; i < f->params.read_ahead; i++)
		read_more(f);
	if (f->params.stat_every_usec)
		stat_now(f);
	if (f->params.program_files)
		program_now(f);
}

int
foreground_start(struct cell *c, struct foreground **out)
{
	struct foreground *f = calloc(1, sizeof *f);

	*out = f;
	if (!f)
		return -ENOMEM;
	f->cell = c;
	f->params = c->params.foreground;
	f->start = loop_timer(c->loop, start, f);
	f->stat = loop_timer(c->loop, stat_now, f);
	f->program = loop_timer(c->loop, program_now, f);
	if (!f->start || !f->stat || !f->program)
		return -ENOMEM;
	loop_timer_set(c->loop, f->start, f->params.start_usec);
	return 0;
}

void
foreground_free(struct foreground *f)
{
	if (!f)
		return;
	loop_timer_free(f->cell->loop, f->start);
	loop_timer_free(f->cell->loop, f->stat);
	loop_timer_free(f->cell->loop, f->program);
	free(f);
}
