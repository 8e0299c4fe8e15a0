/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * answer.c - replies, and the end of a call
 *
 * A reply is matched by its xid, decoded where it lies and handed to done.  Two
 * kinds are put off: the reply to a call of which a copy is half sent (the
 * payload must stay until that is out), and failures, whose done must not be
 * called from inside what found them.  Done may do anything, freeing the client
 * included.
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
		send_remove(&c->send, call);
		break;
	case CALL_IN_FLIGHT:
		TAILQ_REMOVE(&c->in_flight, call, link);
		break;
	case CALL_READY:
		TAILQ_REMOVE(&c->ready, call, link);
		return;
	}
	slots_remove(&c->slots, call);
	call_forget_xid(call);
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
		log_warning("%s: %s: %s%s", c->connection.name,
			    rpc_is_nfs(c) ? nfs3_proc_name(call->proc) : "call",
			    reply->why, reply->privileged_port ?
			    " (it may want a source port below 1024: see "
			    "resvport)" : "");
	c->denial_said = true;
}

/* Hands over a reply whose header is decoded; x stands at the results. */
static void
finish_reply(struct rpc_client *c, struct rpc_call *call,
	     const struct rpc_reply *reply, XDR *x)
{
	xdrproc_t decode = (xdrproc_t)call->decode;
	bool ok;

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
	ok = decode(x, c->result);
	if (!ok)
		log_warning("%s: %s: the server's reply can't be decoded",
			    c->connection.name, rpc_is_nfs(c) ?
			    nfs3_proc_name(call->proc) : "call");
	finish(c, call, ok ? 0 : -EIO, ok ? c->result : NULL);
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

int
answer_record(struct rpc_client *c, const void *data, size_t len)
{
	struct rpc_call *call;
	struct rpc_reply reply;
	uint32_t xid;
	XDR x;

	if (rpc_peek_reply(data, len, &xid) < 0)
		return -EBADMSG;
	call = call_find(&c->table, xid);
	if (!call) {
		log_debug("%s: reply to unknown xid %#x ignored",
			  c->connection.name, xid);
		return 0;
	}
	if (decode_header(data, len, &x, &reply) < 0)
		return -EBADMSG;
	c->ops[call->proc].bytes_recv += len;
	if (call_is_half_sent(call)) {
		if (call_keep_reply(call, data, len) < 0)
			log_warning("%s: no memory to keep a reply; the call "
				    "is sent again", c->connection.name);
		return 0;
	}
	leave_list(c, call);
	finish_reply(c, call, &reply, &x);
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
		finish_reply(c, call, &reply, &x);
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
