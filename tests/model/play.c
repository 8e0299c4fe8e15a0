/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* play.c - see play.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/play.h"
#include "tests/model/play_impl.h"
#include "tests/random.h"

struct stage *st;

/* ---- who is in the way of whom ---- */

static struct image *
image_of(const struct op *o)
{
	switch (o->kind) {
	case OP_OPEN:
		return st->name[o->name];
	case OP_CLOSE:
	case OP_WRITE:
	case OP_TRUNCATE:
	case OP_READ:
	case OP_STAT:
	case OP_FSYNC:
		if (!st->client[o->client].slot[o->slot].file)
			return st->name[o->name];	/* opens it first */
		return st->client[o->client].slot[o->slot].image;
	default:
		return NULL;
	}
}

static bool
opens(const struct op *o)
{
	return o->kind == OP_OPEN ||
	       (o->kind <= OP_FSYNC &&
		!st->client[o->client].slot[o->slot].file);
}

static bool
mutates(const struct op *o)
{
	return o->kind == OP_WRITE || o->kind == OP_TRUNCATE ||
	       (opens(o) && o->flags & OPEN_TRUNC);
}

static unsigned
names_of(const struct op *o)
{
	unsigned names = 0;

	if (opens(o) || o->kind == OP_RENAME || o->kind == OP_UNLINK)
		names |= 1u << o->name;
	if (o->kind == OP_RENAME)
		names |= 1u << o->to;
	return names;
}

/* A write beside a truncation: either may come first. */
static bool
may_cross(const struct flight *f, const struct op *o)
{
	const struct slot *s = &st->client[o->client].slot[o->slot];

	return f->cuts && !f->crossed_len && o->kind == OP_WRITE && s->file &&
	       !s->append;
}

static bool
in_the_way(const struct flight *f, const struct op *o)
{
	struct image *m = image_of(o);

	if (f->names & names_of(o))
		return true;
	if (o->kind == OP_RESTART || o->kind == OP_PASS)
		return false;
	if (f->client == o->client)
		return true;
	if (f->all || o->kind == OP_SYNC)
		return true;
	if (!m || m != f->image)
		return false;
	if (f->mutates)
		return !may_cross(f, o);
	return mutates(o) && f->state_nr == STATES;
}

static bool
may_run(const struct op *o)
{
	const struct flight *f;

	for (f = st->flights; f; f = f->next)
		if (in_the_way(f, o))
			return false;
	return true;
}

void
flight_begin(struct flight *f, const struct op *o, struct image *m,
	     bool keep_states)
{
	memset(f, 0, offsetof(struct flight, state));
	f->client = o->client;
	f->image = m;
	f->mutates = mutates(o);
	f->names = names_of(o);
	f->cuts = o->kind == OP_TRUNCATE && keep_states;
	f->all = o->kind == OP_SYNC || o->kind == OP_VANISH;
	if (keep_states)
		image_state(m, &f->state[f->state_nr++]);
	f->next = st->flights;
	st->flights = f;
}

void
flight_end(struct flight *f)
{
	if (st->flights != f)
		world_fail("flights end out of order");
	st->flights = f->next;
}

/* An image has changed: those who look at it may see either. */
void
flights_see(struct image *m)
{
	struct flight *f;

	for (f = st->flights; f; f = f->next)
		if (f->image == m && f->state_nr && f->state_nr < STATES)
			image_state(m, &f->state[f->state_nr++]);
}

/* ---- the program ---- */

static void print_op(const struct op *);

static void
say_op(const struct op *o, const char *what)
{
	uint64_t usec = loop_now(st->world->loop) - 1000 * SECOND;

	printf("# %" PRIu64 " %u %s:", usec, (unsigned)(o - st->play->op),
	       what);
	print_op(o);
}

static void
run_next(void)
{
	const struct op *o = &st->play->op[st->next++];

	st->depth++;
	st->played->ops++;
	if (st->loud)
		say_op(o, "begins");
	op_run(o);
	if (st->loud)
		say_op(o, "has ended");
	st->depth--;
}

static void
beside(void *arg, unsigned rounds)
{
	const struct op *o = &st->play->op[st->next];
	unsigned since = st->play->beside_calls ?
			 st->played->calls - st->calls_at_begin : rounds;

	(void)arg;
	if (st->next >= st->play->nr || st->depth >= DEPTH || !o->beside ||
	    since < o->after || !may_run(o))
		return;
	st->played->beside++;
	run_next();
}

static void
gave_up(void *arg, const struct fh *fh, uint64_t offset, uint64_t length)
{
	struct image *m = stage_image(fh);

	(void)arg;
	if (m && offset + length <= IMAGE_MAX)
		image_give_up(m, offset, length);
}

static void
raise_curtain(void)
{
	const struct play *p = st->play;
	struct world_options o = p->world;
	unsigned i;

	o.seed = p->seed;
	st->random = random_start(p->seed ^ 0x5eed);
	st->world = world_new(&o);
	st->world->gave_up = gave_up;
	for (i = 0; i < (p->clients ? p->clients : CLIENTS); i++)
		st->client[i].nfs = world_connect(st->world,
						  i == 2 ? 1001 : 1000);
	nfssim_set_fault(st->world->sim, stage_fault, NULL);
	st->world->beside = beside;
	stage_crash_later();
}

static void
bow_out(void)
{
	struct image *m;
	unsigned i;

	loop_timer_free(st->world->loop, st->crash);
	world_free(st->world);
	while ((m = st->images)) {
		st->images = m->next;
		free(m);
	}
	for (i = 0; i < DEPTH + 1; i++)
		free(st->flight[i]);
}

void
play(const struct play *p, struct played *played)
{
	struct stage stage = { .play = p, .played = played,
			       .loud = getenv("PLAY_VERBOSE") };

	memset(played, 0, sizeof *played);
	st = &stage;
	raise_curtain();
	while (st->next < p->nr) {
		if (st->next == p->prologue)
			st->counting = true;
		st->calls_at_begin = played->calls;
		run_next();
	}
	st->counting = true;
	stage_end();
	played->usec = loop_now(st->world->loop) - 1000 * SECOND;
	bow_out();
	st = NULL;
}

/* ---- for people ---- */

static const char *const kind_name[] = {
	"open", "close", "write", "truncate", "read", "stat", "fsync",
	"rename", "unlink", "sync", "pass", "restart", "vanish",
};

static const char *const trouble_name[] = { "crash", "cut", "verifier" };

static void
print_op(const struct op *o)
{
	printf("#  %s%-8s", o->beside ? "| " : "", kind_name[o->kind]);
	if (o->beside)
		printf(" (after %u)", o->after);
	if (o->kind == OP_PASS) {
		printf(" %u usec\n", o->length);
		return;
	}
	if (o->kind == OP_RESTART) {
		printf(" %s\n", trouble_name[o->flags % TROUBLES]);
		return;
	}
	printf(" client %u", o->client);
	if (o->kind <= OP_FSYNC)
		printf(" slot %u f%u%s%s%s%s", o->slot, o->name,
		       o->flags & OPEN_PLAIN ? " plain" : "",
		       o->flags & OPEN_EXCL ? " excl" : "",
		       o->flags & OPEN_TRUNC ? " trunc" : "",
		       o->flags & OPEN_APPEND ? " append" : "");
	if (o->kind == OP_WRITE || o->kind == OP_READ)
		printf(" %u+%u", o->offset, o->length);
	if (o->kind == OP_TRUNCATE)
		printf(" to %u", o->offset);
	if (o->kind == OP_RENAME)
		printf(" f%u f%u", o->name, o->to);
	if (o->kind == OP_UNLINK)
		printf(" f%u", o->name);
	printf("\n");
}

void
play_print(const struct play *p)
{
	unsigned i;

	printf("# seed %" PRIu64 ", %u operations", p->seed, p->nr);
	if (p->at_call)
		printf(", %s at call %u%s", trouble_name[p->trouble],
		       p->at_call, p->after_reply ? ", after its reply" : "");
	printf("\n");
	for (i = 0; i < p->nr; i++)
		print_op(&p->op[i]);
}
