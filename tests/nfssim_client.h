/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_client.h - a client of nfssim for its own tests, one call at a time
 *
 * To be included by one file of a test: all of it is static.
 */
#ifndef NFSWB_TESTS_NFSSIM_CLIENT_H
#define NFSWB_TESTS_NFSSIM_CLIENT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/record.h"
#include "rpc/message.h"
#include "rpc/nfs3.h"
#include "tests/nfssim.h"
#include "tests/unit.h"
#include "tests/vloop.h"

static struct loop *l;
static struct nfssim *sim;
static int fd;			/* the client's end */
static struct record_reader reader;
static uint32_t xid;
static struct cred *cred;

static inline void
start(const struct nfssim_options *opt)
{
	static const gid_t group[] = { 7, 8, 9 };
	static const struct nfssim_options none;

	l = vloop_new(1000000);
	sim = nfssim_new(l, opt ? opt : &none);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sim);
	fd = nfssim_connect(sim);
	CU_ASSERT_FATAL(fd >= 0);
	record_reader_init(&reader, 2 << 20);
	cred = cred_get(1000, 100, group, 3);
}

static inline void
stop(void)
{
	nfssim_free(sim);
	loop_free(l);
	if (fd >= 0)
		close(fd);
	record_reader_free(&reader);
	cred_put(cred);
}

static inline void
send_call(uint32_t prog, uint32_t proc, rpc_xdr_fn *encode, const void *args)
{
	struct rpc_call_header h = { .xid = ++xid, .prog = prog, .vers = 3,
				     .proc = proc, .cred = cred,
				     .machine = "tester" };
	static char buf[(1 << 20) + 4096];
	ssize_t len = rpc_encode_call(buf, sizeof buf, &h, encode, args, 0);
	ssize_t at = 0, n;
	unsigned full = 0;

	CU_ASSERT_FATAL(len > 0);
	while (at < len) {
		n = send(fd, buf + at, (size_t)(len - at), MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return;
		if (n < 0)	/* a slow link needs time to take more */
			vloop_pass(l, full++ ? 100 : 0);
		else
			full = 0;
		at += n > 0 ? n : 0;
	}
}

/* One reply is here: its xid; 0: none now; -1: the connection ended. */
static inline int64_t
take_reply(struct rpc_reply *reply, XDR *x)
{
	static char buf[65536];
	static size_t len, at;
	size_t used;
	ssize_t n;

	for (;;) {
		if (at < len) {
			int ret = record_feed(&reader, buf + at, len - at,
					      &used);

			at += used;
			if (ret == 1)
				break;
		}
		n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		len = (size_t)n;
		at = 0;
	}
	xdrmem_create(x, (char *)reader.data, (u_int)reader.length,
		      XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_reply(x, reply), 0);
	return reply->xid;
}

static struct rpc_reply got;
static XDR got_xdr;
static int64_t got_xid;

static inline bool
reply_came(void *arg)
{
	(void)arg;
	got_xid = take_reply(&got, &got_xdr);
	return got_xid != 0;
}

/* Calls and waits for the reply; res is zeroed first.  false: none came. */
static inline bool
call(uint32_t prog, uint32_t proc, rpc_xdr_fn *encode, const void *args,
     rpc_xdr_fn *decode, void *res, size_t res_bytes)
{
	send_call(prog, proc, encode, args);
	if (!vloop_run_until(l, reply_came, NULL, 10000000) || got_xid < 0)
		return false;
	CU_ASSERT_EQUAL(got_xid, xid);
	CU_ASSERT_EQUAL_FATAL(got.err, 0);
	if (res_bytes)
		memset(res, 0, res_bytes);
	CU_ASSERT_FATAL(!decode || ((xdrproc_t)decode)(&got_xdr, res));
	return true;
}

#define NFS(proc, args, res) \
	call(NFSSIM_NFS, NFSPROC3_##proc, (rpc_xdr_fn *)xdr_##proc##3args, \
	     args, (rpc_xdr_fn *)xdr_##proc##3res, res, sizeof *(res))

static inline nfs_fh3
handle(const struct fh *fh)
{
	nfs_fh3 h;

	h.data.data_len = fh->len;
	h.data.data_val = (char *)fh->data;
	return h;
}

static inline struct fh
fh_of(const nfs_fh3 *h)
{
	struct fh fh;

	fh_set(&fh, h->data.data_val, h->data.data_len);
	return fh;
}

/* short forms for one procedure each; they answer the status */

static WRITE3res wrote;

static inline int
do_write(const struct fh *fh, uint64_t offset, const char *text, int stable)
{
	WRITE3args a = { .file = handle(fh), .offset = offset,
			 .count = (uint32_t)strlen(text),
			 .stable = (stable_how)stable };

	a.data.data_len = a.count;
	a.data.data_val = (char *)text;
	return NFS(WRITE, &a, &wrote) ? (int)wrote.status : -1;
}

static COMMIT3res committed;

static inline int
do_commit(const struct fh *fh, uint64_t offset, uint32_t count)
{
	COMMIT3args a = { handle(fh), offset, count };

	return NFS(COMMIT, &a, &committed) ? (int)committed.status : -1;
}

static inline int
do_lookup(const struct fh *dir, const char *name, struct fh *out)
{
	LOOKUP3args a = { { handle(dir), (char *)name } };
	LOOKUP3res r;
	int st;

	CU_ASSERT(NFS(LOOKUP, &a, &r));
	st = (int)r.status;
	if (st == NFS3_OK)
		*out = fh_of(&r.LOOKUP3res_u.resok.object);
	xdr_free((xdrproc_t)xdr_LOOKUP3res, &r);
	return st;
}

static inline int
do_create(const struct fh *dir, const char *name, createmode3 mode,
	  const char *verf, struct fh *out)
{
	CREATE3args a = { .where = { handle(dir), (char *)name },
			  .how = { .mode = mode } };
	CREATE3res r;
	int st;

	if (mode == EXCLUSIVE)
		memcpy(a.how.createhow3_u.verf, verf, 8);
	CU_ASSERT(NFS(CREATE, &a, &r));
	st = (int)r.status;
	if (st == NFS3_OK && out)
		*out = fh_of(&r.CREATE3res_u.resok.obj.post_op_fh3_u.handle);
	xdr_free((xdrproc_t)xdr_CREATE3res, &r);
	return st;
}

static inline int
do_mkdir(const struct fh *dir, const char *name, struct fh *out)
{
	MKDIR3args a = { .where = { handle(dir), (char *)name } };
	MKDIR3res r;
	int st;

	CU_ASSERT(NFS(MKDIR, &a, &r));
	st = (int)r.status;
	if (st == NFS3_OK && out)
		*out = fh_of(&r.MKDIR3res_u.resok.obj.post_op_fh3_u.handle);
	xdr_free((xdrproc_t)xdr_MKDIR3res, &r);
	return st;
}

static inline int
do_remove(const struct fh *dir, const char *name, bool is_dir)
{
	REMOVE3args a = { { handle(dir), (char *)name } };
	REMOVE3res r;

	CU_ASSERT(call(NFSSIM_NFS, is_dir ? NFSPROC3_RMDIR : NFSPROC3_REMOVE,
		       (rpc_xdr_fn *)xdr_REMOVE3args, &a,
		       (rpc_xdr_fn *)xdr_REMOVE3res, &r, sizeof r));
	return (int)r.status;
}

static inline int
do_rename(const struct fh *from, const char *a_name, const struct fh *to,
	  const char *b_name)
{
	RENAME3args a = { { handle(from), (char *)a_name },
			  { handle(to), (char *)b_name } };
	RENAME3res r;

	CU_ASSERT(NFS(RENAME, &a, &r));
	return (int)r.status;
}

static GETATTR3res attr;

static inline int
do_getattr(const struct fh *fh)
{
	GETATTR3args a = { handle(fh) };

	CU_ASSERT(NFS(GETATTR, &a, &attr));
	return (int)attr.status;
}

#define ATTR attr.GETATTR3res_u.resok.obj_attributes

static inline int
do_set_size(const struct fh *fh, uint64_t size)
{
	SETATTR3args a = { .object = handle(fh) };
	SETATTR3res r;

	a.new_attributes.size.set_it = TRUE;
	a.new_attributes.size.set_size3_u.size = size;
	CU_ASSERT(NFS(SETATTR, &a, &r));
	return (int)r.status;
}

static inline const char *
text_of(const char *path, enum nfssim_which which)
{
	static char text[256];
	int64_t n = nfssim_read(sim, path, which, 0, text, sizeof text - 1);

	text[n > 0 ? n : 0] = 0;
	return text;
}

#endif
