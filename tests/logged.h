/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * logged.h - what was logged, warnings and errors: it goes into a file, to be
 * looked through
 */
#ifndef NFSWB_TESTS_LOGGED_H
#define NFSWB_TESTS_LOGGED_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/unit.h"

static FILE *log_file;
static int log_fd;

static inline void
log_begin(void)
{
	log_file = tmpfile();
	log_fd = dup(2);
	CU_ASSERT_FATAL(log_file != NULL && log_fd >= 0);
	fflush(stderr);
	dup2(fileno(log_file), 2);
	log_set_level(LOG_LEVEL_WARNING);
}

/* How many of its lines contain text. */
static inline unsigned
log_end(const char *text)
{
	char line[1024];
	unsigned n = 0;

	fflush(stderr);
	dup2(log_fd, 2);
	close(log_fd);
	log_set_level(LOG_LEVEL_ERROR);
	rewind(log_file);
	while (fgets(line, sizeof line, log_file))
		n += strstr(line, text) != NULL;
	fclose(log_file);
	return n;
}

#endif
