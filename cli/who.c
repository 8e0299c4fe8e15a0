/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * who.c - nfswb who: each writer, and what it is waiting for
 *
 * A line a session, those that hold the most first.
 */
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/statistics.h"
#include "cli/units.h"
#include "cli/who.h"

const char who_help[] =
"Usage: nfswb who\n"
"Shows each program that has a session with the daemon: its open files, what\n"
"it wrote that is dirty (not sent, or in flight) or unstable (the server has\n"
"it, but not on stable storage), what it is waiting for, how long, and on which\n"
"file.  Others' programs are shown to administrators only.\n"
"\n"
"  grant    room in its memory            pace     its turn: it is slowed down\n"
"  limit    others' data to be written    write    WRITEs to be answered\n"
"  commit   COMMITs to be answered        reply    another answer of the server\n"
"  resume   others to come back after the daemon's restart\n"
"\n"
"  -h, --help   this text\n";

static uint64_t
held(const json_t *session)
{
	return stat_int(session, "dirty_bytes") +
		stat_int(session, "unstable_bytes");
}

static int
compare_held(const void *a, const void *b)
{
	uint64_t x = held(*(const json_t *const *)a);
	uint64_t y = held(*(const json_t *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void
user_name(uint64_t uid, char *name, size_t size)
{
	const struct passwd *pw = getpwuid((uid_t)uid);

	if (pw != NULL)
		snprintf(name, size, "%s", pw->pw_name);
	else
		snprintf(name, size, "%llu", (unsigned long long)uid);
}

/* A program may call itself anything, also what a terminal obeys. */
static void
printable(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
	for (; *to != '\0'; to++)
		if (iscntrl((unsigned char)*to))
			*to = '?';
}

static void
print_session(const json_t *session)
{
	const char *waiting = stat_text(session, "waiting_for");
	bool waits = *waiting != '\0' && strcmp(waiting, "none") != 0;
	char user[33], comm[17], file[512];

	user_name(stat_int(session, "uid"), user, sizeof(user));
	printable(comm, sizeof(comm), stat_text(session, "comm"));
	printable(file, sizeof(file), waits ? stat_text(session, "file") : "");
	printf("%8llu %-16s %-10s %6s %9s %9s  %-11s %s%s%s\n",
	       (unsigned long long)stat_int(session, "pid"), comm, user,
	       units_count(stat_int(session, "files")).s,
	       units_bytes(stat_int(session, "dirty_bytes")).s,
	       units_bytes(stat_int(session, "unstable_bytes")).s,
	       waits ? waiting : "-",
	       waits ? units_usec(stat_int(session, "waiting_us")).s : "-",
	       *file != '\0' ? "  " : "", file);
}

void
who_print(const json_t *statistics, unsigned most)
{
	const json_t *list = json_object_get(statistics, "sessions"), *session;
	size_t nr = json_array_size(list), n = 0, i;
	const json_t **sorted = calloc(nr + 1, sizeof(*sorted));

	printf("%8s %-16s %-10s %6s %9s %9s  %-11s %s\n", "PID", "COMMAND",
	       "USER", "FILES", "DIRTY", "UNSTABLE", "WAITING FOR",
	       "TIME  FILE");
	if (sorted == NULL)
		return;
	json_array_foreach(list, i, session)
		if (stat_int(session, "pid") != (uint64_t)getpid())
			sorted[n++] = session;
	qsort(sorted, n, sizeof(*sorted), compare_held);
	for (i = 0; i < n && (most == 0 || i < most); i++)
		print_session(sorted[i]);
	free(sorted);
}

int
who_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = { { NULL, 0, NULL, 0 } };
	struct nfswb *wb;
	json_t *now;
	int c;

	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1)
		return cli_bad_option(argv, c);
	if (argc > optind)
		return cli_usage(argv, "it takes no argument '%s'",
				 argv[optind]);
	wb = cli_connect(cli, 0);
	if (wb == NULL)
		return CLI_FAILED;
	now = statistics_fetch(wb, "who");
	if (now != NULL)
		who_print(now, 0);
	json_decref(now);
	nfswb_disconnect(wb);
	return now != NULL ? CLI_OK : CLI_FAILED;
}
