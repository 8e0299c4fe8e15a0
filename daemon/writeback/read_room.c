/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read_room.c - chunks for what is READ, and giving them back
 *
 * What is READ has half of a slab at most, and takes nothing while a writer waits
 * for room.  A chunk whose bytes the library has copied is used first: it is warm,
 * and so a reader that goes through a large file touches few pages.  Writers get
 * back, in this order: what was told, what is here and nobody waits for, what is
 * on the way for nobody; so they wait for no READ but one that somebody waits for.
 */
#include "common/crash.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/reclaim.h"

void
reads_due(struct wb *wb, uint64_t at_usec)
{
	if (at_usec >= wb->next_read_usec)
		return;
	wb->next_read_usec = at_usec;
	if (at_usec < wb->deadline)
		wb_poke(wb);
}

static uint32_t
most(const struct slab *s)
{
	return s->view.layout.chunk_nr / 2;
}

/* Has the library copied all that it was told of it?  Its word for it is good
   enough: it would only harm itself. */
static bool
is_copied(struct slab *s, struct chunk *c)
{
	return nfswb_mark_fill(atomic_load(slab_mark(s, c))) >= c->handed;
}

static void
leave(struct slab *s, struct chunk *c)
{
	s->read_nr--;
	slab_chunk_move(s, c, CHUNK_FREE);
	if (s->waiting)
		wb_poke(s->wb);
}

static bool
nobody_waits(const struct read_block *b)
{
	return TAILQ_EMPTY(&b->waits);
}

/* The oldest one that nobody waits for is gone; false: there is none. */
static bool
drop_oldest(struct slab *s, bool here)
{
	struct read_block *b;

	TAILQ_FOREACH(b, &s->reads, link)
		if (b->chunk_nr && nobody_waits(b) &&
		    (b->state == READ_HERE) == here)
			break;
	if (!b)
		return false;
	read_wasted(b);
	read_free(b);
	return true;
}

/* None that is told, here or on the way is given up for what is read ahead. */
static struct chunk *
find(struct slab *s, bool ahead)
{
	struct chunk *c = TAILQ_FIRST(&s->handed);

	if (c && is_copied(s, c))
		return c;
	if (s->read_nr < most(s) && !s->waiting) {
		c = TAILQ_FIRST(&s->free);
		if (!c && reclaim_clean_chunk(s))
			c = TAILQ_FIRST(&s->free);
		if (c)
			return c;
	}
	if (ahead)
		return NULL;
	if (!s->waiting && drop_oldest(s, true))
		return TAILQ_FIRST(&s->free);
	return TAILQ_FIRST(&s->handed);
}

bool
read_room_get(struct read_block *b, bool ahead)
{
	struct slab *s = b->slab;
	struct chunk *c = find(s, ahead);

	if (!c)
		return false;
	if (c->state == CHUNK_FREE)
		s->read_nr++;
	crash_point();
	atomic_store(slab_mark(s, c), nfswb_mark_read(++s->read_mark));
	c->granted = c->posted = c->handed = 0;
	slab_chunk_move(s, c, CHUNK_READ);
	b->chunk[b->chunk_nr++] = (uint32_t)(c - s->chunk);
	return true;
}

void
read_room_put(struct read_block *b)
{
	struct slab *s = b->slab;
	struct chunk *c;

	while (b->chunk_nr) {
		c = &s->chunk[b->chunk[--b->chunk_nr]];
		if (!c->handed) {
			leave(s, c);
			continue;
		}
		slab_chunk_move(s, c, CHUNK_HANDED);
		reads_due(s->wb, c->used_usec + READ_KEEP_USEC);
		if (s->waiting)
			wb_poke(s->wb);
	}
}

void
read_room_end(struct slab *s)
{
	struct chunk *c;

	while ((c = TAILQ_FIRST(&s->handed)))
		leave(s, c);
}

bool
reads_give(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->handed);

	if (c)
		leave(s, c);
	while (TAILQ_EMPTY(&s->free) &&
	       (drop_oldest(s, true) || drop_oldest(s, false)))
		if ((c = TAILQ_FIRST(&s->handed)))
			leave(s, c);
	return !TAILQ_EMPTY(&s->free);
}

/* ---- time ---- */

/* Its pages go. */
static void
expire_chunk(struct slab *s, struct chunk *c)
{
	crash_point();
	atomic_store(slab_mark(s, c), NFSWB_MARK_CLOSED);
	leave(s, c);
	slab_chunk_idle(s, c);
}

static void
expire_block(struct read_block *b)
{
	struct slab *s = b->slab;
	uint32_t i;

	if (!b->told)
		b->file->read_wasted++;
	read_wasted(b);
	for (i = 0; i < b->chunk_nr; i++)
		expire_chunk(s, &s->chunk[b->chunk[i]]);
	b->chunk_nr = 0;
	read_free(b);
}

/* One whose time has come; false: it is not due. */
static bool
run_block(struct read_block *b, uint64_t now)
{
	if (b->state == READ_OUT)
		return false;
	if (b->due_usec > now) {
		reads_due(b->file->server->wb, b->due_usec);
		return false;
	}
	if (b->state == READ_DELAYED)
		read_again(b);
	else
		expire_block(b);
	return true;
}

static void
run_slab(struct slab *s, uint64_t now)
{
	struct read_block *b, *next;
	struct chunk *c;

	while ((c = TAILQ_FIRST(&s->handed)) &&
	       now - c->used_usec >= READ_KEEP_USEC)
		expire_chunk(s, c);
	if (c)
		reads_due(s->wb, c->used_usec + READ_KEEP_USEC);
	TAILQ_FOREACH_SAFE(b, &s->reads, link, next)
		(void)run_block(b, now);
}

void
reads_run(struct wb *wb, uint64_t now)
{
	struct slab *s;

	if (now >= wb->next_read_usec) {
		wb->next_read_usec = UINT64_MAX;
		LIST_FOREACH(s, &wb->slabs, link)
			run_slab(s, now);
	}
	if (wb->next_read_usec != UINT64_MAX)
		wb_due(wb, wb->next_read_usec);
}
