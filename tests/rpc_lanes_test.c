/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpc_lanes_test.c - several connections: which a call takes, and what of it
   becomes of calls when one of them is no good */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "tests/lanesfake.h"
#include "tests/logged.h"

#define TIMEO (10 * SECOND)
#define KIB 1024u

/* ---- the choice ---- */

static uint64_t
bytes_over(const struct lanes *l, unsigned lane)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < l->came_nr; i++)
		if (l->came[i].lane == lane)
			bytes += l->came[i].bytes;
	return bytes;
}

static void
writes_are_spread_by_the_bytes_under_way(void)
{
	static const uint32_t size[] = { 64, 4, 32, 8, 64, 16, 4, 4 };
	uint64_t least = UINT64_MAX, most = 0;
	struct outcome o[40];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 4);
	for (i = 0; i < 40; i++)
		lanes_write(&l, RPC_BACKGROUND, i, size[i % 8] * KIB, &o[i],
			    NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 40);
	for (i = 0; i < 4; i++) {
		least = MIN(least, bytes_over(&l, i));
		most = MAX(most, bytes_over(&l, i));
	}
	CU_ASSERT(least > 0);
	CU_ASSERT(most - least <= 65 * KIB);	/* no more than one of them */
	lanes_stop(&l);
}

static void
the_connection_that_answers_first_gets_the_next_writes(void)
{
	struct outcome o[16];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 4);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 8 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(bytes_over(&l, i), 16 * KIB);
	lanes_answer(&l, 2);
	lanes_run(&l);
	for (i = 8; i < 10; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 8 * KIB, &o[i], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(bytes_over(&l, 2), 32 * KIB);
	lanes_stop(&l);
}

static void
bytes_that_a_read_will_bring_count(void)
{
	static char room[128 * KIB];
	struct iovec into = { room, sizeof room };
	READ3args args = { .file = { .data = { 4, (char[]){ "file" } } },
			   .count = sizeof room };
	struct outcome r = { 0 }, o[3];
	struct rpc_request read_it = {
		.proc = NFSPROC3_READ, .encode = xdr_READ3args, .args = &args,
		.decode = xdr_READ3res_head,
		.res_bytes = sizeof(READ3res_head), .into = &into,
		.into_nr = 1, .payload = nfs3_read_payload, .done = fake_done,
		.arg = &r,
	};
	struct lanes l;
	unsigned i;

	lanes_start(&l, 2);
	r.fake = &l.f;
	CU_ASSERT_EQUAL(rpc_client_call(l.f.client, &read_it, NULL), 0);
	lanes_run(&l);
	for (i = 0; i < 3; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 32 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 3; i++)
		CU_ASSERT_NOT_EQUAL(lanes_find_write(&l, i)->lane,
				    lanes_find(&l, NFSPROC3_READ)->lane);
	lanes_stop(&l);
}

/* 0 and 2 take nothing any more, 1 has less begun. */
static void
block_lanes(struct lanes *l, struct outcome *o, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		lanes_pause(l, i, true);
	for (i = 0; i < nr; i++)
		lanes_write(l, RPC_BACKGROUND, i,
			    (i == 1 ? 512 : 1024) * KIB, &o[i], NULL);
	lanes_run(l);
}

/* Two more that wait behind those. */
static void
queue_two(struct lanes *l, struct outcome *q)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		lanes_write(l, RPC_BACKGROUND, 10 + i, 1024 * KIB, &q[i],
			    NULL);
	lanes_run(l);
}

static void
foreground_goes_over_the_emptiest(void)
{
	struct outcome o[3], g[2];
	struct lanes l;

	lanes_start(&l, 3);
	block_lanes(&l, o, 3);
	fake_call(&l.f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g[0], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 0);
	lanes_pause(&l, 1, false);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lanes_find(&l, NFSPROC3_GETATTR));
	CU_ASSERT_EQUAL(lanes_find(&l, NFSPROC3_GETATTR)->lane, 1);
	lanes_stop(&l);
}

static void
what_is_queued_in_a_lower_class_does_not_count_for_foreground(void)
{
	struct outcome o[3], q[8], g;
	struct lanes l;
	unsigned i;

	lanes_start(&l, 3);
	block_lanes(&l, o, 3);
	/* all of it is queued behind 1's, and is the most */
	for (i = 0; i < 2; i++)
		lanes_write(&l, RPC_BACKGROUND, 10 + i, 512 * KIB, &q[i],
			    NULL);
	lanes_run(&l);
	fake_call(&l.f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g, NULL);
	lanes_run(&l);
	lanes_pause(&l, 1, false);
	lanes_run(&l);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lanes_find(&l, NFSPROC3_GETATTR));
	CU_ASSERT_EQUAL(lanes_find(&l, NFSPROC3_GETATTR)->lane, 1);
	lanes_stop(&l);
}

static void
many_foreground_writes_at_once_are_spread(void)
{
	struct outcome o[3], q[12];
	unsigned i, nr[3] = { 0 };
	struct lanes l;

	lanes_start(&l, 3);
	block_lanes(&l, o, 3);
	for (i = 0; i < 12; i++)
		lanes_write(&l, RPC_FOREGROUND, 10 + i, 256 * KIB, &q[i],
			    NULL);
	lanes_run(&l);
	for (i = 0; i < 3; i++)
		lanes_pause(&l, i, false);
	lanes_run(&l);
	for (i = 0; i < 12; i++)
		nr[lanes_find_write(&l, 10 + i)->lane]++;
	for (i = 0; i < 3; i++)
		CU_ASSERT(nr[i] >= 3 && nr[i] <= 6);
	lanes_stop(&l);
}

static void
a_raised_call_goes_over_the_emptiest(void)
{
	struct outcome o[3], q[3];
	struct rpc_call *raised;
	struct lanes l;
	unsigned i;

	lanes_start(&l, 2);
	block_lanes(&l, o, 2);
	/* to 1 512 KiB, and then to 0: both have as much */
	lanes_write(&l, RPC_BACKGROUND, 10, 600 * KIB, &q[0], NULL);
	lanes_write(&l, RPC_BACKGROUND, 11, 64 * KIB, &q[1], &raised);
	lanes_run(&l);
	CU_ASSERT_PTR_EQUAL(raised->lane, &l.f.client->lanes[0]);
	rpc_call_raise(raised, RPC_FOREGROUND);
	CU_ASSERT_PTR_EQUAL(raised->lane, &l.f.client->lanes[1]);
	for (i = 0; i < 2; i++)
		lanes_pause(&l, i, false);
	lanes_run(&l);
	CU_ASSERT_EQUAL(lanes_find_write(&l, 11)->lane, 1);
	CU_ASSERT(lanes_find_write(&l, 11) < lanes_find_write(&l, 10));
	lanes_stop(&l);
}

static void
slots_are_the_servers_and_not_each_connections(void)
{
	struct outcome o[20];
	struct lanes l;
	unsigned i;

	lanes_prepare(&l, 16);
	l.f.params.slot_nr = 8;
	lanes_go(&l);
	for (i = 0; i < 20; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 4 * KIB, &o[i], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 8);
	lanes_stop(&l);
}

static void
one_large_write_at_a_time_begins_while_a_small_call_is_out(void)
{
	struct outcome o[8], g;
	struct lanes l;
	unsigned i, begun = 0;

	lanes_start(&l, 4);
	rpc_client_yield(l.f.client, true);
	fake_call(&l.f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g, NULL);
	lanes_run(&l);
	l.f.client->gate.last_usec = loop_now(l.f.loop);
	l.f.client->gate.took_usec = 100000;
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 256 * KIB, &o[i], NULL);
	lanes_pass(&l, 290000);
	CU_ASSERT_EQUAL(l.came_nr, 1);
	for (i = 0; i < 4; i++)		/* half sent, and nothing more */
		lanes_pause(&l, i, true);
	lanes_pass(&l, 20000);
	for (i = 0; i < 4; i++)
		begun += l.f.client->lanes[i].begun_bytes >= 256 * KIB;
	CU_ASSERT_EQUAL(begun, 1);
	lanes_stop(&l);
}

/* ---- one of them is lost ---- */

static void
one_cut_in_mid_record_sends_its_own_calls_again_and_no_others(void)
{
	struct outcome o[4];
	uint32_t xid[4];
	struct lanes l;
	char part[1000];
	unsigned i;

	lanes_start(&l, 4);
	lanes_pause(&l, 1, true);
	for (i = 0; i < 4; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 700 * KIB, &o[i], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 3);
	CU_ASSERT_EQUAL(recv(l.end[1].fd, part, sizeof part, MSG_DONTWAIT),
			sizeof part);
	for (i = 0; i < 4; i++)
		xid[i] = i == 1 ? 0 : lanes_find_write(&l, i)->xid;
	memcpy(&xid[1], part + 4, 4);
	lanes_cut(&l, 1);
	lanes_pause(&l, 1, false);
	lanes_run(&l);
	CU_ASSERT_EQUAL(l.came_nr, 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lanes_find_write(&l, 1));
	CU_ASSERT_EQUAL(lanes_find_write(&l, 1)->lane, 1);
	CU_ASSERT_EQUAL(lanes_find_write(&l, 1)->connection, 2);
	CU_ASSERT_EQUAL(htonl(lanes_find_write(&l, 1)->xid), xid[1]);
	for (i = 0; i < 4; i++)
		lanes_answer(&l, i);
	lanes_run(&l);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].timing.transmissions, i == 1 ? 2 : 1);
		CU_ASSERT_EQUAL(l.end[i].connection_nr, i == 1 ? 2 : 1);
	}
	lanes_stop(&l);
}

static void
what_had_left_over_it_is_sent_again_over_it_under_its_xid(void)
{
	struct outcome o[8];
	struct lanes l;
	unsigned i, again;

	lanes_start(&l, 4);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 4 * KIB, &o[i], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 8);
	lanes_cut(&l, 3);
	lanes_run(&l);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 10);
	for (again = 8; again < 10; again++) {
		for (i = 0; i < 8; i++)
			if (l.came[i].offset == l.came[again].offset)
				break;
		CU_ASSERT_EQUAL(l.came[i].lane, 3);
		CU_ASSERT_EQUAL(l.came[again].lane, 3);
		CU_ASSERT_EQUAL(l.came[again].xid, l.came[i].xid);
	}
	lanes_stop(&l);
}

static void
what_had_not_begun_goes_over_the_others_at_once(void)
{
	struct outcome o[2], q[2];
	struct lanes l;

	lanes_start(&l, 2);
	block_lanes(&l, o, 2);
	queue_two(&l, q);
	lanes_pause(&l, 1, false);
	l.auto_reply = true;
	l.end[0].refuse = true;
	lanes_cut(&l, 0);
	lanes_pass(&l, 20000);		/* its second attempt is still to come */
	CU_ASSERT_EQUAL(q[0].done_nr, 1);
	CU_ASSERT_EQUAL(q[1].done_nr, 1);
	CU_ASSERT_EQUAL(q[0].timing.transmissions, 1);
	CU_ASSERT_EQUAL(q[1].timing.transmissions, 1);
	CU_ASSERT_EQUAL(o[0].done_nr, 0);
	CU_ASSERT_EQUAL(o[1].done_nr, 1);
	lanes_stop(&l);
}

static void
one_that_can_not_be_made_stalls_nobody(void)
{
	struct outcome o[64];
	struct lanes l;
	unsigned i, up;

	lanes_prepare(&l, 4);
	l.auto_reply = true;
	l.end[0].refuse = l.end[2].refuse = true;
	lanes_go(&l);
	for (i = 0; i < 64; i++)
		lanes_write(&l, i % 3, i, 4 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 64; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].timing.transmissions, 1);
	}
	CU_ASSERT_EQUAL(l.end[0].came_nr, 0);
	CU_ASSERT_EQUAL(l.end[2].came_nr, 0);
	CU_ASSERT_EQUAL(rpc_client_state(l.f.client), RPC_UP);
	CU_ASSERT_EQUAL(rpc_client_connections(l.f.client, &up), 4);
	CU_ASSERT_EQUAL(up, 2);
	lanes_stop(&l);
}

static void
one_that_can_not_be_made_is_tried_with_growing_pauses(void)
{
	struct outcome o;
	struct lanes l;

	lanes_prepare(&l, 2);
	l.end[1].refuse = true;
	lanes_go(&l);
	lanes_write(&l, RPC_BACKGROUND, 1, 4 * KIB, &o, NULL);
	lanes_pass(&l, 1000 * SECOND);	/* silent: 0 is made again, and again */
	CU_ASSERT(l.end[1].attempt_nr >= 100);
	CU_ASSERT(l.end[1].attempt_nr <= 220);
	lanes_stop(&l);
}

/* A call has left over 1, which is lost and not made again. */
static void
lose_a_call(struct lanes *l, uint32_t proc, struct outcome *big,
	    struct outcome *o)
{
	lanes_start(l, 2);
	lanes_write(l, RPC_BACKGROUND, 1, 64 * KIB, big, NULL);
	lanes_run(l);
	fake_call(&l->f, proc, RPC_FOREGROUND, o, NULL);
	lanes_run(l);
	CU_ASSERT_EQUAL_FATAL(l->came_nr, 2);
	CU_ASSERT_EQUAL_FATAL(lanes_find(l, proc)->lane, 1);
	l->end[1].refuse = true;
	lanes_answer(l, 0);
	lanes_cut(l, 1);
}

static void
what_may_be_done_twice_leaves_one_that_stays_down_under_a_fresh_xid(void)
{
	struct outcome big, o;
	struct lanes l;

	lose_a_call(&l, NFSPROC3_GETATTR, &big, &o);
	l.auto_reply = true;
	lanes_run(&l);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	lanes_pass(&l, TIMEO);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 3);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(l.came[2].lane, 0);
	CU_ASSERT_NOT_EQUAL(l.came[2].xid, l.came[1].xid);
	lanes_stop(&l);
}

static void
what_may_not_waits_for_timeo_and_keeps_its_xid(void)
{
	struct outcome big, o;
	struct lanes l;

	lose_a_call(&l, NFSPROC3_REMOVE, &big, &o);
	l.auto_reply = true;
	lanes_pass(&l, TIMEO - SECOND);
	CU_ASSERT_EQUAL(l.came_nr, 2);
	lanes_pass(&l, TIMEO + 2 * SECOND);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 3);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.timing.transmissions, 2);
	CU_ASSERT_EQUAL(l.came[2].lane, 0);
	CU_ASSERT_EQUAL(l.came[2].xid, l.came[1].xid);
	lanes_stop(&l);
}

static void
it_comes_back_in_time_and_the_call_goes_over_it(void)
{
	struct outcome big, o;
	struct lanes l;

	lose_a_call(&l, NFSPROC3_REMOVE, &big, &o);
	l.auto_reply = true;
	lanes_pass(&l, SECOND);
	l.end[1].refuse = false;
	lanes_pass(&l, 4 * SECOND);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 3);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(l.came[2].lane, 1);
	CU_ASSERT_EQUAL(l.came[2].xid, l.came[1].xid);
	lanes_stop(&l);
}

static void
after_an_outage_all_are_made_once_the_server_has_answered(void)
{
	struct outcome o[8];
	struct lanes l;
	unsigned i, up;

	lanes_start(&l, 8);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 4 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 8; i++) {
		l.end[i].refuse = true;
		lanes_cut(&l, i);
	}
	lanes_pass(&l, 300 * SECOND);
	CU_ASSERT_EQUAL(rpc_client_connections(l.f.client, &up), 8);
	CU_ASSERT_EQUAL(up, 0);
	CU_ASSERT_NOT_EQUAL(rpc_client_state(l.f.client), RPC_UP);
	l.auto_reply = true;
	for (i = 0; i < 8; i++)
		l.end[i].refuse = false;
	while (rpc_client_state(l.f.client) != RPC_UP)
		lanes_pass(&l, 1000);
	lanes_pass(&l, 1000);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, 0);
		CU_ASSERT_EQUAL(l.end[i].came_nr, 2);
	}
	lanes_stop(&l);
}

static void
an_outage_is_said_once_and_not_by_each_connection(void)
{
	struct outcome o[8];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 8);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 4 * KIB, &o[i], NULL);
	lanes_run(&l);
	log_begin();
	for (i = 0; i < 8; i++) {
		l.end[i].refuse = true;
		lanes_cut(&l, i);
	}
	lanes_pass(&l, 30 * SECOND);
	CU_ASSERT_EQUAL(log_end("fake (connection "), 2);  /* lost, can't */
	/* one stays down alone: that is news */
	log_begin();
	for (i = 0; i < 8; i++)
		l.end[i].refuse = i == 3;
	l.auto_reply = true;
	lanes_pass(&l, SECOND * 30);
	lanes_write(&l, RPC_BACKGROUND, 9, 4 * KIB, &o[0], NULL);
	lanes_pass(&l, SECOND * 30);
	CU_ASSERT_EQUAL(log_end("fake (connection 4 of 8): can't connect"), 1);
	lanes_stop(&l);
}

static void
a_server_that_hangs_up_on_all_is_not_hammered(void)
{
	struct outcome o[16];
	struct lanes l;
	unsigned i, nr = 0;

	lanes_prepare(&l, 16);
	l.hang_up = true;
	lanes_go(&l);
	for (i = 0; i < 16; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 4 * KIB, &o[i], NULL);
	lanes_pass(&l, 1000 * SECOND);
	for (i = 0; i < 16; i++)
		nr += l.end[i].attempt_nr;
	CU_ASSERT(nr <= 16 * 220);
	lanes_stop(&l);
}

/* ---- one of them is silent, or worse ---- */

static void
over_a_silent_one_nothing_goes_that_others_can_take(void)
{
	struct outcome o[4], g[20];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 4);
	for (i = 0; i < 4; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 128 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 1; i < 4; i++)
		lanes_answer(&l, i);
	lanes_pass(&l, 2 * SECOND);
	for (i = 1; i < 4; i++)		/* so that 0 is the emptiest */
		lanes_write(&l, RPC_BACKGROUND, 10 + i, 512 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 20; i++)
		fake_call(&l.f, NFSPROC3_GETATTR, RPC_FOREGROUND, &g[i], NULL);
	lanes_run(&l);
	for (i = 1; i < 4; i++)
		lanes_answer(&l, i);
	lanes_run(&l);
	for (i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(g[i].done_nr, 1);
	lanes_pass(&l, TIMEO);
	/* it is made again, alone */
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(l.end[i].connection_nr, i ? 1 : 2);
	CU_ASSERT_EQUAL(lanes_count_write(&l, 0), 2);
	CU_ASSERT_EQUAL(lanes_find_write(&l, 0)->lane, 0);
	lanes_stop(&l);
}

static void
what_waits_for_one_that_takes_nothing_goes_over_another(void)
{
	struct outcome o[2], q[2];
	struct lanes l;

	lanes_start(&l, 2);
	block_lanes(&l, o, 2);
	queue_two(&l, q);
	l.auto_reply = true;
	lanes_pause(&l, 1, false);
	lanes_run(&l);
	CU_ASSERT_EQUAL(q[0].done_nr + q[1].done_nr, 1);
	lanes_pass(&l, 2 * SECOND);
	CU_ASSERT_EQUAL(q[0].done_nr + q[1].done_nr, 2);
	CU_ASSERT_EQUAL(o[0].done_nr, 0);
	CU_ASSERT_EQUAL(l.end[0].connection_nr, 1);
	lanes_stop(&l);
}

static void
a_silent_one_gets_a_write_to_see_whether_it_works_again(void)
{
	struct outcome slow, o[8];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 2);
	fake_call(&l.f, NFSPROC3_COMMIT, RPC_BACKGROUND, &slow, NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(lanes_find(&l, NFSPROC3_COMMIT)->lane, 0);
	lanes_pass(&l, 3 * SECOND);	/* it works on that */
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 128 * KIB, &o[i], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL(bytes_over(&l, 0), 4 * 128 * KIB);
	lanes_stop(&l);
}

static void
garbage_over_one_is_no_others_trouble(void)
{
	static const unsigned char garbage[] = { 0x80, 0, 0, 8, 1, 2, 3, 4, 5,
						 6, 7, 8 };
	struct outcome o[8];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 4);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 8 * KIB, &o[i], NULL);
	lanes_run(&l);
	lanes_send_raw(&l, 2, garbage, sizeof garbage);
	lanes_run(&l);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(l.end[i].connection_nr, i == 2 ? 2 : 1);
		lanes_answer(&l, i);
	}
	lanes_run(&l);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].timing.transmissions,
				i % 4 == 2 ? 2 : 1);
	}
	lanes_stop(&l);
}

static void
a_reply_over_another_connection_is_none(void)
{
	struct outcome o[2];
	struct lanes l;
	char buf[512];
	ssize_t len;

	lanes_start(&l, 2);
	lanes_write(&l, RPC_BACKGROUND, 0, 8 * KIB, &o[0], NULL);
	lanes_write(&l, RPC_BACKGROUND, 1, 8 * KIB, &o[1], NULL);
	lanes_run(&l);
	CU_ASSERT_EQUAL_FATAL(l.came_nr, 2);
	len = fake_encode_reply(buf, sizeof buf, lanes_find_write(&l, 1)->xid,
				NFSPROC3_WRITE);
	lanes_send_raw(&l, 0, buf, (size_t)len);
	lanes_run(&l);
	CU_ASSERT_EQUAL(o[1].done_nr, 0);
	lanes_answer(&l, 1);
	lanes_run(&l);
	CU_ASSERT_EQUAL(o[1].done_nr, 1);
	CU_ASSERT_EQUAL(o[0].done_nr, 0);
	lanes_stop(&l);
}

static void
soft_calls_over_a_dead_one_end_and_others_are_answered(void)
{
	struct outcome o[8];
	struct lanes l;
	unsigned i;

	lanes_prepare(&l, 4);
	l.f.params.soft = true;
	lanes_go(&l);
	lanes_pause(&l, 1, true);
	for (i = 0; i < 8; i++)
		lanes_write(&l, RPC_BACKGROUND, i, 256 * KIB, &o[i], NULL);
	lanes_run(&l);
	for (i = 0; i < 4; i++)
		lanes_answer(&l, i);
	l.auto_reply = true;
	lanes_pass(&l, 100 * SECOND);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, i == 1 ? -ETIMEDOUT : 0);
	}
	lanes_stop(&l);
}

static void
closing_answers_each_call_once_wherever_it_stands(void)
{
	struct outcome o[100];
	struct lanes l;
	unsigned i;

	lanes_start(&l, 8);
	lanes_pause(&l, 3, true);
	lanes_pause(&l, 5, true);
	l.end[6].refuse = true;
	for (i = 0; i < 100; i++)
		lanes_write(&l, i % 3, i, 64 * KIB, &o[i], NULL);
	lanes_run(&l);
	lanes_cut(&l, 0);
	lanes_answer(&l, 1);
	l.end[2].refuse = true;
	lanes_cut(&l, 2);
	vloop_pass(l.f.loop, 0);
	lanes_stop(&l);
	for (i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
}

UNIT_TESTS(rpc_lanes,
	UNIT(writes_are_spread_by_the_bytes_under_way),
	UNIT(the_connection_that_answers_first_gets_the_next_writes),
	UNIT(bytes_that_a_read_will_bring_count),
	UNIT(foreground_goes_over_the_emptiest),
	UNIT(what_is_queued_in_a_lower_class_does_not_count_for_foreground),
	UNIT(many_foreground_writes_at_once_are_spread),
	UNIT(a_raised_call_goes_over_the_emptiest),
	UNIT(slots_are_the_servers_and_not_each_connections),
	UNIT(one_large_write_at_a_time_begins_while_a_small_call_is_out),
	UNIT(one_cut_in_mid_record_sends_its_own_calls_again_and_no_others),
	UNIT(what_had_left_over_it_is_sent_again_over_it_under_its_xid),
	UNIT(what_had_not_begun_goes_over_the_others_at_once),
	UNIT(one_that_can_not_be_made_stalls_nobody),
	UNIT(one_that_can_not_be_made_is_tried_with_growing_pauses),
	UNIT(what_may_be_done_twice_leaves_one_that_stays_down_under_a_fresh_xid),
	UNIT(what_may_not_waits_for_timeo_and_keeps_its_xid),
	UNIT(it_comes_back_in_time_and_the_call_goes_over_it),
	UNIT(after_an_outage_all_are_made_once_the_server_has_answered),
	UNIT(an_outage_is_said_once_and_not_by_each_connection),
	UNIT(a_server_that_hangs_up_on_all_is_not_hammered),
	UNIT(over_a_silent_one_nothing_goes_that_others_can_take),
	UNIT(what_waits_for_one_that_takes_nothing_goes_over_another),
	UNIT(a_silent_one_gets_a_write_to_see_whether_it_works_again),
	UNIT(garbage_over_one_is_no_others_trouble),
	UNIT(a_reply_over_another_connection_is_none),
	UNIT(soft_calls_over_a_dead_one_end_and_others_are_answered),
	UNIT(closing_answers_each_call_once_wherever_it_stands),
)
