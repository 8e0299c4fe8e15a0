/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * top.c - nfswb top: servers and writers, again and again
 *
 * On a terminal each report takes the place of the last one, and as many
 * writers are shown as there is room for; elsewhere reports follow each other.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/every.h"
#include "cli/statistics.h"
#include "cli/units.h"
#include "cli/who.h"

#define DEFAULT_MSEC 2000

const char top_help[] =
"Usage: nfswb top [--interval SEC] [--count N]\n"
"Shows servers and writers every 2 seconds: what is written a second, what is\n"
"held in memory, and who waits for what (nfswb who --help explains that).\n"
"\n"
"  -i, --interval SEC   another time between two reports\n"
"  -c, --count N        end after N reports\n"
"  -h, --help           this text\n"
"\n"
"q or ^C ends it.\n";

struct top {
	struct nfswb *wb;
	bool clears;			/* standard output is a terminal */
	json_t *before;
};

static uint64_t
written(const json_t *server)
{
	return stat_int(server, "ops.WRITE.bytes_sent");
}

/* What went out in WRITEs, bytes a second. */
static double
write_rate(const struct top *top, const json_t *now, const json_t *server)
{
	const json_t *old = stat_server(top->before, stat_text(server, "name"));
	uint64_t usec = stat_int(now, "uptime_us"), before_usec = 0;

	if (top->before != NULL && old != NULL)
		before_usec = stat_int(top->before, "uptime_us");
	if (usec <= before_usec || written(server) < written(old))
		return 0;
	return (double)(written(server) - written(old)) * 1e6 /
		(double)(usec - before_usec);
}

static void
print_servers(const struct top *top, const json_t *now)
{
	const json_t *server;
	size_t i;

	printf("%-32s %-10s %11s %9s %9s %9s %9s %9s\n", "SERVER", "STATE",
	       "WRITES", "DIRTY", "IN FLIGHT", "UNSTABLE", "WRITE RTT",
	       "COMMIT");
	json_array_foreach(json_object_get(now, "servers"), i, server)
		printf("%-32.32s %-10s %11s %9s %9s %9s %9s %9s\n",
		       stat_text(server, "name"), stat_text(server, "state"),
		       units_rate(write_rate(top, now, server)).s,
		       units_bytes(stat_int(server, "dirty_bytes")).s,
		       units_bytes(stat_int(server, "writeback_bytes")).s,
		       units_bytes(stat_int(server, "unstable_bytes")).s,
		       units_usec(stat_mean(server, "ops.WRITE.rtt_us")).s,
		       units_usec(stat_mean(server, "ops.COMMIT.rtt_us")).s);
}

/* The lines that are left for writers; 0: as many as there are. */
static unsigned
room_for_writers(const struct top *top, const json_t *now)
{
	size_t used = json_array_size(json_object_get(now, "servers")) + 6;
	struct winsize ws;

	if (!top->clears || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 ||
	    ws.ws_row == 0)
		return 0;
	return ws.ws_row > used ? (unsigned)(ws.ws_row - used) : 1;
}

static void
print_report(const struct top *top, const json_t *now)
{
	const json_t *throttle = json_object_get(now, "throttle");

	if (top->clears)
		fputs("\033[H\033[J", stdout);
	else if (top->before != NULL)
		putchar('\n');
	printf("nfswbd %s, up %s; dirtied %s of %s, background %s, "
	       "%s\n\n", stat_text(now, "version"),
	       units_usec(stat_int(now, "uptime_us")).s,
	       units_bytes(stat_int(throttle, "dirtied")).s,
	       units_bytes(stat_int(throttle, "limit")).s,
	       units_bytes(stat_int(throttle, "background")).s,
	       stat_pace(throttle));
	print_servers(top, now);
	putchar('\n');
	who_print(now, room_for_writers(top, now));
}

static int
show(struct top *top)
{
	json_t *now = statistics_fetch(top->wb, "top");

	if (now == NULL)		/* ^C: every_wait sees that */
		return errno == EINTR ? CLI_OK : CLI_FAILED;
	print_report(top, now);
	json_decref(top->before);
	top->before = now;
	return CLI_OK;
}

int
top_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 }
	};
	struct every every = { .msec = DEFAULT_MSEC };
	struct top top = { .clears = isatty(STDOUT_FILENO) };
	int c, code;

	while ((c = getopt_long(argc, argv, ":i:c:", options, NULL)) != -1) {
		if (c != 'i' && c != 'c')
			return cli_bad_option(argv, c);
		if (every_option(&every, c, optarg) < 0)
			return cli_usage(argv, EVERY_USAGE, optarg);
	}
	if (argc > optind)
		return cli_usage(argv, "it takes no argument '%s'",
				 argv[optind]);
	top.wb = cli_connect(cli, NFSWB_INTR);
	if (top.wb == NULL)
		return CLI_FAILED;
	every_start();
	do
		code = show(&top);
	while (code == CLI_OK && every_wait(&every));
	every_stop();
	json_decref(top.before);
	nfswb_disconnect(top.wb);
	return code;
}
