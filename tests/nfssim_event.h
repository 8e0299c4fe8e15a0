/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_event.h - what is to happen in nfssim's model, in nanoseconds
 *
 * One timer of the loop serves all of it.  Each event's function is told the
 * time it was meant for, which the loop's clock has just passed; who computes
 * on from there, and not from the clock, does not drift.
 */
#ifndef NFSWB_TESTS_NFSSIM_EVENT_H
#define NFSWB_TESTS_NFSSIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/tree.h>

#include "common/loop.h"

typedef void sim_event_fn(void *arg, uint64_t when_nsec);

struct sim_event {		/* zeroed: not set */
	bool set;
	uint64_t when, seq;
	sim_event_fn *fn;
	void *arg;
	RB_ENTRY(sim_event) link;
};

RB_HEAD(sim_event_tree, sim_event);

struct sim_events {
	struct loop *loop;
	struct loop_timer *timer;
	struct sim_event_tree tree;
	uint64_t seq;
	bool running;
};

int sim_events_init(struct sim_events *, struct loop *);
void sim_events_free(struct sim_events *);
uint64_t sim_events_now(const struct sim_events *);
/* Calls fn once, never from in here; equal times in the order they were set. */
void sim_event_set(struct sim_events *, struct sim_event *, uint64_t when_nsec,
		   sim_event_fn *, void *arg);
void sim_event_clear(struct sim_events *, struct sim_event *);

#endif
