/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_reported.c - troubles that users of other NFS clients and caches met
 *
 * Each names where it was reported.  What they met comes from a server; ours does
 * the same here, under virtual time, and the right outcome is held.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "rpc/nfs3_prot.h"
#include "tests/logged.h"
#include "tests/random.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"

#define MIB (1u << 20)
#define BLOCK 65536u		/* the rig's wsize */

static unsigned char bytes[4 * MIB], other[4 * MIB];
static struct rig *r;

/* What the server does; a test sets what it needs. */
static struct {
	nfssim_fault_fn *fn;
	struct nfssim_verdict verdict;
	uint64_t nr;			/* calls it was done to */
	uint64_t offset;		/* from there on */
	struct fh fh;			/* to this file only */
	uint64_t until_usec;
	uint32_t xid[256];		/* of the WRITEs, each once */
	unsigned xid_nr;
	uint64_t seen_usec[512];	/* when WRITEs came */
	unsigned seen_nr;
} server;

static void
fault_fn(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	unsigned i;

	if (c->prog != NFSSIM_NFS)
		return;
	if (server.fn)
		server.fn(arg, c, v);
	if (c->proc != NFSPROC3_WRITE)
		return;
	if (server.seen_nr < 512)
		server.seen_usec[server.seen_nr++] = loop_now(r->loop);
	for (i = 0; i < server.xid_nr && server.xid[i] != c->xid; i++)
		;
	if (i == server.xid_nr && i < 256)
		server.xid[server.xid_nr++] = c->xid;
}

static void
start(const struct rig_options *opt)
{
	size_t i;

	r = rig_new(opt);
	for (i = 0; i < sizeof bytes; i++) {
		bytes[i] = (unsigned char)((i * 2654435761u) >> 13);
		other[i] = (unsigned char)~bytes[i];
	}
	memset(&server, 0, sizeof server);
	nfssim_set_fault(r->sim, fault_fn, NULL);
}

static void
stop(void)
{
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->overlapping_writes, 0);
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	CU_ASSERT(r->most_dirtied <= r->opt.dirty_bytes);
	rig_free(r);
}

static void
server_does(nfssim_fault_fn *fn, struct nfssim_verdict verdict)
{
	server.fn = fn;
	server.verdict = verdict;
	server.nr = 0;
}

#define VERDICT(...) ((struct nfssim_verdict){ __VA_ARGS__ })

static void
to_writes(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->proc != NFSPROC3_WRITE || c->offset < server.offset)
		return;
	server.nr++;
	*v = server.verdict;
}

static void
to_first_write(void *arg, const struct nfssim_call *c,
	       struct nfssim_verdict *v)
{
	if (!server.nr)
		to_writes(arg, c, v);
}

static void
to_commits(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->proc != NFSPROC3_COMMIT)
		return;
	server.nr++;
	*v = server.verdict;
}

static void
to_first_commit(void *arg, const struct nfssim_call *c,
		struct nfssim_verdict *v)
{
	if (!server.nr)
		to_commits(arg, c, v);
}

static uint64_t
calls(unsigned proc)
{
	return nfssim_stats(r->sim)->calls[proc];
}

/* ---- verifier, COMMIT, durability ---- */

static void
of_two_minds(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	v->verifier = c->proc == NFSPROC3_WRITE ? 11 : 22;
}

/* dCache/dcache#5529, #1150 */
static void
verifiers_of_write_and_commit_that_differ_cost_four_copies_at_most(void)
{
	struct wb_handle *h;
	uint64_t before;

	start(NULL);
	log_begin();
	server_does(of_two_minds, VERDICT(0));
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT(nfssim_stats(r->sim)->written_bytes <= 4 * MIB);
	before = nfssim_stats(r->sim)->written_bytes;
	rig_write(r, h, MIB, bytes + MIB, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 2 * MIB));
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->written_bytes - before, MIB);
	CU_ASSERT_EQUAL(log_end("never agree"), 1);
	stop();
}

/* chimera-nas/chimera#1047 */
static void
commit_that_hid_a_failed_flush_is_found_out_by_the_next_that_fails(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	server_does(to_commits, VERDICT(.lie = true));
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);	/* so it said */
	server_does(to_commits, VERDICT(.status = NFS3ERR_IO));
	rig_write(r, h, MIB, bytes + MIB, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -EIO);
	CU_ASSERT_EQUAL(rig_close(r, h), -EIO);
	stop();
}

static void
server_grants_less(enum wb_stable asked)
{
	struct rig_options opt = { .stable = asked };
	struct wb_handle *h;

	start(&opt);
	log_begin();
	h = rig_open(r, "f");
	server_does(to_writes, VERDICT(.set_committed = true,
				       .committed = UNSTABLE));
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(calls(NFSPROC3_COMMIT) > 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	rig_write(r, h, 0, other, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, MIB));
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->unstable_writes, 0);
	(void)log_end("");
	stop();
}

/* chimera-nas/chimera#1047 */
static void
stable_mount_commits_what_the_server_granted_less(void)
{
	server_grants_less(WB_FILE_SYNC);
	server_grants_less(WB_DATA_SYNC);
}

/* sahlberg/fuse-nfs fuse/fuse-nfs.c, chimera-nas/chimera
   src/vfs/nfs/nfs3_close.c: the result of COMMIT was dropped */
static void
failed_commit_fails_the_close_of_each_handle_once(void)
{
	struct wb_handle *h, *g;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "f");
	server_does(to_first_commit, VERDICT(.status = NFS3ERR_IO));
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), -EIO);
	CU_ASSERT_EQUAL(server.nr, 1);
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	CU_ASSERT_EQUAL(rig_close(r, g), -EIO);
	/* it tried again, and so lost nothing */
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	g = rig_open(r, "f");
	CU_ASSERT_EQUAL(rig_close(r, g), 0);
	stop();
}

/* cooperative-computing-lab/cctools#2784, #2786 */
static void
close_ends_after_the_commit_and_not_before(void)
{
	struct wb_handle *h;
	uint64_t began;

	start(NULL);
	h = rig_open(r, "f");
	server_does(to_commits, VERDICT(.delay_usec = 7 * RIG_SECOND));
	rig_write(r, h, 0, bytes, MIB);
	began = loop_now(r->loop);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(loop_now(r->loop) - began >= 7 * RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	stop();
}

/* ---- errors late, lost or wrong ---- */

/* sahlberg/libnfs#493: it hung for ever; Azure/AZNFS-mount
   turbonfs/src/rpc_task.cpp: the first error poisoned the file */
static void
full_disk_is_told_at_each_attempt_and_forgotten_when_there_is_room(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	nfssim_set_full(r->sim, 2 * BLOCK);	/* the third WRITE finds none */
	rig_write(r, h, 0, bytes, 5 * BLOCK);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	nfssim_set_full(r->sim, UINT64_MAX);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 5 * BLOCK));
	rig_write(r, h, 5 * BLOCK, bytes + 5 * BLOCK, BLOCK);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 6 * BLOCK));
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	nfssim_set_full(r->sim, 6 * BLOCK);
	h = rig_open(r, "g");
	rig_write(r, h, 0, bytes, 5 * BLOCK);
	CU_ASSERT_EQUAL(rig_close(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(r->given_up_bytes, 5 * BLOCK);
	stop();
}

/* leil-io/leilfs#233, #259: the copy ended "successfully", cut short */
static void
lack_of_space_that_commit_hides_is_told_to_each_handle_and_attempt(void)
{
	struct wb_handle *h, *g;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "f");
	server.offset = 2 * BLOCK;
	server_does(to_writes, VERDICT(.status = NFS3ERR_NOSPC));
	rig_write(r, h, 0, bytes, 5 * BLOCK);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ENOSPC);
	CU_ASSERT(calls(NFSPROC3_COMMIT) > 0);	/* that was fine */
	CU_ASSERT_EQUAL(rig_fsync(r, g), -ENOSPC);
	CU_ASSERT_EQUAL(rig_close(r, g), -ENOSPC);
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	CU_ASSERT_EQUAL(rig_close(r, h), -ENOSPC);
	CU_ASSERT_EQUAL(r->given_up_bytes, 3 * BLOCK);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 2 * BLOCK));
	stop();
}

/* llvm/llvm-project#56501, rust-lang/rust#98338 */
static void
program_that_only_closes_gets_its_quota_told_or_is_found_out(void)
{
	struct wb_handle *h;

	start(NULL);
	h = rig_open(r, "f");
	server.offset = 4 * BLOCK;
	server_does(to_writes, VERDICT(.status = NFS3ERR_DQUOT));
	rig_write(r, h, 0, bytes, 5 * BLOCK);
	CU_ASSERT_EQUAL(rig_close(r, h), -EDQUOT);
	CU_ASSERT_EQUAL(r->given_up_bytes, BLOCK);
	/* the next looks at nothing */
	h = rig_open(r, "g");
	rig_write(r, h, 0, bytes, 5 * BLOCK);
	handle_close(h, loop_now(r->loop), NULL, NULL);
	rig_pass(r, RIG_SECOND);
	CU_ASSERT_EQUAL(r->given_up_bytes, 2 * BLOCK);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 0);
	stop();
}

/* sahlberg/libnfs#160, #614 */
static void
stale_handle_is_told_as_such_and_its_data_kept_and_named(void)
{
	struct wb_handle *h;

	start(NULL);
	log_begin();
	h = rig_open(r, "the-file");
	server_does(to_writes, VERDICT(.status = NFS3ERR_STALE));
	rig_write(r, h, 0, bytes, 3 * BLOCK);
	CU_ASSERT_EQUAL(rig_fsync(r, h), -ESTALE);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 3 * BLOCK);
	CU_ASSERT_EQUAL(file_left_bytes(handle_file(h)), 3 * BLOCK);
	CU_ASSERT_EQUAL(rig_close(r, h), -ESTALE);
	CU_ASSERT_EQUAL(r->given_up_bytes, 3 * BLOCK);
	CU_ASSERT(log_end("the-file") > 0);
	stop();
}

/* kernel errseq (v4.17): whoever closed first took the error along */
static void
background_error_is_told_to_all_who_were_open_and_to_who_opened_before_it_was_seen(void)
{
	struct wb_handle *h, *g, *later;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "f");
	rig_write(r, h, 0, bytes, BLOCK);
	rig_write(r, g, BLOCK, bytes + BLOCK, BLOCK);
	server_does(to_first_write, VERDICT(.status = NFS3ERR_IO));
	rig_pass(r, 60 * RIG_SECOND);		/* nobody waits */
	CU_ASSERT_EQUAL(server.nr, 1);
	later = rig_open(r, "f");
	CU_ASSERT_EQUAL(rig_close(r, h), -EIO);
	CU_ASSERT_EQUAL(rig_fsync(r, g), -EIO);
	CU_ASSERT_EQUAL(rig_fsync(r, later), -EIO);
	CU_ASSERT_EQUAL(rig_fsync(r, g), 0);
	CU_ASSERT_EQUAL(rig_fsync(r, later), 0);
	h = rig_open(r, "f");			/* it was seen */
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT_EQUAL(rig_close(r, g), 0);
	CU_ASSERT_EQUAL(rig_close(r, later), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 2 * BLOCK));
	stop();
}

/* Every tenth WRITE is dropped when it first comes. */
static void
every_tenth_is_dropped(void *arg, const struct nfssim_call *c,
		       struct nfssim_verdict *v)
{
	unsigned i;

	(void)arg;
	if (c->proc != NFSPROC3_WRITE)
		return;
	for (i = 0; i < server.xid_nr; i++)
		if (server.xid[i] == c->xid)
			return;
	v->lose_call = server.nr++ % 10 == 9;
}

/* nfs-ganesha/nfs-ganesha#1278, #1223 */
static void
write_dropped_in_silence_goes_again_under_its_xid_and_holds_up_no_other(void)
{
	struct wb_handle *h, *g;
	struct rig_wait w;
	unsigned i;

	start(NULL);
	h = rig_open(r, "f");
	g = rig_open(r, "g");
	server_does(every_tenth_is_dropped, VERDICT(0));
	rig_write(r, h, 0, bytes, 40 * BLOCK);
	rig_fsync_start(r, h, &w);
	rig_pass(r, RIG_SECOND);
	CU_ASSERT_EQUAL(rig_stats(r)->writeback_bytes, 4 * BLOCK);
	for (i = 0; i < 9; i++) {	/* the connection is not silent */
		server_does(NULL, VERDICT(0));
		rig_write(r, g, i * 1000, bytes, 1000);
		CU_ASSERT_EQUAL(rig_fsync(r, g), 0);
		rig_pass(r, 9 * RIG_SECOND);
	}
	CU_ASSERT(w.done && w.err == 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 40 + 4 + 9);
	CU_ASSERT_EQUAL(server.xid_nr, 40 + 9);
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->connections, 1);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 40 * BLOCK));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT_EQUAL(rig_close(r, g), 0);
	stop();
}

/* ---- retry, reconnect, duplicates ---- */

/* sahlberg/libnfs#76 */
static void
connection_that_idled_away_is_made_again_by_the_next_call(void)
{
	struct wb_handle *h;
	uint64_t began;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, BLOCK);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	rig_pass(r, 800 * RIG_SECOND);
	nfssim_cut(r->sim);
	rig_pass(r, 800 * RIG_SECOND);
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->connections, 1);
	rig_write(r, h, 0, other, BLOCK);
	began = loop_now(r->loop);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(loop_now(r->loop) - began < RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, BLOCK));
	stop();
}

/* Nothing reaches anybody over the first connection any more. */
static void
first_connection_is_dead(void *arg, const struct nfssim_call *c,
			 struct nfssim_verdict *v)
{
	(void)arg;
	(void)c;
	v->lose_call = nfssim_stats(r->sim)->connections == 1;
}

/* sahlberg/libnfs#458 */
static void
server_that_vanished_without_a_word_is_left_after_timeo(void)
{
	struct wb_handle *h;
	uint64_t began;

	start(NULL);
	h = rig_open(r, "f");
	rig_write(r, h, 0, bytes, MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	server_does(first_connection_is_dead, VERDICT(0));
	rig_write(r, h, 0, other, MIB);
	began = loop_now(r->loop);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	/* timeo is 60 s */
	CU_ASSERT(loop_now(r->loop) - began >= 60 * RIG_SECOND);
	CU_ASSERT(loop_now(r->loop) - began < 125 * RIG_SECOND);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, other, MIB));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* nfs-ganesha/nfs-ganesha#583: the first copy's answer went to a dead
   connection, and the cache dropped all further copies */
static void
server_that_drops_what_it_has_seen_gets_a_fresh_xid(void)
{
	struct rig_options opt = { .timeo_ds = 10 };	/* major: 2 s */
	struct wb_handle *h;
	uint64_t began;

	start(&opt);
	nfssim_set_drc(r->sim, NFSSIM_DRC_CUT);
	h = rig_open(r, "f");
	server_does(to_first_write, VERDICT(.cut = true));
	rig_write(r, h, 0, bytes, 5000);
	began = loop_now(r->loop);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(loop_now(r->loop) - began < 10 * RIG_SECOND);
	CU_ASSERT_EQUAL(server.xid_nr, 2);
	CU_ASSERT(nfssim_stats(r->sim)->drc_drops > 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 5000));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

static unsigned answered_nr;

static void
answered(struct wb_call *call, uint64_t now)
{
	(void)now;
	CU_ASSERT_EQUAL(call->err, 0);
	answered_nr++;
}

/* chimera-nas/chimera#1548: the cache knew the calls by their xid alone, and
   each run began with the same */
static void
second_run_is_not_answered_out_of_the_cache_of_the_first(void)
{
	struct rpc_params p = {
		.name = "again", .prog = NFSSIM_NFS, .vers = 3, .slot_nr = 8,
		.timeo_ds = 600, .retrans = 2, .connect_hook = nfssim_connect,
	};	/* no seed: as the daemon starts */
	struct iovec iov = { other, 8 * BLOCK };
	struct transport *t;
	struct rpc_client *c;
	unsigned run;
	struct fh fh;

	start(NULL);
	nfssim_set_drc(r->sim, NFSSIM_DRC_BLIND);
	CU_ASSERT_EQUAL(nfssim_create(r->sim, "f", &fh), 0);
	p.connect_arg = r->sim;
	for (run = 0; run < 4; run++) {
		struct wb_call call = {
			.kind = WB_CALL_WRITE, .class = WB_FOREGROUND,
			.fh = &fh, .cred = r->cred, .offset = run * BLOCK,
			.count = 8 * BLOCK, .iov = &iov, .iov_nr = 1,
			.done = answered,
		};

		c = rpc_client_new(r->loop, &p);
		CU_ASSERT_FATAL(c != NULL);
		t = transport_new(r->loop, c);
		answered_nr = 0;
		CU_ASSERT_EQUAL(transport_calls.queue(t, &call), 0);
		rig_pass(r, RIG_SECOND);
		CU_ASSERT_EQUAL(answered_nr, 1);
		CU_ASSERT_EQUAL(call.written, 8 * BLOCK);
		rpc_client_free(c);
		transport_free(t);
	}
	CU_ASSERT_EQUAL(server.xid_nr, 4);
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->drc_hits, 0);
	CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_VOLATILE), 11 * BLOCK);
	stop();
}

static void
busy_until(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	(void)c;
	if (loop_now(r->loop) >= server.until_usec)
		return;
	server.nr++;
	v->status = NFS3ERR_JUKEBOX;
}

/* The most WRITEs that came within so long. */
static unsigned
most_within(uint64_t usec)
{
	unsigned i, from = 0, most = 0;

	for (i = 0; i < server.seen_nr; i++) {
		while (server.seen_usec[i] - server.seen_usec[from] > usec)
			from++;
		if (i - from + 1 > most)
			most = i - from + 1;
	}
	return most;
}

/* sahlberg/libnfs#164, #609 */
static void
busy_server_is_not_seen_counted_and_not_stormed_when_it_is_back(void)
{
	struct rig_options opt = { .slab_bytes = 64 * MIB,
				   .dirty_bytes = 40 * MIB };
	struct wb_handle *h[50];
	struct rig_wait w[50];
	char path[8];
	int i;

	start(&opt);
	server.until_usec = loop_now(r->loop) + 10 * RIG_SECOND;
	server_does(busy_until, VERDICT(0));
	for (i = 0; i < 50; i++) {
		snprintf(path, sizeof path, "f%d", i);
		h[i] = rig_open(r, path);
		rig_write(r, h[i], 0, bytes + i, 3 * BLOCK);
		rig_fsync_start(r, h[i], &w[i]);
	}
	rig_pass(r, 9 * RIG_SECOND);
	CU_ASSERT_EQUAL(rig_stats(r)->delays, server.nr);
	/* not more and more, and not all at once */
	CU_ASSERT(server.nr < 50 * 20);
	rig_pass(r, 999000);
	server.seen_nr = 0;
	for (i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(rig_finish(r, &w[i]), 0);
		snprintf(path, sizeof path, "f%d", i);
		CU_ASSERT(rig_is(r, path, NFSSIM_STABLE, bytes + i,
				 3 * BLOCK));
		CU_ASSERT_EQUAL(rig_close(r, h[i]), 0);
	}
	CU_ASSERT(loop_now(r->loop) < server.until_usec + 10 * RIG_SECOND);
	CU_ASSERT(most_within(10000) < 30);
	stop();
}

static void
busy_for_one(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (fh_equal(&c->fh, &server.fh))
		v->status = NFS3ERR_JUKEBOX;
}

static uint64_t
time_of_4_mib(const char *path)
{
	struct wb_handle *h = rig_open(r, path);
	uint64_t began = loop_now(r->loop);

	rig_write(r, h, 0, bytes, 4 * MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, path, NFSSIM_STABLE, bytes, 4 * MIB));
	return loop_now(r->loop) - began;
}

/* orbstack/orbstack#2689, Azure/AZNFS-mount turbonfs/src/nfs_client.cpp */
static void
file_the_server_is_busy_with_leaves_the_others_at_full_speed(void)
{
	struct rig_options opt = { .delay_usec = 5000 };
	struct wb_handle *h;
	struct rig_wait w;
	uint64_t alone;

	start(&opt);
	alone = time_of_4_mib("alone");
	h = rig_open(r, "busy");
	server.fh = *file_fh(handle_file(h));
	server_does(busy_for_one, VERDICT(0));
	rig_write(r, h, 0, bytes, MIB);
	rig_fsync_start(r, h, &w);
	rig_pass(r, 10 * RIG_SECOND);
	CU_ASSERT(time_of_4_mib("beside") <= alone + alone / 10 + 1000);
	CU_ASSERT(!w.done);
	server_does(NULL, VERDICT(0));
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "busy", NFSSIM_STABLE, bytes, MIB));
	stop();
}

/* ---- limits, sizes, offsets ---- */

/* winnfsd/winnfsd#22, rfjakob/gocryptfs#712 */
static void
million_small_writes_are_joined_to_whole_ones(void)
{
	struct rig_options opt = { .dirty_bytes = 16 * MIB,
				   .slab_bytes = 32 * MIB };
	uint64_t at, size = 100000000;
	const struct server_stats *s;
	struct wb_handle *h;

	start(&opt);
	h = rig_open(r, "f");
	for (at = 0; at < size; at += 100)
		rig_write(r, h, at, bytes + at % 4000000, 100);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	s = rig_stats(r);
	CU_ASSERT(s->nfs_write_size >= BLOCK / 10 * 9);
	CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_STABLE),
			(int64_t)size);
	for (at = 0; at < size; at += 4000000) {
		CU_ASSERT_EQUAL(nfssim_read(r->sim, "f", NFSSIM_STABLE, at,
					    other, 4000000), 4000000);
		CU_ASSERT(!memcmp(other, bytes, 4000000));
	}
	stop();
}

/* sahlberg/libnfs#530 */
static void
write_of_more_than_wtmax_is_split_and_whole(void)
{
	struct rig_options opt = { .wsize = MIB };
	struct wb_handle *h;
	int i;

	start(NULL);
	h = rig_open(r, "f");
	for (i = 0; i < 2; i++)
		rig_write(r, h, i * 4 * MIB, i ? other : bytes, 4 * MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_STABLE), 8 * MIB);
	CU_ASSERT_EQUAL(calls(NFSPROC3_WRITE), 8 * MIB / BLOCK);
	stop();
	/* one that takes less than it said */
	start(&opt);
	h = rig_open(r, "f");
	server_does(to_writes, VERDICT(.short_count = BLOCK));
	rig_write(r, h, 0, bytes, 4 * MIB);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 4 * MIB));
	stop();
}

/* sahlberg/libnfs#106 */
static void
offsets_and_sizes_of_64_bits_reach_the_server_exact(void)
{
	static const uint64_t at[] = {
		(1ull << 31) - 1, 1ull << 31, (1ull << 32) - 1, 1ull << 32,
		(1ull << 32) + 1, 10ull << 30, 1ull << 40, INT64_MAX - 1,
	};
	struct wb_handle *h;
	unsigned char c;
	size_t i;

	start(NULL);
	h = rig_open(r, "f");
	for (i = 0; i < sizeof at / sizeof *at; i++) {
		rig_write(r, h, at[i], bytes + i, 1);
		CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
		CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_STABLE),
				(int64_t)at[i] + 1);
		CU_ASSERT_EQUAL(nfssim_read(r->sim, "f", NFSSIM_STABLE, at[i],
					    &c, 1), 1);
		CU_ASSERT_EQUAL(c, bytes[i]);
	}
	for (i = 0; i < sizeof at / sizeof *at; i++) {
		CU_ASSERT_EQUAL(rig_truncate(r, h, at[i]), 0);
		CU_ASSERT_EQUAL(nfssim_size(r->sim, "f", NFSSIM_STABLE),
				(int64_t)at[i]);
		CU_ASSERT_EQUAL(file_size(handle_file(h)), at[i]);
	}
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* kha7iq/ncp#15: twice as long, the first half zeros */
static void
files_of_any_length_around_wsize_are_exact(void)
{
	static const size_t len[] = { 0, 1, BLOCK - 1, BLOCK, BLOCK + 1,
				      3 * BLOCK - 1, 3 * BLOCK + 1 };
	struct wb_handle *h;
	char path[8];
	size_t i;

	start(NULL);
	for (i = 0; i < sizeof len / sizeof *len; i++) {
		snprintf(path, sizeof path, "f%zu", i);
		h = rig_open(r, path);
		rig_write(r, h, 0, bytes, len[i]);
		CU_ASSERT_EQUAL(rig_close(r, h), 0);
		CU_ASSERT(rig_is(r, path, NFSSIM_STABLE, bytes, len[i]));
	}
	stop();
}

/* ---- ordering ---- */

/* nfs-ganesha/nfs-ganesha#1305 */
static void
overlapping_writes_land_in_their_order_whatever_the_server_delays(void)
{
	static unsigned char want[3 * BLOCK];
	struct wb_handle *h;
	struct rig_wait w;
	uint64_t size;
	unsigned i;

	start(NULL);
	h = rig_open(r, "f");
	/* each WRITE lies with the server for a while before it is done */
	for (i = 0; i < 40; i++) {
		uint64_t off = i * 7919 % (2 * BLOCK);

		server_does(to_writes, VERDICT(.hold_usec =
					       (40 - i) * 1000));
		memcpy(want + off, i % 2 ? other + i : bytes + i, BLOCK);
		rig_write(r, h, off, i % 2 ? other + i : bytes + i, BLOCK);
		rig_fsync_start(r, h, &w);
		rig_pass(r, 3000);
		handle_abandon(handle_file(h), &w);
		if (i % 8 == 7)
			rig_pass(r, 100000);
	}
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	size = (uint64_t)nfssim_size(r->sim, "f", NFSSIM_STABLE);
	CU_ASSERT(size > 2 * BLOCK && size < sizeof want);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, want, size));
	stop();
}

static uint64_t state;

static uint64_t
any(uint64_t below)
{
	return random_next(&state, below);
}

/* What a file is, in plain memory. */
static unsigned char plain[6 * BLOCK];
static uint64_t plain_size;

static void
plain_write(struct wb_handle *h)
{
	uint64_t offset = any(4 * BLOCK), len = 1 + any(BLOCK);
	const unsigned char *from = (any(2) ? bytes : other) + any(MIB);

	memcpy(plain + offset, from, len);
	if (offset + len > plain_size)
		plain_size = offset + len;
	rig_write(r, h, offset, from, len);
}

static void
plain_truncate(struct wb_handle *h, struct rig_wait *w, uint64_t size)
{
	rig_truncate_start(r, h, size, w);
	if (size < plain_size)
		memset(plain + size, 0, plain_size - size);
	plain_size = size;
}

static void
random_truncates(uint64_t seed)
{
	struct rig_options opt = { .delay_usec = 20000, .seed = seed };
	static struct rig_wait w[200];
	struct wb_handle *h;
	unsigned i;

	start(&opt);
	state = seed;
	plain_size = 0;
	memset(plain, 0, sizeof plain);
	h = rig_open(r, "f");
	for (i = 0; i < 200; i++) {
		w[i] = (struct rig_wait){ .done = true };
		switch (any(6)) {
		case 0:
			plain_truncate(h, &w[i], any(plain_size + 1));
			break;
		case 1:
			plain_truncate(h, &w[i],
				       plain_size + any(sizeof plain -
							plain_size));
			break;
		case 2:
			rig_fsync_start(r, h, &w[i]);
			break;
		default:
			plain_write(h);
		}
		if (any(2))
			rig_pass(r, any(60000));
	}
	for (i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(rig_finish(r, &w[i]), 0);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT_EQUAL(file_size(handle_file(h)), plain_size);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, plain, plain_size));
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	stop();
}

/* Azure/AZNFS-mount#284: wrong sizes, asserts */
static void
writes_and_truncates_that_overtake_nothing_end_as_in_plain_memory(void)
{
	const char *given = getenv("SIM_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) :
			(uint64_t)getpid() * 7919u, i;

	printf("# SIM_SEED=%llu\n", (unsigned long long)seed);
	for (i = 0; i < 30; i++)
		random_truncates(seed + i);
}

/* ---- garbage ---- */

static unsigned garbage_proc;

static void
garbage_once(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->proc != garbage_proc || server.nr++)
		return;
	*v = server.verdict;
}

static void
answer_with_garbage(unsigned proc, enum nfssim_garbage g)
{
	struct rig_options opt = { .timeo_ds = 10 };
	struct wb_handle *h;
	int err;

	start(&opt);
	h = rig_open(r, "f");
	garbage_proc = proc;
	server_does(garbage_once, VERDICT(.garbage = g));
	rig_write(r, h, 0, bytes, MIB);
	err = rig_fsync(r, h);
	CU_ASSERT(err == 0 || err == -EIO || err == -EACCES);
	if (err)
		CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, MIB));
	err = rig_truncate(r, h, 100000);
	CU_ASSERT(err == 0 || err == -EIO || err == -EACCES);
	CU_ASSERT_EQUAL(rig_truncate(r, h, 100000), 0);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, bytes, 100000));
	CU_ASSERT(server.nr > 0);
	stop();
}

/* sahlberg/libnfs README.security-scan, F-1 to F-4 */
static void
data_calls_answered_with_garbage_lose_nothing(void)
{
	static const unsigned proc[] = { NFSPROC3_WRITE, NFSPROC3_COMMIT,
					 NFSPROC3_SETATTR };
	unsigned i;
	int g;

	for (i = 0; i < 3; i++)
		for (g = NFSSIM_SANE + 1; g < NFSSIM_GARBAGE_NR; g++)
			answer_with_garbage(proc[i], (enum nfssim_garbage)g);
}

/* s3fs-fuse/s3fs-fuse#1747, rclone/rclone#7128 */
static void
memory_that_is_full_makes_the_writer_wait_and_fails_nothing(void)
{
	static const struct rig_options opts[] = {
		{ .slab_bytes = 4 * BLOCK, .dirty_bytes = 8 * MIB },
		{ .slab_bytes = 4 * MIB, .dirty_bytes = BLOCK },
		{ .slab_bytes = 4 * MIB, .dirty_bytes = MIB },
	};
	struct wb_handle *h;
	unsigned i, k;

	for (i = 0; i < sizeof opts / sizeof *opts; i++) {
		start(&opts[i]);
		h = rig_open(r, "f");
		for (k = 0; k < 20; k++)
			rig_write(r, h, k * sizeof bytes, bytes, sizeof bytes);
		CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
		CU_ASSERT_EQUAL(rig_close(r, h), 0);
		CU_ASSERT_EQUAL(r->given_up_bytes, 0);
		stop();
	}
}

UNIT_TESTS(sim_reported,
	UNIT(verifiers_of_write_and_commit_that_differ_cost_four_copies_at_most),
	UNIT(commit_that_hid_a_failed_flush_is_found_out_by_the_next_that_fails),
	UNIT(stable_mount_commits_what_the_server_granted_less),
	UNIT(failed_commit_fails_the_close_of_each_handle_once),
	UNIT(close_ends_after_the_commit_and_not_before),
	UNIT(full_disk_is_told_at_each_attempt_and_forgotten_when_there_is_room),
	UNIT(lack_of_space_that_commit_hides_is_told_to_each_handle_and_attempt),
	UNIT(program_that_only_closes_gets_its_quota_told_or_is_found_out),
	UNIT(stale_handle_is_told_as_such_and_its_data_kept_and_named),
	UNIT(background_error_is_told_to_all_who_were_open_and_to_who_opened_before_it_was_seen),
	UNIT(write_dropped_in_silence_goes_again_under_its_xid_and_holds_up_no_other),
	UNIT(connection_that_idled_away_is_made_again_by_the_next_call),
	UNIT(server_that_vanished_without_a_word_is_left_after_timeo),
	UNIT(server_that_drops_what_it_has_seen_gets_a_fresh_xid),
	UNIT(second_run_is_not_answered_out_of_the_cache_of_the_first),
	UNIT(busy_server_is_not_seen_counted_and_not_stormed_when_it_is_back),
	UNIT(file_the_server_is_busy_with_leaves_the_others_at_full_speed),
	UNIT(million_small_writes_are_joined_to_whole_ones),
	UNIT(write_of_more_than_wtmax_is_split_and_whole),
	UNIT(offsets_and_sizes_of_64_bits_reach_the_server_exact),
	UNIT(files_of_any_length_around_wsize_are_exact),
	UNIT(overlapping_writes_land_in_their_order_whatever_the_server_delays),
	UNIT(writes_and_truncates_that_overtake_nothing_end_as_in_plain_memory),
	UNIT(data_calls_answered_with_garbage_lose_nothing),
	UNIT(memory_that_is_full_makes_the_writer_wait_and_fails_nothing),
)
