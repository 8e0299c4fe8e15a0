/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * message.h - ONC RPC calls and replies (RFC 5531) to bytes and back
 *
 * Both sides: a client encodes calls and decodes replies, a server the reverse.
 * What is encoded begins with the record mark, which counts the payload that
 * will follow, too.  What is decoded is a record without its mark.
 */
#ifndef NFSWB_RPC_MESSAGE_H
#define NFSWB_RPC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rpc/rpc.h>

#include "common/cred.h"
#include "rpc/client.h"

/* Room that holds every header and reply of the daemon's hot path. */
#define RPC_HEADER_ROOM 768
#define RPC_MACHINE_MAX 64	/* of the host name in AUTH_SYS; longer is cut */

struct rpc_call_header {
	uint32_t xid, prog, vers, proc;
	const struct cred *cred;	/* NULL: AUTH_NONE */
	const char *machine;
};

/*
 * Mark, call header, arguments.  payload_bytes (padding not counted) follow from
 * elsewhere.  Returns the bytes written, -ENOSPC where room is too small,
 * -EINVAL for arguments that no room suffices for.
 */
ssize_t rpc_encode_call(void *buf, size_t room, const struct rpc_call_header *,
			rpc_xdr_fn *encode, const void *args,
			uint64_t payload_bytes);
/* The room it needs, at most. */
size_t rpc_call_room(rpc_xdr_fn *encode, const void *args);
/* Puts another xid into an encoded call. */
void rpc_set_xid(void *buf, uint32_t xid);

/* Zeros behind a payload of that length. */
static inline unsigned
rpc_pad(uint64_t payload_bytes)
{
	return (unsigned)(-payload_bytes & 3);
}

struct rpc_reply {
	uint32_t xid;
	int err;		/* 0: results follow; else -errno, see client.h */
	const char *why;	/* err: in words */
	bool privileged_port;	/* err: that may be what the server wants */
};

/* Leaves x at the results.  -EBADMSG: that is no reply. */
int rpc_decode_reply(XDR *x, struct rpc_reply *);
/* Of a record: its xid, where it has one and is a reply.  -EBADMSG. */
int rpc_peek_reply(const void *record, size_t len, uint32_t *xid);

/* For servers. */
struct rpc_call_info {
	uint32_t xid, prog, vers, proc;
	bool auth_sys;			/* else AUTH_NONE; all below is 0 */
	uid_t uid;
	gid_t gid;
	unsigned group_nr;
	gid_t group[CRED_GROUPS_MAX];
	char machine[256];
};

/* Leaves x at the arguments.  -EBADMSG: that is no call. */
int rpc_decode_call(XDR *x, struct rpc_call_info *);
/* encode and res only with SUCCESS; PROG_MISMATCH answers 3 to 3. */
ssize_t rpc_encode_accepted(void *buf, size_t room, uint32_t xid,
			    enum accept_stat, rpc_xdr_fn *encode,
			    const void *res, uint64_t payload_bytes);
ssize_t rpc_encode_denied(void *buf, size_t room, uint32_t xid,
			  enum auth_stat);

#endif
