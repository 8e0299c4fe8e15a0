/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_fault_test.c - what nfssim does to its clients when a script says so */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/mount3_prot.h"
#include "tests/nfssim_client.h"
#include "tests/nfssim_model.h"

static struct fh f;

/* A server with a file "f", and these rules. */
static void
start_with(const struct nfssim_options *opt, const char *script)
{
	const char *why;

	start(opt);
	nfssim_create(sim, "f", &f);
	why = nfssim_script(sim, script);
	if (why)
		printf("# %s\n", why);
	CU_ASSERT_PTR_NULL_FATAL(why);
}

static void
reconnect(void)
{
	close(fd);
	fd = nfssim_connect(sim);
	record_reader_reset(&reader);
}

static int
write_1(void)
{
	return do_write(&f, 0, "hello", UNSTABLE);
}

/* when */

static void
rules_choose_by_procedure_number_and_nth(void)
{
	start_with(NULL, "WRITE nth=2-3 : status=JUKEBOX\n"
			 "COMMIT|READ every=2 : status=IO # a comment\n"
			 "call=8 : status=ACCES");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3ERR_IO);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(nfssim_stats(sim)->faults, 4);
	stop();
}

static void
rules_choose_by_file_name_and_path(void)
{
	struct fh g, d, root;

	start_with(NULL, "WRITE file=big* : status=NOSPC; "
			 "WRITE file=d/* : status=IO; "
			 "LOOKUP file=d/x : status=NAMETOOLONG");
	nfssim_lookup(sim, "", &root);
	nfssim_mkdir(sim, "d", &d);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	nfssim_create(sim, "big1", &g);
	CU_ASSERT_EQUAL(do_write(&g, 0, "x", UNSTABLE), NFS3ERR_NOSPC);
	nfssim_create(sim, "d/g", &g);
	CU_ASSERT_EQUAL(do_write(&g, 0, "x", UNSTABLE), NFS3ERR_IO);
	CU_ASSERT_EQUAL(do_lookup(&d, "x", &g), NFS3ERR_NAMETOOLONG);
	CU_ASSERT_EQUAL(do_rename(&root, "f", &root, "big2"), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_NOSPC);
	stop();
}

static void
rules_choose_by_bytes_stability_and_uid(void)
{
	start_with(NULL, "WRITE offset=100-199 : status=IO\n"
			 "WRITE reach=1k : status=FBIG\n"
			 "WRITE stable=filesync|datasync : status=ROFS\n"
			 "WRITE size=7 : status=INVAL\n"
			 "WRITE uid=1001 : status=PERM");
	CU_ASSERT_EQUAL(do_write(&f, 99, "x", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, 199, "x", UNSTABLE), NFS3ERR_IO);
	CU_ASSERT_EQUAL(do_write(&f, 200, "x", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, 1023, "x", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, 1023, "xy", UNSTABLE), NFS3ERR_FBIG);
	CU_ASSERT_EQUAL(do_write(&f, 0, "x", DATA_SYNC), NFS3ERR_ROFS);
	CU_ASSERT_EQUAL(do_write(&f, 0, "1234567", UNSTABLE), NFS3ERR_INVAL);
	cred_put(cred);
	cred = cred_get(1001, 100, NULL, 0);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_PERM);
	stop();
}

static void
rules_choose_by_time_total_and_copies(void)
{
	start_with(NULL, "WRITE time=2s-3s : status=JUKEBOX\n"
			 "WRITE total=12 : status=NOSPC\n"
			 "COMMIT copy : status=IO");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	vloop_pass(l, 2500000);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_JUKEBOX);
	vloop_pass(l, 1000000);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	xid--;
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3ERR_IO);
	stop();
}

static uint64_t
chance_run(uint64_t seed, unsigned *hits)
{
	struct nfssim_options opt = { .seed = seed };
	uint64_t bits = 0;
	unsigned i;

	start_with(&opt, "WRITE chance=30% : status=IO");
	for (*hits = i = 0; i < 60; i++) {
		bits = bits << 1 | (write_1() == NFS3ERR_IO);
		*hits += bits & 1;
	}
	stop();
	return bits;
}

static void
chance_is_the_seeds(void)
{
	unsigned a, b, c;
	uint64_t first = chance_run(5, &a);

	CU_ASSERT_EQUAL(first, chance_run(5, &b));
	CU_ASSERT_NOT_EQUAL(first, chance_run(6, &c));
	CU_ASSERT(a > 6 && a < 32);
}

static void
wrong_scripts_are_refused_whole_and_say_where(void)
{
	static const char *const wrong[] = {
		"WRITE : staus=IO", "WRIT : lie", "WRITE : status=NOSUCH",
		"WRITE nth=3-1 : lie", "WRITE every=0 : lie", "WRITE",
		"at=1s : lie", "set lie", "WRITE : short=0", ": garbage=odd",
		"WRITE chance=200% : lie", "WRITE : quota=5", ": fsinfo=x:1",
	};
	unsigned i;

	start_with(NULL, "");
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		printf("# %s\n", nfssim_script(sim, wrong[i]));
		CU_ASSERT_PTR_NOT_NULL(nfssim_script(sim, wrong[i]));
	}
	CU_ASSERT_STRING_EQUAL(nfssim_script(sim, ": status=IO\n\n: x"),
			       "line 3: 'x' is not understood");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	nfssim_script(sim, ": status=10071");
	CU_ASSERT_EQUAL(write_1(), 10071);
	nfssim_script_clear(sim);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	stop();
}

/* what: WRITE and COMMIT */

#define WROTE wrote.WRITE3res_u.resok
#define COMMITTED committed.COMMIT3res_u.resok

static void
write_may_be_short_or_nothing_or_a_lie(void)
{
	start_with(NULL, "WRITE nth=1 : short=2; WRITE nth=2 : count-0; "
			 "WRITE nth=3 : lie");
	write_1();
	CU_ASSERT_EQUAL(WROTE.count, 2);
	write_1();
	CU_ASSERT_EQUAL(wrote.status, NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 0);
	write_1();
	CU_ASSERT_EQUAL(WROTE.count, 5);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "he");
	stop();
}

static void
more_or_less_stability_than_asked_for_is_granted_and_kept(void)
{
	start_with(NULL, "WRITE nth=1 : sync; "
			 "WRITE nth=2 : committed=unstable");
	do_write(&f, 0, "a", UNSTABLE);
	CU_ASSERT_EQUAL(WROTE.committed, FILE_SYNC);
	do_write(&f, 1, "b", FILE_SYNC);
	CU_ASSERT_EQUAL(WROTE.committed, UNSTABLE);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "a");
	stop();
}

static void
verifiers_change_or_never_agree(void)
{
	char before[8];

	start_with(NULL, "WRITE|COMMIT nth=3- : own-verifier; "
			 "COMMIT nth=1 : verifier; COMMIT nth=1 : lie");
	write_1();
	memcpy(before, WROTE.verf, 8);
	do_commit(&f, 0, 0);
	CU_ASSERT(memcmp(before, COMMITTED.verf, 8));
	/* forgot nothing, and did not commit either */
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "");
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	write_1();
	memcpy(before, WROTE.verf, 8);
	do_commit(&f, 0, 0);
	CU_ASSERT(memcmp(before, COMMITTED.verf, 8));
	memcpy(before, COMMITTED.verf, 8);
	do_commit(&f, 0, 0);
	CU_ASSERT(memcmp(before, COMMITTED.verf, 8));
	stop();
}

static void
restarts_before_between_and_after(void)
{
	char verf[8];

	start_with(NULL, "COMMIT nth=1 : restart; COMMIT nth=2 : restart-done; "
			 "COMMIT nth=3 : restart-replied=same");
	write_1();
	memcpy(verf, WROTE.verf, 8);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), -1);	/* never came */
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	reconnect();
	write_1();
	CU_ASSERT(memcmp(verf, WROTE.verf, 8));
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), -1);	/* not answered */
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	reconnect();
	do_write(&f, 0, "HELLO world", UNSTABLE);
	memcpy(verf, WROTE.verf, 8);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 5), NFS3_OK);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "HELLO");
	reconnect();
	write_1();
	CU_ASSERT(!memcmp(verf, WROTE.verf, 8));
	CU_ASSERT_EQUAL(nfssim_stats(sim)->restarts, 3);
	stop();
}

/* what: delivery */

static void
replies_overtake_each_other(void)
{
	GETATTR3args a;

	start_with(NULL, "GETATTR nth=1 : reorder=2");
	a.object = handle(&f);
	send_call(NFSSIM_NFS, NFSPROC3_GETATTR,
		  (rpc_xdr_fn *)xdr_GETATTR3args, &a);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 10));
	CU_ASSERT_EQUAL(got_xid, xid - 2);
	stop();
}

static void
replies_come_twice_late_or_never(void)
{
	uint64_t before;

	start_with(NULL, "WRITE nth=1 : copies=2; WRITE nth=2 : delay=3ms; "
			 "WRITE nth=3 : lose-reply; WRITE nth=4 : lose-call");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 10));
	CU_ASSERT_EQUAL(got_xid, xid);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 10));
	CU_ASSERT(!vloop_run_until(l, reply_came, NULL, 10));
	before = loop_now(l);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(loop_now(l) - before, 3000);
	CU_ASSERT_EQUAL(do_write(&f, 0, "third", UNSTABLE), -1);
	CU_ASSERT_EQUAL(do_write(&f, 0, "fourth", UNSTABLE), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "third");
	stop();
}

/* Bytes that come until the connection ends. */
static size_t
bytes_until_end(void)
{
	char buf[4096];
	size_t sum = 0;
	ssize_t n;

	vloop_pass(l, 1000);
	while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
		sum += (size_t)n;
	CU_ASSERT_EQUAL(n, 0);
	return sum;
}

static void
connection_is_cut_before_within_and_after_the_reply(void)
{
	GETATTR3args a;
	size_t whole, half;

	start_with(NULL, "GETATTR nth=1 : cut; GETATTR nth=2 : cut-half; "
			 "GETATTR nth=3 : cut-after");
	a.object = handle(&f);
#define SEND send_call(NFSSIM_NFS, NFSPROC3_GETATTR, \
		       (rpc_xdr_fn *)xdr_GETATTR3args, &a)
	SEND;
	CU_ASSERT_EQUAL(bytes_until_end(), 0);
	reconnect();
	SEND;
	half = bytes_until_end();
	reconnect();
	SEND;
	whole = bytes_until_end();
	CU_ASSERT(half > 0);
	CU_ASSERT_EQUAL(half, whole / 2);
	stop();
}

static void
held_call_runs_after_newer_ones(void)
{
	start_with(NULL, "WRITE nth=1 : hold=5s lose-reply");
	CU_ASSERT_EQUAL(do_write(&f, 0, "old", UNSTABLE), -1);
	stop();

	start_with(NULL, "WRITE nth=1 : hold=50s lose-reply");
	CU_ASSERT_EQUAL(do_write(&f, 0, "old", UNSTABLE), -1);
	CU_ASSERT_EQUAL(do_write(&f, 0, "new", UNSTABLE), NFS3_OK);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "new");
	vloop_pass(l, 50000000);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "old");
	stop();
}

static void
write_is_answered_before_it_is_here(void)
{
	static char data[1 << 20];

	start_with(NULL, "set early=1");
	memset(data, 'x', sizeof data - 1);
	CU_ASSERT_EQUAL(do_write(&f, 0, data, UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.committed, FILE_SYNC);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE), 0);
	CU_ASSERT_EQUAL(do_write(&f, 0, data, UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE),
			sizeof data - 1);
	stop();
}

/* what: garbage */

/* The raw reply to a READ of 5 bytes; with garbage of this kind. */
static size_t
raw_reply(enum nfssim_garbage kind, unsigned char *buf, size_t room)
{
	READ3args a;
	char rule[64];
	size_t sum = 0;
	ssize_t n;

	snprintf(rule, sizeof rule, "READ : garbage=%s",
		 nfssim_garbage_name(kind));
	start_with(NULL, kind ? rule : "");
	do_write(&f, 0, "hello", UNSTABLE);
	a = (READ3args){ handle(&f), 0, 5 };
	xid = 76;
	send_call(NFSSIM_NFS, NFSPROC3_READ, (rpc_xdr_fn *)xdr_READ3args, &a);
	vloop_pass(l, 1000);
	while ((n = recv(fd, buf + sum, room - sum, MSG_DONTWAIT)) > 0)
		sum += (size_t)n;
	stop();
	return sum;
}

static void
garbage_of_each_kind_is_what_it_is_called(void)
{
	static unsigned char sane[100000], odd[100000];
	size_t len = raw_reply(NFSSIM_SANE, sane, sizeof sane), n;
	struct record_reader rr;
	struct rpc_reply reply;
	uint32_t peek;
	size_t used;
	int ret;
	unsigned g;
	READ3res r;
	XDR x;

	CU_ASSERT_EQUAL(len, 4 + 24 + 4 + 4 + 84 + 4 + 4 + 4 + 8);
	for (g = 1; g < NFSSIM_GARBAGE_NR; g++) {
		printf("# %s\n", nfssim_garbage_name((enum nfssim_garbage)g));
		n = raw_reply((enum nfssim_garbage)g, odd, sizeof odd);
		CU_ASSERT(n > 0);
		CU_ASSERT(n != len || memcmp(odd, sane, n));
		record_reader_init(&rr, 1 << 20);
		ret = record_feed(&rr, odd, n, &used);
		if (g == NFSSIM_HUGE) {
			CU_ASSERT(ret == -EMSGSIZE || !ret);
			record_reader_free(&rr);
			continue;
		}
		CU_ASSERT_EQUAL(ret, 1);
		CU_ASSERT_EQUAL(used, n);
		if (g == NFSSIM_FRAGMENTS) {
			CU_ASSERT_EQUAL(rr.length, len - 4);
			CU_ASSERT(!memcmp(rr.data, sane + 4, len - 4));
			record_reader_free(&rr);
			continue;
		}
		if (g == NFSSIM_EMPTY) {
			CU_ASSERT_EQUAL(rr.length, 0);
			record_reader_free(&rr);
			continue;
		}
		ret = rpc_peek_reply(rr.data, rr.length, &peek);
		CU_ASSERT((g == NFSSIM_CALL || g == NFSSIM_JUNK) == (ret < 0));
		CU_ASSERT(ret < 0 || (peek == 77) == (g != NFSSIM_XID));
		xdrmem_create(&x, (char *)rr.data, (u_int)rr.length,
			      XDR_DECODE);
		ret = ret < 0 ? ret : rpc_decode_reply(&x, &reply);
		memset(&r, 0, sizeof r);
		if (!ret && !reply.err) {
			ret = nfs3_xdr_read_res(&x, &r) ? 0 : -1;
			CU_ASSERT((g == NFSSIM_TRUNCATED ||
				   g == NFSSIM_NEGATIVE ||
				   g == NFSSIM_TOP_BIT) == (ret < 0));
		} else {
			CU_ASSERT((g >= NFSSIM_PROG && g <= NFSSIM_AUTH) ||
				  g == NFSSIM_CALL || g == NFSSIM_JUNK);
		}
		record_reader_free(&rr);
	}
}

/* what: the server */

static void
server_goes_down_and_comes_up_by_the_clock(void)
{
	start_with(NULL, "at=2s : down=3s; at=7s : restart");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	vloop_pass(l, 2500000);
	CU_ASSERT_EQUAL(nfssim_connect(sim), -ECONNREFUSED);
	vloop_pass(l, 3000000);
	reconnect();
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	vloop_pass(l, 3000000);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	stop();
}

static void
connection_is_cut_after_so_many_more_bytes(void)
{
	start_with(NULL, "WRITE once : cut-in=50");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(write_1(), -1);
	reconnect();
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	stop();
}

static void
full_server_writes_short_and_then_nothing_until_there_is_room(void)
{
	start_with(NULL, "set full=8");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, 5, "world", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 3);
	CU_ASSERT_EQUAL(do_write(&f, 8, "ld", UNSTABLE), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_write(&f, 0, "HELLO", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_set_size(&f, 100), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_set_size(&f, 2), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, 2, "abcdef", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 6);
	nfssim_set_full(sim, UINT64_MAX);
	CU_ASSERT_EQUAL(do_write(&f, 8, "ld", UNSTABLE), NFS3_OK);
	stop();
}

static void
quota_is_the_owners(void)
{
	struct fh root, mine, yours;

	start_with(NULL, "set quota=1000:8");
	nfssim_lookup(sim, "", &root);
	do_create(&root, "mine", GUARDED, NULL, &mine);
	cred_put(cred);
	cred = cred_get(1001, 100, NULL, 0);
	do_create(&root, "yours", GUARDED, NULL, &yours);
	CU_ASSERT_EQUAL(do_write(&yours, 0, "0123456789", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 10);
	CU_ASSERT_EQUAL(do_write(&mine, 0, "0123456789", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 8);
	CU_ASSERT_EQUAL(do_write(&mine, 8, "89", UNSTABLE), NFS3ERR_DQUOT);
	stop();
}

static void
fsinfo_says_what_it_is_told_to(void)
{
	FSINFO3args a;
	FSINFO3res r;

	start_with(NULL, "set fsinfo=wtmax:0 fsinfo=wtpref:4294967295 "
			 "fsinfo=maxfilesize:1k");
	a.fsroot = handle(&f);
	CU_ASSERT(NFS(FSINFO, &a, &r));
	CU_ASSERT_EQUAL(r.FSINFO3res_u.resok.wtmax, 0);
	CU_ASSERT_EQUAL(r.FSINFO3res_u.resok.wtpref, UINT32_MAX);
	CU_ASSERT_EQUAL(r.FSINFO3res_u.resok.maxfilesize, 1024);
	CU_ASSERT_EQUAL(r.FSINFO3res_u.resok.rtmax, 1 << 20);
	CU_ASSERT_EQUAL(do_write(&f, 1023, "xy", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(WROTE.count, 1);
	CU_ASSERT_EQUAL(do_write(&f, 1024, "y", UNSTABLE), NFS3ERR_FBIG);
	stop();
}

/* calls that come twice */

static void
reply_cache_answers_a_copy_as_the_first_was(void)
{
	struct nfssim_options opt = { .drc = NFSSIM_DRC_ON };
	struct fh root, g;

	start_with(&opt, "");
	nfssim_lookup(sim, "", &root);
	CU_ASSERT_EQUAL(do_create(&root, "g", GUARDED, NULL, &g), NFS3_OK);
	xid--;
	CU_ASSERT_EQUAL(do_create(&root, "g", GUARDED, NULL, &g), NFS3_OK);
	CU_ASSERT_EQUAL(nfssim_stats(sim)->drc_hits, 1);
	xid--;		/* another call under the same xid is another call */
	CU_ASSERT_EQUAL(do_remove(&root, "g", false), NFS3_OK);
	xid--;
	reconnect();
	CU_ASSERT_EQUAL(do_remove(&root, "g", false), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(&root, "g", false), NFS3ERR_NOENT);
	nfssim_set_drc(sim, NFSSIM_DRC_OFF);
	xid--;
	CU_ASSERT_EQUAL(do_create(&root, "g", GUARDED, NULL, &g), NFS3_OK);
	xid--;
	CU_ASSERT_EQUAL(do_create(&root, "g", GUARDED, NULL, &g),
			NFS3ERR_EXIST);
	stop();
}

static void
reply_cache_drops_a_copy_of_what_is_being_done(void)
{
	struct nfssim_options opt = { .drc = NFSSIM_DRC_ON };

	start_with(&opt, "WRITE nth=1 : hold=20s");
	CU_ASSERT_EQUAL(write_1(), -1);
	xid--;
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);	/* the first one's reply */
	CU_ASSERT_EQUAL(nfssim_stats(sim)->drc_drops, 1);
	CU_ASSERT_EQUAL(nfssim_stats(sim)->written_bytes, 5);
	stop();
}

static void
cut_reply_cache_answers_no_copy_and_a_fresh_xid(void)
{
	struct nfssim_options opt = { .drc = NFSSIM_DRC_CUT };

	start_with(&opt, "WRITE nth=1 : lose-reply");
	CU_ASSERT_EQUAL(write_1(), -1);
	xid--;
	reconnect();
	CU_ASSERT_EQUAL(write_1(), -1);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	stop();
}

static void
jukebox_is_not_cached(void)
{
	struct nfssim_options opt = { .drc = NFSSIM_DRC_ON };

	start_with(&opt, "WRITE nth=1 : status=JUKEBOX");
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_JUKEBOX);
	xid--;
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	stop();
}

/* who may do what */

static void
become(uint32_t uid, uint32_t gid)
{
	cred_put(cred);
	cred = cred_get(uid, gid, NULL, 0);
}

static uint32_t
do_access(const struct fh *fh, uint32_t want)
{
	ACCESS3args a = { handle(fh), want };
	ACCESS3res r;

	CU_ASSERT(NFS(ACCESS, &a, &r));
	return r.ACCESS3res_u.resok.access;
}

static int
do_chmod(const struct fh *fh, uint32_t mode)
{
	SETATTR3args a = { .object = handle(fh) };
	SETATTR3res r;

	a.new_attributes.mode.set_it = TRUE;
	a.new_attributes.mode.set_mode3_u.mode = mode;
	CU_ASSERT(NFS(SETATTR, &a, &r));
	return (int)r.status;
}

static void
modes_and_owners_count(void)
{
	struct nfssim_options opt = { .check_access = true };
	struct fh root, g, d;

	start_with(&opt, "");
	nfssim_lookup(sim, "", &root);
	CU_ASSERT_EQUAL(do_create(&root, "g", GUARDED, NULL, &g), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(&root, "d", &d), NFS3_OK);
	CU_ASSERT_EQUAL(do_chmod(&g, 0040), NFS3_OK);
	/* the owner may, whatever the mode; and is told of the mode */
	CU_ASSERT_EQUAL(do_write(&g, 0, "x", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_access(&g, ACCESS3_READ | ACCESS3_MODIFY), 0);
	become(1001, 100);
	CU_ASSERT_EQUAL(do_access(&g, ACCESS3_READ | ACCESS3_MODIFY),
			ACCESS3_READ);
	CU_ASSERT_EQUAL(do_write(&g, 0, "x", UNSTABLE), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_commit(&g, 0, 0), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_chmod(&g, 0666), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_set_size(&g, 0), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_create(&d, "x", GUARDED, NULL, NULL),
			NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_rename(&root, "g", &d, "g"), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_remove(&root, "g", false), NFS3_OK);
	become(0, 0);
	CU_ASSERT_EQUAL(do_create(&d, "x", GUARDED, NULL, NULL), NFS3_OK);
	stop();
}

static void
root_is_squashed(void)
{
	struct nfssim_options opt = { .check_access = true,
				      .root_squash = true };
	struct fh root, d, g;

	start_with(&opt, "");
	nfssim_lookup(sim, "", &root);
	do_mkdir(&root, "d", &d);
	become(0, 0);
	CU_ASSERT_EQUAL(do_create(&d, "x", GUARDED, NULL, NULL),
			NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_create(&root, "x", GUARDED, NULL, &g), NFS3_OK);
	do_getattr(&g);
	CU_ASSERT_EQUAL(ATTR.uid, 65534);
	stop();
}

static void
clients_from_high_ports_are_refused(void)
{
	struct nfssim_options opt = { .secure_port = true };
	char *path = (char *)"/export";
	mountres3 r;

	start_with(&opt, "");
	nfssim_set_port(sim, 1024);
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_PERM);
	CU_ASSERT(call(NFSSIM_MOUNT, 1, (rpc_xdr_fn *)xdr_mnt3_path, &path,
		       (rpc_xdr_fn *)xdr_mountres3, &r, sizeof r));
	CU_ASSERT_EQUAL(r.status, MNT3ERR_ACCES);
	nfssim_set_port(sim, 1023);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	stop();
}

/* the model around it all */

static struct nfssim_options
with_model(struct model_params *p, const char *text)
{
	memset(p, 0, sizeof *p);
	CU_ASSERT_PTR_NULL_FATAL(model_params_parse(p, text));
	return (struct nfssim_options){ .model = p };
}

static void
commit_takes_time_and_what_is_written_meanwhile_is_not_stable(void)
{
	struct model_params p;
	struct nfssim_options opt = with_model(&p, "disk,rtt=1ms");
	COMMIT3args a;
	WRITE3args w;
	uint64_t before;

	start_with(&opt, "");
	CU_ASSERT_EQUAL(do_write(&f, 0, "old old", UNSTABLE), NFS3_OK);
	before = loop_now(l);
	a = (COMMIT3args){ handle(&f), 0, 0 };
	send_call(NFSSIM_NFS, NFSPROC3_COMMIT, (rpc_xdr_fn *)xdr_COMMIT3args,
		  &a);
	vloop_pass(l, 2000);
	w = (WRITE3args){ .file = handle(&f), .offset = 4, .count = 6 };
	w.data.data_len = 6;
	w.data.data_val = (char *)"newest";
	send_call(NFSSIM_NFS, NFSPROC3_WRITE,
		  (rpc_xdr_fn *)nfs3_xdr_write_args, &w);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000000));
	CU_ASSERT_EQUAL(got_xid, xid);		/* the WRITE's comes first */
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "");
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000000));
	CU_ASSERT_EQUAL(got_xid, xid - 1);
	CU_ASSERT_DOUBLE_EQUAL((double)(loop_now(l) - before), 9000, 10);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "old old");
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "old newest");
	CU_ASSERT_EQUAL(nfssim_unstable_bytes(sim, "f"), 6);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "old newest");
	CU_ASSERT_EQUAL(nfssim_unstable_bytes(sim, "f"), 0);
	stop();
}

static void
restart_in_the_middle_of_a_commit_forgets(void)
{
	struct model_params p;
	struct nfssim_options opt = with_model(&p, "ext3");

	start_with(&opt, "at=1s : restart");
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	vloop_pass(l, 990000);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	reconnect();
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "hello");
	stop();
}

static void
faults_work_the_same_with_a_model(void)
{
	struct model_params p;
	struct nfssim_options opt = with_model(&p, "ssd");
	uint64_t before;

	start_with(&opt, "WRITE nth=1 : status=JUKEBOX; "
			 "WRITE nth=2 : hold=1s; WRITE nth=3 : delay=1s; "
			 "COMMIT nth=1 : restart-done; WRITE nth=4 : reorder; "
			 "COMMIT nth=2 : cut-after");
	CU_ASSERT_EQUAL(write_1(), NFS3ERR_JUKEBOX);
	before = loop_now(l);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT(loop_now(l) - before >= 1000000);
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);
	CU_ASSERT(loop_now(l) - before >= 2000000);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "hello");
	reconnect();
	CU_ASSERT_EQUAL(write_1(), NFS3_OK);	/* nothing overtakes it */
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_EQUAL(bytes_until_end(), 0);
	stop();
}

/* A client that sends 64 WRITEs at once: payloads stay in the sockets. */
static void
slow_link_is_felt_by_who_sends(void)
{
	struct model_params p;
	struct nfssim_options opt = with_model(&p, "link=100M,window=64k");
	static char data[100000];
	uint64_t before;
	unsigned i;
	WRITE3args w;

	opt.discard = true;
	start_with(&opt, "");
	w = (WRITE3args){ .file = handle(&f), .count = sizeof data };
	w.data.data_len = sizeof data;
	w.data.data_val = data;
	before = loop_now(l);
	for (i = 0; i < 64; i++, w.offset += sizeof data)
		send_call(NFSSIM_NFS, NFSPROC3_WRITE,
			  (rpc_xdr_fn *)nfs3_xdr_write_args, &w);
	/* 6.4 MB take 512 ms; all but what buffers hold went by then */
	CU_ASSERT(loop_now(l) - before > 400000);
	for (i = 0; i < 64; i++)
		CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000000));
	CU_ASSERT_DOUBLE_EQUAL((double)(loop_now(l) - before), 512000, 5000);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE), 6400000);
	CU_ASSERT_EQUAL(nfssim_unstable_bytes(sim, "f"), 6400000);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 100), NFS3_OK);
	CU_ASSERT_EQUAL(nfssim_unstable_bytes(sim, "f"), 6399900);
	CU_ASSERT_EQUAL(nfssim_stats(sim)->stable_bytes, 100);
	stop();
}

/* a store in files */

static char dir[] = "/tmp/nfssim-XXXXXX";

static void
cat(const char *name, char *buf, size_t room)
{
	char path[256];
	FILE *in;
	size_t n = 0;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	in = fopen(path, "r");
	if (in) {
		n = fread(buf, 1, room - 1, in);
		fclose(in);
	}
	buf[n] = 0;
}

static void
run(const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "cd %s && %s", dir, command);
	CU_ASSERT_EQUAL(system(line), 0);
}

static void
stable_contents_are_in_files_and_volatile_ones_are_not(void)
{
	struct nfssim_options opt = { .store = dir };
	struct fh root, g, d;
	char text[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	run("echo there > old && mkdir sub && ln -s old sub/link && "
	    "ln old sub/hard");
	start_with(&opt, "");
	nfssim_lookup(sim, "", &root);
	CU_ASSERT_STRING_EQUAL(text_of("old", NFSSIM_STABLE), "there\n");
	CU_ASSERT_EQUAL(do_lookup(&root, "sub", &d), NFS3_OK);
	CU_ASSERT_EQUAL(do_lookup(&d, "hard", &g), NFS3_OK);
	do_getattr(&g);
	CU_ASSERT_EQUAL(ATTR.nlink, 2);

	do_write(&f, 0, "hello world", UNSTABLE);
	cat("f", text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "");
	do_commit(&f, 0, 5);
	cat("f", text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "hello");
	CU_ASSERT_EQUAL(do_rename(&root, "f", &d, "F"), NFS3_OK);
	do_write(&f, 5, "!", FILE_SYNC);
	cat("sub/F", text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "hello!");
	CU_ASSERT_STRING_EQUAL(text_of("sub/F", NFSSIM_VOLATILE),
			       "hello!world");
	nfssim_restart(sim, 9);
	CU_ASSERT_STRING_EQUAL(text_of("sub/F", NFSSIM_VOLATILE), "hello!");
	reconnect();
	CU_ASSERT_EQUAL(do_remove(&d, "hard", false), NFS3_OK);
	CU_ASSERT_EQUAL(do_set_size(&f, 3), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(&d, "made", NULL), NFS3_OK);
	stop();
	run("test -d sub/made && test ! -e sub/hard && test ! -e .nfssim");

	start_with(&opt, "");		/* another one finds all of it */
	CU_ASSERT_STRING_EQUAL(text_of("sub/F", NFSSIM_STABLE), "hel");
	CU_ASSERT_STRING_EQUAL(text_of("old", NFSSIM_STABLE), "there\n");
	stop();
	run("rm -r sub old f && rmdir $PWD");
}

UNIT_TESTS(nfssim_fault,
	UNIT(rules_choose_by_procedure_number_and_nth),
	UNIT(rules_choose_by_file_name_and_path),
	UNIT(rules_choose_by_bytes_stability_and_uid),
	UNIT(rules_choose_by_time_total_and_copies),
	UNIT(chance_is_the_seeds),
	UNIT(wrong_scripts_are_refused_whole_and_say_where),
	UNIT(write_may_be_short_or_nothing_or_a_lie),
	UNIT(more_or_less_stability_than_asked_for_is_granted_and_kept),
	UNIT(verifiers_change_or_never_agree),
	UNIT(restarts_before_between_and_after),
	UNIT(replies_overtake_each_other),
	UNIT(replies_come_twice_late_or_never),
	UNIT(connection_is_cut_before_within_and_after_the_reply),
	UNIT(held_call_runs_after_newer_ones),
	UNIT(write_is_answered_before_it_is_here),
	UNIT(garbage_of_each_kind_is_what_it_is_called),
	UNIT(server_goes_down_and_comes_up_by_the_clock),
	UNIT(connection_is_cut_after_so_many_more_bytes),
	UNIT(full_server_writes_short_and_then_nothing_until_there_is_room),
	UNIT(quota_is_the_owners),
	UNIT(fsinfo_says_what_it_is_told_to),
	UNIT(reply_cache_answers_a_copy_as_the_first_was),
	UNIT(reply_cache_drops_a_copy_of_what_is_being_done),
	UNIT(cut_reply_cache_answers_no_copy_and_a_fresh_xid),
	UNIT(jukebox_is_not_cached),
	UNIT(modes_and_owners_count),
	UNIT(root_is_squashed),
	UNIT(clients_from_high_ports_are_refused),
	UNIT(commit_takes_time_and_what_is_written_meanwhile_is_not_stable),
	UNIT(restart_in_the_middle_of_a_commit_forgets),
	UNIT(faults_work_the_same_with_a_model),
	UNIT(slow_link_is_felt_by_who_sends),
	UNIT(stable_contents_are_in_files_and_volatile_ones_are_not),
)
