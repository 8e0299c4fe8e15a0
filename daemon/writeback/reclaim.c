/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim.c - room out of what is on stable storage
 *
 * After what was written and is CLEAN comes what was READ and nobody waits for.
 *
 * So that a writer takes no more memory than what is not stable yet, CLEAN data
 * that nobody reads gives its room before memory that was never used.
 *
 * A slab's CLEAN chunks stand in the order in which they became CLEAN, so the
 * oldest is the first: O(1) a chunk, plus its extents.  All slabs are looked at
 * when one of them can have a chunk that expires, LOOKS times in clean_expire at
 * most: O(slabs) then.
 *
 * This is the fast path.  Who finds nothing here: reclaim_policy.c.
 */
#include <assert.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/reclaim.h"

#define LOOKS 64		/* while a chunk expires, at most */

/* The bytes that were in it. */
static uint64_t
give_up_clean(struct chunk *c)
{
	struct extent *e;
	struct wb_file *f;
	uint64_t bytes = 0;

	while ((e = LIST_FIRST(&c->extents))) {
		assert(e->state == EXTENT_CLEAN);
		f = e->file;
		bytes += e->length;
		extent_drop(e);		/* the last one makes the chunk FREE */
		file_kick(f);
	}
	return bytes;
}

static void
count_freed(struct slab *s, uint64_t bytes)
{
	s->wb->stats.reclaim.reclaims++;
	s->wb->stats.reclaim.freed_bytes += bytes;
}

bool
reclaim_clean_chunk(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->clean);

	if (!c)
		return false;
	count_freed(s, give_up_clean(c));
	return true;
}

bool
reclaim_clean_extent(struct slab *s)
{
	struct extent *e = TAILQ_FIRST(&s->clean_extents);
	struct wb_file *f;

	if (!e)
		return false;
	f = e->file;
	count_freed(s, e->length);
	extent_drop(e);
	file_kick(f);
	return true;
}

/* Than memory that was not touched yet, where nobody who may read what is CLEAN
   has it open: a page's first touch costs several times the copying. */
static bool
clean_is_better(struct slab *s)
{
	struct chunk *free = TAILQ_FIRST(&s->free);
	struct chunk *clean = TAILQ_FIRST(&s->clean);
	struct extent *e;

	if (!clean || !free || free->touched)
		return false;
	LIST_FOREACH(e, &clean->extents, chunk_link)
		if (e->file->reader_nr)
			return false;
	return true;
}

struct chunk *
reclaim_chunk(struct slab *s)
{
	struct wb *wb = s->wb;
	struct chunk *c;

	wb->reclaiming++;
	if (clean_is_better(s))
		(void)reclaim_clean_chunk(s);
	c = TAILQ_FIRST(&s->free);
	if (!c && (reclaim_clean_chunk(s) || reads_give(s)))
		c = TAILQ_FIRST(&s->free);
	if (c)
		reclaim_found(s, wb->now);
	wb->reclaiming--;
	return c;
}

void
reclaim_clean_from(struct wb *wb, uint64_t since_usec)
{
	uint64_t due = since_usec + wb->limits.clean_expire_usec;

	if (due < wb->next_clean_usec)
		wb->next_clean_usec = due;
}

void
reclaim_expire(struct wb *wb, uint64_t now)
{
	struct slab *s;
	struct chunk *c;
	uint64_t keep = wb->limits.clean_expire_usec;

	if (now < wb->next_clean_usec) {
		wb_due(wb, wb->next_clean_usec);
		return;
	}
	wb->next_clean_usec = UINT64_MAX;
	LIST_FOREACH(s, &wb->slabs, link) {
		while ((c = TAILQ_FIRST(&s->clean)) &&
		       now - c->used_usec >= keep) {
			(void)give_up_clean(c);
			slab_chunk_idle(s, c);
		}
		if (c)
			reclaim_clean_from(wb, c->used_usec);
	}
	/* not at each chunk's own time: all slabs were looked at */
	if (wb->next_clean_usec < now + keep / LOOKS)
		wb->next_clean_usec = now + keep / LOOKS;
	wb_due(wb, wb->next_clean_usec);
}
