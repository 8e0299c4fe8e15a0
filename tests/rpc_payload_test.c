/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpc_payload_test.c - the payload of a reply, straight to where it is wanted
 *
 * The memory that READs give is watched: nothing but their own reply's bytes may
 * come there, and nothing at all once the call has ended.
 *
 *	PAYLOAD_SEED=N	of the random ones
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpc/parts.h"
#include "tests/rpcfake.h"

#define MIB (1u << 20)
#define PIECES 20
#define ROOM (2 * MIB)

static struct fake f;

/* Bytes that recv and recvmsg put into the watched memory, and elsewhere. */
static struct {
	const char *from;
	size_t len;
	uint64_t inside, outside;
	unsigned nr;
} taken;

static void
note(const void *base, size_t n)
{
	const char *p = base;

	if (taken.from && p >= taken.from && p < taken.from + taken.len)
		taken.inside += n;
	else
		taken.outside += n;
}

/* In the place of libc's. */
ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t n = syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);

	if (n > 0 && fd != f.fd)
		note(buf, (size_t)n);
	return n;
}

ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n = syscall(SYS_recvmsg, fd, msg, flags);
	size_t left = n > 0 ? (size_t)n : 0, i;

	taken.nr++;
	for (i = 0; left; i++) {
		size_t piece = msg->msg_iov[i].iov_len;

		if (piece > left)
			piece = left;
		note(msg->msg_iov[i].iov_base, piece);
		left -= piece;
	}
	return n;
}

struct reading {
	unsigned done_nr;
	int err;
	uint32_t count;
	bool eof;
	uint64_t bytes;			/* that it says it brought */
	unsigned char *at;		/* its memory */
	struct iovec iov[PIECES];
	int iov_nr;
	uint32_t asked;
	struct rpc_call *call;
	void (*then)(struct reading *);
};

static unsigned char *memory, reply[ROOM + 4096];

static void
done(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	const READ3resok_head *ok;
	const READ3res_head *head = res;
	struct reading *r = arg;

	(void)t;
	r->done_nr++;
	r->err = err;
	r->call = NULL;
	if (!err && head->status == NFS3_OK) {
		ok = &head->READ3res_head_u.resok;
		r->count = ok->count;
		r->eof = ok->eof;
		r->bytes = ok->data_length;
	}
	if (r->then)
		r->then(r);
}

static void
ask_with(struct reading *r, int iov_nr)
{
	READ3args args = { .count = r->asked };
	struct rpc_request q = {
		.proc = NFSPROC3_READ, .class = RPC_FOREGROUND,
		.encode = xdr_READ3args, .args = &args,
		.decode = xdr_READ3res_head, .res_bytes = sizeof(READ3res_head),
		.into = r->iov, .into_nr = iov_nr,
		.payload = nfs3_read_payload, .done = done, .arg = r,
	};

	r->iov_nr = iov_nr;
	CU_ASSERT_EQUAL_FATAL(rpc_client_call(f.client, &q, &r->call), 0);
}

static void
ask(struct reading *r, unsigned char *at, uint32_t asked)
{
	memset(r, 0, sizeof *r);
	r->at = at;
	r->asked = asked;
	r->iov[0] = (struct iovec){ at, asked };
	ask_with(r, 1);
}

static unsigned char
byte_of(uint32_t xid, uint64_t i)
{
	return (unsigned char)(xid * 31 + i * 7 + (i >> 8));
}

/* A whole record with its mark; its length. */
static size_t
make(unsigned char *buf, uint32_t xid, uint32_t count, uint32_t bytes,
     bool attr)
{
	READ3res_head head = { .status = NFS3_OK };
	READ3resok_head *ok = &head.READ3res_head_u.resok;
	ssize_t len;
	uint32_t i;

	ok->file_attributes.attributes_follow = attr;
	ok->count = count;
	ok->data_length = bytes;
	len = rpc_encode_accepted(buf, 512, xid, SUCCESS, xdr_READ3res_head,
				  &head, bytes);
	CU_ASSERT_FATAL(len > 0);
	for (i = 0; i < bytes; i++)
		buf[len + i] = byte_of(xid, i);
	memset(buf + len + bytes, 0, rpc_pad(bytes));
	return (size_t)len + bytes + rpc_pad(bytes);
}

static void
send_all(const void *data, size_t len)
{
	const unsigned char *p = data;
	ssize_t n;

	while (len && f.fd >= 0) {
		n = send(f.fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN) {
			return;
		}
		fake_run(&f);
	}
}

static uint32_t
xid_of(unsigned nr)
{
	CU_ASSERT_FATAL(nr < f.seen_nr);
	return f.seen[nr].info.xid;
}

static bool
is_all(const unsigned char *p, unsigned char c, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != c)
			return false;
	return true;
}

static bool
is_reply(const unsigned char *p, uint32_t xid, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != byte_of(xid, i))
			return false;
	return true;
}

static void
begin(void)
{
	memory = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(memory != MAP_FAILED);
	memset(&taken, 0, sizeof taken);
	taken.from = (char *)memory;
	taken.len = 16 * MIB;
	fake_init(&f);
	fake_start(&f);
}

static void
end(void)
{
	fake_stop(&f);
	munmap(memory, 16 * MIB);
}

/* ---- where it goes ---- */

static void
payloads_go_from_the_socket_to_where_they_are_wanted_and_nowhere_else(void)
{
	enum { NR = 8 };
	struct reading r[NR];
	size_t len;
	unsigned i;

	begin();
	for (i = 0; i < NR; i++)
		ask(&r[i], memory + i * MIB, MIB);
	fake_run(&f);
	for (i = 0; i < NR; i++) {
		len = make(reply, xid_of(i), MIB, MIB, true);
		send_all(reply, len);
	}
	for (i = 0; i < NR; i++) {
		CU_ASSERT_EQUAL(r[i].done_nr, 1);
		CU_ASSERT_EQUAL(r[i].err, 0);
		CU_ASSERT_EQUAL(r[i].bytes, MIB);
		CU_ASSERT(is_reply(memory + i * MIB, xid_of(i), MIB));
	}
	CU_ASSERT_EQUAL(taken.inside, NR * MIB);
	CU_ASSERT_EQUAL(taken.outside, NR * 132);
	end();
}

/* All pieces of one reply, whatever its sizes, attributes, fragments. */
static void
random_payloads_pieces_fragments_and_other_replies_keep_apart(void)
{
	enum { ROUNDS = 300, NR = 6, EACH = 300000 };
	static unsigned char parts[2 * EACH];
	const char *env = getenv("PAYLOAD_SEED");
	unsigned seed = env ? (unsigned)atoi(env) : (unsigned)getpid();
	struct reading r[NR];
	struct outcome o[NR];
	uint32_t bytes[NR], asked;
	unsigned round, i, first;
	size_t len, at, n;
	int nr;

	printf("# PAYLOAD_SEED=%u\n", seed);
	srand(seed);
	begin();
	for (round = 0; round < ROUNDS; round++) {
		while (f.seen_nr)
			free(f.seen[--f.seen_nr].record);
		memset(memory, 0xee, NR * EACH);
		for (i = 0; i < NR; i++) {
			asked = (uint32_t)rand() % (rand() % 2 ? 200 : 200000)
				+ 1;
			memset(&r[i], 0, sizeof r[i]);
			r[i].at = memory + i * EACH;
			r[i].asked = asked;
			for (at = 0, nr = 0; at < asked && nr < PIECES; nr++) {
				n = (size_t)rand() % asked + 1;
				if (n > asked - at || nr == PIECES - 1)
					n = asked - at;
				r[i].iov[nr] = (struct iovec){ r[i].at + at,
							       n };
				at += n;
			}
			send_limit = rand() % 2 ? (size_t)rand() % 60 + 1 : 0;
			ask_with(&r[i], nr);
			fake_getattr(&f, &o[i]);
			if (rand() % 2)
				fake_run(&f);
		}
		fake_pass(&f, SECOND);
		CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2 * NR);
		first = (unsigned)rand() % NR;
		for (i = first; i < first + NR; i++) {
			struct reading *q = &r[i % NR];
			unsigned s;

			/* foreground calls leave in order */
			for (s = 2 * (i % NR); f.seen[s].info.proc !=
					       NFSPROC3_READ; s++)
				;
			bytes[i % NR] = rand() % 3 ? q->asked :
				(uint32_t)rand() % (q->asked + 1);
			len = make(reply, xid_of(s), bytes[i % NR],
				   bytes[i % NR], rand() % 2);
			/* in fragments */
			for (at = 4, n = 0; at < len;) {
				size_t step = rand() % 3 ? len - at :
					(size_t)rand() % (len - at) + 1;

				record_mark(parts + n, step);
				if (at + step < len)
					parts[n] &= 0x7f;
				memcpy(parts + n + 4, reply + at, step);
				n += 4 + step;
				at += step;
				if (n > sizeof parts - EACH)
					break;
			}
			if (at < len) {	/* too many: as one */
				memcpy(parts, reply, len);
				n = len;
			}
			for (at = 0; at < n;) {
				size_t step = rand() % 2 ? n - at :
					(size_t)rand() % 5000 + 1;

				if (step > n - at)
					step = n - at;
				send_all(parts + at, step);
				at += step;
			}
			for (s = 0; s < f.seen_nr; s++)
				if (f.seen[s].info.proc == NFSPROC3_GETATTR &&
				    s / 2 == i % NR)
					fake_reply(&f, &f.seen[s]);
			fake_run(&f);
			CU_ASSERT_EQUAL(q->done_nr, 1);
			CU_ASSERT_EQUAL(q->err, 0);
			CU_ASSERT_EQUAL(q->bytes, bytes[i % NR]);
		}
		for (i = 0; i < NR; i++) {
			CU_ASSERT_EQUAL(o[i].done_nr, 1);
			CU_ASSERT_EQUAL(o[i].err, 0);
			for (n = 0; n < f.seen_nr; n++)
				if (f.seen[n].info.proc == NFSPROC3_READ &&
				    n / 2 == i)
					break;
			CU_ASSERT(is_reply(r[i].at, xid_of((unsigned)n),
					   bytes[i]));
			CU_ASSERT(is_all(r[i].at + bytes[i], 0xee,
					 EACH - bytes[i]));
		}
	}
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

/* ---- replies that no server should send ---- */

static void
more_than_was_asked_for_is_dropped(void)
{
	struct reading r, next;
	size_t len;

	begin();
	ask(&r, memory, 1000);
	fake_run(&f);
	len = make(reply, xid_of(0), 300000, 300000, true);
	send_all(reply, len);
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT_EQUAL(r.bytes, 300000);	/* it may see that */
	CU_ASSERT(is_reply(memory, xid_of(0), 1000));
	CU_ASSERT(is_all(memory + 1000, 0, MIB));
	ask(&next, memory, 1000);
	fake_run(&f);
	len = make(reply, xid_of(1), 1000, 1000, true);
	send_all(reply, len);
	CU_ASSERT_EQUAL(next.err, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

/* One whose record says less than its head. */
static void
send_lying(uint32_t xid, uint32_t says, uint32_t has)
{
	size_t len = make(reply, xid, says, says, true);

	len -= says + rpc_pad(says) - has;
	record_mark(reply, len - 4);
	send_all(reply, len);
}

static void
a_record_that_ends_before_its_payload_is_eio(void)
{
	static const struct {
		uint32_t says, has;
	} lie[] = { { 1000, 0 }, { 1000, 1 }, { 1000, 996 }, { MIB, 70000 },
		    { UINT32_MAX, 1000 }, { 0x80000000u, 0 }, { 5, 5 },
		    { 5, 7 }, { 7, 7 }, { 70001, 70001 },
		    { MIB - 1, MIB - 1 }, { MIB - 2, MIB - 1 } };
	struct reading r, next;
	unsigned i;

	begin();
	for (i = 0; i < sizeof lie / sizeof *lie; i++) {
		ask(&r, memory, MIB);
		fake_run(&f);
		if (lie[i].says <= MIB) {
			send_lying(xid_of(2 * i), lie[i].says, lie[i].has);
		} else {
			make(reply, xid_of(2 * i), 0, 0, true);
			reply[128] = (unsigned char)(lie[i].says >> 24);
			reply[129] = reply[130] = reply[131] =
				(unsigned char)lie[i].says;
			record_mark(reply, 128 + lie[i].has);
			send_all(reply, 132 + lie[i].has);
		}
		CU_ASSERT_EQUAL(r.done_nr, 1);
		CU_ASSERT_EQUAL(r.err, -EIO);
		if (r.err != -EIO)
			printf("# %u: %d\n", i, r.err);
		memset(memory, 0, MIB);
		ask(&next, memory, 100);
		fake_run(&f);
		send_all(reply, make(reply, xid_of(2 * i + 1), 100, 100,
				     false));
		CU_ASSERT_EQUAL(next.err, 0);
		CU_ASSERT(is_reply(memory, xid_of(2 * i + 1), 100));
	}
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

static void
a_refusal_brings_no_payload(void)
{
	READ3res_head head = { .status = NFS3ERR_STALE };
	struct reading r;
	ssize_t len;

	begin();
	ask(&r, memory, MIB);
	fake_run(&f);
	len = rpc_encode_accepted(reply, 512, xid_of(0), SUCCESS,
				  xdr_READ3res_head, &head, 0);
	CU_ASSERT_FATAL(len > 0);
	send_all(reply, (size_t)len);
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT_EQUAL(r.bytes, 0);
	end();
}

static void
a_head_without_end_takes_no_more_than_a_record(void)
{
	struct reading r;
	uint32_t word;

	begin();
	ask(&r, memory, 1000);
	fake_run(&f);
	make(reply, xid_of(0), 1000, 1000, true);
	word = htonl(400);		/* a verifier as long as may be */
	memcpy(reply + 20, &word, 4);
	record_mark(reply, 600000);
	send_all(reply, 600004);
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, -EIO);
	CU_ASSERT(is_all(memory, 0, MIB));
	end();
}

/* ---- calls that end, and memory that is used anew ---- */

static void
a_reply_cut_by_the_connection_comes_again_whole(void)
{
	struct reading r;
	size_t len;

	begin();
	ask(&r, memory, MIB);
	fake_run(&f);
	len = make(reply, xid_of(0), MIB, MIB, true);
	memset(reply + 200, 0x55, MIB - 100);	/* it will not count */
	send_all(reply, len / 2);
	CU_ASSERT_EQUAL(r.done_nr, 0);
	fake_cut(&f);
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2);
	CU_ASSERT_EQUAL(xid_of(0), xid_of(1));
	send_all(reply, make(reply, xid_of(1), MIB, MIB, false));
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT(is_reply(memory, xid_of(1), MIB));
	end();
}

static struct reading second;

/* The chunk is granted anew from inside done. */
static void
then_reuse(struct reading *r)
{
	memset(r->at, 0xaa, r->asked);
	ask(&second, memory + 8 * MIB, MIB);
}

static void
a_second_reply_never_comes_into_memory_that_is_used_anew(void)
{
	struct reading r;
	size_t len;

	begin();
	ask(&r, memory, MIB);
	r.then = then_reuse;
	fake_pass(&f, 11 * SECOND);	/* sent again, on a new connection */
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2);
	CU_ASSERT_EQUAL(xid_of(0), xid_of(1));
	len = make(reply, xid_of(0), MIB, MIB, true);
	send_all(reply, len);
	CU_ASSERT_EQUAL(r.done_nr, 1);
	send_all(reply, len);
	send_all(reply, len / 3);	/* a third one, which stops half way */
	CU_ASSERT(is_all(memory, 0xaa, MIB));
	CU_ASSERT(is_all(memory + 8 * MIB, 0, MIB));
	send_all(reply + len / 3, len - len / 3);
	CU_ASSERT(is_all(memory, 0xaa, MIB));
	send_all(reply, make(reply, xid_of(2), MIB, MIB, true));
	CU_ASSERT_EQUAL(second.done_nr, 1);
	CU_ASSERT(is_reply(memory + 8 * MIB, xid_of(2), MIB));
	CU_ASSERT(is_all(memory, 0xaa, MIB));
	end();
}

static void
a_call_given_up_in_its_payload_gets_no_more_of_it(void)
{
	struct reading r, next;
	size_t len, half;

	begin();
	fake_stop(&f);
	fake_init(&f);
	f.params.soft = true;
	fake_start(&f);
	ask(&r, memory, MIB);
	fake_run(&f);
	len = make(reply, xid_of(0), MIB, MIB, true);
	half = len / 2;
	send_all(reply, half);
	while (!r.done_nr && half < len) {	/* the server is not silent */
		send_all(reply + half, 4);
		half += 4;
		fake_pass(&f, 4 * SECOND);
	}
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, -ETIMEDOUT);
	memset(memory, 0xaa, MIB);
	ask(&next, memory + 2 * MIB, MIB);
	fake_run(&f);
	send_all(reply + half, len - half);
	CU_ASSERT(is_all(memory, 0xaa, MIB));
	send_all(reply, make(reply, xid_of(f.seen_nr - 1), MIB, MIB, true));
	CU_ASSERT_EQUAL(next.done_nr, 1);
	CU_ASSERT_EQUAL(next.err, 0);
	CU_ASSERT(is_reply(memory + 2 * MIB, xid_of(f.seen_nr - 1), MIB));
	CU_ASSERT(is_all(memory, 0xaa, MIB));
	end();
}

static void
a_payload_that_is_not_wanted_any_more_goes_nowhere(void)
{
	struct reading r, other;
	size_t len;

	begin();
	ask(&r, memory, MIB);
	ask(&other, memory + MIB, MIB);
	fake_run(&f);
	len = make(reply, xid_of(0), MIB, MIB, true);
	send_all(reply, len / 2);
	rpc_call_drop_payload(r.call);
	rpc_call_drop_payload(other.call);
	memset(memory, 0xaa, 2 * MIB);
	send_all(reply + len / 2, len - len / 2);
	send_all(reply, make(reply, xid_of(1), MIB, MIB, true));
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT_EQUAL(other.done_nr, 1);
	CU_ASSERT(is_all(memory, 0xaa, 2 * MIB));
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

static void
a_reply_under_an_old_xid_is_dropped_from_where_the_xid_was_renewed(void)
{
	struct reading r;
	size_t len, at;
	unsigned i;

	begin();
	ask(&r, memory, MIB);
	fake_run(&f);
	fake_cut(&f);
	fake_pass(&f, SECOND);		/* sent again, same xid */
	len = make(reply, xid_of(0), MIB, MIB, true);
	at = len / 2;
	send_all(reply, at);
	for (i = 0; i < 30 && xid_of(f.seen_nr - 1) == xid_of(0); i++) {
		send_all(reply + at, 4);
		at += 4;
		fake_pass(&f, 4 * SECOND);
	}
	CU_ASSERT_NOT_EQUAL(xid_of(f.seen_nr - 1), xid_of(0));
	memset(memory, 0, MIB);
	send_all(reply + at, len - at);
	CU_ASSERT_EQUAL(r.done_nr, 0);
	CU_ASSERT(is_all(memory, 0, MIB));
	send_all(reply, make(reply, xid_of(f.seen_nr - 1), MIB, MIB, true));
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT(is_reply(memory, xid_of(f.seen_nr - 1), MIB));
	end();
}

static void
freeing_the_client_in_a_payload_ends_the_call(void)
{
	struct reading r;
	size_t len;

	begin();
	ask(&r, memory, MIB);
	fake_run(&f);
	len = make(reply, xid_of(0), MIB, MIB, true);
	send_all(reply, len / 2);
	end();
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, -ECANCELED);
}

static void
memory_that_can_not_be_written_fails_that_call_alone(void)
{
	struct reading r[3];
	unsigned i;

	begin();
	for (i = 0; i < 3; i++)
		ask(&r[i], memory + i * MIB, MIB);
	CU_ASSERT_EQUAL(mprotect(memory + MIB + MIB / 2, MIB / 4, PROT_NONE),
			0);
	fake_run(&f);
	for (i = 0; i < 3; i++)
		send_all(reply, make(reply, xid_of(i), MIB, MIB, true));
	CU_ASSERT_EQUAL(r[0].err, 0);
	CU_ASSERT_EQUAL(r[1].done_nr, 1);
	CU_ASSERT_EQUAL(r[1].err, -EFAULT);
	CU_ASSERT_EQUAL(r[2].done_nr, 1);
	CU_ASSERT_EQUAL(r[2].err, 0);
	CU_ASSERT(is_reply(memory + 2 * MIB, xid_of(2), MIB));
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

/* A question with a payload of its own, so that it can be half sent.  When the
   reply comes (1: when its payload does) a copy of the question is. */
static void
reply_to_half_sent(bool midway)
{
	struct reading r = { .at = memory, .asked = MIB };
	READ3args args = { .count = MIB };
	struct iovec own = { memory + 2 * MIB, MIB };
	struct rpc_request q = {
		.proc = NFSPROC3_READ, .class = RPC_FOREGROUND,
		.encode = xdr_READ3args, .args = &args,
		.iov = &own, .iov_nr = 1, .payload_bytes = MIB,
		.decode = xdr_READ3res_head, .res_bytes = sizeof(READ3res_head),
		.into = r.iov, .into_nr = 1,
		.payload = nfs3_read_payload, .done = done, .arg = &r,
	};
	size_t len, first = midway ? 1000 : 0;

	r.iov[0] = (struct iovec){ memory, MIB };
	CU_ASSERT_EQUAL_FATAL(rpc_client_call(f.client, &q, &r.call), 0);
	fake_run(&f);
	len = make(reply, xid_of(0), MIB, MIB, true);
	fake_pass(&f, 9 * SECOND);
	if (midway)
		send_all(reply, first);
	else
		fake_reply_xid(&f, 1, NFSPROC3_GETATTR);
	f.paused = true;
	fake_pass(&f, 2 * SECOND);	/* due again, and nothing is taken */
	CU_ASSERT_FATAL(r.call && call_is_half_sent(r.call));
	send_all(reply + first, len - first);
	CU_ASSERT_EQUAL(r.done_nr, 0);
	f.paused = false;
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL(r.done_nr, 1);
	CU_ASSERT_EQUAL(r.err, 0);
	CU_ASSERT(is_reply(memory, xid_of(0), MIB));
	CU_ASSERT_EQUAL(f.connection_nr, 1);
}

static void
a_payload_that_comes_before_the_call_is_out_is_in_place(void)
{
	begin();
	reply_to_half_sent(false);
	end();
	begin();
	reply_to_half_sent(true);
	end();
}

UNIT_TESTS(rpc_payload,
	UNIT(payloads_go_from_the_socket_to_where_they_are_wanted_and_nowhere_else),
	UNIT(random_payloads_pieces_fragments_and_other_replies_keep_apart),
	UNIT(more_than_was_asked_for_is_dropped),
	UNIT(a_record_that_ends_before_its_payload_is_eio),
	UNIT(a_refusal_brings_no_payload),
	UNIT(a_head_without_end_takes_no_more_than_a_record),
	UNIT(a_reply_cut_by_the_connection_comes_again_whole),
	UNIT(a_second_reply_never_comes_into_memory_that_is_used_anew),
	UNIT(a_call_given_up_in_its_payload_gets_no_more_of_it),
	UNIT(a_payload_that_is_not_wanted_any_more_goes_nowhere),
	UNIT(a_reply_under_an_old_xid_is_dropped_from_where_the_xid_was_renewed),
	UNIT(freeing_the_client_in_a_payload_ends_the_call),
	UNIT(memory_that_can_not_be_written_fails_that_call_alone),
	UNIT(a_payload_that_comes_before_the_call_is_out_is_in_place),
)
