/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keep_test.c - the sessions' memory is kept by who started the daemon: both it
 * and the application die, and the next instance finishes the job
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/memory.h"
#include "tests/session_rig.h"
#include "tests/unit.h"

#define SECOND 1000000ull

struct life {
	struct rig *first, *second;
	struct client a;		/* of the first */
	pid_t pid;
	nfswb_token token;
};

static bool
server_has(struct rig *g, const char *target, uint64_t offset,
	   const void *data, size_t len)
{
	uint64_t size;
	const unsigned char *p = rig_data(g, target, &size);

	return p && size == offset + len && !memcmp(p + offset, data, len);
}

/* A session of a process of its own with "f" open; the server answers no
   WRITE. */
static void
begin_with(struct life *l, int oflags)
{
	memset(l, 0, sizeof *l);
	l->first = rig_new();
	l->pid = client_connect_apart(l->first, &l->a);
	CU_ASSERT_EQUAL(client_hello(&l->a, 0, 0), 0);
	rig_pass(l->first, 1000);
	CU_ASSERT_EQUAL(client_open(&l->a, "f", oflags), 0);
	memcpy(l->token, l->a.reply.answer.nfswb_answer_u.res.nfswb_res_u.
	       open.token, sizeof l->token);
	rig_hold(l->first, true);
}

static void
begin(struct life *l)
{
	begin_with(l, O_RDWR | O_CREAT);
}

static void
daemon_dies(struct life *l)
{
	rig_kill(l->first);
	l->second = rig_again(l->first);
	rig_hold(l->second, false);
}

static void
application_dies(struct life *l)
{
	client_process_dies(l->pid);
	l->pid = 0;
}

static void
both_die(struct life *l)
{
	application_dies(l);
	daemon_dies(l);
}

static void
end(struct life *l)
{
	if (l->pid)
		application_dies(l);
	client_close(&l->a);
	if (l->second)
		rig_free(l->second);
	rig_free(l->first);
}

static int
resume(struct life *l, struct client *c)
{
	client_connect(l->second, c);
	client_resume(c, &l->a, 0, l->token);
	return client_reply(c) ? c->reply.answer.error : -1;
}

static void
nothing_of_list_and_ring_is_lost_when_both_die(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "aaaaaa", 6));
	CU_ASSERT(client_post(&l.a, 0, 2, "bb", 2));
	client_bell(&l.a);
	rig_pass(l.first, 500);		/* these two are in the list */
	CU_ASSERT_EQUAL(atomic_load(&l.a.view.control->tail), 2);
	CU_ASSERT(client_post(&l.a, 0, 3, "c", 1));	/* in the ring only */
	CU_ASSERT(client_post(&l.a, 0, 6, "d", 1));
	both_die(&l);
	rig_pass(l.second, 60 * SECOND);
	CU_ASSERT(server_has(l.second, "f", 0, "aabcaad", 7));
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 0);
	end(&l);
}

static void
append_of_the_dead_is_done_once_and_at_the_end(void)
{
	struct life l;
	struct client b;
	struct nfswb_ring_entry e = { .kind = NFSWB_RING_APPEND };

	begin_with(&l, O_RDWR | O_CREAT | O_APPEND);
	rig_hold(l.first, false);
	CU_ASSERT(client_post(&l.a, 0, 0, "one ", 4));
	CU_ASSERT_EQUAL(client_fsync(&l.a, 0), 0);
	rig_hold(l.first, true);
	e.place = (uint64_t)l.a.chunk * RIG_CHUNK + 4;
	e.length = 5;
	atomic_fetch_add(&l.a.view.mark[l.a.chunk], 5);
	memcpy(l.a.view.data + e.place, "three", 5);
	/* another's end of file, that the next instance has to ask for */
	client_connect(l.first, &b);
	CU_ASSERT_EQUAL(client_hello(&b, NFSWB_HELLO_INLINE, 0), 0);
	CU_ASSERT_EQUAL(client_open(&b, "f", O_RDWR), 0);
	rig_hold(l.first, false);
	CU_ASSERT_EQUAL(client_write(&b, 0, 4, "two ", 4), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT_EQUAL(client_close_file(&b, 0), 0);
	client_close(&b);
	rig_pass(l.first, 1000);
	client_post_raw(&l.a, &e);
	both_die(&l);
	rig_pass(l.second, 60 * SECOND);
	CU_ASSERT(server_has(l.second, "f", 0, "one two three", 13));
	end(&l);
}

static void
who_dies_while_it_is_waited_for_is_finished_at_once(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	daemon_dies(&l);
	rig_pass(l.second, SECOND);
	CU_ASSERT(!server_has(l.second, "f", 0, "x", 1));
	application_dies(&l);
	rig_pass(l.second, 1000);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 0);
	end(&l);
}

static void
who_dies_after_grace_is_finished_too(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	daemon_dies(&l);
	rig_pass(l.second, 3600 * SECOND);
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 2);
	application_dies(&l);
	rig_pass(l.second, 1000);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	end(&l);
}

/* What comes twice is appended once, and written on in one memory. */
static void
memory_that_is_kept_and_resumed_is_imported_once(void)
{
	struct life l;
	struct client b, c;
	struct nfswb_ring_entry e = { .kind = NFSWB_RING_APPEND, .length = 3 };

	begin_with(&l, O_RDWR | O_CREAT | O_APPEND);
	CU_ASSERT(client_post(&l.a, 0, 0, "abc", 3));
	client_bell(&l.a);
	rig_pass(l.first, 500);
	e.place = (uint64_t)l.a.chunk * RIG_CHUNK + 3;
	atomic_fetch_add(&l.a.view.mark[l.a.chunk], 3);
	memcpy(l.a.view.data + e.place, "def", 3);
	client_post_raw(&l.a, &e);
	daemon_dies(&l);
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 2);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(resume(&l, &c), ESTALE);
	client_close(&c);
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 2);
	rig_pass(l.second, 2000);
	l.a.chunk = NFSWB_NO_CHUNK;
	CU_ASSERT(client_post(&l.a, 0, 6, "g", 1));
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "abcdefg", 7));
	client_close(&b);
	rig_pass(l.second, SECOND);
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 0);
	end(&l);
}

static int
memfd(uint64_t bytes, int seals)
{
	int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)bytes), 0);
	CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
client_with_other_memory_than_was_kept_is_refused(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct life l;
	struct client b;
	int right;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "right", 5));
	daemon_dies(&l);
	right = l.a.passed[1];
	l.a.passed[1] = memfd(l.a.hello.data_bytes, seals);
	CU_ASSERT_EQUAL(resume(&l, &b), EPERM);
	client_close(&b);
	close(l.a.passed[1]);
	l.a.passed[1] = right;
	application_dies(&l);
	rig_pass(l.second, 1000);
	CU_ASSERT(server_has(l.second, "f", 0, "right", 5));
	end(&l);
}

static void
what_is_not_as_it_was_made_is_told_apart(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct memory m;
	const char *why;
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CU_ASSERT_EQUAL(memory_new(&m, 4 * RIG_CHUNK, 1), 0);
	CU_ASSERT_PTR_NULL(memory_not_ours(m.control_fd, m.data_fd,
					   4 * RIG_CHUNK));
	why = memory_not_ours(m.data_fd, m.control_fd, 4 * RIG_CHUNK);
	CU_ASSERT_PTR_NOT_NULL(why);
	why = memory_not_ours(m.control_fd, null, 4 * RIG_CHUNK);
	CU_ASSERT(why && strstr(why, "no memory file"));
	why = memory_not_ours(m.control_fd, m.data_fd, 5 * RIG_CHUNK);
	CU_ASSERT(why && strstr(why, "another size"));
	fd = memfd(4 * RIG_CHUNK, F_SEAL_SHRINK | F_SEAL_SEAL);
	why = memory_not_ours(m.control_fd, fd, 4 * RIG_CHUNK);
	CU_ASSERT(why && strstr(why, "not sealed"));
	close(fd);
	fd = memfd(3 * RIG_CHUNK, seals);
	why = memory_not_ours(m.control_fd, fd, 4 * RIG_CHUNK);
	CU_ASSERT(why && strstr(why, "another size"));
	close(fd);
	close(null);
	memory_free(&m);
}

/* The daemon dies, what is kept of its only session is replaced by fd (-1: it
   is not there), and the application dies if so wanted. */
static void
forge(struct life *l, const char *name, int fd, bool dies)
{
	begin(l);
	CU_ASSERT(client_post(&l->a, 0, 0, "x", 1));
	rig_keep(l->first, name, fd);
	if (fd >= 0)
		close(fd);
	if (dies)
		both_die(l);
	else
		daemon_dies(l);
}

/* It is refused, kept no longer, and the daemon serves others. */
static void
is_refused(struct life *l)
{
	struct client b;

	rig_pass(l->second, SECOND);
	CU_ASSERT_EQUAL(rig_kept(l->second, NULL), 0);
	CU_ASSERT(!server_has(l->second, "f", 0, "x", 1));
	client_connect(l->second, &b);
	CU_ASSERT_EQUAL(client_hello(&b, 0, 0), 0);
	CU_ASSERT_EQUAL(client_open(&b, "g", O_RDWR | O_CREAT), 0);
	client_close(&b);
}

static void
forged_foreign_and_unsealed_memory_is_refused(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct nfswb_layout layout;
	struct life l;

	begin(&l);
	layout = l.a.view.layout;
	end(&l);
	forge(&l, "session-1-data", memfd(4u << 20, F_SEAL_SEAL), true);
	is_refused(&l);			/* unsealed */
	end(&l);
	forge(&l, "session-1-data", memfd(8u << 20, seals), true);
	is_refused(&l);			/* of another size */
	end(&l);
	forge(&l, "session-1-data", open("/dev/null", O_RDWR), true);
	is_refused(&l);			/* no memory */
	end(&l);
	forge(&l, "session-1-control", memfd(layout.bytes, seals), true);
	is_refused(&l);			/* never formatted */
	end(&l);
	forge(&l, "session-1-control", -1, true);
	is_refused(&l);			/* one half only */
	end(&l);
}

static void
list_in_kept_memory_that_is_garbage_harms_nobody(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	client_bell(&l.a);
	rig_pass(l.first, 500);
	l.a.view.list[0].place = UINT64_MAX - 3;
	both_die(&l);
	is_refused(&l);
	end(&l);
}

static void
memory_of_a_session_that_nobody_knows_is_refused(void)
{
	struct life l;

	begin(&l);
	rig_keep(l.first, "session-99-control", l.a.passed[0]);
	rig_keep(l.first, "session-99-data", l.a.passed[1]);
	CU_ASSERT_EQUAL(rig_kept(l.first, NULL), 4);
	daemon_dies(&l);
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 2);
	CU_ASSERT_EQUAL(rig_kept(l.second, "session-1-data"), 1);
	end(&l);
}

/* Then the client's own counts, as where nobody keeps anything; it is kept from
   then on. */
static void
client_resumes_though_what_was_kept_is_refused(void)
{
	struct life l;
	struct client b;

	forge(&l, "session-1-data", memfd(4u << 20, F_SEAL_SEAL), false);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	CU_ASSERT_EQUAL(rig_kept(l.second, "session-1-data"), 1);
	CU_ASSERT_EQUAL(rig_kept(l.second, "session-1-control"), 1);
	client_close(&b);
	end(&l);
}

static void
memory_is_kept_until_all_is_on_stable_storage(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT_EQUAL(rig_kept(l.first, "session-1-control"), 1);
	CU_ASSERT_EQUAL(rig_kept(l.first, "session-1-data"), 1);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	application_dies(&l);
	rig_pass(l.first, 60 * SECOND);
	CU_ASSERT_EQUAL(rig_kept(l.first, NULL), 2);
	rig_hold(l.first, false);
	rig_pass(l.first, 60 * SECOND);
	CU_ASSERT(server_has(l.first, "f", 0, "x", 1));
	CU_ASSERT_EQUAL(rig_kept(l.first, NULL), 0);
	end(&l);
}

static void
daemon_that_dies_long_after_the_application_leaves_nothing_undone(void)
{
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "xyz", 3));
	application_dies(&l);
	rig_pass(l.first, 60 * SECOND);
	daemon_dies(&l);
	rig_pass(l.second, 60 * SECOND);
	CU_ASSERT(server_has(l.second, "f", 0, "xyz", 3));
	CU_ASSERT_EQUAL(rig_kept(l.second, NULL), 0);
	end(&l);
}

/* Twice, and again before it could finish. */
static void
daemon_that_dies_while_it_finishes_is_followed_by_one_that_does(void)
{
	struct life l;
	struct rig *third;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "xyz", 3));
	both_die(&l);
	rig_hold(l.second, true);
	rig_pass(l.second, 1000);
	CU_ASSERT(!server_has(l.second, "f", 0, "xyz", 3));
	rig_kill(l.second);
	third = rig_again(l.second);
	rig_hold(third, false);
	rig_pass(third, 60 * SECOND);
	CU_ASSERT(server_has(third, "f", 0, "xyz", 3));
	CU_ASSERT_EQUAL(rig_kept(third, NULL), 0);
	rig_free(third);
	end(&l);
}

static void
memory_of_the_dead_and_of_the_living_joins_in_the_order_it_was_given(void)
{
	struct life l;
	struct client o, other;
	nfswb_args sync = { .type = NFSWB_FSYNC };
	nfswb_token token;

	begin(&l);
	client_connect(l.first, &o);
	CU_ASSERT_EQUAL(client_hello(&o, 0, 0), 0);
	rig_pass(l.first, 1000);
	CU_ASSERT_EQUAL(client_open(&o, "f", O_RDWR), 0);
	memcpy(token, o.reply.answer.nfswb_answer_u.res.nfswb_res_u.open.
	       token, sizeof token);
	CU_ASSERT(client_post(&l.a, 0, 0, "aaaa", 4));
	client_send(&l.a, &sync);	/* sent: the new bytes don't cut it */
	rig_pass(l.first, 100);
	CU_ASSERT(client_post(&o, 0, 1, "bb", 2));
	client_bell(&o);
	rig_pass(l.first, 100);
	both_die(&l);
	rig_pass(l.second, SECOND);	/* the living are waited for */
	CU_ASSERT(!server_has(l.second, "f", 0, "aaaa", 4));
	client_connect(l.second, &other);
	client_resume(&other, &o, 0, token);
	CU_ASSERT(client_reply(&other));
	CU_ASSERT_EQUAL(other.reply.answer.error, 0);
	CU_ASSERT_EQUAL(client_fsync(&other, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "abba", 4));
	client_close(&other);
	client_close(&o);
	end(&l);
}

static void
stop_before_all_is_taken_over_says_so(void)
{
	struct life l;
	struct nfswb_ring_entry e = { .kind = NFSWB_RING_APPEND, .length = 1 };

	begin_with(&l, O_RDWR | O_CREAT | O_APPEND);
	e.place = (uint64_t)ring_grant_pop(&l.a.view) * RIG_CHUNK;
	l.a.view.data[e.place] = 'x';
	atomic_fetch_add(&l.a.view.mark[e.place / RIG_CHUNK], 1);
	client_post_raw(&l.a, &e);
	application_dies(&l);
	rig_kill(l.first);
	l.second = rig_again(l.first);
	rig_mute(l.second, true);	/* its size is not known */
	rig_pass(l.second, 1000);
	sessions_stop(rig_sessions(l.second));
	CU_ASSERT_EQUAL(sessions_left(rig_sessions(l.second)), 1);
	rig_pass(l.second, 60 * SECOND);
	CU_ASSERT_EQUAL(sessions_left(rig_sessions(l.second)), 1);
	rig_hold(l.second, false);
	rig_mute(l.second, false);
	rig_pass(l.second, 60 * SECOND);
	CU_ASSERT_EQUAL(sessions_left(rig_sessions(l.second)), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	end(&l);
}

static void
stop_takes_over_at_once_what_was_kept(void)
{
	struct life l;
	struct client o;

	begin(&l);
	client_connect(l.first, &o);	/* lives, and will not come */
	CU_ASSERT_EQUAL(client_hello(&o, 0, 0), 0);
	CU_ASSERT_EQUAL(client_open(&o, "g", O_RDWR | O_CREAT), 0);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	both_die(&l);
	rig_pass(l.second, 1000);
	CU_ASSERT(!server_has(l.second, "f", 0, "x", 1));
	sessions_stop(rig_sessions(l.second));
	rig_pass(l.second, SECOND);	/* grace is longer */
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	CU_ASSERT_EQUAL(sessions_left(rig_sessions(l.second)), 0);
	client_close(&o);
	end(&l);
}

static void
end_of_the_daemon_leaves_what_is_kept_to_the_next(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	sessions_stop(rig_sessions(l.first));
	CU_ASSERT_EQUAL(rig_kept(l.first, NULL), 2);
	daemon_dies(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	client_close(&b);
	end(&l);
}

static void
client_without_shared_memory_has_nothing_kept(void)
{
	struct rig *g = rig_new();
	struct client c;

	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE, 0), 0);
	CU_ASSERT_EQUAL(rig_kept(g, NULL), 0);
	client_close(&c);
	rig_free(g);
}

/* What was answered is sent again, as its COMMIT never came; but no copy of it
   is on its way that newer data would have to wait for. */
static void
what_was_answered_is_open_to_newer_data(void)
{
	struct life l;
	struct client b;
	uint64_t size;

	begin(&l);
	rig_hold(l.first, false);
	rig_hold_commits(l.first, true);
	CU_ASSERT(client_post(&l.a, 0, 0, "old", 3));
	CU_ASSERT(client_post(&l.a, 0, 99, "x", 1));
	client_send(&l.a, &(nfswb_args){ .type = NFSWB_FSYNC });
	rig_pass(l.first, 1000);
	CU_ASSERT_EQUAL(atomic_load(&l.a.view.list[0].state),
			NFSWB_LIST_ANSWERED);
	daemon_dies(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	rig_pass(l.second, 2000);
	l.a.chunk = NFSWB_NO_CHUNK;
	CU_ASSERT(client_post(&l.a, 0, 0, "new", 3));
	client_send(&b, &(nfswb_args){ .type = NFSWB_FSYNC });
	rig_pass(l.second, SECOND);
	CU_ASSERT_EQUAL(memcmp(rig_data(l.second, "f", &size), "new", 3), 0);
	CU_ASSERT_EQUAL(size, 100);
	client_close(&b);
	end(&l);
}

UNIT_TESTS(keep,
	UNIT(nothing_of_list_and_ring_is_lost_when_both_die),
	UNIT(append_of_the_dead_is_done_once_and_at_the_end),
	UNIT(who_dies_while_it_is_waited_for_is_finished_at_once),
	UNIT(who_dies_after_grace_is_finished_too),
	UNIT(memory_that_is_kept_and_resumed_is_imported_once),
	UNIT(client_with_other_memory_than_was_kept_is_refused),
	UNIT(what_is_not_as_it_was_made_is_told_apart),
	UNIT(forged_foreign_and_unsealed_memory_is_refused),
	UNIT(list_in_kept_memory_that_is_garbage_harms_nobody),
	UNIT(memory_of_a_session_that_nobody_knows_is_refused),
	UNIT(client_resumes_though_what_was_kept_is_refused),
	UNIT(memory_is_kept_until_all_is_on_stable_storage),
	UNIT(daemon_that_dies_long_after_the_application_leaves_nothing_undone),
	UNIT(daemon_that_dies_while_it_finishes_is_followed_by_one_that_does),
	UNIT(memory_of_the_dead_and_of_the_living_joins_in_the_order_it_was_given),
	UNIT(stop_before_all_is_taken_over_says_so),
	UNIT(stop_takes_over_at_once_what_was_kept),
	UNIT(end_of_the_daemon_leaves_what_is_kept_to_the_next),
	UNIT(client_without_shared_memory_has_nothing_kept),
	UNIT(what_was_answered_is_open_to_newer_data),
)
