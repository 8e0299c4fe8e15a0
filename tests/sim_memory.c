/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_memory.c - memory that freeing memory needs was set aside
 *
 * First on the bench, then over the RPC client to nfssim, whose own memory is not
 * watched: it has a loop of its own here.  Then what a full house does for long.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "rpc/nfs3_prot.h"
#include "tests/alloc_count.h"
#include "tests/nfssim_model.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define KIB 1024u
#define MIB (1u << 20)
#define STEP 200u		/* of either loop's time, in turn */

static unsigned char bytes[4 * MIB];

static void
fill_bytes(void)
{
	size_t i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
}

/* ---- nothing is allocated between "granted" and CLEAN ---- */

/* Data of three files, overwritten in part while it is on its way, written,
   committed, and its room taken again; the server restarts in between. */
static void
bench_round(struct bench *b, struct wb_handle **h, uint64_t at, unsigned verf)
{
	unsigned i, nr;

	for (i = 0; i < 3; i++) {
		CU_ASSERT(bench_write(b, h[i], at, 1500 * KIB, 'a'));
		CU_ASSERT(bench_write(b, h[i], at + 4 * MIB, 700, 'b'));
	}
	bench_turn(b);
	for (i = 0; i < 3; i++)
		CU_ASSERT(bench_write(b, h[i], at + 5000, 100 * KIB + i, 'c'));
	for (nr = 0; nr < 200 && b->call_nr; nr++)
		bench_answer(b, bench_take(b, b->call_nr - 1), 0, WB_UNSTABLE,
			     nr < 5 ? verf : verf + 1);
	bench_advance(b, 40000000);	/* all of it is old by now */
	bench_serve(b, verf + 1);
}

static void
nothing_is_allocated_from_the_grant_to_clean(void)
{
	static const struct bench_options o = {
		.slab_bytes = 8 * MIB, .background_bytes = MIB,
		.wsize = 256 * KIB };
	static struct bench b;
	struct wb_handle *h[3];
	unsigned i, round;
	uint64_t nr;

	for (round = 0; round < 2; round++) {
		bench_init(&b, &o);
		log_set_level(LOG_LEVEL_ERROR);
		b.check_every = 1000000;
		for (i = 0; i < 3; i++)
			h[i] = bench_open(&b, i + 1, 10 + i % 2, O_RDWR);
		alloc_watch(round);
		for (i = 0; i < 4; i++)
			bench_round(&b, h, (uint64_t)i * 8 * MIB, 2 * i);
		nr = alloc_end();
		CU_ASSERT_EQUAL(nr, 0);
		CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
		CU_ASSERT(b.wb->stats.reclaim.reclaims > 0);
		CU_ASSERT_EQUAL(b.gave_up, 0);
		bench_free(&b);
	}
}

static struct rig *r;

/* Either loop in its turn; what the client's allocates. */
static uint64_t
pass_apart(uint64_t usec, bool refuse)
{
	uint64_t nr = 0, end = loop_now(r->loop) + usec;

	while (loop_now(r->loop) < end) {
		alloc_watch(refuse);
		vloop_pass(r->loop, STEP);
		nr += alloc_end();
		vloop_pass(r->sim_loop, STEP);
	}
	return nr;
}

/* Writes it, and lets the flusher see to it that it becomes CLEAN. */
static uint64_t
write_apart(struct wb_handle *h, size_t length, bool refuse)
{
	uint64_t nr;
	unsigned i;

	alloc_watch(refuse);
	rig_write(r, h, 0, bytes, length);
	nr = alloc_end();
	for (i = 0; i < 100 && wb_left_bytes(r->wb); i++)
		nr += pass_apart(RIG_SECOND, refuse);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 0);
	return nr;
}

/* More WRITEs are queued than there are slots, in pieces of any kind. */
static void
nothing_is_allocated_on_the_way_to_the_server_and_back(void)
{
	static const uint32_t wsize[] = { 4096, 64 * KIB, MIB };
	unsigned i, refuse;

	fill_bytes();
	for (i = 0; i < 3; i++)
		for (refuse = 0; refuse < 2; refuse++) {
			struct rig_options o = {
				.apart = true, .wsize = wsize[i], .slot_nr = 4,
				.dirty_bytes = 16 * MIB,
				.dirty_background_bytes = 256 * KIB,
				.dirty_expire_usec = RIG_SECOND,
			};
			struct wb_handle *h;

			r = rig_new(&o);
			h = rig_open(r, "f");
			/* what is made with the connection is there */
			(void)write_apart(h, 256 * KIB, false);
			CU_ASSERT_EQUAL(write_apart(h, 2 * MIB, refuse), 0);
			CU_ASSERT_EQUAL(write_apart(h, 2 * MIB - 7, refuse), 0);
			CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes,
					 2 * MIB));
			rig_free(r);
		}
}

/* ---- for long ---- */

static bool stalled;

static void
look(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (stalled && c->prog == NFSSIM_NFS)
		v->lose_call = true;
}

static void
server_stalled_for_half_an_hour_with_every_byte_dirty_loses_nothing(void)
{
	struct rig_options o = { .dirty_bytes = 2 * MIB, .slab_bytes = 3 * MIB,
				 .dirty_background_bytes = MIB };
	struct rig_wait w;
	struct wb_handle *h;
	uint64_t at = 0, before;
	unsigned i;
	int64_t n;

	fill_bytes();
	r = rig_new(&o);
	h = rig_open(r, "f");
	nfssim_set_fault(r->sim, look, NULL);
	rig_write(r, h, 0, bytes, 4096);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	stalled = true;
	for (i = 0; i < 120; i++) {	/* as it is paced, until it stands */
		while ((n = rig_write_inline(r, h, at, bytes + at,
					     64 * KIB)) > 0)
			at += (uint64_t)n;
		rig_pass(r, RIG_SECOND);
	}
	/* three quarters are what one server may have */
	CU_ASSERT(at > 2 * MIB * 5 / 8);
	CU_ASSERT_EQUAL(r->slab->waiting_for, WAIT_LIMIT);
	rig_fsync_start(r, h, &w);
	rig_pass(r, 60 * RIG_SECOND);
	before = alloc_in_use();
	rig_pass(r, 1740 * RIG_SECOND);
	/* it waits, and takes no more for it */
	CU_ASSERT(alloc_in_use() <= before + 64 * KIB);
	CU_ASSERT_FALSE(w.done);
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	CU_ASSERT(wb_left_bytes(r->wb) > 0);
	CU_ASSERT(r->most_dirtied <= o.dirty_bytes);
	stalled = false;
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, at));
	/* and the writer goes on */
	rig_write(r, h, at, bytes + at, 64 * KIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, at + 64 * KIB));
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	rig_free(r);
}

/* CASES D7 (linux-mm 20111018085147.GA27805@localhost, same thread): a client
   piled up 8 GB of outstanding writes. */
static void
ten_minutes_of_an_unlimited_writer_to_a_slow_server_take_no_more_memory(void)
{
	struct model_params m = { 0 };
	struct rig_options o = { .model = &m, .discard = true,
				 .dirty_bytes = 16 * MIB,
				 .slab_bytes = 24 * MIB };
	uint64_t at, first = 0, end;
	struct wb_handle *h;

	fill_bytes();
	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(&m, "disk,disk=1MB,"
						    "memory=4MB"));
	r = rig_new(&o);
	h = rig_open(r, "f");
	end = loop_now(r->loop) + 600 * RIG_SECOND;
	for (at = 0; loop_now(r->loop) < end; at += MIB) {
		rig_write(r, h, at, bytes, MIB);
		if (!first && at >= 64 * MIB)
			first = alloc_in_use();
	}
	printf("# %llu MiB written, %llu KiB allocated after 64, %llu at the "
	       "end\n", (unsigned long long)(at / MIB),
	       (unsigned long long)(first / KIB),
	       (unsigned long long)(alloc_in_use() / KIB));
	CU_ASSERT(at > 400 * MIB && at < 700 * MIB);
	CU_ASSERT(r->most_dirtied <= o.dirty_bytes);
	CU_ASSERT(alloc_in_use() <= first + 64 * KIB);
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	rig_free(r);
}

UNIT_TESTS(sim_memory,
	UNIT(nothing_is_allocated_from_the_grant_to_clean),
	UNIT(nothing_is_allocated_on_the_way_to_the_server_and_back),
	UNIT(server_stalled_for_half_an_hour_with_every_byte_dirty_loses_nothing),
	UNIT(ten_minutes_of_an_unlimited_writer_to_a_slow_server_take_no_more_memory),
)
