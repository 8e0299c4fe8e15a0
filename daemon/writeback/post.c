/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * post.c - an entry of the ring, or data from a message, joins its file
 *
 * The place is held against what was granted and claimed; the entry goes on
 * where the handle's last extent ended, or becomes a new one.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/crash.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/room_queue.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/throttle.h"

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
	fill = nfswb_mark_fill(atomic_load(slab_mark(s, c)));
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
	slab_account_grant(s, -(int64_t)length);
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
	    late_overlaps(f, 0, UINT64_MAX))
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
		slab_extent_unget(e);
		return -ENOBUFS;
	}
	e->seq = e->oldest_seq = wb_next_seq(s->wb);
	slab_publish(e, NFSWB_LIST_DIRTY);
	(void)extent_join(e);
	h->last = e;
	h->last_seq = e->seq;
	return 0;
}

/*
 * A piece of a record whose range was reserved, in order: how much of it a
 * truncation has left.  false: that is not known now.
 */
static bool
piece_left(struct wb_handle *h, uint64_t offset, uint32_t *length)
{
	uint64_t end = offset + *length;

	if (offset >= h->reserved_end)
		return true;
	if (!TAILQ_EMPTY(&h->file->truncations))
		return false;
	if (offset >= h->cut_from)
		*length = 0;
	else if (end > h->cut_from)
		*length = (uint32_t)(h->cut_from - offset);
	return true;
}

/* The library asks first; only an append's end is not known to it. */
static void
too_far(struct wb_handle *h, uint64_t offset, uint32_t length)
{
	wb_give_up(h->file, h->cred, offset, length, -EFBIG);
	file_error(h->file, -EFBIG);
}

int
slab_post(struct slab *s, struct wb_handle *h,
	  const struct nfswb_ring_entry *r, uint64_t ringpos, uint64_t now)
{
	struct wb_file *f = h->file;
	uint64_t offset = r->offset;
	uint32_t length = r->length;
	int err;

	s->wb->now = now;
	err = check_place(s, r->place, r->length);
	if (err)
		return err;
	if (s->server != f->server)
		slab_aim(s, f->server);
	if (r->kind == NFSWB_RING_APPEND) {
		if (!TAILQ_EMPTY(&f->truncations)) {
			slab_stall(s);		/* where the end is, is not */
			return -ENOBUFS;	/* known now */
		}
		offset = f->size;
	} else if (r->kind != NFSWB_RING_WRITE) {
		return -EPROTO;
	} else if (!piece_left(h, offset, &length)) {
		slab_stall(s);
		return -ENOBUFS;
	}
	if ((h->oflags & O_ACCMODE) == O_RDONLY)
		err = -EBADF;
	else if (offset > f->params.max_size ||
		 r->length > f->params.max_size - offset)
		err = -EFBIG;
	if (err) {
		account_post(s, r->place, r->length);
		if (err == -EFBIG)
			too_far(h, offset, r->length);
		return err;
	}
	if (length && !continue_last(s, h, offset, r->place, length,
				     (uint32_t)ringpos)) {
		err = post_new(s, h, offset, r->place, length, r->file,
			       (uint32_t)ringpos, now);
		if (err) {
			slab_starve(s);
			return err;
		}
	}
	account_post(s, r->place, r->length);
	if (length)
		reads_drop(f, offset, offset + length);
	if (length && offset + length > f->size) {
		f->size = offset + length;
		tails_grew(f);
	}
	if (r->kind == NFSWB_RING_WRITE &&
	    offset + r->length == h->reserved_end)
		h->reserved_end = 0;	/* that was the last piece */
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
			slab_stall(s);
			return 0;
		}
		offset = h->file->size;
	}
	while (done < length) {
		uint32_t room, n;
		uint64_t place;

		room = throttle_inline_room(s, &place);
		if (!room) {
			s->want_inline = true;
			room_queue_join(s, now);
			break;
		}
		n = length - done < room ? (uint32_t)(length - done) : room;
		crash_point();
		memcpy(s->view.data + place, from + done, n);
		crash_point();
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
