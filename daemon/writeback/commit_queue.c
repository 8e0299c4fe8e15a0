/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* commit_queue.c - see commit_queue.h */
#include "daemon/writeback/commit_queue.h"
#include "daemon/writeback/pipeline_impl.h"

static int
bytes_cmp(struct wb_file *a, struct wb_file *b)
{
	if (a->queued_bytes != b->queued_bytes)
		return a->queued_bytes < b->queued_bytes ? -1 : 1;
	return a->queued_nr < b->queued_nr ? -1 : a->queued_nr > b->queued_nr;
}

RB_GENERATE_INTERNAL(file_bytes_tree, wb_file, by_bytes, bytes_cmp,
		     static __attribute__((unused)))

static int
age_cmp(struct wb_file *a, struct wb_file *b)
{
	return a->unstable_nr < b->unstable_nr ? -1
					       : a->unstable_nr > b->unstable_nr;
}

RB_GENERATE_INTERNAL(file_unstable_tree, wb_file, by_unstable, age_cmp,
		     static __attribute__((unused)))

static struct file_bytes_tree *
tree_of(struct wb_file *f, enum commit_queue q)
{
	struct wb_server *s = f->server;

	return q == QUEUE_WANTED ? &s->wanted_by_bytes : &s->idle_by_bytes;
}

static enum commit_queue
belongs_to(const struct wb_file *f)
{
	if (f->wants_commit)
		return f->commit_waited ? QUEUE_NONE : QUEUE_WANTED;
	return f->on_unstable && !f->commit ? QUEUE_IDLE : QUEUE_NONE;
}

void
commit_queue_look(struct wb_file *f)
{
	enum commit_queue to = belongs_to(f);
	uint64_t bytes = f->bytes[EXTENT_UNSTABLE];
	struct wb_server *s = f->server;

	if (to == f->queue && (to == QUEUE_NONE || bytes == f->queued_bytes))
		return;
	if (f->queue != QUEUE_NONE)
		RB_REMOVE(file_bytes_tree, tree_of(f, f->queue), f);
	if (to != f->queue) {
		if (f->queue == QUEUE_IDLE)
			RB_REMOVE(file_unstable_tree, &s->idle_by_age, f);
		f->queued_nr = ++s->queued_nr;
		if (to == QUEUE_IDLE)
			RB_INSERT(file_unstable_tree, &s->idle_by_age, f);
	}
	f->queue = to;
	f->queued_bytes = bytes;
	if (to != QUEUE_NONE)
		RB_INSERT(file_bytes_tree, tree_of(f, to), f);
}

struct wb_file *
commit_queue_largest(struct wb_server *s)
{
	return RB_MAX(file_bytes_tree, &s->wanted_by_bytes);
}

struct wb_file *
commit_queue_idle(struct wb_server *s)
{
	return RB_MAX(file_bytes_tree, &s->idle_by_bytes);
}

struct wb_file *
commit_queue_smaller(struct wb_file *f)
{
	return RB_PREV(file_bytes_tree, NULL, f);
}

struct wb_file *
commit_queue_oldest(struct wb_server *s)
{
	return RB_MIN(file_unstable_tree, &s->idle_by_age);
}

struct wb_file *
commit_queue_younger(struct wb_file *f)
{
	return RB_NEXT(file_unstable_tree, NULL, f);
}
