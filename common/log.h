/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * log.h - one line for the administrator
 *
 * To stderr, or to the journal where stderr is connected to it; the daemon
 * only (libnfswb prints nothing).
 */
#ifndef NFSWB_LOG_H
#define NFSWB_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
		 LOG_LEVEL_DEBUG };

void log_set_level(enum log_level);
enum log_level log_get_level(void);
/* "error", "warning", "info", "debug"; -EINVAL: none of them. */
int log_level_parse(const char *name, enum log_level *out);
const char *log_level_name(enum log_level);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
