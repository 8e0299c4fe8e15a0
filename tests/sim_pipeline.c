/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_pipeline.c - the promises of DESIGN §5 and §6, kept against a server that
 * misbehaves, under virtual time
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/nfs3_prot.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"

#define MIB (1u << 20)

static unsigned char bytes[4 * MIB], other[4 * MIB];
static struct rig *r;

static void
start(const struct rig_options *opt)
{
	size_t i;

	r = rig_new(opt);
	for (i = 0; i < sizeof bytes; i++) {
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
		other[i] = (unsigned char)~bytes[i];
	}
}

static void
stop(void)
{
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->overlapping_writes, 0);
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	CU_ASSERT(r->most_dirtied <= r->opt.dirty_bytes);
	rig_free(r);
}

static uint64_t
calls(unsigned proc)
{
	return nfssim_stats(r->sim)->calls[proc];
}

/* What a fault function does; a test sets what it needs. */
static struct {
	unsigned proc;			/* these only */
	uint64_t from_nr, to_nr;	/* of them, counted from 1; 0: all */
	struct nfssim_verdict verdict;
	uint64_t restart_with;		/* then the verifier is this */
	bool new_verifiers;		/* another one each call */
	uint64_t nr, verifier;
	struct nfssim_call last;
} fault;

static void
fault_fn(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (fault.new_verifiers)
		nfssim_set_verifier(r->sim, 1000 + ++fault.verifier);
	if (c->proc != fault.proc)
		return;
	fault.last = *c;
	fault.nr++;
	if (fault.from_nr && (fault.nr < fault.from_nr ||
			      fault.nr > fault.to_nr))
		return;
	*v = fault.verdict;
	if (fault.restart_with)
		nfssim_restart(r->sim, fault.restart_with);
}

static void
set_fault(unsigned proc, uint64_t from_nr, uint64_t to_nr,
	  struct nfssim_verdict verdict)
{
	memset(&fault, 0, sizeof fault);
	fault.proc = proc;
	fault.from_nr = from_nr;
	fault.to_nr = to_nr;
	fault.verdict = verdict;
	nfssim_set_fault(r->sim, fault_fn, NULL);
}

#define VERDICT(...) ((struct nfssim_verdict){ __VA_ARGS__ })

/* the main job */

static void
bytes_are_stable_after_fsync(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 0, 0, VERDICT(0));
	rig_write(r, h, 0, bytes, 300001);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 300001));
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 5);
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 1);
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->stable_writes, 0);
	CU_ASSERT_EQUAL(fault.last.uid, 1000);
	CU_ASSERT_EQUAL(fault.last.gid, 100);
	CU_ASSERT_EQUAL(fault.last.group_nr, 3);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
close_alone_brings_all_to_stable_storage(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 0);
	stop();
}

static void
old_data_is_written_without_being_asked_for(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, 100000);
	rig_pass(r, 29 * RIG_SECOND);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 0);
	rig_pass(r, 10 * RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 100000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
more_than_slab_and_limit_goes_through(void)
{
	struct rig_options opt = { .slab_bytes = MIB, .dirty_bytes = MIB / 2 };
	struct wb_handle *h;

	start(&opt);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, sizeof bytes);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, sizeof bytes));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
inline_writes_go_the_same_way(void)
{
	struct wb_handle *h;
	size_t at = 0;
	int64_t n;

	start(NULL);
	h = rig_open(r, "f");
	while (at < 2 * MIB) {
		n = rig_write_inline(r, h, at, bytes + at, 2 * MIB - at);
		CU_ASSERT_FATAL(n >= 0);
		at += (size_t)n;
		rig_pass(r, n ? 0 : 1000);
	}
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 2 * MIB));
	stop();
}

static void
small_sequential_writes_become_writes_of_wsize(void)
{
	struct wb_handle *h;
	size_t at, size = 4000000;

	start(NULL);
	h = rig_open(r, "f");
	for (at = 0; at < size; at += 100)
		rig_write(r, h, at, bytes + at, 100);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, size));
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), (size + 65535) / 65536);
	stop();
}

static void
last_write_of_small_file_is_file_sync_without_commit(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, 5000);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 5000));
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->stable_writes, 1);
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 0);
	stop();
}

static void
no_commit_where_the_server_answers_file_sync(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 0, 0, VERDICT(.sync = true));
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 0);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
mount_with_file_sync_needs_no_commit(void)
{
	struct rig_options opt = { .stable = WB_FILE_SYNC };
	struct wb_handle *h;

	start(&opt);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->unstable_writes, 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 0);
	stop();
}

/* the verifier */

static void
restart_before_commit_sends_all_again(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_COMMIT, 1, 1, VERDICT(.lose_call = true));
	fault.restart_with = 77;
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(rig_stats(r)->verifier_changes, 1);
	CU_ASSERT_EQUAL(rig_stats(r)->replayed_bytes, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
restart_between_writes_sends_the_older_ones_again(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	nfssim_set_delay(r->sim, 0);	/* eight are answered before */
	set_fault(NFSPROC3_WRITE, 9, 9, VERDICT(.lose_call = true));
	fault.restart_with = 77;
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	/* seen by a WRITE's verifier, before any COMMIT was wasted */
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 1);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
replay_does_not_bring_back_what_was_superseded(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	/* all UNSTABLE, COMMIT on its way */
	set_fault(NFSPROC3_COMMIT, 1, 1, VERDICT(.delay_usec = RIG_SECOND));
	rig_write(r, h, 0, bytes, 256 * 1024);
	rig_fsync_start(r, h, &w);
	rig_pass(r, RIG_SECOND / 2);
	CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), 1);
	rig_write(r, h, 10000, other, 100000);
	nfssim_restart(r->sim, 99);
	memcpy(bytes + 10000, other, 100000);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	/* the old bytes are lost, so it waited for the new ones */
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 256 * 1024));
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 256 * 1024));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
fsync_waits_for_what_superseded_the_lost_bytes(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_COMMIT, 1, 1, VERDICT(.delay_usec = RIG_SECOND));
	rig_write(r, h, 0, bytes, 128 * 1024);
	rig_fsync_start(r, h, &w);
	rig_pass(r, RIG_SECOND / 2);
	rig_write(r, h, 0, other, 128 * 1024);
	CU_ASSERT(!w.done);
	nfssim_restart(r->sim, 99);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, 128 * 1024));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
verifiers_that_never_agree_end_in_file_sync(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_NULL, 0, 0, VERDICT(0));
	fault.new_verifiers = true;
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT(nfssim_stats(r->sim)->stable_writes > 0);
	CU_ASSERT(calls(NFSPROC3_WRITE) <= 5 * 16);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* errors */

static void
nospc_reaches_each_handle_once_and_the_next_fsync_writes(void)
{
	struct wb_handle *h, *g;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 0, 0, VERDICT(.status = NFS3ERR_NOSPC));
	rig_write(r, h, 0, bytes, 300000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_VOLATILE), 0);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 300000);
	set_fault(NFSPROC3_NULL, 0, 0, VERDICT(0));
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 300000));
	CU_ASSERT_EQUAL(rig_fsync(r, g), -ENOSPC);
	CU_ASSERT_EQUAL(rig_fsync(r, g), 0);
	CU_ASSERT_EQUAL(rig_close(r, g), 0);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	stop();
}

static void
fsync_says_nospc_as_long_as_it_is_so(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 0, 0, VERDICT(.status = NFS3ERR_NOSPC));
	rig_write(r, h, 0, bytes, 300000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(rig_close(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(r->given_up_bytes, 300000);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 0);
	stop();
}

static void
commit_refused_is_said_and_the_data_written_again(void)
{
	struct wb_handle *h;
	uint64_t before;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_COMMIT, 1, 1, VERDICT(.status = NFS3ERR_IO));
	rig_write(r, h, 0, bytes, 300000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -EIO);
	before = calls(NFSPROC3_WRITE);
	nfssim_restart(r->sim, 1);	/* it did lose the data */
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(calls(NFSPROC3_WRITE) >= before + 5);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 300000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
jukebox_is_not_seen_by_the_application(void)
{
	struct wb_handle *h, *g;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "g");
	set_fault(NFSPROC3_WRITE, 1, 12, VERDICT(.status = NFS3ERR_JUKEBOX));
	rig_write(r, h, 0, bytes, 300000);
	rig_fsync_start(r, h, &w);
	rig_pass(r, 1000);
	CU_ASSERT(fault.nr > 0);
	/* another file does not wait for it */
	set_fault(NFSPROC3_COMMIT, 1, 3, VERDICT(.status = NFS3ERR_JUKEBOX));
	rig_write(r, g, 0, bytes, 5000);
	CU_ASSERT_EQUAL(rig_fsync(r, g), 0);
	CU_ASSERT(!w.done);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 300000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT_EQUAL(rig_close(r, g), 0);
	stop();
}

static void
rest_of_a_short_write_is_sent_again(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 0, 0, VERDICT(.short_count = 10001));
	rig_write(r, h, 0, bytes, 300000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 300000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* the network */

static void
connection_cut_in_the_middle_of_a_write_is_not_seen(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	nfssim_cut_after(r->sim, 200000);
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->connections, 2);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
server_that_is_away_for_hours_loses_nothing(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB);
	nfssim_set_up(r->sim, false);
	rig_fsync_start(r, h, &w);
	rig_pass(r, 5 * 3600 * RIG_SECOND);
	CU_ASSERT(!w.done);
	nfssim_restart(r->sim, 5);
	nfssim_set_up(r->sim, true);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
lost_calls_and_replies_are_made_good_by_the_same_xid(void)
{
	struct wb_handle *h;
	uint32_t xid;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 1, 1, VERDICT(.lose_call = true));
	rig_write(r, h, 0, bytes, 5000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 2);
	set_fault(NFSPROC3_WRITE, 1, 1, VERDICT(.lose_reply = true));
	rig_write(r, h, 5000, bytes + 5000, 5000);
	struct rig_wait w;
	rig_fsync_start(r, h, &w);
	rig_pass(r, RIG_SECOND);
	xid = fault.last.xid;
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT_EQUAL(fault.last.xid, xid);
	CU_ASSERT_EQUAL(fault.nr, 2);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 10000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
late_duplicate_does_not_land_on_newer_data(void)
{
	struct rig_options opt = { .timeo_ds = 10 };
	struct wb_handle *h;

	start(&opt);
	h = rig_open(r, "f");
	/* a thread of the server sleeps on the first copy for 8 s; the second
	   is answered after a second */
	set_fault(NFSPROC3_WRITE, 1, 1,
		  VERDICT(.hold_usec = 8 * RIG_SECOND, .lose_reply = true));
	rig_write(r, h, 0, bytes, 50000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT_EQUAL(fault.nr, 2);
	rig_write(r, h, 0, other, 50000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	rig_pass(r, 60 * RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_VOLATILE, other, 50000));
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, 50000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* overlaps, and writers that go on */

static void
write_over_one_in_flight_waits_for_the_reply(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	nfssim_set_delay(r->sim, RIG_SECOND);
	rig_write(r, h, 0, bytes, 8192);
	rig_fsync_start(r, h, &w);
	rig_pass(r, 10000);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 1);
	rig_write(r, h, 4096, other, 8192);
	rig_pass(r, RIG_SECOND / 2);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 1);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(w.done);
	memcpy(bytes + 4096, other, 8192);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 4096 + 8192));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static struct loop_timer *writer_timer;
static struct wb_handle *writer_handle;
static uint64_t writer_at, writer_step, writer_wrap;

static void
writer_goes_on(void *arg)
{
	int64_t n;

	(void)arg;
	n = rig_write_inline(r, writer_handle, writer_at % writer_wrap,
			     bytes + writer_at % writer_wrap, writer_step);
	if (n > 0)
		writer_at += (uint64_t)n;
	loop_timer_set(r->loop, writer_timer, 100);
}

static void
fsync_beside_a_writer(uint64_t wrap)
{
	start(NULL);
	writer_handle = rig_open(r, "f");
	writer_at = 0;
	writer_step = 8192;
	writer_wrap = wrap;
	writer_timer = loop_timer(r->loop, writer_goes_on, NULL);
	loop_timer_set(r->loop, writer_timer, 0);
	nfssim_set_delay(r->sim, 5000);
	rig_pass(r, RIG_SECOND);
	CU_ASSERT(writer_at > MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, writer_handle), 0);
	CU_ASSERT(loop_now(r->loop) < 1010 * RIG_SECOND);
	rig_pass(r, RIG_SECOND);
	CU_ASSERT_EQUAL(rig_fsync(r, writer_handle), 0);
	loop_timer_free(r->loop, writer_timer);
	CU_ASSERT_EQUAL(rig_close(r, writer_handle), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes,
			 writer_at < wrap ? writer_at : wrap));
	stop();
}

static void
fsync_ends_though_the_writer_goes_on(void)
{
	fsync_beside_a_writer(4 * MIB);
}

static void
fsync_ends_though_the_writer_writes_the_same_again_and_again(void)
{
	fsync_beside_a_writer(64 * 1024);
}

/* truncate */

static void
truncate_cuts_what_is_dirty_in_flight_and_unstable(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, 300000);
	rig_fsync_start(r, h, &w);
	nfssim_set_delay(r->sim, RIG_SECOND);
	rig_pass(r, RIG_SECOND / 2);
	CU_ASSERT_EQUAL(rig_truncate(r, h, 100001), 0);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 100001));
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 100001);
	/* what grows again reads as zeros */
	rig_write(r, h, 200000, bytes + 200000, 1);
	memset(bytes + 100001, 0, 200000 - 100001);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 200001));
	stop();
}

static void
write_after_a_truncate_follows_it_to_the_server(void)
{
	struct wb_handle *h;
	struct rig_wait w;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, 100000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	set_fault(NFSPROC3_SETATTR, 1, 1, VERDICT(.hold_usec = RIG_SECOND));
	rig_truncate_start(r, h, 0, &w);
	rig_write(r, h, 0, other, 50000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(w.done && w.err == 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, 50000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* soft */

static void
soft_server_gives_up_and_what_it_does_late_hits_nothing_newer(void)
{
	struct rig_options opt = { .timeo_ds = 10, .soft = true };
	struct wb_handle *h;

	start(&opt);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_WRITE, 1, 1, VERDICT(.hold_usec = 7 * RIG_SECOND));
	fault.to_nr = 1000;
	rig_write(r, h, 0, bytes, 50000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ETIMEDOUT);
	set_fault(NFSPROC3_NULL, 0, 0, VERDICT(0));
	rig_write(r, h, 0, other, 50000);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	rig_pass(r, 60 * RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_VOLATILE, other, 50000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* limits */

static void
stuck_server_holds_the_writer_at_the_limit(void)
{
	struct rig_options opt = { .dirty_bytes = MIB };
	struct wb_handle *h;
	uint64_t sum = 0;
	int64_t n;
	int i;

	start(&opt);
	h = rig_open(r, "f");
	nfssim_set_up(r->sim, false);
	for (i = 0; i < 100; i++) {
		while ((n = rig_write_inline(r, h, sum, bytes + sum, 100000)) >
		       0)
			sum += (uint64_t)n;
		rig_pass(r, RIG_SECOND);
	}
	CU_ASSERT_EQUAL(sum, MIB * 3 / 4);	/* the rest is for others */
	nfssim_set_up(r->sim, true);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, sum));
	stop();
}

static void
released_slab_is_written_back_without_its_owner(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB + 17);
	handle_close(h, loop_now(r->loop), NULL, NULL);
	slab_release(r->slab, loop_now(r->loop));
	rig_pass(r, RIG_SECOND);
	CU_ASSERT(r->slab_gone);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB + 17));
	stop();
}

static void
hundred_files_are_synced_at_once(void)
{
	struct wb_handle *h[100];
	char path[10];
	int i;

	start(NULL);
	for (i = 0; i < 100; i++) {
		snprintf(path, sizeof path, "f%d", i);
		h[i] = rig_open(r, path);
		rig_write(r, h[i], 0, bytes + i, 1000 + 100 * (size_t)i);
	}
	CU_ASSERT_EQUAL(rig_sync(r), 0);
	for (i = 0; i < 100; i++) {
		snprintf(path, sizeof path, "f%d", i);
		CU_ASSERT(rig_is(r, path, NFSSIM_STABLE, bytes + i,
				 1000 + 100 * (size_t)i));
		CU_ASSERT_EQUAL(rig_close(r, h[i]), 0);
	}
	stop();
}

static bool
is_flushed(void *arg)
{
	return ((struct rig_wait *)arg)->done;
}

static void
flushed(void *arg, int err)
{
	struct rig_wait *w = arg;

	w->done = true;
	w->err = err;
}

/* A READ has no verifier to tell it. */
static void
what_a_read_waited_for_is_there_though_the_server_restarts(void)
{
	struct rig_wait w = { 0 };
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, 200000);
	file_flush_range(handle_file(h), 1000, 100, loop_now(r->loop), flushed,
			 &w);
	CU_ASSERT(vloop_run_until(r->loop, is_flushed, &w, RIG_PATIENCE));
	CU_ASSERT_EQUAL(w.err, 0);
	nfssim_restart(r->sim, 2);
	CU_ASSERT(rig_is(r, "f", NFSSIM_VOLATILE, bytes, 200000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static void
overwritten_while_a_read_waits_it_is_never_older_than_both(void)
{
	struct nfssim_verdict lost = { .lose_call = true };
	struct rig_wait w = { 0 };
	struct wb_handle *h;
	unsigned char there[100];
	int tries;

	start(NULL);
	h = rig_open(r, "f");
	set_fault(NFSPROC3_COMMIT, 1, 1, lost);
	rig_write(r, h, 0, bytes, 200000);
	file_flush_range(handle_file(h), 1000, 100, loop_now(r->loop), flushed,
			 &w);
	for (tries = 0; tries < 100 && !calls(NFSPROC3_COMMIT); tries++)
		rig_pass(r, 100);
	rig_write(r, h, 0, other, 200000);
	CU_ASSERT(vloop_run_until(r->loop, is_flushed, &w, RIG_PATIENCE));
	nfssim_restart(r->sim, 2);
	CU_ASSERT_EQUAL(nfssim_read(r->sim, "f", NFSSIM_VOLATILE, 1000, there,
				    100), 100);
	CU_ASSERT(!memcmp(there, bytes + 1000, 100) ||
		  !memcmp(there, other + 1000, 100));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* users */

#define PIECE 1000u
#define PIECES 64u

/* Pieces by turns; the second user's find no room. */
static struct {
	unsigned writes, mixed;
	bool quota;
} users;

static void
watch_users(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->proc != NFSPROC3_WRITE)
		return;
	users.writes++;
	if (c->offset / PIECE != (c->offset + c->count - 1) / PIECE ||
	    c->uid != 10 + c->offset / PIECE % 2)
		users.mixed++;
	if (users.quota && c->uid == 11)
		v->status = NFS3ERR_DQUOT;
}

static void
users_who_write_by_turns_are_each_told_apart_by_the_server(void)
{
	struct cred *mine, *user[2] = { cred_get(10, 10, NULL, 0),
					cred_get(11, 11, NULL, 0) };
	static unsigned char want[PIECES * PIECE];
	struct wb_handle *h[2];
	unsigned i;

	start(NULL);
	mine = r->cred;
	memset(&users, 0, sizeof users);
	users.quota = true;
	nfssim_set_fault(r->sim, watch_users, NULL);
	for (i = 0; i < 2; i++) {
		r->cred = user[i];
		h[i] = rig_open(r, "f");
	}
	r->cred = mine;
	memset(want, 0, sizeof want);
	for (i = 0; i < PIECES - 1; i++) {
		rig_write(r, h[i % 2], i * PIECE, bytes + i, PIECE);
		if (i % 2 == 0)
			memcpy(want + i * PIECE, bytes + i, PIECE);
	}
	CU_ASSERT_EQUAL(rig_fsync(r, h[0]), -EDQUOT);
	CU_ASSERT_EQUAL(rig_fsync(r, h[1]), -EDQUOT);
	CU_ASSERT(users.writes >= PIECES - 1);
	CU_ASSERT_EQUAL(users.mixed, 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, want, (PIECES - 1) * PIECE));
	users.quota = false;
	for (i = 1; i < PIECES - 1; i += 2)
		memcpy(want + i * PIECE, bytes + i, PIECE);
	CU_ASSERT_EQUAL(rig_fsync(r, h[1]), 0);
	CU_ASSERT_EQUAL(users.mixed, 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, want, (PIECES - 1) * PIECE));
	CU_ASSERT_EQUAL(rig_close(r, h[0]), -EDQUOT);	/* the second try */
	CU_ASSERT_EQUAL(rig_close(r, h[1]), 0);
	cred_put(user[0]);
	cred_put(user[1]);
	stop();
}

UNIT_TESTS(sim_pipeline,
	UNIT(bytes_are_stable_after_fsync),
	UNIT(close_alone_brings_all_to_stable_storage),
	UNIT(old_data_is_written_without_being_asked_for),
	UNIT(more_than_slab_and_limit_goes_through),
	UNIT(inline_writes_go_the_same_way),
	UNIT(small_sequential_writes_become_writes_of_wsize),
	UNIT(last_write_of_small_file_is_file_sync_without_commit),
	UNIT(no_commit_where_the_server_answers_file_sync),
	UNIT(mount_with_file_sync_needs_no_commit),
	UNIT(restart_before_commit_sends_all_again),
	UNIT(restart_between_writes_sends_the_older_ones_again),
	UNIT(replay_does_not_bring_back_what_was_superseded),
	UNIT(fsync_waits_for_what_superseded_the_lost_bytes),
	UNIT(verifiers_that_never_agree_end_in_file_sync),
	UNIT(nospc_reaches_each_handle_once_and_the_next_fsync_writes),
	UNIT(fsync_says_nospc_as_long_as_it_is_so),
	UNIT(commit_refused_is_said_and_the_data_written_again),
	UNIT(jukebox_is_not_seen_by_the_application),
	UNIT(rest_of_a_short_write_is_sent_again),
	UNIT(connection_cut_in_the_middle_of_a_write_is_not_seen),
	UNIT(server_that_is_away_for_hours_loses_nothing),
	UNIT(lost_calls_and_replies_are_made_good_by_the_same_xid),
	UNIT(late_duplicate_does_not_land_on_newer_data),
	UNIT(write_over_one_in_flight_waits_for_the_reply),
	UNIT(fsync_ends_though_the_writer_goes_on),
	UNIT(fsync_ends_though_the_writer_writes_the_same_again_and_again),
	UNIT(truncate_cuts_what_is_dirty_in_flight_and_unstable),
	UNIT(write_after_a_truncate_follows_it_to_the_server),
	UNIT(soft_server_gives_up_and_what_it_does_late_hits_nothing_newer),
	UNIT(stuck_server_holds_the_writer_at_the_limit),
	UNIT(released_slab_is_written_back_without_its_owner),
	UNIT(hundred_files_are_synced_at_once),
	UNIT(what_a_read_waited_for_is_there_though_the_server_restarts),
	UNIT(overwritten_while_a_read_waits_it_is_never_older_than_both),
	UNIT(users_who_write_by_turns_are_each_told_apart_by_the_server),
)
