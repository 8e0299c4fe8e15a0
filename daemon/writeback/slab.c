/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slab.c - a session's chunks and their books
 *
 *	FREE --grant--> OPEN --full or closed--> CLOSED --all CLEAN--> CLEAN
 *	  ^                                        |                     |
 *	  +---------------- no extent left --------+---- room wanted ----+
 *	  +--READ--> READ --told to the library--> HANDED --room wanted--+
 *
 * The shared words are written here and read as little as can be: a mark once
 * per post, to compare.
 *
 * Cost: O(1) for each change of a chunk; looking for closed ones O(open chunks),
 * which are as many as are granted ahead.
 */
#include <stdlib.h>

#include "common/crash.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/room_queue.h"

struct slab *
slab_new(struct wb *wb, const struct shm_view *view,
	 const struct slab_hooks *hooks, void *arg)
{
	struct slab *s = calloc(1, sizeof *s);
	uint32_t i;

	if (!s)
		return NULL;
	s->wb = wb;
	s->view = *view;
	s->hooks = *hooks;
	s->hooks_arg = arg;
	s->ahead_nr = 2;
	s->want_chunk = s->inline_chunk = NFSWB_NO_CHUNK;
	s->chunk = calloc(view->layout.chunk_nr, sizeof *s->chunk);
	/* Virtual memory until used: a slab of small writes only has many. */
	s->extent = calloc(view->layout.list_nr, sizeof *s->extent);
	if (!s->chunk || !s->extent) {
		free(s->chunk);
		free(s->extent);
		free(s);
		return NULL;
	}
	TAILQ_INIT(&s->free);
	TAILQ_INIT(&s->open);
	TAILQ_INIT(&s->closed);
	TAILQ_INIT(&s->clean);
	TAILQ_INIT(&s->read);
	TAILQ_INIT(&s->handed);
	TAILQ_INIT(&s->reads);
	TAILQ_INIT(&s->free_extents);
	TAILQ_INIT(&s->clean_extents);
	TAILQ_INIT(&s->dirty);
	for (i = 0; i < view->layout.chunk_nr; i++) {
		LIST_INIT(&s->chunk[i].extents);
		TAILQ_INSERT_TAIL(&s->free, &s->chunk[i], link);
	}
	LIST_INSERT_HEAD(&wb->slabs, s, link);
	return s;
}

static void
slab_free(struct slab *s)
{
	LIST_REMOVE(s, link);
	if (s->released)
		LIST_REMOVE(s, ending_link);
	slab_set_fresh(s, 0);
	pace_leave(s);
	free(s->import);
	free(s->chunk);
	free(s->extent);
	free(s);
}

void
slab_set_user(struct slab *s, uid_t uid, unsigned weight)
{
	pace_join(s, uid, weight);
}

/* ---- what is granted ---- */

void
slab_account_grant(struct slab *s, int64_t bytes)
{
	s->granted_bytes += (uint64_t)bytes;
	s->wb->granted_bytes += (uint64_t)bytes;
	if (s->server)
		s->server->granted_bytes += (uint64_t)bytes;
}

void
slab_aim(struct slab *s, struct wb_server *to)
{
	if (s->server)
		s->server->granted_bytes -= s->granted_bytes;
	if (to)
		to->granted_bytes += s->granted_bytes;
	s->server = to;
	room_queue_aimed(s);
}

void
slab_expect(struct slab *s, const struct wb_handle *h)
{
	if (!s->server)
		slab_aim(s, handle_file(h)->server);
}

/* ---- chunks ---- */

static struct chunk_list *
list_of(struct slab *s, enum chunk_state state)
{
	switch (state) {
	case CHUNK_FREE:
		return &s->free;
	case CHUNK_OPEN:
		return &s->open;
	case CHUNK_CLOSED:
		return &s->closed;
	case CHUNK_CLEAN:
		return &s->clean;
	case CHUNK_READ:
		return &s->read;
	case CHUNK_HANDED:
		return &s->handed;
	}
	abort();
}

void
slab_chunk_move(struct slab *s, struct chunk *c, enum chunk_state to)
{
	TAILQ_REMOVE(list_of(s, c->state), c, link);
	c->state = to;
	if (to == CHUNK_FREE && c->touched) {
		TAILQ_INSERT_HEAD(&s->free, c, link);
	} else {
		TAILQ_INSERT_TAIL(list_of(s, to), c, link);
		c->touched = to != CHUNK_FREE;
	}
	c->used_usec = s->wb->now;
	if (to == CHUNK_CLEAN)
		reclaim_clean_from(s->wb, s->wb->now);
}

void
slab_chunk_idle(struct slab *s, struct chunk *c)
{
	if (!s->hooks.idle || c->state != CHUNK_FREE)
		return;
	s->hooks.idle(s->hooks_arg,
		      (uint64_t)(c - s->chunk) * NFSWB_CHUNK_BYTES,
		      NFSWB_CHUNK_BYTES);
	c->touched = false;
	slab_chunk_move(s, c, CHUNK_FREE);
}

void
slab_chunk_check(struct slab *s, struct chunk *c)
{
	enum chunk_state to;

	if (c->state == CHUNK_OPEN || c->state == CHUNK_READ ||
	    c->state == CHUNK_HANDED || s->importing ||
	    c->posted < c->granted)
		return;
	if (c->live_nr)
		to = CHUNK_CLOSED;
	else if (!LIST_EMPTY(&c->extents))
		to = CHUNK_CLEAN;
	else
		to = CHUNK_FREE;
	if (to != c->state)
		slab_chunk_move(s, c, to);
	if (to != CHUNK_CLOSED && s->waiting)
		wb_poke(s->wb);
}

/*
 * A chunk that is closed keeps what was claimed; the rest of the grant comes
 * back.  Bytes claimed and not posted yet stay granted until their post.
 */
uint64_t
slab_take_back(struct slab *s, struct chunk *c, bool force)
{
	_Atomic uint64_t *mark = slab_mark(s, c);
	uint64_t m, rest;
	uint32_t fill;

	if (c->state != CHUNK_OPEN)
		return 0;
	crash_point();
	m = force ? atomic_fetch_or(mark, NFSWB_MARK_CLOSED)
		  : atomic_load(mark);
	fill = nfswb_mark_fill(m);
	if (!force && !(m & NFSWB_MARK_CLOSED) && fill < NFSWB_CHUNK_BYTES)
		return 0;
	if (fill < c->posted)		/* the library's mark is not sane: */
		fill = c->posted;	/* what it loses is its own */
	if (fill > c->granted)
		fill = c->granted;
	rest = c->granted - fill;
	c->granted = fill;
	slab_account_grant(s, -(int64_t)rest);
	slab_chunk_move(s, c, CHUNK_CLOSED);
	slab_chunk_check(s, c);
	return rest;
}

void
slab_check_closed(struct slab *s)
{
	struct chunk *c, *next;

	TAILQ_FOREACH_SAFE(c, &s->open, link, next)
		(void)slab_take_back(s, c, false);
}

static void
sated(struct slab *s)
{
	if (s->starved)
		s->wb->starved_nr--;
	s->starved = s->stalled = false;
}

void
slab_starve(struct slab *s)
{
	if (!s->starved)
		s->wb->starved_nr++;
	s->starved = true;
	wb_poke(s->wb);
}

void
slab_stall(struct slab *s)
{
	s->stalled = true;
	s->wb->some_stalled = true;
}

void
slab_wake(struct slab *s)
{
	sated(s);
	if (s->hooks.room && !s->released)
		s->hooks.room(s->hooks_arg);
}

/* Everything granted by an earlier instance is void: all marks are closed. */
void
slab_void_grants(struct slab *s)
{
	uint64_t was;
	uint32_t i;

	for (i = 0; i < s->view.layout.chunk_nr; i++) {
		crash_point();
		was = atomic_fetch_or(&s->view.mark[i], NFSWB_MARK_CLOSED);
		if (was & NFSWB_MARK_READ)	/* who copies reads anew */
			atomic_store(&s->view.mark[i], NFSWB_MARK_CLOSED);
	}
}

/* ---- the end, and what is told ---- */

void
slab_release(struct slab *s, uint64_t now)
{
	struct chunk *c, *next;

	s->wb->now = now;
	if (!s->released)
		LIST_INSERT_HEAD(&s->wb->ending_slabs, s, ending_link);
	s->released = true;
	if (s->importing)
		slab_import_end(s);
	room_queue_leave(s, now);
	sated(s);
	reads_end(s);
	TAILQ_FOREACH_SAFE(c, &s->open, link, next)
		(void)slab_take_back(s, c, true);
	/* What was claimed and never posted will not be. */
	TAILQ_FOREACH_SAFE(c, &s->closed, link, next) {
		uint32_t rest = c->granted - c->posted;

		c->granted = c->posted;
		slab_account_grant(s, -(int64_t)rest);
		slab_chunk_check(s, c);
	}
	wb_poke(s->wb);
}

bool
slab_reap(struct slab *s)
{
	if (!s->released || s->live_nr)
		return false;
	while (reclaim_clean_chunk(s))
		;
	if (s->hooks.released)
		s->hooks.released(s->hooks_arg);
	slab_free(s);
	return true;
}

void
slab_usage(const struct slab *s, uint64_t now, struct slab_usage *u)
{
	memset(u, 0, sizeof *u);
	u->granted = s->granted_bytes;
	u->dirty = s->bytes[EXTENT_DIRTY] + s->bytes[EXTENT_HELD];
	u->writeback = s->bytes[EXTENT_WRITEBACK];
	u->unstable = s->bytes[EXTENT_UNSTABLE];
	u->failed = s->bytes[EXTENT_FAILED];
	u->clean = s->bytes[EXTENT_CLEAN];
	u->waiting = s->waiting ? s->waiting_for :
		     s->starved ? WAIT_GRANT : WAIT_NONE;
	u->wants_tail = !s->wants_room;
	u->waiting_usec = s->waiting ? now - s->waiting_since : 0;
}

const char *
waiting_for_name(enum waiting_for w)
{
	switch (w) {
	case WAIT_NONE:
		return "none";
	case WAIT_GRANT:
		return "grant";
	case WAIT_PACE:
		return "pace";
	case WAIT_LIMIT:
		return "limit";
	case WAIT_WRITE:
		return "write";
	case WAIT_COMMIT:
		return "commit";
	case WAIT_REPLY:
		return "reply";
	case WAIT_RESUME:
		return "resume";
	}
	return "none";
}
