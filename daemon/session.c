/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session.c - a session's life
 *
 *	NEW -- HELLO --> LIVE -- gone --> ENDING -- drained --> RELEASED
 *	   \-- RESUME --> RESUMING --/                 slab gone: freed
 *
 * All that a session does beyond reading its socket happens in its turn, a
 * deferred call: take a batch of the ring, begin the messages that may begin,
 * serve its want of room, and decide when to look again.  A session is ended
 * only there, so nobody who calls into a session finds it gone on return.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/keep.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

#define TURN_ENTRIES	1024
#define BLOCKED_USEC	100000	/* then look again, when it has ended */

/* --- counting --- */

void
sessions_put(struct sessions *o)
{
	if (--o->refs)
		return;
	free(o);
}

struct session *
session_ref(struct session *s)
{
	s->refs++;
	return s;
}

void
session_put(struct session *s)
{
	if (--s->refs)
		return;
	session_count(s, COUNT_NONE);
	user_put(s->user);
	cred_put(s->cred);
	peer_clear(&s->peer);
	free(s->file);
	sessions_put(s->owner);
	free(s);
}

/* Everything of it that belongs to the loop. */
static void
leave_loop(struct session *s)
{
	struct loop *l = s->owner->env.loop;

	request_forget(s);
	if (s->user)
		user_wait_drop(s->user, &s->rest);
	session_count(s, COUNT_NONE);
	io_close(s);
	loop_watch_free(l, s->death);
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->death = NULL;
	s->pidfd = -1;
}

/* The end of its life. */
static void
vanish(struct session *s)
{
	struct loop *l = s->owner->env.loop;

	TAILQ_REMOVE(&s->owner->list, s, link);
	loop_timer_free(l, s->nap);
	loop_deferred_free(l, s->turn);
	s->nap = NULL;
	s->turn = NULL;
	session_put(s);
}

bool
session_is_gone(const struct session *s)
{
	return s->fd < 0 || s->hangup;
}

void
session_poke(struct session *s)
{
	if (s->turn)
		loop_defer(s->owner->env.loop, s->turn);
}

void
session_poke_waiting(struct sessions *o)
{
	struct session *s;

	TAILQ_FOREACH(s, &o->list, link)
		if (!TAILQ_EMPTY(&s->todo) || !TAILQ_EMPTY(&s->parked))
			session_poke(s);
}

void
session_hangup(struct session *s, const char *why)
{
	if (s->hangup)
		return;
	s->hangup = true;
	if (why)
		log_warning(SESSION_FMT " closed: %s", SESSION_ARG(s), why);
	io_update(s);
	session_poke(s);
}

bool
session_may_act(const struct session *s)
{
	return s->state == SESSION_LIVE && !s->hangup &&
	       !s->owner->importing && !s->owner->stopping;
}

/* --- memory --- */

static void
slab_room(void *arg)
{
	struct session *s = arg;

	if (s->memory.control_fd >= 0)
		io_bell(s);
	if (s->blocked || s->writing || s->state == SESSION_ENDING)
		session_poke(s);
}

/* All of it is on stable storage, or given up: nobody need know it any more. */
static void
strike(struct session *s)
{
	bool kept;

	if (!s->record)
		return;
	kept = s->record->data_bytes > 0;
	runtime_ended(s->owner->runtime, s->record);
	if (kept)		/* last: who is known must have his memory */
		keep_drop(s->owner->env.keep, s->id);
	s->record = NULL;
}

static void
slab_gone(void *arg)
{
	struct session *s = arg;

	s->user->slab_bytes -= s->memory.data_bytes;
	memory_free(&s->memory);
	s->slab = NULL;
	strike(s);
	if (s->turn)
		vanish(s);
	else
		session_put(s);		/* after sessions_free */
}

static void
slab_idle(void *arg, uint64_t place, uint64_t length)
{
	struct session *s = arg;

	memory_punch(&s->memory, place, length);
}

static const struct slab_hooks hooks = {
	.room = slab_room,
	.released = slab_gone,
	.idle = slab_idle,
};

int
session_make_slab(struct session *s)
{
	s->slab = slab_new(s->owner->env.wb, &s->memory.view, &hooks, s);
	if (!s->slab)
		return -ENOMEM;
	s->user->slab_bytes += s->memory.data_bytes;
	slab_set_user(s->slab, s->peer.cred->uid, s->user->limits->weight);
	return 0;
}

/* --- the end --- */

static void
close_files(struct session *s)
{
	uint64_t now = session_now(s);
	struct session_file *sf;
	uint32_t i;

	for (i = 0; i < s->file_room; i++) {
		sf = s->file[i];
		if (!sf)
			continue;
		sf->record = NULL;	/* struck with the session */
		if (!sf->handle)
			continue;	/* its CLOSE's */
		handle_close(session_file_shut(sf), now, NULL, NULL);
		session_file_free(sf);
	}
}

/* Its ring is done with: what its slab holds is written back, then it is gone. */
static void
release(struct session *s)
{
	close_files(s);
	s->state = SESSION_RELEASED;
	slab_release(s->slab, session_now(s));
}

static void
end_begin(struct session *s)
{
	uint64_t head = drain_head(s);

	leave_loop(s);
	loop_timer_clear(s->owner->env.loop, s->nap);
	if (s->state == SESSION_RESUMING)
		return;			/* its data is imported first */
	if (!s->slab) {
		close_files(s);
		strike(s);
		memory_free(&s->memory);
		vanish(s);
		return;
	}
	if (!s->record) {		/* given back */
		release(s);
		return;
	}
	s->last_head = head - s->tail > s->memory.view.layout.ring_nr ?
		       s->tail : head;
	s->state = SESSION_ENDING;
}

static void
end_go_on(struct session *s)
{
	enum drained d = drain_to(s, s->last_head, TURN_ENTRIES);

	if (d == DRAIN_MORE)
		session_poke(s);
	if (d == DRAIN_BLOCKED) {
		stuck_check(s);
		loop_timer_set(s->owner->env.loop, s->nap, BLOCKED_USEC);
	}
	if (d == DRAIN_DONE)
		release(s);
}

void
session_give_back(struct session *s)
{
	s->record = NULL;
	s->state = SESSION_NEW;
	session_hangup(s, NULL);
	session_poke(s);
}

/* --- its turn --- */

/*
 * One thread of the client may wait for room, another for the tail; they ask by
 * the same word.  So while anybody waits, a tail that moved is told by a bell,
 * unless the client said that it is room alone.
 */
static void
serve(struct session *s)
{
	struct nfswb_control *c = s->memory.view.control;
	bool waits = atomic_load(&c->c_waits);
	struct slab_usage u;

	slab_serve(s->slab, session_now(s));
	if (s->tail == s->tail_told || s->memory.control_fd < 0)
		return;
	s->tail_told = s->tail;
	slab_usage(s->slab, session_now(s), &u);
	if ((waits || u.waiting != WAIT_NONE) && u.wants_tail)
		io_bell(s);
}

static void
live(struct session *s)
{
	struct nfswb_control *c = s->memory.view.control;
	enum drained d;

	atomic_store_explicit(&c->d_sleeps, NFSWB_AWAKE,
			      memory_order_relaxed);
	d = drain_to(s, drain_head(s), TURN_ENTRIES);
	api_write_more(s);
	request_pump(s);
	if (!s->owner->stopping)
		serve(s);
	stuck_check(s);
	if (d == DRAIN_MORE)
		session_poke(s);
	else
		drain_rest(s);
}

static void
turn(void *arg)
{
	struct session *s = session_ref(arg);

	s->in_turn = true;
	if (s->hangup && s->state < SESSION_ENDING)
		end_begin(s);
	if (s->state == SESSION_ENDING)
		end_go_on(s);
	else if (s->state == SESSION_LIVE)
		live(s);
	if (s->owner->importing)
		resume_check(s->owner);
	s->in_turn = false;
	session_put(s);
}

/* --- coming --- */

static void
died(void *arg, int fd, unsigned events)
{
	struct session *s = arg;

	(void)fd;
	(void)events;
	loop_watch_set(s->owner->env.loop, s->death, 0);
	session_hangup(s, NULL);
}

static int
start(struct session *s)
{
	struct loop *l = s->owner->env.loop;

	io_start(s);
	s->pidfd = peer_pidfd(s->peer.pid);
	if (s->pidfd >= 0)
		s->death = loop_watch(l, s->pidfd, LOOP_READ, died, s);
	if (!s->watch || !s->turn || !s->nap || (s->pidfd >= 0 && !s->death))
		return -ENOMEM;
	session_count(s, COUNT_NEW);
	s->user->told = false;
	return 0;
}

/* In the list, with all that any session has; turn or nap may be missing. */
static struct session *
session_new(struct sessions *o)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->refs = 1;
	s->owner = o;
	o->refs++;
	s->fd = s->pidfd = -1;
	s->memory.control_fd = s->memory.data_fd = -1;
	TAILQ_INIT(&s->todo);
	TAILQ_INIT(&s->parked);
	TAILQ_INIT(&s->under_way);
	s->turn = loop_deferred(o->env.loop, turn, s);
	s->nap = loop_timer(o->env.loop, turn, s);
	TAILQ_INSERT_TAIL(&o->list, s, link);
	return s;
}

void
session_come(struct sessions *o, int fd)
{
	struct session *s = session_new(o);
	int err;

	if (!s) {
		close(fd);
		return;
	}
	s->fd = fd;
	err = peer_init(&s->peer, fd);
	if (!err)
		err = session_admit(s);
	if (!err)
		err = start(s);
	if (!err)
		return;
	session_refused(s, err);
	leave_loop(s);
	vanish(s);
}

struct session *
session_come_back(struct sessions *o, struct runtime_session *record)
{
	struct session *s = session_new(o);

	if (!s)
		return NULL;
	peer_gone(&s->peer, record->pid, record->cred);
	if (session_own(s) || !s->turn || !s->nap) {
		vanish(s);
		return NULL;
	}
	s->record = record;
	s->id = record->id;
	s->state = SESSION_RESUMING;
	session_hangup(s, NULL);
	return s;
}

/* --- at the daemon's end --- */

/* The data stays with the pipeline; the table, the lists in shared memory and
   what is in the rings stay for the next instance. */
void
session_let_go(struct session *s)
{
	bool slab_lives = s->slab && s->state != SESSION_RELEASED;

	drain_all(s);
	leave_loop(s);
	request_abandon(s);
	close_files(s);
	s->record = NULL;
	if (slab_lives) {
		s->state = SESSION_RELEASED;
		session_ref(s);
		slab_release(s->slab, session_now(s));
		if (!s->slab) {			/* gone at once */
			session_put(s);
			return;
		}
		session_put(s);
	}
	TAILQ_REMOVE(&s->owner->list, s, link);
	loop_timer_free(s->owner->env.loop, s->nap);
	loop_deferred_free(s->owner->env.loop, s->turn);
	s->nap = NULL;
	s->turn = NULL;
	if (!s->slab)
		session_put(s);
}
