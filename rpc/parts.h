/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * parts.h - the client's parts, for the files that tie them together
 *
 *	client.c   in and out: queueing calls, giving slots, sending
 *	answer.c   replies, and the end of a call
 *	retry.c    what is sent again, under which xid, and what is given up
 */
#ifndef NFSWB_RPC_PARTS_H
#define NFSWB_RPC_PARTS_H

#include <stdalign.h>
#include <stddef.h>

#include "rpc/calls.h"
#include "rpc/connection.h"
#include "rpc/gate.h"
#include "rpc/send.h"
#include "rpc/slots.h"

#define RPC_RESULT_ROOM 2048	/* for any decoded result of NFSv3 */

struct rpc_client {
	struct loop *loop;
	uint32_t prog, vers;
	bool soft;
	uint64_t timeo_usec, major_usec;
	char machine[RPC_MACHINE_MAX + 1];

	struct call_table table;
	struct slots slots;
	struct send_queue send;
	struct gate gate;
	struct loop_timer *gate_timer;	/* what waits there may go */
	rpc_watch_fn *watch;		/* or NULL */
	void *watch_arg;
	struct call_list in_flight;	/* by the time their last byte left */
	struct call_list ready;		/* done is due */
	unsigned outstanding;
	struct rpc_op_stats ops[RPC_PROC_MAX];

	uint64_t tx_usec;		/* the last byte was taken */
	struct loop_timer *timer;	/* retry.c's */
	bool timer_set;
	struct loop_deferred *pump;
	unsigned depth;			/* callbacks of ours under way */
	bool freed;
	bool denial_said;
	struct connection connection;
	alignas(max_align_t) unsigned char result[RPC_RESULT_ROOM];
};

static inline bool
rpc_is_nfs(const struct rpc_client *c)
{
	return c->prog == 100003 && c->vers == 3;
}

/* client.c: the watcher is told, of a call that it was not told of yet, or of the
   end of one it was. */
void client_tell(struct rpc_client *, struct rpc_call *, enum rpc_event);

/* answer.c */
int answer_record(struct rpc_client *, const void *data, size_t len);
/* connection.h's head event. */
size_t answer_head(struct rpc_client *, const void *data, size_t len,
		   struct payload *);
/* What of the record under way is this call's goes nowhere from now on. */
void answer_drop(struct rpc_client *, const struct rpc_call *);
/* Takes the call from where it stands; its done comes with the next
   answer_ready: err, or the reply that it keeps. */
void answer_later(struct rpc_client *, struct rpc_call *, int err);
void answer_ready(struct rpc_client *);

/* retry.c */
void retry_arm(struct rpc_client *);
void retry_on_timer(struct rpc_client *);
void retry_lost(struct rpc_client *);
void retry_connected(struct rpc_client *);

#endif
