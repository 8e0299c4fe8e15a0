/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * retry.c - what is sent again, under which xid, and what is given up
 *
 *	no reply for timeo, but other bytes   the call again, same xid
 *	no byte at all for timeo              the connection again
 *	new connection                        every call that is out again, in
 *	                                      order, same xid: the server's reply
 *	                                      cache knows it
 *	major (retrans * timeo) after that    a fresh xid, if the call may be
 *	                                      done twice: a cache that holds the
 *	                                      old one as "under way" must not
 *	                                      hold us for ever
 *	soft, and major since it went out     -ETIMEDOUT
 *
 * One timer: it is set to the nearest of what may fall due, timeo at most, and
 * works out the next time from what it finds.
 */
#include <errno.h>

#include "rpc/nfs3.h"
#include "rpc/parts.h"

static bool
is_due(uint64_t since, uint64_t wait, uint64_t now)
{
	return now >= since + wait;
}

static uint64_t
later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
sooner_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
renew_xid(struct rpc_client *c, struct rpc_call *call, uint64_t now)
{
	if (!call->xid_usec || !rpc_is_nfs(c) ||
	    !nfs3_is_idempotent(call->proc) ||
	    !is_due(call->xid_usec, c->major_usec, now))
		return;
	answer_drop(c, call);
	call_assign_xid(&c->table, call);
	call->xid_usec = 0;
	call->reconnected = false;
}

void
retry_lost(struct rpc_client *c)
{
	struct rpc_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &c->slots.out, out_link, next) {
		if (call->early) {
			answer_later(c, call, 0);
			continue;
		}
		if (call->state == CALL_SENDING)
			send_remove(&c->send, call);
		else
			TAILQ_REMOVE(&c->in_flight, call, link);
		send_append(&c->send, call);
	}
	loop_defer(c->loop, c->pump);
}

void
retry_connected(struct rpc_client *c)
{
	uint64_t now = loop_now(c->loop);
	struct rpc_call *call;

	c->tx_usec = now;
	TAILQ_FOREACH(call, &c->slots.out, out_link) {
		if (call->reconnected) {
			renew_xid(c, call, now);
		} else if (call->xid_usec) {
			call->reconnected = true;
			call->xid_usec = 0;	/* counts from here */
		}
	}
	loop_defer(c->loop, c->pump);
}

/* Sends what waited for timeo again; false: the server is silent. */
static bool
resend_overdue(struct rpc_client *c, uint64_t now)
{
	bool silent = is_due(c->connection.rx_usec, c->timeo_usec, now);
	struct rpc_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &c->in_flight, link, next) {
		if (!is_due(call->timing.last_byte, c->timeo_usec, now))
			break;
		c->ops[call->proc].timeouts++;
		if (silent)
			continue;
		TAILQ_REMOVE(&c->in_flight, call, link);
		renew_xid(c, call, now);
		send_add(&c->send, call);
		loop_defer(c->loop, c->pump);
	}
	call = TAILQ_FIRST(&c->in_flight);
	return !silent || !call ||
	       !is_due(call->timing.last_byte, c->timeo_usec, now);
}

/* It takes none of our bytes and sends none. */
static bool
is_stuck(const struct rpc_client *c, uint64_t now)
{
	return !TAILQ_EMPTY(&c->send.calls) &&
	       is_due(later_of(c->tx_usec, c->connection.rx_usec),
		      c->timeo_usec, now);
}

/* Soft: since when has this call waited in vain?  One that has no slot yet
   waits for others, as long as the server says anything. */
static uint64_t
waits_since(const struct rpc_client *c, const struct rpc_call *call)
{
	return call->out ? call->slot_usec :
			   later_of(call->timing.queued,
				    c->connection.heard_usec);
}

static void
give_up_list(struct rpc_client *c, struct call_list *list, uint64_t now)
{
	struct rpc_call *call, *next;

	TAILQ_FOREACH_SAFE(call, list, link, next)
		if (is_due(waits_since(c, call), c->major_usec, now))
			answer_later(c, call, call->early ? 0 : -ETIMEDOUT);
}

static void
give_up(struct rpc_client *c, uint64_t now)
{
	struct rpc_call *call = TAILQ_FIRST(&c->send.calls);
	bool half = call && call->sent;
	int i;

	give_up_list(c, &c->in_flight, now);
	give_up_list(c, &c->send.calls, now);
	for (i = 0; i < 2 * RPC_CLASS_NR; i++)
		give_up_list(c, &c->slots.waiting[i / 2][i % 2], now);
	if (half && call != TAILQ_FIRST(&c->send.calls))
		connection_reset(&c->connection, "a call was given up half sent");
}

static uint64_t
soonest_give_up(struct rpc_client *c, const struct call_list *list,
		uint64_t soonest)
{
	const struct rpc_call *call;

	TAILQ_FOREACH(call, list, link)
		soonest = sooner_of(soonest,
				    waits_since(c, call) + c->major_usec);
	return soonest;
}

/* When anything may fall due, timeo from now at most. */
static uint64_t
next_usec(struct rpc_client *c, uint64_t now)
{
	const struct rpc_call *call = TAILQ_FIRST(&c->in_flight);
	uint64_t next = now + c->timeo_usec;
	int i;

	if (call)
		next = sooner_of(next, call->timing.last_byte + c->timeo_usec);
	if (!TAILQ_EMPTY(&c->send.calls) && c->connection.state == RPC_UP)
		next = sooner_of(next, later_of(c->tx_usec,
						c->connection.rx_usec) +
				       c->timeo_usec);
	if (c->soft) {
		next = soonest_give_up(c, &c->in_flight, next);
		next = soonest_give_up(c, &c->send.calls, next);
		for (i = 0; i < 2 * RPC_CLASS_NR; i++)
			next = soonest_give_up(c,
				&c->slots.waiting[i / 2][i % 2], next);
	}
	return next > now ? next : now + 1;
}

void
retry_arm(struct rpc_client *c)
{
	if (c->timer_set)
		return;
	c->timer_set = true;
	loop_timer_set(c->loop, c->timer, c->timeo_usec);
}

void
retry_on_timer(struct rpc_client *c)
{
	uint64_t now = loop_now(c->loop);

	if (c->soft)
		give_up(c, now);
	if (c->connection.state == RPC_UP &&
	    (!resend_overdue(c, now) || is_stuck(c, now)))
		connection_reset(&c->connection,
				 "the server has been silent for timeo");
	c->timer_set = c->outstanding > 0;
	if (c->timer_set)
		loop_timer_set(c->loop, c->timer, next_usec(c, now) - now);
}
