/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpc.c - fuzz target: what a server may send, to the whole of rpc/
 *
 * A client makes calls; the input is the server, and the network between:
 *
 *	first byte	1: soft mount, 2: yields to foreground calls
 *	then steps	op, see enum step; arguments follow
 *
 * Whatever comes, each call is answered exactly once, and what the client sends
 * are calls that can be decoded.  The whole input also goes through the decoders
 * of calls and replies, and in two ways through the reader of records.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "common/record.h"
#include "rpc/message.h"
#include "rpc/nfs3.h"
#include "tests/fuzz/fuzz.h"
#include "tests/vloop.h"

const char fuzz_name[] = "rpc";

#define CALLS_MAX 24
#define STEPS_MAX 200
#define PIECE 40
#define RECORD_BYTES 65536

enum step {
	STEP_CALL,		/* kind: one more call */
	STEP_RAW,		/* n: so many bytes as they are */
	STEP_RECORD,		/* call, n: its xid, then n bytes, in a record */
	STEP_ACCEPTED,		/* call, n: the same, after a good reply's head */
	STEP_PASS,		/* n: so many milliseconds */
	STEP_LONG,		/* n: so many seconds */
	STEP_CUT,		/* the connection ends */
	STEP_SLICES,		/* n: bytes come so many at a time; 0: at once */
	STEP_NR,
};

struct asked {
	unsigned done_nr;
	struct iovec iov[2];	/* what is written, or read into */
};

struct world {
	struct loop *loop;
	struct rpc_client *client;
	int fd;			/* the server's end; -1: none */
	struct record_reader reader;
	uint32_t xid[CALLS_MAX];	/* that the server saw last */
	unsigned seen_nr;
	struct asked asked[CALLS_MAX];
	unsigned asked_nr;
	size_t slice;
};

/* --- the client's calls --- */

static void
done(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	struct asked *a = arg;

	FUZZ_CHECK(!a->done_nr++);
	FUZZ_CHECK(err <= 0 && (err || res));
	FUZZ_CHECK(t->transmissions || err);
	free(a->iov[0].iov_base);
	free(a->iov[1].iov_base);
}

static void
make_pieces(struct asked *a, struct rpc_request *r)
{
	int i;

	for (i = 0; i < 2; i++) {
		a->iov[i].iov_base = calloc(1, PIECE);
		a->iov[i].iov_len = PIECE;
		FUZZ_CHECK(a->iov[i].iov_base);
	}
	if (r->proc == NFSPROC3_WRITE) {
		r->iov = a->iov;
		r->iov_nr = 2;
		r->payload_bytes = 2 * PIECE - 3;	/* with padding */
		a->iov[1].iov_len -= 3;
	} else {
		r->into = a->iov;
		r->into_nr = 2;
		r->payload = nfs3_read_payload;
	}
}

static nfs_fh3 handle = { .data = { .data_len = 4, .data_val = "root" } };

#define REQUEST(NAME, c, what, argtype, restype) (struct rpc_request) { \
	.proc = NFSPROC3_##NAME, .class = c, .encode = xdr_##argtype, \
	.args = &args, .decode = xdr_##restype, \
	.res_bytes = sizeof(restype), .done = done, .arg = what }

static void
call(struct world *w, unsigned kind)
{
	struct asked *a = &w->asked[w->asked_nr];
	struct rpc_request r;
	union {
		GETATTR3args getattr;
		LOOKUP3args lookup;
		COMMIT3args commit;
		WRITE3args_head write;
		READ3args read;
	} args;

	if (w->asked_nr == CALLS_MAX)
		return;
	memset(&args, 0, sizeof args);
	args.getattr.object = handle;		/* first in all of them */
	switch (kind % 5) {
	default:
		r = REQUEST(GETATTR, RPC_FOREGROUND, a, GETATTR3args,
			    GETATTR3res);
		break;
	case 1:
		args.lookup.what.name = (char *)"name";
		r = REQUEST(LOOKUP, RPC_FOREGROUND, a, LOOKUP3args,
			    LOOKUP3res);
		break;
	case 2:
		r = REQUEST(COMMIT, RPC_BACKGROUND, a, COMMIT3args,
			    COMMIT3res);
		r.apart = true;
		break;
	case 3:
		args.write.count = args.write.data_length = 2 * PIECE - 3;
		r = REQUEST(WRITE, RPC_NORMAL, a, WRITE3args_head, WRITE3res);
		make_pieces(a, &r);
		break;
	case 4:
		args.read.count = 2 * PIECE;
		r = REQUEST(READ, RPC_FOREGROUND, a, READ3args, READ3res_head);
		make_pieces(a, &r);
		break;
	}
	FUZZ_CHECK(!rpc_client_call(w->client, &r, NULL));
	w->asked_nr++;
}

/* --- the server --- */

static void
cut(struct world *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	record_reader_reset(&w->reader);
}

static int
connect_hook(void *arg)
{
	struct world *w = arg;
	int sv[2];

	cut(w);
	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	w->fd = sv[1];
	return sv[0];
}

static void
see(struct world *w)
{
	struct rpc_call_info info;
	XDR x;

	xdrmem_create(&x, (char *)w->reader.data, (u_int)w->reader.length,
		      XDR_DECODE);
	FUZZ_CHECK(!rpc_decode_call(&x, &info));
	FUZZ_CHECK(info.prog == NFS_PROGRAM && info.vers == NFS_V3);
	w->xid[w->seen_nr++ % CALLS_MAX] = info.xid;
}

/* Takes what the client sent. */
static void
serve(struct world *w)
{
	static char buf[RECORD_BYTES];
	size_t at, used;
	ssize_t n;
	int whole;

	while (w->fd >= 0 &&
	       (n = recv(w->fd, buf, sizeof buf, MSG_DONTWAIT)) > 0)
		for (at = 0; at < (size_t)n; at += used) {
			whole = record_feed(&w->reader, buf + at,
					    (size_t)n - at, &used);
			FUZZ_CHECK(whole >= 0);
			if (whole)
				see(w);
		}
}

static void
pass(struct world *w, uint64_t usec)
{
	vloop_pass(w->loop, usec);
	serve(w);
}

static void
send_bytes(struct world *w, const void *data, size_t len)
{
	const char *at = data;
	size_t n;

	for (; len && w->fd >= 0; at += n, len -= n) {
		n = w->slice && w->slice < len ? w->slice : len;
		if (send(w->fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)n)
			return;
		if (w->slice)
			pass(w, 1);
	}
}

/* xid, and what a reply that went well begins with. */
static void
send_record(struct world *w, struct fuzz_input *in, bool accepted)
{
	static unsigned char buf[4 + 24 + 65535];
	uint32_t head[6] = { 0, htonl(REPLY) };
	size_t at = 4, got;
	const uint8_t *body;
	unsigned which = (unsigned)fuzz_take(in, 1);

	/* the last one that was seen is 0 */
	if (w->seen_nr)
		head[0] = htonl(w->xid[(w->seen_nr - 1 - which %
			MIN(w->seen_nr, CALLS_MAX)) % CALLS_MAX]);
	memcpy(buf + at, head, accepted ? sizeof head : 4);
	at += accepted ? sizeof head : 4;
	body = fuzz_bytes(in, fuzz_take(in, 2), &got);
	memcpy(buf + at, body, got);
	record_mark(buf, at + got - 4);
	send_bytes(w, buf, at + got);
}

static void
step(struct world *w, struct fuzz_input *in)
{
	const uint8_t *bytes;
	size_t got;

	switch ((enum step)(fuzz_take(in, 1) % STEP_NR)) {
	case STEP_CALL:
		call(w, (unsigned)fuzz_take(in, 1));
		pass(w, 1);
		break;
	case STEP_RAW:
		bytes = fuzz_bytes(in, fuzz_take(in, 1), &got);
		send_bytes(w, bytes, got);
		pass(w, 1);
		break;
	case STEP_RECORD:
		send_record(w, in, false);
		pass(w, 1);
		break;
	case STEP_ACCEPTED:
		send_record(w, in, true);
		pass(w, 1);
		break;
	case STEP_PASS:
		pass(w, fuzz_take(in, 1) * 1000);
		break;
	case STEP_LONG:
		pass(w, fuzz_take(in, 1) * 1000000);
		break;
	case STEP_CUT:
		cut(w);
		pass(w, 1);
		break;
	case STEP_SLICES:
		w->slice = fuzz_take(in, 1);
		break;
	case STEP_NR:
		break;
	}
}

static void
play(struct fuzz_input *in)
{
	unsigned flags = (unsigned)fuzz_take(in, 1), i;
	struct world w = { .fd = -1 };
	struct rpc_params params = {
		.name = "fuzz", .prog = NFS_PROGRAM, .vers = NFS_V3,
		.slot_nr = 8, .essential_nr = 4, .timeo_ds = 10, .retrans = 2,
		.soft = flags & 1, .connect_hook = connect_hook,
		.connect_arg = &w, .seed = 1,
	};

	record_reader_init(&w.reader, RECORD_BYTES);
	w.loop = vloop_new(1000000);
	w.client = rpc_client_new(w.loop, &params);
	FUZZ_CHECK(w.loop && w.client);
	rpc_client_yield(w.client, flags & 2);
	for (i = 0; in->left && i < STEPS_MAX; i++)
		step(&w, in);
	pass(&w, 1000);
	rpc_client_free(w.client);
	vloop_pass(w.loop, 1);
	cut(&w);
	for (i = 0; i < w.asked_nr; i++)
		FUZZ_CHECK(w.asked[i].done_nr == 1);
	record_reader_free(&w.reader);
	loop_free(w.loop);
}

/* --- the decoders alone --- */

static void
decode(const uint8_t *data, size_t size)
{
	struct rpc_call_info info;
	struct rpc_reply reply = { 0 };
	uint32_t xid;
	XDR x;
	int err;

	xdrmem_create(&x, (char *)(uintptr_t)data, (u_int)size, XDR_DECODE);
	err = rpc_decode_call(&x, &info);
	FUZZ_CHECK(err <= 0 && (err || info.group_nr <= CRED_GROUPS_MAX));
	xdrmem_create(&x, (char *)(uintptr_t)data, (u_int)size, XDR_DECODE);
	err = rpc_decode_reply(&x, &reply);
	FUZZ_CHECK(err <= 0 && (err || reply.err <= 0));
	if (!err) {
		FUZZ_CHECK(!reply.err || reply.why);
		FUZZ_CHECK(!rpc_peek_reply(data, size, &xid) &&
			   xid == reply.xid);
	}
}

/* What records the bytes are, fed n at a time: count, lengths, first error. */
static uint64_t
records(const uint8_t *data, size_t size, size_t n)
{
	struct record_reader r;
	uint64_t sum = 0;
	size_t at = 0, used, i;
	int whole = 0;

	record_reader_init(&r, 4096);
	while (at < size && whole >= 0) {
		used = 0;
		whole = record_feed(&r, data + at, MIN(n, size - at), &used);
		at += used;
		if (whole > 0)
			for (i = 0, sum = sum * 31 + r.length + 1;
			     i < r.length; i++)
				sum = sum * 31 + r.data[i];
	}
	record_reader_free(&r);
	return whole < 0 ? ~sum : sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	log_set_level(LOG_LEVEL_ERROR);
	decode(data, size);
	FUZZ_CHECK(records(data, size, 1) == records(data, size, size));
	play(&in);
	return 0;
}
