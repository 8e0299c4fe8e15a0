/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpc_yield_test.c - background calls that let foreground ones through: slots,
 * the gate, and what the watcher is told
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/parts.h"
#include "tests/rpcfake.h"

#define MIB (1u << 20)

/* ---- the slot table ---- */

#define CALLS 64

struct table {
	struct slots slots;
	struct rpc_call call[CALLS];
	unsigned nr;
};

static struct rpc_call *
add(struct table *t, enum rpc_class class, bool apart)
{
	struct rpc_call *call = &t->call[t->nr++];

	memset(call, 0, offsetof(struct rpc_call, header_room));
	call->class = class;
	call->apart = call->urgent = apart;
	slots_add(&t->slots, call);
	return call;
}

static void
fill(struct table *t, unsigned slot_nr, unsigned depth, unsigned foreground,
     unsigned normal, unsigned background)
{
	t->nr = 0;
	slots_init(&t->slots, slot_nr);
	t->slots.background_depth = depth;
	while (background--)
		add(t, RPC_BACKGROUND, false);
	while (normal--)
		add(t, RPC_NORMAL, false);
	while (foreground--)
		add(t, RPC_FOREGROUND, false);
}

static unsigned
take_all(struct table *t)
{
	unsigned nr = 0;

	while (slots_take(&t->slots))
		nr++;
	return nr;
}

static void
normal_has_at_least_half_of_whatever_the_depth_is(void)
{
	struct table t;
	unsigned depth;

	for (depth = 1; depth <= 16; depth++) {
		fill(&t, 16, depth, 0, 20, 20);
		CU_ASSERT_EQUAL(take_all(&t), depth);
		CU_ASSERT(t.slots.out_nr[RPC_NORMAL] * 2 >= depth);
		CU_ASSERT_EQUAL(t.slots.out_nr[RPC_BACKGROUND], depth / 2);
		CU_ASSERT_EQUAL(t.slots.out_nr[RPC_NORMAL] +
				t.slots.out_nr[RPC_BACKGROUND], depth);
	}
}

static void
depth_is_for_both_classes_and_for_no_foreground(void)
{
	struct table t;

	fill(&t, 16, 3, 5, 20, 0);
	CU_ASSERT_EQUAL(take_all(&t), 8);
	CU_ASSERT_EQUAL(t.slots.out_nr[RPC_FOREGROUND], 5);
	CU_ASSERT_EQUAL(t.slots.out_nr[RPC_NORMAL], 3);
	fill(&t, 16, 3, 5, 0, 20);
	CU_ASSERT_EQUAL(take_all(&t), 8);
	CU_ASSERT_EQUAL(t.slots.out_nr[RPC_BACKGROUND], 3);
}

static void
a_commit_is_not_kept_by_the_depth_nor_keeps_writes(void)
{
	struct table t;
	struct rpc_call *commit;

	fill(&t, 16, 1, 0, 0, 4);
	CU_ASSERT_EQUAL(take_all(&t), 1);
	commit = add(&t, RPC_BACKGROUND, true);
	CU_ASSERT_PTR_EQUAL(slots_take(&t.slots), commit);
	CU_ASSERT_PTR_NULL(slots_take(&t.slots));
	slots_remove(&t.slots, &t.call[0]);
	CU_ASSERT_PTR_EQUAL(slots_take(&t.slots), &t.call[1]);
}

static void
a_call_that_is_raised_while_it_is_out_leaves_the_depth(void)
{
	struct table t;

	fill(&t, 16, 1, 0, 0, 3);
	CU_ASSERT_EQUAL(take_all(&t), 1);
	slots_raise(&t.slots, &t.call[0], RPC_FOREGROUND);
	CU_ASSERT_EQUAL(take_all(&t), 1);
	slots_remove(&t.slots, &t.call[0]);
	slots_remove(&t.slots, &t.call[1]);
	CU_ASSERT_EQUAL(t.slots.deep_nr, 0);
	CU_ASSERT_EQUAL(take_all(&t), 1);
}

static void
foreground_leaves_the_last_slot_to_a_background_that_has_none(void)
{
	struct table t;
	unsigned i;

	fill(&t, 4, 4, 20, 0, 2);
	CU_ASSERT_EQUAL(take_all(&t), 4);
	CU_ASSERT_EQUAL(t.slots.out_nr[RPC_BACKGROUND], 1);
	/* as long as it wants one, and of one slot it has none */
	fill(&t, 4, 4, 20, 0, 0);
	CU_ASSERT_EQUAL(take_all(&t), 4);
	fill(&t, 1, 1, 2, 0, 2);
	CU_ASSERT_EQUAL(take_all(&t), 1);
	CU_ASSERT_EQUAL(t.slots.out_nr[RPC_FOREGROUND], 1);
	/* even behind a queue that never ends, if not at once */
	fill(&t, 4, 4, 0, 0, 0);
	for (i = 0; i < 50; i++)
		add(&t, RPC_FOREGROUND, false);
	add(&t, RPC_BACKGROUND, false);
	take_all(&t);
	for (i = 0; i < 200 && !t.slots.out_nr[RPC_BACKGROUND]; i++) {
		slots_remove(&t.slots, &t.call[i % 50]);
		slots_add(&t.slots, &t.call[i % 50]);
		t.call[i % 50].slot_nr = 0;
		take_all(&t);
	}
	CU_ASSERT(i > 50 && i < 70);
	/* it is kept going */
	fill(&t, 4, 4, 20, 0, 10);
	take_all(&t);
	for (i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(t.slots.out_nr[RPC_BACKGROUND], 1);
		slots_remove(&t.slots, &t.call[i]);
		take_all(&t);
	}
}

/* ---- the gate ---- */

struct doors {
	struct gate gate;
	struct rpc_call small, large, foreground;
};

static void
set_up(struct doors *d)
{
	memset(d, 0, sizeof *d);
	d->gate.on = true;
	d->small.asked_small = true;
	d->large.class = RPC_BACKGROUND;
	d->large.payload_bytes = MIB;
	d->foreground.class = RPC_FOREGROUND;
	d->foreground.payload_bytes = MIB;
	gate_sent(&d->gate, &d->large, 8000, 1000000);
}

static void
a_large_write_waits_for_small_calls_and_a_moment_after(void)
{
	struct doors d;
	uint64_t now = 1001000;

	set_up(&d);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, now), 0);
	gate_queued(&d.gate, &d.small);
	CU_ASSERT(gate_wait_usec(&d.gate, &d.large, now) > 0);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.foreground, now), 0);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.small, now), 0);
	gate_ended(&d.gate, &d.small, now);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, now), 1500);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, now + 1500), 0);
	gate_queued(&d.gate, &d.small);
	d.gate.on = false;
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, now), 0);
}

static void
a_large_write_waits_for_three_times_its_own_time_at_most(void)
{
	struct doors d;

	set_up(&d);
	gate_queued(&d.gate, &d.small);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, 1001000), 23000);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, 1024000), 0);
	CU_ASSERT_EQUAL(gate_wait_usec(&d.gate, &d.large, 1030000), 0);
}

/* ---- the client ---- */

static unsigned char *data;

static void
small_calls_go_before_large_ones_of_the_background(void)
{
	struct iovec iov = { data, MIB };
	struct outcome w[3], g;
	struct fake f;
	unsigned i;

	fake_init(&f);
	fake_start(&f);
	rpc_client_yield(f.client, true);
	fake_getattr(&f, &g);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	/* as if the last one had taken a second: nothing else ends it */
	f.client->gate.last_usec = loop_now(f.loop);
	f.client->gate.took_usec = SECOND;
	for (i = 0; i < 3; i++)
		fake_write(&f, RPC_BACKGROUND, &iov, 1, &w[i]);
	fake_pass(&f, 100000);
	CU_ASSERT_EQUAL(f.seen_nr, 1);
	fake_reply(&f, &f.seen[0]);
	fake_pass(&f, 10000);
	CU_ASSERT_EQUAL(g.done_nr, 1);
	CU_ASSERT_EQUAL(f.seen_nr, 4);
	fake_stop(&f);
}

static void
a_write_goes_even_if_small_calls_never_end(void)
{
	struct iovec iov = { data, MIB };
	struct outcome w, g;
	struct fake f;

	fake_init(&f);
	fake_start(&f);
	rpc_client_yield(f.client, true);
	fake_getattr(&f, &g);
	fake_run(&f);
	f.client->gate.last_usec = loop_now(f.loop);
	f.client->gate.took_usec = 10000;
	fake_write(&f, RPC_BACKGROUND, &iov, 1, &w);
	fake_pass(&f, 20000);
	CU_ASSERT_EQUAL(f.seen_nr, 1);
	fake_pass(&f, 20000);
	CU_ASSERT_EQUAL(f.seen_nr, 2);
	fake_stop(&f);
}

struct watcher {
	unsigned nr[3];			/* by event */
	uint64_t bytes;
	uint32_t proc;
};

static void
seen(void *arg, enum rpc_event event, uint32_t proc, uint64_t bytes,
     const struct rpc_timing *t)
{
	struct watcher *w = arg;

	CU_ASSERT(event == RPC_LOST || t->last_byte);
	w->nr[event]++;
	w->bytes = bytes;
	w->proc = proc;
}

static void
the_watcher_is_told_of_each_foreground_call_once_and_of_its_end(void)
{
	struct watcher w = { .bytes = 0 };
	struct outcome o[3];
	struct fake f;

	fake_init(&f);
	fake_start(&f);
	rpc_client_watch(f.client, seen, &w);
	fake_getattr(&f, &o[0]);
	fake_call(&f, NFSPROC3_GETATTR, RPC_BACKGROUND, &o[1], NULL);
	CU_ASSERT_EQUAL(w.nr[RPC_SENT], 0);
	fake_run(&f);
	CU_ASSERT_EQUAL(w.nr[RPC_SENT], 1);
	CU_ASSERT_EQUAL(w.proc, NFSPROC3_GETATTR);
	/* sent again by a new connection: not another one */
	fake_cut(&f);
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL(w.nr[RPC_SENT], 1);
	CU_ASSERT_EQUAL(w.nr[RPC_ANSWERED], 0);
	f.auto_reply = true;
	fake_cut(&f);
	fake_pass(&f, 10 * SECOND);
	CU_ASSERT_EQUAL(o[0].done_nr, 1);
	CU_ASSERT_EQUAL(w.nr[RPC_SENT], 1);
	CU_ASSERT_EQUAL(w.nr[RPC_ANSWERED], 1);
	CU_ASSERT_EQUAL(w.nr[RPC_LOST], 0);
	fake_stop(&f);
}

static void
a_call_that_is_given_up_is_told_as_lost(void)
{
	struct watcher w = { .bytes = 0 };
	struct outcome o;
	struct fake f;

	fake_init(&f);
	f.params.soft = true;
	fake_start(&f);
	rpc_client_watch(f.client, seen, &w);
	fake_getattr(&f, &o);
	fake_pass(&f, 100 * SECOND);
	CU_ASSERT_EQUAL(o.err, -ETIMEDOUT);
	CU_ASSERT_EQUAL(w.nr[RPC_SENT], 1);
	CU_ASSERT_EQUAL(w.nr[RPC_ANSWERED], 0);
	CU_ASSERT_EQUAL(w.nr[RPC_LOST], 1);
	fake_stop(&f);
}

int
main(int argc, char **argv)
{
	static const struct unit_test tests[] = {
		UNIT(normal_has_at_least_half_of_whatever_the_depth_is),
		UNIT(depth_is_for_both_classes_and_for_no_foreground),
		UNIT(a_commit_is_not_kept_by_the_depth_nor_keeps_writes),
		UNIT(a_call_that_is_raised_while_it_is_out_leaves_the_depth),
		UNIT(foreground_leaves_the_last_slot_to_a_background_that_has_none),
		UNIT(a_large_write_waits_for_small_calls_and_a_moment_after),
		UNIT(a_large_write_waits_for_three_times_its_own_time_at_most),
		UNIT(small_calls_go_before_large_ones_of_the_background),
		UNIT(a_write_goes_even_if_small_calls_never_end),
		UNIT(the_watcher_is_told_of_each_foreground_call_once_and_of_its_end),
		UNIT(a_call_that_is_given_up_is_told_as_lost),
		{ NULL, NULL },
	};
	int code;

	data = calloc(1, MIB);
	if (!data)
		return 1;
	code = unit_main("rpc_yield", tests, argc, argv);
	free(data);
	return code;
}
