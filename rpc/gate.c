/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gate.c - see gate.h */
#include <sys/param.h>

#include "rpc/gate.h"

#define AFTER_USEC 1500
#define HELD_TIMES 3

static bool
is_small(const struct rpc_call *call)
{
	return call->asked_small;
}

void
gate_queued(struct gate *g, const struct rpc_call *call)
{
	if (is_small(call))
		g->out++;
}

void
gate_ended(struct gate *g, const struct rpc_call *call, uint64_t now)
{
	if (!is_small(call))
		return;
	g->out--;
	g->until_usec = now + AFTER_USEC;
}

bool
gate_is_for(const struct rpc_call *call)
{
	return call->class != RPC_FOREGROUND &&
	       call->payload_bytes > GATE_SMALL;
}

void
gate_begun(struct gate *g, const struct rpc_call *call, uint64_t now)
{
	if (call->payload_bytes > GATE_SMALL)
		g->last_usec = now;
}

void
gate_sent(struct gate *g, const struct rpc_call *call, uint64_t took_usec,
	  uint64_t now)
{
	if (call->payload_bytes <= GATE_SMALL)
		return;
	g->last_usec = now;
	g->took_usec = took_usec;
}

uint64_t
gate_wait_usec(const struct gate *g, const struct rpc_call *call, uint64_t now)
{
	uint64_t most = g->last_usec + HELD_TIMES * g->took_usec;

	if (!g->on || !gate_is_for(call) || now >= most ||
	    (!g->out && now >= g->until_usec))
		return 0;
	return (g->out ? most : MIN(most, g->until_usec)) - now;
}
