/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * grant.c - see grant.h
 *
 * Granted bytes count as dirtied from the grant on.  What is not filled comes
 * back: idle grants of others when the limit is what is waited for, the slab's own
 * when it has no chunk left.
 *
 * Cost: O(1) a chunk; taking back idle grants O(slabs), once a turn at most while
 * somebody waits at the limit.
 */
#include <assert.h>
#include <sys/param.h>

#include "common/crash.h"
#include "daemon/writeback/grant.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/room.h"
#include "daemon/writeback/throttle.h"

#define IDLE_USEC 10000		/* a grant nobody filled for so long */

static void
account_grant(struct slab *s, struct chunk *c, uint32_t bytes)
{
	c->granted += bytes;
	slab_account_grant(s, bytes);
	assert(throttle_dirtied(s->wb) <= s->wb->limits.dirty_bytes);
}

struct chunk *
grant_open(struct slab *s, uint64_t most, enum waiting_for *why)
{
	uint32_t bytes = (uint32_t)MIN(room_for(s), most);
	struct chunk *c;

	*why = WAIT_LIMIT;
	if (!bytes)
		return NULL;
	*why = WAIT_GRANT;
	if (!slab_has_slots(s, slab_reserve(s) + 1))
		return NULL;
	c = reclaim_chunk(s);
	if (!c)
		return NULL;
	assert(c->live_nr == 0);
	c->granted = c->posted = 0;
	account_grant(s, c, bytes);
	crash_point();
	atomic_store(&s->view.mark[c - s->chunk],
		     (uint64_t)bytes * NFSWB_MARK_LIMIT_1);
	slab_chunk_move(s, c, CHUNK_OPEN);
	return c;
}

uint32_t
grant_raise(struct slab *s, struct chunk *c, uint64_t most)
{
	uint32_t bytes = (uint32_t)MIN(room_for(s), most);

	if (bytes > NFSWB_CHUNK_BYTES - c->granted)
		bytes = NFSWB_CHUNK_BYTES - c->granted;
	if (!bytes)
		return 0;
	account_grant(s, c, bytes);
	crash_point();
	atomic_fetch_add(&s->view.mark[c - s->chunk],
			 (uint64_t)bytes * NFSWB_MARK_LIMIT_1);
	return bytes;
}

uint32_t
grant_queued(struct slab *s)
{
	uint64_t n = atomic_load(&s->view.control->g_head) -
		     atomic_load(&s->view.control->g_tail);

	/* g_tail is the library's word: nonsense counts as a full queue */
	return n > s->view.layout.grant_nr ? s->view.layout.grant_nr
					   : (uint32_t)n;
}

uint32_t
grant_chunk(struct slab *s, uint64_t most, enum waiting_for *why)
{
	struct chunk *c;

	*why = WAIT_GRANT;
	if (grant_queued(s) >= s->view.layout.grant_nr)
		return 0;
	c = grant_open(s, most, why);
	if (!c)
		return 0;
	ring_grant(&s->view, (uint32_t)(c - s->chunk));
	return c->granted;
}

struct chunk *
grant_wanted_chunk(struct slab *s)
{
	uint32_t nr = s->want_chunk;
	struct chunk *c;

	if (nr >= s->view.layout.chunk_nr)
		return NULL;
	c = &s->chunk[nr];
	return c->state == CHUNK_OPEN && c->granted < NFSWB_CHUNK_BYTES ? c
									: NULL;
}

struct chunk *
grant_inline_chunk(struct slab *s)
{
	struct chunk *c;

	if (s->inline_chunk == NFSWB_NO_CHUNK)
		return NULL;
	c = &s->chunk[s->inline_chunk];
	return c->state == CHUNK_OPEN && c->posted < NFSWB_CHUNK_BYTES ? c
								       : NULL;
}

void
grant_take_back_idle(struct wb *wb, struct slab *for_slab, bool own_only,
		     uint64_t now)
{
	struct slab *s;
	struct chunk *c, *next;

	if (!own_only && !wb->granted_bytes)
		return;
	LIST_FOREACH(s, &wb->slabs, link) {
		if (own_only ? s != for_slab : !s->granted_bytes)
			continue;
		slab_check_closed(s);
		TAILQ_FOREACH_SAFE(c, &s->open, link, next) {
			if (c->granted == c->posted)
				continue;
			if (now - c->used_usec < IDLE_USEC) {
				wb_due(wb, c->used_usec + IDLE_USEC);
				break;	/* the others are younger */
			}
			if (slab_take_back(s, c, true) && own_only)
				return;
		}
	}
}

void
grant_close_oldest(struct slab *s)
{
	struct chunk *c = TAILQ_FIRST(&s->open);

	if (c && TAILQ_EMPTY(&s->closed) && TAILQ_EMPTY(&s->clean) &&
	    TAILQ_EMPTY(&s->free))
		(void)slab_take_back(s, c, true);
}
