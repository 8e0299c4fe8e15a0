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
 * Timers never fire early: the base keeps no cached time, which would count a
 * delay from before the callback that sets it.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#include "common/log.h"
#include "daemon/loop.h"

TAILQ_HEAD(deferred_list, loop_deferred);

struct evloop {
	struct loop loop;		/* first: the two are cast */
	struct event_base *base;
	struct deferred_list soon;	/* to run in the next batch */
	struct deferred_list batch;	/* running now */
	bool stopped;
};

struct loop_watch {
	loop_fd_fn *fn;
	void *arg;
	unsigned events;
	struct event read, write;
};

struct loop_timer {
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
watch_one(struct event *ev, bool was, bool wanted)
{
	if (was == wanted)
		return 0;
	return wanted ? event_add(ev, NULL) : event_del(ev);
}

static int
watch_change(struct loop_watch *w, unsigned events)
{
	unsigned was = w->events;

	w->events = events;
	if (watch_one(&w->read, was & LOOP_READ, events & LOOP_READ) ||
	    watch_one(&w->write, was & LOOP_WRITE, events & LOOP_WRITE))
		return -1;
	return 0;
}

static void
evloop_watch_free(struct loop_watch *w)
{
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
	w->fn = fn;
	w->arg = arg;
	if (event_assign(&w->read, base, fd, EV_READ | EV_PERSIST, watch_read,
			 w) ||
	    event_assign(&w->write, base, fd, EV_WRITE | EV_PERSIST,
			 watch_write, w)) {
		free(w);
		return NULL;
	}
	if (watch_change(w, events)) {
		evloop_watch_free(w);
		return NULL;
	}
	return w;
}

static void
evloop_watch_set(struct loop_watch *w, unsigned events)
{
	if (watch_change(w, events))
		log_error("descriptor %d can't be watched: out of memory, or "
			  "closed too early", (int)event_get_fd(&w->read));
}

static void
timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;

	(void)fd;
	(void)what;
	t->fn(t->arg);
}

static struct loop_timer *
evloop_timer(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_timer *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
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
	const uint64_t year_usec = 366ull * 86400 * 1000000;
	struct timeval tv;

	if (delay_usec > year_usec)
		delay_usec = year_usec;
	tv.tv_sec = (time_t)(delay_usec / 1000000);
	tv.tv_usec = (suseconds_t)(delay_usec % 1000000);
	if (evtimer_add(&t->event, &tv))
		log_error("a timer can't be set: out of memory");
}

static void
evloop_timer_clear(struct loop_timer *t)
{
	evtimer_del(&t->event);
}

static void
evloop_timer_free(struct loop_timer *t)
{
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
		rc = event_base_loop(e->base, EVLOOP_ONCE |
				     (pending ? EVLOOP_NONBLOCK : 0));
		if (rc < 0) {
			log_error("the event loop failed: %s",
				  event_base_get_method(e->base));
			return;
		}
		if (rc == 1 && !pending)
			return;
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
