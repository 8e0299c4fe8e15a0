/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * every.c - something shown every so often, until q, ^C or the count ends it
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/every.h"
#include "cli/units.h"

static volatile sig_atomic_t stopped;
static struct termios saved;
static bool reads_keys, knows_start;
static struct timespec due;

int
every_option(struct every *every, int c, const char *value)
{
	int n = c == 'i' ? units_parse_seconds(value) :
		units_parse_count(value);

	if (n < 0)
		return -1;
	if (c == 'i')
		every->msec = n;
	else
		every->count = n;
	return 0;
}

static void
stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* A background job must not touch the terminal. */
static bool
owns_terminal(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void
every_start(void)
{
	struct sigaction sa = { .sa_handler = stop };
	struct termios raw;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (!owns_terminal() || tcgetattr(STDIN_FILENO, &saved) < 0)
		return;
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	reads_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

void
every_stop(void)
{
	if (reads_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	reads_keys = false;
}

/* The next time that is due, not drifting; milliseconds from now. */
static int
next_due(int msec)
{
	struct timespec now;
	long long left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!knows_start)
		due = now;
	knows_start = true;
	due.tv_sec += msec / 1000;
	due.tv_nsec += msec % 1000 * 1000000L;
	if (due.tv_nsec >= 1000000000L) {
		due.tv_sec++;
		due.tv_nsec -= 1000000000L;
	}
	left = (long long)(due.tv_sec - now.tv_sec) * 1000 +
		(due.tv_nsec - now.tv_nsec) / 1000000;
	if (left >= 0)
		return (int)left;
	due = now;
	return 0;
}

/* false: q was typed.  The end of input means no more keys. */
static bool
read_key(void)
{
	char key;
	ssize_t n = read(STDIN_FILENO, &key, 1);

	if (n == 0 || (n < 0 && errno != EINTR))
		every_stop();
	return n != 1 || (key != 'q' && key != 'Q');
}

bool
every_wait(struct every *every)
{
	struct pollfd pfd = { .fd = reads_keys ? STDIN_FILENO : -1,
			      .events = POLLIN };
	int n;

	fflush(stdout);
	every->done++;
	if (every->msec == 0 || every->done == every->count)
		return false;
	n = stopped ? -1 : poll(&pfd, 1, next_due(every->msec));
	if (n > 0 && !read_key())
		stopped = 1;
	return !stopped && !ferror(stdout);
}
