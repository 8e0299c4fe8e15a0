/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * answer.c - replies, and the end of a call
 *
 * A reply is matched by its xid, decoded where it lies and handed to done.  Two
 * kinds are put off: the reply to a call of which a copy is half sent (the
 * payload must stay until that is out), and failures, whose done must not be
 * called from inside what found them.  Done may do anything, freeing the client
 * included.
 *
 * A payload is received straight into the memory of its call (payload.h), which
 * is written to by nobody once the call has ended: what of the reply is still to
 * come is dropped then, and so is every later copy, since its xid is known no
 * more.
 */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "rpc/nfs3.h"
#include "rpc/parts.h"
#include "rpc/timing.h"

static void
leave_list(struct rpc_client *c, struct rpc_call *call)
{
	switch (call->state) {
	case CALL_WAITING:
		break;		/* slots_remove does it */
	case CALL_SENDING:
	case CALL_IN_FLIGHT:
		answer_drop(call);
		lane_remove(call);
		break;
	case CALL_READY:
		TAILQ_REMOVE(&c->ready, call, link);
		return;
	}
	slots_remove(&c->slots, call);
	call_forget_xid(call);
}

void
answer_drop(const struct rpc_call *call)
{
	if (call->lane && call->lane->connection.payload.owner == call)
		payload_drop(&call->lane->connection.payload);
}

void
answer_later(struct rpc_client *c, struct rpc_call *call, int err)
{
	leave_list(c, call);
	call->err = err;
	call->state = CALL_READY;
	TAILQ_INSERT_TAIL(&c->ready, call, link);
	loop_defer(c->loop, c->pump);
}

/* The end.  The call must be in no list any more. */
static void
finish(struct rpc_client *c, struct rpc_call *call, int err, const void *res)
{
	call->timing.replied = loop_now(c->loop);
	timing_count(&c->ops[call->proc], call, err);
	gate_ended(&c->gate, call, call->timing.replied);
	client_tell(c, call, err ? RPC_LOST : RPC_ANSWERED);
	c->outstanding--;
	call->done(call->arg, err, res, &call->timing);
	call_free(&c->table, call);
	if (!c->freed)
		loop_defer(c->loop, c->pump);	/* a slot is free */
}

static void
log_refusal(struct rpc_client *c, const struct rpc_call *call,
	    const struct rpc_reply *reply)
{
	if (!c->denial_said)
		log_warning("%s: %s: %s%s", c->name,
			    rpc_is_nfs(c) ? nfs3_proc_name(call->proc) : "call",
			    reply->why, reply->privileged_port ?
			    " (it may want a source port below 1024: see "
			    "resvport)" : "");
	c->denial_said = true;
}

/* Of a payload that was received in place: as it was announced? */
static int
check_placed(const struct payload *p, uint64_t bytes, XDR *x)
{
	if (p->faulted)
		return -EFAULT;
	if (p->bytes != bytes || payload_left(p))
		return -EIO;		/* the record ended before it */
	return !rpc_pad(bytes) || XDR_INLINE(x, rpc_pad(bytes)) ? 0 : -EIO;
}

/* One that came with the record, whose call had not wholly left. */
static int
copy_payload(const struct rpc_call *call, uint64_t bytes, XDR *x)
{
	struct payload p = { .iov = call->into, .bytes = bytes,
			     .iov_nr = call->into ? call->into_nr : 0 };
	const void *data;

	if (!bytes)
		return 0;
	if (bytes > INT32_MAX)
		return -EIO;
	data = XDR_INLINE(x, (u_int)bytes + rpc_pad(bytes));
	if (!data)
		return -EIO;
	payload_copy(&p, data, (size_t)bytes);
	return 0;
}

/* x stands behind the head. */
static int
take_payload(struct rpc_client *c, const struct rpc_call *call,
	     const struct payload *p, XDR *x)
{
	int64_t bytes = call->payload ? call->payload(c->result) : -1;

	if (bytes < 0)
		return 0;
	return p->owner == call ? check_placed(p, (uint64_t)bytes, x) :
				  copy_payload(call, (uint64_t)bytes, x);
}

/* Hands over a reply whose header is decoded; x stands at the results, and
   p tells of its payload. */
static void
finish_reply(struct rpc_client *c, struct rpc_call *call,
	     const struct rpc_reply *reply, const struct payload *p, XDR *x)
{
	xdrproc_t decode = (xdrproc_t)call->decode;
	int err;

	if (reply->err) {
		log_refusal(c, call, reply);
		finish(c, call, reply->err, NULL);
		return;
	}
	c->denial_said = false;
	if (!decode) {
		finish(c, call, 0, NULL);
		return;
	}
	memset(c->result, 0, call->res_bytes);
	err = decode(x, c->result) ? take_payload(c, call, p, x) : -EIO;
	if (err == -EIO)
		log_warning("%s: %s: the server's reply can't be decoded",
			    c->name, rpc_is_nfs(c) ?
			    nfs3_proc_name(call->proc) : "call");
	finish(c, call, err, err ? NULL : c->result);
	xdr_free(decode, c->result);
}

static int
decode_header(const void *data, size_t len, XDR *x, struct rpc_reply *reply)
{
	union {
		const void *in;
		char *out;
	} u = { data };

	xdrmem_create(x, u.out, (u_int)len, XDR_DECODE);
	return rpc_decode_reply(x, reply);
}

/* Its payload's length, and x behind the head; -1: none, or the head is not whole
   yet. */
static int64_t
payload_length(struct rpc_client *c, const struct rpc_call *call, XDR *x)
{
	xdrproc_t decode = (xdrproc_t)call->decode;
	int64_t bytes = -1;

	memset(c->result, 0, call->res_bytes);
	if (decode(x, c->result))
		bytes = call->payload(c->result);
	xdr_free(decode, c->result);
	return bytes;
}

/* Another connection's reply is none. */
static struct rpc_call *
find(const struct lane *l, uint32_t xid)
{
	struct rpc_call *call = call_find(&l->client->table, xid);

	return call && call->lane == l ? call : NULL;
}

size_t
answer_head(struct lane *l, const void *data, size_t len, struct payload *p)
{
	struct rpc_client *c = l->client;
	struct rpc_reply reply;
	struct rpc_call *call;
	int64_t bytes;
	uint32_t xid;
	XDR x;

	p->known = true;
	if (rpc_peek_reply(data, len, &xid) < 0)
		return 0;
	call = find(l, xid);
	/* of one that is half sent, or answered already, nothing is placed */
	if (!call || !call->into_nr || call->early || call_is_half_sent(call))
		return 0;
	p->known = false;
	if (decode_header(data, len, &x, &reply) < 0 || reply.err)
		return 0;
	bytes = payload_length(c, call, &x);
	if (bytes < 0)
		return 0;
	p->known = true;
	p->owner = call;
	p->iov = call->into;
	p->iov_nr = call->into ? call->into_nr : 0;
	p->bytes = (uint64_t)bytes;
	return xdr_getpos(&x);
}

int
answer_record(struct lane *l, const void *data, size_t len)
{
	const struct payload *p = &l->connection.payload;
	struct rpc_client *c = l->client;
	struct rpc_call *call;
	struct rpc_reply reply;
	uint32_t xid;
	XDR x;

	if (rpc_peek_reply(data, len, &xid) < 0)
		return -EBADMSG;
	call = find(l, xid);
	if (!call) {
		log_debug("%s: reply to unknown xid %#x ignored",
			  c->name, xid);
		return 0;
	}
	if (decode_header(data, len, &x, &reply) < 0)
		return -EBADMSG;
	c->ops[call->proc].bytes_recv += len + p->at;
	if (call_is_half_sent(call)) {
		if (call_keep_reply(call, data, len, p) < 0)
			log_warning("%s: no memory to keep a reply; the call "
				    "is sent again", c->name);
		return 0;
	}
	leave_list(c, call);
	finish_reply(c, call, &reply, p, &x);
	return 0;
}

static void
finish_kept(struct rpc_client *c, struct rpc_call *call)
{
	struct rpc_reply reply;
	XDR x;

	if (decode_header(call->early, call->early_len, &x, &reply) < 0)
		finish(c, call, -EIO, NULL);	/* it decoded when it came */
	else
		finish_reply(c, call, &reply, &call->early_payload, &x);
}

void
answer_ready(struct rpc_client *c)
{
	struct rpc_call *call;

	while ((call = TAILQ_FIRST(&c->ready))) {
		leave_list(c, call);
		if (call->early && !call->err)
			finish_kept(c, call);
		else
			finish(c, call, call->err, NULL);
	}
}
