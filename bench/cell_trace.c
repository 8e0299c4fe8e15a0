/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell_trace.c - what is dirtied, against its thresholds, and what each writer
 * was let write, every 100 ms
 *
 * A line is comma-separated: the second, what is dirtied; then for each server
 * what it holds, where its writers stop to run free, the setpoint, the most it
 * may hold, what it drains in a second; then what each writer has had accepted
 * since the line before.  Bytes.  The first line names the columns.
 */
#include <errno.h>
#include <inttypes.h>

#include "bench/cell_impl.h"
#include "daemon/writeback/pace.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/throttle.h"

#define SAMPLE_USEC 100000

static void
head(const struct cell *c)
{
	FILE *f = c->params.trace;
	unsigned i;

	fprintf(f, "second,dirtied");
	for (i = 0; i < c->server_nr; i++)
		fprintf(f, ",held_%u,free_%u,setpoint_%u,most_%u,drain_%u",
			i, i, i, i, i);
	for (i = 0; i < c->params.writers; i++)
		fprintf(f, ",writer_%u", i);
	fprintf(f, "\n");
}

static void
trace_server(struct cell *c, struct wb_server *s, uint64_t now)
{
	uint64_t most = share_most(s), middle = pace_middle(c->wb, most);

	fprintf(c->params.trace,
		",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		share_dirtied(s), middle, (middle + most) / 2, most,
		wb_server_stats(s, now)->drain_bw);
}

static void
trace_writer(struct writer *w)
{
	fprintf(w->cell->params.trace, ",%" PRIu64,
		w->offset - w->traced_bytes);
	w->traced_bytes = w->offset;
}

static void
trace(void *arg)
{
	struct cell *c = arg;
	uint64_t now = loop_now(c->loop);
	unsigned i;

	fprintf(c->params.trace, "%.1f,%" PRIu64,
		(double)(now - c->net[0].began_usec) / 1e6,
		throttle_dirtied(c->wb));
	for (i = 0; i < c->server_nr; i++)
		trace_server(c, c->server[i], now);
	for (i = 0; i < c->params.writers; i++)
		trace_writer(&c->writer[i]);
	fprintf(c->params.trace, "\n");
	loop_timer_set(c->loop, c->trace, SAMPLE_USEC);
}

int
cell_trace_start(struct cell *c)
{
	if (!c->params.trace)
		return 0;
	c->trace = loop_timer(c->loop, trace, c);
	if (!c->trace)
		return -ENOMEM;
	head(c);
	loop_timer_set(c->loop, c->trace, SAMPLE_USEC);
	return 0;
}
