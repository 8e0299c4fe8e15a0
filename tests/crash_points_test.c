/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * crash_points_test.c - the daemon dies between any two stores to shared memory
 *
 * A random script of three sessions (two write into one file, one appends to
 * another; writes that overlap, truncations, fsyncs, reads, a server that keeps its
 * answers back) runs once for every place at which it can die (common/crash.h), each
 * time in a process of its own.  There it dies, another daemon comes, the sessions
 * resume as the library does, the message that was not answered is asked again, and
 * the script goes on.  WRITEs that were under way reach the server at once, within
 * late_duplicate, or never.
 * Whatever happened, an fsync that returns 0 finds all on the server, as plain
 * memory has it, and so does the end.
 *
 * SEEDS: how many scripts (2).  SEED: the first (1).  A failure prints both and the
 * place, at which `DIE=place[,place] SEED=… ` alone is run.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/crash.h"
#include "common/log.h"
#include "tests/session_rig.h"
#include "tests/unit.h"

#ifdef NFSWB_CRASH_POINTS

#define CLIENTS 3
#define FILES 2
#define STEPS 40
#define ROOM 200000u
#define SIZE_MAX_OF_TRUNCATE 70000u
#define PATIENCE 20000		/* looks of 1 ms */
#define DEATHS 2
#define LATE_USEC 9000000	/* of late_duplicate, as the rig has it */

enum kind { POST, APPEND, FSYNC, TRUNCATE, READ, HOLD, PASS, KIND_NR };

struct step {
	enum kind kind;
	unsigned client;
	uint32_t at, length;	/* TRUNCATE: at, the size; PASS: microseconds */
	bool bell;
};

struct model {
	unsigned char data[ROOM];
	uint32_t size;
};

/* Nothing of it may live on a stack that a death unwinds. */
static struct world {
	uint64_t random;
	struct step script[STEPS];
	struct rig *rig;
	struct client client[CLIENTS], before[CLIENTS];
	nfswb_token token[CLIENTS];
	uint32_t file[CLIENTS];
	struct model model[FILES];
	unsigned step;
	bool posted, asked, holds;	/* of this step; the server */
	unsigned char fill;
	unsigned long places, die[DEATHS];
	unsigned deaths;
	jmp_buf death;
} w;

static const char *const target[FILES] = { "f", "g" };

static unsigned
file_of(unsigned client)
{
	return client == 2;
}

static uint32_t
below(uint32_t n)			/* splitmix64 */
{
	uint64_t z = w.random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % n);
}

static void
fail(const char *what)
{
	printf("# %s at step %u of script %s, places %lu %lu\n", what, w.step,
	       getenv("SEED_NOW"), w.die[0], w.die[1]);
	fflush(stdout);
	_exit(1);
}

static void
at_place(void)
{
	if (++w.places == w.die[w.deaths < DEATHS ? w.deaths : 0] &&
	    w.deaths < DEATHS)
		longjmp(w.death, 1);
}

/* ---- the script ---- */

static enum kind
any_kind(void)
{
	static const unsigned share[KIND_NR] = { 45, 18, 8, 6, 5, 8, 10 };
	unsigned i, r = below(100);

	for (i = 0; r >= share[i]; r -= share[i++])
		;
	return (enum kind)i;
}

static uint32_t
any_length(void)
{
	return 1 + below(below(5) ? 9000 : 40000);
}

static void
write_script(void)
{
	unsigned i;

	for (i = 0; i < STEPS; i++) {
		struct step *s = &w.script[i];

		s->kind = any_kind();
		s->client = s->kind == APPEND ? 2 :
			    below(s->kind == POST ? 2 : CLIENTS);
		s->at = below(s->kind == TRUNCATE ? SIZE_MAX_OF_TRUNCATE
						  : 60000);
		s->length = any_length();
		s->bell = below(2);
	}
}

/* ---- the model ---- */

static void
model_write(struct model *m, uint32_t at, const void *data, uint32_t length)
{
	if (at > m->size)
		memset(m->data + m->size, 0, at - m->size);
	memcpy(m->data + at, data, length);
	if (at + length > m->size)
		m->size = at + length;
}

static void
model_truncate(struct model *m, uint32_t size)
{
	if (size > m->size)
		memset(m->data + m->size, 0, size - m->size);
	m->size = size;
}

static void
compare(unsigned file, const char *when)
{
	const struct model *m = &w.model[file];
	uint64_t size, i;
	const unsigned char *d = rig_data(w.rig, target[file], &size);
	char text[160];

	for (i = 0; i < size && i < m->size && d[i] == m->data[i]; i++)
		;
	if (size == m->size && i == size)
		return;
	snprintf(text, sizeof text, "%s is not what it was written %s: %llu "
		 "bytes, not %u, other from %llu", target[file], when,
		 (unsigned long long)size, m->size, (unsigned long long)i);
	fail(text);
}

/* ---- a client, as the library is one ---- */

static void
look_after(struct client *c)
{
	client_bell(c);
	rig_pass(w.rig, 1000);
}

/* What is posted to a file that others have open too is accepted when the daemon
   has it. */
static void
wait_for_tail(struct client *c)
{
	unsigned i;

	for (i = 0; i < PATIENCE; i++) {
		if (atomic_load(&c->view.control->tail) == c->head)
			return;
		look_after(c);
	}
	fail("what was posted is never taken");
}

static void
put_in(const struct step *s)
{
	static unsigned char data[1 << 16];
	struct client *c = &w.client[s->client];
	struct model *m = &w.model[file_of(s->client)];
	uint32_t file = w.file[s->client];
	bool ok = false;
	unsigned i;

	memset(data, 1 + (w.step * 7) % 250, s->length);
	if (s->kind == APPEND && m->size + s->length > ROOM)
		return;
	for (i = 0; i < PATIENCE && !w.posted; i++) {
		ok = s->kind == APPEND
		     ? client_append(c, file, data, s->length)
		     : client_post(c, file, s->at, data, s->length);
		if (ok) {
			w.posted = true;
			model_write(m, s->kind == APPEND ? m->size : s->at,
				    data, s->length);
			break;
		}
		client_wants(c, s->length);
		look_after(c);
	}
	if (!w.posted)
		fail("there is never room");
	if (file_of(s->client) == 0)
		wait_for_tail(c);
	else if (s->bell)
		look_after(c);
}

static void
hold(bool on)
{
	w.holds = on;
	rig_hold(w.rig, on);
}

/* A message that was out when the daemon died is marked so the second time. */
static int
ask(unsigned client, nfswb_args *args)
{
	struct client *c = &w.client[client];

	c->flags = w.asked ? NFSWB_AGAIN : 0;
	w.asked = true;
	return client_call(c, args);
}

static void
do_fsync(unsigned client)
{
	nfswb_args a = { .type = NFSWB_FSYNC };

	a.nfswb_args_u.fsync_file = w.file[client];
	hold(false);
	if (ask(client, &a))
		fail("fsync failed");
	if (file_of(client) == 0 || w.client[client].head ==
	    atomic_load(&w.client[client].view.control->tail))
		compare(file_of(client), "after fsync");
}

static void
do_truncate(const struct step *s)
{
	nfswb_args a = { .type = NFSWB_TRUNCATE };

	a.nfswb_args_u.truncate.file = w.file[s->client];
	a.nfswb_args_u.truncate.length = s->at;
	hold(false);
	if (ask(s->client, &a))
		fail("truncate failed");
	model_truncate(&w.model[file_of(s->client)], s->at);
}

static void
do_read(const struct step *s)
{
	const struct model *m = &w.model[file_of(s->client)];
	nfswb_args a = { .type = NFSWB_READ };
	nfswb_read_res *r;
	uint32_t most;

	a.nfswb_args_u.read.file = w.file[s->client];
	a.nfswb_args_u.read.offset = s->at;
	a.nfswb_args_u.read.length = s->length;
	hold(false);
	if (ask(s->client, &a))
		fail("read failed");
	r = &w.client[s->client].reply.answer.nfswb_answer_u.res.nfswb_res_u.
	    read;
	most = s->at < m->size ? m->size - s->at : 0;
	if (r->data.data_len > most ||
	    memcmp(r->data.data_val, m->data + s->at, r->data.data_len) ||
	    (most && !r->data.data_len))
		fail("a read does not see what was written");
}

static void
one_step(const struct step *s)
{
	switch (s->kind) {
	case POST:
	case APPEND:
		put_in(s);
		break;
	case FSYNC:
		do_fsync(s->client);
		break;
	case TRUNCATE:
		do_truncate(s);
		break;
	case READ:
		do_read(s);
		break;
	case HOLD:
		hold(!w.holds);
		break;
	case PASS:
	case KIND_NR:
		rig_pass(w.rig, s->length);
		break;
	}
}

static void
start(void)
{
	unsigned i;

	w.rig = rig_new();
	for (i = 0; i < CLIENTS; i++) {
		struct client *c = &w.client[i];
		int nr;

		client_connect(w.rig, c);
		if (client_hello(c, 0, 1u << 20))
			fail("no session");
		nr = client_open(c, target[file_of(i)], O_RDWR | O_CREAT |
				 (i == 2 ? O_APPEND : 0));
		if (nr < 0)
			fail("no file");
		w.file[i] = (uint32_t)nr;
		memcpy(w.token[i], c->reply.answer.nfswb_answer_u.res.
		       nfswb_res_u.open.token, sizeof w.token[i]);
	}
}

/* The library saw the hang-up: it closes all marks and hands its memory over. */
static void
come_back(unsigned i)
{
	struct client *c = &w.client[i], *old = &w.before[i];
	uint32_t k;

	*old = *c;
	for (k = 0; k < old->view.layout.chunk_nr; k++)
		atomic_fetch_or(&old->view.mark[k], NFSWB_MARK_CLOSED);
	client_connect(w.rig, c);
	c->view = old->view;
	c->hello = old->hello;
	c->head = old->head;
	memcpy(c->passed, old->passed, sizeof c->passed);
	c->passed_nr = old->passed_nr;
	c->next_id = old->next_id;
	client_resume(c, old, w.file[i], w.token[i]);
}

static void
die(void)
{
	struct rig *dead = w.rig;
	unsigned i;

	w.deaths++;
	w.places = 0;
	rig_kill(dead);
	switch (w.die[w.deaths - 1] % 3) {
	case 0:
		rig_late(dead, 0);
		break;
	case 1:
		rig_late(dead, below(LATE_USEC));
		break;
	}
	w.rig = rig_again(dead);
	rig_hold(w.rig, w.holds);
	for (i = 0; i < CLIENTS; i++)
		come_back(i);
	for (i = 0; i < CLIENTS; i++)
		if (!client_reply(&w.client[i]) ||
		    w.client[i].reply.answer.error)
			fail("a session may not resume");
}

static void
show(const struct step *s)
{
	static const char *const name[] = { "post", "append", "fsync",
					    "truncate", "read", "hold",
					    "pass" };

	printf("# %u: %s by %u, %u, %u; place %lu\n", w.step, name[s->kind],
	       s->client, s->at, s->length, w.places);
}

static void
play(void)
{
	unsigned i;

	if (setjmp(w.death))
		die();
	crash_hook(at_place);
	while (w.step < STEPS) {
		if (getenv("DIE"))
			show(&w.script[w.step]);
		one_step(&w.script[w.step]);
		w.posted = w.asked = false;
		w.step++;
	}
	for (i = 0; i < CLIENTS; i++)
		do_fsync(i);
	crash_hook(NULL);
	rig_pass(w.rig, LATE_USEC);
	for (i = 0; i < FILES; i++)
		compare(i, "at the end");
	rig_free(w.rig);
}

/* ---- one process for each death ---- */

struct outcome {
	unsigned deaths;
	unsigned long places;
};

static void
child(int fd, uint64_t seed, unsigned long first, unsigned long second)
{
	struct outcome o;
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
	setenv("SEED_NOW", text, 1);
	w.random = seed;
	w.die[0] = first;
	w.die[1] = second;
	log_set_level(LOG_LEVEL_ERROR);
	write_script();
	start();
	play();
	o.deaths = w.deaths;
	o.places = w.places;
	if (write(fd, &o, sizeof o) != sizeof o)
		_exit(2);
	_exit(0);
}

/* false: something was lost.  Place 0: it does not die. */
static bool
run(uint64_t seed, unsigned long first, unsigned long second,
    struct outcome *o)
{
	int fd[2], status = -1;
	bool whole;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		abort();
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		child(fd[1], seed, first, second);
	close(fd[1]);
	whole = read(fd[0], o, sizeof *o) == sizeof *o;
	close(fd[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (status)
		printf("# DIE=%lu,%lu SEED=%llu: status %x\n", first, second,
		       (unsigned long long)seed, (unsigned)status);
	return whole && status == 0;
}

static unsigned long
number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void
daemon_dies_between_any_two_stores_and_nothing_is_lost(void)
{
	unsigned long seed = number("SEED", 1), nr = number("SEEDS", 2), at, i;
	unsigned bad = 0, deaths = 0;
	struct outcome o;

	if (getenv("DIE"))
		return;
	for (i = 0; i < nr; i++) {
		CU_ASSERT(run(seed + i, 0, 0, &o));
		for (at = 1; bad < 5; at++) {
			if (!run(seed + i, at, 0, &o))
				bad++;
			else if (!o.deaths)
				break;
			deaths++;
		}
	}
	printf("# scripts %lu to %lu, %u deaths\n", seed, seed + nr - 1,
	       deaths);
	CU_ASSERT(deaths > 100 * nr);
	CU_ASSERT_EQUAL(bad, 0);
}

/* The second one comes while the lists of the first are taken over, or later. */
static void
daemon_dies_again_at_any_place_and_nothing_is_lost(void)
{
	unsigned long seed = number("SEED", 1), nr = number("SEEDS", 2), i;
	unsigned long places;
	unsigned bad = 0, deaths = 0, k;
	struct outcome o;

	if (getenv("DIE"))
		return;
	for (i = 0; i < nr && bad < 5; i++) {
		CU_ASSERT_FATAL(run(seed + i, 0, 0, &o));
		places = o.places;
		for (k = 0; k < 200 && bad < 5; k++) {
			w.random = (seed + i) * 1000 + k;
			bad += !run(seed + i, 1 + below((uint32_t)places),
				    1 + below(k % 2 ? 60 : (uint32_t)places),
				    &o);
			deaths += o.deaths;
		}
	}
	printf("# scripts %lu to %lu, %u deaths\n", seed, seed + nr - 1,
	       deaths);
	CU_ASSERT(deaths > 200 * nr);
	CU_ASSERT_EQUAL(bad, 0);
}

/* DIE=place[,place]: this one death, for whoever looks for the reason. */
static void
death_that_was_asked_for(void)
{
	const char *die_at = getenv("DIE"), *comma;
	struct outcome o;

	if (!die_at)
		return;
	comma = strchr(die_at, ',');
	CU_ASSERT(run(number("SEED", 1), strtoul(die_at, NULL, 10),
		      comma ? strtoul(comma + 1, NULL, 10) : 0, &o));
}

UNIT_TESTS(crash_points,
	UNIT(daemon_dies_between_any_two_stores_and_nothing_is_lost),
	UNIT(daemon_dies_again_at_any_place_and_nothing_is_lost),
	UNIT(death_that_was_asked_for),
)

#else

int
main(void)
{
	puts("1..0 # SKIP not built with --enable-crash-points");
	return 0;
}

#endif
