/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sync_group.c - waits for several files as one
 *
 * The group counts its files, and itself until sync_group_end, so that done
 * comes once, when the last is over.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/sync.h"

struct sync_group {
	unsigned left;
	int err;
	wb_done_fn *done;
	void *arg;
};

struct sync_group *
sync_group_new(wb_done_fn *done, void *arg)
{
	struct sync_group *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	g->left = 1;
	g->done = done;
	g->arg = arg;
	return g;
}

static void
group_done(void *arg, int err)
{
	struct sync_group *g = arg;

	if (err && !g->err)
		g->err = err;
	if (--g->left)
		return;
	g->done(g->arg, g->err);
	free(g);
}

void
sync_group_add(struct sync_group *g, struct wb_file *f, uint64_t now)
{
	g->left++;
	if (sync_begin(f, SYNC_ALL, NULL, now, group_done, g) == 0)
		return;
	g->left--;
	g->err = -ENOMEM;
}

void
sync_group_end(struct sync_group *g, struct wb *wb)
{
	wb_fail_later(wb, group_done, g, 0);
}

enum waiting_for
sync_waiting_for(const struct wb *wb, const void *arg)
{
	enum waiting_for all = WAIT_NONE, one;
	const struct wb_server *s;
	const struct sync_wait *w;
	struct wb_file *f, *next;

	LIST_FOREACH(s, &wb->servers, link)
		HASH_ITER(hh, s->files, f, next)
			TAILQ_FOREACH(w, &f->waits, link) {
				if (w->done != group_done ||
				    ((struct sync_group *)w->arg)->arg != arg)
					continue;
				one = file_waiting_for(f, w->arg);
				if (one == WAIT_WRITE)
					return one;
				all = one;
			}
	return all;
}

void
sync_drop_done(wb_done_fn *done, void *arg)
{
	struct sync_group *g = done == group_done ? arg : NULL;

	if (g && --g->left == 0)
		free(g);
}

/* Waiting for a file makes all of its FAILED extents DIRTY, so each file is
   added once. */
static void
add_failed(struct sync_group *g, struct chunk_list *chunks, uint64_t now)
{
	struct chunk *c;
	struct extent *e;

	TAILQ_FOREACH(c, chunks, link)
		LIST_FOREACH(e, &c->extents, chunk_link)
			if (e->state == EXTENT_FAILED)
				sync_group_add(g, e->file, now);
}

void
slab_retry_failed(struct slab *s, uint64_t now, wb_done_fn *done, void *arg)
{
	struct sync_group *g = sync_group_new(done, arg);

	if (!g) {
		wb_fail_later(s->wb, done, arg, -ENOMEM);
		return;
	}
	add_failed(g, &s->closed, now);
	add_failed(g, &s->open, now);
	sync_group_end(g, s->wb);
}
