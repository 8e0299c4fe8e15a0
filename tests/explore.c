/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explore.c - see explore.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/writepages.h"
#include "tests/explore.h"

/*	W file	the next block		S file	fsync
 *	O file	the first block again	R call	answered
 *	J call	told to come later	V	the server restarts
 *	T	the next timer */
struct event {
	char what;
	unsigned char nr;
};

static struct explore_state x;
static struct event path[EXPLORE_DEPTH];
static struct explored *result;
static unsigned long max_states;
static uint64_t *seen;			/* open addressing; 0: free */
static unsigned long seen_room;

/* ---- states that were seen ---- */

static bool
is_new(uint64_t h)
{
	unsigned long i;

	h += !h;
	for (i = h % seen_room; seen[i]; i = (i + 1) % seen_room)
		if (seen[i] == h)
			return false;
	seen[i] = h;
	return true;
}

/* ---- one world ---- */

static void
queued(struct bench *b, struct wb_call *c)
{
	const char *broken;

	(void)b;
	if (c->kind != WB_CALL_WRITE)
		return;
	broken = explore_check_write(&x, c);
	if (!x.broken)
		x.broken = broken;
}

/* Whoever writes the file has the bench from now on. */
static void
writer_of(unsigned file)
{
	unsigned wanted = file % x.world->writers;

	if (x.writer != wanted)
		bench_swap(&x.b);
	x.writer = wanted;
}

static bool
write_block(unsigned file, unsigned block)
{
	uint32_t size = x.world->bench.wsize;
	bool ok;

	writer_of(file);
	ok = bench_write(&x.b, x.file[file].handle, block * size, size, 'w');
	bench_turn(&x.b);
	writer_of(0);
	return ok;
}

static void
begin(const struct world *w)
{
	unsigned i, n;

	memset(&x, 0, sizeof x);
	x.world = w;
	x.verf = 1;
	srandom(1);		/* JUKEBOX' jitter */
	bench_init(&x.b, &w->bench);
	x.b.queued = queued;
	x.b.check_every = 1000000;
	for (i = 0; i < w->files; i++)
		x.file[i].handle = bench_open(&x.b, i, 10, O_RDWR);
	writer_of(w->writers - 1);	/* all are there */
	writer_of(0);
	for (n = 0; n < w->at_start; n++)
		for (i = 0; i < w->files; i++)
			x.file[i].written += write_block(i, n);
}

static void
end(void)
{
	bench_free(&x.b);
}

static bool
waits_for_room(unsigned file)
{
	bool waits;

	writer_of(file);
	waits = x.b.slab->waiting;
	writer_of(0);
	return waits;
}

static void
happen(struct event e)
{
	struct wb_call *c;

	switch (e.what) {
	case 'W':
		x.file[e.nr].written += write_block(e.nr, x.file[e.nr].written);
		break;
	case 'O':
		x.overwrites += write_block(e.nr, 0);
		break;
	case 'S':
		x.file[e.nr].syncs++;
		handle_fsync(x.file[e.nr].handle, x.b.now, bench_done,
			     &x.file[e.nr].done);
		bench_turn(&x.b);
		break;
	case 'R':
	case 'J':
		c = bench_take(&x.b, e.nr);
		x.refusals += e.what == 'J';
		bench_answer(&x.b, c, e.what == 'J' ? -EAGAIN : 0, c->stable,
			     x.verf);
		break;
	case 'V':
		x.restarts++;
		x.verf++;
		break;
	case 'T':
		x.timers++;
		if (wb_deadline(x.b.wb) > x.b.now)
			x.b.now = wb_deadline(x.b.wb);
		bench_turn(&x.b);
		break;
	}
}

static void
again(unsigned depth)
{
	unsigned i;

	end();
	begin(x.world);
	for (i = 0; i < depth; i++)
		happen(path[i]);
}

/* ---- what may happen ---- */

#define EVENTS_MAX 256

static unsigned
add(struct event *list, unsigned nr, char what, unsigned which)
{
	list[nr] = (struct event) { what, (unsigned char)which };
	return nr + 1;
}

static unsigned
file_events(struct event *list, unsigned nr)
{
	const struct world *w = x.world;
	unsigned i;

	for (i = 0; i < w->files; i++) {
		if (x.file[i].written < w->blocks && !waits_for_room(i))
			nr = add(list, nr, 'W', i);
		if (x.file[i].written && x.overwrites < w->overwrites &&
		    !waits_for_room(i))
			nr = add(list, nr, 'O', i);
		if (x.file[i].syncs < w->syncs)
			nr = add(list, nr, 'S', i);
	}
	return nr;
}

static unsigned
events(struct event *list)
{
	const struct world *w = x.world;
	unsigned nr = file_events(list, 0), i;

	for (i = 0; i < x.b.call_nr; i++) {
		if (w->answers && i >= w->answers)
			break;
		nr = add(list, nr, 'R', i);
		if (x.refusals < w->refusals)
			nr = add(list, nr, 'J', i);
	}
	if (x.restarts < w->restarts)
		nr = add(list, nr, 'V', 0);
	if (x.timers < w->timers && wb_deadline(x.b.wb) != UINT64_MAX)
		nr = add(list, nr, 'T', 0);
	return nr;
}

/* ---- the ends ---- */

static bool
all_clean(void)
{
	return !wb_left_bytes(x.b.wb);
}

/* A good server, and time: every fsync ends, and all becomes CLEAN. */
static const char *
drained(void)
{
	unsigned i, round;

	for (i = 0; i < x.world->files; i++) {
		x.file[i].syncs++;
		handle_fsync(x.file[i].handle, x.b.now, bench_done,
			     &x.file[i].done);
	}
	for (round = 0; round < 100; round++) {
		bench_serve(&x.b, x.verf);
		if (all_clean())
			break;
		if (wb_deadline(x.b.wb) == UINT64_MAX)
			return "nothing is on its way, and not all is CLEAN";
		x.b.now = MAX(x.b.now, wb_deadline(x.b.wb));
	}
	bench_turn(&x.b);
	for (i = 0; i < x.world->files; i++)
		if (x.file[i].done.nr != x.file[i].syncs)
			return "an fsync did not end";
	return all_clean() ? NULL : "not all became CLEAN";
}

static bool
say(const char *broken, unsigned depth)
{
	unsigned i;

	printf("# %s, after", broken);
	for (i = 0; i < depth; i++)
		printf(" %c%u", path[i].what, path[i].nr);
	printf("\n# writeback %llu, async waits %d, sync wait %u, calls %u\n",
	       (unsigned long long)x.b.server->bytes[EXTENT_WRITEBACK],
	       x.b.server->async_pass.waits,
	       x.b.server->congestion.sync.waiting_nr, x.b.call_nr);
	return false;
}

/* ---- all paths ---- */

static bool from_here(unsigned depth);

static bool
after(struct event e, unsigned depth)
{
	const char *broken;

	path[depth] = e;
	explore_note(&x, e.what, e.nr);
	x.b.check_every = 0;
	happen(e);
	x.b.check_every = 1000000;
	result->events++;
	broken = explore_check(&x);
	if (broken)
		return say(broken, depth + 1);
	return from_here(depth + 1);
}

static void
note_waits(void)
{
	const struct wb_server *s = x.b.server;

	result->async_waits += s->async_pass.waits;
	result->most_sync = MAX(result->most_sync,
				s->congestion.sync.waiting_nr);
}

static bool
from_here(unsigned depth)
{
	struct event list[EVENTS_MAX];
	unsigned nr, i;

	if (!is_new(explore_hash(&x)))
		return true;
	note_waits();
	if (++result->states > max_states || depth == EXPLORE_DEPTH)
		return say("too many states", depth);
	nr = events(list);
	for (i = 0; i < nr; i++) {
		if (i)
			again(depth);
		if (!after(list[i], depth))
			return false;
	}
	if (!nr || !x.b.call_nr) {
		const char *broken;

		if (nr)
			again(depth);
		if (x.b.call_nr)
			return true;
		result->ends++;
		broken = drained();
		if (broken)
			return say(broken, depth);
	}
	return true;
}

bool
explore(const struct world *w, unsigned long states, struct explored *r)
{
	bool ok;

	result = r;
	memset(r, 0, sizeof *r);
	max_states = states;
	seen_room = 2 * states + 1;	/* calloc: untouched until used */
	seen = calloc(seen_room, sizeof *seen);
	if (!seen)
		abort();
	begin(w);
	ok = from_here(0);
	end();
	free(seen);
	return ok;
}
