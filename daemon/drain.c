/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drain.c - a session's ring: taking entries; napping and sleeping
 *
 * An entry is copied once out of shared memory, then looked at; the tail is
 * stored once a batch.  Our own tail counts, the shared one is only told.
 * Where the pipeline has no list slot the ring stays as it is until room()
 * tells.
 *
 *	AWAKE -> nothing left -> NAP, back in a millisecond
 *	NAP   -> NAPS_MAX times in vain, or its writers wait for room -> RING,
 *		 until a bell
 *	NAP   -> blocked: longer each time in vain, NAP_MAX_USEC at most
 *
 * Who goes to sleep stores its flag, fences, and looks again at everything the
 * other side would ring for (SHARED-MEMORY, "Waking").
 *
 * A ring that is drained outside of the session's turn asks for one, since room
 * that was used up is to be granted anew.
 *
 * A client may punch holes into what it maps, which makes our touch of a page
 * wait: a session whose ring made the loop sleep for long is closed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/crash.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

#define NAP_USEC	1000
#define NAPS_MAX	20
#define NAP_MAX_USEC	256000
#define WAITED_USEC	10000

struct watchdog {
	long switches;
	struct timespec start;
};

static void
watchdog_start(struct watchdog *w)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	w->switches = u.ru_nvcsw;
	clock_gettime(CLOCK_MONOTONIC, &w->start);
}

/* Real time, and only when the thread slept: being preempted doesn't count. */
static bool
watchdog_barks(const struct watchdog *w)
{
	struct timespec end;
	struct rusage u;

	clock_gettime(CLOCK_MONOTONIC, &end);
	if ((end.tv_sec - w->start.tv_sec) * 1000000 +
	    (end.tv_nsec - w->start.tv_nsec) / 1000 < WAITED_USEC)
		return false;
	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw != w->switches;
}

static void
broken(struct session *s, const char *why)
{
	s->broken = true;
	s->blocked = false;
	session_hangup(s, why);
}

/* Where the ring ends now, which a client can set to anything: a head before
   the tail would never be reached, and one that lies too far ahead neither. */
uint64_t
drain_head(struct session *s)
{
	uint64_t head;

	if (!s->slab || s->broken)
		return s->tail;
	head = atomic_load_explicit(&s->memory.view.control->head,
				    memory_order_acquire);
	if (s->state == SESSION_RESUMING ||	/* the tail is not known */
	    head - s->tail <= s->memory.view.layout.ring_nr)
		return head;
	broken(s, "its ring's head is out of range");
	return s->tail;
}

/* The one look at a slot: nothing of it may be read a second time. */
static void
copy_slot(struct session *s, struct nfswb_ring_entry *out)
{
	memcpy(out, ring_slot(&s->memory.view, s->tail), sizeof *out);
	__asm__ volatile("" : : "r"(out) : "memory");
}

/* 0, or -ENOBUFS: not now.  Anything else has ended the session. */
static int
take_one(struct session *s, uint64_t now)
{
	struct nfswb_ring_entry e;
	struct session_file *sf;
	int err;

	copy_slot(s, &e);
	sf = session_file(s, e.file);
	if (!sf) {
		broken(s, "its ring names a file that is not open");
		return -EPROTO;
	}
	if (e.kind != NFSWB_RING_WRITE && e.kind != NFSWB_RING_APPEND) {
		broken(s, "its ring holds an entry of no known kind");
		return -EPROTO;
	}
	err = slab_post(s->slab, sf->handle, &e, s->tail + 1, now);
	if (err == -EPROTO)
		broken(s, "its ring names bytes that it was not granted");
	else if (err == -ENOBUFS)
		s->blocked = true;
	else
		err = 0;	/* a refused write is told by the file */
	return err;
}

static enum drained
take_until(struct session *s, uint64_t until, unsigned budget)
{
	uint64_t now = session_now(s);

	s->blocked = false;
	while (s->tail != until) {
		if (!budget--)
			return DRAIN_MORE;
		if (take_one(s, now))
			return s->blocked ? DRAIN_BLOCKED : DRAIN_DONE;
		s->tail++;
	}
	return DRAIN_DONE;
}

enum drained
drain_to(struct session *s, uint64_t until, unsigned budget)
{
	uint64_t before = s->tail;
	struct watchdog dog;
	enum drained d;
	bool was_blocked = s->blocked;

	if (!s->slab || s->broken || s->state == SESSION_RESUMING ||
	    (int64_t)(until - s->tail) <= 0)
		return DRAIN_DONE;
	if (s->halted)
		return DRAIN_BLOCKED;
	if (until - s->tail > s->memory.view.layout.ring_nr) {
		broken(s, "its ring's head is out of range");
		return DRAIN_DONE;
	}
	watchdog_start(&dog);
	d = take_until(s, until, budget);
	if (s->tail != before) {
		s->active = true;
		crash_point();
		atomic_store_explicit(&s->memory.view.control->tail, s->tail,
				      memory_order_seq_cst);
		crash_point();
		if (!s->in_turn)
			session_poke(s);
	}
	if (watchdog_barks(&dog) && !s->broken)
		session_hangup(s, "its memory made the daemon wait");
	if (was_blocked && !s->blocked)
		session_poke_waiting(s->owner);
	return d;
}

bool
drain_all(struct session *s)
{
	return drain_to(s, drain_head(s), UINT32_MAX) == DRAIN_DONE;
}

/* After the flag was stored: is there anything the client would have rung
   for, had it seen the flag earlier? */
static bool
missed_something(const struct session *s, uint32_t flag)
{
	const struct nfswb_control *c = s->memory.view.control;
	uint64_t used;

	if (s->owner->stopping)
		return false;
	if (atomic_load_explicit(&c->c_waits, memory_order_acquire))
		return true;
	used = atomic_load_explicit(&c->head, memory_order_acquire) - s->tail;
	if (!used || s->blocked)
		return false;
	return flag == NFSWB_RING || used >= s->memory.view.layout.ring_nr / 2;
}

/* Bells are not read any more when the daemon stops; and nothing tells that
   what takes up a list has failed. */
static bool
stays_up(const struct session *s)
{
	return s->owner->stopping || (s->blocked && !TAILQ_EMPTY(&s->todo));
}

/* Whoever makes room in the list says so; only what failed is looked for. */
static uint64_t
nap_usec(const struct session *s)
{
	uint64_t usec = NAP_USEC;
	unsigned i;

	if (s->owner->stopping || !s->blocked)
		return usec;
	for (i = 0; i < s->empty_naps && usec < NAP_MAX_USEC; i++)
		usec *= 2;
	return usec;
}

/* Its writers have no room to post anything from, until they are granted some;
   who has, in another thread, rings. */
static bool
waits_for_room(const struct session *s)
{
	struct slab_usage u;

	if (s->blocked)		/* its entries wait for the list */
		return false;
	slab_usage(s->slab, session_now(s), &u);
	return u.waiting != WAIT_NONE;
}

void
drain_rest(struct session *s)
{
	struct nfswb_control *c = s->memory.view.control;
	uint32_t flag;

	if (s->broken || s->hangup || s->memory.control_fd < 0)
		return;
	s->empty_naps = s->active ? 0 : s->empty_naps + 1;
	s->active = false;
	if (waits_for_room(s))
		s->empty_naps = NAPS_MAX;
	flag = s->empty_naps < NAPS_MAX || stays_up(s) ? NFSWB_NAP :
							 NFSWB_RING;
	crash_point();
	atomic_store_explicit(&c->d_sleeps, flag, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	if (!missed_something(s, flag)) {
		if (flag == NFSWB_NAP)
			loop_timer_set(s->owner->env.loop, s->nap,
				       nap_usec(s));
		else
			loop_timer_clear(s->owner->env.loop, s->nap);
	} else if (s->blocked) {	/* may be nothing that can be done */
		loop_timer_set(s->owner->env.loop, s->nap, nap_usec(s));
	} else {
		atomic_store_explicit(&c->d_sleeps, NFSWB_AWAKE,
				      memory_order_relaxed);
		session_poke(s);
	}
}
