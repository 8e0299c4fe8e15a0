/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stat.c - nfswb stat: what the daemon did, and where the time went
 *
 * Without an interval: totals since the daemon started, in the manner of
 * /proc/self/mountstats.  With one: first the same, then what each interval
 * added, in the manner of nfsiostat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/every.h"
#include "cli/progress.h"
#include "cli/statistics.h"
#include "cli/units.h"

const char stat_help[] =
"Usage: nfswb stat [--json] [--interval SEC [--count N]]\n"
"Shows the daemon's counters since it started: for each server and kind of\n"
"call how many, and the mean time in the queue, on the way (rtt) and in all\n"
"(execute); what is dirty, in flight and not committed; who had to wait.\n"
"\n"
"  -j, --json           all counters as JSON; nfswb(1) explains the keys\n"
"  -i, --interval SEC   again every so many seconds: what was added, per second\n"
"  -c, --count N        end after N reports\n"
"  -h, --help           this text\n";

struct report {
	const json_t *now, *before;	/* before NULL: since the start */
	double seconds;			/* between them */
};

static uint64_t
added(const json_t *now, const json_t *before, const char *path)
{
	uint64_t a = stat_int(now, path), b = stat_int(before, path);

	return a > b ? a - b : 0;
}

static uint64_t
added_mean(const json_t *now, const json_t *before, const char *path)
{
	const json_t *a = stat_node(now, path), *b = stat_node(before, path);
	uint64_t count = added(a, b, "count");

	return count ? added(a, b, "sum") / count : 0;
}

/* "3 of 1.2 ms (p99 4.0 ms)"; just "0" when nothing was counted */
static void
print_waits(const json_t *node, const char *hist_path)
{
	const json_t *hist = stat_node(node, hist_path);
	uint64_t count = stat_int(hist, "count");

	if (count == 0) {
		printf("0");
		return;
	}
	printf("%s of %s (p99 %s)", units_count(count).s,
	       units_usec(stat_int(hist, "sum") / count).s,
	       units_usec(stat_int(hist, "p99")).s);
}

static uint64_t
sent_again(const json_t *now, const json_t *before)
{
	uint64_t ops = added(now, before, "ops");
	uint64_t sent = added(now, before, "transmissions");

	return sent > ops ? sent - ops : 0;
}

static void
print_ops(const json_t *server)
{
	const json_t *op;
	const char *name;

	printf("  %-12s %8s %6s %8s %6s %9s %9s %9s %9s %9s %9s\n", "", "calls",
	       "resent", "timeouts", "errors", "sent", "received", "queue",
	       "rtt", "execute", "p99");
	json_object_foreach((json_t *)stat_node(server, "ops"), name, op) {
		if (stat_int(op, "ops") == 0 &&
		    stat_int(op, "transmissions") == 0)
			continue;
		printf("  %-12s %8s %6s %8s %6s %9s %9s %9s %9s %9s %9s\n",
		       name, units_count(stat_int(op, "ops")).s,
		       units_count(sent_again(op, NULL)).s,
		       units_count(stat_int(op, "timeouts")).s,
		       units_count(stat_int(op, "errors")).s,
		       units_bytes(stat_int(op, "bytes_sent")).s,
		       units_bytes(stat_int(op, "bytes_recv")).s,
		       units_usec(stat_mean(op, "queue_us")).s,
		       units_usec(stat_mean(op, "rtt_us")).s,
		       units_usec(stat_mean(op, "execute_us")).s,
		       units_usec(stat_int(op, "execute_us.p99")).s);
	}
}

static void
print_flush_causes(const json_t *server)
{
	const json_t *nr;
	const char *cause, *comma = "";

	printf("  flushed for  ");
	json_object_foreach((json_t *)stat_node(server, "flush_causes"), cause,
			    nr) {
		if (json_integer_value(nr) == 0)
			continue;
		printf("%s%s %s", comma, cause,
		       units_count((uint64_t)json_integer_value(nr)).s);
		comma = ", ";
	}
	puts(*comma ? "" : "nothing yet");
}

static void
print_queue(const json_t *server, const char *title, const char *name)
{
	const json_t *queue = stat_node(stat_node(server, "congestion"), name);

	printf("  %-12s limit %s, wakes below %s; %s, waiting now %s, "
	       "woken %s times, waits ",
	       title, units_bytes(stat_int(queue, "limit")).s,
	       units_bytes(stat_int(queue, "wake")).s,
	       stat_int(queue, "congested") ? "congested" : "open",
	       units_count(stat_int(queue, "waiters")).s,
	       units_count(stat_int(queue, "wakeups")).s);
	print_waits(queue, "wait_us");
	putchar('\n');
}

static void
print_held(const json_t *server)
{
	printf("dirty %s, in flight %s, not committed %s",
	       units_bytes(stat_int(server, "dirty_bytes")).s,
	       units_bytes(stat_int(server, "writeback_bytes")).s,
	       units_bytes(stat_int(server, "unstable_bytes")).s);
}

/* Nothing where there is but one. */
static void
print_connections(const json_t *server)
{
	long long nr = (long long)stat_int(server, "connections");

	if (nr > 1)
		printf(", %lld of %lld connections",
		       (long long)stat_int(server, "connections_up"), nr);
}

static void
print_server(const json_t *server)
{
	printf("\nserver %s: %s", stat_text(server, "name"),
	       stat_text(server, "state"));
	print_connections(server);
	putchar('\n');
	print_ops(server);
	printf("  WRITEs       %s of %s, %s\n",
	       units_count(stat_int(server, "nfs_nr_writes")).s,
	       units_bytes(stat_int(server, "nfs_write_size")).s,
	       units_rate((double)stat_int(server, "write_bw")).s);
	printf("  COMMITs      %s of %s\n",
	       units_count(stat_int(server, "nfs_nr_commits")).s,
	       units_bytes(stat_int(server, "nfs_commit_size")).s);
	printf("  held         ");
	print_held(server);
	printf(", oldest dirty %s\n",
	       units_usec(stat_int(server, "oldest_dirty_us")).s);
	printf("  verifier     changed %s times, %s sent again\n",
	       units_count(stat_int(server, "verifier_changes")).s,
	       units_bytes(stat_int(server, "replayed_bytes")).s);
	print_flush_causes(server);
	print_queue(server, "async queue", "async");
	print_queue(server, "sync queue", "sync");
	printf("  read ahead   %s, of it %s in vain; reads that found theirs %s, "
	       "on the way %s, not %s\n",
	       units_bytes(stat_int(server, "read_ahead.ahead_bytes")).s,
	       units_bytes(stat_int(server, "read_ahead.wasted_bytes")).s,
	       units_count(stat_int(server, "read_ahead.hits")).s,
	       units_count(stat_int(server, "read_ahead.waits")).s,
	       units_count(stat_int(server, "read_ahead.misses")).s);
	printf("  background   %s WRITEs at once of %s; windows %s, steps down "
	       "%s, up %s; foreground calls ",
	       units_count(stat_int(server, "wbt.depth")).s,
	       units_count(stat_int(server, "wbt.max_depth")).s,
	       units_count(stat_int(server, "wbt.windows")).s,
	       units_count(stat_int(server, "wbt.steps_down")).s,
	       units_count(stat_int(server, "wbt.steps_up")).s);
	print_waits(server, "wbt.foreground_us");
	putchar('\n');
}

static void
print_memory(const json_t *now)
{
	const json_t *throttle = json_object_get(now, "throttle");
	const json_t *reclaim = json_object_get(now, "reclaim");

	printf("\nthrottle       dirtied %s, background %s, limit %s; "
	       "%s\n", units_bytes(stat_int(throttle, "dirtied")).s,
	       units_bytes(stat_int(throttle, "background")).s,
	       units_bytes(stat_int(throttle, "limit")).s,
	       stat_pace(throttle));
	printf("               pauses ");
	print_waits(throttle, "pause_us");
	printf(", waits at the limit ");
	print_waits(throttle, "limit_wait_us");
	printf("\nreclaim        fast ");
	print_waits(reclaim, "fast_us");
	printf(", slow ");
	print_waits(reclaim, "slow_us");
	printf("; freed %s, WRITEs by reclaim %s\n",
	       units_bytes(stat_int(reclaim, "freed_bytes")).s,
	       units_count(stat_int(reclaim, "reclaim_writes")).s);
}

static void
print_given_up(const json_t *now)
{
	const json_t *list = json_object_get(now, "given_up"), *lost;
	size_t i;

	printf("given up       %zu\n", json_array_size(list));
	json_array_foreach(list, i, lost)
		printf("  %s: %s at %llu: %s\n", stat_text(lost, "file"),
		       units_bytes(stat_int(lost, "length")).s,
		       (unsigned long long)stat_int(lost, "offset"),
		       stat_text(lost, "reason"));
}

static void
print_totals(const json_t *now)
{
	const json_t *server;
	size_t i;

	printf("nfswbd %s, up %s, sessions %zu\n", stat_text(now, "version"),
	       units_usec(stat_int(now, "uptime_us")).s,
	       json_array_size(json_object_get(now, "sessions")));
	json_array_foreach(json_object_get(now, "servers"), i, server)
		print_server(server);
	print_memory(now);
	print_given_up(now);
}

static void
print_op_rates(const struct report *report, const char *name, const json_t *now,
	       const json_t *before)
{
	uint64_t ops = added(now, before, "ops");
	uint64_t bytes = added(now, before, "bytes_sent") +
		added(now, before, "bytes_recv");
	double sec = report->seconds;

	if (ops == 0 && added(now, before, "transmissions") == 0)
		return;
	printf("  %-12s %9.1f %12s %9s %6s %6s %9s %9s %9s\n", name,
	       (double)ops / sec, units_rate((double)bytes / sec).s,
	       units_bytes(ops ? bytes / ops : 0).s,
	       units_count(sent_again(now, before)).s,
	       units_count(added(now, before, "errors")).s,
	       units_usec(added_mean(now, before, "queue_us")).s,
	       units_usec(added_mean(now, before, "rtt_us")).s,
	       units_usec(added_mean(now, before, "execute_us")).s);
}

static void
print_server_rates(const struct report *report, const json_t *server)
{
	const json_t *before = stat_server(report->before,
					   stat_text(server, "name")), *op;
	const char *name;

	printf("\nserver %s: %s", stat_text(server, "name"),
	       stat_text(server, "state"));
	print_connections(server);
	printf("; ");
	print_held(server);
	printf("\n  %-12s %9s %12s %9s %6s %6s %9s %9s %9s\n", "", "calls/s",
	       "bytes/s", "each", "resent", "errors", "queue", "rtt",
	       "execute");
	json_object_foreach((json_t *)stat_node(server, "ops"), name, op)
		print_op_rates(report, name, op,
			       stat_node(stat_node(before, "ops"), name));
}

static void
print_rates(const struct report *report)
{
	const json_t *throttle = json_object_get(report->now, "throttle");
	const json_t *before = json_object_get(report->before, "throttle");
	const json_t *server;
	size_t i;

	json_array_foreach(json_object_get(report->now, "servers"), i, server)
		print_server_rates(report, server);
	printf("throttle: dirtied %s of %s; pauses %s of %s, waits at the limit "
	       "%s of %s\n", units_bytes(stat_int(throttle, "dirtied")).s,
	       units_bytes(stat_int(throttle, "limit")).s,
	       units_count(added(throttle, before, "pauses")).s,
	       units_usec(added_mean(throttle, before, "pause_us")).s,
	       units_count(added(throttle, before, "limit_waits")).s,
	       units_usec(added_mean(throttle, before, "limit_wait_us")).s);
}

/* Another instance counts from 0 again: its totals are shown. */
static void
print_report(const json_t *now, const json_t *before)
{
	struct report report = { now, before, 0 };

	if (before == NULL ||
	    !json_equal((json_t *)stat_node(before, "instance"),
			(json_t *)stat_node(now, "instance"))) {
		print_totals(now);
		return;
	}
	report.seconds = (double)added(now, before, "uptime_us") / 1e6;
	if (report.seconds > 0)
		print_rates(&report);
}

static int
show_json(struct nfswb *wb)
{
	char *text = nfswb_statistics(wb);

	if (text == NULL) {
		complain("stat: %s", cli_reason(wb));
		return CLI_FAILED;
	}
	puts(text);
	free(text);
	return CLI_OK;
}

static int
show(struct nfswb *wb, json_t **before)
{
	json_t *now = statistics_fetch(wb, "stat");

	if (now == NULL)
		return CLI_FAILED;
	print_report(now, *before);
	json_decref(*before);
	*before = now;
	return CLI_OK;
}

int
stat_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 }
	};
	struct every every = { 0, 0, 0 };
	json_t *before = NULL;
	bool json = false;
	struct nfswb *wb;
	int c, code;

	while ((c = getopt_long(argc, argv, ":ji:c:", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c != 'i' && c != 'c')
			return cli_bad_option(argv, c);
		else if (every_option(&every, c, optarg) < 0)
			return cli_usage(argv, EVERY_USAGE, optarg);
	}
	if (argc > optind)
		return cli_usage(argv, "it takes no argument '%s'",
				 argv[optind]);
	if (every.count != 0 && every.msec == 0)
		return cli_usage(argv, "--count needs --interval");
	wb = cli_connect(cli, 0);
	if (wb == NULL)
		return CLI_FAILED;
	do
		code = json ? show_json(wb) : show(wb, &before);
	while (code == CLI_OK && every_wait(&every));
	json_decref(before);
	nfswb_disconnect(wb);
	return code;
}
