/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ring.c - fuzz target: what a client may write to the memory it shares
 *
 * A session with file a, which another session has open too, and file b, to
 * which it appends.  Steps: op, see enum step; arguments follow.
 */
#include <fcntl.h>
#include <string.h>

#include "tests/fuzz/session.h"

const char fuzz_name[] = "ring";

#define STEPS_MAX 150
#define PIECES_MAX 64

enum step {
	STEP_POST,		/* file, offset, length: as it should be */
	STEP_ENTRY,		/* an entry of any numbers */
	STEP_NEAR,		/* one that may be right: file, kind, chunk, place
				   in it, length, offset */
	STEP_HEAD,		/* moves on by so much, signed */
	STEP_MARK,		/* chunk, value */
	STEP_CONTROL,		/* place among the words, value */
	STEP_ANYWHERE,		/* place in control, n, bytes */
	STEP_WANTS,		/* bytes, chunk */
	STEP_BELL,
	STEP_PASS,		/* n: tenths of a millisecond */
	STEP_LONG,		/* n: so many seconds */
	STEP_SERVER,		/* bits: attack_server */
	STEP_CALL,		/* see attack_call */
	STEP_REPLY,
	STEP_NR,
};

/* Room as the library takes it, but not without end where the marks and the
   queue are not what they were. */
static bool
claim(struct client *c, uint32_t length, uint64_t *place)
{
	unsigned tries;
	uint64_t mark;

	for (tries = 0; tries < PIECES_MAX; tries++) {
		if (c->chunk >= c->view.layout.chunk_nr)
			c->chunk = ring_grant_pop(&c->view);
		if (c->chunk >= c->view.layout.chunk_nr)
			return false;
		mark = atomic_load(&c->view.mark[c->chunk]);
		if (!(mark & NFSWB_MARK_CLOSED) &&
		    (uint64_t)nfswb_mark_fill(mark) + length <=
			    nfswb_mark_limit(mark)) {
			atomic_fetch_add(&c->view.mark[c->chunk], length);
			*place = (uint64_t)c->chunk * RIG_CHUNK +
				 nfswb_mark_fill(mark);
			return true;
		}
		atomic_fetch_or(&c->view.mark[c->chunk], NFSWB_MARK_CLOSED);
		c->chunk = NFSWB_NO_CHUNK;
	}
	return false;
}

static void
post(struct client *c, struct fuzz_input *in)
{
	struct nfswb_ring_entry e = { .file = fuzz_take(in, 1) & 1 };

	e.kind = e.file ? NFSWB_RING_APPEND : NFSWB_RING_WRITE;
	e.offset = e.file ? 0 : fuzz_take(in, 3) % (4u << 20);
	e.length = (uint32_t)fuzz_take(in, 2);
	if (!claim(c, e.length, &e.place))
		return;
	if (e.place + e.length <= c->hello.data_bytes)
		memset(c->view.data + e.place, 'r', e.length);
	client_post_raw(c, &e);
}

static void
post_any(struct client *c, struct fuzz_input *in)
{
	struct nfswb_ring_entry e;

	e.offset = fuzz_take(in, 8);
	e.place = fuzz_take(in, 8);
	e.length = (uint32_t)fuzz_take(in, 4);
	e.file = (uint32_t)fuzz_take(in, 4);
	e.kind = (uint32_t)fuzz_take(in, 4);
	e.spare = (uint32_t)fuzz_take(in, 4);
	client_post_raw(c, &e);
}

static void
post_near(struct client *c, struct fuzz_input *in)
{
	struct nfswb_ring_entry e = { .file = fuzz_take(in, 1) & 3 };

	e.kind = (uint32_t)fuzz_take(in, 1) & 3;
	e.place = (fuzz_take(in, 1) & 63) * RIG_CHUNK;
	e.place += fuzz_take(in, 2);
	e.length = (uint32_t)fuzz_take(in, 2);
	e.offset = fuzz_take(in, 3);
	client_post_raw(c, &e);
}

static void
overwrite(struct client *c, struct fuzz_input *in)
{
	size_t at = fuzz_take(in, 3) % c->view.layout.bytes, got;
	const uint8_t *bytes = fuzz_bytes(in, fuzz_take(in, 1), &got);

	if (got > c->view.layout.bytes - at)
		got = c->view.layout.bytes - at;
	memcpy((char *)c->view.control + at, bytes, got);
}

static void
step(struct client *c, struct fuzz_input *in)
{
	struct nfswb_control *ctl = c->view.control;
	unsigned op = (unsigned)fuzz_take(in, 1) % STEP_NR, n;

	switch ((enum step)op) {
	case STEP_POST:
		post(c, in);
		break;
	case STEP_ENTRY:
		post_any(c, in);
		break;
	case STEP_NEAR:
		post_near(c, in);
		break;
	case STEP_HEAD:
		c->head += (uint64_t)(int64_t)(int16_t)fuzz_take(in, 2);
		atomic_store(&ctl->head, c->head);
		break;
	case STEP_MARK:
		n = (unsigned)fuzz_take(in, 1) % c->view.layout.chunk_nr;
		atomic_store(&c->view.mark[n], fuzz_take(in, 8));
		break;
	case STEP_CONTROL:
		n = (unsigned)fuzz_take(in, 1) % (sizeof *ctl / 8);
		((_Atomic uint64_t *)ctl)[n] = fuzz_take(in, 8);
		break;
	case STEP_ANYWHERE:
		overwrite(c, in);
		break;
	case STEP_WANTS:
		atomic_store(&ctl->want, (uint32_t)fuzz_take(in, 4));
		atomic_store(&ctl->want_chunk, (uint32_t)fuzz_take(in, 2));
		atomic_store(&ctl->c_waits, 1);
		break;
	case STEP_BELL:
		attack_record(c, "", 0);
		break;
	case STEP_PASS:
		attack_pass(c->rig, fuzz_take(in, 1) * 100);
		break;
	case STEP_LONG:
		attack_pass(c->rig, fuzz_take(in, 1) * 1000000);
		break;
	case STEP_SERVER:
		attack_server(c->rig, (unsigned)fuzz_take(in, 1));
		break;
	case STEP_CALL:
		attack_call(c, in);
		break;
	case STEP_REPLY:
		client_reply(c);
		break;
	case STEP_NR:
		break;
	}
}

static void
share(struct rig *g, struct client *c)
{
	client_connect(g, c);
	FUZZ_CHECK(!client_hello(c, NFSWB_HELLO_INLINE, 0));
	FUZZ_CHECK(client_open(c, "a", O_RDWR | O_CREAT) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rig *g = attack_rig();
	struct client bad, other, honest;
	unsigned i;

	attack_honest(g, &honest);
	share(g, &other);
	client_connect(g, &bad);
	FUZZ_CHECK(!client_hello(&bad, 0, 0));
	FUZZ_CHECK(client_open(&bad, "a", O_RDWR | O_CREAT) == 0);
	FUZZ_CHECK(client_open(&bad, "b", O_RDWR | O_CREAT | O_APPEND) == 1);
	attack_pass(g, 1000);
	for (i = 0; in.left && i < STEPS_MAX; i++)
		step(&bad, &in);
	attack_pass(g, 1000);
	client_close(&bad);
	client_close(&other);
	attack_over(g, &honest);
	rig_free(g);
	return 0;
}
