/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* server.c - see server.h */
#include <stdlib.h>

#include "daemon/writeback/commit.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/yield.h"

#define SMALL_SYNC_USEC 5000000	/* after one, others are expected */
#define BANDWIDTH_FIRST (100u << 20)	/* bytes a second, until measured */

struct wb_server *
wb_server_new(struct wb *wb, const struct wb_server_params *params,
	      const struct wb_calls *calls, void *calls_arg, uint64_t now)
{
	struct wb_server *s = calloc(1, sizeof *s);

	wb->now = now;
	if (!s)
		return NULL;
	s->wb = wb;
	s->params = *params;
	s->calls = calls;
	s->calls_arg = calls_arg;
	RB_INIT(&s->dirty_files);
	TAILQ_INIT(&s->tail_files);
	RB_INIT(&s->ages);
	RB_INIT(&s->wanted_by_bytes);
	RB_INIT(&s->idle_by_bytes);
	RB_INIT(&s->idle_by_age);
	RB_INIT(&s->aged);
	TAILQ_INIT(&s->unstable_files);
	TAILQ_INIT(&s->sync_files);
	TAILQ_INIT(&s->free_ops);
	TAILQ_INIT(&s->free_commits);
	TAILQ_INIT(&s->want_commit);
	TAILQ_INIT(&s->want_waited);
	TAILQ_INIT(&s->window_of_commits.trips);
	congestion_init(&s->congestion, params->congestion_policy,
			params->congestion_bytes, &s->stats.async,
			&s->stats.sync);
	bandwidth_init(&s->bandwidth, BANDWIDTH_FIRST);
	drain_init(&s->drain, BANDWIDTH_FIRST);
	s->pace.fits = true;
	s->name = strdup(params->name);
	if (!s->name || write_ops_init(s) < 0 || commit_init(s) < 0) {
		write_ops_free(s);
		commit_free(s);
		free(s->name);
		free(s);
		return NULL;
	}
	yield_init(s);
	LIST_INSERT_HEAD(&wb->servers, s, link);
	return s;
}

unsigned
wb_server_call_nr(const struct wb *wb, const struct wb_server_params *params)
{
	return write_ops_nr(wb, params) + COMMITS_NR;
}

void
wb_server_free(struct wb_server *s)
{
	struct slab *slab;

	LIST_FOREACH(slab, &s->wb->slabs, link)
		if (slab->server == s)
			slab_aim(slab, NULL);
	LIST_REMOVE(s, link);
	write_ops_free(s);
	commit_free(s);
	free(s->name);
	free(s);
}

const char *
wb_server_name(const struct wb_server *s)
{
	return s->name;
}

void *
wb_server_calls_arg(const struct wb_server *s)
{
	return s->calls_arg;
}

uint64_t
server_backlog(const struct wb_server *s)
{
	uint64_t second = s->bandwidth.bytes_per_sec;

	if (s->small_sync_usec &&
	    s->wb->now - s->small_sync_usec < SMALL_SYNC_USEC)
		second /= 8;
	return wbt_share(&s->wbt, second);
}
