/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim.c - room out of what is on stable storage
 *
 * A slab's CLEAN chunks stand in the order in which they became CLEAN, so the
 * oldest is the first: O(1) a chunk, plus its extents.  All slabs are looked at
 * only when one of them can have a chunk that expires.
 */
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"

static void
give_up_clean(struct slab *s, struct chunk *c)
{
	struct extent *e;
	struct wb_file *f;

	while ((e = LIST_FIRST(&c->extents))) {
		f = e->file;
		s->wb->stats.reclaim.freed_bytes += e->length;
		extent_drop(e);		/* the last one makes the chunk FREE */
		file_kick(f);
	}
}

bool
reclaim_clean_chunk(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->clean);

	if (!c)
		return false;
	give_up_clean(s, c);
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
	s->wb->stats.reclaim.freed_bytes += e->length;
	extent_drop(e);
	file_kick(f);
	return true;
}

struct chunk *
reclaim_chunk(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->free);

	if (!c && reclaim_clean_chunk(s))
		c = TAILQ_FIRST(&s->free);
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
			give_up_clean(s, c);
			if (s->hooks.idle)
				s->hooks.idle(s->hooks_arg,
					      (uint64_t)(c - s->chunk) *
					      NFSWB_CHUNK_BYTES,
					      NFSWB_CHUNK_BYTES);
		}
		if (c)
			reclaim_clean_from(wb, c->used_usec);
	}
	wb_due(wb, wb->next_clean_usec);
}
