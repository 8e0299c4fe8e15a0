/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * matrix_sim.c - runs cells of the matrix, one for each line of arguments
 *
 *	matrix_sim model=disk limit=10M writers=10 policy=split seed=1 ...
 *
 * Prints what came out of it as name=value, one a line.  bench/matrix runs
 * this for every cell, variant and seed, and makes tables of it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "bench/cell_options.h"

static void
say(const char *name, double value)
{
	printf("%s=%.10g\n", name, value);
}

static void
say_hist(const char *name, const struct hist *h)
{
	printf("%s=%.10g\n", name,
	       h->count ? (double)h->sum / (double)h->count / 1000 : 0);
	printf("%s_p50=%.10g\n", name, (double)hist_percentile(h, 500) / 1000);
	printf("%s_p99=%.10g\n", name, (double)hist_percentile(h, 990) / 1000);
	printf("%s_max=%.10g\n", name, (double)h->max / 1000);
}

static void
say_waits(const char *name, const struct congestion_stats *c)
{
	char word[64];

	printf("%s_waits=%llu\n%s_wakeups=%llu\n", name,
	       (unsigned long long)c->waits, name,
	       (unsigned long long)c->wakeups);
	snprintf(word, sizeof word, "%s_wait", name);
	say_hist(word, &c->wait_us);
}

static double
cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* What disk, link and threads did with the time. */
static void
say_shares(const struct cell_params *p, const struct cell_result *r)
{
	const struct model_params *m = &p->model;
	double usec = (double)r->run_usec, rate = (double)m->disk_bytes_per_sec;
	double link = (double)m->link_bits_per_sec / 8e6;

	say("disk_busy", (double)r->model.disk_busy_usec / usec);
	say("disk_transfer", rate > 0 ?
	    (double)r->stable_bytes * 1e6 / rate / usec : 0);
	say("disk_seek", (double)(r->model.seeks * m->seek_usec) / usec);
	say("disk_journal",
	    (double)(r->model.journals * m->journal_usec) / usec);
	say("link_busy", link > 0 ?
	    (double)r->model.link_bytes[LINK_IN] / link / usec : 0);
	say("commits_out", (double)r->commit.rtt_us.sum / usec);
}

static void
say_reclaim(const struct cell_result *r)
{
	const struct wb_stats *wb = &r->wb;

	say("reclaim_fast", (double)wb->reclaim.fast);
	say("reclaim_slow", (double)wb->reclaim.slow);
	say("reclaim_slow_seconds", (double)wb->reclaim.slow_us.sum / 1e6);
	say_hist("reclaim_slow_wait", &wb->reclaim.slow_us);
	say("reclaims", (double)wb->reclaim.reclaims);
	say("reclaim_freed", (double)wb->reclaim.freed_bytes / 1e6);
	say("reclaim_writes", (double)wb->reclaim.reclaim_writes);
	say("reclaim_written", (double)wb->reclaim.written_bytes / 1e6);
}

/* Of writers since they are measured. */
static void
say_group(const struct cell_params *p, const struct cell_result *r)
{
	const struct cell_group_result *g = &r->group[0];

	say("taken_bw", (double)g->bytes * 1e6 /
	    (double)(r->run_usec - p->measure_usec) / 1e6);
	say("jain", g->jain);
	say_hist("taking", &g->write_us);
}

/* Bandwidth in MB/s (10^6), sizes in MB (10^6), times in ms. */
static void
report(const struct cell_params *p, const struct cell_result *r)
{
	double sec = (double)r->run_usec / 1e6;
	enum flush_cause cause;

	say("write_bw", (double)r->stable_bytes / sec / 1e6);
	say("acked_bw", (double)r->clean_bytes / sec / 1e6);
	say("accepted_bw", (double)r->written_bytes / sec / 1e6);
	say("least_bw", (double)r->least_bytes / sec / 1e6);
	say("most_bw", (double)r->most_bytes / sec / 1e6);
	say("nfs_nr_commits", (double)r->server.nfs_nr_commits);
	say("nfs_nr_writes", (double)r->server.nfs_nr_writes);
	say("nfs_commit_size", (double)r->server.nfs_commit_size / 1e6);
	say("nfs_write_size", (double)r->server.nfs_write_size / 1e6);
	say_hist("nfs_write_queue_time", &r->write.queue_us);
	say_hist("nfs_write_rtt_time", &r->write.rtt_us);
	say_hist("nfs_write_execute_time", &r->write.execute_us);
	say_hist("nfs_commit_queue_time", &r->commit.queue_us);
	say_hist("nfs_commit_rtt_time", &r->commit.rtt_us);
	say_hist("nfs_commit_execute_time", &r->commit.execute_us);
	say("commits_per_gb", r->stable_bytes ?
	    (double)r->server.nfs_nr_commits * 1e9 /
	    (double)r->stable_bytes : 0);
	say_shares(p, r);
	say("disk_seeks", (double)r->model.seeks);
	say("disk_requests", (double)r->model.disk_requests);
	say("journals", (double)r->model.journals);
	say("held_writes", (double)r->model.held_writes);
	say("server_dirty", (double)r->model.dirty_bytes / 1e6);
	say("most_dirtied", (double)r->most_dirtied / 1e6);
	say("most_queued", (double)r->most_queued);
	say_waits("async", &r->server.async);
	say_waits("sync", &r->server.sync);
	say("limit_waits", (double)r->wb.throttle.limit_waits);
	say_hist("limit_wait", &r->wb.throttle.limit_wait_us);
	say("pauses", (double)r->wb.throttle.pauses);
	say_hist("pause", &r->wb.throttle.pause_us);
	say("balanced_rate", (double)r->wb.throttle.balanced_rate / 1e6);
	say("drain_bw", (double)r->server.drain_bw / 1e6);
	for (cause = 0; cause < FLUSH_CAUSE_NR; cause++)
		printf("flush_%s=%llu\n", flush_cause_name(cause),
		       (unsigned long long)r->server.flush_causes[cause]);
	if (p->sync_writer) {
		say("fsyncs", r->fsyncs);
		say_hist("fsync", &r->fsync_us);
		say_hist("sync_write", &r->sync_write_us);
	}
	if (p->bulk_bytes)
		say_hist("bulk", &r->bulk_us);
	say_group(p, r);
	say_reclaim(r);
	say("run_seconds", (double)r->run_usec / 1e6);
	say("ended", r->ended);
	say("turns", (double)r->turns);
	say("cpu_seconds", cpu_seconds());
}

int
main(int argc, char **argv)
{
	struct cell_params p;
	struct cell_result result;
	int i, err;

	if (argc > 1 && (!strcmp(argv[1], "-h") ||
			 !strcmp(argv[1], "--help"))) {
		cell_options_help(stdout);
		return 0;
	}
	cell_params_init(&p);
	for (i = 1; i < argc; i++)
		if (cell_option(&p, argv[i]) < 0)
			return 2;
	cell_params_settle(&p);
	err = cell_run(&p, &result);
	if (err) {
		fprintf(stderr, "matrix_sim: %s\n", err == -EDEADLK ?
			"the clock stands still" : strerror(-err));
		return 1;
	}
	report(&p, &result);
	if (p.trace && fclose(p.trace)) {
		perror("matrix_sim: trace");
		return 1;
	}
	return 0;
}
