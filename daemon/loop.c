/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop.c - the event loop on libevent
 *
 * One round: libevent waits (not at all while deferred calls are pending) and
 * calls what is ready; then the deferred calls asked for so far run, in order.
 * One that asks for itself again runs in the next round, so it can't keep
 * descriptors and timers from their turn.
 *
 * A watch is two libevent events, so that waiting for WRITE or not, which
 * changes often, costs one system call.  A callback that frees its own watch,
 * timer or deferred call is safe because nothing is touched after it; one that
 * frees another which is ready too is safe because event_del takes that one
 * out of libevent's queue of the ready.
 *
 * Where the system has no memory for what is to be waited for, that is noted and
 * tried again: nobody waits for good.  What wakes for that is a timer that is
 * always set, and so needs no memory itself.
 *
 * Timers never fire early: the base keeps no cached time, which would count a
 * delay from before the callback that sets it.
 */
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "common/log.h"
#include "daemon/loop.h"

#define AGAIN_USEC	10000
#define YEAR_USEC	(366ull * 86400 * 1000000)

TAILQ_HEAD(deferred_list, loop_deferred);

/* What a watch or a timer is in, while it could not be set. */
struct unmet {
	TAILQ_ENTRY(unmet) link;
	bool listed;
	int (*try)(struct unmet *);
};
TAILQ_HEAD(unmet_list, unmet);

struct evloop {
	struct loop loop;		/* first: the two are cast */
	struct event_base *base;
	struct deferred_list soon;	/* to run in the next batch */
	struct deferred_list batch;	/* running now */
	struct unmet_list unmet;
	struct event again;		/* for those; always set */
	bool stopped;
};

struct loop_watch {
	struct unmet unmet;		/* first: the two are cast */
	struct evloop *loop;
	loop_fd_fn *fn;
	void *arg;
	unsigned events;
	struct event read, write;
};

struct loop_timer {
	struct unmet unmet;		/* first: the two are cast */
	struct evloop *loop;
	uint64_t due_usec;
	loop_fn *fn;
	void *arg;
	struct event event;
};

struct loop_signal {
	loop_fn *fn;
	void *arg;
	struct event event;
};

struct loop_deferred {
	struct evloop *loop;
	loop_fn *fn;
	void *arg;
	struct deferred_list *list;	/* NULL: not asked for */
	TAILQ_ENTRY(loop_deferred) link;
};

static struct evloop *
evloop_of(struct loop *l)
{
	return (struct evloop *)l;
}

static uint64_t
evloop_now(struct loop *l)
{
	struct timespec ts;

	(void)l;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static struct timeval
timeval_of(uint64_t usec)
{
	if (usec > YEAR_USEC)
		usec = YEAR_USEC;
	return (struct timeval){ .tv_sec = (time_t)(usec / 1000000),
				 .tv_usec = (suseconds_t)(usec % 1000000) };
}

static int
set_again(struct evloop *e, uint64_t usec)
{
	struct timeval tv = timeval_of(usec);

	return evtimer_add(&e->again, &tv);
}

static void
unmet_forget(struct evloop *e, struct unmet *u)
{
	if (u->listed)
		TAILQ_REMOVE(&e->unmet, u, link);
	u->listed = false;
}

static void
unmet_note(struct evloop *e, struct unmet *u)
{
	if (u->listed)
		return;
	u->listed = true;
	TAILQ_INSERT_TAIL(&e->unmet, u, link);
	(void)set_again(e, AGAIN_USEC);
}

static void
try_again(evutil_socket_t fd, short what, void *arg)
{
	struct evloop *e = arg;
	struct unmet *u;

	(void)fd;
	(void)what;
	while ((u = TAILQ_FIRST(&e->unmet)) && !u->try(u))
		unmet_forget(e, u);
	(void)set_again(e, u ? AGAIN_USEC : YEAR_USEC);
}

static void
watch_read(evutil_socket_t fd, short what, void *arg)
{
	struct loop_watch *w = arg;

	(void)what;
	w->fn(w->arg, fd, LOOP_READ);
}

static void
watch_write(evutil_socket_t fd, short what, void *arg)
{
	struct loop_watch *w = arg;

	(void)what;
	w->fn(w->arg, fd, LOOP_WRITE);
}

static int
watch_one(struct event *ev, short what, bool wanted)
{
	bool is = event_pending(ev, what, NULL);

	if (is == wanted)
		return 0;
	return wanted ? event_add(ev, NULL) : event_del(ev);
}

static int
watch_try(struct unmet *u)
{
	struct loop_watch *w = (struct loop_watch *)u;
	int read = watch_one(&w->read, EV_READ, w->events & LOOP_READ);
	int write = watch_one(&w->write, EV_WRITE, w->events & LOOP_WRITE);

	return read || write ? -1 : 0;
}

static void
evloop_watch_free(struct loop_watch *w)
{
	unmet_forget(w->loop, &w->unmet);
	event_del(&w->read);
	event_del(&w->write);
	free(w);
}

static struct loop_watch *
evloop_watch(struct loop *l, int fd, unsigned events, loop_fd_fn *fn,
	     void *arg)
{
	struct event_base *base = evloop_of(l)->base;
	struct loop_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->unmet.try = watch_try;
	w->loop = evloop_of(l);
	w->fn = fn;
	w->arg = arg;
	w->events = events;
	if (event_assign(&w->read, base, fd, EV_READ | EV_PERSIST, watch_read,
			 w) ||
	    event_assign(&w->write, base, fd, EV_WRITE | EV_PERSIST,
			 watch_write, w)) {
		free(w);
		return NULL;
	}
	if (watch_try(&w->unmet)) {
		evloop_watch_free(w);
		return NULL;
	}
	return w;
}

static void
evloop_watch_set(struct loop_watch *w, unsigned events)
{
	if (events == w->events)
		return;
	w->events = events;
	unmet_forget(w->loop, &w->unmet);
	if (!watch_try(&w->unmet))
		return;
	log_error("descriptor %d can't be watched for now: %s",
		  (int)event_get_fd(&w->read), strerror(errno));
	unmet_note(w->loop, &w->unmet);
}

static void
timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;

	(void)fd;
	(void)what;
	t->fn(t->arg);
}

static int
timer_try(struct unmet *u)
{
	struct loop_timer *t = (struct loop_timer *)u;
	uint64_t now = evloop_now(&t->loop->loop);
	struct timeval tv = timeval_of(t->due_usec > now ?
				       t->due_usec - now : 0);

	return evtimer_add(&t->event, &tv);
}

static struct loop_timer *
evloop_timer(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_timer *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->unmet.try = timer_try;
	t->loop = evloop_of(l);
	t->fn = fn;
	t->arg = arg;
	if (evtimer_assign(&t->event, evloop_of(l)->base, timer_fired, t)) {
		free(t);
		return NULL;
	}
	return t;
}

static void
evloop_timer_set(struct loop_timer *t, uint64_t delay_usec)
{
	struct timeval tv = timeval_of(delay_usec);

	unmet_forget(t->loop, &t->unmet);
	if (!evtimer_add(&t->event, &tv))
		return;
	log_error("a timer can't be set for now: out of memory");
	t->due_usec = evloop_now(&t->loop->loop) +
		      (delay_usec < YEAR_USEC ? delay_usec : YEAR_USEC);
	unmet_note(t->loop, &t->unmet);
}

static void
evloop_timer_clear(struct loop_timer *t)
{
	unmet_forget(t->loop, &t->unmet);
	evtimer_del(&t->event);
}

static void
evloop_timer_free(struct loop_timer *t)
{
	unmet_forget(t->loop, &t->unmet);
	evtimer_del(&t->event);
	free(t);
}

static struct loop_deferred *
evloop_deferred(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_deferred *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->loop = evloop_of(l);
	d->fn = fn;
	d->arg = arg;
	return d;
}

static void
evloop_defer(struct loop_deferred *d)
{
	if (d->list)
		return;
	d->list = &d->loop->soon;
	TAILQ_INSERT_TAIL(d->list, d, link);
}

static void
deferred_unlist(struct loop_deferred *d)
{
	if (d->list)
		TAILQ_REMOVE(d->list, d, link);
	d->list = NULL;
}

static void
evloop_deferred_free(struct loop_deferred *d)
{
	deferred_unlist(d);
	free(d);
}

static void
take_batch(struct evloop *e)
{
	struct loop_deferred *d;

	TAILQ_CONCAT(&e->batch, &e->soon, link);
	TAILQ_FOREACH(d, &e->batch, link)
		d->list = &e->batch;
}

static void
run_batch(struct evloop *e)
{
	struct loop_deferred *d;

	take_batch(e);
	while (!e->stopped && (d = TAILQ_FIRST(&e->batch))) {
		deferred_unlist(d);
		d->fn(d->arg);
	}
}

/* Returns also when nothing is left that could ever call back. */
static void
evloop_run(struct loop *l)
{
	struct evloop *e = evloop_of(l);
	bool pending;
	int rc;

	e->stopped = false;
	while (!e->stopped) {
		pending = !TAILQ_EMPTY(&e->soon) || !TAILQ_EMPTY(&e->batch);
		if (!pending && TAILQ_EMPTY(&e->unmet) &&
		    event_base_get_num_events(e->base,
					      EVENT_BASE_COUNT_ADDED) <= 1)
			return;		/* but for `again` */
		rc = event_base_loop(e->base, EVLOOP_ONCE |
				     (pending ? EVLOOP_NONBLOCK : 0));
		if (rc < 0) {
			log_error("the event loop failed: %s",
				  event_base_get_method(e->base));
			return;
		}
		if (!e->stopped)
			run_batch(e);
	}
}

static void
evloop_stop(struct loop *l)
{
	evloop_of(l)->stopped = true;
}

static void
evloop_free(struct loop *l)
{
	evtimer_del(&evloop_of(l)->again);
	event_base_free(evloop_of(l)->base);
	free(l);
}

static const struct loop_ops evloop_ops = {
	.now = evloop_now,
	.watch = evloop_watch,
	.watch_set = evloop_watch_set,
	.watch_free = evloop_watch_free,
	.timer = evloop_timer,
	.timer_set = evloop_timer_set,
	.timer_clear = evloop_timer_clear,
	.timer_free = evloop_timer_free,
	.deferred = evloop_deferred,
	.defer = evloop_defer,
	.deferred_free = evloop_deferred_free,
	.run = evloop_run,
	.stop = evloop_stop,
	.free = evloop_free,
};

static struct event_base *
base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (!config)
		return NULL;
	/* microseconds, by timerfd: naps and pacing are about 1 ms */
	if (!event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) &&
	    !event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME) &&
	    !event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK))
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

struct loop *
evloop_new(void)
{
	struct evloop *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->base = base_new();
	if (!e->base) {
		free(e);
		return NULL;
	}
	if (evtimer_assign(&e->again, e->base, try_again, e) ||
	    set_again(e, YEAR_USEC)) {
		event_base_free(e->base);
		free(e);
		return NULL;
	}
	TAILQ_INIT(&e->unmet);
	e->loop.ops = &evloop_ops;
	TAILQ_INIT(&e->soon);
	TAILQ_INIT(&e->batch);
	return &e->loop;
}

static void
signal_came(evutil_socket_t fd, short what, void *arg)
{
	struct loop_signal *s = arg;

	(void)fd;
	(void)what;
	s->fn(s->arg);
}

struct loop_signal *
evloop_signal(struct loop *l, int signo, loop_fn *fn, void *arg)
{
	struct loop_signal *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->fn = fn;
	s->arg = arg;
	if (evsignal_assign(&s->event, evloop_of(l)->base, signo, signal_came,
			    s) ||
	    evsignal_add(&s->event, NULL)) {
		free(s);
		return NULL;
	}
	return s;
}

void
evloop_signal_free(struct loop_signal *s)
{
	if (!s)
		return;
	evsignal_del(&s->event);
	free(s);
}
