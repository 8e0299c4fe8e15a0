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
 * With several connections all of that holds of each and the calls on it.  One that
 * has failed FAILED_MAX times in a row while the server answers over others is not
 * waited for: its calls go over one of those, under a fresh xid; those that may not
 * be done twice, timeo after their last copy, under the same xid, as where the
 * source port could not be had again.
 *
 * One timer: it is set to the nearest of what may fall due, timeo at most, and
 * works out the next time from what it finds.
 */
#include <errno.h>

#include "rpc/nfs3.h"
#include "rpc/parts.h"

#define FAILED_MAX 3		/* lost, and two attempts in vain */

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

/* May it be done twice? */
static bool
may_repeat(const struct rpc_call *call)
{
	return rpc_is_nfs(call->client) && nfs3_is_idempotent(call->proc);
}

static void
fresh_xid(struct rpc_client *c, struct rpc_call *call)
{
	answer_drop(call);
	call_assign_xid(&c->table, call);
	call->xid_usec = 0;
	call->reconnected = false;
}

static void
renew_xid(struct rpc_client *c, struct rpc_call *call, uint64_t now)
{
	if (call->xid_usec && may_repeat(call) &&
	    is_due(call->xid_usec, c->major_usec, now))
		fresh_xid(c, call);
}

bool
retry_elsewhere(struct rpc_call *call, const struct lane *to, uint64_t now)
{
	const struct connection *connection = &call->lane->connection;

	if (!call->timing.transmissions)
		return true;
	if (connection->state == RPC_UP || connection->vain_nr < FAILED_MAX ||
	    to->connection.failure_nr)
		return false;
	if (!may_repeat(call))
		return is_due(call->copy_usec, call->client->timeo_usec, now);
	fresh_xid(call->client, call);
	return true;
}

void
retry_lost(struct lane *l)
{
	struct rpc_client *c = l->client;
	struct rpc_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &c->slots.out, out_link, next) {
		if (call->lane != l)
			continue;
		if (call->early) {
			answer_later(c, call, 0);
			continue;
		}
		lane_remove(call);
		lane_append(l, call);
	}
	loop_defer(c->loop, c->pump);
}

void
retry_connected(struct lane *l)
{
	struct rpc_client *c = l->client;
	uint64_t now = loop_now(c->loop);
	struct rpc_call *call;

	l->tx_usec = now;
	TAILQ_FOREACH(call, &c->slots.out, out_link) {
		if (call->lane != l)
			continue;
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
resend_overdue(struct lane *l, uint64_t now)
{
	struct rpc_client *c = l->client;
	bool silent = is_due(l->connection.rx_usec, c->timeo_usec, now);
	struct rpc_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &l->in_flight, link, next) {
		if (!is_due(call->timing.last_byte, c->timeo_usec, now))
			break;
		c->ops[call->proc].timeouts++;
		if (silent)
			continue;
		renew_xid(c, call, now);
		lane_remove(call);
		lane_add(l, call);
		loop_defer(c->loop, c->pump);
	}
	call = TAILQ_FIRST(&l->in_flight);
	return !silent || !call ||
	       !is_due(call->timing.last_byte, c->timeo_usec, now);
}

/* It takes none of our bytes and sends none. */
static bool
is_stuck(const struct lane *l, uint64_t now)
{
	return !TAILQ_EMPTY(&l->send.calls) &&
	       is_due(later_of(l->tx_usec, l->connection.rx_usec),
		      l->client->timeo_usec, now);
}

/* Soft: since when has this call waited in vain?  One that has no slot yet
   waits for others, as long as the server says anything. */
static uint64_t
waits_since(const struct rpc_client *c, const struct rpc_call *call)
{
	return call->out ? call->slot_usec :
			   later_of(call->timing.queued,
				    lanes_heard_usec(c));
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
give_up_sent(struct lane *l, uint64_t now)
{
	struct rpc_call *call = TAILQ_FIRST(&l->send.calls);
	bool half = call && call->sent;

	give_up_list(l->client, &l->in_flight, now);
	give_up_list(l->client, &l->send.calls, now);
	if (half && call != TAILQ_FIRST(&l->send.calls))
		connection_reset(&l->connection, "a call was given up half sent");
}

static void
give_up(struct rpc_client *c, uint64_t now)
{
	struct lane *l;
	int i;

	LANES_FOREACH(l, c)
		give_up_sent(l, now);
	for (i = 0; i < 2 * RPC_CLASS_NR; i++)
		give_up_list(c, &c->slots.waiting[i / 2][i % 2], now);
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

/* When anything on that connection may fall due. */
static uint64_t
lane_next_usec(const struct lane *l, uint64_t next)
{
	struct rpc_client *c = l->client;
	const struct rpc_call *call = TAILQ_FIRST(&l->in_flight);

	if (call)
		next = sooner_of(next, call->timing.last_byte + c->timeo_usec);
	if (!TAILQ_EMPTY(&l->send.calls) && l->connection.state == RPC_UP)
		next = sooner_of(next, later_of(l->tx_usec,
						l->connection.rx_usec) +
				       c->timeo_usec);
	if (c->soft) {
		next = soonest_give_up(c, &l->in_flight, next);
		next = soonest_give_up(c, &l->send.calls, next);
	}
	return next;
}

/* When anything may fall due, timeo from now at most. */
static uint64_t
next_usec(struct rpc_client *c, uint64_t now)
{
	uint64_t next = now + c->timeo_usec;
	struct lane *l;
	int i;

	LANES_FOREACH(l, c)
		next = lane_next_usec(l, next);
	for (i = 0; c->soft && i < 2 * RPC_CLASS_NR; i++)
		next = soonest_give_up(c, &c->slots.waiting[i / 2][i % 2],
				       next);
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
	struct lane *l;

	if (c->soft)
		give_up(c, now);
	LANES_FOREACH(l, c)
		if (l->connection.state == RPC_UP &&
		    (!resend_overdue(l, now) || is_stuck(l, now)))
			connection_reset(&l->connection,
				"the server has been silent for timeo");
	if (c->lane_nr > 1)
		loop_defer(c->loop, c->pump);	/* who may move now? */
	c->timer_set = c->outstanding > 0;
	if (c->timer_set)
		loop_timer_set(c->loop, c->timer, next_usec(c, now) - now);
}
