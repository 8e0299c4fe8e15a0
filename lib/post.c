/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * post.c - tells the daemon what was written
 *
 * The entry, then head, then a look at what the daemon wants to hear of: store
 * and load are sequentially consistent, so that either it sees the entry before
 * it sleeps, or we see that it sleeps.
 *
 * A bell that the daemon has not come round to yet (the tail is not past the
 * head of then) need not be rung twice: before it sleeps again, it looks.
 */
#include <errno.h>

#include "common/crash.h"
#include "lib/error.h"
#include "lib/post.h"
#include "lib/resume.h"
#include "lib/session.h"
#include "lib/wire.h"

#define COPY_LOCKED_MAX 4096u
#define SPIN_NSEC 1000

static uint64_t
load_tail(struct nfswb *wb)
{
	wb->tail = atomic_load(&wb->shm.control->tail);
	return wb->tail;
}

bool
post_has_slot(struct nfswb *wb)
{
	uint64_t most = wb->shm.layout.ring_nr;

	if (wb->head - wb->tail + wb->claim_nr < most)
		return true;
	return wb->head - load_tail(wb) + wb->claim_nr < most;
}

static bool
ring_is_half_full(struct nfswb *wb)
{
	uint64_t half = wb->shm.layout.ring_nr / 2;

	return wb->head - wb->tail >= half &&
	       wb->head - load_tail(wb) >= half;
}

static bool
bell_is_wanted(struct nfswb *wb)
{
	switch (atomic_load(&wb->shm.control->d_sleeps)) {
	case NFSWB_RING:
		return true;
	case NFSWB_NAP:
		return wb->half_used || ring_is_half_full(wb);
	}
	return false;
}

static void
ring_if_wanted(struct nfswb *wb)
{
	if (wb->link != LINK_UP || !bell_is_wanted(wb))
		return;
	wb->half_used = false;
	if ((int64_t)(wb->bell_head - load_tail(wb)) > 0)
		return;
	wb->bell_head = wb->head;
	wire_bell(wb);
}

static void
post(struct nfswb *wb, const struct nfswb_ring_entry *entry)
{
	crash_point();
	*ring_slot(&wb->shm, wb->head) = *entry;
	wb->head++;
	crash_point();
	atomic_store(&wb->shm.control->head, wb->head);
	crash_point();
	ring_if_wanted(wb);
}

void
post_claimed(struct nfswb *wb, struct nfswb_file *f, const struct claim *c,
	     struct source *from, uint64_t offset, uint32_t kind)
{
	struct nfswb_ring_entry entry = {
		.offset = offset, .place = c->place, .length = c->length,
		.file = f->number, .kind = kind,
	};

	crash_point();
	if (c->length <= COPY_LOCKED_MAX) {
		source_copy(from, wb->shm.data + c->place, c->length);
		post(wb, &entry);
		return;
	}
	wb->claim_nr++;
	session_unlock(wb);
	source_copy(from, wb->shm.data + c->place, c->length);
	session_lock(wb);
	wb->claim_nr--;
	post(wb, &entry);
	if (wb->claim_nr == 0)
		link_drained(wb);
}

static bool
is_taken(struct nfswb *wb, uint64_t position)
{
	return (int64_t)(load_tail(wb) - position) >= 0;
}

static void
spin(struct nfswb *wb, uint64_t position)
{
	uint64_t until = clock_now() + SPIN_NSEC;

	session_unlock(wb);
	while ((int64_t)(atomic_load(&wb->shm.control->tail) - position) < 0 &&
	       clock_now() < until)
		;
	session_lock(wb);
}

int
post_wait_shared(struct nfswb *wb, struct nfswb_file *f, uint64_t deadline)
{
	uint64_t position = wb->head;
	struct waiter w;
	int rc = 0;

	if (!atomic_load(&wb->shm.shared[f->number]))
		return 0;
	spin(wb, position);
	if (is_taken(wb, position))
		return 0;
	wait_begin(wb, &w, WAKE_BELL);
	wb->tail_waiter_nr++;
	while (rc == 0) {
		room_ask(wb, NFSWB_NO_CHUNK);
		if (is_taken(wb, position))
			break;
		if (wb->link == LINK_DEAD) {
			error_cause("%s", wb->dead);
			rc = -ESTALE;
			break;
		}
		room_ring(wb);
		rc = wait_more(wb, &w, deadline);
	}
	wb->tail_waiter_nr--;
	wait_end(wb, &w);
	return rc;
}
