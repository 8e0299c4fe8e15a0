/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read_call.c - READ and its answer
 *
 * Foreground, also what is read ahead: somebody will soon wait for it.  Less than
 * was asked for is asked for again from there on, unless the file ends there.
 * JUKEBOX is nobody's business but ours; what nobody waits for is not asked again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"

#define READ_PROC 6		/* RFC 1813's number, for wbt */
#define DELAY_USEC 100000
#define DOUBLINGS 6

static void read_answered(struct wb_call *, uint64_t now);

/* The rest of what was asked for, in its place. */
static void
make_call(struct read_block *b)
{
	uint32_t at = b->got, n;
	unsigned char *data = b->slab->view.data;
	int nr = 0;

	while (at < b->asked) {
		uint64_t place = (uint64_t)b->chunk[at / NFSWB_CHUNK_BYTES] *
				 NFSWB_CHUNK_BYTES + at % NFSWB_CHUNK_BYTES;

		n = MIN(NFSWB_CHUNK_BYTES - at % NFSWB_CHUNK_BYTES,
			b->asked - at);
		b->iov[nr++] = (struct iovec){ data + place, n };
		at += n;
	}
	b->call.offset = b->offset + b->got;
	b->call.count = b->asked - b->got;
	b->call.iov_nr = nr;
}

static int
queue(struct read_block *b)
{
	make_call(b);
	b->state = READ_OUT;
	return wb_queue(b->file->server, &b->call);
}

static struct read_block *
block_new(struct slab *s, struct wb_handle *h, uint64_t offset)
{
	struct read_block *b = calloc(1, sizeof *b);
	struct wb_file *f = h->file;

	if (!b)
		return NULL;
	TAILQ_INIT(&b->waits);
	b->slab = s;
	b->state = READ_HERE;		/* not out yet */
	b->file = file_ref(f);
	b->offset = offset;
	b->local_end = file_local_end(f);
	b->changes = f->changes;
	b->call = (struct wb_call){
		.kind = WB_CALL_READ, .class = WB_FOREGROUND, .fh = &f->fh,
		.cred = cred_ref(h->cred), .iov = b->iov,
		.done = read_answered,
	};
	LIST_INSERT_HEAD(&f->reads, b, file_link);
	TAILQ_INSERT_TAIL(&s->reads, b, link);
	return b;
}

struct read_block *
read_ask(struct slab *s, struct wb_handle *h, uint64_t offset,
	 uint32_t length, bool ahead)
{
	struct read_block *b = block_new(s, h, offset);
	struct wb_file *f = h->file;

	if (!b)
		return NULL;
	while (b->asked < length && b->chunk_nr < READ_CHUNKS &&
	       read_room_get(b, ahead || b->chunk_nr))
		b->asked += MIN(NFSWB_CHUNK_BYTES, length - b->asked);
	if (!b->asked || queue(b) < 0) {
		b->state = READ_HERE;
		read_free(b);
		return NULL;
	}
	/* what is changed already, if only here, is told to who asked only */
	b->known = file_is_settled(f, offset, offset + b->asked);
	if (ahead)
		f->server->stats.read.ahead_bytes += b->asked;
	return b;
}

void
read_again(struct read_block *b)
{
	if (queue(b) < 0) {
		b->state = READ_HERE;
		read_failed(b, -ENOMEM);
	}
}

void
read_forget(struct read_block *b)
{
	struct wb_server *s = b->file->server;

	if (!b->slab)
		return;
	s->calls->drop_data(s->calls_arg, &b->call);
	read_room_put(b);
	TAILQ_REMOVE(&b->slab->reads, b, link);
	b->slab = NULL;
	b->known = false;
}

/* ---- the answer ---- */

static void
put_off(struct read_block *b, uint64_t now)
{
	unsigned n = MIN(b->jukebox_nr, DOUBLINGS);
	uint64_t delay = DELAY_USEC << n;

	b->jukebox_nr++;
	b->state = READ_DELAYED;
	b->due_usec = now + delay + (uint64_t)random() % (delay / 4);
	reads_due(b->file->server->wb, b->due_usec);
}

/* Shorter than was asked for, and not at the end: 1. */
static int
lacks_more(const struct read_block *b, const struct wb_call *c)
{
	return c->read && !c->eof && b->got < b->asked;
}

static void
whole(struct read_block *b, uint64_t now)
{
	struct wb_call *c = &b->call;
	struct wb_file *f = b->file;

	b->state = READ_HERE;
	/* one that sends nothing and no end would be asked for ever */
	b->ended = c->eof || !c->read;
	b->ctime_nsec = c->have_size ? c->ctime_nsec : 0;
	if (c->have_size)
		file_read_attr(f, c->size_after, c->ctime_nsec);
	if (b->ended && !b->local_end)
		file_read_end(f, b->offset + b->got, b->changes);
	b->due_usec = now + READ_KEEP_USEC;
	reads_due(f->server->wb, b->due_usec);
	if (!b->got)
		b->known = false;
	if (!TAILQ_EMPTY(&b->waits))
		read_tell(b);
	else if (!b->known)
		read_free(b);
}

static void
take(struct read_block *b, uint64_t now)
{
	struct wb_call *c = &b->call;

	b->got += c->read;
	if (lacks_more(b, c))
		read_again(b);
	else
		whole(b, now);
}

static void
read_answered(struct wb_call *c, uint64_t now)
{
	struct read_block *b = (struct read_block *)c;
	struct wb_server *server = b->file->server;
	struct slab *s = b->slab;

	server->wb->now = now;
	b->state = READ_HERE;		/* not out any more */
	jukebox_count(server, c);
	if (!s)
		read_free(b);
	else if (c->err == -EAGAIN && !TAILQ_EMPTY(&b->waits))
		put_off(b, now);
	else if (c->err)
		read_failed(b, c->err);
	else
		take(b, now);
	if (s && s->waiting)		/* it may be what room is made of */
		wb_poke(server->wb);
}
