/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * parts.h - the client's parts, for the files that tie them together
 *
 *	client.c   in and out: the client's public face
 *	lanes.c    which connection a call goes over
 *	lane.c     one connection, and the calls on their way over it
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

struct lane {
	struct rpc_client *client;
	struct send_queue send;
	struct call_list in_flight;	/* by the time their last byte left */
	uint64_t queued_bytes[RPC_CLASS_NR];	/* of calls not begun */
	uint64_t begun_bytes;		/* of those that have, not answered */
	uint64_t tx_usec;		/* the last byte was taken */
	struct connection connection;
};

struct rpc_client {
	struct loop *loop;
	char *name;
	uint32_t prog, vers;
	bool soft;
	uint64_t timeo_usec, major_usec;
	char machine[RPC_MACHINE_MAX + 1];

	struct call_table table;
	struct slots slots;
	struct lane *lanes;
	unsigned lane_nr;
	bool relief_set;
	struct loop_timer *relief_timer;	/* lanes.c's */
	struct gate gate;
	struct loop_timer *gate_timer;	/* what waits there may go */
	rpc_watch_fn *watch;		/* or NULL */
	void *watch_arg;
	struct call_list ready;		/* done is due */
	unsigned outstanding;
	struct rpc_op_stats ops[RPC_PROC_MAX];

	struct loop_timer *timer;	/* retry.c's */
	bool timer_set;
	struct loop_deferred *pump;
	unsigned depth;			/* callbacks of ours under way */
	bool freed;
	bool denial_said;
	alignas(max_align_t) unsigned char result[RPC_RESULT_ROOM];
};

static inline bool
rpc_is_nfs(const struct rpc_client *c)
{
	return c->prog == 100003 && c->vers == 3;
}

/* struct lane *l is each connection of the client in turn. */
#define LANES_FOREACH(l, c) \
	for ((l) = (c)->lanes; (l) < (c)->lanes + (c)->lane_nr; (l)++)

/* client.c: the watcher is told, of a call that it was not told of yet, or of the
   end of one it was. */
void client_tell(struct rpc_client *, struct rpc_call *, enum rpc_event);

/* lane.c */
int lane_init(struct lane *, struct rpc_client *, const struct rpc_params *,
	      uint64_t random);
void lane_free(struct lane *);
/* To be sent over it: before what is less urgent and not begun, or last (calls
   sent again keep their order). */
void lane_add(struct lane *, struct rpc_call *);
void lane_append(struct lane *, struct rpc_call *);
/* Takes it away from where it stands. */
void lane_remove(struct rpc_call *);
/* As much as the socket takes. */
void lane_send(struct lane *);

/* lanes.c */
int lanes_init(struct rpc_client *, const struct rpc_params *, uint64_t random);
void lanes_close(struct rpc_client *);
void lanes_free(struct rpc_client *);
void lanes_want(struct rpc_client *, bool wanted);
/* Gives slots, and each connection its calls; sends. */
void lanes_send(struct rpc_client *);
/* Raises one that has not begun to leave: another connection may be the one for
   it now. */
void lanes_raise(struct rpc_call *, enum rpc_class);
/* The server has answered over one that had failed. */
void lanes_hurry(struct rpc_client *);
enum rpc_state lanes_state(const struct rpc_client *);
unsigned lanes_up_nr(const struct rpc_client *);
/* The last byte came, over any. */
uint64_t lanes_heard_usec(const struct rpc_client *);

/* answer.c */
int answer_record(struct lane *, const void *data, size_t len);
/* connection.h's head event. */
size_t answer_head(struct lane *, const void *data, size_t len,
		   struct payload *);
/* What of the record under way is this call's goes nowhere from now on. */
void answer_drop(const struct rpc_call *);
/* Takes the call from where it stands; its done comes with the next
   answer_ready: err, or the reply that it keeps. */
void answer_later(struct rpc_client *, struct rpc_call *, int err);
void answer_ready(struct rpc_client *);

/* retry.c */
void retry_arm(struct rpc_client *);
void retry_on_timer(struct rpc_client *);
void retry_lost(struct lane *);
void retry_connected(struct lane *);
/* May it go over that connection instead of its own, which is down, or takes
   nothing?  Then its xid is the one for that. */
bool retry_elsewhere(struct rpc_call *, const struct lane *to, uint64_t now);

#endif
