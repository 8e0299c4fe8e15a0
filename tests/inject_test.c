/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_test.c - every allocation and every system call of the daemon's
 * sessions fails once in turn
 *
 * A play of a few applications is run again and again: in the N-th run the N-th
 * allocation (or call, in each way it can fail) fails, until there is none left
 * to fail.  The applications take an error for what it is and ask again.  Then:
 *
 *	- what was accepted is on the server
 *	- the pipeline's books are right
 *	- one session was lost at most, and others are served as before
 *	- no descriptor and no memory is left
 *
 * INJECT_ONLY=alloc:N or call:N:WAY runs that alone; with INJECT_ABORT=1 it
 * ends where it fails, for a debugger.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/closer.h"
#include "tests/inject/excused.h"
#include "tests/inject/inject.h"
#include "tests/session_rig.h"
#include "tests/unit.h"
#include "tests/wb_check.h"

#define FILE_BYTES	(1u << 20)
#define TRIES_MAX	8

static char running[64];	/* for who reads of a crash */
static struct injection plan;

/* --- what went wrong --- */

static unsigned wrong_nr;

static void
wrong(const char *what, const char *more)
{
	if (wrong_nr++ < 20)
		printf("# %s: %s%s%s (%s)\n", running, what, more ? " " : "",
		       more ? more : "", inject_text(inject_end()));
}

#define HOLDS(condition) \
	((condition) ? (void)0 : wrong("not so:", #condition))

/* --- an application --- */

struct app {
	struct rig *rig;
	struct client c;
	const char *name;
	unsigned flags;			/* of HELLO */
	bool there;
	int file;
	nfswb_token token;
	unsigned lost_nr;		/* sessions */
	unsigned char want[FILE_BYTES];	/* what it wrote */
	unsigned char sure[FILE_BYTES];	/* 1: and knows that it was taken */
	uint32_t end;
};

static void
app_gone(struct app *a)
{
	if (a->there)
		client_close(&a->c);
	a->there = false;
}

/* Connected, the file open; 0 or what it was refused with. */
static int
app_try(struct app *a)
{
	client_connect(a->rig, &a->c);
	a->there = true;
	if (client_hello(&a->c, a->flags, 0))
		return -1;
	rig_pass(a->rig, 3000);
	a->file = client_open(&a->c, a->name, O_RDWR | O_CREAT);
	if (a->file < 0)
		return -1;
	memcpy(a->token, a->c.reply.answer.nfswb_answer_u.res.nfswb_res_u.
	       open.token, sizeof a->token);
	return 0;
}

static void
app_come(struct app *a)
{
	int i;

	for (i = 0; i < TRIES_MAX; i++) {
		if (!app_try(a))
			return;
		app_gone(a);
		rig_pass(a->rig, 200000);
	}
	wrong("no session in many tries:", a->name);
}

static void
app_new(struct app *a, struct rig *g, const char *name, unsigned flags)
{
	memset(a, 0, sizeof *a);
	a->rig = g;
	a->name = name;
	a->flags = flags;
	app_come(a);
}

/* Is its session still there?  Where not it comes again. */
static void
app_look(struct app *a)
{
	if (a->there && !client_is_closed(&a->c))
		return;
	a->lost_nr++;
	app_gone(a);
	app_come(a);
}

/* A call until it works; false: never, or not once for what cannot be tried
   twice. */
static bool
app_call(struct app *a, nfswb_args *args)
{
	int i, err;

	for (i = 0; i < TRIES_MAX; i++) {
		app_look(a);
		if (!a->there)
			return false;
		if (args->type == NFSWB_FSYNC)
			args->nfswb_args_u.fsync_file = (u_int)a->file;
		err = client_call(&a->c, args);
		if (!err)
			return true;
	}
	wrong("refused in many tries:", a->name);
	return false;
}

static void
note(struct app *a, uint32_t at, const unsigned char *data, uint32_t len)
{
	memcpy(a->want + at, data, len);
	memset(a->sure + at, 1, len);
	if (at + len > a->end)
		a->end = at + len;
}

static void
fill(unsigned char *buf, uint32_t len, unsigned seed)
{
	while (len--)
		*buf++ = (unsigned char)(1 + (seed += 0x9e3779b9u) % 255);
}

/* Some write; through shared memory where it has some. */
static void
app_write(struct app *a, uint32_t at, uint32_t len)
{
	static unsigned char buf[FILE_BYTES];
	int i;

	fill(buf, len, at + len);
	for (i = 0; i < TRIES_MAX; i++) {
		app_look(a);
		if (!a->there)
			return;
		if (a->flags & NFSWB_HELLO_INLINE ?
		    !client_write(&a->c, (uint32_t)a->file, at, buf, len) :
		    client_post(&a->c, (uint32_t)a->file, at, buf, len)) {
			note(a, at, buf, len);
			return;
		}
		if (!(a->flags & NFSWB_HELLO_INLINE)) {
			client_wants(&a->c, len);
			client_bell(&a->c);
		}
		rig_pass(a->rig, 10000);
	}
	wrong("no write in many tries:", a->name);
}

static void
app_bell(struct app *a)
{
	app_look(a);
	client_bell(&a->c);
	rig_pass(a->rig, 5000);
}

static void
app_fsync(struct app *a)
{
	nfswb_args q = { .type = NFSWB_FSYNC };

	(void)app_call(a, &q);
}

/* All that it knows to be accepted. */
static void
app_compare(struct app *a)
{
	uint64_t size;
	const unsigned char *data = rig_data(a->rig, a->name, &size);
	uint32_t i;

	for (i = 0; i < a->end; i++)
		if (a->sure[i] && (i >= size || data[i] != a->want[i])) {
			printf("# %s: at %u of %u, size %llu\n", a->name, i,
			       a->end, (unsigned long long)size);
			wrong("accepted bytes are not on the server:",
			      a->name);
			return;
		}
}

/* --- the plays --- */

static void
some_calls(struct app *a)
{
	static const nfswb_type of_names[] = {
		NFSWB_STAT, NFSWB_LSTAT, NFSWB_UNLINK, NFSWB_RMDIR,
		NFSWB_READLINK, NFSWB_SYNC, NFSWB_CONTROL,
	};
	nfswb_args q;
	size_t i;

	for (i = 0; i < sizeof of_names / sizeof of_names[0]; i++) {
		memset(&q, 0, sizeof q);
		q.type = of_names[i];
		q.nfswb_args_u.stat = (char *)(uintptr_t)a->name;
		(void)app_call(a, &q);
	}
	memset(&q, 0, sizeof q);
	q.type = NFSWB_STATISTICS;
	(void)app_call(a, &q);
	q.type = NFSWB_RENAME;
	q.nfswb_args_u.rename.from = q.nfswb_args_u.rename.to =
		(char *)(uintptr_t)a->name;
	(void)app_call(a, &q);
	memset(&q, 0, sizeof q);
	q.type = NFSWB_MKDIR;
	q.nfswb_args_u.mkdir.target = q.nfswb_args_u.mkdir.content =
		(char *)(uintptr_t)a->name;
	(void)app_call(a, &q);
	q.type = NFSWB_SYMLINK;
	(void)app_call(a, &q);
	memset(&q, 0, sizeof q);
	q.type = NFSWB_READDIR;
	q.nfswb_args_u.readdir.target = (char *)(uintptr_t)a->name;
	(void)app_call(a, &q);
}

static void
range_call(struct app *a, nfswb_type type, uint64_t offset, uint64_t length)
{
	nfswb_args q = { .type = type };
	int i, err = -1;

	for (i = 0; i < TRIES_MAX && err; i++) {
		app_look(a);
		if (!a->there)
			return;
		q.nfswb_args_u.read.file = (u_int)a->file;
		q.nfswb_args_u.read.offset = offset;
		q.nfswb_args_u.read.length = length;
		err = client_call(&a->c, &q);
	}
	if (err)
		wrong("refused in many tries:", "a range");
}

static void
app_reads(struct app *a, uint32_t at, uint32_t len)
{
	nfswb_read_res *r;

	range_call(a, NFSWB_READ, at, len);
	if (!a->there || a->c.reply.answer.error)
		return;
	r = &a->c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	if (memcmp(r->data.data_val, a->want + at, r->data.data_len))
		wrong("another thing was read", NULL);
	if (!(a->flags & NFSWB_HELLO_INLINE))
		range_call(a, NFSWB_READ_PLACE, at, len);
}

static void
app_cuts(struct app *a, uint32_t at)
{
	range_call(a, NFSWB_TRUNCATE, 0, at);
	memset(a->sure + at, 0, FILE_BYTES - at);
	a->end = at;
}

static void
app_closes(struct app *a)
{
	nfswb_args q = { .type = NFSWB_FSTAT };

	app_look(a);
	q.nfswb_args_u.fstat_file = (u_int)a->file;
	(void)client_call(&a->c, &q);
	if (client_close_file(&a->c, (uint32_t)a->file))
		app_fsync(a);	/* it says that it did not work */
	app_gone(a);
}

static struct app a, b, c, d;

/* Two that stay, one that dies in the middle of things. */
static void
play_sessions(struct rig *g)
{
	unsigned i;

	app_new(&a, g, "a", 0);
	app_new(&c, g, "c", NFSWB_HELLO_INLINE);
	for (i = 0; i < 5; i++)
		app_write(&a, i * 100, 100);
	app_bell(&a);
	app_write(&a, 50, 30);
	for (i = 0; i < 12; i++)
		app_write(&a, 10000 + i * 65536, 65536);
	app_write(&c, 0, 3000);
	app_write(&c, 500, 100000);
	app_bell(&a);
	app_write(&b, 200, 500);
	app_fsync(&a);
	app_reads(&a, 0, 5000);
	app_reads(&c, 100, 50000);
	range_call(&a, NFSWB_RESERVE, 0, 100);
	app_cuts(&c, 60000);
	some_calls(&c);
	app_write(&a, 1000, 4000);
	app_new(&d, g, "d", 0);
	app_write(&d, 0, 40000);
	app_bell(&d);
	app_write(&d, 40000, 10000);
	app_gone(&d);
	app_fsync(&b);
	app_closes(&a);
	app_closes(&c);
	rig_pass(g, 1000000);
}

static void
app_rest(struct app *x, struct rig *g)
{
	app_gone(x);
	x->rig = g;
}

/* After it: is all well?  Ends the rig. */
static void
judge(struct rig *g, struct app **apps, bool many)
{
	struct app **x;
	unsigned lost = 0;

	wb_check(rig_wb(g), false);
	for (x = apps; *x; x++)
		if ((*x)->there)
			app_fsync(*x);
	rig_pass(g, 5000000);
	for (x = apps; *x; x++) {
		app_compare(*x);
		lost += (*x)->lost_nr;
		app_gone(*x);
	}
	HOLDS(many || lost <= 1);
	HOLDS(rig_gave_up(g) == 0);
	rig_pass(g, 5000000);
	wb_check(rig_wb(g), false);
	/* as ever */
	app_new(&d, g, "after", 0);
	app_write(&d, 0, 70000 % 65536);
	app_fsync(&d);
	app_compare(&d);
	HOLDS(d.there);
	app_rest(&d, g);
	rig_pass(g, 1000000);
}

static unsigned
open_nr(void)
{
	unsigned nr = 0;
	int fd;

	for (fd = 3; fd < 200; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void
run_sessions(const struct injection *p)
{
	static struct app *apps[] = { &a, &b, &c, &d, NULL };
	struct rig *g = rig_new();

	app_new(&b, g, "b", NFSWB_HELLO_INLINE);
	app_write(&b, 0, 1000);
	inject_begin(p);
	play_sessions(g);
	inject_end();
	judge(g, apps, p->times > 1);
	rig_free(g);
}

/* --- a daemon that takes over --- */

/* What it left in its memory and all that it knows, to the next instance. */
static void
resume_ask(struct app *x, struct client *n)
{
	client_connect(x->rig, n);
	client_resume(n, &x->c, (uint32_t)x->file, x->token);
}

/* Has it been answered?  It asks again where it was not heard.  Its session may
   have come to an end meanwhile, as any that is lost: it is told so. */
static bool
resume_heard(struct app *x, struct client *n)
{
	char byte;
	ssize_t got = recv(n->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	int err;

	if (got < 0 && errno == EAGAIN)
		return false;
	err = client_reply(n) ? n->reply.answer.error : -1;
	if (!err)
		return true;
	client_close(n);
	if (err != ESTALE) {
		resume_ask(x, n);
		return false;
	}
	x->lost_nr++;
	return true;
}

static void
resume_both(struct client *na, struct client *nb)
{
	bool heard_a = false, heard_b = false;
	unsigned i;

	resume_ask(&a, na);
	resume_ask(&b, nb);
	for (i = 0; i < 100 && !(heard_a && heard_b); i++) {
		rig_pass(a.rig, 10000);
		heard_a = heard_a || resume_heard(&a, na);
		heard_b = heard_b || resume_heard(&b, nb);
	}
	HOLDS(heard_a && heard_b);
}

static void
run_takeover(const struct injection *p)
{
	static struct app *apps[] = { &a, &b, NULL };
	struct rig *g = rig_new(), *again;
	struct client na, nb;

	app_new(&a, g, "a", 0);
	app_new(&b, g, "b", 0);
	app_write(&a, 0, 5000);
	app_bell(&a);
	rig_hold(g, true);
	app_write(&a, 100000, 60000);
	app_bell(&a);
	app_write(&a, 3000, 10000);
	app_write(&b, 0, 30000);
	rig_kill(g);
	again = rig_again(g);
	rig_hold(again, false);
	a.rig = b.rig = again;
	inject_begin(p);
	resume_both(&na, &nb);
	rig_pass(again, 1000);
	client_close(&nb);
	if (!a.lost_nr && client_fsync(&na, (uint32_t)a.file))
		(void)client_fsync(&na, (uint32_t)a.file);
	client_close(&na);
	rig_pass(again, 15000000);
	inject_end();
	app_gone(&a);
	app_gone(&b);
	judge(again, apps, p->times > 1);
	rig_free(again);
	rig_free(g);
}

/* --- all in turn --- */

typedef void run_fn(const struct injection *);

/* One run; false: nothing was there to fail. */
static bool
run_once(run_fn *run)
{
	unsigned fds = open_nr();
	int64_t live = inject_live_nr();
	const struct injected *r;
	bool more;

	snprintf(running, sizeof running, "%s:%u:%u",
		 plan.kind == INJECT_ALLOC ? "alloc" : "call", plan.nth,
		 plan.kind == INJECT_ALLOC ? plan.times : plan.way);
	run(&plan);
	/* what had no thread to be closed by goes with the next */
	closer_close(open("/dev/null", O_RDONLY));
	inject_join();
	r = inject_end();
	more = r->failed_nr || r->no_such_way;
	if (open_nr() != fds)
		wrong("descriptors are left open", NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (inject_live_nr() != live)
		wrong("memory is left", NULL);
#else
	(void)live;
#endif
	return more;
}

static void
each(run_fn *run, enum inject_kind kind, unsigned times)
{
	const char *only = getenv("INJECT_ONLY");
	unsigned nr = 0, ways = 0;

	plan = (struct injection){ .kind = kind, .times = times };
	(void)run_once(run);		/* what is made once */
	if (only && sscanf(only, kind == INJECT_ALLOC ? "alloc:%u" :
			   "call:%u:%u", &plan.nth, &plan.way) >= 1) {
		(void)run_once(run);
		return;
	}
	wrong_nr = 0;
	for (plan.nth = 1; !only && run_once(run); plan.nth++) {
		nr++;
		ways++;
		for (plan.way = 1; run_once(run) &&
		     !inject_end()->no_such_way; plan.way++)
			ways++;
		plan.way = 0;
	}
	printf("# %u failed in turn, in %u ways\n", nr, ways);
	CU_ASSERT_EQUAL(wrong_nr, 0);
	CU_ASSERT(only || nr > 50);
}

static void
every_allocation_of_sessions_fails_once_and_nothing_is_lost(void)
{
	each(run_sessions, INJECT_ALLOC, 1);
}

static void
every_call_of_sessions_fails_once_and_nothing_is_lost(void)
{
	each(run_sessions, INJECT_CALL, 1);
}

static void
three_allocations_of_sessions_fail_in_a_row_and_nothing_is_lost(void)
{
	each(run_sessions, INJECT_ALLOC, 3);
}

static void
every_allocation_of_a_takeover_fails_once_and_nothing_is_lost(void)
{
	each(run_takeover, INJECT_ALLOC, 1);
}

static void
every_call_of_a_takeover_fails_once_and_nothing_is_lost(void)
{
	each(run_takeover, INJECT_CALL, 1);
}

static void
crashed(int signo)
{
	char line[128];
	int n = snprintf(line, sizeof line, "# signal %d in the run %s\n",
			 signo, running);

	if (write(1, line, (size_t)n) < 0)
		_exit(2);
	signal(signo, SIG_DFL);
	raise(signo);
}

__attribute__((constructor)) static void
quiet(void)
{
	inject_joins = true;
	excused = 1;			/* all but what a loop calls */
	log_set_level(getenv("INJECT_ONLY") ? LOG_LEVEL_DEBUG :
					      LOG_LEVEL_ERROR);
	signal(SIGABRT, crashed);
	setvbuf(stdout, NULL, _IOLBF, 0);
#if !defined(__SANITIZE_ADDRESS__)
	signal(SIGSEGV, crashed);
#endif
}

UNIT_TESTS(inject,
	UNIT(every_allocation_of_sessions_fails_once_and_nothing_is_lost),
	UNIT(three_allocations_of_sessions_fail_in_a_row_and_nothing_is_lost),
	UNIT(every_call_of_sessions_fails_once_and_nothing_is_lost),
	UNIT(every_allocation_of_a_takeover_fails_once_and_nothing_is_lost),
	UNIT(every_call_of_a_takeover_fails_once_and_nothing_is_lost),
)
