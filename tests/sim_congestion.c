/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_congestion.c - how much is under way at once, and in which order
 *
 * The whole way of a write under virtual time, to a server that takes the time
 * of a model.  Each names where the trouble was reported.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rpc/nfs3_prot.h"
#include "tests/nfssim_model.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"

#define KIB 1024u
#define MIB (1u << 20)

static unsigned char bytes[MIB];
static struct rig *r;

/* What came to the server. */
static struct {
	uint64_t writes, next, behind;
	uint64_t most_writeback;	/* when one came */
	uint64_t commits, commit_usec;	/* how long the server takes for one */
	uint64_t until_usec;		/* the last one's end */
	uint64_t meanwhile;		/* bytes that came during it */
	uint64_t least_meanwhile, least_covered, most_covered;
} wire;

#define COMMITS_APART 3		/* the first ones, before it has settled */

static void
look_at_commit(struct nfssim_verdict *v)
{
	uint64_t unstable = rig_stats(r)->unstable_bytes;

	v->hold_usec = wire.commit_usec;
	wire.until_usec = loop_now(r->loop) + wire.commit_usec;
	if (wire.commits++ > COMMITS_APART) {
		if (wire.meanwhile < wire.least_meanwhile)
			wire.least_meanwhile = wire.meanwhile;
		if (unstable < wire.least_covered)
			wire.least_covered = unstable;
		if (unstable > wire.most_covered)
			wire.most_covered = unstable;
	}
	wire.meanwhile = 0;
}

static void
look(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	uint64_t writeback;

	(void)arg;
	if (c->prog == NFSSIM_NFS && c->proc == NFSPROC3_COMMIT)
		look_at_commit(v);
	if (c->prog != NFSSIM_NFS || c->proc != NFSPROC3_WRITE)
		return;
	if (loop_now(r->loop) < wire.until_usec)
		wire.meanwhile += c->count;
	wire.writes++;
	wire.behind += c->offset != wire.next;
	wire.next = c->offset + c->count;
	writeback = rig_stats(r)->writeback_bytes;
	if (writeback > wire.most_writeback)
		wire.most_writeback = writeback;
}

static void
start(const struct rig_options *o)
{
	size_t i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
	memset(&wire, 0, sizeof wire);
	wire.least_meanwhile = wire.least_covered = UINT64_MAX;
	r = rig_new(o);
	nfssim_set_fault(r->sim, look, NULL);
}

static void
stop(void)
{
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	CU_ASSERT(r->most_dirtied <= r->opt.dirty_bytes);
	rig_free(r);
}

static const struct rpc_op_stats *
write_stats(void)
{
	return rpc_client_op_stats(r->client, NFSPROC3_WRITE);
}

static struct model_params
model_of(const char *text)
{
	struct model_params m = { 0 };
	const char *wrong = model_params_parse(&m, text);

	if (wrong) {
		printf("# %s: %s\n", text, wrong);
		abort();
	}
	return m;
}

/* linux-mm 20111018085147.GA27805@localhost, "known bug": pages were held back
   before the WRITE that they belong to was whole. */
static void
any_dirty_limit_makes_progress_and_sync_returns(void)
{
	static const uint64_t limit[] = { 128 * KIB, 64 * KIB, 60 * KIB,
					  8 * KIB, 4 * KIB };
	unsigned i, j;

	for (i = 0; i < sizeof limit / sizeof limit[0]; i++)
		for (j = 0; j < 2; j++) {
			struct rig_options o = {
				.dirty_bytes = limit[i],
				.congestion_bytes = j ? 1 : 4 * MIB,
			};
			struct rig_wait w;
			struct wb_handle *f, *g;

			start(&o);
			f = rig_open(r, "f");
			g = rig_open(r, "g");
			rig_write(r, f, 0, bytes, 512 * KIB);
			rig_fsync_start(r, f, &w);
			rig_write(r, g, 0, bytes, 256 * KIB);
			CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
			CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes,
					 512 * KIB));
			CU_ASSERT_EQUAL(rig_sync(r), 0);
			CU_ASSERT(rig_is(r, "g", NFSSIM_STABLE, bytes,
					 256 * KIB));
			stop();
		}
}

/* vitalif/vitastor#117: nothing told the client to stop, calls timed out in the
   server's queue and came again. */
static void
a_slow_server_has_no_more_in_flight_than_the_limit_and_nothing_is_sent_twice(void)
{
	struct model_params m = model_of("ssd,disk=20MB,memory=16MB");
	struct rig_options o = {
		.model = &m, .discard = true, .wsize = 32 * KIB,
		.slab_bytes = 72 * MIB, .dirty_bytes = 70 * MIB,
		.dirty_background_bytes = 63 * MIB,
		.congestion_bytes = 2 * MIB, .slot_nr = 1024, .timeo_ds = 10,
	};
	struct wb_handle *h;
	unsigned i;

	start(&o);
	h = rig_open(r, "f");
	for (i = 0; i < 63; i++)		/* 2016 WRITEs */
		rig_write(r, h, (uint64_t)i * MIB, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(wire.most_writeback <= 2 * r->opt.congestion_bytes +
		  r->opt.wsize);
	CU_ASSERT_EQUAL(wire.writes, 2016);
	CU_ASSERT_EQUAL(write_stats()->transmissions, 2016);
	CU_ASSERT_EQUAL(write_stats()->timeouts, 0);
	stop();
}

/* The same; here the limit is no help, and what the server was seen to take in a
   second is. */
static void
a_slow_server_has_a_seconds_work_in_flight_once_it_was_measured(void)
{
	struct model_params m = model_of("ssd,disk=20MB,memory=16MB");
	struct rig_options o = {
		.model = &m, .discard = true, .wsize = 128 * KIB,
		.slab_bytes = 129 * MIB, .dirty_bytes = 128 * MIB,
		.dirty_background_bytes = 1 * MIB,
		.congestion_bytes = 256 * MIB, .slot_nr = 4096,
	};
	const struct server_stats *st;
	struct wb_handle *h;
	unsigned i;

	start(&o);
	h = rig_open(r, "f");
	for (i = 0; i < 400; i++) {
		if (i == 300)
			wire.most_writeback = 0;
		rig_write(r, h, (uint64_t)i * MIB, bytes, MIB);
	}
	st = rig_stats(r);
	printf("# %llu bytes a second measured, %llu at most in flight\n",
	       (unsigned long long)st->write_bw,
	       (unsigned long long)wire.most_writeback);
	CU_ASSERT(st->write_bw < 25 * MIB);
	/* a second's work, and one portion of half a second */
	CU_ASSERT(wire.most_writeback <= st->write_bw * 3 / 2);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT_EQUAL(write_stats()->timeouts, 0);
	CU_ASSERT_EQUAL(write_stats()->transmissions, wire.writes);
	stop();
}

/* linux-nfs 49C93526.70303@redhat.com (2009): servers that want a file's WRITEs
   early and in their order. */
static void
offsets_of_one_sequential_writer_ascend_on_the_wire(void)
{
	struct model_params m = model_of("ssd,disk=20MB,memory=4MB");
	struct rig_options o = {
		.model = &m, .discard = true, .dirty_bytes = 8 * MIB,
		.dirty_background_bytes = 64 * KIB,
		.congestion_bytes = 6 * MIB, .slot_nr = 16,
	};
	struct wb_handle *h;
	struct rig_wait w = { .done = true };
	unsigned i, fsyncs;
	int with_fsync;

	for (with_fsync = 0; with_fsync < 2; with_fsync++) {
		fsyncs = 0;
		start(&o);
		h = rig_open(r, "f");
		for (i = 0; i < 640; i++) {
			/* no multiple of wsize; the file's tail, too */
			rig_write(r, h, (uint64_t)i * 100000, bytes, 100000);
			rig_pass(r, 2000);	/* 50 MB/s */
			if (!with_fsync || !w.done || i % 40 != 39)
				continue;
			CU_ASSERT_EQUAL(w.err, 0);
			fsyncs++;
			rig_fsync_start(r, h, &w);
		}
		CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
		CU_ASSERT(!with_fsync || fsyncs > 5);
		CU_ASSERT_EQUAL(rig_close(r, h), 0);
		CU_ASSERT_EQUAL(wire.next, 64000000);
		CU_ASSERT_EQUAL(wire.behind, 0);
		stop();
	}
}

/* linux-mm 20111005014242.GA10237@localhost; turbonfs/inc/fcsm.h of
   Azure/AZNFS-mount: a COMMIT was of all that the file had, hundreds of MB, and
   nothing was written meanwhile. */
static void
writes_go_on_during_a_slow_commit_and_a_commit_is_of_a_seconds_work(void)
{
	struct model_params m = model_of("link=1G,rtt=200us,threads=8");
	struct rig_options o = {
		.model = &m, .discard = true, .wsize = MIB,
		.slab_bytes = 402 * MIB, .dirty_bytes = 400 * MIB,
		.congestion_bytes = 50 * MIB, .slot_nr = 16,
	};
	const struct server_stats *st;
	struct wb_handle *h;
	unsigned i;

	start(&o);
	wire.commit_usec = 2 * RIG_SECOND;
	h = rig_open(r, "f");
	for (i = 0; i < 1200; i++) {
		rig_write(r, h, (uint64_t)i * MIB, bytes, MIB);
		rig_pass(r, 10486);		/* 100 MB/s */
	}
	st = rig_stats(r);
	printf("# %llu bytes a second; a COMMIT is of %llu to %llu, and %llu "
	       "come meanwhile\n", (unsigned long long)st->write_bw,
	       (unsigned long long)wire.least_covered,
	       (unsigned long long)wire.most_covered,
	       (unsigned long long)wire.least_meanwhile);
	CU_ASSERT(wire.commits > 2 * COMMITS_APART);
	CU_ASSERT(wire.least_meanwhile >= st->write_bw * 3 / 4);
	CU_ASSERT(wire.least_covered >= st->write_bw * 3 / 4);
	CU_ASSERT(wire.most_covered <= st->write_bw * 3 / 2);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	stop();
}

UNIT_TESTS(sim_congestion,
	UNIT(any_dirty_limit_makes_progress_and_sync_returns),
	UNIT(a_slow_server_has_no_more_in_flight_than_the_limit_and_nothing_is_sent_twice),
	UNIT(a_slow_server_has_a_seconds_work_in_flight_once_it_was_measured),
	UNIT(offsets_of_one_sequential_writer_ascend_on_the_wire),
	UNIT(writes_go_on_during_a_slow_commit_and_a_commit_is_of_a_seconds_work),
)
