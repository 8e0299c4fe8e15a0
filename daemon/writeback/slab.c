/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slab.c - a session's chunks, list slots and their books
 *
 *	FREE --grant--> OPEN --full or closed--> CLOSED --all CLEAN--> CLEAN
 *	  ^                                        |                     |
 *	  +---------------- no extent left --------+---- room wanted ----+
 *
 * The shared words are written here and read as little as can be: a mark once
 * per post, to compare.  Slots and extents are one: extent[i] is list[i], set
 * aside when the slab is made.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/throttle.h"

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
	TAILQ_INIT(&s->free_extents);
	TAILQ_INIT(&s->clean_extents);
	for (i = 0; i < view->layout.chunk_nr; i++) {
		LIST_INIT(&s->chunk[i].extents);
		TAILQ_INSERT_TAIL(&s->free, &s->chunk[i], link);
	}
	s->reserve_nr = view->layout.list_nr / 4;
	LIST_INSERT_HEAD(&wb->slabs, s, link);
	return s;
}

static void
slab_free(struct slab *s)
{
	LIST_REMOVE(s, link);
	free(s->import);
	free(s->chunk);
	free(s->extent);
	free(s);
}

/* ---- slots ---- */

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
	if (s->fresh_nr < s->view.layout.list_nr)
		return &s->extent[s->fresh_nr++];
	return NULL;
}

static uint32_t
slots_left(const struct slab *s)
{
	return s->free_nr + s->view.layout.list_nr - s->fresh_nr;
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

	if (!slab_has_slots(s, reserve ? 1 : s->reserve_nr + 1))
		return NULL;
	e = slot_pop(s);
	assert(e && e->state == EXTENT_FREE);
	e->slab = s;
	e->list = NULL;
	e->was_sent = false;
	e->err = 0;
	return e;
}

static void
slot_push(struct slab *s, struct extent *e)
{
	cred_put(e->cred);
	e->cred = NULL;
	e->file = NULL;
	extent_list_append(&s->free_extents, e);
	s->free_nr++;
}

void
slab_extent_put(struct extent *e)
{
	slot_push(e->slab, e);
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
	atomic_store_explicit(&entry_of(e)->state, state,
			      memory_order_release);
}

void
slab_relength(struct extent *e)
{
	atomic_store_explicit(&entry_of(e)->length_ringpos,
			      (uint64_t)e->ringpos << 32 | e->length,
			      memory_order_release);
}

void
slab_publish(struct extent *e, enum nfswb_list_state state)
{
	struct nfswb_list_entry *l = entry_of(e);

	l->offset = e->offset;
	l->place = e->place;
	l->file = e->file_nr;
	slab_list_state(e, state);
	slab_relength(e);
	atomic_store_explicit(&l->seq, e->seq, memory_order_release);
}

void
slab_strike(struct extent *e)
{
	atomic_store_explicit(&entry_of(e)->seq, 0, memory_order_release);
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
	}
	abort();
}

void
slab_chunk_move(struct slab *s, struct chunk *c, enum chunk_state to)
{
	TAILQ_REMOVE(list_of(s, c->state), c, link);
	c->state = to;
	TAILQ_INSERT_TAIL(list_of(s, to), c, link);
	c->used_usec = s->wb->now;
}

void
slab_chunk_check(struct slab *s, struct chunk *c)
{
	enum chunk_state to;

	if (c->state == CHUNK_OPEN || s->importing || c->posted < c->granted)
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

static _Atomic uint64_t *
mark_of(struct slab *s, const struct chunk *c)
{
	return &s->view.mark[c - s->chunk];
}

/*
 * A chunk that is closed keeps what was claimed; the rest of the grant comes
 * back.  Bytes claimed and not posted yet stay granted until their post.
 */
uint64_t
slab_take_back(struct slab *s, struct chunk *c, bool force)
{
	_Atomic uint64_t *mark = mark_of(s, c);
	uint64_t m, rest;
	uint32_t fill;

	if (c->state != CHUNK_OPEN)
		return 0;
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
	s->granted_bytes -= rest;
	s->wb->granted_bytes -= rest;
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
	uint32_t i;

	for (i = 0; i < s->view.layout.chunk_nr; i++)
		atomic_fetch_or(&s->view.mark[i], NFSWB_MARK_CLOSED);
}

/* ---- posts ---- */

/* Does [place, place + length) lie in what was granted and claimed? */
static int
check_place(struct slab *s, uint64_t place, uint32_t length)
{
	struct chunk *c;
	uint32_t in = (uint32_t)(place % NFSWB_CHUNK_BYTES);
	uint32_t fill;

	if (length == 0 || length > NFSWB_CHUNK_BYTES ||
	    place / NFSWB_CHUNK_BYTES >= s->view.layout.chunk_nr ||
	    in + length > NFSWB_CHUNK_BYTES)
		return -EPROTO;
	c = slab_chunk(s, place);
	fill = nfswb_mark_fill(atomic_load(mark_of(s, c)));
	if (s->importing)
		return in + length <= fill ? 0 : -EPROTO;
	if (c->state != CHUNK_OPEN && c->state != CHUNK_CLOSED)
		return -EPROTO;
	if (in + length > c->granted || in + length > fill ||
	    c->posted + length > c->granted)
		return -EPROTO;
	return 0;
}

static void
account_post(struct slab *s, uint64_t place, uint32_t length)
{
	struct chunk *c = slab_chunk(s, place);

	if (s->importing)
		return;
	c->posted += length;
	s->granted_bytes -= length;
	s->wb->granted_bytes -= length;
	c->used_usec = s->wb->now;
	if (c->state == CHUNK_OPEN) {
		TAILQ_REMOVE(&s->open, c, link);	/* least recent first */
		TAILQ_INSERT_TAIL(&s->open, c, link);
		if (c->posted == NFSWB_CHUNK_BYTES)
			slab_chunk_move(s, c, CHUNK_CLOSED);
	}
	slab_chunk_check(s, c);
}

/* The handle's last extent goes on: continued in file and place, wholly DIRTY,
   in one chunk, superseding nothing. */
static bool
continue_last(struct slab *s, struct wb_handle *h, uint64_t offset,
	      uint64_t place, uint32_t length, uint32_t ringpos)
{
	struct extent *e = h->last, *next;
	struct wb_file *f = h->file;

	if (!e || e->seq != h->last_seq || e->state != EXTENT_DIRTY ||
	    e->file != f || e->slab != s || e->was_sent ||
	    e->cred != h->cred || extent_end(e) != offset ||
	    e->place + e->length != place ||
	    e->place / NFSWB_CHUNK_BYTES != place / NFSWB_CHUNK_BYTES ||
	    !TAILQ_EMPTY(&f->truncations) || !TAILQ_EMPTY(&f->held) ||
	    file_is_late(f, 0, UINT64_MAX))
		return false;
	next = extent_next(e);
	if (next && next->offset < offset + length)
		return false;
	e->length += length;
	e->ringpos = ringpos;
	slab_relength(e);
	f->bytes[EXTENT_DIRTY] += length;
	f->server->bytes[EXTENT_DIRTY] += length;
	s->bytes[EXTENT_DIRTY] += length;
	s->wb->bytes[EXTENT_DIRTY] += length;
	return true;
}

static int
post_new(struct slab *s, struct wb_handle *h, uint64_t offset, uint64_t place,
	 uint32_t length, uint32_t file_nr, uint32_t ringpos, uint64_t now)
{
	struct extent *e = slab_extent_get(s, false);

	if (!e)
		return -ENOBUFS;
	e->file = h->file;
	e->cred = cred_ref(h->cred);
	e->offset = offset;
	e->place = place;
	e->length = length;
	e->file_nr = file_nr;
	e->ringpos = ringpos;
	e->dirtied_usec = now;
	if (extent_may_join(e) < 0) {
		slot_push(s, e);
		return -ENOBUFS;
	}
	e->seq = e->oldest_seq = wb_next_seq(s->wb);
	slab_publish(e, NFSWB_LIST_DIRTY);
	(void)extent_join(e, now);
	h->last = e;
	h->last_seq = e->seq;
	return 0;
}

/* The library asks first; only an append's end is not known to it. */
static void
too_far(struct wb_file *f, uint64_t offset, uint32_t length)
{
	struct wb *wb = f->server->wb;

	wb->given_up_bytes += length;
	if (wb->hooks.gave_up)
		wb->hooks.gave_up(wb->hooks_arg, f, offset, length, -EFBIG);
	file_error(f, -EFBIG);
}

int
slab_post(struct slab *s, struct wb_handle *h,
	  const struct nfswb_ring_entry *r, uint64_t ringpos, uint64_t now)
{
	struct wb_file *f = h->file;
	uint64_t offset = r->offset;
	int err;

	s->wb->now = now;
	err = check_place(s, r->place, r->length);
	if (err)
		return err;
	if (r->kind == NFSWB_RING_APPEND) {
		if (!TAILQ_EMPTY(&f->truncations)) {
			s->stalled = true;	/* where the end is, is not */
			return -ENOBUFS;	/* known now */
		}
		offset = f->size;
	} else if (r->kind != NFSWB_RING_WRITE) {
		return -EPROTO;
	}
	if ((h->oflags & O_ACCMODE) == O_RDONLY)
		err = -EBADF;
	else if (offset > f->params.max_size ||
		 r->length > f->params.max_size - offset)
		err = -EFBIG;
	if (err) {
		account_post(s, r->place, r->length);
		if (err == -EFBIG)
			too_far(f, offset, r->length);
		return err;
	}
	if (!continue_last(s, h, offset, r->place, r->length,
			   (uint32_t)ringpos)) {
		err = post_new(s, h, offset, r->place, r->length, r->file,
			       (uint32_t)ringpos, now);
		if (err) {
			slab_starve(s);
			return err;
		}
	}
	account_post(s, r->place, r->length);
	if (offset + r->length > f->size)
		f->size = offset + r->length;
	wb_poke(s->wb);
	return 0;
}

int64_t
slab_write(struct slab *s, struct wb_handle *h, const void *data,
	   uint64_t length, uint64_t offset, uint64_t now)
{
	struct nfswb_ring_entry r = { .kind = NFSWB_RING_WRITE };
	const unsigned char *from = data;
	uint64_t done = 0;
	int err;

	s->wb->now = now;
	if (h->oflags & O_APPEND) {
		if (!TAILQ_EMPTY(&h->file->truncations)) {
			s->stalled = true;
			return 0;
		}
		offset = h->file->size;
	}
	while (done < length) {
		uint32_t room, n;
		uint64_t place;

		room = throttle_inline_room(s, now, &place);
		if (!room) {
			s->want_inline = true;
			throttle_wait(s, now);
			break;
		}
		n = length - done < room ? (uint32_t)(length - done) : room;
		memcpy(s->view.data + place, from + done, n);
		atomic_fetch_add(&s->view.mark[place / NFSWB_CHUNK_BYTES], n);
		r.offset = offset + done;
		r.place = place;
		r.length = n;
		err = slab_post(s, h, &r, 0, now);
		if (err == -ENOBUFS) {
			atomic_fetch_sub(
			    &s->view.mark[place / NFSWB_CHUNK_BYTES], n);
			break;
		}
		if (err)
			return err;
		done += n;
	}
	return (int64_t)done;
}

/* ---- the end, and what is told ---- */

void
slab_release(struct slab *s, uint64_t now)
{
	struct chunk *c, *next;

	s->wb->now = now;
	s->released = true;
	if (s->importing)
		slab_import_end(s);
	throttle_unwait(s, now);
	sated(s);
	TAILQ_FOREACH_SAFE(c, &s->open, link, next)
		(void)slab_take_back(s, c, true);
	/* What was claimed and never posted will not be. */
	TAILQ_FOREACH_SAFE(c, &s->closed, link, next) {
		uint32_t rest = c->granted - c->posted;

		c->granted = c->posted;
		s->granted_bytes -= rest;
		s->wb->granted_bytes -= rest;
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
