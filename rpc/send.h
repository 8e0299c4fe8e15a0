/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * send.h - the queue of calls on their way into the socket
 */
#ifndef NFSWB_RPC_SEND_H
#define NFSWB_RPC_SEND_H

#include <limits.h>

#include "rpc/calls.h"

struct send_queue {
	struct call_list calls;		/* the first may be half sent */
	bool alone;			/* one call a sendmsg: finding out whose
					   payload faults */
	struct iovec iov[IOV_MAX];
};

void send_init(struct send_queue *);
/* Before what is less urgent and not begun. */
void send_add(struct send_queue *, struct rpc_call *);
/* At the end: calls sent again keep their order. */
void send_append(struct send_queue *, struct rpc_call *);
void send_remove(struct send_queue *, struct rpc_call *);

/*
 * One sendmsg with as many of the first calls as fit, and if the gate is asked up
 * to the next for which it has to be.  Returns the bytes taken,
 * or -errno: -EAGAIN (socket full), -EFAULT (the first call's memory can't be
 * read), else the connection is gone.
 */
ssize_t send_some(struct send_queue *, int fd, bool gated);
/*
 * Books bytes that send_some took, one call at a time: the first call takes its
 * share of *bytes.  Returns it when that completed it (it has left the queue),
 * else NULL.
 */
struct rpc_call *send_book(struct send_queue *, uint64_t *bytes, uint64_t now,
			   struct rpc_op_stats *ops);

#endif
