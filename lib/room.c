/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room.c - claims room before copying, and waits for it
 *
 *	chunk   |#### posted or claimed ####|.... room ....|             |
 *	        0                          fill          limit       64 KiB
 *
 * A file that is written sequentially for a while fills a chunk of its own, so
 * that its data lies together; all others pack theirs into one shared chunk.
 * Room is claimed by compare-and-swap on the chunk's mark, since the daemon may
 * close it at any moment, and a chunk that is left is closed, so that its rest
 * goes back.
 *
 * Who finds no room says so in the shared memory, looks once more, rings and
 * sleeps.  Nothing is claimed meanwhile.
 */
#include <errno.h>
#include <sys/mman.h>

#include "common/crash.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/post.h"
#include "lib/room.h"
#include "lib/session.h"
#include "lib/wire.h"

#define OWN_AFTER 65536u	/* bytes in sequence before a file gets one */
#define TOUCH_FROM 16u		/* chunks: 1 MiB */
#define FAILED_NSEC 1000000000ull /* then ask whether failed data is why */

static void
chunk_forget(struct nfswb *wb, struct chunk *c)
{
	if (c->nr == NFSWB_NO_CHUNK)
		return;
	wb->filler[c->nr] = NULL;
	c->nr = NFSWB_NO_CHUNK;
	if (c != &wb->shared)
		wb->own_nr--;
}

/* Pages that nobody used yet come by one call, not by a fault each; who writes
   little does not get what it may not need. */
static void
touch(struct nfswb *wb, uint32_t nr)
{
	if (nr < wb->touched)
		return;
	wb->touched = nr + 1;
#ifdef MADV_POPULATE_WRITE
	/* where it can't be done, the copy does */
	if (nr >= TOUCH_FROM &&
	    nfswb_mark_limit(atomic_load(&wb->shm.mark[nr])) >=
	    NFSWB_CHUNK_BYTES)
		(void)madvise(wb->shm.data + (size_t)nr * NFSWB_CHUNK_BYTES,
			      NFSWB_CHUNK_BYTES, MADV_POPULATE_WRITE);
#endif
}

/* Whoever filled it before, and did not see it closed, does so no more. */
static void
chunk_take(struct nfswb *wb, struct chunk *c, uint32_t nr)
{
	if (wb->filler[nr])
		chunk_forget(wb, wb->filler[nr]);
	wb->filler[nr] = c;
	c->nr = nr;
	c->limit = 0;
	c->half = 0;
	if (c != &wb->shared)
		wb->own_nr++;
}

static void
chunk_leave(struct nfswb *wb, struct chunk *c)
{
	if (c->nr != NFSWB_NO_CHUNK) {
		crash_point();
		atomic_fetch_or(&wb->shm.mark[c->nr], NFSWB_MARK_CLOSED);
	}
	chunk_forget(wb, c);
}

void
room_leave(struct nfswb *wb, struct nfswb_file *f)
{
	uint32_t nr = f->chunk.nr;

	if (nr != NFSWB_NO_CHUNK && wb->shared.nr == NFSWB_NO_CHUNK)
		chunk_take(wb, &wb->shared, nr);	/* off the file */
	else
		chunk_leave(wb, &f->chunk);
}

void
room_forget_chunks(struct nfswb *wb)
{
	struct nfswb_file *f;

	LIST_FOREACH(f, &wb->files, link)
		chunk_forget(wb, &f->chunk);
	chunk_forget(wb, &wb->shared);
}

void
room_follow(struct nfswb_file *f, uint64_t offset, uint64_t length)
{
	f->run = offset == f->next ? f->run + length : length;
	f->next = offset + length;
}

static uint32_t
limit_of(uint64_t mark)
{
	uint32_t limit = nfswb_mark_limit(mark);

	return limit < NFSWB_CHUNK_BYTES ? limit : NFSWB_CHUNK_BYTES;
}

static uint64_t
queued(struct nfswb *wb)
{
	struct nfswb_control *c = wb->shm.control;

	return atomic_load(&c->g_head) - atomic_load(&c->g_tail);
}

/* The daemon wants to hear, while it naps, that half the room is used: of the
   chunks in the queue, and with none there of this one. */
static void
note_pop(struct nfswb *wb)
{
	uint64_t left = queued(wb);

	if (left > wb->queued_most)
		wb->queued_most = left;
	if (left > wb->queued_most / 2)
		return;
	wb->queued_most = left;
	wb->half_used = true;
}

static void
note_use(struct nfswb *wb, struct chunk *c, uint32_t limit, uint32_t before,
	 uint32_t after)
{
	if (limit != c->limit) {
		c->limit = limit;
		c->half = before + (limit - before) / 2;
	}
	if (before < c->half && after >= c->half && !queued(wb))
		wb->half_used = true;
}

enum chunk_state { CHUNK_CLAIMED, CHUNK_LACKS_ROOM, CHUNK_TOO_SMALL,
		   CHUNK_CLOSED };

static enum chunk_state
claim_in(struct nfswb *wb, struct chunk *c, const struct need *need,
	 struct claim *out)
{
	_Atomic uint64_t *word = &wb->shm.mark[c->nr];
	uint64_t mark = atomic_load(word);
	uint32_t fill, limit, n;

	do {
		fill = nfswb_mark_fill(mark);
		limit = limit_of(mark);
		if (mark & NFSWB_MARK_CLOSED || fill >= NFSWB_CHUNK_BYTES)
			return CHUNK_CLOSED;
		if (need->whole && need->bytes > NFSWB_CHUNK_BYTES - fill)
			return CHUNK_TOO_SMALL;
		n = limit > fill ? limit - fill : 0;
		if (n == 0 || (need->whole && n < need->bytes))
			return CHUNK_LACKS_ROOM;
		if (n > need->bytes)
			n = (uint32_t)need->bytes;
	} while (!atomic_compare_exchange_weak(word, &mark, mark + n));
	crash_point();
	note_use(wb, c, limit, fill, fill + n);
	out->place = (uint64_t)c->nr * NFSWB_CHUNK_BYTES + fill;
	out->length = n;
	if (fill + n == NFSWB_CHUNK_BYTES)
		chunk_forget(wb, c);
	return CHUNK_CLAIMED;
}

/* From the chunk, or from the next in the grant queue.  Who has a chunk that
   may still be raised leaves those in the queue to who has none. */
static bool
claim_or_pop(struct nfswb *wb, struct chunk *c, const struct need *need,
	     struct claim *out)
{
	uint32_t nr;

	for (;;) {
		if (c->nr != NFSWB_NO_CHUNK) {
			switch (claim_in(wb, c, need, out)) {
			case CHUNK_CLAIMED:
				return true;
			case CHUNK_LACKS_ROOM:
				if (wb->chunkless_nr)
					return false;
				break;
			case CHUNK_TOO_SMALL:
				chunk_leave(wb, c);
				break;
			case CHUNK_CLOSED:
				chunk_forget(wb, c);
				break;
			}
		}
		nr = ring_grant_pop(&wb->shm);
		if (nr >= wb->shm.layout.chunk_nr)
			return false;
		chunk_leave(wb, c);
		chunk_take(wb, c, nr);
		touch(wb, nr);
		note_pop(wb);
	}
}

/* The chunk that this file's next bytes go to. */
static struct chunk *
chunk_of(struct nfswb *wb, struct nfswb_file *f)
{
	bool own = f->chunk.nr != NFSWB_NO_CHUNK ||
		   (f->run >= OWN_AFTER &&
		    wb->own_nr < wb->shm.layout.chunk_nr / 4);

	return own ? &f->chunk : &wb->shared;
}

static bool
claim_anywhere(struct nfswb *wb, struct nfswb_file *f, const struct need *need,
	       struct claim *out)
{
	struct chunk *c = chunk_of(wb, f);

	if (claim_or_pop(wb, c, need, out))
		return true;
	return c != &wb->shared && wb->shared.nr != NFSWB_NO_CHUNK &&
	       claim_in(wb, &wb->shared, need, out) == CHUNK_CLAIMED;
}

enum lack { LACK_NOTHING, LACK_ROOM, LACK_SLOT, LACK_OTHER, LACK_SESSION };

static enum lack
try_claim(struct nfswb *wb, struct nfswb_file *f, const struct need *need,
	  struct claim *out)
{
	if (wb->link == LINK_DEAD)
		return LACK_SESSION;
	if (wb->link != LINK_UP || f->hold_nr)
		return LACK_OTHER;
	if (!post_has_slot(wb))
		return LACK_SLOT;
	return claim_anywhere(wb, f, need, out) ? LACK_NOTHING : LACK_ROOM;
}

void
room_ask(struct nfswb *wb, uint32_t chunk)
{
	struct nfswb_control *c = wb->shm.control;
	uint32_t want = INT32_MAX;

	if (wb->want_bytes < want)
		want = (uint32_t)wb->want_bytes;
	if (want && !wb->tail_waiter_nr)
		want |= NFSWB_WANT_ROOM;
	atomic_store_explicit(&c->want, want, memory_order_relaxed);
	if (chunk != NFSWB_NO_CHUNK || wb->chunkless_nr)
		atomic_store_explicit(&c->want_chunk, chunk,
				      memory_order_relaxed);
	crash_point();
	atomic_store(&c->c_waits, 1);
	crash_point();
}

void
room_ring(struct nfswb *wb)
{
	if (wb->link == LINK_UP &&
	    atomic_load(&wb->shm.control->d_sleeps) != NFSWB_AWAKE)
		wire_bell(wb);
}

/* Asks for room, looks again, sleeps. */
static int
wait_for_room(struct nfswb *wb, struct nfswb_file *f, const struct need *need,
	      struct waiter *w, uint64_t deadline, struct claim *out,
	      enum lack *lack)
{
	uint32_t nr = chunk_of(wb, f)->nr;
	bool chunkless = nr == NFSWB_NO_CHUNK;
	int rc = 0;

	wb->want_bytes += need->bytes;
	wb->chunkless_nr += chunkless;
	room_ask(wb, nr);
	wb->chunkless_nr -= chunkless;
	*lack = try_claim(wb, f, need, out);
	wb->chunkless_nr += chunkless;
	if (*lack == LACK_ROOM) {
		room_ring(wb);
		rc = wait_more(wb, w, deadline);
	}
	wb->chunkless_nr -= chunkless;
	wb->want_bytes -= need->bytes;
	return rc;
}

/* The same for a slot, which comes when the tail moves. */
static int
wait_for_slot(struct nfswb *wb, struct waiter *w, uint64_t deadline)
{
	int rc = 0;

	wb->tail_waiter_nr++;
	room_ask(wb, NFSWB_NO_CHUNK);
	if (!post_has_slot(wb)) {
		room_ring(wb);
		rc = wait_more(wb, w, deadline);
	}
	wb->tail_waiter_nr--;
	return rc;
}

/* No grant for a while: is it failed data that fills the slab? */
static int
ask_failed(struct nfswb *wb, uint64_t deadline)
{
	struct ask ask = { .args.type = NFSWB_FAILED_ROOM,
			   .deadline = deadline };
	int rc;

	session_unlock(wb);
	rc = call_plain(wb, &ask);
	session_lock(wb);
	return rc;
}

static int
wait_for(struct nfswb *wb, struct nfswb_file *f, const struct need *need,
	 enum lack *lack, struct waiter *w, uint64_t deadline,
	 struct claim *out)
{
	switch (*lack) {
	case LACK_ROOM:
		return wait_for_room(wb, f, need, w, deadline, out, lack);
	case LACK_SLOT:
		return wait_for_slot(wb, w, deadline);
	default:
		return wait_more(wb, w, deadline);
	}
}

/* Waits until claimed; -ETIME: nothing was granted until patience ended. */
static int
claim_patiently(struct nfswb *wb, struct nfswb_file *f,
		const struct need *need, uint64_t deadline, struct claim *out)
{
	uint64_t patience = clock_now() + FAILED_NSEC;
	struct waiter w;
	enum lack lack;
	int rc = 0;

	wait_begin(wb, &w, WAKE_BELL | WAKE_TURN);
	while ((lack = try_claim(wb, f, need, out)) != LACK_NOTHING) {
		if (lack == LACK_SESSION) {
			error_cause("%s", wb->dead);
			rc = -ESTALE;
			break;
		}
		rc = wait_for(wb, f, need, &lack, &w, lack == LACK_ROOM &&
			      patience < deadline ? patience : deadline, out);
		if (rc == -ETIMEDOUT && lack == LACK_ROOM &&
		    clock_now() < deadline)
			rc = -ETIME;
		if (rc < 0 || lack == LACK_NOTHING)
			break;
	}
	wait_end(wb, &w);
	return rc;
}

int
room_claim(struct nfswb *wb, struct nfswb_file *f, const struct need *need,
	   uint64_t deadline, struct claim *out)
{
	enum lack lack = try_claim(wb, f, need, out);
	int rc;

	if (lack == LACK_NOTHING)
		return 0;
	if (lack == LACK_ROOM && need->no_wait)
		return -EAGAIN;
	for (;;) {
		rc = claim_patiently(wb, f, need, deadline, out);
		if (rc != -ETIME)
			return rc;
		rc = ask_failed(wb, deadline);
		if (rc < 0)
			return rc;
	}
}
