/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tails.c - see tails.h */
#include "daemon/writeback/age.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/tails.h"

#define ROUND (1ull << 32)

RB_GENERATE_INTERNAL(file_dirty_tree, wb_file, by_turn, file_turn_cmp,
		     static __attribute__((unused)))

static void
leave(struct wb_file *f)
{
	struct wb_server *s = f->server;

	if (f->only_tail)
		TAILQ_REMOVE(&s->tail_files, f, tail_link);
	else
		RB_REMOVE(file_dirty_tree, &s->dirty_files, f);
	f->only_tail = false;
}

/* Behind all that the hand has passed, as they will be told. */
static struct turn
last_turn(struct wb_server *s)
{
	return (struct turn) { s->hand.at + ROUND, ++s->turn_nr };
}

void
dirty_add(struct wb_file *f)
{
	age_turn(f, last_turn(f->server));
	RB_INSERT(file_dirty_tree, &f->server->dirty_files, f);
	f->on_dirty = true;
}

void
dirty_remove(struct wb_file *f)
{
	leave(f);
	age_left(f);
	f->on_dirty = false;
}

void
dirty_to_the_back(struct wb_file *f)
{
	struct file_dirty_tree *t = &f->server->dirty_files;

	if (!f->on_dirty)
		return;
	if (!f->only_tail)
		RB_REMOVE(file_dirty_tree, t, f);
	age_turn(f, last_turn(f->server));
	if (!f->only_tail)
		RB_INSERT(file_dirty_tree, t, f);
}

void
dirty_has_turn(struct wb_file *f)
{
	if (turn_cmp(&f->server->hand, &f->turn) < 0)
		f->server->hand = f->turn;
}

/* No turn given so far is behind that, but those of files it has come to. */
struct turn
dirty_round_begins(struct wb_server *s)
{
	return (struct turn) { s->hand.at + ROUND, s->turn_nr };
}

void
dirty_round_ends(struct wb_server *s, struct turn began)
{
	s->hand = began;
}

struct wb_file *
dirty_head(struct wb_server *s)
{
	return RB_MIN(file_dirty_tree, &s->dirty_files);
}

struct wb_file *
dirty_last(struct wb_server *s)
{
	return RB_MAX(file_dirty_tree, &s->dirty_files);
}

struct wb_file *
dirty_first(struct wb_server *s)
{
	struct wb_file *f = dirty_head(s);

	return f ? f : TAILQ_FIRST(&s->tail_files);
}

struct wb_file *
dirty_next(struct wb_file *f)
{
	struct wb_file *next;

	if (f->only_tail)
		return TAILQ_NEXT(f, tail_link);
	next = RB_NEXT(file_dirty_tree, NULL, f);
	return next ? next : TAILQ_FIRST(&f->server->tail_files);
}

/* ---- tails ---- */

void
tails_found(struct wb_file *f)
{
	uint32_t wsize = file_wsize(f);

	if (!f->on_dirty || f->only_tail)
		return;
	leave(f);
	f->only_tail = true;
	f->tail_end = f->size - f->size % wsize + wsize;
	TAILQ_INSERT_TAIL(&f->server->tail_files, f, tail_link);
}

/* So many rounds have passed it, in which it would have gone to the back. */
void
tails_turn(struct wb_file *f)
{
	struct turn hand = f->server->hand;

	if (!f->only_tail || turn_cmp(&f->turn, &hand) > 0)
		return;
	f->turn.at += (hand.at - f->turn.at) / ROUND * ROUND;
	if (turn_cmp(&f->turn, &hand) <= 0)
		f->turn.at += ROUND;
}

void
tails_over(struct wb_file *f)
{
	if (!f->only_tail)
		return;
	if (f->on_age != AGE_OVER)
		tails_turn(f);
	leave(f);
	RB_INSERT(file_dirty_tree, &f->server->dirty_files, f);
}

void
tails_over_all(struct wb_server *s)
{
	struct wb_file *f;

	while ((f = TAILQ_FIRST(&s->tail_files)))
		tails_over(f);
}

/* What continues the tail only makes it longer. */
void
tails_joined(const struct extent *e)
{
	if (e->file->only_tail && e->offset != e->file->size)
		tails_over(e->file);
}

void
tails_grew(struct wb_file *f)
{
	if (f->only_tail && f->size >= f->tail_end)
		tails_over(f);
}
