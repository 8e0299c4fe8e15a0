/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * message.c - ONC RPC calls and replies to bytes and back, by libtirpc's XDR
 *
 *	mark | xid CALL 2 prog vers proc | cred | verf | arguments ┊ payload pad
 *	mark | xid REPLY ACCEPTED | verf | stat | results          ┊ payload pad
 *
 * What lies left of ┊ is encoded here; the rest never passes through.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/record.h"
#include "rpc/message.h"

#define MARK 4
#define XID_AT MARK

/* libtirpc wants arguments that it only reads without const. */
static void *
unconst(const void *p)
{
	union {
		const void *in;
		void *out;
	} u = { p };

	return u.out;
}

static xdrproc_t
xdrproc(rpc_xdr_fn *fn)
{
	return (xdrproc_t)fn;
}

static bool_t
no_results(XDR *x, ...)
{
	(void)x;
	return TRUE;
}

/* AUTH_SYS' body into buf; its length, or -EINVAL. */
static int
encode_auth_sys(char buf[MAX_AUTH_BYTES], const struct cred *cred,
		const char *machine)
{
	char name[RPC_MACHINE_MAX + 1] = "";
	struct authunix_parms sys = {
		.aup_machname = name,
		.aup_uid = cred->uid,
		.aup_gid = cred->gid,
		.aup_len = cred->group_nr,
		.aup_gids = unconst(cred->group),
	};
	XDR x;

	strncat(name, machine, RPC_MACHINE_MAX);
	xdrmem_create(&x, buf, MAX_AUTH_BYTES, XDR_ENCODE);
	return xdr_authunix_parms(&x, &sys) ? (int)xdr_getpos(&x) : -EINVAL;
}

/* Writes the mark for what stands behind it, and payload to come. */
static ssize_t
finish_record(void *buf, XDR *x, uint64_t payload_bytes)
{
	uint64_t bytes = xdr_getpos(x);
	uint64_t all = bytes + payload_bytes + rpc_pad(payload_bytes);

	if (all >= RECORD_LAST)
		return -EINVAL;
	record_mark(buf, all);
	return (ssize_t)(MARK + bytes);
}

ssize_t
rpc_encode_call(void *buf, size_t room, const struct rpc_call_header *h,
		rpc_xdr_fn *encode, const void *args, uint64_t payload_bytes)
{
	char auth[MAX_AUTH_BYTES];
	struct rpc_msg msg = {
		.rm_xid = h->xid,
		.rm_direction = CALL,
		.rm_call = {
			.cb_rpcvers = RPC_MSG_VERSION,
			.cb_prog = h->prog,
			.cb_vers = h->vers,
			.cb_proc = h->proc,
		},
	};
	XDR x;
	int len;

	if (h->cred) {
		len = encode_auth_sys(auth, h->cred, h->machine);
		if (len < 0)
			return len;
		msg.rm_call.cb_cred.oa_flavor = AUTH_SYS;
		msg.rm_call.cb_cred.oa_base = auth;
		msg.rm_call.cb_cred.oa_length = (u_int)len;
	}
	if (room <= MARK)
		return -ENOSPC;
	xdrmem_create(&x, (char *)buf + MARK, (u_int)(room - MARK), XDR_ENCODE);
	if (!xdr_callmsg(&x, &msg) ||
	    (encode && !xdrproc(encode)(&x, unconst(args))))
		return -ENOSPC;
	return finish_record(buf, &x, payload_bytes);
}

size_t
rpc_call_room(rpc_xdr_fn *encode, const void *args)
{
	size_t header = MARK + 10 * 4 + MAX_AUTH_BYTES;

	return header + (encode ? xdr_sizeof(xdrproc(encode), unconst(args)) :
				  0);
}

void
rpc_set_xid(void *buf, uint32_t xid)
{
	uint32_t be = htonl(xid);

	memcpy((char *)buf + XID_AT, &be, sizeof be);
}

int
rpc_peek_reply(const void *record, size_t len, uint32_t *xid)
{
	uint32_t word[2];

	if (len < sizeof word)
		return -EBADMSG;
	memcpy(word, record, sizeof word);
	if (ntohl(word[1]) != REPLY)
		return -EBADMSG;
	*xid = ntohl(word[0]);
	return 0;
}

static void
say_accepted(const struct accepted_reply *a, struct rpc_reply *out)
{
	switch (a->ar_stat) {
	case SUCCESS:
		return;
	case PROG_UNAVAIL:
		out->why = "the server has no such program";
		break;
	case PROG_MISMATCH:
		out->why = "the server has the program in another version";
		break;
	case PROC_UNAVAIL:
		out->why = "the server has no such procedure";
		break;
	case GARBAGE_ARGS:
		out->why = "the server could not decode the arguments";
		break;
	case SYSTEM_ERR:
		out->why = "the server ran into an error of its own system";
		break;
	}
	out->err = -EIO;
	if (!out->why)
		out->why = "the server answered with an unknown status";
}

static void
say_rejected(const struct rejected_reply *r, struct rpc_reply *out)
{
	if (r->rj_stat != AUTH_ERROR) {
		out->err = -EIO;
		out->why = "the server speaks another version of RPC";
		return;
	}
	out->err = -EACCES;
	out->privileged_port = r->rj_why == AUTH_TOOWEAK ||
			       r->rj_why == AUTH_BADCRED;
	switch ((int)r->rj_why) {
	case AUTH_BADCRED:
	case AUTH_REJECTEDCRED:
		out->why = "the server does not accept the credential";
		break;
	case AUTH_TOOWEAK:
		out->why = "AUTH_SYS is too weak for the server";
		break;
	default:
		out->why = "the server does not accept the authentication";
	}
}

int
rpc_decode_reply(XDR *x, struct rpc_reply *out)
{
	char verf[MAX_AUTH_BYTES];
	struct rpc_msg msg;

	memset(&msg, 0, sizeof msg);
	memset(out, 0, sizeof *out);
	msg.acpted_rply.ar_verf.oa_base = verf;
	msg.acpted_rply.ar_results.proc = no_results;
	if (!xdr_replymsg(x, &msg) || msg.rm_direction != REPLY)
		return -EBADMSG;
	out->xid = msg.rm_xid;
	switch (msg.rm_reply.rp_stat) {
	case MSG_ACCEPTED:
		say_accepted(&msg.acpted_rply, out);
		return 0;
	case MSG_DENIED:
		say_rejected(&msg.rjcted_rply, out);
		return 0;
	}
	return -EBADMSG;
}

static int
decode_auth_sys(const struct opaque_auth *auth, struct rpc_call_info *out)
{
	struct authunix_parms sys;
	XDR x;
	bool ok;

	memset(&sys, 0, sizeof sys);
	xdrmem_create(&x, auth->oa_base, auth->oa_length, XDR_DECODE);
	ok = xdr_authunix_parms(&x, &sys) && sys.aup_len <= CRED_GROUPS_MAX;
	if (ok) {
		out->auth_sys = true;
		out->uid = sys.aup_uid;
		out->gid = sys.aup_gid;
		out->group_nr = sys.aup_len;
		if (sys.aup_len)
			memcpy(out->group, sys.aup_gids,
			       sys.aup_len * sizeof *sys.aup_gids);
		strncat(out->machine, sys.aup_machname,
			sizeof out->machine - 1);
	}
	xdr_free((xdrproc_t)xdr_authunix_parms, &sys);
	return ok ? 0 : -EBADMSG;
}

int
rpc_decode_call(XDR *x, struct rpc_call_info *out)
{
	char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
	struct rpc_msg msg;

	memset(&msg, 0, sizeof msg);
	memset(out, 0, sizeof *out);
	msg.rm_call.cb_cred.oa_base = cred;
	msg.rm_call.cb_verf.oa_base = verf;
	if (!xdr_callmsg(x, &msg) || msg.rm_direction != CALL)
		return -EBADMSG;
	out->xid = msg.rm_xid;
	out->prog = msg.rm_call.cb_prog;
	out->vers = msg.rm_call.cb_vers;
	out->proc = msg.rm_call.cb_proc;
	if (msg.rm_call.cb_cred.oa_flavor != AUTH_SYS)
		return 0;
	return decode_auth_sys(&msg.rm_call.cb_cred, out);
}

static ssize_t
encode_reply(void *buf, size_t room, struct rpc_msg *msg,
	     uint64_t payload_bytes)
{
	XDR x;

	if (room <= MARK)
		return -ENOSPC;
	msg->rm_direction = REPLY;
	xdrmem_create(&x, (char *)buf + MARK, (u_int)(room - MARK), XDR_ENCODE);
	if (!xdr_replymsg(&x, msg))
		return -ENOSPC;
	return finish_record(buf, &x, payload_bytes);
}

ssize_t
rpc_encode_accepted(void *buf, size_t room, uint32_t xid,
		    enum accept_stat status, rpc_xdr_fn *encode,
		    const void *res, uint64_t payload_bytes)
{
	struct rpc_msg msg;

	memset(&msg, 0, sizeof msg);
	msg.rm_xid = xid;
	msg.rm_reply.rp_stat = MSG_ACCEPTED;
	msg.acpted_rply.ar_stat = status;
	if (status == PROG_MISMATCH) {
		msg.acpted_rply.ar_vers.low = 3;
		msg.acpted_rply.ar_vers.high = 3;
	} else {
		msg.acpted_rply.ar_results.where = unconst(res);
		msg.acpted_rply.ar_results.proc = encode ? xdrproc(encode) :
						  no_results;
	}
	return encode_reply(buf, room, &msg, payload_bytes);
}

ssize_t
rpc_encode_denied(void *buf, size_t room, uint32_t xid, enum auth_stat why)
{
	struct rpc_msg msg;

	memset(&msg, 0, sizeof msg);
	msg.rm_xid = xid;
	msg.rm_reply.rp_stat = MSG_DENIED;
	msg.rjcted_rply.rj_stat = AUTH_ERROR;
	msg.rjcted_rply.rj_why = why;
	return encode_reply(buf, room, &msg, 0);
}
