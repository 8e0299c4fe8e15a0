/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * progress.c - complaints, and on a terminal a bar with rate and time left
 *
 *	[==========>           ]  45%  460 MiB of 1.0 GiB  430 MiB/s  1.3 s left
 *
 * Workers only add to a counter.  A thread of its own draws five times a
 * second; one lock keeps its line and the complaints apart.  The rate is that
 * of the last few seconds.  Bytes are counted when the daemon has accepted
 * them, so the bar can stand at 100% while the last of them are committed.
 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/units.h"

#define TICK_NSEC 200000000L
#define SMOOTHING 0.1		/* a tick's share of the rate */
#define LINE_MAX_CHARS 200u

static struct {
	pthread_mutex_t lock;		/* standard error, and what follows */
	pthread_cond_t stop;
	pthread_t thread;
	bool on, ends;
	uint64_t total;
	double rate;
	struct timespec start, last;
	uint64_t last_done;
	_Atomic uint64_t done;
} bar = { .lock = PTHREAD_MUTEX_INITIALIZER };

static double
seconds_between(struct timespec a, struct timespec b)
{
	return (double)(b.tv_sec - a.tv_sec) +
		(double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static struct timespec
clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts;
}

static unsigned
terminal_width(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0)
		return 80;
	return ws.ws_col < LINE_MAX_CHARS ? ws.ws_col : LINE_MAX_CHARS;
}

/* "[====>    ] " into line; fraction from 0 to 1 */
static void
draw_bar(char *line, unsigned width, double fraction)
{
	unsigned inner = width - 3, full = (unsigned)(fraction * inner);

	line[0] = '[';
	memset(line + 1, ' ', inner);
	memset(line + 1, '=', full);
	if (full < inner)
		line[1 + full] = '>';
	strcpy(line + 1 + inner, "] ");
}

void
progress_line(char *line, size_t size, unsigned width, uint64_t done,
	      uint64_t total, double rate)
{
	char text[160], left[64] = "";
	double fraction;
	unsigned len, room;

	if (width >= size)
		width = size - 1;
	if (total == 0) {
		snprintf(line, width + 1, "%s  %s", units_bytes(done).s,
			 units_rate(rate).s);
		return;
	}
	if (done > total)
		total = done;
	fraction = (double)done / (double)total;
	if (done == total)
		strcpy(left, "  storing");
	else if (rate >= 1)
		snprintf(left, sizeof(left), "  %s left",
			 units_usec((uint64_t)((double)(total - done) / rate) *
				    1000000 + 1000000).s);
	len = snprintf(text, sizeof(text), "%3d%%  %s of %s  %s%s",
		       (int)(fraction * 100), units_bytes(done).s,
		       units_bytes(total).s, units_rate(rate).s, left);
	room = width > len ? width - len : 0;
	line[0] = '\0';
	if (room >= 10)
		draw_bar(line, room < 40 ? room : 40, fraction);
	snprintf(line + strlen(line), width + 1 - strlen(line), "%s", text);
}

static void
erase_line(void)
{
	fputs("\r\033[K", stderr);
}

static void
measure(void)
{
	struct timespec now = clock_now();
	double sec = seconds_between(bar.last, now), rate;
	uint64_t done = bar.done;

	if (sec <= 0)
		return;
	rate = (double)(done - bar.last_done) / sec;
	bar.rate = bar.last_done == 0 ? rate :
		bar.rate * (1 - SMOOTHING) + rate * SMOOTHING;
	bar.last = now;
	bar.last_done = done;
}

static void
draw(void)
{
	char line[LINE_MAX_CHARS + 1];

	progress_line(line, sizeof(line), terminal_width() - 1, bar.done,
		      bar.total, bar.rate);
	erase_line();
	fputs(line, stderr);
	fflush(stderr);
}

static void *
draw_again_and_again(void *arg)
{
	struct timespec until = clock_now();

	(void)arg;
	pthread_mutex_lock(&bar.lock);
	while (!bar.ends) {
		until.tv_nsec += TICK_NSEC;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000L;
		}
		while (!bar.ends && pthread_cond_timedwait(&bar.stop, &bar.lock,
						&until) != ETIMEDOUT)
			;
		if (bar.ends)
			break;
		measure();
		draw();
	}
	pthread_mutex_unlock(&bar.lock);
	return NULL;
}

bool
progress_wanted(void)
{
	return isatty(STDERR_FILENO);
}

void
progress_start(uint64_t total_bytes)
{
	pthread_condattr_t attr;

	if (!progress_wanted())
		return;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&bar.stop, &attr);
	pthread_condattr_destroy(&attr);
	bar.total = total_bytes;
	bar.start = bar.last = clock_now();
	bar.on = pthread_create(&bar.thread, NULL, draw_again_and_again,
				NULL) == 0;
}

void
progress_add(uint64_t bytes)
{
	bar.done += bytes;
}

void
progress_stop(void)
{
	double sec;
	uint64_t done = bar.done;

	if (!bar.on)
		return;
	pthread_mutex_lock(&bar.lock);
	bar.ends = true;
	pthread_cond_signal(&bar.stop);
	pthread_mutex_unlock(&bar.lock);
	pthread_join(bar.thread, NULL);
	bar.on = false;
	sec = seconds_between(bar.start, clock_now());
	erase_line();
	fprintf(stderr, "%s in %s, %s\n", units_bytes(done).s,
		units_usec((uint64_t)(sec * 1e6)).s,
		units_rate(sec > 0 ? (double)done / sec : 0).s);
}

/* File names may hold anything, also what a terminal obeys. */
static const char *
one_line(char *line)
{
	for (char *c = line; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return line;
}

void
complain(const char *fmt, ...)
{
	va_list ap;
	char *line;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	pthread_mutex_lock(&bar.lock);
	if (bar.on)
		erase_line();
	fprintf(stderr, "nfswb: %s\n", line ? one_line(line) : fmt);
	pthread_mutex_unlock(&bar.lock);
	free(line);
}
