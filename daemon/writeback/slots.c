/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots.c - a slab's list slots: free ones, and what the shared list says
 *
 * Slots and extents are one: extent[i] is list[i].  The list is only written
 * here, from our own books; what it says is read by the next instance alone.
 *
 * The memory of an extent that was used once stays.  So that scattered small
 * writes don't make more of it than was said (64 MB and a twentieth of dirty_bytes,
 * all in all), a slab has SLOTS_MIN of its own, and those beyond come out of what
 * there is for all.
 *
 * Cost: O(1).
 */
#include <assert.h>
#include <sys/param.h>

#include "common/crash.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"

#define SLOTS_MIN 1024u
#define SLOTS_BYTES (16u << 20)

uint32_t
slots_max(uint64_t dirty_bytes)
{
	return (uint32_t)MIN((SLOTS_BYTES + dirty_bytes / 20) /
			     sizeof(struct extent), UINT32_MAX);
}

static uint32_t
beyond_min(uint32_t nr)
{
	return nr > SLOTS_MIN ? nr - SLOTS_MIN : 0;
}

void
slab_set_fresh(struct slab *s, uint32_t nr)
{
	s->wb->slots_nr += beyond_min(nr) - beyond_min(s->fresh_nr);
	s->fresh_nr = nr;
}

/* Fresh ones that it may use. */
static uint32_t
may_use(const struct slab *s)
{
	const struct wb *wb = s->wb;
	uint64_t common = wb->slots_max > wb->slots_nr
		? wb->slots_max - wb->slots_nr : 0;

	if (s->fresh_nr < SLOTS_MIN)
		common += SLOTS_MIN - s->fresh_nr;
	return (uint32_t)MIN(common, s->view.layout.list_nr - s->fresh_nr);
}

uint32_t
slab_reserve(const struct slab *s)
{
	return (s->fresh_nr + may_use(s)) / 4;
}

/* Extents that were never used are not in the list yet: fresh counts them, so
   that their pages stay untouched. */
static struct extent *
slot_pop(struct slab *s)
{
	struct extent *e = TAILQ_FIRST(&s->free_extents);

	if (e) {
		extent_list_remove(e);
		s->free_nr--;
		return e;
	}
	if (!may_use(s))
		return NULL;
	slab_set_fresh(s, s->fresh_nr + 1);
	return &s->extent[s->fresh_nr - 1];
}

static uint32_t
slots_left(const struct slab *s)
{
	return s->free_nr + may_use(s);
}

bool
slab_has_slots(struct slab *s, uint32_t nr)
{
	while (slots_left(s) < nr)
		if (!reclaim_clean_extent(s))
			return false;
	return true;
}

struct extent *
slab_extent_get(struct slab *s, bool reserve)
{
	struct extent *e;

	if (!slab_has_slots(s, reserve ? 1 : slab_reserve(s) + 1))
		return NULL;
	e = slot_pop(s);
	assert(e && e->state == EXTENT_FREE);
	e->slab = s;
	e->list = NULL;
	e->was_sent = false;
	e->err = 0;
	return e;
}

void
slab_extent_unget(struct extent *e)
{
	struct slab *s = e->slab;

	cred_put(e->cred);
	e->cred = NULL;
	e->file = NULL;
	extent_list_append(&s->free_extents, e);
	s->free_nr++;
}

void
slab_extent_put(struct extent *e)
{
	slab_extent_unget(e);
	e->slab->wb->slots_came_free = true;
}

/* ---- the list, as SHARED-MEMORY orders its stores ---- */

static struct nfswb_list_entry *
entry_of(const struct extent *e)
{
	return &e->slab->view.list[slab_slot(e->slab, e)];
}

void
slab_list_state(struct extent *e, enum nfswb_list_state state)
{
	crash_point();
	atomic_store_explicit(&entry_of(e)->state, state,
			      memory_order_release);
}

void
slab_relength(struct extent *e)
{
	crash_point();
	atomic_store_explicit(&entry_of(e)->length_ringpos,
			      (uint64_t)e->ringpos << 32 | e->length,
			      memory_order_release);
}

void
slab_publish(struct extent *e, enum nfswb_list_state state)
{
	struct nfswb_list_entry *l = entry_of(e);

	crash_point();
	l->offset = e->offset;
	crash_point();
	l->place = e->place;
	crash_point();
	l->file = e->file_nr;
	slab_list_state(e, state);
	slab_relength(e);
	crash_point();
	atomic_store_explicit(&l->seq, e->seq, memory_order_release);
	crash_point();
}

void
slab_strike(struct extent *e)
{
	crash_point();
	atomic_store_explicit(&entry_of(e)->seq, 0, memory_order_release);
	crash_point();
}
