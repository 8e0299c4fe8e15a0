/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lanes.c - which of a server's connections a call goes over
 *
 *	slots ──▶ call ──┬─▶ lane 1   begun ████ queued ██
 *	                 ├─▶ lane 2   begun ██            ◀── the next one
 *	                 └─▶ lane 3   begun ███ queued █
 *
 * One slot table, one gate, one table of xids for the server; what stands on the
 * wire is each connection's own (lane.c).  A call gets its connection with its
 * slot: of those that are up, the one where the fewest bytes leave before it,
 * begun or queued in its class and those above.  So WRITEs are spread by the
 * length of the queues, and foreground goes where it waits least.
 *
 * A connection that has something to do and nothing moves on it gets no further
 * calls, but for one WRITE, which shows when it works again.
 *
 * What has not begun to leave goes elsewhere at once when its connection is
 * down, or nothing moves on it.  What has begun belongs to it (lane.c), and waits
 * until it is up again; all are tried without a pause once the server has answered
 * over one.  Where that fails again and again, see retry_elsewhere.
 *
 * A choice is O(connections); a call that moves does so once for each connection
 * that fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "rpc/parts.h"

#define STILL_USEC 1000000u
#define LANES_MAX 16u
#define NAME_MAX_BYTES 300

/* ---- the choice ---- */

/* What leaves before a call of that class would. */
static uint64_t
bytes_before(const struct lane *l, enum rpc_class class)
{
	uint64_t bytes = l->begun_bytes;
	unsigned i;

	for (i = 0; i <= class; i++)
		bytes += l->queued_bytes[i];
	return bytes;
}

static uint64_t
all_bytes(const struct lane *l)
{
	return bytes_before(l, RPC_CLASS_NR - 1);
}

static uint64_t
moved_usec(const struct lane *l)
{
	return MAX(l->tx_usec, l->connection.rx_usec);
}

/* It has something to do, and nothing moves. */
static bool
stands_still(const struct lane *l, uint64_t now)
{
	return all_bytes(l) && now >= moved_usec(l) + STILL_USEC;
}

static bool
is_up(const struct lane *l)
{
	return l->connection.state == RPC_UP;
}

/* Does it get calls of that class? */
static bool
is_fit(const struct lane *l, enum rpc_class class, uint64_t now)
{
	return !stands_still(l, now) ||
	       (class != RPC_FOREGROUND && all_bytes(l) <= GATE_SMALL);
}

/* a before b? */
static bool
is_emptier(const struct lane *a, const struct lane *b, enum rpc_class class)
{
	uint64_t before_a = bytes_before(a, class);
	uint64_t before_b = bytes_before(b, class);

	return before_a != before_b ? before_a < before_b :
				      all_bytes(a) < all_bytes(b);
}

/* fit: of the connections that get calls of its class only.  NULL: none. */
static struct lane *
choose(const struct rpc_client *c, enum rpc_class class, bool fit)
{
	uint64_t now = loop_now(c->loop);
	struct lane *l, *best = NULL;

	LANES_FOREACH(l, c)
		if (is_up(l) && (!fit || is_fit(l, class, now)) &&
		    (!best || is_emptier(l, best, class)))
			best = l;
	return best;
}

static void
take_slots(struct rpc_client *c)
{
	uint64_t now = loop_now(c->loop);
	struct rpc_call *call;
	struct lane *l;

	while (lanes_up_nr(c) && (call = slots_take(&c->slots))) {
		call->slot_usec = now;
		call_assign_xid(&c->table, call);
		l = choose(c, call->class, true);
		lane_add(l ? l : choose(c, call->class, false), call);
	}
}

void
lanes_raise(struct rpc_call *call, enum rpc_class class)
{
	struct rpc_client *c = call->client;
	struct lane *l = call->lane, *to;

	lane_remove(call);
	slots_raise(&c->slots, call, class);
	to = call->timing.transmissions ? NULL : choose(c, class, true);
	lane_add(to ? to : l, call);
	loop_defer(c->loop, c->pump);
}

/* ---- those that can't go on ---- */

static void
relieve(struct lane *l, uint64_t now)
{
	struct rpc_client *c = l->client;
	struct rpc_call *call, *next;
	struct lane *to;

	TAILQ_FOREACH_SAFE(call, &l->send.calls, link, next) {
		to = choose(c, call->class, true);
		if (!to || to == l)
			return;
		if (!retry_elsewhere(call, to, now))
			continue;
		lane_remove(call);
		lane_add(to, call);
	}
}

/* Asks again when nothing may have moved for long enough. */
static void
watch_queue(struct lane *l, uint64_t now)
{
	struct rpc_client *c = l->client;

	if (c->relief_set)
		return;
	c->relief_set = true;
	loop_timer_set(c->loop, c->relief_timer,
		       moved_usec(l) + STILL_USEC - now);
}

static void
relieve_all(struct rpc_client *c)
{
	uint64_t now = loop_now(c->loop);
	struct lane *l;

	if (c->lane_nr == 1)
		return;
	LANES_FOREACH(l, c)
		if (!TAILQ_EMPTY(&l->send.calls) &&
		    (!is_up(l) || stands_still(l, now)))
			relieve(l, now);
	LANES_FOREACH(l, c)
		if (!TAILQ_EMPTY(&l->send.calls) && is_up(l) &&
		    !stands_still(l, now))
			watch_queue(l, now);
}

static void
on_relief(void *arg)
{
	struct rpc_client *c = arg;

	c->relief_set = false;
	loop_defer(c->loop, c->pump);
}

void
lanes_hurry(struct rpc_client *c)
{
	struct lane *l;

	LANES_FOREACH(l, c)
		connection_hurry(&l->connection);
}

/* ---- all of them ---- */

void
lanes_want(struct rpc_client *c, bool wanted)
{
	struct lane *l;

	LANES_FOREACH(l, c)
		connection_want(&l->connection, wanted);
}

void
lanes_send(struct rpc_client *c)
{
	struct lane *l;

	relieve_all(c);
	take_slots(c);
	LANES_FOREACH(l, c)
		lane_send(l);
}

unsigned
lanes_up_nr(const struct rpc_client *c)
{
	struct lane *l;
	unsigned nr = 0;

	LANES_FOREACH(l, c)
		nr += is_up(l);
	return nr;
}

enum rpc_state
lanes_state(const struct rpc_client *c)
{
	enum rpc_state best = RPC_DOWN;
	struct lane *l;

	LANES_FOREACH(l, c)
		best = MIN(best, l->connection.state);
	return best;
}

uint64_t
lanes_heard_usec(const struct rpc_client *c)
{
	uint64_t last = 0;
	struct lane *l;

	LANES_FOREACH(l, c)
		last = MAX(last, l->connection.heard_usec);
	return last;
}

/* Its name in the log says which one. */
static int
init_one(struct rpc_client *c, struct lane *l, const struct rpc_params *p,
	 uint64_t random)
{
	struct rpc_params own = *p;
	char name[NAME_MAX_BYTES];

	snprintf(name, sizeof name, "%s (connection %u of %u)", c->name,
		 (unsigned)(l - c->lanes) + 1, p->connection_nr);
	own.name = p->connection_nr > 1 ? name : c->name;
	return lane_init(l, c, &own, random);
}

int
lanes_init(struct rpc_client *c, const struct rpc_params *p, uint64_t random)
{
	unsigned nr = MIN(MAX(p->connection_nr, 1u), LANES_MAX);

	c->relief_timer = loop_timer(c->loop, on_relief, c);
	c->lanes = calloc(nr, sizeof *c->lanes);
	if (!c->lanes || !c->relief_timer)
		return -ENOMEM;
	for (; c->lane_nr < nr; c->lane_nr++)
		if (init_one(c, &c->lanes[c->lane_nr], p,
			     random + c->lane_nr * UINT64_C(0xd1342543de82ef95)))
			return -ENOMEM;
	return 0;
}

void
lanes_close(struct rpc_client *c)
{
	struct lane *l;

	loop_timer_clear(c->loop, c->relief_timer);
	LANES_FOREACH(l, c)
		connection_close(&l->connection);
}

void
lanes_free(struct rpc_client *c)
{
	struct lane *l;

	LANES_FOREACH(l, c)
		lane_free(l);
	loop_timer_free(c->loop, c->relief_timer);
	free(c->lanes);
}
