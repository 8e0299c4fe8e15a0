/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* age.c - see age.h */
#include "daemon/writeback/age.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/tails.h"

static int
age_cmp(struct wb_file *a, struct wb_file *b)
{
	if (a->age_usec != b->age_usec)
		return a->age_usec < b->age_usec ? -1 : 1;
	return a < b ? -1 : a > b;
}

#define TREE(name, cmp) \
	RB_GENERATE_INTERNAL(name, wb_file, by_age, cmp, \
			     static __attribute__((unused)))
TREE(file_age_tree, age_cmp)
TREE(file_turn_tree, file_turn_cmp)

void
age_left(struct wb_file *f)
{
	struct wb_server *s = f->server;

	if (f->on_age == AGE_WAITS)
		RB_REMOVE(file_age_tree, &s->ages, f);
	else if (f->on_age == AGE_OVER)
		RB_REMOVE(file_turn_tree, &s->aged, f);
	f->on_age = AGE_NONE;
}

static void
look_at(struct wb_file *f, uint64_t usec)
{
	age_left(f);
	f->age_usec = usec;
	RB_INSERT(file_age_tree, &f->server->ages, f);
	f->on_age = AGE_WAITS;
}

static void
is_over(struct wb_file *f)
{
	age_left(f);
	tails_turn(f);
	RB_INSERT(file_turn_tree, &f->server->aged, f);
	f->on_age = AGE_OVER;
}

void
age_joined(const struct extent *e)
{
	struct wb_file *f = e->file;
	uint64_t due = e->dirtied_usec +
		       f->server->wb->limits.dirty_expire_usec;

	if (f->on_age == AGE_NONE ||
	    (f->on_age == AGE_WAITS && due < f->age_usec))
		look_at(f, due);
}

void
age_look(struct wb_file *f)
{
	if (f->on_age == AGE_WAITS)
		look_at(f, 0);
}

void
age_turn(struct wb_file *f, struct turn to)
{
	bool over = f->on_age == AGE_OVER;

	if (over)
		age_left(f);
	f->turn = to;
	if (over)
		is_over(f);
}

/* When the file's oldest DIRTY byte has to go.  One that waits for a truncation, a
   pause or the answer of a WRITE is put off: their end has us look again. */
static uint64_t
due(struct wb_file *f, uint64_t now)
{
	uint64_t expire = f->server->wb->limits.dirty_expire_usec;
	uint64_t at = extent_oldest(&f->to_write)->dirtied_usec + expire;

	if (at > now || flusher_may_write(f, now))
		return at;
	return f->not_before_usec > now ? f->not_before_usec : now + expire;
}

/* Those whose time has come. */
static void
come_of_age(struct wb_server *s, uint64_t now)
{
	struct wb_file *f;

	while ((f = RB_MIN(file_age_tree, &s->ages)) && f->age_usec <= now)
		is_over(f);
	if (f)
		wb_due(s->wb, f->age_usec);
}

struct wb_file *
age_first(struct wb_server *s, uint64_t now)
{
	struct wb_file *f;
	uint64_t at;

	if (s->window && s->ops_out >= s->window)
		return NULL;		/* nothing may be written now */
	come_of_age(s, now);
	while ((f = RB_MIN(file_turn_tree, &s->aged))) {
		at = due(f, now);
		if (at <= now)
			return f;
		look_at(f, at);
		wb_due(s->wb, at);
	}
	return NULL;
}
