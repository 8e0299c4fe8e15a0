/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transport_test.c - the pipeline's calls as NFS calls, and their answers */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/transport.h"
#include "tests/rpcfake.h"

static struct fake f;
static struct transport *t;
static struct fh fh;
static unsigned done_nr;
static uint64_t done_now;

static void
wb_done(struct wb_call *call, uint64_t now)
{
	(void)call;
	done_nr++;
	done_now = now;
}

static void
start(void)
{
	fake_init(&f);
	fake_start(&f);
	t = transport_new(f.loop, f.client);
	CU_ASSERT_FATAL(t != NULL);
	fh_set(&fh, "\x01\x02\x03\x04\x05", 5);
	done_nr = 0;
}

static void
stop(void)
{
	fake_stop(&f);
	transport_free(t);
}

static void
queue(struct wb_call *call)
{
	call->fh = &fh;
	call->done = wb_done;
	CU_ASSERT_EQUAL(transport_calls.queue(t, call), 0);
	CU_ASSERT_EQUAL(done_nr, 0);
	fake_run(&f);
}

static void
reply(rpc_xdr_fn *encode, const void *res)
{
	char buf[512];
	ssize_t len = rpc_encode_accepted(buf, sizeof buf, f.seen[0].info.xid,
					  SUCCESS, encode, res, 0);

	CU_ASSERT_FATAL(len > 0);
	fake_send(&f, buf, (size_t)len);
	fake_run(&f);
	CU_ASSERT_EQUAL(done_nr, 1);
}

static void
decode_args(rpc_xdr_fn *fn, void *args, size_t bytes)
{
	XDR x;

	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	memset(args, 0, bytes);
	xdrmem_create(&x, (char *)f.seen[0].record, (u_int)f.seen[0].length,
		      XDR_DECODE);
	xdr_setpos(&x, (u_int)f.seen[0].args_at);
	CU_ASSERT(((xdrproc_t)fn)(&x, args));
}

static void
a_write_goes_out_and_its_answer_comes_back(void)
{
	char data[] = "0123456789";
	struct iovec iov[2] = { { data, 4 }, { data + 4, 3 } };
	struct wb_call call = { .kind = WB_CALL_WRITE, .class = WB_NORMAL,
				.offset = 1ull << 33, .count = 7,
				.stable = WB_FILE_SYNC, .iov = iov,
				.iov_nr = 2, .err = 77 };
	WRITE3res res = { .status = NFS3_OK };
	WRITE3resok *ok = &res.WRITE3res_u.resok;
	fattr3 *a = &ok->file_wcc.after.post_op_attr_u.attributes;
	WRITE3args args;

	start();
	queue(&call);
	decode_args(xdr_WRITE3args, &args, sizeof args);
	CU_ASSERT_EQUAL(f.seen[0].info.proc, NFSPROC3_WRITE);
	CU_ASSERT_EQUAL(args.offset, 1ull << 33);
	CU_ASSERT_EQUAL(args.count, 7);
	CU_ASSERT_EQUAL(args.stable, FILE_SYNC);
	CU_ASSERT_EQUAL(args.file.data.data_len, 5);
	CU_ASSERT(!memcmp(args.file.data.data_val, fh.data, 5));
	CU_ASSERT_EQUAL(args.data.data_len, 7);
	CU_ASSERT(!memcmp(args.data.data_val, data, 7));
	xdr_free((xdrproc_t)xdr_WRITE3args, &args);

	ok->count = 5;
	ok->committed = DATA_SYNC;
	memcpy(ok->verf, "verifier", 8);
	ok->file_wcc.after.attributes_follow = TRUE;
	a->type = NF3REG;
	a->size = 4711;
	a->ctime.seconds = 12;
	a->ctime.nseconds = 34;
	reply(xdr_WRITE3res, &res);
	CU_ASSERT_EQUAL(call.err, 0);
	CU_ASSERT_EQUAL(call.nfs_status, 0);
	CU_ASSERT_EQUAL(call.written, 5);
	CU_ASSERT_EQUAL(call.committed, WB_DATA_SYNC);
	CU_ASSERT(!memcmp(call.verf, "verifier", 8));
	CU_ASSERT_EQUAL(call.have_size, 1);
	CU_ASSERT_EQUAL(call.size_after, 4711);
	CU_ASSERT_EQUAL(call.ctime_nsec, 12000000034);
	CU_ASSERT_EQUAL(call.transmissions, 1);
	CU_ASSERT(call.sent_usec >= 1000 * SECOND);
	CU_ASSERT(done_now >= call.sent_usec);
	CU_ASSERT_PTR_NULL(call.transport);
	stop();
}

static void
a_refused_write_brings_status_and_attributes(void)
{
	struct wb_call call = { .kind = WB_CALL_WRITE, .written = 9 };
	WRITE3res res = { .status = NFS3ERR_NOSPC };

	start();
	queue(&call);
	res.WRITE3res_u.resfail.file_wcc.after.attributes_follow = TRUE;
	res.WRITE3res_u.resfail.file_wcc.after.post_op_attr_u.attributes.size =
		100;
	reply(xdr_WRITE3res, &res);
	CU_ASSERT_EQUAL(call.err, -ENOSPC);
	CU_ASSERT_EQUAL(call.nfs_status, NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(call.written, 0);
	CU_ASSERT_EQUAL(call.size_after, 100);
	stop();
}

static void
jukebox_is_eagain(void)
{
	struct wb_call call = { .kind = WB_CALL_COMMIT };
	COMMIT3res res = { .status = NFS3ERR_JUKEBOX };

	start();
	queue(&call);
	reply(xdr_COMMIT3res, &res);
	CU_ASSERT_EQUAL(call.err, -EAGAIN);
	CU_ASSERT_EQUAL(call.nfs_status, NFS3ERR_JUKEBOX);
	stop();
}

static void
a_commit_goes_out_and_its_verifier_comes_back(void)
{
	struct wb_call call = { .kind = WB_CALL_COMMIT, .offset = 8192,
				.count = 4096 };
	COMMIT3res res = { .status = NFS3_OK };
	COMMIT3args args;

	start();
	queue(&call);
	decode_args(xdr_COMMIT3args, &args, sizeof args);
	CU_ASSERT_EQUAL(f.seen[0].info.proc, NFSPROC3_COMMIT);
	CU_ASSERT_EQUAL(args.offset, 8192);
	CU_ASSERT_EQUAL(args.count, 4096);
	xdr_free((xdrproc_t)xdr_COMMIT3args, &args);
	memcpy(res.COMMIT3res_u.resok.verf, "VERIFIER", 8);
	reply(xdr_COMMIT3res, &res);
	CU_ASSERT_EQUAL(call.err, 0);
	CU_ASSERT(!memcmp(call.verf, "VERIFIER", 8));
	CU_ASSERT_EQUAL(call.have_size, 0);
	stop();
}

static void
setsize_sets_the_size_and_nothing_else(void)
{
	struct wb_call call = { .kind = WB_CALL_SETSIZE, .offset = 12345 };
	SETATTR3res res = { .status = NFS3_OK };
	SETATTR3args args;

	start();
	queue(&call);
	decode_args(xdr_SETATTR3args, &args, sizeof args);
	CU_ASSERT_EQUAL(f.seen[0].info.proc, NFSPROC3_SETATTR);
	CU_ASSERT(args.new_attributes.size.set_it);
	CU_ASSERT_EQUAL(args.new_attributes.size.set_size3_u.size, 12345);
	CU_ASSERT(!args.new_attributes.mode.set_it);
	CU_ASSERT(!args.new_attributes.uid.set_it);
	CU_ASSERT_EQUAL(args.new_attributes.mtime.set_it, DONT_CHANGE);
	CU_ASSERT(!args.guard.check);
	xdr_free((xdrproc_t)xdr_SETATTR3args, &args);
	reply(xdr_SETATTR3res, &res);
	CU_ASSERT_EQUAL(call.err, 0);
	stop();
}

static void
data_that_can_not_be_read_is_efault_without_a_status(void)
{
	void *map = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	struct iovec iov = { map, 4096 };
	struct wb_call call = { .kind = WB_CALL_WRITE, .count = 4096,
				.iov = &iov, .iov_nr = 1, .nfs_status = 1 };

	CU_ASSERT_FATAL(map != MAP_FAILED);
	start();
	queue(&call);
	fake_run(&f);
	CU_ASSERT_EQUAL(done_nr, 1);
	CU_ASSERT_EQUAL(call.err, -EFAULT);
	CU_ASSERT_EQUAL(call.nfs_status, 0);
	stop();
	munmap(map, 4096);
}

static void
a_call_is_cancelled_with_its_client(void)
{
	struct wb_call call = { .kind = WB_CALL_COMMIT };

	start();
	queue(&call);
	transport_calls.raise(t, &call, WB_FOREGROUND);
	stop();
	CU_ASSERT_EQUAL(done_nr, 1);
	CU_ASSERT_EQUAL(call.err, -ECANCELED);
}

UNIT_TESTS(transport,
	UNIT(a_write_goes_out_and_its_answer_comes_back),
	UNIT(a_refused_write_brings_status_and_attributes),
	UNIT(jukebox_is_eagain),
	UNIT(a_commit_goes_out_and_its_verifier_comes_back),
	UNIT(setsize_sets_the_size_and_nothing_else),
	UNIT(data_that_can_not_be_read_is_efault_without_a_status),
	UNIT(a_call_is_cancelled_with_its_client),
)
