/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resume.c - fuzz target: what a client may hand over to the next instance
 *
 *	first byte	bits: BEGIN_…
 *	then steps	op, see enum step; arguments follow
 *
 * A session with file a and, to append, b; some of what it posted is in the
 * list, some in the ring, when the daemon dies.  Up to STEP_RESUME the steps
 * change list, ring, words and what the RESUME says; from then on they are done to
 * the daemon that came again.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/session.h"

const char fuzz_name[] = "resume";

#define STEPS_MAX 60

#define BEGIN_OTHER	1u	/* another session has a open, and resumes first */
#define BEGIN_SENT	2u	/* the list's are under way, not only dirty */
#define BEGIN_MUTE	4u	/* the second one's server tells no sizes */
#define BEGIN_HOLD	8u	/* nor answers WRITEs */

enum step {
	STEP_LIST,		/* index, an entry of any numbers */
	STEP_NEAR,		/* index, seq from the first one's, length, ring
				   position, offset, chunk, place, file, state */
	STEP_RING,		/* index, an entry of any numbers */
	STEP_HEAD,		/* value */
	STEP_TAIL,		/* value */
	STEP_ANYWHERE,		/* place in control, n, bytes */
	STEP_TOKEN,		/* wrong from now on */
	STEP_SECRET,
	STEP_SESSION,		/* another number */
	STEP_MEMORY,		/* n: which descriptors */
	STEP_RESUME,
	STEP_PASS,		/* n: milliseconds */
	STEP_LONG,		/* n: seconds */
	STEP_SERVER,		/* bits: attack_server */
	STEP_CALL,		/* see attack_call */
	STEP_NR,
};

struct attack {
	struct rig *first, *second;
	struct client old, bad, old_other, other, honest;
	nfswb_token token, other_token;
	uint64_t base;			/* seq of the first entry */
	bool resumed;
};

static void
take_token(const struct client *c, nfswb_token token)
{
	memcpy(token, c->reply.answer.nfswb_answer_u.res.nfswb_res_u.open.token,
	       sizeof(nfswb_token));
}

static void
live(struct attack *t, unsigned bits)
{
	struct client *c = &t->old;

	t->first = attack_rig();
	client_connect(t->first, c);
	FUZZ_CHECK(!client_hello(c, 0, 0));
	FUZZ_CHECK(client_open(c, "a", O_RDWR | O_CREAT) == 0);
	take_token(c, t->token);
	FUZZ_CHECK(client_open(c, "b", O_RDWR | O_CREAT | O_APPEND) == 1);
	if (bits & BEGIN_OTHER) {
		client_connect(t->first, &t->old_other);
		FUZZ_CHECK(!client_hello(&t->old_other, 0, 0));
		FUZZ_CHECK(!client_open(&t->old_other, "a", O_RDWR));
		take_token(&t->old_other, t->other_token);
	}
	rig_hold(t->first, true);
	attack_pass(t->first, 1000);
	FUZZ_CHECK(client_post(c, 0, 0, "first", 5));
	FUZZ_CHECK(client_post(c, 0, 3, "second", 6));
	FUZZ_CHECK(client_append(c, 1, "line", 4));
	client_bell(c);
	attack_pass(t->first, 500);
	if (bits & BEGIN_SENT)
		client_send(c, &(nfswb_args){ .type = NFSWB_FSYNC });
	attack_pass(t->first, 500);
	FUZZ_CHECK(client_post(c, 0, 20, "third", 5));
	FUZZ_CHECK(client_append(c, 1, "more", 4));
	t->base = atomic_load(&c->view.list[0].seq);
}

static void
set_list(struct attack *t, struct fuzz_input *in, bool near)
{
	struct shm_view *v = &t->old.view;
	struct nfswb_list_entry *e =
		&v->list[fuzz_take(in, near ? 1 : 2) % v->layout.list_nr];
	uint64_t length, position;

	if (!near) {
		atomic_store(&e->seq, fuzz_take(in, 8));
		atomic_store(&e->length_ringpos, fuzz_take(in, 8));
		e->offset = fuzz_take(in, 8);
		e->place = fuzz_take(in, 8);
		e->file = (uint32_t)fuzz_take(in, 4);
		atomic_store(&e->state, (uint32_t)fuzz_take(in, 4));
		return;
	}
	atomic_store(&e->seq, t->base + fuzz_take(in, 1) - 128);
	length = fuzz_take(in, 2);
	position = fuzz_take(in, 1);
	atomic_store(&e->length_ringpos, position << 32 | length);
	e->offset = fuzz_take(in, 3);
	e->place = fuzz_take(in, 1) * RIG_CHUNK;
	e->place += fuzz_take(in, 2);
	e->file = (uint32_t)fuzz_take(in, 1);
	atomic_store(&e->state, (uint32_t)fuzz_take(in, 1));
}

static void
set_ring(struct shm_view *v, struct fuzz_input *in)
{
	struct nfswb_ring_entry *e = ring_slot(v, fuzz_take(in, 2));

	e->offset = fuzz_take(in, 8);
	e->place = fuzz_take(in, 8);
	e->length = (uint32_t)fuzz_take(in, 4);
	e->file = (uint32_t)fuzz_take(in, 4);
	e->kind = (uint32_t)fuzz_take(in, 4);
}

static void
overwrite(struct shm_view *v, struct fuzz_input *in)
{
	size_t at = fuzz_take(in, 3) % v->layout.bytes, got;
	const uint8_t *bytes = fuzz_bytes(in, fuzz_take(in, 1), &got);

	if (got > v->layout.bytes - at)
		got = v->layout.bytes - at;
	memcpy((char *)v->control + at, bytes, got);
}

/* Others than its own, which are closed with the client. */
static void
set_memory(struct client *c, unsigned how)
{
	int fd;

	if (c->passed_nr != 2)
		return;
	switch (how % 5) {
	case 0:
		fd = c->passed[0];
		c->passed[0] = c->passed[1];
		c->passed[1] = fd;
		return;
	case 1:
		close(c->passed[1]);
		c->passed[1] = memfd_create("x", MFD_CLOEXEC |
					    MFD_ALLOW_SEALING);
		(void)!ftruncate(c->passed[1], (off_t)c->hello.data_bytes);
		return;
	case 2:
		close(c->passed[0]);
		c->passed[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
		return;
	case 3:
		close(c->passed[0]);
		c->passed[0] = fcntl(c->passed[1], F_DUPFD_CLOEXEC, 3);
		return;
	case 4:				/* none */
		while (c->passed_nr)
			close(c->passed[--c->passed_nr]);
		return;
	}
}

static void
resume(struct attack *t)
{
	client_connect(t->second, &t->bad);
	client_resume(&t->bad, &t->old, 0, t->token);
	t->resumed = true;
	attack_pass(t->second, 1000);
}

static void
before(struct attack *t, unsigned op, struct fuzz_input *in)
{
	struct nfswb_control *ctl = t->old.view.control;

	switch (op) {
	case STEP_LIST:
		set_list(t, in, false);
		break;
	case STEP_NEAR:
		set_list(t, in, true);
		break;
	case STEP_RING:
		set_ring(&t->old.view, in);
		break;
	case STEP_HEAD:
		atomic_store(&ctl->head, fuzz_take(in, 8));
		break;
	case STEP_TAIL:
		atomic_store(&ctl->tail, fuzz_take(in, 8));
		break;
	case STEP_ANYWHERE:
		overwrite(&t->old.view, in);
		break;
	case STEP_TOKEN:
		t->token[5] ^= 1;
		break;
	case STEP_SECRET:
		t->old.hello.secret[5] ^= 1;
		break;
	case STEP_SESSION:
		t->old.hello.session ^= fuzz_take(in, 1);
		break;
	case STEP_MEMORY:
		set_memory(&t->old, (unsigned)fuzz_take(in, 1));
		break;
	}
}

static void
step(struct attack *t, struct fuzz_input *in)
{
	unsigned op = (unsigned)fuzz_take(in, 1) % STEP_NR;

	if (op < STEP_RESUME)
		before(t, op, in);
	else if (op == STEP_RESUME && !t->resumed)
		resume(t);
	else if (op == STEP_PASS)
		attack_pass(t->second, fuzz_take(in, 1) * 1000);
	else if (op == STEP_LONG)
		attack_pass(t->second, fuzz_take(in, 1) * 1000000);
	else if (op == STEP_SERVER)
		attack_server(t->second, (unsigned)fuzz_take(in, 1));
	else if (op == STEP_CALL && t->resumed)
		attack_call(&t->bad, in);
}

/* What of the second one's is over, so that only who is honest remains. */
static void
end(struct attack *t, unsigned bits)
{
	client_close(&t->bad);
	client_close(&t->old);
	if (bits & BEGIN_OTHER) {
		client_close(&t->other);
		client_close(&t->old_other);
	}
	attack_server(t->second, 0);
	attack_pass(t->second, 200000000);	/* grace, late duplicates */
	attack_honest(t->second, &t->honest);
	attack_over(t->second, &t->honest);
	rig_free(t->second);
	rig_free(t->first);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct attack t = { .resumed = false };
	unsigned bits = (unsigned)fuzz_take(&in, 1), i;

	live(&t, bits);
	rig_kill(t.first);
	t.second = rig_again(t.first);
	attack_server(t.second, (bits & BEGIN_MUTE ? ATTACK_MUTE : 0) |
		      (bits & BEGIN_HOLD ? ATTACK_HOLD : 0));
	if (bits & BEGIN_OTHER) {
		client_connect(t.second, &t.other);
		client_resume(&t.other, &t.old_other, 0, t.other_token);
		attack_pass(t.second, 1000);
	}
	for (i = 0; in.left && i < STEPS_MAX; i++)
		step(&t, &in);
	if (!t.resumed)
		resume(&t);
	end(&t, bits);
	return 0;
}
