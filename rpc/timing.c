/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * timing.c - per procedure: how many, how large, where the time went
 *
 *	queued      first byte    last byte          replied
 *	  |-- queue --|             |------ rtt -------|
 *	  |----------------- execute ------------------|
 *
 * first byte: of the first copy.  last byte: of the last copy that was out.  A
 * call that was answered before all of it was out took no round trip.  Times
 * of calls that failed here, without a reply, are not counted.
 */
#include "rpc/timing.h"

static uint64_t
span(uint64_t from, uint64_t to)
{
	return from && to > from ? to - from : 0;
}

void
timing_count(struct rpc_op_stats *s, const struct rpc_call *call, int err)
{
	const struct rpc_timing *t = &call->timing;

	s->ops++;
	if (err) {
		s->errors++;
		return;
	}
	hist_add(&s->queue_us, span(t->queued, t->first_byte));
	hist_add(&s->rtt_us, span(t->last_byte, t->replied));
	hist_add(&s->execute_us, span(t->queued, t->replied));
}
