/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* log_test.c - what comes out on stderr */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/unit.h"

static int saved_stderr, out[2];

static void
capture(void)
{
	saved_stderr = dup(2);
	CU_ASSERT_FATAL(saved_stderr >= 0 && pipe2(out, O_NONBLOCK) == 0);
	dup2(out[1], 2);
}

/* What was written since, as a string. */
static const char *
captured(void)
{
	static char text[8192];
	ssize_t n = read(out[0], text, sizeof text - 1);

	text[n > 0 ? n : 0] = 0;
	dup2(saved_stderr, 2);
	close(saved_stderr);
	close(out[0]);
	close(out[1]);
	return text;
}

static void
line_names_program_and_level(void)
{
	char want[200];

	snprintf(want, sizeof want, "%s: warning: 3 of them\n",
		 program_invocation_short_name);
	unsetenv("JOURNAL_STREAM");
	capture();
	log_warning("%d of them", 3);
	CU_ASSERT_STRING_EQUAL(captured(), want);
}

static void
levels_below_the_set_one_are_silent(void)
{
	capture();
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("no");
	log_info("no");
	log_debug("no");
	log_set_level(LOG_LEVEL_INFO);
	log_debug("no");
	CU_ASSERT_STRING_EQUAL(captured(), "");
}

static void
journal_gets_priorities(void)
{
	char stream[64];
	struct stat st;

	capture();
	fstat(2, &st);
	snprintf(stream, sizeof stream, "%llu:%llu",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_error("e");
	log_warning("w");
	log_info("i");
	unsetenv("JOURNAL_STREAM");
	CU_ASSERT_STRING_EQUAL(captured(), "<3>e\n<4>w\n<6>i\n");
}

static void
journal_stream_of_another_file_is_not_ours(void)
{
	capture();
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_error("e");
	unsetenv("JOURNAL_STREAM");
	CU_ASSERT(captured()[0] != '<');
}

static void
newline_in_a_name_stays_one_line(void)
{
	const char *text;

	capture();
	log_error("%s", "evil\n<0>name\x7f");
	text = captured();
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "evil?<0>name?\n"));
}

static void
long_line_is_cut_and_ends_with_newline(void)
{
	char big[6000];
	const char *text;

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	capture();
	errno = EBADF;
	log_error("%s", big);
	CU_ASSERT_EQUAL(errno, EBADF);
	text = captured();
	CU_ASSERT(strlen(text) < 4096);
	CU_ASSERT_EQUAL(text[strlen(text) - 1], '\n');
}

static void
level_names_parse_back(void)
{
	enum log_level l, got;

	for (l = LOG_LEVEL_ERROR; l <= LOG_LEVEL_DEBUG; l++) {
		CU_ASSERT_EQUAL(log_level_parse(log_level_name(l), &got), 0);
		CU_ASSERT_EQUAL(got, l);
	}
	CU_ASSERT_EQUAL(log_level_parse("loud", &got), -EINVAL);
}

UNIT_TESTS(log,
	UNIT(line_names_program_and_level),
	UNIT(levels_below_the_set_one_are_silent),
	UNIT(journal_gets_priorities),
	UNIT(journal_stream_of_another_file_is_not_ours),
	UNIT(newline_in_a_name_stays_one_line),
	UNIT(long_line_is_cut_and_ends_with_newline),
	UNIT(level_names_parse_back),
)
