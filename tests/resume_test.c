/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resume_test.c - a daemon dies, another one takes over */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/session_rig.h"
#include "tests/unit.h"

struct life {
	struct rig *first, *second;
	struct client a;		/* of the first */
	nfswb_token token;
	int file;
};

static bool
server_has(struct rig *g, const char *target, uint64_t offset,
	   const void *data, size_t len)
{
	uint64_t size;
	const unsigned char *p = rig_data(g, target, &size);

	return p && size >= offset + len && !memcmp(p + offset, data, len);
}

static void
take_token(struct life *l)
{
	memcpy(l->token, l->a.reply.answer.nfswb_answer_u.res.nfswb_res_u.
	       open.token, sizeof l->token);
}

/* A session with a file open; the server answers no WRITE. */
static void
begin(struct life *l)
{
	memset(l, 0, sizeof *l);
	l->first = rig_new();
	client_connect(l->first, &l->a);
	CU_ASSERT_EQUAL(client_hello(&l->a, 0, 0), 0);
	rig_pass(l->first, 1000);
	l->file = client_open(&l->a, "f", O_RDWR | O_CREAT);
	take_token(l);
	rig_hold(l->first, true);
}

static void
die(struct life *l)
{
	rig_kill(l->first);
	l->second = rig_again(l->first);
	rig_hold(l->second, false);
}

static void
end(struct life *l)
{
	client_close(&l->a);
	if (l->second)
		rig_free(l->second);
	rig_free(l->first);
}

static int
resume(struct life *l, struct client *c)
{
	client_connect(l->second, c);
	client_resume(c, &l->a, (uint32_t)l->file, l->token);
	return client_reply(c) ? c->reply.answer.error : -1;
}

static void
resumed_session_loses_nothing_of_list_and_ring(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "aaaaaa", 6));
	CU_ASSERT(client_post(&l.a, 0, 2, "bb", 2));
	client_bell(&l.a);
	rig_pass(l.first, 500);		/* these two are in the list */
	CU_ASSERT_EQUAL(atomic_load(&l.a.view.control->tail), 2);
	CU_ASSERT(client_post(&l.a, 0, 3, "c", 1));	/* in the ring only */
	CU_ASSERT(client_post(&l.a, 0, 6, "d", 1));
	die(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(atomic_load(&l.a.view.control->tail), 4);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "aabcaad", 7));
	CU_ASSERT_EQUAL(client_close_file(&b, 0), 0);
	client_close(&b);
	end(&l);
}

static void
resumed_session_writes_on_in_its_memory(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	die(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	rig_pass(l.second, 2000);
	l.a.chunk = NFSWB_NO_CHUNK;
	CU_ASSERT(client_post(&l.a, 0, 1, "y", 1));
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "xy", 2));
	client_close(&b);
	end(&l);
}

/* What the first one sent may land while the third one is there. */
static void
late_copy_of_the_instance_before_last_harms_nothing(void)
{
	struct rig *third;
	struct client b, c;
	struct life l;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "old", 3));
	client_bell(&l.a);
	rig_pass(l.first, 1000);
	CU_ASSERT_EQUAL(client_send(&l.a, &(nfswb_args) {
		.type = NFSWB_FSYNC }), l.a.next_id - 1);
	rig_pass(l.first, 1000);
	rig_late(l.first, 5000000);
	die(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	l.a.chunk = NFSWB_NO_CHUNK;
	CU_ASSERT(client_post(&l.a, 0, 0, "new", 3));
	client_bell(&b);
	rig_pass(l.second, 1000);
	rig_kill(l.second);
	third = rig_again(l.second);
	client_connect(third, &c);
	client_resume(&c, &l.a, (uint32_t)l.file, l.token);
	CU_ASSERT(client_reply(&c) && c.reply.answer.error == 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	rig_pass(third, 10000000);
	CU_ASSERT(server_has(third, "f", 0, "new", 3));
	client_close(&c);
	client_close(&b);
	rig_free(third);
	end(&l);
}

static void
forged_secret_is_refused(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	die(&l);
	l.a.hello.secret[3] ^= 1;
	CU_ASSERT_EQUAL(resume(&l, &b), ESTALE);
	client_close(&b);
	l.a.hello.secret[3] ^= 1;
	CU_ASSERT_EQUAL(resume(&l, &b), 0);	/* the right one still may */
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	client_close(&b);
	end(&l);
}

static void
session_is_resumed_once(void)
{
	struct life l;
	struct client b, c;

	begin(&l);
	die(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(resume(&l, &c), ESTALE);
	client_close(&c);
	client_close(&b);
	end(&l);
}

/* With other descriptors than its own. */
static void
refused_with(struct life *l, int control, int data)
{
	int kept[2] = { l->a.passed[0], l->a.passed[1] };
	struct client b;

	l->a.passed[0] = control;
	l->a.passed[1] = data;
	CU_ASSERT_EQUAL(resume(l, &b), EPERM);
	client_close(&b);
	memcpy(l->a.passed, kept, sizeof kept);
}

static void
memory_that_is_not_as_it_was_made_is_refused(void)
{
	struct life l;
	struct client b;
	int unsealed, small, null;

	begin(&l);
	die(&l);
	unsealed = memfd_create("x", MFD_ALLOW_SEALING);
	small = memfd_create("y", MFD_ALLOW_SEALING);
	null = open("/dev/null", O_RDWR);
	CU_ASSERT_EQUAL(ftruncate(unsealed, (off_t)l.a.hello.data_bytes), 0);
	CU_ASSERT_EQUAL(ftruncate(small, NFSWB_CHUNK_BYTES), 0);
	CU_ASSERT_EQUAL(fcntl(small, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
			      F_SEAL_SEAL), 0);
	refused_with(&l, l.a.passed[0], unsealed);
	refused_with(&l, l.a.passed[0], small);
	refused_with(&l, l.a.passed[0], null);
	refused_with(&l, l.a.passed[1], l.a.passed[0]);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	close(unsealed);
	close(small);
	close(null);
	client_close(&b);
	end(&l);
}

static void
list_that_is_garbage_ends_that_session_only(void)
{
	struct life l;
	struct client b, c;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	client_bell(&l.a);
	rig_pass(l.first, 500);
	die(&l);
	atomic_store(&l.a.view.list[0].seq, UINT64_MAX);
	CU_ASSERT_EQUAL(resume(&l, &b), -1);
	client_close(&b);
	client_connect(l.second, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE, 0), 0);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_RDWR), 0);
	client_close(&c);
	end(&l);
}

static void
others_wait_until_all_have_resumed(void)
{
	struct life l;
	struct client b, c;
	nfswb_args q = { .type = NFSWB_OPEN };
	nfswb_attr *at;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "hello", 5));
	die(&l);
	client_connect(l.second, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE, 0), 0);
	q.nfswb_args_u.open.target = (char *)"f";
	q.nfswb_args_u.open.oflags = O_RDWR;
	client_send(&c, &q);
	rig_pass(l.second, 1000000);
	client_connect(l.second, &b);
	client_resume(&b, &l.a, 0, l.token);
	CU_ASSERT(client_reply(&c));
	CU_ASSERT_EQUAL(c.reply.answer.error, 0);
	at = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.open.attr;
	CU_ASSERT_EQUAL(at->size, 5);	/* what was accepted, not written */
	CU_ASSERT(client_reply(&b));
	client_close(&b);
	client_close(&c);
	end(&l);
}

static void
grace_ends_the_waiting_and_late_is_better_than_lost(void)
{
	struct life l;
	struct client b, c;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "late", 4));
	die(&l);
	client_connect(l.second, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE, 0), 0);
	rig_pass(l.second, (rig_config(l.second)->grace_sec + 1) * 1000000ull);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_RDWR), 0);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "late", 4));
	client_close(&b);
	client_close(&c);
	end(&l);
}

static void
session_that_goes_away_in_the_import_is_imported_all_the_same(void)
{
	struct life l;
	struct client b, other;
	struct client o1;
	nfswb_token token;

	begin(&l);
	client_connect(l.first, &o1);
	CU_ASSERT_EQUAL(client_hello(&o1, 0, 0), 0);
	CU_ASSERT_EQUAL(client_open(&o1, "g", O_RDWR | O_CREAT), 0);
	memcpy(token, o1.reply.answer.nfswb_answer_u.res.nfswb_res_u.open.
	       token, sizeof token);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	die(&l);
	client_connect(l.second, &b);
	client_resume(&b, &l.a, 0, l.token);
	rig_pass(l.second, 1000);
	client_close(&b);		/* while o1 is still expected */
	rig_pass(l.second, 1000);
	CU_ASSERT_FALSE(server_has(l.second, "f", 0, "x", 1));
	client_connect(l.second, &other);
	client_resume(&other, &o1, 0, token);
	CU_ASSERT(client_reply(&other));
	CU_ASSERT_EQUAL(other.reply.answer.error, 0);
	rig_pass(l.second, 1000);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	client_close(&other);
	client_close(&o1);
	end(&l);
}

static void
entries_of_two_sessions_join_in_the_order_they_were_given(void)
{
	struct life l;
	struct client o1, b, other;
	nfswb_token token;
	nfswb_args sync = { .type = NFSWB_FSYNC };

	begin(&l);
	client_connect(l.first, &o1);
	CU_ASSERT_EQUAL(client_hello(&o1, 0, 0), 0);
	rig_pass(l.first, 1000);
	CU_ASSERT_EQUAL(client_open(&o1, "f", O_RDWR), 0);
	memcpy(token, o1.reply.answer.nfswb_answer_u.res.nfswb_res_u.open.
	       token, sizeof token);
	CU_ASSERT(client_post(&l.a, 0, 0, "aaaa", 4));
	client_send(&l.a, &sync);	/* sent: the new bytes don't cut it */
	rig_pass(l.first, 100);
	CU_ASSERT(client_post(&o1, 0, 1, "bb", 2));
	client_bell(&o1);
	rig_pass(l.first, 100);
	die(&l);
	client_connect(l.second, &other);
	client_resume(&other, &o1, 0, token);
	client_connect(l.second, &b);
	client_resume(&b, &l.a, 0, l.token);
	CU_ASSERT(client_reply(&b));
	CU_ASSERT(client_reply(&other));
	CU_ASSERT(atomic_load(&l.a.view.shared[0]));
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "abba", 4));
	client_close(&other);
	client_close(&b);
	client_close(&o1);
	end(&l);
}

static void
append_in_the_ring_waits_until_the_end_of_file_is_known(void)
{
	struct life l;
	struct client b;
	struct nfswb_ring_entry e = { .length = 3, .kind = NFSWB_RING_APPEND };

	begin(&l);
	rig_hold(l.first, false);
	CU_ASSERT(client_post(&l.a, 0, 0, "old", 3));
	CU_ASSERT_EQUAL(client_fsync(&l.a, 0), 0);
	CU_ASSERT_EQUAL(client_close_file(&l.a, 0), 0);
	CU_ASSERT_EQUAL(client_open(&l.a, "f", O_RDWR | O_APPEND), 0);
	take_token(&l);
	rig_pass(l.first, 100000);
	CU_ASSERT(client_post(&l.a, 0, 0, "new", 3));
	e.place = ring_slot(&l.a.view, l.a.head - 1)->place;
	l.a.head--;
	client_post_raw(&l.a, &e);	/* the same, as an append */
	die(&l);
	rig_mute(l.second, true);
	client_connect(l.second, &b);
	client_resume(&b, &l.a, 0, l.token);
	rig_pass(l.second, 1000000);
	CU_ASSERT_EQUAL(atomic_load(&l.a.view.control->tail), 1);
	rig_mute(l.second, false);
	CU_ASSERT(client_reply(&b));
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "f", 0, "oldnew", 6));
	client_close(&b);
	end(&l);
}

static void
read_that_came_before_the_size_is_known_does_not_end_early(void)
{
	struct life l;
	struct client b;
	nfswb_args a = { .type = NFSWB_READ };
	nfswb_read_res *r;

	begin(&l);
	rig_hold(l.first, false);
	CU_ASSERT(client_post(&l.a, 0, 0, "0123456789", 10));
	CU_ASSERT_EQUAL(client_fsync(&l.a, 0), 0);
	rig_hold(l.first, true);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	client_bell(&l.a);
	rig_pass(l.first, 500);
	die(&l);
	rig_hold(l.second, true);
	rig_mute(l.second, true);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	/* all that is known is that one byte */
	a.nfswb_args_u.read.offset = 5;
	a.nfswb_args_u.read.length = 5;
	client_send(&b, &a);
	rig_pass(l.second, 1000);
	rig_mute(l.second, false);	/* the size, before the flush ends */
	rig_pass(l.second, 1000);
	rig_hold(l.second, false);
	CU_ASSERT(client_reply(&b));
	CU_ASSERT_EQUAL(b.reply.answer.error, 0);
	r = &b.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	CU_ASSERT_EQUAL_FATAL(r->data.data_len, 5);
	CU_ASSERT_EQUAL(memcmp(r->data.data_val, "56789", 5), 0);
	client_close(&b);
	end(&l);
}

static void
token_that_is_not_its_own_opens_nothing(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	die(&l);
	l.token[0] ^= 1;
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), EBADF);
	rig_pass(l.second, 1000);
	CU_ASSERT(server_has(l.second, "f", 0, "x", 1));
	client_close(&b);
	end(&l);
}

static void
file_that_was_renamed_is_found_by_its_new_name(void)
{
	struct life l;
	struct client b;

	begin(&l);
	CU_ASSERT(client_post(&l.a, 0, 0, "x", 1));
	rig_renamed(l.first, "f", "g");
	die(&l);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, 0), 0);
	CU_ASSERT(server_has(l.second, "g", 0, "x", 1));
	client_close(&b);
	end(&l);
}

static void
hidden_names_are_taken_up_when_all_are_back(void)
{
	struct life l;
	struct client b;
	uint64_t id;

	begin(&l);
	CU_ASSERT_EQUAL(sessions_hide(rig_sessions(l.first), "a", &id), 0);
	sessions_unhide(rig_sessions(l.first), id);
	CU_ASSERT_EQUAL(sessions_hide(rig_sessions(l.first), "b", &id), 0);
	CU_ASSERT_EQUAL(sessions_hide(rig_sessions(l.first), "nonsense", &id),
			0);
	die(&l);
	CU_ASSERT_EQUAL(rig_hidden(l.second), 0);
	/* grace is over, but who has the file open may come yet */
	rig_pass(l.second, 100000000);
	CU_ASSERT_EQUAL(rig_hidden(l.second), 0);
	CU_ASSERT_EQUAL(resume(&l, &b), 0);
	CU_ASSERT_EQUAL(rig_hidden(l.second), 2);
	client_close(&b);
	end(&l);
}

UNIT_TESTS(resume,
	UNIT(resumed_session_loses_nothing_of_list_and_ring),
	UNIT(resumed_session_writes_on_in_its_memory),
	UNIT(late_copy_of_the_instance_before_last_harms_nothing),
	UNIT(forged_secret_is_refused),
	UNIT(session_is_resumed_once),
	UNIT(memory_that_is_not_as_it_was_made_is_refused),
	UNIT(list_that_is_garbage_ends_that_session_only),
	UNIT(others_wait_until_all_have_resumed),
	UNIT(grace_ends_the_waiting_and_late_is_better_than_lost),
	UNIT(session_that_goes_away_in_the_import_is_imported_all_the_same),
	UNIT(entries_of_two_sessions_join_in_the_order_they_were_given),
	UNIT(append_in_the_ring_waits_until_the_end_of_file_is_known),
	UNIT(file_that_was_renamed_is_found_by_its_new_name),
	UNIT(hidden_names_are_taken_up_when_all_are_back),
	UNIT(read_that_came_before_the_size_is_known_does_not_end_early),
	UNIT(token_that_is_not_its_own_opens_nothing),
)
