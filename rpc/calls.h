/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * calls.h - what a call is, and the table that finds it by its xid
 */
#ifndef NFSWB_RPC_CALLS_H
#define NFSWB_RPC_CALLS_H

#include <bsd/sys/queue.h>

#include "rpc/client.h"
#include "rpc/message.h"
#include "rpc/payload.h"

/* The list a call stands in says what is due next; see calls.c. */
enum call_state { CALL_WAITING, CALL_SENDING, CALL_IN_FLIGHT, CALL_READY };

struct rpc_call {
	TAILQ_ENTRY(rpc_call) link;	/* in the list that state names */
	TAILQ_ENTRY(rpc_call) out_link;	/* holds a slot: by seq */
	LIST_ENTRY(rpc_call) hash_link;
	struct rpc_client *client;
	struct lane *lane;		/* out: it goes over that */
	enum call_state state;
	enum rpc_class class;
	bool urgent;			/* first within its class */
	bool out;			/* holds a slot */
	bool apart;			/* the background's depth is not for it */
	bool asked_small;		/* foreground, and little either way */
	bool watched;			/* it was told that it is out */
	bool hashed, pooled;
	uint32_t proc, xid;
	uint64_t slot_nr;		/* calls that came for a slot before */
	uint64_t slot_usec;		/* got its slot */

	/* the copy under way; sent is where to resume */
	uint64_t sent, total;
	bool begun;			/* some of it has left */
	uint64_t copy_usec;		/* its first byte left */
	unsigned char *header;		/* header_room, or allocated */
	size_t header_len;
	const struct iovec *iov;
	int iov_nr;
	uint64_t payload_bytes, reply_bytes;

	/* sending again */
	uint64_t xid_usec;		/* this xid's first copy left, or the one
					   after the reconnect; 0: not yet */
	bool reconnected;		/* that one was after a reconnect */

	/* the answer */
	int err;			/* READY without a reply */
	unsigned char *early;		/* a reply that came before the copy
					   under way was out */
	size_t early_len;
	struct cred *cred;
	struct payload early_payload;	/* of it, in place */
	rpc_xdr_fn *decode;
	size_t res_bytes;
	const struct iovec *into;	/* the reply's payload */
	int into_nr;
	int64_t (*payload)(const void *res);
	rpc_done_fn *done;
	void *arg;
	struct rpc_timing timing;

	unsigned char header_room[RPC_HEADER_ROOM];	/* last: not cleared */
};

TAILQ_HEAD(call_list, rpc_call);
LIST_HEAD(call_bucket, rpc_call);

/* What it puts on the wire, either way. */
static inline uint64_t
call_bytes(const struct rpc_call *call)
{
	return call->total + call->reply_bytes;
}

struct call_table {
	struct call_bucket *bucket;
	unsigned bucket_nr;		/* a power of two */
	uint32_t next_xid;
	struct rpc_call *pool;		/* the array behind the pooled ones */
	struct call_list spare;		/* of them, the unused */
	unsigned spare_nr, reserve_nr;	/* the last reserve_nr are for
					   essential calls */
};

/* pool_nr: calls set aside; reserve_nr of them for essential ones only. */
int call_table_init(struct call_table *, unsigned pool_nr, unsigned reserve_nr,
		    uint32_t first_xid);
void call_table_free(struct call_table *);

/* A blank call; essential (what freeing memory needs): one of those set aside
   before malloc is asked.  NULL: no memory. */
struct rpc_call *call_new(struct call_table *, bool essential);
void call_free(struct call_table *, struct rpc_call *);

/* A fresh xid, also in the header where that is encoded. */
void call_assign_xid(struct call_table *, struct rpc_call *);
/* A reply finds it no more. */
void call_forget_xid(struct rpc_call *);
struct rpc_call *call_find(struct call_table *, uint32_t xid);
/* Keeps a reply for when the copy under way is out.  0 or -ENOMEM. */
int call_keep_reply(struct rpc_call *, const void *data, size_t len,
		    const struct payload *);

/* Some bytes of the copy under way have left, but not all: it must be finished
   on this connection, or the connection ended. */
static inline bool
call_is_half_sent(const struct rpc_call *call)
{
	return call->state == CALL_SENDING && call->sent;
}

#endif
