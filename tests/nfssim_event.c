/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_event.c - see nfssim_event.h */
#include <errno.h>
#include <stddef.h>

#include "tests/nfssim_event.h"

static int
event_cmp(const struct sim_event *a, const struct sim_event *b)
{
	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

RB_PROTOTYPE(sim_event_tree, sim_event, link, event_cmp)
RB_GENERATE(sim_event_tree, sim_event, link, event_cmp)

uint64_t
sim_events_now(const struct sim_events *e)
{
	return loop_now(e->loop) * 1000;
}

static void
set_timer(struct sim_events *e)
{
	struct sim_event *first = RB_MIN(sim_event_tree, &e->tree);
	uint64_t now = sim_events_now(e);

	if (e->running)
		return;
	if (!first)
		loop_timer_clear(e->loop, e->timer);
	else
		loop_timer_set(e->loop, e->timer, first->when <= now ? 0 :
			       (first->when - now + 999) / 1000);
}

static void
run(void *arg)
{
	struct sim_events *e = arg;
	uint64_t now = sim_events_now(e);
	struct sim_event *first;

	e->running = true;
	while ((first = RB_MIN(sim_event_tree, &e->tree)) &&
	       first->when <= now) {
		sim_event_clear(e, first);
		first->fn(first->arg, first->when);
	}
	e->running = false;
	set_timer(e);
}

int
sim_events_init(struct sim_events *e, struct loop *loop)
{
	e->loop = loop;
	RB_INIT(&e->tree);
	e->timer = loop_timer(loop, run, e);
	return e->timer ? 0 : -ENOMEM;
}

void
sim_events_free(struct sim_events *e)
{
	loop_timer_free(e->loop, e->timer);
}

void
sim_event_set(struct sim_events *e, struct sim_event *ev, uint64_t when,
	      sim_event_fn *fn, void *arg)
{
	sim_event_clear(e, ev);
	ev->set = true;
	ev->when = when;
	ev->seq = e->seq++;
	ev->fn = fn;
	ev->arg = arg;
	RB_INSERT(sim_event_tree, &e->tree, ev);
	set_timer(e);
}

void
sim_event_clear(struct sim_events *e, struct sim_event *ev)
{
	if (!ev->set)
		return;
	RB_REMOVE(sim_event_tree, &e->tree, ev);
	ev->set = false;
}
