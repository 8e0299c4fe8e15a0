/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * transport.c - the pipeline's table of NFS calls, on rpc/'s client
 *
 * Turns a wb_call into WRITE, COMMIT or SETATTR and the reply back into the
 * call's answer.  No memory of its own: what a call needs is in the wb_call or
 * set aside in the client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/transport.h"
#include "rpc/nfs3.h"

struct transport {
	struct loop *loop;
	struct rpc_client *client;
	struct wb_server *watcher;
};

static const enum rpc_class rpc_class_of[] = {
	[WB_FOREGROUND] = RPC_FOREGROUND,
	[WB_NORMAL] = RPC_NORMAL,
	[WB_BACKGROUND] = RPC_BACKGROUND,
};

struct transport *
transport_new(struct loop *loop, struct rpc_client *client)
{
	struct transport *t = malloc(sizeof *t);

	if (t)
		*t = (struct transport){ .loop = loop, .client = client };
	return t;
}

static void
seen(void *arg, enum rpc_event event, uint32_t proc, uint64_t bytes,
     const struct rpc_timing *timing)
{
	struct transport *t = arg;
	uint64_t now = loop_now(t->loop), rtt = 0;

	if (event == RPC_SENT) {
		wb_server_foreground_sent(t->watcher, proc, bytes, now);
		return;
	}
	if (timing->replied > timing->last_byte)
		rtt = timing->replied - timing->last_byte;
	wb_server_foreground_ended(t->watcher, proc, bytes, rtt,
				   event == RPC_ANSWERED, now);
}

void
transport_watch(struct transport *t, struct wb_server *server)
{
	t->watcher = server;
	rpc_client_watch(t->client, seen, t);
}

void
transport_free(struct transport *t)
{
	free(t);
}

/* What any reply tells about the file. */
static void
take_attr(struct wb_call *call, const post_op_attr *attr)
{
	const fattr3 *a = &attr->post_op_attr_u.attributes;

	if (!attr->attributes_follow)
		return;
	call->have_size = 1;
	call->size_after = a->size;
	call->ctime_nsec = a->ctime.seconds * UINT64_C(1000000000) +
			   a->ctime.nseconds;
}

static void
take_attributes(struct wb_call *call, const wcc_data *wcc)
{
	take_attr(call, &wcc->after);
}

static void
take_status(struct wb_call *call, nfsstat3 status)
{
	call->nfs_status = status;
	call->err = nfs3_errno(status);
}

static void
take_write(struct wb_call *call, const WRITE3res *res)
{
	const WRITE3resok *ok = &res->WRITE3res_u.resok;

	take_status(call, res->status);
	if (res->status != NFS3_OK) {
		take_attributes(call, &res->WRITE3res_u.resfail.file_wcc);
		return;
	}
	take_attributes(call, &ok->file_wcc);
	call->written = ok->count;
	/* A value that RFC 1813 does not know promises nothing. */
	call->committed = ok->committed == FILE_SYNC ? WB_FILE_SYNC :
			  ok->committed == DATA_SYNC ? WB_DATA_SYNC :
						       WB_UNSTABLE;
	memcpy(call->verf, ok->verf, sizeof call->verf);
}

static void
take_commit(struct wb_call *call, const COMMIT3res *res)
{
	const COMMIT3resok *ok = &res->COMMIT3res_u.resok;

	take_status(call, res->status);
	if (res->status != NFS3_OK) {
		take_attributes(call, &res->COMMIT3res_u.resfail.file_wcc);
		return;
	}
	take_attributes(call, &ok->file_wcc);
	memcpy(call->verf, ok->verf, sizeof call->verf);
}

/* What it says and what it brought may differ; the lesser counts.  Who sends more
   than was asked for can't be believed in anything. */
static void
take_read(struct wb_call *call, const READ3res_head *res)
{
	const READ3resok_head *ok = &res->READ3res_head_u.resok;
	uint32_t n;

	take_status(call, res->status);
	if (res->status != NFS3_OK) {
		take_attr(call, &res->READ3res_head_u.resfail.file_attributes);
		return;
	}
	if (ok->data_length > call->count) {
		log_warning("the server sent %u bytes where %u were asked for: "
			    "taken as an I/O error", ok->data_length,
			    call->count);
		call->err = -EIO;
		return;
	}
	take_attr(call, &ok->file_attributes);
	n = ok->count < ok->data_length ? ok->count : ok->data_length;
	call->read = n;
	call->eof = ok->eof && n == ok->data_length;
}

static void
take_setattr(struct wb_call *call, const SETATTR3res *res)
{
	take_status(call, res->status);
	take_attributes(call, res->status == NFS3_OK ?
			      &res->SETATTR3res_u.resok.obj_wcc :
			      &res->SETATTR3res_u.resfail.obj_wcc);
}

static void
clear_answer(struct wb_call *call)
{
	call->err = 0;
	call->nfs_status = 0;
	call->written = 0;
	call->read = 0;
	call->eof = false;
	call->committed = WB_UNSTABLE;
	memset(call->verf, 0, sizeof call->verf);
	call->size_after = 0;
	call->have_size = 0;
	call->ctime_nsec = 0;
	call->transmissions = 0;
	call->sent_usec = 0;
}

static void
on_done(void *arg, int err, const void *res, const struct rpc_timing *timing)
{
	struct wb_call *call = arg;

	clear_answer(call);
	call->err = err;
	call->transmissions = timing->transmissions;
	call->sent_usec = timing->first_byte;
	call->transport = NULL;
	if (!err && call->kind == WB_CALL_WRITE)
		take_write(call, res);
	else if (!err && call->kind == WB_CALL_COMMIT)
		take_commit(call, res);
	else if (!err && call->kind == WB_CALL_READ)
		take_read(call, res);
	else if (!err)
		take_setattr(call, res);
	call->done(call, timing->replied);
}

static nfs_fh3
handle_of(const struct wb_call *call)
{
	union {
		const unsigned char *in;
		char *out;		/* encoding only reads it */
	} u = { call->fh->data };

	return (nfs_fh3){ .data = { .data_len = call->fh->len,
				    .data_val = u.out } };
}

static int
send_call(struct transport *t, struct wb_call *call, struct rpc_request *r)
{
	struct rpc_call *sent;
	int err;

	r->class = rpc_class_of[call->class];
	r->ahead = call->ahead;
	r->cred = call->cred;
	r->done = on_done;
	r->arg = call;
	call->transport = NULL;
	err = rpc_client_call(t->client, r, &sent);
	if (!err)
		call->transport = sent;
	return err;
}

static int
queue_write(struct transport *t, struct wb_call *call)
{
	WRITE3args_head args = {
		.file = handle_of(call),
		.offset = call->offset,
		.count = call->count,
		.stable = call->stable == WB_FILE_SYNC ? FILE_SYNC :
			  call->stable == WB_DATA_SYNC ? DATA_SYNC : UNSTABLE,
		.data_length = call->count,
	};
	struct rpc_request r = {
		.proc = NFSPROC3_WRITE,
		.encode = xdr_WRITE3args_head,
		.args = &args,
		.iov = call->iov,
		.iov_nr = call->iov_nr,
		.payload_bytes = call->count,
		.decode = xdr_WRITE3res,
		.res_bytes = sizeof(WRITE3res),
	};

	return send_call(t, call, &r);
}

static int
queue_commit(struct transport *t, struct wb_call *call)
{
	COMMIT3args args = {
		.file = handle_of(call),
		.offset = call->offset,
		.count = call->count,
	};
	struct rpc_request r = {
		.proc = NFSPROC3_COMMIT, .apart = true,
		.encode = xdr_COMMIT3args,
		.args = &args,
		.decode = xdr_COMMIT3res,
		.res_bytes = sizeof(COMMIT3res),
	};

	return send_call(t, call, &r);
}

static int
queue_setsize(struct transport *t, struct wb_call *call)
{
	SETATTR3args args;
	struct rpc_request r = {
		.proc = NFSPROC3_SETATTR,
		.encode = xdr_SETATTR3args,
		.args = &args,
		.decode = xdr_SETATTR3res,
		.res_bytes = sizeof(SETATTR3res),
	};

	memset(&args, 0, sizeof args);
	args.object = handle_of(call);
	args.new_attributes.size.set_it = TRUE;
	args.new_attributes.size.set_size3_u.size = call->offset;
	return send_call(t, call, &r);
}

static int
queue_read(struct transport *t, struct wb_call *call)
{
	READ3args args = {
		.file = handle_of(call),
		.offset = call->offset,
		.count = call->count,
	};
	struct rpc_request r = {
		.proc = NFSPROC3_READ,
		.encode = xdr_READ3args,
		.args = &args,
		.decode = xdr_READ3res_head,
		.res_bytes = sizeof(READ3res_head),
		.into = call->iov,
		.into_nr = call->iov_nr,
		.payload = nfs3_read_payload,
	};

	return send_call(t, call, &r);
}

static int
transport_queue(void *arg, struct wb_call *call)
{
	switch (call->kind) {
	case WB_CALL_WRITE:
		return queue_write(arg, call);
	case WB_CALL_COMMIT:
		return queue_commit(arg, call);
	case WB_CALL_SETSIZE:
		return queue_setsize(arg, call);
	case WB_CALL_READ:
		return queue_read(arg, call);
	}
	return -EINVAL;
}

static void
transport_raise(void *arg, struct wb_call *call, enum wb_class class)
{
	(void)arg;
	if (call->transport)
		rpc_call_raise(call->transport, rpc_class_of[class]);
}

static void
transport_background_depth(void *arg, unsigned depth)
{
	struct transport *t = arg;

	rpc_client_set_background_depth(t->client, depth);
}

static void
transport_drop_data(void *arg, struct wb_call *call)
{
	(void)arg;
	if (call->transport)
		rpc_call_drop_payload(call->transport);
}

static void
transport_yield(void *arg, bool yield)
{
	struct transport *t = arg;

	rpc_client_yield(t->client, yield);
}

const struct wb_calls transport_calls = {
	.queue = transport_queue,
	.raise = transport_raise,
	.background_depth = transport_background_depth,
	.drop_data = transport_drop_data,
	.yield = transport_yield,
};
