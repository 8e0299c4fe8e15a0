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
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "bench/cell.h"

#define KIB 1024ull
#define MIB (1ull << 20)

struct option {
	const char *name, *what;
	bool (*set)(struct cell_params *, const char *value);
};

static bool
number(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (errno || end == text)
		return false;
	switch (*end) {
	case 'K':
		*n <<= 10;
		end++;
		break;
	case 'M':
		*n <<= 20;
		end++;
		break;
	case 'G':
		*n <<= 30;
		end++;
		break;
	}
	return !*end;
}

static bool
yes(const char *text, bool *b)
{
	*b = !strcmp(text, "1");
	return *b || !strcmp(text, "0");
}

/* Which of the words, separated by a blank, it is. */
static bool
choice(const char *text, const char *words, unsigned *nr)
{
	size_t len = strlen(text), n;

	for (*nr = 0; *words; words += n + (words[n] == ' '), ++*nr) {
		n = strcspn(words, " ");
		if (n == len && !memcmp(words, text, n))
			return true;
	}
	return false;
}

static bool
set_model(struct cell_params *p, const char *v)
{
	const char *wrong = model_params_parse(&p->model, v);

	if (wrong)
		fprintf(stderr, "matrix_sim: model: %s\n%s", wrong,
			model_params_help());
	return !wrong;
}

static bool
set_policy(struct cell_params *p, const char *v)
{
	return choice(v, "split single none",
		      (unsigned *)&p->server.congestion_policy);
}

static bool
set_priority(struct cell_params *p, const char *v)
{
	return choice(v, "ahead fifo", (unsigned *)&p->server.commit_priority);
}

static bool
set_rule(struct cell_params *p, const char *v)
{
	return choice(v, "bandwidth kernel",
		      (unsigned *)&p->server.commit_rule);
}

static bool
set_throttling(struct cell_params *p, const char *v)
{
	return choice(v, "ioless foreground none",
		      (unsigned *)&p->throttling);
}

/* "pass+commits"; "none" */
static bool
set_bounds(struct cell_params *p, const char *v)
{
	unsigned all = BOUND_NONE, nr;
	char word[16];
	size_t n;

	for (; *v; v += n + (v[n] == '+')) {
		n = strcspn(v, "+");
		snprintf(word, sizeof word, "%.*s", (int)n, v);
		if (!choice(word, "none pass tails commits grants all", &nr))
			return false;
		all |= nr == 5 ? BOUND_ALL : nr ? 1u << (nr - 1) : 0;
	}
	p->server.bounds = (enum wb_bounds)all;
	return true;
}

static bool
set_limit(struct cell_params *p, const char *v)
{
	return number(v, &p->limit_bytes) && p->limit_bytes;
}

static bool
set_background(struct cell_params *p, const char *v)
{
	return number(v, &p->background_bytes) && p->background_bytes;
}

static bool
set_congestion(struct cell_params *p, const char *v)
{
	return number(v, &p->server.congestion_bytes) &&
	       p->server.congestion_bytes;
}

static bool
set_writers(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->writers = number(v, &n) && n <= 10000 ? (unsigned)n : 0;
	return p->writers > 0;
}

static bool
set_reclaim(struct cell_params *p, const char *v)
{
	return choice(v, "wait write timed", (unsigned *)&p->reclaim);
}

static bool
set_slab(struct cell_params *p, const char *v)
{
	return number(v, &p->slab_bytes) && p->slab_bytes % (64 * KIB) == 0;
}

static bool
set_file(struct cell_params *p, const char *v)
{
	return number(v, &p->file_bytes) && p->file_bytes % MIB == 0;
}

static bool
set_copy(struct cell_params *p, const char *v)
{
	return number(v, &p->copy_bytes_per_sec) && p->copy_bytes_per_sec;
}

static bool
set_slots(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->server.slot_nr = number(v, &n) && n <= 1024 ? (unsigned)n : 0;
	return p->server.slot_nr > 0;
}

static bool
set_wsize(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->wsize = number(v, &n) && n <= MIB ? (uint32_t)n : 0;
	return p->wsize >= 4096;
}

static bool
set_seed(struct cell_params *p, const char *v)
{
	return number(v, &p->seed);
}

static bool
set_seconds(struct cell_params *p, const char *v)
{
	bool ok = number(v, &p->usec) && p->usec && p->usec <= 1000000;

	p->usec *= 1000000;
	return ok;
}

static bool
set_sync(struct cell_params *p, const char *v)
{
	return yes(v, &p->sync_writer);
}

static bool
set_bulk(struct cell_params *p, const char *v)
{
	return number(v, &p->bulk_bytes) && p->bulk_bytes % MIB == 0;
}

static const struct option options[] = {
	{ "model", "the server: a preset, then what differs", set_model },
	{ "limit", "dirty_bytes", set_limit },
	{ "background", "dirty_background_bytes (limit / 2)",
	  set_background },
	{ "congestion", "congestion_kb, in bytes (limit / 8, 512K at least)",
	  set_congestion },
	{ "writers", "each with a file of its own", set_writers },
	{ "policy", "congestion_policy: split, single, none", set_policy },
	{ "priority", "commit_priority: ahead, fifo", set_priority },
	{ "rule", "commit_rule: bandwidth, kernel", set_rule },
	{ "bounds", "of none, pass, tails, commits, grants, all; a+b", set_bounds },
	{ "throttling", "dirty_throttling: none, ioless, foreground (none)",
	  set_throttling },
	{ "reclaim", "reclaim_policy: wait, write, timed (wait)", set_reclaim },
	{ "slab", "slab_bytes (more than is felt)", set_slab },
	{ "file", "each writer ends after so many bytes and an fsync", set_file },
	{ "copy", "bytes a second of a writer (5G)", set_copy },
	{ "sync", "1: and a sync writer, 4 KiB every 100 ms", set_sync },
	{ "bulk", "the first writer fsyncs after so many bytes", set_bulk },
	{ "slots", "calls in flight (16)", set_slots },
	{ "wsize", "bytes (1M)", set_wsize },
	{ "seconds", "simulated (200)", set_seconds },
	{ "seed", "", set_seed },
	{ NULL, NULL, NULL },
};

static void
usage(FILE *to)
{
	const struct option *o;

	fprintf(to, "matrix_sim [NAME=VALUE...]\n\n");
	for (o = options; o->name; o++)
		fprintf(to, "  %-12s %s\n", o->name, o->what);
	fprintf(to, "\nmodels:\n%s", model_params_help());
}

static int
set(struct cell_params *p, const char *arg)
{
	const struct option *o;
	size_t len = strcspn(arg, "=");

	for (o = options; o->name; o++) {
		if (strlen(o->name) != len || memcmp(o->name, arg, len) ||
		    !arg[len])
			continue;
		if (o->set(p, arg + len + 1))
			return 0;
		break;
	}
	fprintf(stderr, "matrix_sim: %s: not understood\n", arg);
	return -EINVAL;
}

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
	say_reclaim(r);
	say("run_seconds", (double)r->run_usec / 1e6);
	say("ended", r->ended);
	say("turns", (double)r->turns);
	say("cpu_seconds", cpu_seconds());
}

static void
set_defaults(struct cell_params *p)
{
	if (!p->background_bytes)
		p->background_bytes = p->limit_bytes / 2;
	if (!p->server.congestion_bytes)
		p->server.congestion_bytes =
			p->limit_bytes / 8 > 512 * KIB ?
			p->limit_bytes / 8 : 512 * KIB;
}

int
main(int argc, char **argv)
{
	struct cell_params p = {
		.server = { .name = "sim", .slot_nr = 16,
			    .congestion_policy = CONGESTION_SPLIT },
		.limit_bytes = 100 * MIB,
		.throttling = THROTTLE_NONE,
		.wsize = MIB,
		.writers = 1,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1,
		.usec = 200 * 1000000ull,
	};
	struct cell_result result;
	int i, err;

	if (argc > 1 && (!strcmp(argv[1], "-h") ||
			 !strcmp(argv[1], "--help"))) {
		usage(stdout);
		return 0;
	}
	model_params_parse(&p.model, "disk");
	for (i = 1; i < argc; i++)
		if (set(&p, argv[i]) < 0)
			return 2;
	set_defaults(&p);
	err = cell_run(&p, &result);
	if (err) {
		fprintf(stderr, "matrix_sim: %s\n", err == -EDEADLK ?
			"the clock stands still" : strerror(-err));
		return 1;
	}
	report(&p, &result);
	return 0;
}
