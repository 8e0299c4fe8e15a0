/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim_policy.c - what becomes of a writer for whom there is no chunk
 *
 * Its slab has neither a FREE nor a CLEAN one: the slow path, which begins when
 * that is seen and ends with the first chunk that is granted.
 *
 *	RECLAIM_WAIT	it waits.  The flusher, woken by those who wait, picks what
 *			to write; every completion gives the writer another look
 *	RECLAIM_WRITE	each look that finds nothing also writes the oldest DIRTY
 *			extent of that slab: alone, where it begins and as long as
 *			it is, FILE_SYNC and ahead of others, behind the flusher's
 *			back (in its idea Linux before 3.2: shrink_page_list, and
 *			nfs_writepage with FLUSH_HIGHPRI | FLUSH_STABLE)
 *	RECLAIM_TIMED	each look that finds nothing is followed by a sleep of
 *			100 ms, whatever completes meanwhile (in its idea Linux'
 *			congestion_wait)
 *
 * The last two are what not to do, there to be measured (bench/reclaim).
 */
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/writepages.h"

#define SLEEP_USEC 100000

static void
slow_path_begins(struct slab *s, uint64_t now)
{
	s->short_of_room = true;
	s->short_since = now;
	s->wb->stats.reclaim.slow++;
}

static void
slow_path_ends(struct slab *s, uint64_t now)
{
	s->short_of_room = false;
	hist_add(&s->wb->stats.reclaim.slow_us, now - s->short_since);
}

/* Not those who never got to look, since others wait before them. */
static bool
has_none(struct slab *s)
{
	return (TAILQ_EMPTY(&s->free) && TAILQ_EMPTY(&s->clean)) ||
	       !slab_has_slots(s, slab_reserve(s) + 1);
}

static void
write_oldest(struct slab *s, uint64_t now)
{
	struct extent *e = flusher_oldest(s, NULL, now);
	struct wb_stats *st = &s->wb->stats;
	uint64_t bytes = e ? writepages_one(e, now) : 0;

	st->reclaim.reclaim_writes += bytes > 0;
	st->reclaim.written_bytes += bytes;
}

static void
found_nothing(struct slab *s, uint64_t now)
{
	switch (s->wb->limits.reclaim_policy) {
	case RECLAIM_WAIT:
		break;
	case RECLAIM_WRITE:
		write_oldest(s, now);
		break;
	case RECLAIM_TIMED:
		s->look_usec = now + SLEEP_USEC;
		wb_due(s->wb, s->look_usec);
		break;
	}
}

void
reclaim_looked(struct slab *s, enum waiting_for why, uint64_t now)
{
	struct wb *wb = s->wb;
	bool slow = why == WAIT_GRANT && has_none(s);

	wb->reclaiming++;
	if (slow && !s->short_of_room)
		slow_path_begins(s, now);
	else if (!slow && s->short_of_room)
		slow_path_ends(s, now);
	if (slow)
		found_nothing(s, now);
	wb->reclaiming--;
}

void
reclaim_found(struct slab *s, uint64_t now)
{
	struct wb_stats *st = &s->wb->stats;

	if (s->short_of_room) {
		slow_path_ends(s, now);
		return;
	}
	st->reclaim.fast++;
	hist_add(&st->reclaim.fast_us, 0);	/* no wait */
}

bool
reclaim_sleeps(const struct slab *s, uint64_t now)
{
	struct wb *wb = s->wb;

	if (wb->limits.reclaim_policy != RECLAIM_TIMED || !s->short_of_room ||
	    s->look_usec <= now)
		return false;
	wb_due(wb, s->look_usec);
	return true;
}

bool
reclaim_served(const struct wb *wb)
{
	const struct slab *s;

	if (TAILQ_EMPTY(&wb->waiting) || wb_lacks_slots(wb))
		return false;
	TAILQ_FOREACH(s, &wb->waiting, wait_link)
		if (!s->short_of_room || (!s->bytes[EXTENT_WRITEBACK] &&
					  !s->bytes[EXTENT_UNSTABLE]))
			return false;
	return true;
}
