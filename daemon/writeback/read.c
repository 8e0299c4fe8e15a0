/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read.c - who reads, and the blocks that were READ
 *
 *	here		told at once, with what follows it
 *	on the way	waits for the one block that has the first byte
 *	neither		READ, and the same
 *
 * Where the server's file ends before ours does (its end is not written yet), there
 * is a hole up to that; not where it has grown since it was asked: those bytes
 * come, and were never zeros.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"

struct read_block *
read_find(struct slab *s, struct wb_file *f, uint64_t offset)
{
	struct read_block *b;

	LIST_FOREACH(b, &f->reads, file_link)
		if (b->slab == s && b->known && b->offset <= offset &&
		    offset < read_end(b))
			return b;
	return NULL;
}

uint64_t
read_next(struct slab *s, struct wb_file *f, uint64_t offset)
{
	const struct read_block *b;
	uint64_t next = UINT64_MAX;

	LIST_FOREACH(b, &f->reads, file_link)
		if (b->slab == s && b->known && b->offset > offset)
			next = MIN(next, b->offset);
	return next;
}

/* ---- what is told ---- */

static void
add_piece(struct read_result *out, uint64_t place, uint64_t mark, uint32_t n)
{
	out->piece[out->nr++] = (struct read_piece){ place, mark, n };
	out->length += n;
}

static struct chunk *
chunk_at(struct read_block *b, uint64_t at)
{
	return &b->slab->chunk[b->chunk[(at - b->offset) / NFSWB_CHUNK_BYTES]];
}

/* Pieces of a block from at on; where they end. */
static uint64_t
add_block(struct read_block *b, uint64_t at, uint64_t end,
	  struct read_result *out)
{
	struct slab *s = b->slab;
	struct chunk *c;
	uint32_t in, n;

	end = MIN(end, read_end(b));
	while (at < end && out->nr < READ_PIECES) {
		c = chunk_at(b, at);
		in = (uint32_t)((at - b->offset) % NFSWB_CHUNK_BYTES);
		n = (uint32_t)MIN(end - at, NFSWB_CHUNK_BYTES - in);
		add_piece(out, (uint64_t)(c - s->chunk) * NFSWB_CHUNK_BYTES +
			  in, atomic_load(slab_mark(s, c)), n);
		c->handed += n;
		b->told += n;
		at += n;
	}
	return at;
}

/* Behind the end of the server's file, as far as it was asked: in there nothing was
   changed since. */
static void
add_hole(const struct read_block *b, uint64_t at, uint64_t end, uint64_t size,
	 struct read_result *out)
{
	uint64_t ours = MAX(b->local_end, file_local_end(b->file));

	end = MIN(MIN(end, b->offset + b->asked), MIN(size, ours));
	if (at < end && out->nr < READ_PIECES)
		add_piece(out, NFSWB_PLACE_ZEROS, 0, (uint32_t)(end - at));
}

/* All of it was told. */
static bool
is_used_up(const struct read_block *b)
{
	return TAILQ_EMPTY(&b->waits) && (b->told >= b->got || !b->known);
}

static void
collect(struct read_block *b, uint64_t at, uint32_t length, uint64_t size,
	struct read_result *out)
{
	struct wb_file *f = b->file;
	struct slab *s = b->slab;
	uint64_t end = at + length;
	bool ended;

	out->nr = 0;
	out->length = 0;
	while (b && b->state == READ_HERE) {
		at = add_block(b, at, end, out);
		ended = b->ended && at >= read_end(b);
		if (ended)
			add_hole(b, at, end, size, out);
		if (is_used_up(b))
			read_free(b);
		if (ended || at == end || out->nr == READ_PIECES)
			break;
		b = read_find(s, f, at);
	}
}

void
read_wasted(const struct read_block *b)
{
	if (b->got > b->told)
		b->file->server->stats.read.wasted_bytes += b->got - b->told;
}

void
read_tell(struct read_block *b)
{
	struct wb_file *f = file_ref(b->file);
	struct read_result out;
	struct read_wait *w;
	bool more = true;

	while (more && (w = TAILQ_FIRST(&b->waits))) {
		TAILQ_REMOVE(&b->waits, w, link);
		more = !TAILQ_EMPTY(&b->waits);
		collect(b, w->offset, w->length, w->size, &out);
		w->fn(w->arg, 0, &out);
		free(w);
	}
	file_put(f);
}

void
read_failed(struct read_block *b, int err)
{
	struct read_wait *w;

	b->known = false;
	while ((w = TAILQ_FIRST(&b->waits))) {
		TAILQ_REMOVE(&b->waits, w, link);
		w->fn(w->arg, err, NULL);
		free(w);
	}
	read_free(b);
}

/* ---- asking ---- */

static int
wait_for(struct read_block *b, uint64_t offset, uint32_t length, uint64_t size,
	 slab_read_fn *fn, void *arg)
{
	struct read_wait *w = malloc(sizeof *w);

	if (!w)
		return -ENOMEM;
	*w = (struct read_wait){ .offset = offset, .length = length,
				 .size = size, .fn = fn, .arg = arg };
	TAILQ_INSERT_TAIL(&b->waits, w, link);
	return 0;
}

int
slab_read(struct slab *s, struct wb_handle *h, uint64_t offset,
	  uint32_t length, uint64_t size, uint64_t now,
	  struct read_result *out, slab_read_fn *fn, void *arg)
{
	struct wb_file *f = h->file;
	struct server_stats *st = &f->server->stats;
	struct read_block *b;
	uint64_t from = offset;
	uint32_t want;
	int err = 0;

	s->wb->now = now;
	if (s->released || s->importing)
		return -ENOBUFS;
	want = readahead_note(h, offset, length);
	b = read_find(s, f, offset);
	if (!b) {
		st->read.misses++;
		want = (uint32_t)MIN(want, read_next(s, f, offset) - offset);
		if (!file_is_settled(f, offset, offset + want))
			want = MIN(want, length);
		b = read_ask(s, h, offset, want, false);
	} else if (b->state == READ_HERE) {
		st->read.hits++;
	} else {
		st->read.waits++;
	}
	if (!b)
		return -ENOBUFS;
	if (b->state == READ_HERE) {
		collect(b, offset, length, size, out);
		from += out->length;	/* it is gone */
		err = 1;
	} else {
		err = wait_for(b, offset, length, size, fn, arg);
	}
	readahead_go(s, h, from, offset + length);
	return err;
}

void
slab_read_abandon(struct slab *s, const void *arg)
{
	struct read_block *b;
	struct read_wait *w, *next;

	TAILQ_FOREACH(b, &s->reads, link)
		TAILQ_FOREACH_SAFE(w, &b->waits, link, next)
			if (w->arg == arg) {
				TAILQ_REMOVE(&b->waits, w, link);
				free(w);
			}
}

/* ---- the end ---- */

void
read_free(struct read_block *b)
{
	struct wb_file *f = b->file;

	if (b->state == READ_OUT) {	/* its answer frees it */
		read_forget(b);
		return;
	}
	if (b->slab) {
		read_room_put(b);
		TAILQ_REMOVE(&b->slab->reads, b, link);
	}
	LIST_REMOVE(b, file_link);
	cred_put(b->call.cred);
	free(b);
	file_put(f);
}

static void
forget_range(struct read_block *b)
{
	b->known = false;
	if (!TAILQ_EMPTY(&b->waits))
		return;
	read_wasted(b);
	read_free(b);
}

/* Some are gone, which may have been all that held the file. */
static void
dropped(struct wb_file *f)
{
	f->refs--;
	file_kick(f);
}

void
reads_drop(struct wb_file *f, uint64_t from, uint64_t end)
{
	struct read_block *b, *next;

	f->changes++;
	if (LIST_EMPTY(&f->reads))
		return;
	file_ref(f);
	LIST_FOREACH_SAFE(b, &f->reads, file_link, next)
		if (b->known && b->offset < end && read_end(b) > from)
			forget_range(b);
	dropped(f);
}

void
reads_drop_older(struct wb_file *f, uint64_t ctime_nsec)
{
	struct read_block *b, *next;

	if (LIST_EMPTY(&f->reads))
		return;
	file_ref(f);
	LIST_FOREACH_SAFE(b, &f->reads, file_link, next)
		if (b->state == READ_HERE && b->known &&
		    b->ctime_nsec != ctime_nsec)
			forget_range(b);
	dropped(f);
}

void
reads_end(struct slab *s)
{
	struct read_block *b;

	while ((b = TAILQ_FIRST(&s->reads)))
		read_failed(b, -ECANCELED);
	read_room_end(s);
}

void
reads_free(struct wb_file *f)
{
	struct read_block *b;
	struct read_wait *w;

	while ((b = LIST_FIRST(&f->reads))) {
		while ((w = TAILQ_FIRST(&b->waits))) {
			TAILQ_REMOVE(&b->waits, w, link);
			free(w);
		}
		b->state = READ_HERE;	/* it is not answered any more */
		read_free(b);
	}
}
