/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs_names.c - the typed NFSv3 calls of an operation
 *
 * All are foreground: somebody waits; and they go before WRITEs that are waited for
 * as well, of which there may be many.  JUKEBOX is nobody's business but ours:
 * the same call goes out again after a growing, jittered delay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/namespace_impl.h"

#define JUKEBOX_MIN_USEC 100000
#define JUKEBOX_DOUBLINGS 6		/* up to 6.4 s */

static const struct {
	rpc_xdr_fn *encode, *decode;
	size_t res_bytes;
} codecs[] = {
#define CODEC(NAME) [NFSPROC3_##NAME] = { (rpc_xdr_fn *)xdr_##NAME##3args, \
		(rpc_xdr_fn *)xdr_##NAME##3res, sizeof(NAME##3res) }
	CODEC(GETATTR), CODEC(SETATTR), CODEC(LOOKUP), CODEC(ACCESS),
	CODEC(READLINK), CODEC(WRITE), CODEC(CREATE), CODEC(MKDIR),
	CODEC(SYMLINK), CODEC(REMOVE), CODEC(RMDIR), CODEC(RENAME),
#undef CODEC
	/* its payload stays in the record */
	[NFSPROC3_READ] = { (rpc_xdr_fn *)xdr_READ3args,
			    (rpc_xdr_fn *)nfs3_xdr_read_res,
			    sizeof(READ3res) },
};

static void call_out(struct op *);

static void
retry_now(void *arg)
{
	struct op *op = arg;

	op->retry(op);
}

void
op_retry_later(struct op *op, void (*retry)(struct op *))
{
	struct op_call *c = &op->call;
	uint64_t delay;

	if (!op->timer)
		op->timer = loop_timer(op->ns->loop, retry_now, op);
	if (!op->timer) {
		op_fail(op, -ENOMEM, NULL);
		return;
	}
	delay = JUKEBOX_MIN_USEC << (c->jukebox_nr < JUKEBOX_DOUBLINGS ?
				     c->jukebox_nr : JUKEBOX_DOUBLINGS);
	delay += (uint64_t)random() % (delay / 4);
	c->jukebox_nr++;
	op->retry = retry;
	loop_timer_set(op->ns->loop, op->timer, delay);
}

static void
call_came(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	struct op *op = arg;
	struct op_call *c = &op->call;

	if (t && t->transmissions > c->transmissions)
		c->transmissions = t->transmissions;
	if (err) {
		c->reply(op, err, NULL);
		return;
	}
	/* Every result begins with its status. */
	err = nfs3_errno(*(const nfsstat3 *)res);
	if (err == -EAGAIN) {
		wb_server_delayed(op->server->wb);
		op_retry_later(op, call_out);
	} else {
		c->reply(op, err, res);
	}
}

static void
call_out(struct op *op)
{
	struct op_call *c = &op->call;
	struct rpc_request r = {
		.proc = c->proc, .class = RPC_FOREGROUND, .ahead = true,
		.cred = op->cred,
		.encode = codecs[c->proc].encode, .args = &c->args,
		.decode = codecs[c->proc].decode,
		.res_bytes = codecs[c->proc].res_bytes,
		.reply_bytes = c->proc == NFSPROC3_READ ?
			       c->args.read.count : 0,
		.done = call_came, .arg = op,
	};
	int err = rpc_client_call(op->server->rpc, &r, NULL);

	if (err)
		op_fail(op, err == -EINVAL ? -ENAMETOOLONG : err, NULL);
}

static void
call(struct op *op, uint32_t proc, op_reply_fn *reply)
{
	op->call.proc = proc;
	op->call.reply = reply;
	op->call.jukebox_nr = 0;
	op->call.transmissions = 0;
	call_out(op);
}

/* ---- arguments ---- */

/* The handle is copied, so that the call does not depend on its owner. */
static nfs_fh3
keep_fh(struct fh *place, const struct fh *fh)
{
	nfs_fh3 out;

	if (place != fh)
		*place = *fh;
	out.data.data_len = place->len;
	out.data.data_val = (char *)place->data;
	return out;
}

static diropargs3
keep_entry(struct fh *place, const struct fh *dir, const char *name)
{
	diropargs3 out;

	out.dir = keep_fh(place, dir);
	out.name = (char *)name;
	return out;
}

void
op_getattr(struct op *op, const struct fh *fh, op_reply_fn *reply)
{
	op->call.args.getattr.object = keep_fh(&op->call.fh, fh);
	call(op, NFSPROC3_GETATTR, reply);
}

void
op_setattr(struct op *op, const struct fh *fh, const sattr3 *attr,
	   op_reply_fn *reply)
{
	SETATTR3args *a = &op->call.args.setattr;

	a->object = keep_fh(&op->call.fh, fh);
	a->new_attributes = *attr;
	a->guard.check = FALSE;
	call(op, NFSPROC3_SETATTR, reply);
}

void
op_lookup(struct op *op, const struct fh *dir, const char *name,
	  op_reply_fn *reply)
{
	op->call.args.lookup.what = keep_entry(&op->call.fh, dir, name);
	call(op, NFSPROC3_LOOKUP, reply);
}

void
op_access(struct op *op, const struct fh *fh, uint32_t bits,
	  op_reply_fn *reply)
{
	op->call.args.access.object = keep_fh(&op->call.fh, fh);
	op->call.args.access.access = bits;
	call(op, NFSPROC3_ACCESS, reply);
}

void
op_readlink(struct op *op, const struct fh *fh, op_reply_fn *reply)
{
	op->call.args.readlink.symlink = keep_fh(&op->call.fh, fh);
	call(op, NFSPROC3_READLINK, reply);
}

void
op_read(struct op *op, const struct fh *fh, uint64_t offset, uint32_t count,
	op_reply_fn *reply)
{
	READ3args *a = &op->call.args.read;

	a->file = keep_fh(&op->call.fh, fh);
	a->offset = offset;
	a->count = count;
	call(op, NFSPROC3_READ, reply);
}

void
op_write_nothing(struct op *op, const struct fh *fh, op_reply_fn *reply)
{
	WRITE3args *a = &op->call.args.write;

	memset(a, 0, sizeof *a);
	a->file = keep_fh(&op->call.fh, fh);
	a->stable = UNSTABLE;
	call(op, NFSPROC3_WRITE, reply);
}

void
op_create(struct op *op, const struct fh *dir, const char *name,
	  const createhow3 *how, op_reply_fn *reply)
{
	op->call.args.create.where = keep_entry(&op->call.fh, dir, name);
	op->call.args.create.how = *how;
	call(op, NFSPROC3_CREATE, reply);
}

void
op_mkdir(struct op *op, const struct fh *dir, const char *name,
	 const sattr3 *attr, op_reply_fn *reply)
{
	op->call.args.mkdir.where = keep_entry(&op->call.fh, dir, name);
	op->call.args.mkdir.attributes = *attr;
	call(op, NFSPROC3_MKDIR, reply);
}

void
op_symlink(struct op *op, const struct fh *dir, const char *name,
	   const char *content, op_reply_fn *reply)
{
	SYMLINK3args *a = &op->call.args.symlink;

	a->where = keep_entry(&op->call.fh, dir, name);
	sattr_from_mode(&a->symlink.symlink_attributes, 0777);
	a->symlink.symlink_data = (char *)content;
	call(op, NFSPROC3_SYMLINK, reply);
}

void
op_remove(struct op *op, const struct fh *dir, const char *name,
	  op_reply_fn *reply)
{
	op->call.args.remove.object = keep_entry(&op->call.fh, dir, name);
	call(op, NFSPROC3_REMOVE, reply);
}

void
op_rmdir(struct op *op, const struct fh *dir, const char *name,
	 op_reply_fn *reply)
{
	op->call.args.rmdir.object = keep_entry(&op->call.fh, dir, name);
	call(op, NFSPROC3_RMDIR, reply);
}

void
op_rename(struct op *op, const struct fh *from, const char *name,
	  const struct fh *to, const char *to_name, op_reply_fn *reply)
{
	op->call.args.rename.from = keep_entry(&op->call.fh, from, name);
	op->call.args.rename.to = keep_entry(&op->call.fh2, to, to_name);
	call(op, NFSPROC3_RENAME, reply);
}
