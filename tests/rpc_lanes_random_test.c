/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpc_lanes_random_test.c - 1 to 16 connections, and a network at random
 *
 * Calls of all kinds, while connections are cut, refused, silent and full.  Each
 * call is answered once, the contents of each WRITE that arrives are its own, a
 * call is never under way over two connections that are up, the books are as they
 * are counted anew, and in the end nothing is left.
 *
 *	LANES_SEED=N	this one only
 *	LANES_SEEDS=N	so many, from 1 on
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lanesfake.h"
#include "tests/random.h"

#define STEPS 400
#define SEEDS 200
#define CALLS 2000u
#define SLOTS 24u

static struct lanes l;
static struct outcome o[CALLS];
static struct rpc_call *call[CALLS];	/* NULL: done */
static unsigned call_nr, lane_nr;
static uint64_t state;

static uint64_t
any(uint64_t below)
{
	return random_next(&state, below);
}

static void
forget(struct outcome *done)
{
	call[done - o] = NULL;
}

static void
ask(void)
{
	static const uint32_t procs[] = { NFSPROC3_GETATTR, NFSPROC3_COMMIT,
					  NFSPROC3_REMOVE };
	enum rpc_class class = any(RPC_CLASS_NR);
	unsigned n = call_nr++;

	if (any(4))
		lanes_write(&l, class, n, 8u << any(16), &o[n], &call[n]);
	else
		CU_ASSERT_EQUAL_FATAL(fake_call(&l.f, procs[any(3)], class,
						&o[n], &call[n]), 0);
	o[n].then = forget;
}

static void
raise_one(void)
{
	unsigned n = call_nr ? (unsigned)any(call_nr) : 0;

	if (call_nr && call[n])
		rpc_call_raise(call[n], any(RPC_CLASS_NR));
}

static void
trouble(unsigned lane)
{
	switch (any(4)) {
	case 0:
		lanes_cut(&l, lane);
		break;
	case 1:
		l.end[lane].refuse = !l.end[lane].refuse;
		break;
	case 2:
		lanes_pause(&l, lane, !l.end[lane].paused);
		break;
	case 3:
		lanes_send_raw(&l, lane, "garbage!", any(9));
		break;
	}
}

/* ---- what must hold ---- */

static void
recount(const struct lane *lane)
{
	uint64_t begun = 0, queued[RPC_CLASS_NR] = { 0 };
	const struct rpc_call *c;
	unsigned i;

	TAILQ_FOREACH(c, &lane->send.calls, link) {
		CU_ASSERT_PTR_EQUAL(c->lane, lane);
		CU_ASSERT_EQUAL(c->begun, c->sent > 0);
		if (c->begun)
			begun += call_bytes(c);
		else
			queued[c->class] += call_bytes(c);
	}
	TAILQ_FOREACH(c, &lane->in_flight, link) {
		CU_ASSERT_PTR_EQUAL(c->lane, lane);
		begun += call_bytes(c);
	}
	CU_ASSERT_EQUAL(lane->begun_bytes, begun);
	for (i = 0; i < RPC_CLASS_NR; i++)
		CU_ASSERT_EQUAL(lane->queued_bytes[i], queued[i]);
}

static void
check(void)
{
	const struct lane *lane;
	unsigned nr = 0;
	const struct rpc_call *c;

	LANES_FOREACH(lane, l.f.client) {
		recount(lane);
		TAILQ_FOREACH(c, &lane->send.calls, link)
			nr++;
		TAILQ_FOREACH(c, &lane->in_flight, link)
			nr++;
	}
	CU_ASSERT(nr <= SLOTS);
	CU_ASSERT_EQUAL(nr, slots_out_nr(&l.f.client->slots));
}

static void
step(void)
{
	unsigned lane = (unsigned)any(lane_nr), what = (unsigned)any(100), i;

	if (what < 40)
		for (i = (unsigned)any(10); i && call_nr < CALLS; i--)
			ask();
	else if (what < 45)
		raise_one();
	else if (what < 60)
		lanes_answer(&l, lane);
	else if (what < 70)
		trouble(lane);
	else if (what < 72)
		rpc_client_yield(l.f.client, any(2));
	else if (what < 74)
		send_limit = any(2) ? 0 : 1 + any(100000);
	else
		lanes_pass(&l, any(any(3) ? 100000 : 15 * SECOND));
	check();
}

static bool
is_all_done(void *arg)
{
	(void)arg;
	return !rpc_client_outstanding(l.f.client);
}

/* The network is well again. */
static void
bring_home(void)
{
	unsigned i;

	l.auto_reply = true;
	send_limit = 0;
	for (i = 0; i < lane_nr; i++) {
		l.end[i].refuse = false;
		lanes_pause(&l, i, false);
		lanes_answer(&l, i);
	}
	CU_ASSERT(vloop_run_until(l.f.loop, is_all_done, NULL, 300 * SECOND));
	check();
}

static void
run_seed(uint64_t seed)
{
	unsigned i;

	printf("# seed %" PRIu64 "\n", seed);
	state = random_start(seed);
	call_nr = 0;
	lane_nr = 1 + (unsigned)any(LANES);
	lanes_prepare(&l, lane_nr);
	l.f.params.slot_nr = SLOTS;
	l.f.params.seed = seed;
	lanes_go(&l);
	for (i = 0; i < STEPS; i++)
		step();
	bring_home();
	for (i = 0; i < call_nr; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, 0);
	}
	lanes_stop(&l);
}

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void
whatever_becomes_of_connections_each_call_is_answered_once(void)
{
	uint64_t seed = from_env("LANES_SEED", 0), to;

	if (seed) {
		run_seed(seed);
		return;
	}
	to = from_env("LANES_SEEDS", SEEDS);
	for (seed = 1; seed <= to; seed++)
		run_seed(seed);
}

UNIT_TESTS(rpc_lanes_random,
	UNIT(whatever_becomes_of_connections_each_call_is_answered_once),
)
