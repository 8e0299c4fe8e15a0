/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inject.c - see inject.h */
#include "tests/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* of a program that has a rig; see excused.h */
extern unsigned excused __attribute__((weak));

static struct injection plan;
static struct injected result;
volatile bool inject_on;
static atomic_uint_fast64_t seen;
int64_t inject_live;
__thread bool inject_uncounted, inject_here;
static const char *report;

/* By write(2) itself, which is interposed: not while it is on. */
static void
report_line(const char *text)
{
	bool was = inject_on;
	int fd;

	inject_on = false;
	fd = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			abort();
		close(fd);
	}
	inject_on = was;
}

static void
failed(const char *name, int err, const void *caller)
{
	char line[256];

	result.failed_nr++;
	if (result.failed_nr > 1)
		return;
	result.name = name;
	result.err = err;
	result.caller = caller;
	if (report) {
		snprintf(line, sizeof line, "failed %s\n",
			 inject_text(&result));
		report_line(line);
	}
	if (getenv("INJECT_ABORT"))
		abort();
}

bool
inject_fails(enum inject_kind kind, const char *name, const int *ways,
	     unsigned way_nr, const void *caller, int *err)
{
	uint64_t nr;

	if (!inject_on || !inject_here || plan.kind != kind || (&excused && excused))
		return false;
	nr = atomic_fetch_add(&seen, 1) + 1;
	if (!plan.nth || nr < plan.nth ||
	    nr - plan.nth >= (plan.times ? plan.times : 1))
		return false;
	if (plan.way >= way_nr) {
		result.no_such_way = true;
		return false;
	}
	*err = ways[plan.way];
	failed(name, *err, caller);
	return true;
}

void
inject_begin(const struct injection *p)
{
	plan = *p;
	memset(&result, 0, sizeof result);
	atomic_store(&seen, 0);
	inject_here = true;
	inject_on = true;
}

const struct injected *
inject_end(void)
{
	inject_on = false;
	result.seen_nr = atomic_load(&seen);
	return &result;
}

const char *
inject_text(const struct injected *r)
{
	static char text[200];
	const char *file = "?";
	Dl_info i = { 0 };

	if (!r->failed_nr)
		return "nothing failed";
	if (dladdr(r->caller, &i) && i.dli_fname)
		file = strrchr(i.dli_fname, '/') ?
		       strrchr(i.dli_fname, '/') + 1 : i.dli_fname;
	snprintf(text, sizeof text, "%s: %s, called from %s+%#lx", r->name,
		 r->err == INJECT_SHORT ? "short" :
		 r->err == INJECT_CUT ? "cut" : strerrorname_np(r->err),
		 file, (unsigned long)((const char *)r->caller -
				       (const char *)i.dli_fbase));
	return text;
}

int64_t
inject_live_nr(void)
{
	return __atomic_load_n(&inject_live, __ATOMIC_RELAXED);
}

/* --- from the environment --- */

static void
at_end(void)
{
	char line[100];
	const struct injected *r = inject_end();

	snprintf(line, sizeof line, "seen %llu%s\n",
		 (unsigned long long)r->seen_nr,
		 r->no_such_way ? " no such way" : "");
	if (report)
		report_line(line);
}

__attribute__((constructor)) static void
from_environment(void)
{
	const char *text = getenv("INJECT");
	struct injection p = { .nth = 0 };
	unsigned n, more = 0;

	if (!text)
		return;
	report = getenv("INJECT_REPORT");
	if (sscanf(text, "alloc:%u:%u", &n, &more) >= 1) {
		p = (struct injection){ INJECT_ALLOC, n, more, 0 };
	} else if (sscanf(text, "call:%u:%u", &n, &more) >= 1) {
		p = (struct injection){ INJECT_CALL, n, 1, more };
	} else {
		fprintf(stderr, "INJECT=%s: not understood\n", text);
		exit(99);
	}
	atexit(at_end);
	inject_begin(&p);
}
