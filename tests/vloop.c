/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vloop.c - the virtual-time loop
 *
 * Timers stand in a tree by {due, when they were set}.  A watch freed in the
 * middle of a round stays in memory, dead, until the round is over, because
 * the round may still come past it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "tests/inject/excused.h"
#include "tests/vloop.h"

#define STUCK_ROUNDS 1000000u

unsigned excused;

struct loop_watch {
	struct vloop *l;
	int fd;
	unsigned events;
	loop_fd_fn *fn;
	void *arg;
	bool dead;
	TAILQ_ENTRY(loop_watch) link;	/* in watches, or in dead */
};

struct loop_timer {
	struct vloop *l;
	loop_fn *fn;
	void *arg;
	bool set;
	uint64_t due, seq;
	RB_ENTRY(loop_timer) link;
};

struct loop_deferred {
	struct vloop *l;
	loop_fn *fn;
	void *arg;
	struct deferred_list *in;	/* NULL: not asked for */
	TAILQ_ENTRY(loop_deferred) link;
};

TAILQ_HEAD(watch_list, loop_watch);
TAILQ_HEAD(deferred_list, loop_deferred);
RB_HEAD(timer_tree, loop_timer);

struct vloop {
	struct loop loop;
	uint64_t now, seq, rounds;
	bool stopped;
	struct watch_list watches, dead;
	unsigned watch_nr;
	struct timer_tree timers;
	struct deferred_list deferred;
	/* of the round: what poll says, and for whom */
	struct pollfd *pfd;
	struct loop_watch **pfd_watch;
	unsigned pfd_room;
};

static int
timer_cmp(const struct loop_timer *a, const struct loop_timer *b)
{
	if (a->due != b->due)
		return a->due < b->due ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

RB_PROTOTYPE(timer_tree, loop_timer, link, timer_cmp)
RB_GENERATE(timer_tree, loop_timer, link, timer_cmp)

static struct vloop *
vloop_of(struct loop *l)
{
	return (struct vloop *)l;	/* its first member */
}

static uint64_t
vloop_now(struct loop *l)
{
	return vloop_of(l)->now;
}

/* watches */

static struct loop_watch *
vloop_watch(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *arg)
{
	struct loop_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->l = vloop_of(l);
	w->fd = fd;
	w->events = events;
	w->fn = fn;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&w->l->watches, w, link);
	w->l->watch_nr++;
	return w;
}

static void
vloop_watch_set(struct loop_watch *w, unsigned events)
{
	w->events = events;
}

static void
vloop_watch_free(struct loop_watch *w)
{
	w->dead = true;
	TAILQ_REMOVE(&w->l->watches, w, link);
	w->l->watch_nr--;
	TAILQ_INSERT_TAIL(&w->l->dead, w, link);
}

static void
bury_dead(struct vloop *v)
{
	struct loop_watch *w;

	while ((w = TAILQ_FIRST(&v->dead))) {
		TAILQ_REMOVE(&v->dead, w, link);
		free(w);
	}
}

static int
make_pfd_room(struct vloop *v)
{
	unsigned nr = v->watch_nr;
	void *p;

	if (nr <= v->pfd_room)
		return 0;
	nr += 16;
	p = realloc(v->pfd, nr * sizeof *v->pfd);
	if (!p)
		return -ENOMEM;
	v->pfd = p;
	p = realloc(v->pfd_watch, nr * sizeof *v->pfd_watch);
	if (!p)
		return -ENOMEM;
	v->pfd_watch = p;
	v->pfd_room = nr;
	return 0;
}

static unsigned
events_of(short revents)
{
	unsigned e = 0;

	if (revents & (POLLIN | POLLHUP | POLLERR))
		e |= LOOP_READ;
	if (revents & (POLLOUT | POLLHUP | POLLERR))
		e |= LOOP_WRITE;
	return e;
}

/* How many are ready; their pollfds and watches in the order watched. */
static int
poll_watches(struct vloop *v, unsigned *nr)
{
	struct loop_watch *w;
	struct pollfd *p;
	int ready;

	*nr = 0;
	if (make_pfd_room(v) < 0)
		return -ENOMEM;
	TAILQ_FOREACH(w, &v->watches, link) {
		p = &v->pfd[*nr];
		p->fd = w->events ? w->fd : -1;
		p->events = 0;
		p->revents = 0;
		if (w->events & LOOP_READ)
			p->events |= POLLIN;
		if (w->events & LOOP_WRITE)
			p->events |= POLLOUT;
		v->pfd_watch[(*nr)++] = w;
	}
	ready = poll(v->pfd, *nr, 0);
	return ready < 0 ? -errno : ready;
}

static bool
run_watches(struct vloop *v)
{
	struct loop_watch *w;
	bool ran = false;
	unsigned nr, i, events, was;

	if (TAILQ_EMPTY(&v->watches) || poll_watches(v, &nr) <= 0)
		return false;
	for (i = 0; i < nr; i++) {
		w = v->pfd_watch[i];
		if (v->pfd[i].revents & POLLNVAL && !w->dead && w->events) {
			fprintf(stderr, "vloop: fd %d is watched but closed\n",
				w->fd);
			abort();
		}
		events = w->dead ? 0 :
			 events_of(v->pfd[i].revents) & w->events;
		if (!events)
			continue;
		ran = true;
		was = excused_not();
		w->fn(w->arg, w->fd, events);
		excused = was;
	}
	return ran;
}

/* timers */

static struct loop_timer *
vloop_timer(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_timer *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->l = vloop_of(l);
	t->fn = fn;
	t->arg = arg;
	return t;
}

static void
vloop_timer_clear(struct loop_timer *t)
{
	if (!t->set)
		return;
	RB_REMOVE(timer_tree, &t->l->timers, t);
	t->set = false;
}

static void
vloop_timer_set(struct loop_timer *t, uint64_t delay_usec)
{
	uint64_t now = t->l->now;

	vloop_timer_clear(t);
	t->due = delay_usec < UINT64_MAX - now ? now + delay_usec : UINT64_MAX;
	t->seq = t->l->seq++;
	t->set = true;
	RB_INSERT(timer_tree, &t->l->timers, t);
}

static void
vloop_timer_free(struct loop_timer *t)
{
	vloop_timer_clear(t);
	free(t);
}

/* The first timer that is due and was set before this round's callbacks. */
static struct loop_timer *
next_due(struct vloop *v, uint64_t seq_end)
{
	struct loop_timer *t;

	RB_FOREACH(t, timer_tree, &v->timers) {
		if (t->due > v->now)
			return NULL;
		if (t->seq < seq_end)
			return t;
	}
	return NULL;
}

static bool
run_timers(struct vloop *v, uint64_t seq_end)
{
	struct loop_timer *t;
	bool ran = false;
	unsigned was;

	while ((t = next_due(v, seq_end))) {
		vloop_timer_clear(t);
		ran = true;
		was = excused_not();
		t->fn(t->arg);
		excused = was;
	}
	return ran;
}

/* deferred calls */

static struct loop_deferred *
vloop_deferred(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_deferred *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->l = vloop_of(l);
	d->fn = fn;
	d->arg = arg;
	return d;
}

static void
vloop_defer(struct loop_deferred *d)
{
	if (d->in)
		return;
	d->in = &d->l->deferred;
	TAILQ_INSERT_TAIL(d->in, d, link);
}

static void
undefer(struct loop_deferred *d)
{
	if (!d->in)
		return;
	TAILQ_REMOVE(d->in, d, link);
	d->in = NULL;
}

static void
vloop_deferred_free(struct loop_deferred *d)
{
	undefer(d);
	free(d);
}

/* The list is taken whole: what is deferred meanwhile is for the next round. */
static bool
run_deferred(struct vloop *v)
{
	struct deferred_list now;
	struct loop_deferred *d;
	bool ran = false;
	unsigned was;

	TAILQ_INIT(&now);
	TAILQ_CONCAT(&now, &v->deferred, link);
	TAILQ_FOREACH(d, &now, link)
		d->in = &now;
	while ((d = TAILQ_FIRST(&now))) {
		undefer(d);
		ran = true;
		was = excused_not();
		d->fn(d->arg);
		excused = was;
	}
	return ran;
}

/* rounds */

static bool
run_round(struct vloop *v)
{
	uint64_t seq_end = v->seq;
	bool ran;
	EXCUSED;

	ran = run_watches(v);
	ran |= run_timers(v, seq_end);
	ran |= run_deferred(v);
	bury_dead(v);
	return ran;
}

/* Nothing is ready.  Where to does the clock jump?  False: nowhere. */
static bool
jump(struct vloop *v, uint64_t end)
{
	struct loop_timer *t = RB_MIN(timer_tree, &v->timers);

	if (t && t->due <= v->now)
		return true;	/* set by a callback of the round */
	if (!t || t->due > end) {
		if (end != UINT64_MAX)
			v->now = end;
		return false;
	}
	v->now = t->due;
	return true;
}

bool
vloop_run_until(struct loop *l, bool (*done)(void *), void *arg,
		uint64_t max_usec)
{
	struct vloop *v = vloop_of(l);
	uint64_t end = max_usec < UINT64_MAX - v->now ? v->now + max_usec :
							UINT64_MAX;
	uint64_t before = v->now;
	unsigned stuck = 0;

	v->stopped = false;
	for (;;) {
		if (done && done(arg))
			return true;
		if (v->stopped)
			return false;
		if (!run_round(v) && TAILQ_EMPTY(&v->deferred) &&
		    !jump(v, end))
			return done && done(arg);
		v->rounds++;
		if (v->now != before)
			stuck = 0;
		before = v->now;
		if (++stuck > STUCK_ROUNDS) {
			fprintf(stderr, "vloop: the clock stands still\n");
			return false;
		}
	}
}

uint64_t
vloop_rounds(struct loop *l)
{
	return vloop_of(l)->rounds;
}

static void
vloop_run(struct loop *l)
{
	vloop_run_until(l, NULL, NULL, UINT64_MAX);
}

static void
vloop_stop(struct loop *l)
{
	vloop_of(l)->stopped = true;
}

static void
vloop_free(struct loop *l)
{
	struct vloop *v = vloop_of(l);

	bury_dead(v);
	free(v->pfd);
	free(v->pfd_watch);
	free(v);
}

static const struct loop_ops vloop_ops = {
	.now = vloop_now,
	.watch = vloop_watch,
	.watch_set = vloop_watch_set,
	.watch_free = vloop_watch_free,
	.timer = vloop_timer,
	.timer_set = vloop_timer_set,
	.timer_clear = vloop_timer_clear,
	.timer_free = vloop_timer_free,
	.deferred = vloop_deferred,
	.defer = vloop_defer,
	.deferred_free = vloop_deferred_free,
	.run = vloop_run,
	.stop = vloop_stop,
	.free = vloop_free,
};

struct loop *
vloop_new(uint64_t start_usec)
{
	struct vloop *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->loop.ops = &vloop_ops;
	v->now = start_usec;
	TAILQ_INIT(&v->watches);
	TAILQ_INIT(&v->dead);
	RB_INIT(&v->timers);
	TAILQ_INIT(&v->deferred);
	return &v->loop;
}
