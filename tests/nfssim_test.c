/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_test.c - the test server itself, called over a socketpair */
#include "tests/mount3_prot.h"
#include "tests/nfssim_client.h"

/* contents */

static void
unstable_write_is_volatile_until_commit(void)
{
	struct fh f;

	start(NULL);
	nfssim_create(sim, "f", &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(wrote.WRITE3res_u.resok.committed, UNSTABLE);
	CU_ASSERT_EQUAL(wrote.WRITE3res_u.resok.count, 5);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "");
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_STABLE), "hello");
	CU_ASSERT(!memcmp(wrote.WRITE3res_u.resok.verf,
			  committed.COMMIT3res_u.resok.verf, 8));
	CU_ASSERT_EQUAL(nfssim_stats(sim)->unstable_writes, 1);
	stop();
}

static void
stable_write_is_stable_at_once_and_leaves_its_neighbours_volatile(void)
{
	struct fh f;

	start(NULL);
	nfssim_create(sim, "f", &f);
	do_write(&f, 0, "aaaaaaaa", UNSTABLE);
	do_write(&f, 2, "BB", FILE_SYNC);
	CU_ASSERT_EQUAL(wrote.WRITE3res_u.resok.committed, FILE_SYNC);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "aaBBaaaa");
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_STABLE), 4);
	nfssim_restart(sim, 2);
	CU_ASSERT(!memcmp(text_of("f", NFSSIM_VOLATILE), "\0\0BB", 5));
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE), 4);
	stop();
}

static void
restart_forgets_changes_the_verifier_and_ends_connections(void)
{
	struct fh f;
	char verf[8];

	start(NULL);
	nfssim_create(sim, "f", &f);
	do_write(&f, 0, "old", FILE_SYNC);
	do_write(&f, 0, "newer", UNSTABLE);
	memcpy(verf, wrote.WRITE3res_u.resok.verf, 8);
	nfssim_restart(sim, 77);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "old");
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), -1);	/* hung up */
	close(fd);
	fd = nfssim_connect(sim);
	CU_ASSERT_EQUAL(do_commit(&f, 0, 0), NFS3_OK);
	CU_ASSERT(memcmp(verf, committed.COMMIT3res_u.resok.verf, 8));
	stop();
}

/* A plain model of the two contents, driven by the same random steps. */
static unsigned char model[2][300000], seen[300000];
static uint64_t model_size[2];

static void
random_step(const struct fh *f)
{
	static char data[70000];
	uint64_t from = (uint64_t)rand() % 200000, end;
	size_t len = 1 + (size_t)rand() % (rand() % 2 ? 100 : 69000);
	bool stable = rand() % 3 == 0;

	switch (rand() % 8) {
	default:
		memset(data, 'a' + rand() % 26, len);
		data[len] = 0;
		do_write(f, from, data, stable ? FILE_SYNC : UNSTABLE);
		end = from + len;
		memcpy(model[1] + from, data, len);
		model_size[1] = end > model_size[1] ? end : model_size[1];
		if (!stable)
			break;
		memcpy(model[0] + from, data, len);
		model_size[0] = end > model_size[0] ? end : model_size[0];
		break;
	case 1:
		if (rand() % 2)
			from = 0, len = 0;
		do_commit(f, from, (uint32_t)len);
		end = len ? from + len : UINT64_MAX;
		end = end < model_size[1] ? end : model_size[1];
		if (from >= end)
			break;
		memcpy(model[0] + from, model[1] + from, end - from);
		model_size[0] = end > model_size[0] ? end : model_size[0];
		break;
	case 2:
		do_set_size(f, from);
		memset(model[0] + from, 0, sizeof model[0] - from);
		memset(model[1] + from, 0, sizeof model[1] - from);
		model_size[0] = model_size[1] = from;
		break;
	case 3:
		nfssim_restart(sim, (uint64_t)rand());
		close(fd);
		fd = nfssim_connect(sim);
		memcpy(model[1], model[0], sizeof model[0]);
		model_size[1] = model_size[0];
		break;
	}
}

static void
random_steps_agree_with_a_plain_model(void)
{
	struct fh f;
	unsigned seed, i, w;

	for (seed = 1; seed <= 20; seed++) {
		printf("# seed %u\n", seed);
		srand(seed);
		memset(model, 0, sizeof model);
		model_size[0] = model_size[1] = 0;
		start(NULL);
		nfssim_create(sim, "f", &f);
		for (i = 0; i < 100; i++) {
			random_step(&f);
			for (w = 0; w < 2; w++) {
				CU_ASSERT_EQUAL_FATAL(
					nfssim_read(sim, "f", w, 0, seen,
						    sizeof seen),
					(int64_t)model_size[w]);
				CU_ASSERT_FATAL(!memcmp(seen, model[w],
							model_size[w]));
			}
		}
		stop();
	}
}

static void
far_offsets_cost_no_memory_and_read_as_zeros(void)
{
	READ3args a;
	READ3res r;
	struct fh f;

	start(NULL);
	nfssim_create(sim, "f", &f);
	CU_ASSERT_EQUAL(do_write(&f, 1ull << 50, "x", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(&f, UINT64_MAX - 2, "xyz", UNSTABLE),
			NFS3ERR_FBIG);
	a = (READ3args){ handle(&f), 1 << 20, 8 };
	CU_ASSERT(NFS(READ, &a, &r));
	CU_ASSERT_EQUAL(r.READ3res_u.resok.count, 8);
	CU_ASSERT(!memcmp(r.READ3res_u.resok.data.data_val, "\0\0\0\0\0\0\0",
			  8));
	CU_ASSERT(!r.READ3res_u.resok.eof);
	xdr_free((xdrproc_t)xdr_READ3res, &r);
	stop();
}

static void
discarding_store_keeps_sizes_only(void)
{
	struct nfssim_options opt = { .discard = true };
	struct fh f;

	start(&opt);
	nfssim_create(sim, "f", &f);
	do_write(&f, 10, "hello", UNSTABLE);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE), 15);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_STABLE), 0);
	do_commit(&f, 0, 0);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_STABLE), 15);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	stop();
}

/* names */

static void
three_ways_of_create(void)
{
	struct fh root, f, g;

	start(NULL);
	nfssim_lookup(sim, "", &root);
	CU_ASSERT_EQUAL(do_create(&root, "f", GUARDED, NULL, &f), NFS3_OK);
	CU_ASSERT_EQUAL(do_create(&root, "f", GUARDED, NULL, &g),
			NFS3ERR_EXIST);
	CU_ASSERT_EQUAL(do_create(&root, "f", UNCHECKED, NULL, &g), NFS3_OK);
	CU_ASSERT(fh_equal(&f, &g));
	CU_ASSERT_EQUAL(do_create(&root, "x", EXCLUSIVE, "verifier", &f),
			NFS3_OK);
	CU_ASSERT_EQUAL(do_create(&root, "x", EXCLUSIVE, "verifier", &g),
			NFS3_OK);
	CU_ASSERT(fh_equal(&f, &g));
	CU_ASSERT_EQUAL(do_create(&root, "x", EXCLUSIVE, "anotherv", &g),
			NFS3ERR_EXIST);
	CU_ASSERT_EQUAL(do_getattr(&f), NFS3_OK);
	CU_ASSERT_EQUAL(ATTR.uid, 1000);
	CU_ASSERT_EQUAL(ATTR.gid, 100);
	stop();
}

static void
names_are_looked_up_renamed_and_removed(void)
{
	struct fh root, d, e, f, g;

	start(NULL);
	nfssim_lookup(sim, "", &root);
	CU_ASSERT_EQUAL(do_mkdir(&root, "d", &d), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(&d, "e", &e), NFS3_OK);
	CU_ASSERT_EQUAL(do_create(&d, "f", GUARDED, NULL, &f), NFS3_OK);
	CU_ASSERT_EQUAL(do_lookup(&d, "f", &g), NFS3_OK);
	CU_ASSERT(fh_equal(&f, &g));
	CU_ASSERT_EQUAL(do_lookup(&d, "..", &g), NFS3_OK);
	CU_ASSERT(fh_equal(&root, &g));
	CU_ASSERT_EQUAL(do_lookup(&root, "f", &g), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(do_lookup(&f, "f", &g), NFS3ERR_NOTDIR);
	CU_ASSERT_EQUAL(do_remove(&root, "d", true), NFS3ERR_NOTEMPTY);
	CU_ASSERT_EQUAL(do_remove(&root, "d", false), NFS3ERR_ISDIR);
	CU_ASSERT_EQUAL(do_remove(&d, "f", true), NFS3ERR_NOTDIR);
	CU_ASSERT_EQUAL(do_rename(&root, "d", &e, "d"), NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(do_rename(&d, "f", &root, "g"), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(&d, "f", &root, "g"), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(do_lookup(&root, "g", &g), NFS3_OK);
	CU_ASSERT(fh_equal(&f, &g));
	CU_ASSERT_EQUAL(do_remove(&d, "e", true), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(&root, "d", true), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(&root, "g", false), NFS3_OK);
	CU_ASSERT_EQUAL(do_getattr(&f), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(do_getattr(&root), NFS3_OK);
	CU_ASSERT_EQUAL(ATTR.nlink, 2);
	stop();
}

static void
rename_replaces_and_a_link_keeps_the_file(void)
{
	struct fh root, a, b, got_fh;
	LINK3args link;
	LINK3res r;

	start(NULL);
	nfssim_lookup(sim, "", &root);
	nfssim_create(sim, "a", &a);
	nfssim_create(sim, "b", &b);
	CU_ASSERT_EQUAL(do_rename(&root, "a", &root, "b"), NFS3_OK);
	CU_ASSERT_EQUAL(do_getattr(&b), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(do_lookup(&root, "b", &got_fh), NFS3_OK);
	CU_ASSERT(fh_equal(&a, &got_fh));
	link = (LINK3args){ handle(&a), { handle(&root), (char *)"c" } };
	CU_ASSERT(NFS(LINK, &link, &r));
	CU_ASSERT_EQUAL(r.status, NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(&root, "b", false), NFS3_OK);
	CU_ASSERT_EQUAL(do_getattr(&a), NFS3_OK);
	CU_ASSERT_EQUAL(ATTR.nlink, 1);
	stop();
}

static void
symlink_is_read_back(void)
{
	struct fh root, s;
	SYMLINK3args a = { .where.name = (char *)"s",
			   .symlink.symlink_data = (char *)"../else/where" };
	READLINK3args ra;
	SYMLINK3res r;
	READLINK3res rr;

	start(NULL);
	nfssim_lookup(sim, "", &root);
	a.where.dir = handle(&root);
	CU_ASSERT(NFS(SYMLINK, &a, &r));
	CU_ASSERT_EQUAL(r.status, NFS3_OK);
	xdr_free((xdrproc_t)xdr_SYMLINK3res, &r);
	nfssim_lookup(sim, "s", &s);
	ra.symlink = handle(&s);
	CU_ASSERT(NFS(READLINK, &ra, &rr));
	CU_ASSERT_STRING_EQUAL(rr.READLINK3res_u.resok.data, "../else/where");
	xdr_free((xdrproc_t)xdr_READLINK3res, &rr);
	stop();
}

/* Reads the directory in replies of so many bytes; every name must come once. */
static void
list_all(const struct fh *dir, uint32_t count, bool plus, unsigned want)
{
	READDIR3args a = { .dir = handle(dir), .count = count };
	READDIRPLUS3args pa = { .dir = handle(dir), .dircount = count,
				.maxcount = count };
	char there[1000] = "";
	unsigned nr = 0, replies = 0;
	bool eof = false;
	READDIRPLUS3res pr;
	READDIR3res r;
	entryplus3 *pe;
	entry3 *e;

	while (!eof && replies++ < 1000) {
		if (plus) {
			CU_ASSERT_FATAL(NFS(READDIRPLUS, &pa, &pr));
			CU_ASSERT_EQUAL_FATAL(pr.status, NFS3_OK);
			pe = pr.READDIRPLUS3res_u.resok.reply.entries;
			for (; pe; pe = pe->nextentry) {
				nr++;
				if (*pe->name != '.')
					there[atoi(pe->name)]++;
				CU_ASSERT(pe->name_handle.handle_follows);
				pa.cookie = pe->cookie;
			}
			eof = pr.READDIRPLUS3res_u.resok.reply.eof;
			xdr_free((xdrproc_t)xdr_READDIRPLUS3res, &pr);
			continue;
		}
		CU_ASSERT_FATAL(NFS(READDIR, &a, &r));
		CU_ASSERT_EQUAL_FATAL(r.status, NFS3_OK);
		CU_ASSERT(reader.length <= count + 24);
		for (e = r.READDIR3res_u.resok.reply.entries; e;
		     e = e->nextentry) {
			nr++;
			if (*e->name != '.')
				there[atoi(e->name)]++;
			a.cookie = e->cookie;
		}
		eof = r.READDIR3res_u.resok.reply.eof;
		xdr_free((xdrproc_t)xdr_READDIR3res, &r);
	}
	CU_ASSERT(eof);
	CU_ASSERT_EQUAL(nr, want + 2);
	while (want--)
		CU_ASSERT_EQUAL(there[want], 1);
}

static void
directory_is_listed_in_pieces(void)
{
	struct fh d, f;
	char path[20];
	unsigned i;

	start(NULL);
	nfssim_mkdir(sim, "d", &d);
	for (i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "d/%u", i);
		nfssim_create(sim, path, &f);
	}
	list_all(&d, 512, false, 300);
	list_all(&d, 65536, false, 300);
	list_all(&d, 1024, true, 300);
	stop();
}

static void
mount_gives_the_handle_of_a_directory_below_the_export(void)
{
	struct nfssim_options opt = { .export = "/srv/x" };
	char *path = (char *)"/srv/x/d/";
	struct fh root, d;
	export3_list exports;
	mount3_list list;
	mountres3 r;

	start(&opt);
	nfssim_lookup(sim, "", &root);
	nfssim_mkdir(sim, "d", &d);
#define MNT(res) call(NFSSIM_MOUNT, 1, (rpc_xdr_fn *)xdr_mnt3_path, &path, \
		      (rpc_xdr_fn *)xdr_mountres3, res, sizeof *(res))
	CU_ASSERT(MNT(&r));
	CU_ASSERT_EQUAL(r.status, MNT3_OK);
	CU_ASSERT_EQUAL(r.mountres3_u.mountinfo.fhandle.fhandle_len, d.len);
	CU_ASSERT(!memcmp(r.mountres3_u.mountinfo.fhandle.fhandle_val, d.data,
			  d.len));
	xdr_free((xdrproc_t)xdr_mountres3, &r);
	path = (char *)"/srv/xy";
	CU_ASSERT(MNT(&r));
	CU_ASSERT_EQUAL(r.status, MNT3ERR_NOENT);
	CU_ASSERT(call(NFSSIM_MOUNT, 5, NULL, NULL,
		       (rpc_xdr_fn *)xdr_export3_list, &exports,
		       sizeof exports));
	CU_ASSERT_STRING_EQUAL(exports.first->directory, "/srv/x");
	xdr_free((xdrproc_t)xdr_export3_list, &exports);
	CU_ASSERT(call(NFSSIM_MOUNT, 2, NULL, NULL,
		       (rpc_xdr_fn *)xdr_mount3_list, &list, sizeof list));
	CU_ASSERT_STRING_EQUAL(list.first->directory, "/srv/x/d/");
	xdr_free((xdrproc_t)xdr_mount3_list, &list);
	path = (char *)"/srv/x/d/";
	CU_ASSERT(call(NFSSIM_MOUNT, 3, (rpc_xdr_fn *)xdr_mnt3_path, &path,
		       NULL, &r, 0));
	CU_ASSERT(call(NFSSIM_MOUNT, 2, NULL, NULL,
		       (rpc_xdr_fn *)xdr_mount3_list, &list, sizeof list));
	CU_ASSERT_PTR_NULL(list.first);
	stop();
}

/* faults */

static struct nfssim_verdict verdict;
static struct nfssim_call seen_call;

static void
fault(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->proc == NFSPROC3_WRITE)
		*v = verdict;
	seen_call = *c;
}

static void
start_faulty(struct nfssim_verdict v, struct fh *f)
{
	start(NULL);
	nfssim_create(sim, "f", f);
	verdict = v;
	nfssim_set_fault(sim, fault, NULL);
}

static void
fault_function_sees_who_calls_and_what(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ 0 }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 1000, "hello", DATA_SYNC), NFS3_OK);
	CU_ASSERT_EQUAL(seen_call.proc, NFSPROC3_WRITE);
	CU_ASSERT_EQUAL(seen_call.uid, 1000);
	CU_ASSERT_EQUAL(seen_call.gid, 100);
	CU_ASSERT_EQUAL(seen_call.group_nr, 3);
	CU_ASSERT_EQUAL(seen_call.group[2], 9);
	CU_ASSERT_EQUAL(seen_call.offset, 1000);
	CU_ASSERT_EQUAL(seen_call.count, 5);
	CU_ASSERT_EQUAL(seen_call.stable, DATA_SYNC);
	CU_ASSERT(fh_equal(&seen_call.fh, &f));
	stop();
}

static void
status_is_answered_and_nothing_done(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .status = NFS3ERR_NOSPC }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(nfssim_size(sim, "f", NFSSIM_VOLATILE), 0);
	stop();
}

static void
short_write_is_done_in_part(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .short_count = 2 }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(wrote.WRITE3res_u.resok.count, 2);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "he");
	stop();
}

static void
lost_call_is_not_done_and_lost_reply_is(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .lose_call = true }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	verdict = (struct nfssim_verdict){ .lose_reply = true };
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	stop();
}

static void
delays_are_kept_to_the_microsecond(void)
{
	uint64_t before;
	struct fh f;

	start_faulty((struct nfssim_verdict){ .delay_usec = 12345 }, &f);
	nfssim_set_delay(sim, 1000);
	before = loop_now(l);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), NFS3_OK);
	CU_ASSERT_EQUAL(loop_now(l) - before, 13345);
	stop();
}

static void
held_call_is_done_late_even_when_the_connection_is_gone(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .hold_usec = 20000000 }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	nfssim_cut(sim);
	vloop_pass(l, 20000000);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	stop();
}

static void
cut_ends_the_connection_after_the_work(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .cut = true }, &f);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), -1);
	CU_ASSERT_EQUAL(got_xid, -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "hello");
	stop();
}

static void
cut_in_the_middle_of_a_call_leaves_it_undone(void)
{
	struct fh f;

	start(NULL);
	nfssim_create(sim, "f", &f);
	nfssim_cut_after(sim, 100);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), -1);
	CU_ASSERT_EQUAL(got_xid, -1);
	CU_ASSERT_STRING_EQUAL(text_of("f", NFSSIM_VOLATILE), "");
	close(fd);
	fd = nfssim_connect(sim);
	record_reader_reset(&reader);
	CU_ASSERT_EQUAL(do_write(&f, 0, "hello", UNSTABLE), NFS3_OK);
	stop();
}

static void
server_that_is_down_refuses_connections(void)
{
	start(NULL);
	nfssim_set_up(sim, false);
	CU_ASSERT_EQUAL(nfssim_connect(sim), -ECONNREFUSED);
	nfssim_set_up(sim, true);
	close(fd);
	fd = nfssim_connect(sim);
	CU_ASSERT(fd >= 0);
	stop();
}

static void
overlap_of_unanswered_writes_is_counted_and_copies_are_not(void)
{
	struct fh f;

	start_faulty((struct nfssim_verdict){ .lose_reply = true }, &f);
	do_write(&f, 0, "hello", UNSTABLE);
	xid--;
	do_write(&f, 0, "hello", UNSTABLE);	/* the same call again */
	do_write(&f, 0, "hello", UNSTABLE);	/* under a fresh xid */
	do_write(&f, 5, "world", UNSTABLE);	/* beside it */
	CU_ASSERT_EQUAL(nfssim_stats(sim)->overlapping_writes, 0);
	do_write(&f, 4, "xx", UNSTABLE);
	CU_ASSERT_EQUAL(nfssim_stats(sim)->overlapping_writes, 2);
	stop();
}

static void
garbage_ends_the_connection_and_unknown_calls_are_refused(void)
{
	static const unsigned char junk[] = { 0x80, 0, 0, 3, 1, 2, 3 };

	start(NULL);
	send_call(NFSSIM_NFS, 22, NULL, NULL);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000));
	CU_ASSERT_EQUAL(got.err, -EIO);		/* no such procedure */
	send_call(100099, 0, NULL, NULL);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000));
	CU_ASSERT_EQUAL(got.err, -EIO);
	send_call(NFSSIM_NFS, NFSPROC3_WRITE, NULL, NULL);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000));
	CU_ASSERT_EQUAL(got.err, -EIO);		/* garbage arguments */
	CU_ASSERT(call(NFSSIM_NFS, 0, NULL, NULL, NULL, NULL, 0));
	CU_ASSERT_EQUAL(write(fd, junk, sizeof junk), sizeof junk);
	CU_ASSERT(vloop_run_until(l, reply_came, NULL, 1000));
	CU_ASSERT_EQUAL(got_xid, -1);
	stop();
}

UNIT_TESTS(nfssim,
	UNIT(unstable_write_is_volatile_until_commit),
	UNIT(stable_write_is_stable_at_once_and_leaves_its_neighbours_volatile),
	UNIT(restart_forgets_changes_the_verifier_and_ends_connections),
	UNIT(random_steps_agree_with_a_plain_model),
	UNIT(far_offsets_cost_no_memory_and_read_as_zeros),
	UNIT(discarding_store_keeps_sizes_only),
	UNIT(three_ways_of_create),
	UNIT(names_are_looked_up_renamed_and_removed),
	UNIT(rename_replaces_and_a_link_keeps_the_file),
	UNIT(symlink_is_read_back),
	UNIT(directory_is_listed_in_pieces),
	UNIT(mount_gives_the_handle_of_a_directory_below_the_export),
	UNIT(fault_function_sees_who_calls_and_what),
	UNIT(status_is_answered_and_nothing_done),
	UNIT(short_write_is_done_in_part),
	UNIT(lost_call_is_not_done_and_lost_reply_is),
	UNIT(delays_are_kept_to_the_microsecond),
	UNIT(held_call_is_done_late_even_when_the_connection_is_gone),
	UNIT(cut_ends_the_connection_after_the_work),
	UNIT(cut_in_the_middle_of_a_call_leaves_it_undone),
	UNIT(server_that_is_down_refuses_connections),
	UNIT(overlap_of_unanswered_writes_is_counted_and_copies_are_not),
	UNIT(garbage_ends_the_connection_and_unknown_calls_are_refused),
)
