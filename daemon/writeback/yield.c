/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * yield.c - see yield.h
 *
 * Of what the transport and the edges tell, wbt hears all but COMMITs and large
 * WRITEs: those that somebody waits for take as long as they are large, and by
 * that say nothing.
 *
 *	depth		slots for WRITEs of the background	rpc/slots.c
 *	share		bytes not stable yet, and in a COMMIT	server_backlog
 *	commits		COMMITs out, and the pause after one	commit_window.c
 *	yields		little in the socket, WRITEs let small
 *			calls through				rpc/gate.c
 */
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/yield.h"

#define PROC_WRITE 7			/* of RFC 1813 */
#define PROC_COMMIT 21

static void
apply(struct wb_server *s, uint64_t now)
{
	struct wbt *w = &s->wbt;
	unsigned depth = wbt_depth(w);
	bool yields = wbt_yields(w, now);

	if (depth != s->stats.wbt.depth && s->calls->background_depth)
		s->calls->background_depth(s->calls_arg, depth);
	if (yields != s->yields && s->calls->yield)
		s->calls->yield(s->calls_arg, yields);
	s->yields = yields;
	s->stats.wbt.depth = depth;
	s->stats.wbt.windows = w->windows;
	s->stats.wbt.steps_down = w->steps_down;
	s->stats.wbt.steps_up = w->steps_up;
}

void
yield_init(struct wb_server *s)
{
	wbt_init(&s->wbt, s->params.wbt_lat_usec, s->params.slot_nr);
	s->stats.wbt.depth = s->stats.wbt.max_depth = wbt_depth(&s->wbt);
	if (s->calls->background_depth)
		s->calls->background_depth(s->calls_arg, wbt_depth(&s->wbt));
}

void
yield_turn(struct wb_server *s, uint64_t now)
{
	if (s->wb->draining)		/* the end has a deadline */
		wbt_off(&s->wbt);
	wb_due(s->wb, wbt_turn(&s->wbt, s->bytes[EXTENT_WRITEBACK] +
			       s->window_of_commits.out_bytes, now));
	apply(s, now);
}

void
yield_committed(struct wb_server *s, uint64_t took_usec, uint64_t now)
{
	wbt_committed(&s->wbt, took_usec, now);
}

bool
yield_may_commit(struct wb_server *s, uint64_t now)
{
	uint64_t usec = wbt_commit_wait_usec(&s->wbt, now);

	if (usec)
		wb_due(s->wb, now + usec);
	return !usec;
}

/* ---- what is told ---- */

static bool
tells(unsigned proc, uint64_t bytes)
{
	return proc != PROC_COMMIT && (proc != PROC_WRITE ||
				       bytes <= WBT_LARGE);
}

void
wb_server_foreground_sent(struct wb_server *s, unsigned proc, uint64_t bytes,
			  uint64_t now)
{
	bool runs = s->wbt.window_usec;

	if (!tells(proc, bytes))
		return;
	wbt_sent(&s->wbt, wbt_kind(proc, bytes), now);
	if (s->wbt.window_usec && !runs)
		wb_poke(s->wb);		/* so that it ends */
}

/* It may be what a COMMIT waited for. */
static void
ended(struct wb_server *s, unsigned kind, bool ok, uint64_t rtt_usec,
      uint64_t now)
{
	bool waits = wbt_commit_wait_usec(&s->wbt, now);

	wbt_ended(&s->wbt, kind, ok, rtt_usec, now);
	if (waits && !wbt_commit_wait_usec(&s->wbt, now))
		wb_poke(s->wb);
}

void
wb_server_foreground_ended(struct wb_server *s, unsigned proc, uint64_t bytes,
			   uint64_t rtt_usec, bool ok, uint64_t now)
{
	if (ok)
		hist_add(&s->stats.wbt.foreground_us, rtt_usec);
	if (tells(proc, bytes))
		ended(s, wbt_kind(proc, bytes), ok, rtt_usec, now);
}
