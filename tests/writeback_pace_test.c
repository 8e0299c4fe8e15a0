/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_pace_test.c - what a server drains, what it may hold, and who waits
 * for what: the pipeline on a bench
 *
 * How it goes over minutes with many writers: sim_pace.
 */
#include <fcntl.h>

#include "daemon/writeback/grant.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/room_queue.h"
#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define MIB (1u << 20)

/* ---- what a server drains ---- */

/* Lumps every 500 ms, for seconds, of which the server has work for so much. */
static uint64_t
drained(uint64_t lump, unsigned seconds, unsigned work_msec)
{
	struct drain d;
	uint64_t now = 1000000;
	unsigned i;

	drain_init(&d, 100 * MIB);
	for (i = 0; i < 2 * seconds; i++) {
		drain_turn(&d, true, now);
		drain_stable(&d, lump);
		drain_turn(&d, false, now + work_msec * 1000);
		drain_stable(&d, 7 * MIB);	/* a trickle, late */
		now += 500000;
		drain_turn(&d, false, now);
	}
	return d.bytes_per_sec;
}

static void
drain_rate_is_that_of_the_time_with_work(void)
{
	uint64_t r = drained(5 * MIB, 30, 500);

	CU_ASSERT(r > 9 * MIB && r < 11 * MIB);
	r = drained(5 * MIB, 60, 250);
	CU_ASSERT(r > 18 * MIB && r < 22 * MIB);
	CU_ASSERT(drained(0, 30, 500) < MIB);
	CU_ASSERT_EQUAL(drained(5 * MIB, 30, 0), 100 * MIB);
}

static void
drain_rate_stays_while_a_commit_takes_its_time_and_falls_when_nothing_comes(void)
{
	uint64_t now = 1000000, end = now + 3000000;
	struct drain d;

	drain_init(&d, 100 * MIB);
	for (; now < end; now += 100000)
		drain_turn(&d, true, now);
	CU_ASSERT_EQUAL(d.bytes_per_sec, 100 * MIB);
	drain_stable(&d, 150 * MIB);		/* of those 3 s */
	drain_turn(&d, true, now);
	CU_ASSERT(d.bytes_per_sec > 49 * MIB && d.bytes_per_sec < 51 * MIB);
	for (end = now + 30000000; now < end; now += 100000)
		drain_turn(&d, true, now);
	CU_ASSERT(d.bytes_per_sec < MIB);
}

/* ---- the bench ---- */

/* A slow server, and so much written that its writers are paced. */
static struct wb_handle *
begin(struct bench *b, enum dirty_throttling t)
{
	struct bench_options o = {
		.slab_bytes = 128 * MIB, .dirty_bytes = 64 * MIB,
		.background_bytes = 32 * MIB, .dirty_throttling = t,
		.congestion_bytes = t == THROTTLE_FOREGROUND ? 8 * MIB : 0,
	};
	struct wb_handle *h;

	bench_init(b, &o);
	b->server->drain.bytes_per_sec = 2 * MIB;
	h = bench_open(b, 1, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(b, h, 0, 32 * MIB, 'a'));
	return h;
}

static void
who_writes_much_at_once_is_granted_ahead_more_each_time_it_is_used_up(void)
{
	static const struct bench_options o = { .slab_bytes = 64 * MIB,
						.dirty_bytes = 1024 * MIB };
	uint32_t queued, most = 0;
	struct wb_handle *h;
	struct bench b;
	unsigned i;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 24; i++) {
		CU_ASSERT_FATAL(bench_write(&b, h, i * MIB, MIB, 'a'));
		queued = grant_queued(b.slab);
		if (queued > most)
			most = queued;
	}
	CU_ASSERT(most >= 2 * MIB / NFSWB_CHUNK_BYTES);
	bench_free(&b);
}

/* Writes until it has to wait; where it is then. */
static uint64_t
write_on(struct bench *b, struct wb_handle *h, uint64_t at)
{
	return at + bench_write_some(b, h, at, 64 * MIB, 'a');
}

static void
paced_writer_waits_for_its_time_and_200_ms_at_most(void)
{
	uint64_t at = 32 * MIB, next, began;
	struct wb_handle *h;
	struct bench b;
	unsigned i;

	h = begin(&b, THROTTLE_IOLESS);
	at = write_on(&b, h, at);
	CU_ASSERT(at >= 36 * MIB - 65536 && at < 40 * MIB);
	CU_ASSERT(b.slab->waiting);
	CU_ASSERT_EQUAL(b.slab->waiting_for, WAIT_PACE);
	CU_ASSERT_STRING_EQUAL(waiting_for_name(b.slab->waiting_for), "pace");
	CU_ASSERT(wb_stats(b.wb, b.now)->throttle.balanced_rate > 0);
	for (i = 0; i < 50; i++) {
		began = b.now;
		next = wb_deadline(b.wb);
		CU_ASSERT_FATAL(next > b.now && next <= b.now + 200000);
		while (b.slab->waiting && b.now < began + 250000) {
			next = wb_deadline(b.wb);
			bench_advance(&b, next - b.now);
		}
		CU_ASSERT_FATAL(!b.slab->waiting);
		CU_ASSERT(b.now - began <= 200000);
		next = write_on(&b, h, at);
		CU_ASSERT(next > at);
		at = next;
		/* about 40 ms of twice the rate, at most, twice at first */
		CU_ASSERT(at < 40 * MIB + i * 2 * 2 * MIB / 25);
	}
	CU_ASSERT_EQUAL(b.wb->stats.throttle.limit_waits, 0);
	CU_ASSERT_EQUAL(b.wb->stats.throttle.pauses,
			b.wb->stats.throttle.pause_us.count +
			b.slab->waiting);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
data_in_messages_is_paced_too(void)
{
	static char data[MIB];
	uint64_t before;
	struct wb_handle *h;
	struct bench b;
	int64_t n;

	h = begin(&b, THROTTLE_IOLESS);
	(void)write_on(&b, h, 32 * MIB);
	room_queue_leave(b.slab, b.now);
	n = slab_write(b.slab, h, data, sizeof data, 50 * MIB, b.now);
	CU_ASSERT(n < (int64_t)sizeof data);
	CU_ASSERT(b.slab->waiting);
	CU_ASSERT_EQUAL(b.slab->waiting_for, WAIT_PACE);
	before = b.rooms;
	bench_advance(&b, 200000);
	CU_ASSERT(b.rooms > before);
	n = slab_write(b.slab, h, data, sizeof data, 55 * MIB, b.now);
	CU_ASSERT(n >= 4096 && n < (int64_t)sizeof data);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
server_that_writes_nothing_back_holds_three_quarters(void)
{
	struct bench_options o = {
		.slab_bytes = 32 * MIB, .dirty_bytes = 16 * MIB,
		.background_bytes = 8 * MIB,
	};
	struct wb_server *second;
	struct wb_handle *h;
	struct bench b;
	uint64_t at;

	bench_init(&b, &o);
	h = bench_open(&b, 1, 10, O_RDWR);
	at = write_on(&b, h, 0);
	CU_ASSERT_EQUAL(b.slab->waiting_for, WAIT_LIMIT);
	CU_ASSERT(share_dirtied(b.server) <= 12 * MIB);
	CU_ASSERT(at > 10 * MIB);
	CU_ASSERT_PTR_EQUAL(b.slab->held_by, b.server);

	/* another server's writer gets three quarters of the rest, unasked */
	second = wb_server_new(b.wb, &b.params, b.server->calls,
			       b.server->calls_arg, b.now);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT(share_most(second) >= 3 * MIB);
	CU_ASSERT_FALSE(throttle_urgent(second));
	CU_ASSERT(throttle_urgent(b.server));
	CU_ASSERT(share_fair(second) < 16 * MIB);
	b.server->drain.bytes_per_sec = 0;
	CU_ASSERT(share_fair(second) > 15 * MIB);
	bench_serve(&b, 1);
	bench_free(&b);
}

/* Two servers, one with more than half of what may be dirtied. */
static void
server_above_its_fair_share_is_slowed_where_room_is_short(void)
{
	struct bench_options o = {
		.slab_bytes = 32 * MIB, .dirty_bytes = 16 * MIB,
		.background_bytes = 8 * MIB,
	};
	struct wb_server *first, *second;
	struct wb_handle *h[2];
	struct bench b;

	bench_init(&b, &o);
	first = b.server;
	second = wb_server_new(b.wb, &b.params, first->calls,
			       first->calls_arg, b.now);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	h[0] = bench_open(&b, 1, 10, O_RDWR);
	b.server = second;
	h[1] = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT_FATAL(bench_write(&b, h[0], 0, 8 * MIB, 'a'));
	CU_ASSERT_FATAL(bench_write(&b, h[1], 0, 7 * MIB / 2, 'a'));
	b.wb->limits.dirty_background_bytes = 4 * MIB;

	first->drain.bytes_per_sec = 100 * MIB;
	second->drain.bytes_per_sec = MIB;
	CU_ASSERT(pace_ratio(first) > PACE_ONE * 3 / 4);
	second->drain.bytes_per_sec = 100 * MIB;
	CU_ASSERT_EQUAL(pace_ratio(first), PACE_ONE / 4);
	CU_ASSERT(pace_ratio(second) > PACE_ONE * 3 / 4);
	first->drain.bytes_per_sec = MIB;
	CU_ASSERT_EQUAL(pace_ratio(first), PACE_ONE / 4);
	bench_serve(&b, 1);
	bench_free(&b);
}

/* A session's grants are of the server that it wrote to last. */
static void
grants_go_with_the_session_to_its_new_server(void)
{
	struct wb_server *first, *second;
	struct wb_handle *h[2];
	struct bench b;
	uint64_t granted;

	bench_init(&b, &(struct bench_options){ 0 });
	first = b.server;
	second = wb_server_new(b.wb, &b.params, first->calls,
			       first->calls_arg, b.now);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	h[0] = bench_open(&b, 1, 10, O_RDWR);
	b.server = second;
	h[1] = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h[0], 0, MIB - 32768, 'a'));
	CU_ASSERT_PTR_EQUAL(b.slab->server, first);
	granted = first->granted_bytes;
	CU_ASSERT(granted > 4096);
	CU_ASSERT(bench_write(&b, h[1], 0, 4096, 'a'));
	CU_ASSERT_PTR_EQUAL(b.slab->server, second);
	CU_ASSERT_EQUAL(first->granted_bytes, 0);
	CU_ASSERT_EQUAL(second->granted_bytes, b.slab->granted_bytes);
	CU_ASSERT_EQUAL(share_dirtied(first), MIB - 32768);
	bench_turn(&b);
	bench_serve(&b, 1);
	bench_free(&b);
}

/* The limit is one chunk, and the first to come was granted all of it. */
static void
room_that_is_not_filled_comes_back_for_who_waits(void)
{
	struct bench_options o = { .dirty_bytes = 65536,
				   .background_bytes = 32768 };
	struct wb_handle *h[2];
	struct bench b;

	bench_init(&b, &o);
	h[0] = bench_open(&b, 1, 10, O_RDWR);
	h[1] = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h[0], 0, 4096, 'a'));
	CU_ASSERT_EQUAL(b.slab->granted_bytes, 65536 - 4096);
	bench_swap(&b);
	CU_ASSERT_FALSE(bench_write(&b, h[1], 0, 4096, 'b'));
	CU_ASSERT(b.slab->waiting);
	bench_advance(&b, 10000);
	CU_ASSERT_FALSE(b.slab->waiting);
	CU_ASSERT(bench_write(&b, h[1], 0, 4096, 'b'));
	bench_serve(&b, 1);
	bench_free(&b);
}

/* ---- foreground ---- */

static void
writer_in_the_foreground_writes_and_waits_for_that(void)
{
	struct wb_handle *h;
	struct bench b;
	uint64_t at;

	h = begin(&b, THROTTLE_FOREGROUND);
	at = write_on(&b, h, 32 * MIB);
	CU_ASSERT(b.slab->waiting);
	CU_ASSERT_EQUAL(b.slab->waiting_for, WAIT_WRITE);
	CU_ASSERT(bench_count(&b, WB_CALL_WRITE) > 0);
	bench_advance(&b, 10000000);		/* no time ends it */
	CU_ASSERT_EQUAL(b.slab->waiting_for, WAIT_WRITE);
	while (b.slab->waiting && b.call_nr)
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_FALSE(b.slab->waiting);
	CU_ASSERT(write_on(&b, h, at) > at);
	bench_serve(&b, 1);
	bench_free(&b);
}

UNIT_TESTS(writeback_pace,
	UNIT(drain_rate_is_that_of_the_time_with_work),
	UNIT(drain_rate_stays_while_a_commit_takes_its_time_and_falls_when_nothing_comes),
	UNIT(who_writes_much_at_once_is_granted_ahead_more_each_time_it_is_used_up),
	UNIT(paced_writer_waits_for_its_time_and_200_ms_at_most),
	UNIT(data_in_messages_is_paced_too),
	UNIT(server_that_writes_nothing_back_holds_three_quarters),
	UNIT(server_above_its_fair_share_is_slowed_where_room_is_short),
	UNIT(grants_go_with_the_session_to_its_new_server),
	UNIT(room_that_is_not_filled_comes_back_for_who_waits),
	UNIT(writer_in_the_foreground_writes_and_waits_for_that),
)
