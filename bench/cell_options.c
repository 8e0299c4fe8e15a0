/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cell_options.c - a cell's parameters by name, as matrix_sim takes them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cell_options.h"

#define KIB 1024ull
#define MIB (1ull << 20)
#define SECOND 1000000ull

struct option {
	const char *name, *what;
	bool (*set)(struct cell_params *, const char *value);
};

bool
cell_number(const char *text, uint64_t *n)
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
seconds(const char *text, uint64_t *usec)
{
	bool ok = cell_number(text, usec) && *usec <= 1000000;

	*usec *= SECOND;
	return ok;
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
	return cell_number(v, &p->limit_bytes) && p->limit_bytes;
}

static bool
set_background(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->background_bytes) && p->background_bytes;
}

static bool
set_congestion(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->server.congestion_bytes) &&
	       p->server.congestion_bytes;
}

static bool
set_writers(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->writers = cell_number(v, &n) && n <= 10000 ? (unsigned)n : 0;
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
	return cell_number(v, &p->slab_bytes) && p->slab_bytes % (64 * KIB) == 0;
}

static bool
set_file(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->file_bytes) && p->file_bytes % MIB == 0;
}

static bool
set_copy(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->copy_bytes_per_sec) && p->copy_bytes_per_sec;
}

static bool
set_slots(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->server.slot_nr = cell_number(v, &n) && n <= 1024 ? (unsigned)n : 0;
	return p->server.slot_nr > 0;
}

static bool
set_wsize(struct cell_params *p, const char *v)
{
	uint64_t n;

	p->wsize = cell_number(v, &n) && n <= MIB ? (uint32_t)n : 0;
	return p->wsize >= 4096;
}

static bool
set_seed(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->seed);
}

static bool
set_seconds(struct cell_params *p, const char *v)
{
	return seconds(v, &p->usec) && p->usec;
}

static bool
set_sync(struct cell_params *p, const char *v)
{
	return yes(v, &p->sync_writer);
}

static bool
set_bulk(struct cell_params *p, const char *v)
{
	return cell_number(v, &p->bulk_bytes) && p->bulk_bytes % MIB == 0;
}

static bool
set_second(struct cell_params *p, const char *v)
{
	const char *wrong = model_params_parse(&p->second, v);

	if (wrong)
		fprintf(stderr, "matrix_sim: second: %s\n", wrong);
	return !wrong;
}

/* One of a group's "name=value". */
static bool
set_of_group(struct cell_group *g, char *word)
{
	char *value = strchr(word, '=');
	uint64_t n;

	if (!value)
		return false;
	*value++ = 0;
	if (!strcmp(word, "start"))
		return seconds(value, &g->start_usec);
	if (!strcmp(word, "stop"))
		return seconds(value, &g->stop_usec);
	if (!cell_number(value, &n))
		return false;
	if (!strcmp(word, "server") && n < CELL_SERVERS)
		g->server = (unsigned)n;
	else if (!strcmp(word, "rate"))
		g->bytes_per_sec = n;
	else if (!strcmp(word, "bytes") && n <= MIB)
		g->write_bytes = n;
	else
		return false;
	return true;
}

/* "10,server=1,start=20", the next group. */
static bool
set_group(struct cell_params *p, const char *v)
{
	struct cell_group *g = p->group;
	char text[128], *word, *rest = text;
	uint64_t n;

	while (g < p->group + CELL_GROUPS && g->nr)
		g++;
	snprintf(text, sizeof text, "%s", v);
	word = strsep(&rest, ",");
	if (g == p->group + CELL_GROUPS || !cell_number(word, &n) || !n || n > 10000)
		return false;
	g->nr = (unsigned)n;
	while ((word = strsep(&rest, ",")))
		if (!set_of_group(g, word))
			return false;
	return true;
}

static bool
set_measure(struct cell_params *p, const char *v)
{
	return seconds(v, &p->measure_usec);
}

static bool
set_stall(struct cell_params *p, const char *v)
{
	return seconds(v, &p->stall_usec);
}

/* "2,5" */
static bool
set_bump(struct cell_params *p, const char *v)
{
	char text[32], *every = text, *of;

	snprintf(text, sizeof text, "%s", v);
	of = strsep(&every, ",");
	return every && seconds(of, &p->bump_usec) &&
	       seconds(every, &p->bump_every_usec) && p->bump_every_usec;
}

static bool
set_trace(struct cell_params *p, const char *v)
{
	p->trace = fopen(v, "w");
	if (!p->trace)
		perror(v);
	return p->trace;
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
	{ "group", "so many writers, instead of writers=; then server=1, rate=, "
	  "bytes= (of a write),\n               start=, stop= (s) by commas",
	  set_group },
	{ "second", "the second server", set_second },
	{ "stall", "it falls silent then, s", set_stall },
	{ "bump", "2,5: COMMITs take 2 s in each 5", set_bump },
	{ "measure", "writers' figures are from then on, s (0)", set_measure },
	{ "trace", "a file for what is dirtied and taken, over time",
	  set_trace },
	{ "seed", "", set_seed },
	{ NULL, NULL, NULL },
};

void
cell_options_help(FILE *to)
{
	const struct option *o;

	fprintf(to, "matrix_sim [NAME=VALUE...]\n\n");
	for (o = options; o->name; o++)
		fprintf(to, "  %-12s %s\n", o->name, o->what);
	fprintf(to, "\nmodels:\n%s", model_params_help());
}

int
cell_option(struct cell_params *p, const char *arg)
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

void
cell_params_init(struct cell_params *p)
{
	*p = (struct cell_params) {
		.server = { .name = "sim", .slot_nr = 16,
			    .congestion_policy = CONGESTION_SPLIT },
		.limit_bytes = 100 * MIB,
		.throttling = THROTTLE_NONE,
		.wsize = MIB,
		.writers = 1,
		.copy_bytes_per_sec = 5000000000,
		.seed = 1,
		.usec = 200 * SECOND,
	};
	model_params_parse(&p->model, "disk");
	model_params_parse(&p->second, "disk");
}

void
cell_params_settle(struct cell_params *p)
{
	if (!p->background_bytes)
		p->background_bytes = p->limit_bytes / 2;
	if (!p->server.congestion_bytes)
		p->server.congestion_bytes =
			p->limit_bytes / 8 > 512 * KIB ?
			p->limit_bytes / 8 : 512 * KIB;
}
