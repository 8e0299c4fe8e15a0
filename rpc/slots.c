/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots.c - the slot table: three classes share the calls in flight
 *
 *	foreground   somebody waits for it: goes first
 *	normal       writers wait at the limit: has at least half of the slots
 *	             that foreground leaves, while background wants them, too;
 *	             of the rest the one that came first, so that a file's
 *	             later WRITEs don't overtake its earlier ones
 *	background   the rest, background_depth at most (set by wbt)
 *
 * Within a class the urgent ones go first: COMMITs, because they free what
 * many WRITEs hold, and calls that were raised.  A slot that no one else wants
 * is anybody's.
 */
#include <string.h>

#include "rpc/slots.h"

void
slots_init(struct slots *s, unsigned nr)
{
	int c;

	memset(s, 0, sizeof *s);
	s->nr = nr;
	s->background_depth = nr;
	for (c = 0; c < RPC_CLASS_NR; c++) {
		TAILQ_INIT(&s->waiting[c][0]);
		TAILQ_INIT(&s->waiting[c][1]);
	}
	TAILQ_INIT(&s->out);
}

static struct call_list *
list_of(struct slots *s, const struct rpc_call *call)
{
	return &s->waiting[call->class][!call->urgent];
}

void
slots_add(struct slots *s, struct rpc_call *call)
{
	call->state = CALL_WAITING;
	call->slot_nr = s->next_nr++;
	TAILQ_INSERT_TAIL(list_of(s, call), call, link);
	s->waiting_nr++;
}

void
slots_raise(struct slots *s, struct rpc_call *call, enum rpc_class class)
{
	if (call->out) {
		s->out_nr[call->class]--;
		s->out_nr[class]++;
		call->class = class;
		call->urgent = true;
		return;
	}
	TAILQ_REMOVE(list_of(s, call), call, link);
	call->class = class;
	call->urgent = true;
	TAILQ_INSERT_TAIL(list_of(s, call), call, link);
}

static struct rpc_call *
first_of(struct slots *s, enum rpc_class class)
{
	struct rpc_call *call = TAILQ_FIRST(&s->waiting[class][0]);

	return call ? call : TAILQ_FIRST(&s->waiting[class][1]);
}

unsigned
slots_out_nr(const struct slots *s)
{
	return s->out_nr[RPC_FOREGROUND] + s->out_nr[RPC_NORMAL] +
	       s->out_nr[RPC_BACKGROUND];
}

/* Normal against background, both waiting: is it normal's turn? */
static bool
is_normals_turn(const struct slots *s)
{
	unsigned left = s->nr - s->out_nr[RPC_FOREGROUND];

	return s->out_nr[RPC_NORMAL] < (left + 1) / 2;
}

static struct rpc_call *
choose(struct slots *s)
{
	struct rpc_call *call = first_of(s, RPC_FOREGROUND), *normal;

	if (call)
		return call;
	normal = first_of(s, RPC_NORMAL);
	call = first_of(s, RPC_BACKGROUND);
	if (!call || s->out_nr[RPC_BACKGROUND] >= s->background_depth)
		return normal;
	return normal && (is_normals_turn(s) ||
			  normal->slot_nr < call->slot_nr) ? normal : call;
}

struct rpc_call *
slots_take(struct slots *s)
{
	struct rpc_call *call = slots_out_nr(s) < s->nr ? choose(s) : NULL;

	if (!call)
		return NULL;
	TAILQ_REMOVE(list_of(s, call), call, link);
	s->waiting_nr--;
	TAILQ_INSERT_TAIL(&s->out, call, out_link);
	s->out_nr[call->class]++;
	call->out = true;
	return call;
}

void
slots_remove(struct slots *s, struct rpc_call *call)
{
	if (!call->out) {
		TAILQ_REMOVE(list_of(s, call), call, link);
		s->waiting_nr--;
		return;
	}
	TAILQ_REMOVE(&s->out, call, out_link);
	s->out_nr[call->class]--;
	call->out = false;
}
