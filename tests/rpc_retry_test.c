/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpc_retry_test.c - lost connections, silence, timeouts, and who goes first */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/parts.h"
#include "tests/rpcfake.h"

#define TIMEO (10 * SECOND)

static void
a_connection_cut_inside_a_record_sends_the_whole_record_again(void)
{
	enum { LEN = 700000 };
	unsigned char *data = malloc(LEN), part[1000];
	struct iovec iov = { data, LEN };
	struct rpc_call_info info;
	struct fake f;
	struct outcome o;
	XDR x;
	int i;

	CU_ASSERT_FATAL(data != NULL);
	for (i = 0; i < LEN; i++)
		data[i] = (unsigned char)(i * 13);
	fake_init(&f);
	f.paused = true;
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(fake_read(&f, part, sizeof part), sizeof part);
	xdrmem_create(&x, (char *)part + 4, sizeof part - 4, XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_call(&x, &info), 0);
	f.paused = false;
	fake_cut(&f);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	CU_ASSERT_EQUAL(f.seen[0].info.xid, info.xid);
	CU_ASSERT(!memcmp(f.seen[0].record, part + 4, sizeof part - 4));
	CU_ASSERT(!memcmp(f.seen[0].record + f.seen[0].length - LEN, data,
			  LEN));
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(o.timing.transmissions, 2);
	fake_stop(&f);
	free(data);
}

static void
a_new_connection_sends_each_unanswered_call_once_in_order(void)
{
	struct fake f;
	struct outcome o[6];
	unsigned i;

	fake_init(&f);
	fake_start(&f);
	for (i = 0; i < 6; i++) {	/* the urgent ones last */
		fake_call(&f, NFSPROC3_GETATTR, (enum rpc_class)(2 - i / 2),
			  &o[i], NULL);
		fake_run(&f);
	}
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 6);
	fake_reply(&f, &f.seen[2]);
	fake_run(&f);
	fake_cut(&f);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 11);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(f.seen[6 + i].info.xid,
				f.seen[i < 2 ? i : i + 1].info.xid);
	f.auto_reply = true;
	for (i = 6; i < 11; i++)
		fake_reply(&f, &f.seen[i]);
	fake_run(&f);
	for (i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
	CU_ASSERT_EQUAL(f.seen_nr, 11);
	fake_stop(&f);
}

static void
an_unanswered_call_on_a_live_connection_goes_again_under_its_xid(void)
{
	struct fake f;
	struct outcome o, p;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_pass(&f, TIMEO / 2);
	fake_getattr(&f, &p);
	fake_run(&f);
	fake_reply(&f, &f.seen[1]);	/* the server is alive */
	fake_run(&f);
	fake_pass(&f, TIMEO / 2 - SECOND);
	CU_ASSERT_EQUAL(f.seen_nr, 2);
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 3);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	CU_ASSERT_EQUAL(f.seen[2].info.xid, f.seen[0].info.xid);
	fake_reply(&f, &f.seen[0]);
	fake_reply(&f, &f.seen[2]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.timing.transmissions, 2);
	CU_ASSERT_EQUAL(rpc_client_op_stats(f.client,
					    NFSPROC3_GETATTR)->timeouts, 1);
	fake_stop(&f);
}

static void
a_silent_connection_is_made_again_after_timeo(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_pass(&f, TIMEO - SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	fake_pass(&f, 2 * SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2);
	CU_ASSERT_EQUAL(f.seen[1].info.xid, f.seen[0].info.xid);
	CU_ASSERT_EQUAL(f.seen[1].connection, 2);
	fake_stop(&f);
}

static void
a_server_that_takes_no_bytes_is_given_up_after_timeo(void)
{
	unsigned char *data = calloc(1, 1 << 20);
	struct iovec iov = { data, 1 << 20 };
	struct fake f;
	struct outcome o;

	CU_ASSERT_FATAL(data != NULL);
	fake_init(&f);
	f.paused = true;
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o);
	fake_pass(&f, TIMEO - SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	f.paused = false;		/* of the next connection */
	loop_watch_set(f.loop, f.watch, 0);
	vloop_pass(f.loop, 2 * SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL(f.seen_nr, 1);
	fake_stop(&f);
	free(data);
}

static void
an_idle_connection_stays_and_costs_no_wakeups(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_pass(&f, 3600 * SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT(!f.client->timer_set);
	fake_stop(&f);
}

static void
an_idle_connection_that_ends_is_made_again_for_the_next_call(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_cut(&f);
	fake_pass(&f, 3600 * SECOND);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	CU_ASSERT_EQUAL(rpc_client_state(f.client), RPC_DOWN);
	fake_getattr(&f, &o);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	fake_stop(&f);
}

/* Leaves a call unanswered on silent connections; the xids it goes under. */
static unsigned
xids_of(uint32_t proc, unsigned *first_xid_copies)
{
	struct fake f;
	struct outcome o;
	unsigned i, xids = 1;

	fake_init(&f);
	fake_start(&f);
	fake_call(&f, proc, RPC_NORMAL, &o, NULL);
	fake_pass(&f, 20 * TIMEO);
	*first_xid_copies = 1;
	for (i = 1; i < f.seen_nr; i++) {
		if (f.seen[i].info.xid == f.seen[0].info.xid)
			++*first_xid_copies;
		if (f.seen[i].info.xid != f.seen[i - 1].info.xid)
			xids++;
	}
	CU_ASSERT(f.seen_nr > 10);
	f.auto_reply = true;
	fake_pass(&f, 2 * TIMEO);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	fake_stop(&f);
	return xids;
}

static void
after_a_further_major_timeout_what_may_repeat_gets_a_fresh_xid(void)
{
	unsigned copies;

	CU_ASSERT(xids_of(NFSPROC3_COMMIT, &copies) > 1);
	/* the first, the one after the reconnect, and until major after it */
	CU_ASSERT(copies >= 3);
}

static void
what_must_not_repeat_keeps_its_xid_for_ever(void)
{
	unsigned copies;

	CU_ASSERT_EQUAL(xids_of(NFSPROC3_REMOVE, &copies), 1);
}

static void
hard_calls_wait_for_an_unreachable_server_with_growing_pauses(void)
{
	struct fake f;
	struct outcome o;
	unsigned first_minute;

	fake_init(&f);
	f.refuse = true;
	f.auto_reply = true;
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_pass(&f, SECOND);
	CU_ASSERT(f.connection_nr >= 3);
	CU_ASSERT(f.connection_nr <= 8);
	CU_ASSERT_EQUAL(rpc_client_state(f.client), RPC_DOWN);
	fake_pass(&f, 59 * SECOND);
	first_minute = f.connection_nr;
	CU_ASSERT(first_minute <= 20);
	fake_pass(&f, 3540 * SECOND);
	CU_ASSERT(f.connection_nr >= first_minute + 3540 / 10);
	CU_ASSERT(f.connection_nr <= first_minute + 3540 / 5);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	f.refuse = false;
	fake_pass(&f, 10 * SECOND);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	fake_stop(&f);
}

static void
a_server_that_hangs_up_on_every_call_is_not_hammered(void)
{
	struct fake f;
	struct outcome o;
	unsigned i;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	for (i = 0; i < 600; i++) {
		fake_pass(&f, SECOND / 10);
		fake_cut(&f);
	}
	CU_ASSERT(f.connection_nr > 3);
	CU_ASSERT(f.connection_nr < 25);
	fake_stop(&f);
}

static void
soft_calls_end_with_etimedout_after_retrans_times_timeo(void)
{
	struct fake f;
	struct outcome o[5];
	int i;

	fake_init(&f);
	f.params.soft = true;
	f.params.slot_nr = 2;
	fake_start(&f);
	for (i = 0; i < 5; i++)
		fake_getattr(&f, &o[i]);
	fake_pass(&f, 3 * TIMEO - SECOND);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(o[i].done_nr, 0);
	fake_pass(&f, 2 * SECOND);
	for (i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, -ETIMEDOUT);
	}
	CU_ASSERT_EQUAL(rpc_client_outstanding(f.client), 0);
	fake_stop(&f);
}

static void
soft_calls_end_where_no_connection_comes_up(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	f.params.soft = true;
	f.refuse = true;
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_pass(&f, 3 * TIMEO + SECOND);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, -ETIMEDOUT);
	fake_stop(&f);
}

static void
a_soft_call_given_up_half_sent_takes_the_connection_with_it(void)
{
	unsigned char *data = calloc(1, 1 << 20);
	struct iovec iov = { data, 1 << 20 };
	struct fake f;
	struct outcome o, p;

	CU_ASSERT_FATAL(data != NULL);
	fake_init(&f);
	f.params.soft = true;
	f.params.retrans = 1;
	f.paused = true;
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o);
	fake_pass(&f, TIMEO - SECOND);
	fake_reply_xid(&f, 0, NFSPROC3_GETATTR);	/* not silent */
	fake_getattr(&f, &p);
	f.auto_reply = true;
	fake_pass(&f, SECOND + SECOND / 2);
	CU_ASSERT_EQUAL(o.err, -ETIMEDOUT);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	f.paused = false;
	fake_run(&f);
	CU_ASSERT_EQUAL(p.done_nr, 1);
	CU_ASSERT_EQUAL(p.err, 0);
	fake_stop(&f);
	free(data);
}

static void
soft_calls_behind_others_wait_while_the_server_answers(void)
{
	struct fake f;
	struct outcome o[10];
	unsigned i;

	fake_init(&f);
	f.params.soft = true;
	f.params.slot_nr = 1;
	fake_start(&f);
	for (i = 0; i < 10; i++)
		fake_getattr(&f, &o[i]);
	for (i = 0; i < 10; i++) {	/* each takes most of timeo */
		fake_pass(&f, TIMEO - SECOND);
		CU_ASSERT_EQUAL_FATAL(f.seen_nr, i + 1);
		fake_reply(&f, &f.seen[i]);
		fake_run(&f);
	}
	for (i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(o[i].err, 0);
	CU_ASSERT_EQUAL(f.done_nr, 10);
	fake_stop(&f);
}

static void
drop_for(const void *bytes, size_t len)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_send(&f, bytes, len);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2);
	CU_ASSERT_EQUAL(f.seen[1].info.xid, f.seen[0].info.xid);
	fake_reply(&f, &f.seen[1]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	fake_stop(&f);
}

static void
an_oversize_reply_drops_the_connection(void)
{
	static const unsigned char big[8] = { 0x80, 0x20, 0, 0, 1, 2, 3, 4 };

	drop_for(big, sizeof big);
}

static void
garbage_drops_the_connection(void)
{
	static const unsigned char empty[4] = { 0x80, 0, 0, 0 };
	static const unsigned char is_call[12] = { 0x80, 0, 0, 8, 0, 0, 0, 1,
						   0, 0, 0, 0 };
	static const unsigned char too_short[6] = { 0x80, 0, 0, 2, 1, 2 };

	drop_for(empty, sizeof empty);
	drop_for(is_call, sizeof is_call);
	drop_for(too_short, sizeof too_short);
}

static void
a_reply_with_a_broken_header_drops_the_connection(void)
{
	unsigned char reply[12] = { 0x80, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1 };
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	rpc_set_xid(reply, f.seen[0].info.xid);
	fake_send(&f, reply, sizeof reply);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	fake_stop(&f);
}

/* Answers one call after the other; order[i] is how soon call i was done. */
static void
answer_all(struct fake *f)
{
	f->auto_reply = true;
	fake_reply(f, &f->seen[0]);
	fake_run(f);
}

static void
foreground_goes_before_normal_before_background(void)
{
	struct fake f;
	struct outcome first, b, n, g;

	fake_init(&f);
	f.params.slot_nr = 1;
	fake_start(&f);
	fake_getattr(&f, &first);
	fake_run(&f);
	fake_call(&f, NFSPROC3_GETATTR, RPC_BACKGROUND, &b, NULL);
	fake_call(&f, NFSPROC3_GETATTR, RPC_NORMAL, &n, NULL);
	fake_call(&f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g, NULL);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.seen_nr, 1);
	answer_all(&f);
	CU_ASSERT_EQUAL(g.order, 2);
	CU_ASSERT_EQUAL(n.order, 3);
	CU_ASSERT_EQUAL(b.order, 4);
	fake_stop(&f);
}

static void
foreground_overtakes_what_has_a_slot_but_is_not_begun(void)
{
	unsigned char *data = calloc(1, 1 << 20);
	struct iovec iov = { data, 1 << 20 };
	struct fake f;
	struct outcome o[4], g;
	unsigned i;

	CU_ASSERT_FATAL(data != NULL);
	fake_init(&f);
	f.paused = true;
	fake_start(&f);
	for (i = 0; i < 4; i++)
		fake_write(&f, RPC_BACKGROUND, &iov, 1, &o[i]);
	fake_run(&f);
	fake_getattr(&f, &g);
	fake_run(&f);
	f.paused = false;
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 5);
	CU_ASSERT_EQUAL(f.seen[1].info.proc, NFSPROC3_GETATTR);
	fake_stop(&f);
	free(data);
}

static void
a_call_that_goes_ahead_is_sent_before_queued_ones(void)
{
	unsigned char data[4] = "abc";
	struct iovec iov = { data, 4 };
	struct fake f;
	struct outcome first, w[2], c;

	fake_init(&f);
	f.params.slot_nr = 1;
	fake_start(&f);
	fake_getattr(&f, &first);
	fake_run(&f);
	fake_write(&f, RPC_BACKGROUND, &iov, 1, &w[0]);
	fake_write(&f, RPC_BACKGROUND, &iov, 1, &w[1]);
	fake_call(&f, NFSPROC3_COMMIT, RPC_BACKGROUND, &c, NULL);
	answer_all(&f);
	CU_ASSERT_EQUAL(c.order, 2);
	CU_ASSERT_EQUAL(w[0].order, 3);
	fake_stop(&f);
}

static void
a_raised_call_goes_first_in_its_new_class(void)
{
	struct fake f;
	struct outcome first, b[2], g;
	struct rpc_call *call;

	fake_init(&f);
	f.params.slot_nr = 1;
	fake_start(&f);
	fake_getattr(&f, &first);
	fake_run(&f);
	fake_call(&f, NFSPROC3_GETATTR, RPC_BACKGROUND, &b[0], NULL);
	fake_call(&f, NFSPROC3_GETATTR, RPC_BACKGROUND, &b[1], &call);
	fake_call(&f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g, NULL);
	rpc_call_raise(call, RPC_FOREGROUND);
	rpc_call_raise(call, RPC_BACKGROUND);	/* never lower */
	answer_all(&f);
	CU_ASSERT_EQUAL(b[1].order, 2);
	CU_ASSERT_EQUAL(g.order, 3);
	CU_ASSERT_EQUAL(b[0].order, 4);
	fake_stop(&f);
}

/* Of so many calls of each class waiting, how many are out? */
static void
out_of(struct fake *f, unsigned foreground, unsigned normal,
       unsigned background, unsigned out[RPC_CLASS_NR])
{
	static struct outcome o[64];
	unsigned waiting[RPC_CLASS_NR] = { foreground, normal, background };
	unsigned c, i, n = 0;

	fake_start(f);
	for (c = RPC_CLASS_NR; c-- > 0;)
		for (i = 0; i < waiting[c]; i++)
			fake_call(f, NFSPROC3_GETATTR, (enum rpc_class)c,
				  &o[n++], NULL);
	fake_run(f);
	memcpy(out, f->client->slots.out_nr, sizeof f->client->slots.out_nr);
}

static void
normal_has_half_of_what_foreground_leaves(void)
{
	struct fake f;
	unsigned out[RPC_CLASS_NR];

	fake_init(&f);
	out_of(&f, 3, 16, 16, out);
	CU_ASSERT_EQUAL(out[RPC_FOREGROUND], 3);
	CU_ASSERT_EQUAL(out[RPC_NORMAL], 7);
	CU_ASSERT_EQUAL(out[RPC_BACKGROUND], 6);
	fake_stop(&f);
}

static void
a_class_alone_may_use_every_slot(void)
{
	unsigned out[RPC_CLASS_NR], c;
	struct fake f;

	for (c = 0; c < RPC_CLASS_NR; c++) {
		fake_init(&f);
		out_of(&f, c == 0 ? 20 : 0, c == 1 ? 20 : 0, c == 2 ? 20 : 0,
		       out);
		CU_ASSERT_EQUAL(out[c], 16);
		fake_stop(&f);
	}
}

static void
background_keeps_to_its_depth(void)
{
	struct fake f;
	struct outcome o[10];
	unsigned i;

	fake_init(&f);
	fake_start(&f);
	rpc_client_set_background_depth(f.client, 2);
	for (i = 0; i < 10; i++)
		fake_call(&f, NFSPROC3_GETATTR, RPC_BACKGROUND, &o[i], NULL);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.seen_nr, 2);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.seen_nr, 3);
	rpc_client_set_background_depth(f.client, 16);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.seen_nr, 10);
	fake_stop(&f);
}

static void
calls_set_aside_are_left_for_those_that_free_memory(void)
{
	struct call_table t;
	struct rpc_call *call[10];
	int i, pooled = 0;

	CU_ASSERT_EQUAL_FATAL(call_table_init(&t, 8, 4, 1), 0);
	for (i = 0; i < 6; i++) {
		call[i] = call_new(&t, false);
		pooled += call[i]->pooled;
	}
	CU_ASSERT_EQUAL(pooled, 4);
	for (i = 6; i < 10; i++) {
		call[i] = call_new(&t, true);
		CU_ASSERT(call[i]->pooled);
	}
	for (i = 0; i < 10; i++)
		call_free(&t, call[i]);
	CU_ASSERT_EQUAL(t.spare_nr, 8);
	call_table_free(&t);
}

static void
the_first_xid_is_random_and_the_next_ones_follow(void)
{
	uint32_t first[3];
	struct fake f;
	struct outcome o, p;
	unsigned i;

	for (i = 0; i < 3; i++) {
		fake_init(&f);
		f.params.seed = i;	/* 0: the kernel's */
		fake_start(&f);
		fake_getattr(&f, &o);
		fake_getattr(&f, &p);
		fake_run(&f);
		first[i] = f.seen[0].info.xid;
		CU_ASSERT_EQUAL(f.seen[1].info.xid, first[i] + 1);
		fake_stop(&f);
	}
	CU_ASSERT(first[0] != first[1] && first[1] != first[2]);
}

UNIT_TESTS(rpc_retry,
	UNIT(a_connection_cut_inside_a_record_sends_the_whole_record_again),
	UNIT(a_new_connection_sends_each_unanswered_call_once_in_order),
	UNIT(an_unanswered_call_on_a_live_connection_goes_again_under_its_xid),
	UNIT(a_silent_connection_is_made_again_after_timeo),
	UNIT(a_server_that_takes_no_bytes_is_given_up_after_timeo),
	UNIT(an_idle_connection_stays_and_costs_no_wakeups),
	UNIT(an_idle_connection_that_ends_is_made_again_for_the_next_call),
	UNIT(after_a_further_major_timeout_what_may_repeat_gets_a_fresh_xid),
	UNIT(what_must_not_repeat_keeps_its_xid_for_ever),
	UNIT(hard_calls_wait_for_an_unreachable_server_with_growing_pauses),
	UNIT(a_server_that_hangs_up_on_every_call_is_not_hammered),
	UNIT(soft_calls_end_with_etimedout_after_retrans_times_timeo),
	UNIT(soft_calls_end_where_no_connection_comes_up),
	UNIT(a_soft_call_given_up_half_sent_takes_the_connection_with_it),
	UNIT(soft_calls_behind_others_wait_while_the_server_answers),
	UNIT(an_oversize_reply_drops_the_connection),
	UNIT(garbage_drops_the_connection),
	UNIT(a_reply_with_a_broken_header_drops_the_connection),
	UNIT(foreground_goes_before_normal_before_background),
	UNIT(foreground_overtakes_what_has_a_slot_but_is_not_begun),
	UNIT(a_call_that_goes_ahead_is_sent_before_queued_ones),
	UNIT(a_raised_call_goes_first_in_its_new_class),
	UNIT(normal_has_half_of_what_foreground_leaves),
	UNIT(a_class_alone_may_use_every_slot),
	UNIT(background_keeps_to_its_depth),
	UNIT(calls_set_aside_are_left_for_those_that_free_memory),
	UNIT(the_first_xid_is_random_and_the_next_ones_follow),
)
