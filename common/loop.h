/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop.h - the event loop as everybody sees it: watch an fd, set a timer, defer
 *
 * Two loops stand behind it: daemon/loop.c (libevent, real time) and
 * tests/vloop.c (virtual time: when nothing is ready, the clock jumps to the
 * next timer).  One thread; every callback runs from loop_run, never from
 * inside the call that asked for it.
 *
 * Lifetime: a watch, timer or deferred call may be removed from any callback,
 * its own included; after that its function is not called again.  Who made it
 * frees it.
 */
#ifndef NFSWB_LOOP_H
#define NFSWB_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_watch;
struct loop_timer;
struct loop_deferred;

#define LOOP_READ	0x1u
#define LOOP_WRITE	0x2u

typedef void loop_fd_fn(void *arg, int fd, unsigned events);
typedef void loop_fn(void *arg);

struct loop_ops {
	uint64_t (*now)(struct loop *);
	struct loop_watch *(*watch)(struct loop *, int fd, unsigned events,
				    loop_fd_fn *, void *arg);
	void (*watch_set)(struct loop_watch *, unsigned events);
	void (*watch_free)(struct loop_watch *);
	struct loop_timer *(*timer)(struct loop *, loop_fn *, void *arg);
	void (*timer_set)(struct loop_timer *, uint64_t delay_usec);
	void (*timer_clear)(struct loop_timer *);
	void (*timer_free)(struct loop_timer *);
	struct loop_deferred *(*deferred)(struct loop *, loop_fn *, void *arg);
	void (*defer)(struct loop_deferred *);
	void (*deferred_free)(struct loop_deferred *);
	void (*run)(struct loop *);
	void (*stop)(struct loop *);
	void (*free)(struct loop *);
};

struct loop {
	const struct loop_ops *ops;
};

/* Microseconds of a clock that never jumps back (CLOCK_BOOTTIME, or virtual);
   the same during one callback is not promised. */
static inline uint64_t
loop_now(struct loop *l)
{
	return l->ops->now(l);
}

/* Calls fn while fd is ready for one of events (level-triggered).  NULL: no
   memory.  The fd stays the caller's: free the watch before closing it. */
static inline struct loop_watch *
loop_watch(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *arg)
{
	return l->ops->watch(l, fd, events, fn, arg);
}

/* Waits for other events from now on; 0: for none. */
static inline void
loop_watch_set(struct loop *l, struct loop_watch *w, unsigned events)
{
	l->ops->watch_set(w, events);
}

static inline void
loop_watch_free(struct loop *l, struct loop_watch *w)
{
	if (w)
		l->ops->watch_free(w);
}

/* A timer, not set. */
static inline struct loop_timer *
loop_timer(struct loop *l, loop_fn *fn, void *arg)
{
	return l->ops->timer(l, fn, arg);
}

/* Calls fn once, after delay_usec; an earlier setting is forgotten. */
static inline void
loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t delay_usec)
{
	l->ops->timer_set(t, delay_usec);
}

static inline void
loop_timer_clear(struct loop *l, struct loop_timer *t)
{
	l->ops->timer_clear(t);
}

static inline void
loop_timer_free(struct loop *l, struct loop_timer *t)
{
	if (t)
		l->ops->timer_free(t);
}

/* A call that can be put off to the loop: "once, soon, from the top". */
static inline struct loop_deferred *
loop_deferred(struct loop *l, loop_fn *fn, void *arg)
{
	return l->ops->deferred(l, fn, arg);
}

/* Runs it once after the callbacks of this round; asking twice before that
   runs it once. */
static inline void
loop_defer(struct loop *l, struct loop_deferred *d)
{
	l->ops->defer(d);
}

static inline void
loop_deferred_free(struct loop *l, struct loop_deferred *d)
{
	if (d)
		l->ops->deferred_free(d);
}

/* Until loop_stop. */
static inline void
loop_run(struct loop *l)
{
	l->ops->run(l);
}

static inline void
loop_stop(struct loop *l)
{
	l->ops->stop(l);
}

static inline void
loop_free(struct loop *l)
{
	if (l)
		l->ops->free(l);
}

#endif
