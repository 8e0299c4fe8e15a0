/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * socket.c - fuzz target: what a client may send on the socket
 *
 *	first byte	bits: BEGIN_…
 *	then steps	op, see enum step; arguments follow
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/session.h"

const char fuzz_name[] = "socket";

#define STEPS_MAX 100
#define CONNECTIONS_MAX 6

#define BEGIN_HELLO	1u	/* with memory */
#define BEGIN_INLINE	2u	/* else this one */
#define BEGIN_SHARED	4u	/* another session writes to file a */

enum step {
	STEP_RECORD,		/* n: so many bytes, in a record */
	STEP_RAW,		/* n: so many bytes as they are */
	STEP_CALL,		/* see attack_call */
	STEP_BELL,
	STEP_PASS,		/* n: so many milliseconds */
	STEP_LONG,		/* n: so many seconds */
	STEP_SERVER,		/* bits: attack_server */
	STEP_REPLY,		/* takes the next reply, which makes sense */
	STEP_FDS,		/* n: so many descriptors with a byte */
	STEP_CONNECT,		/* bits: closed and made anew */
	STEP_NR,
};

struct attack {
	struct rig *rig;
	struct client bad, other, honest;
	unsigned connections;
};

static void
come(struct attack *t, unsigned bits)
{
	client_connect(t->rig, &t->bad);
	t->connections++;
	if (!(bits & (BEGIN_HELLO | BEGIN_INLINE)))
		return;
	FUZZ_CHECK(!client_hello(&t->bad, bits & BEGIN_HELLO ? 0 :
				 NFSWB_HELLO_INLINE, 0));
	/* a is full, or the name is taken by what came before: both are well */
	client_open(&t->bad, "a", O_RDWR | O_CREAT);
}

static void
share(struct attack *t)
{
	client_connect(t->rig, &t->other);
	FUZZ_CHECK(!client_hello(&t->other, NFSWB_HELLO_INLINE, 0));
	FUZZ_CHECK(client_open(&t->other, "a", O_RDWR | O_CREAT) == 0);
	FUZZ_CHECK(!client_write(&t->other, 0, 3, "other", 5));
}

static void
send_fds(struct client *c, unsigned nr)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	unsigned char first = 0x80;
	struct iovec iov = { &first, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(nr * sizeof(int)) };
	int fd = memfd_create("passed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int each[4] = { fd, c->fd, fd, fd };

	memset(&control, 0, sizeof control);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(&control.head), each, nr * sizeof(int));
	(void)!sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
	attack_pass(c->rig, 0);
}

static void
step(struct attack *t, struct fuzz_input *in)
{
	unsigned op = (unsigned)fuzz_take(in, 1) % STEP_NR, n;
	const uint8_t *bytes;
	size_t got;

	switch ((enum step)op) {
	case STEP_RECORD:
		bytes = fuzz_bytes(in, fuzz_take(in, 2), &got);
		attack_record(&t->bad, bytes, got);
		break;
	case STEP_RAW:
		bytes = fuzz_bytes(in, fuzz_take(in, 1), &got);
		attack_send(&t->bad, bytes, got);
		break;
	case STEP_CALL:
		attack_call(&t->bad, in);
		break;
	case STEP_BELL:
		attack_record(&t->bad, "", 0);
		break;
	case STEP_PASS:
		attack_pass(t->rig, fuzz_take(in, 1) * 1000);
		break;
	case STEP_LONG:
		attack_pass(t->rig, fuzz_take(in, 1) * 1000000);
		break;
	case STEP_SERVER:
		attack_server(t->rig, (unsigned)fuzz_take(in, 1));
		break;
	case STEP_REPLY:
		client_reply(&t->bad);
		break;
	case STEP_FDS:
		n = (unsigned)fuzz_take(in, 1) % 4;
		send_fds(&t->bad, n + 1);
		break;
	case STEP_CONNECT:
		n = (unsigned)fuzz_take(in, 1);
		if (t->connections == CONNECTIONS_MAX)
			break;
		attack_server(t->rig, 0);
		client_close(&t->bad);
		come(t, n);
		break;
	case STEP_NR:
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct attack t = { .rig = attack_rig() };
	unsigned bits = (unsigned)fuzz_take(&in, 1), i;

	attack_honest(t.rig, &t.honest);
	if (bits & BEGIN_SHARED)
		share(&t);
	come(&t, bits);
	for (i = 0; in.left && i < STEPS_MAX; i++)
		step(&t, &in);
	client_close(&t.bad);
	attack_pass(t.rig, 1000);
	if (bits & BEGIN_SHARED)
		client_close(&t.other);
	attack_over(t.rig, &t.honest);
	rig_free(t.rig);
	return 0;
}
