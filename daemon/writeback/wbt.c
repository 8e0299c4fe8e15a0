/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wbt.c - see wbt.h */
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/wbt.h"

void
wbt_init(struct wb_server *s)
{
	s->stats.wbt.depth = s->stats.wbt.max_depth = s->params.slot_nr;
	if (s->calls->background_depth)
		s->calls->background_depth(s->calls_arg, s->params.slot_nr);
}

void
wb_server_foreground(struct wb_server *s, unsigned proc, uint64_t rtt_usec,
		     uint64_t now)
{
	(void)proc;
	(void)now;
	hist_add(&s->stats.wbt.foreground_us, rtt_usec);
}
