/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * upgrade.c - executing the program anew in this process
 *
 *	IDLE ── SIGUSR2 ──▶ CHECKING: the program that is there now, with our
 *	  ▲                    │ options and -t, as a child
 *	  │ it fails           │ it says yes
 *	  ├────────────────────┤
 *	  │                    ▼
 *	  │                  QUIET: no WRITE or truncation is begun, those that are
 *	  │                    │    out are waited for, a moment at most
 *	  │ execve fails       ▼
 *	  └────────────────── execve: never comes back
 *
 * The new program gets the listening socket and the sessions' memory; to the
 * clients we have died, and come back at once: they resume, as after any death
 * of ours.  A WRITE that is cut off closes its range to newer data for
 * late_duplicate_sec; that is what QUIET is for.
 *
 * The signals that stop us are blocked across execve, or one that comes before
 * the new program minds it would kill it.
 */
#include "daemon/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/inherit.h"
#include "daemon/notify.h"
#include "daemon/peer.h"

#define CHECK_USEC	10000000	/* the check may take so long */
#define QUIET_USEC	500000

extern char **environ;

struct upgrade {
	struct upgrade_env env;
	enum { IDLE, CHECKING, QUIET } state;
	char program[PATH_MAX];		/* where it is, whatever it is now */
	pid_t child;			/* 0: none */
	int pidfd;
	struct loop_watch *ended;
	struct loop_timer *deadline;
	struct loop_deferred *go;
};

/* The path we were started by, also where another file is there now. */
static int
find_program(char *path, size_t room)
{
	static const char deleted[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", path, room - 1);
	size_t cut = sizeof deleted - 1;

	if (n <= 0)
		return -errno;
	path[n] = '\0';
	if ((size_t)n > cut && !strcmp(path + n - cut, deleted))
		path[(size_t)n - cut] = '\0';
	return 0;
}

static void
to_idle(struct upgrade *u)
{
	if (u->state == QUIET)
		u->env.hold(u->env.arg, false);
	u->state = IDLE;
	loop_timer_clear(u->env.loop, u->deadline);
}

static void
go_on(struct upgrade *u, const char *why, const char *more)
{
	log_error("not executed anew, this nfswbd goes on: %s%s%s", why,
		  *more ? ": " : "", more);
	to_idle(u);
	notify_status(u->env.notify, "Not executed anew: %s", why);
	notify_ready(u->env.notify);
}

/* --- the execution --- */

static void
execute(void *arg)
{
	struct upgrade *u = arg;
	struct inherit in = { .nr = 0 };
	int err;

	if (u->state != QUIET)
		return;
	err = u->env.leave(u->env.arg, &in);
	if (!err)
		err = inherit_leave(&in);
	if (!err) {
		log_info("executing %s anew", u->program);
		u->env.block(u->env.arg, true);
		execv(u->program, u->env.argv);
		err = -errno;
		u->env.block(u->env.arg, false);
	}
	inherit_stay(&in);
	go_on(u, u->program, strerror(-err));
}

static void
quiet(struct upgrade *u)
{
	u->state = QUIET;
	u->env.hold(u->env.arg, true);
	loop_timer_set(u->env.loop, u->deadline, QUIET_USEC);
	upgrade_look(u);
}

void
upgrade_look(struct upgrade *u)
{
	if (u->state == QUIET && u->env.is_quiet(u->env.arg))
		loop_defer(u->env.loop, u->go);
}

/* --- the check --- */

static void
forget_child(struct upgrade *u)
{
	loop_watch_free(u->env.loop, u->ended);
	u->ended = NULL;
	if (u->pidfd >= 0)
		close(u->pidfd);
	u->pidfd = -1;
	u->child = 0;
}

static void
child_ended(void *arg, int fd, unsigned events)
{
	struct upgrade *u = arg;
	int status;

	(void)fd;
	(void)events;
	if (waitpid(u->child, &status, WNOHANG) != u->child)
		return;
	forget_child(u);
	if (u->state != CHECKING)
		return;
	loop_timer_clear(u->env.loop, u->deadline);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		quiet(u);
	else
		go_on(u, u->program, "it can't start with this configuration, "
		      "or not at all");
}

/* What the child prints goes where our log goes. */
static int
start_child(struct upgrade *u)
{
	posix_spawn_file_actions_t actions;
	unsigned i, nr;
	char **argv;
	int err;

	for (nr = 0; u->env.argv[nr]; nr++)
		;
	argv = calloc(nr + 2, sizeof *argv);
	if (!argv)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		argv[i] = u->env.argv[i];
	argv[nr] = (char *)(uintptr_t)"-t";
	err = posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = posix_spawn_file_actions_addopen(&actions, 1,
						       "/dev/null", O_WRONLY,
						       0);
		if (!err)
			err = posix_spawn(&u->child, u->program, &actions,
					  NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	free(argv);
	if (err)
		u->child = 0;
	return -err;
}

static void
kill_child(struct upgrade *u)
{
	if (u->child)
		kill(u->child, SIGKILL);	/* child_ended does the rest */
}

void
upgrade_begin(struct upgrade *u)
{
	int err;

	if (u->child && waitpid(u->child, NULL, WNOHANG) == u->child)
		forget_child(u);	/* one that could not be watched */
	if (u->state != IDLE || u->child)
		return;
	log_info("asked to execute %s anew: checking it", u->program);
	notify_reloading(u->env.notify);
	err = *u->program ? start_child(u) : -ENOENT;
	if (err) {
		go_on(u, u->program, strerror(-err));
		return;
	}
	u->state = CHECKING;
	u->pidfd = peer_pidfd(u->child);
	if (u->pidfd >= 0)
		u->ended = loop_watch(u->env.loop, u->pidfd, LOOP_READ,
				      child_ended, u);
	loop_timer_set(u->env.loop, u->deadline, u->ended ? CHECK_USEC : 0);
}

/* --- time, beginning, end --- */

static void
out_of_time(void *arg)
{
	struct upgrade *u = arg;

	if (u->state == QUIET) {
		loop_defer(u->env.loop, u->go);
	} else if (u->state == CHECKING) {
		kill_child(u);
		go_on(u, u->program, "its check takes too long");
	}
}

void
upgrade_cancel(struct upgrade *u)
{
	kill_child(u);
	to_idle(u);
}

struct upgrade *
upgrade_new(const struct upgrade_env *env)
{
	struct upgrade *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->env = *env;
	u->pidfd = -1;
	u->deadline = loop_timer(env->loop, out_of_time, u);
	u->go = loop_deferred(env->loop, execute, u);
	if (!u->deadline || !u->go) {
		upgrade_free(u);
		return NULL;
	}
	if (find_program(u->program, sizeof u->program))
		*u->program = '\0';
	return u;
}

void
upgrade_free(struct upgrade *u)
{
	if (!u)
		return;
	kill_child(u);
	if (u->child)
		waitpid(u->child, NULL, 0);
	forget_child(u);
	loop_timer_free(u->env.loop, u->deadline);
	loop_deferred_free(u->env.loop, u->go);
	free(u);
}
