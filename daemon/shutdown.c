/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shutdown.c - stopping without losing anything, within a deadline
 *
 *	RUNNING ── begin ──▶ DRAINING ── nothing left, or deadline,
 *	                                 or a second begin ──▶ OVER: loop stops
 *
 * The loop stops one round after the last byte is written, so that those who
 * waited for it are answered first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/notify.h"
#include "daemon/session.h"
#include "daemon/shutdown.h"
#include "daemon/writeback/file.h"
#include "daemon/writeback/pipeline.h"

#define MORE_USEC 10000000	/* that the service manager should grant us */

struct shutdown {
	struct shutdown_env env;
	enum { RUNNING, DRAINING, OVER } state;
	struct loop_timer *deadline;
	struct loop_deferred *last_round;
	bool clean;
};

/* What was found and may still grow: ranges that continue each other are named
   once. */
struct left {
	struct wb_file *file;
	uint64_t offset, length;
	int err;
};

static void
name_left(const struct left *l)
{
	if (l->length)
		log_error("%s: %" PRIu64 " bytes at %" PRIu64 " are not on "
			  "stable storage: %s", file_name(l->file), l->length,
			  l->offset, l->err ? strerror(-l->err)
					    : "not written in time");
}

static void
add_left(void *arg, struct wb_file *f, uint64_t offset, uint64_t length,
	 int err)
{
	struct left *l = arg;

	if (f == l->file && offset == l->offset + l->length && err == l->err) {
		l->length += length;
		return;
	}
	name_left(l);
	*l = (struct left){ f, offset, length, err };
}

static void
stop_loop(void *arg)
{
	struct shutdown *s = arg;

	loop_stop(s->env.loop);
}

static void
over(struct shutdown *s)
{
	uint64_t left = wb_left_bytes(s->env.wb);
	unsigned sessions = sessions_left(s->env.sessions);
	struct left last = { .length = 0 };

	if (s->state == OVER)
		return;
	s->state = OVER;
	s->clean = !left && !sessions;
	loop_timer_clear(s->env.loop, s->deadline);
	if (left) {
		log_error("stopped with %" PRIu64 " bytes that are not on "
			  "stable storage:", left);
		wb_each_left(s->env.wb, add_left, &last);
		name_left(&last);
	}
	if (sessions)
		log_error("stopped before all was taken over of %u session%s "
			  "whose application%s ended", sessions,
			  sessions == 1 ? "" : "s",
			  sessions == 1 ? "" : "s");
	if (s->clean) {
		log_info("stopped; everything is on stable storage");
	}
	loop_defer(s->env.loop, s->last_round);
}

static void
out_of_time(void *arg)
{
	over(arg);
}

struct shutdown *
shutdown_new(const struct shutdown_env *env)
{
	struct shutdown *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->env = *env;
	s->deadline = loop_timer(env->loop, out_of_time, s);
	s->last_round = loop_deferred(env->loop, stop_loop, s);
	if (!s->deadline || !s->last_round) {
		shutdown_free(s);
		return NULL;
	}
	return s;
}

void
shutdown_free(struct shutdown *s)
{
	if (!s)
		return;
	loop_timer_free(s->env.loop, s->deadline);
	loop_deferred_free(s->env.loop, s->last_round);
	free(s);
}

void
shutdown_begin(struct shutdown *s)
{
	uint64_t left;

	if (s->state != RUNNING) {
		over(s);
		return;
	}
	s->state = DRAINING;
	notify_stopping(s->env.notify, s->env.timeout_usec + MORE_USEC);
	sessions_stop(s->env.sessions);
	wb_drain(s->env.wb, loop_now(s->env.loop));
	left = wb_left_bytes(s->env.wb);
	log_info("stopping: %" PRIu64 " bytes to write back, %" PRIu64
		 " seconds at most", left, s->env.timeout_usec / 1000000);
	notify_status(s->env.notify, "Stopping: writing back %" PRIu64
		      " bytes", left);
	loop_timer_set(s->env.loop, s->deadline, s->env.timeout_usec);
	wb_poke(s->env.wb);
}

void
shutdown_look(struct shutdown *s)
{
	if (s->state == DRAINING && !wb_left_bytes(s->env.wb) &&
	    !sessions_left(s->env.sessions))
		over(s);
}

bool
shutdown_clean(const struct shutdown *s)
{
	return s->clean;
}
