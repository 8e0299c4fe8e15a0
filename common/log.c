/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * log.c - one write(2) a line, so that lines of several threads don't mix
 *
 * Control characters (a file name may hold a newline) come out as '?': one
 * message stays one line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define LINE_MAX_BYTES 2048

/* priority: what sd-daemon(3) puts in front of a line for the journal */
static const struct {
	const char *name, *priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", "<3>" },
	[LOG_LEVEL_WARNING] = { "warning", "<4>" },
	[LOG_LEVEL_INFO] = { "info", "<6>" },
	[LOG_LEVEL_DEBUG] = { "debug", "<7>" },
};
#define LEVEL_NR (sizeof levels / sizeof *levels)

static _Atomic int max_level = LOG_LEVEL_INFO;

enum log_level
log_get_level(void)
{
	return (enum log_level)atomic_load_explicit(&max_level,
						    memory_order_relaxed);
}

void
log_set_level(enum log_level level)
{
	atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

int
log_level_parse(const char *name, enum log_level *out)
{
	unsigned i;

	for (i = 0; i < LEVEL_NR; i++)
		if (!strcmp(name, levels[i].name)) {
			*out = (enum log_level)i;
			return 0;
		}
	return -EINVAL;
}

const char *
log_level_name(enum log_level level)
{
	return levels[level].name;
}

/* $JOURNAL_STREAM names the device and inode of the stream that the service
   manager made; stderr may have been pointed elsewhere since. */
static int
stderr_is_journal(void)
{
	const char *s = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return s && sscanf(s, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) &&
	       (uint64_t)st.st_dev == dev && (uint64_t)st.st_ino == ino;
}

static void
emit(enum log_level level, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int saved = errno, n;
	size_t len, i, start;
	ssize_t written;

	if ((int)level >
	    atomic_load_explicit(&max_level, memory_order_relaxed))
		return;
	if (stderr_is_journal())
		n = snprintf(line, sizeof line, "%s", levels[level].priority);
	else
		n = snprintf(line, sizeof line, "%s: %s: ",
			     program_invocation_short_name,
			     levels[level].name);
	start = len = (size_t)n;
	n = vsnprintf(line + len, sizeof line - len, fmt, ap);
	if (n > 0)
		len += (size_t)n;
	if (len > sizeof line - 2)
		len = sizeof line - 2;
	for (i = start; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[len++] = '\n';
	written = write(STDERR_FILENO, line, len);
	(void)written;		/* nobody left to tell */
	errno = saved;
}

#define LOG_FN(fn, level) \
	void \
	fn(const char *fmt, ...) \
	{ \
		va_list ap; \
	\
		va_start(ap, fmt); \
		emit(level, fmt, ap); \
		va_end(ap); \
	}

LOG_FN(log_error, LOG_LEVEL_ERROR)
LOG_FN(log_warning, LOG_LEVEL_WARNING)
LOG_FN(log_info, LOG_LEVEL_INFO)
LOG_FN(log_debug, LOG_LEVEL_DEBUG)
