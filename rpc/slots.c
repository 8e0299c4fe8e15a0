/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots.c - the slot table: three classes share the calls in flight
 *
 *	foreground   somebody waits for it: goes first, but for one slot that the
 *	             others have if they came before, or after so many
 *	normal       writers wait at the limit: has at least half of what
 *	             foreground leaves, while background wants it, too; of
 *	             the rest the one that came first, so that a file's later
 *	             WRITEs don't overtake its earlier ones
 *	background   the rest
 *
 * Normal and background together hold background_depth slots at most (set by
 * wbt).  COMMITs don't count there (apart): they would keep WRITEs out for as long
 * as the server's disk works, and how many are out is decided before they come
 * here (daemon/writeback/commit_window.c).
 *
 * Within a class the urgent ones go first: COMMITs, because they free what
 * many WRITEs hold, calls that were raised, and of foreground those that are no
 * WRITEs.  A slot that no one else wants is anybody's.
 */
#include <string.h>
#include <sys/param.h>

#include "rpc/slots.h"

#define PASSED_MAX 64

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

/* Does it stand against the depth? */
static bool
is_deep(const struct rpc_call *call)
{
	return call->class != RPC_FOREGROUND && !call->apart;
}

static void
count_out(struct slots *s, const struct rpc_call *call, int by)
{
	s->out_nr[call->class] += (unsigned)by;
	if (is_deep(call))
		s->deep_nr += (unsigned)by;
}

void
slots_raise(struct slots *s, struct rpc_call *call, enum rpc_class class)
{
	if (call->out) {
		count_out(s, call, -1);
		call->class = class;
		count_out(s, call, 1);
		call->urgent = true;
		return;
	}
	TAILQ_REMOVE(list_of(s, call), call, link);
	call->class = class;
	call->urgent = true;
	TAILQ_INSERT_TAIL(list_of(s, call), call, link);
}

/* The first of a class; where the depth is used up, of those it is not for. */
static struct rpc_call *
first_of(struct slots *s, enum rpc_class class)
{
	bool deep = class == RPC_FOREGROUND ||
		    s->deep_nr < s->background_depth;
	struct rpc_call *call;
	int i;

	for (i = 0; i < 2; i++)
		TAILQ_FOREACH(call, &s->waiting[class][i], link)
			if (deep || call->apart)
				return call;
			else if (i)
				break;	/* COMMITs are urgent */
	return NULL;
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
	unsigned left = MIN(s->nr - s->out_nr[RPC_FOREGROUND],
			    s->background_depth);

	return s->out_nr[RPC_NORMAL] < (left + 1) / 2;
}

static struct rpc_call *
choose_other(struct slots *s)
{
	struct rpc_call *normal, *call;

	normal = first_of(s, RPC_NORMAL);
	call = first_of(s, RPC_BACKGROUND);
	if (!call)
		return normal;
	return normal && (is_normals_turn(s) ||
			  normal->slot_nr < call->slot_nr) ? normal : call;
}

/* Would foreground take the last slot, and the others have none? */
static bool
is_others_last(const struct slots *s)
{
	unsigned out = slots_out_nr(s);

	return s->nr > 1 && out + 1 == s->nr && !s->deep_nr;
}

static struct rpc_call *
choose(struct slots *s)
{
	struct rpc_call *first = first_of(s, RPC_FOREGROUND), *call;

	if (first && !is_others_last(s))
		return first;
	call = choose_other(s);
	if (call && first && first->slot_nr < call->slot_nr &&
	    ++s->passed_nr < PASSED_MAX)
		return first;
	s->passed_nr = 0;
	return call ? call : first;
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
	count_out(s, call, 1);
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
	count_out(s, call, -1);
	call->out = false;
}
