/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lane.c - one connection, and the calls on their way over it
 *
 *	lane_add --> send queue --> socket --> in flight --> answered
 *	             queued_bytes      begun_bytes
 *	                  ^---- lost, timeo ----'
 *
 * A call that has begun to leave stays here, and what must be sent again goes
 * over this connection again, which keeps its source port: the server's reply
 * cache knows the call by address, port and xid.  lanes.c says who comes here,
 * and which calls may leave.
 */
#include <errno.h>
#include <string.h>

#include "rpc/parts.h"

#define SENDS_MAX 16		/* at one go, then it is others' turn */

static void
enter(struct lane *l, struct rpc_call *call)
{
	if (TAILQ_EMPTY(&l->send.calls))
		l->tx_usec = loop_now(l->client->loop);
	call->lane = l;
	l->queued_bytes[call->class] += call_bytes(call);
	l->connection.payload_nr += call->into_nr > 0;
}

void
lane_add(struct lane *l, struct rpc_call *call)
{
	enter(l, call);
	send_add(&l->send, call);
}

void
lane_append(struct lane *l, struct rpc_call *call)
{
	enter(l, call);
	send_append(&l->send, call);
}

void
lane_remove(struct rpc_call *call)
{
	struct lane *l = call->lane;

	if (call->state == CALL_SENDING)
		send_remove(&l->send, call);
	else
		TAILQ_REMOVE(&l->in_flight, call, link);
	if (call->begun)
		l->begun_bytes -= call_bytes(call);
	else
		l->queued_bytes[call->class] -= call_bytes(call);
	l->connection.payload_nr -= call->into_nr > 0;
	call->begun = false;
	call->lane = NULL;
}

/* ---- sending ---- */

static void
begin(struct lane *l, struct rpc_call *call, uint64_t now)
{
	if (call->begun)
		return;
	call->begun = true;
	l->queued_bytes[call->class] -= call_bytes(call);
	l->begun_bytes += call_bytes(call);
	gate_begun(&l->client->gate, call, now);
}

static void
book(struct lane *l, uint64_t bytes)
{
	struct rpc_client *c = l->client;
	uint64_t now = loop_now(c->loop);
	struct rpc_call *call;

	l->tx_usec = now;
	while (bytes) {
		begin(l, TAILQ_FIRST(&l->send.calls), now);
		call = send_book(&l->send, &bytes, now, c->ops);
		if (!call)
			continue;
		call->state = CALL_IN_FLIGHT;
		TAILQ_INSERT_TAIL(&l->in_flight, call, link);
		gate_sent(&c->gate, call, now - call->copy_usec, now);
		client_tell(c, call, RPC_SENT);
		if (call->early)
			answer_later(c, call, 0);
	}
}

/* The first call's payload can't be read.  What of it is already out can't be
   finished, so the connection must go. */
static void
fail_faulty(struct lane *l)
{
	struct rpc_call *call = TAILQ_FIRST(&l->send.calls);
	bool half = call->sent;

	l->send.alone = false;
	answer_later(l->client, call, -EFAULT);
	if (half)
		connection_reset(&l->connection,
				 "the data of a half sent call can't be read");
}

/* One sendmsg; false: no more now. */
static bool
send_once(struct lane *l)
{
	ssize_t n = send_some(&l->send, l->connection.fd, l->client->gate.on);

	if (n >= 0) {
		book(l, (uint64_t)n);
		return true;
	}
	if (n == -EAGAIN)
		return false;
	if (n == -EFAULT)
		fail_faulty(l);
	else
		connection_reset(&l->connection, strerror((int)-n));
	return l->connection.state == RPC_UP;
}

/* Is there a call that may begin, or go on? */
static bool
may_send(struct lane *l)
{
	struct rpc_call *call = TAILQ_FIRST(&l->send.calls);
	struct rpc_client *c = l->client;
	uint64_t usec;

	if (!call || call->sent)
		return call;
	usec = gate_wait_usec(&c->gate, call, loop_now(c->loop));
	if (usec)
		loop_timer_set(c->loop, c->gate_timer, usec);
	return !usec;
}

void
lane_send(struct lane *l)
{
	int i;

	if (l->connection.state != RPC_UP)
		return;
	for (i = 0; i < SENDS_MAX && may_send(l); i++)
		if (!send_once(l))
			break;
	connection_want_write(&l->connection, may_send(l));
}

/* ---- what the connection tells ---- */

static void
on_ready(void *arg)
{
	retry_connected(arg);
}

static void
on_lost(void *arg, const char *why)
{
	(void)why;
	retry_lost(arg);
}

static void
on_writable(void *arg)
{
	lane_send(arg);
}

static int
on_record(void *arg, const void *data, size_t len)
{
	struct lane *l = arg;
	struct rpc_client *c = l->client;
	int err;

	if (l->connection.failure_nr)
		lanes_hurry(c);
	c->depth++;
	err = answer_record(l, data, len);
	c->depth--;
	return err;
}

static size_t
on_head(void *arg, const void *data, size_t len, struct payload *p)
{
	return answer_head(arg, data, len, p);
}

/* One outage of the server is said once, not by each. */
static bool
is_news(void *arg)
{
	struct lane *own = arg, *l;

	LANES_FOREACH(l, own->client)
		if (l != own && connection_told(&l->connection))
			return false;
	return true;
}

int
lane_init(struct lane *l, struct rpc_client *c, const struct rpc_params *p,
	  uint64_t random)
{
	static const struct connection_events events = {
		.ready = on_ready,
		.writable = on_writable,
		.record = on_record,
		.lost = on_lost,
		.head = on_head,
		.is_news = is_news,
	};

	l->client = c;
	send_init(&l->send);
	TAILQ_INIT(&l->in_flight);
	return connection_init(&l->connection, c->loop, p, random, &events, l);
}

void
lane_free(struct lane *l)
{
	connection_free(&l->connection);
}
