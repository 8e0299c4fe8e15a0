/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify.c - telling the service manager how we are, by sd_notify(3)
 *
 * The watchdog is fed by a timer of the loop: what it shows is that the loop
 * goes round.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "autoconf.h"
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "daemon/notify.h"

struct notify {
	struct loop *loop;
	struct loop_timer *timer;
	uint64_t interval_usec;
};

#ifdef HAVE_SYSTEMD

static void
tell(const char *state)
{
	sd_notify(0, state);
}

static uint64_t
watchdog_usec(void)
{
	uint64_t usec;

	return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}

#else

static void
tell(const char *state)
{
	(void)state;
}

static uint64_t
watchdog_usec(void)
{
	return 0;
}

#endif

static void
feed(void *arg)
{
	struct notify *n = arg;

	tell("WATCHDOG=1");
	loop_timer_set(n->loop, n->timer, n->interval_usec);
}

struct notify *
notify_new(struct loop *loop)
{
	struct notify *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->loop = loop;
	n->interval_usec = watchdog_usec() / 2;
	n->timer = loop_timer(loop, feed, n);
	if (!n->timer) {
		free(n);
		return NULL;
	}
	if (n->interval_usec)
		feed(n);
	return n;
}

void
notify_free(struct notify *n)
{
	if (!n)
		return;
	loop_timer_free(n->loop, n->timer);
	free(n);
}

void
notify_ready(void)
{
	tell("READY=1");
}

void
notify_stopping(uint64_t timeout_usec)
{
	char state[80];

	snprintf(state, sizeof state, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%"
		 PRIu64, timeout_usec);
	tell(state);
}

void
notify_status(const char *fmt, ...)
{
	char state[512] = "STATUS=";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(state + 7, sizeof state - 7, fmt, ap);
	va_end(ap);
	tell(state);
}
