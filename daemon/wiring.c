/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wiring.c - who calls whom
 *
 *	sessions ──▶ namespace ──▶ pipeline ──▶ transport (made by the namespace)
 *	   ▲             │ drain        │ poke, gave_up
 *	   └─────────────┘              ▼
 *	                        wiring: wb_run, the timer, the list, the log
 *
 * The pipeline does nothing by itself.  Its poke asks for a deferred call, that
 * gives it its turn, and a timer is set to when it wants the next.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"
#include "daemon/control.h"
#include "daemon/given_up.h"
#include "daemon/inherit.h"
#include "daemon/keep.h"
#include "daemon/listen.h"
#include "daemon/loop.h"
#include "daemon/namespace.h"
#include "daemon/notify.h"
#include "daemon/session.h"
#include "daemon/shutdown.h"
#include "daemon/statistics.h"
#include "daemon/upgrade.h"
#include "daemon/wiring.h"
#include "daemon/writeback/file.h"
#include "daemon/writeback/pipeline.h"

struct daemon {
	struct loop *loop;
	const struct config *config;
	uint64_t instance, started_usec;
	struct given_up_list *given_up;
	struct loop_deferred *turn;
	struct loop_timer *next_turn;
	struct wb *wb;
	struct namespace *ns;
	struct inherit inherit;
	struct notify *notify;
	struct keep *keep;
	struct listening listening;
	struct sessions *sessions;
	struct shutdown *shutdown;
	bool stopping;
	struct upgrade *upgrade;
	struct loop_signal *on_term, *on_int, *on_usr2;
};

/* -- the pipeline's hooks, and its turns -- */

static void
poke(void *arg)
{
	struct daemon *d = arg;

	loop_defer(d->loop, d->turn);
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	struct daemon *d = arg;

	log_error("%s: %" PRIu64 " bytes at %" PRIu64 " are given up: %s",
		  file_name(f), length, offset, strerror(-err));
	given_up_add(d->given_up, file_name(f), writer, offset, length, err);
}

static void
late(void *arg, uint64_t until_usec)
{
	struct daemon *d = arg;

	if (d->sessions)
		sessions_late(d->sessions, until_usec);
}

static void
turn(void *arg)
{
	struct daemon *d = arg;
	uint64_t now = loop_now(d->loop), next;

	wb_run(d->wb, now);
	if (d->shutdown)
		shutdown_look(d->shutdown);
	if (d->upgrade)
		upgrade_look(d->upgrade);
	next = wb_deadline(d->wb);
	now = loop_now(d->loop);
	if (next == UINT64_MAX)
		loop_timer_clear(d->loop, d->next_turn);
	else
		loop_timer_set(d->loop, d->next_turn,
			       next > now ? next - now : 0);
}

/* -- what the parts ask of each other -- */

static void
drain(void *arg, struct wb_file *f)
{
	struct daemon *d = arg;

	if (d->sessions)
		sessions_drain(d->sessions, f);
}

static void
described(void *arg, struct wb_file *f)
{
	struct daemon *d = arg;

	if (d->sessions)
		sessions_described(d->sessions, f);
}

static int
hide(void *arg, const char *text, uint64_t *id)
{
	struct daemon *d = arg;

	return d->sessions ? sessions_hide(d->sessions, text, id) : -ECANCELED;
}

static void
unhide(void *arg, uint64_t id)
{
	struct daemon *d = arg;

	if (d->sessions)
		sessions_unhide(d->sessions, id);
}

static char *
statistics(void *arg, const struct asker *who)
{
	struct daemon *d = arg;
	struct statistics_env env = {
		.wb = d->wb, .ns = d->ns, .sessions = d->sessions,
		.given_up = d->given_up, .instance = d->instance,
		.started_usec = d->started_usec, .asker = *who,
	};

	return statistics_json(&env, loop_now(d->loop));
}

static char *
control(void *arg, const char *request, const struct asker *who, int *err)
{
	struct daemon *d = arg;
	struct control_env env = { d->config, d->given_up };

	return control_answer(&env, request, who, err);
}

static void
asked_to_stop(void *arg)
{
	struct daemon *d = arg;

	d->stopping = true;
	upgrade_cancel(d->upgrade);
	shutdown_begin(d->shutdown);
}

static void
asked_to_execute_anew(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		upgrade_begin(d->upgrade);
}

/* -- executed anew -- */

static void
hold(void *arg, bool on)
{
	struct daemon *d = arg;

	wb_hold(d->wb, on);
}

static bool
is_quiet(void *arg)
{
	struct daemon *d = arg;

	return wb_is_quiet(d->wb);
}

static void
signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR2);
	sigprocmask(how, &set, NULL);
}

void
daemon_block_signals(void)
{
	signals(SIG_BLOCK);
}

static void
block(void *arg, bool on)
{
	(void)arg;
	signals(on ? SIG_BLOCK : SIG_UNBLOCK);
}

static int
leave(void *arg, struct inherit *in)
{
	struct daemon *d = arg;
	int err = listen_leave(&d->listening, sessions_socket(d->sessions),
			       in);

	if (!err)
		err = sessions_leave(d->sessions, in);
	return err ? err : keep_leave_rest(d->keep, in);
}

/* -- what outlives us -- */

static void
keep_memory(void *arg, const char *name, int fd)
{
	struct daemon *d = arg;

	notify_store(d->notify, name, fd);
}

static void
drop_memory(void *arg, const char *name)
{
	struct daemon *d = arg;

	notify_unstore(d->notify, name);
}

static bool
alive(void *arg)
{
	struct daemon *d = arg;

	return !wb_stands_still(d->wb, loop_now(d->loop));
}

/* -- starting, in this order; 0 or -1 -- */

/* Not 0, and a JSON integer. */
static int
start_instance(struct daemon *d)
{
	if (getrandom(&d->instance, sizeof d->instance, 0) !=
	    sizeof d->instance)
		d->instance = loop_now(d->loop);
	d->instance = (d->instance & INT64_MAX) | 1;
	d->started_usec = loop_now(d->loop);
	return 0;
}

static int
start_pipeline(struct daemon *d)
{
	static const struct wb_hooks hooks = { poke, gave_up, late };
	struct wb_limits limits = config_pipeline(d->config);

	d->given_up = given_up_new();
	d->turn = loop_deferred(d->loop, turn, d);
	d->next_turn = loop_timer(d->loop, turn, d);
	if (!d->given_up || !d->turn || !d->next_turn)
		return -1;
	d->wb = wb_new(&limits, &hooks, d, loop_now(d->loop));
	return d->wb ? 0 : -1;
}

static int
start_namespace(struct daemon *d)
{
	static const struct ns_memory memory = { described, hide, unhide };

	d->ns = namespace_new(d->loop, d->config, d->wb);
	if (!d->ns)
		return -1;
	ns_set_drain(d->ns, drain, d);
	ns_set_memory(d->ns, &memory, d);
	return 0;
}

static int
start_keeping(struct daemon *d)
{
	static const struct keep_hooks hooks = { keep_memory, drop_memory };

	d->notify = notify_new(d->loop, alive, d);
	d->keep = keep_new(&hooks, d);
	if (!d->notify || !d->keep || inherit_take(&d->inherit) ||
	    keep_take(d->keep, &d->inherit))
		return -1;
	return 0;
}

static int
start_sessions(struct daemon *d, char **error)
{
	struct sessions_env env = {
		.loop = d->loop, .config = d->config, .wb = d->wb,
		.ns = d->ns, .instance = d->instance, .keep = d->keep,
		.statistics = statistics, .control = control, .arg = d,
	};

	d->sessions = sessions_new(&env, d->listening.fd,
				   d->listening.runtime_dir, error);
	if (!d->sessions)
		return -1;
	d->listening.fd = -1;		/* theirs now */
	return 0;
}

static int
start_upgrade(struct daemon *d, char **argv)
{
	struct upgrade_env env = {
		.loop = d->loop, .argv = argv, .notify = d->notify,
		.hold = hold, .is_quiet = is_quiet, .block = block, .leave = leave,
		.arg = d,
	};

	d->upgrade = upgrade_new(&env);
	return d->upgrade ? 0 : -1;
}

static int
start_signals(struct daemon *d)
{
	struct shutdown_env env = {
		.loop = d->loop, .wb = d->wb, .sessions = d->sessions,
		.notify = d->notify,
		.timeout_usec = d->config->stop_timeout_sec * 1000000ull,
	};

	d->shutdown = shutdown_new(&env);
	d->on_term = evloop_signal(d->loop, SIGTERM, asked_to_stop, d);
	d->on_int = evloop_signal(d->loop, SIGINT, asked_to_stop, d);
	d->on_usr2 = evloop_signal(d->loop, SIGUSR2, asked_to_execute_anew, d);
	if (!d->shutdown || !d->on_term || !d->on_int || !d->on_usr2)
		return -1;
	signals(SIG_UNBLOCK);
	return 0;
}

static int
start_all(struct daemon *d, const char *socket, char **argv, char **error)
{
	if (start_instance(d) || start_pipeline(d) || start_namespace(d) ||
	    start_keeping(d) ||
	    listen_open(&d->listening, d->config, socket, &d->inherit,
			error) ||
	    start_sessions(d, error) || start_upgrade(d, argv) ||
	    start_signals(d))
		return -1;
	inherit_free(&d->inherit);
	return 0;
}

struct daemon *
daemon_start(struct loop *loop, const struct config *config,
	     const char *socket, char **argv, char **error)
{
	struct daemon *d = calloc(1, sizeof *d);

	*error = NULL;
	if (d) {
		d->loop = loop;
		d->config = config;
		d->listening.fd = d->listening.lock_fd = -1;
	}
	if (!d || start_all(d, socket, argv, error)) {
		if (!*error)
			*error = strdup("out of memory; try again");
		if (d)
			daemon_stop(d);
		return NULL;
	}
	log_info("listening on %s", d->listening.path);
	notify_status(d->notify, "Listening on %s", d->listening.path);
	notify_ready(d->notify);
	poke(d);
	return d;
}

/* In the reverse order of starting. */
bool
daemon_stop(struct daemon *d)
{
	bool clean = d->shutdown && shutdown_clean(d->shutdown);

	evloop_signal_free(d->on_usr2);
	evloop_signal_free(d->on_int);
	evloop_signal_free(d->on_term);
	upgrade_free(d->upgrade);
	d->upgrade = NULL;
	shutdown_free(d->shutdown);
	d->shutdown = NULL;
	if (d->sessions)
		sessions_free(d->sessions);
	d->sessions = NULL;
	listen_close(&d->listening);
	keep_free(d->keep);
	notify_free(d->notify);
	inherit_free(&d->inherit);
	if (d->ns)
		namespace_free(d->ns);
	if (d->wb)
		wb_free(d->wb);
	loop_timer_free(d->loop, d->next_turn);
	loop_deferred_free(d->loop, d->turn);
	given_up_free(d->given_up);
	free(d);
	return clean;
}
