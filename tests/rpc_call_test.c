/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpc_call_test.c - calls, replies, and the way the payload takes */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rpc/parts.h"
#include "tests/rpcfake.h"

#define MIB (1u << 20)

static void
fill(unsigned char *p, size_t len, unsigned seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

/* The payload of a WRITE that the server saw. */
static const unsigned char *
seen_data(const struct seen *s, u_int *len)
{
	static WRITE3args args;
	XDR x;

	xdr_free((xdrproc_t)xdr_nfs_fh3, &args.file);
	memset(&args, 0, sizeof args);
	xdrmem_create(&x, (char *)s->record, (u_int)s->length, XDR_DECODE);
	xdr_setpos(&x, (u_int)s->args_at);
	CU_ASSERT_FATAL(nfs3_xdr_write_args(&x, &args));
	CU_ASSERT_EQUAL(xdr_getpos(&x), s->length);
	xdr_free((xdrproc_t)xdr_nfs_fh3, &args.file);
	*len = args.data.data_len;
	return (const unsigned char *)args.data.data_val;
}

static void
assert_payload(const struct seen *s, const unsigned char *data, size_t len)
{
	u_int seen_len;
	const unsigned char *seen = seen_data(s, &seen_len);

	CU_ASSERT_EQUAL_FATAL(seen_len, len);
	CU_ASSERT(!memcmp(seen, data, len));
}

static void
a_call_is_answered_once_and_from_the_loop(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	CU_ASSERT_EQUAL(fake_getattr(&f, &o), 0);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 0);
	CU_ASSERT_EQUAL(rpc_client_outstanding(f.client), 1);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	CU_ASSERT_EQUAL(f.seen[0].info.prog, 100003);
	CU_ASSERT_EQUAL(f.seen[0].info.vers, 3);
	CU_ASSERT_EQUAL(f.seen[0].info.proc, NFSPROC3_GETATTR);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	CU_ASSERT_EQUAL(rpc_client_state(f.client), RPC_UP);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(o.timing.transmissions, 1);
	CU_ASSERT_EQUAL(rpc_client_outstanding(f.client), 0);
	fake_stop(&f);
}

static void
times_and_counts_are_kept_per_procedure(void)
{
	const struct rpc_op_stats *s;
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_pass(&f, 5000);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	s = rpc_client_op_stats(f.client, NFSPROC3_GETATTR);
	CU_ASSERT_EQUAL(s->ops, 1);
	CU_ASSERT_EQUAL(s->transmissions, 1);
	CU_ASSERT_EQUAL(s->errors, 0);
	CU_ASSERT_EQUAL(s->bytes_sent, f.seen[0].length + 4);
	CU_ASSERT(s->bytes_recv > 0);
	CU_ASSERT_EQUAL(s->rtt_us.count, 1);
	CU_ASSERT(s->rtt_us.sum >= 5000);
	CU_ASSERT(s->execute_us.sum >= s->rtt_us.sum);
	CU_ASSERT_EQUAL(rpc_client_op_stats(f.client, NFSPROC3_WRITE)->ops, 0);
	fake_stop(&f);
}

static void
a_reply_in_fragments_of_one_byte_is_whole(void)
{
	unsigned char reply[512], piece[5];
	struct fake f;
	struct outcome o;
	ssize_t len, i;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	len = fake_encode_reply(reply, sizeof reply, f.seen[0].info.xid,
				NFSPROC3_GETATTR);
	for (i = 4; i < len; i++) {
		CU_ASSERT_EQUAL(o.done_nr, 0);
		record_mark(piece, 1);
		if (i < len - 1)
			piece[0] = 0;	/* not the last fragment */
		piece[4] = reply[i];
		fake_send(&f, piece, 3);
		fake_run(&f);
		fake_send(&f, piece + 3, 2);
		fake_run(&f);
	}
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	fake_stop(&f);
}

static void
a_call_that_leaves_byte_by_byte_is_whole(void)
{
	unsigned char data[1021];
	struct iovec iov[2] = { { data, 500 }, { data + 500, 521 } };
	struct fake f;
	struct outcome o, p;

	fill(data, sizeof data, 1);
	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	send_limit = 1;
	fake_write(&f, RPC_NORMAL, iov, 2, &o);
	fake_write(&f, RPC_NORMAL, iov, 1, &p);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 2);
	assert_payload(&f.seen[0], data, sizeof data);
	assert_payload(&f.seen[1], data, 500);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(p.done_nr, 1);
	CU_ASSERT_EQUAL(o.timing.transmissions, 1);
	fake_stop(&f);
}

static void
payload_goes_from_where_it_lies_into_sendmsg(void)
{
	enum { PIECES = 40 };
	unsigned char *slab = malloc(4 * MIB);
	struct iovec iov[PIECES];
	uint64_t bytes = 0;
	struct fake f;
	struct outcome o[2];
	int i;

	CU_ASSERT_FATAL(slab != NULL);
	fill(slab, 4 * MIB, 2);
	for (i = 0; i < PIECES; i++) {
		iov[i].iov_base = slab + (size_t)i * 100000;
		iov[i].iov_len = 20000 + (size_t)i;
		bytes += iov[i].iov_len;
	}
	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	given.region = slab;
	given.region_len = 4 * MIB;
	fake_write(&f, RPC_NORMAL, iov, PIECES, &o[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o[0].done_nr, 1);
	/* Each payload byte came to sendmsg in the slab itself, and what else
	   it was given is a header for each time it was asked. */
	CU_ASSERT(given.in_region >= bytes);
	CU_ASSERT(given.elsewhere <= sendmsg_nr * (RPC_HEADER_ROOM + 4));
	CU_ASSERT(given.elsewhere < bytes / 10);
	CU_ASSERT_EQUAL(f.seen_nr, 1);
	fake_stop(&f);
	free(slab);
}

static void
a_payload_of_more_pieces_than_iov_max_is_whole(void)
{
	enum { PIECES = 3000 };
	static unsigned char data[PIECES * 7];
	static struct iovec iov[PIECES];
	struct fake f;
	struct outcome o;
	int i;

	fill(data, sizeof data, 3);
	for (i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ data + 7 * i, 7 };
	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, iov, PIECES, &o);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	assert_payload(&f.seen[0], data, sizeof data);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	fake_stop(&f);
}

static void
calls_queued_together_leave_in_one_sendmsg(void)
{
	unsigned char data[100];
	struct iovec iov = { data, sizeof data };
	struct fake f;
	struct outcome o[8];
	int i;

	fill(data, sizeof data, 4);
	fake_init(&f);
	fake_start(&f);
	for (i = 0; i < 8; i++)
		fake_write(&f, RPC_NORMAL, &iov, 1, &o[i]);
	fake_run(&f);
	CU_ASSERT_EQUAL(f.seen_nr, 8);
	CU_ASSERT_EQUAL(sendmsg_nr, 1);
	fake_stop(&f);
}

static void
auth_sys_carries_uid_gid_and_groups(void)
{
	gid_t groups[3] = { 7, 100, 65534 };
	struct cred *cred = cred_get(1234, 5678, groups, 3);
	GETATTR3args args = { .object = { .data = { 0, NULL } } };
	struct fake f;
	struct outcome o = { .fake = &f };
	struct rpc_request r = {
		.proc = NFSPROC3_GETATTR, .cred = cred,
		.encode = xdr_GETATTR3args, .args = &args,
		.decode = xdr_GETATTR3res, .res_bytes = sizeof(GETATTR3res),
		.done = fake_done, .arg = &o,
	};

	fake_init(&f);
	fake_start(&f);
	CU_ASSERT_EQUAL(rpc_client_call(f.client, &r, NULL), 0);
	cred_put(cred);		/* the call has its own reference */
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	CU_ASSERT(f.seen[0].info.auth_sys);
	CU_ASSERT_EQUAL(f.seen[0].info.uid, 1234);
	CU_ASSERT_EQUAL(f.seen[0].info.gid, 5678);
	CU_ASSERT_EQUAL(f.seen[0].info.group_nr, 3);
	CU_ASSERT(!memcmp(f.seen[0].info.group, groups, sizeof groups));
	CU_ASSERT_NOT_EQUAL(f.seen[0].info.machine[0], 0);
	fake_stop(&f);
}

static void
a_reply_to_an_unknown_xid_changes_nothing(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_run(&f);
	fake_reply_xid(&f, f.seen[0].info.xid + 1, NFSPROC3_GETATTR);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	fake_stop(&f);
}

static void
a_duplicate_reply_changes_nothing(void)
{
	struct fake f;
	struct outcome o, p;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_getattr(&f, &p);
	fake_run(&f);
	fake_reply(&f, &f.seen[0]);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	fake_reply(&f, &f.seen[0]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(p.done_nr, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	fake_stop(&f);
}

/* Sends one WRITE of 1 MiB to a server that does not read; its xid. */
static uint32_t
half_send(struct fake *f, struct iovec *iov, struct outcome *o)
{
	unsigned char head[44];
	struct rpc_call_info info;
	XDR x;

	f->paused = true;
	fake_write(f, RPC_NORMAL, iov, 1, o);
	fake_run(f);
	CU_ASSERT_EQUAL_FATAL(recv(f->fd, head, sizeof head, MSG_PEEK),
			      sizeof head);
	xdrmem_create(&x, (char *)head + 4, sizeof head - 4, XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_call(&x, &info), 0);
	return info.xid;
}

static void
a_reply_before_the_call_is_out_waits_for_that(void)
{
	unsigned char *data = malloc(MIB);
	struct iovec iov = { data, MIB };
	struct fake f;
	struct outcome o;
	uint32_t xid;

	CU_ASSERT_FATAL(data != NULL);
	fill(data, MIB, 5);
	fake_init(&f);
	fake_start(&f);
	xid = half_send(&f, &iov, &o);
	fake_reply_xid(&f, xid, NFSPROC3_WRITE);
	fake_reply_xid(&f, xid, NFSPROC3_WRITE);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	f.paused = false;
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	assert_payload(&f.seen[0], data, MIB);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	fake_stop(&f);
	free(data);
}

static void
a_reply_before_the_call_is_out_counts_when_the_connection_ends(void)
{
	unsigned char *data = calloc(1, MIB);
	struct iovec iov = { data, MIB };
	struct fake f;
	struct outcome o;

	CU_ASSERT_FATAL(data != NULL);
	fake_init(&f);
	fake_start(&f);
	fake_reply_xid(&f, half_send(&f, &iov, &o), NFSPROC3_WRITE);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	fake_cut(&f);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(o.timing.transmissions, 1);
	fake_stop(&f);
	free(data);
}

static void
refuse_with(int want_err, ssize_t (*encode)(void *, size_t, uint32_t))
{
	unsigned char buf[512];
	struct fake f;
	struct outcome o, p;
	ssize_t len;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_getattr(&f, &p);
	fake_run(&f);
	len = encode(buf, sizeof buf, f.seen[0].info.xid);
	CU_ASSERT_FATAL(len > 0);
	fake_send(&f, buf, (size_t)len);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, want_err);
	CU_ASSERT_EQUAL(rpc_client_op_stats(f.client,
					    NFSPROC3_GETATTR)->errors, 1);
	fake_reply(&f, &f.seen[1]);
	fake_run(&f);
	CU_ASSERT_EQUAL(p.err, 0);
	CU_ASSERT_EQUAL(p.done_nr, 1);
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	fake_stop(&f);
}

static ssize_t
too_weak(void *buf, size_t room, uint32_t xid)
{
	return rpc_encode_denied(buf, room, xid, AUTH_TOOWEAK);
}

static ssize_t
no_program(void *buf, size_t room, uint32_t xid)
{
	return rpc_encode_accepted(buf, room, xid, PROG_UNAVAIL, NULL, NULL, 0);
}

static ssize_t
no_version(void *buf, size_t room, uint32_t xid)
{
	return rpc_encode_accepted(buf, room, xid, PROG_MISMATCH, NULL, NULL,
				   0);
}

static ssize_t
no_result(void *buf, size_t room, uint32_t xid)
{
	return rpc_encode_accepted(buf, room, xid, SUCCESS, NULL, NULL, 0);
}

static void
a_denied_credential_is_eacces(void)
{
	refuse_with(-EACCES, too_weak);
}

static void
a_refused_program_or_version_is_eio(void)
{
	refuse_with(-EIO, no_program);
	refuse_with(-EIO, no_version);
}

static void
a_result_that_can_not_be_decoded_is_eio(void)
{
	refuse_with(-EIO, no_result);
}

static void
data_that_can_not_be_read_fails_that_call_alone(void)
{
	unsigned char *map, good[64];
	struct iovec bad, iov = { good, sizeof good };
	struct fake f;
	struct outcome o[3];

	fill(good, sizeof good, 6);
	map = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(map != MAP_FAILED);
	bad = (struct iovec){ map, 4096 };
	fake_init(&f);
	f.auto_reply = true;
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o[0]);
	fake_write(&f, RPC_NORMAL, &bad, 1, &o[1]);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o[2]);
	fake_run(&f);
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL(o[0].done_nr, 1);
	CU_ASSERT_EQUAL(o[0].err, 0);
	CU_ASSERT_EQUAL(o[1].done_nr, 1);
	CU_ASSERT_EQUAL(o[1].err, -EFAULT);
	CU_ASSERT_EQUAL(o[2].done_nr, 1);
	CU_ASSERT_EQUAL(o[2].err, 0);
	fake_stop(&f);
	munmap(map, 4096);
}

static void
a_call_that_faults_half_sent_takes_the_connection_with_it(void)
{
	enum { PAGE = 4096, PAGES = 64 };
	unsigned char *map, good[64];
	struct iovec bad, iov = { good, sizeof good };
	struct fake f;
	struct outcome o[3];

	fill(good, sizeof good, 7);
	map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(map != MAP_FAILED);
	CU_ASSERT_EQUAL(mprotect(map + (PAGES - 1) * PAGE, PAGE, PROT_NONE), 0);
	bad = (struct iovec){ map, PAGES * PAGE };
	fake_init(&f);
	fake_start(&f);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o[0]);
	fake_write(&f, RPC_NORMAL, &bad, 1, &o[1]);
	fake_write(&f, RPC_NORMAL, &iov, 1, &o[2]);
	fake_run(&f);
	fake_pass(&f, SECOND);
	CU_ASSERT_EQUAL(o[1].err, -EFAULT);
	CU_ASSERT_EQUAL(f.connection_nr, 2);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 3);	/* the first one twice */
	CU_ASSERT_EQUAL(f.seen[0].info.xid, f.seen[1].info.xid);
	assert_payload(&f.seen[2], good, sizeof good);
	fake_reply(&f, &f.seen[1]);
	fake_reply(&f, &f.seen[2]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o[0].err + o[2].err, 0);
	CU_ASSERT_EQUAL(o[0].done_nr + o[2].done_nr, 2);
	fake_stop(&f);
	munmap(map, PAGES * PAGE);
}

static void
freeing_the_client_cancels_every_call(void)
{
	unsigned char *data = calloc(1, MIB);
	struct iovec iov = { data, MIB };
	struct fake f;
	struct outcome o[40];
	int i;

	CU_ASSERT_FATAL(data != NULL);
	fake_init(&f);
	f.params.slot_nr = 4;
	fake_start(&f);
	fake_getattr(&f, &o[0]);
	fake_run(&f);
	half_send(&f, &iov, &o[1]);
	for (i = 2; i < 40; i++)
		fake_write(&f, RPC_BACKGROUND, &iov, 1, &o[i]);
	fake_run(&f);
	fake_stop(&f);
	for (i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, -ECANCELED);
	}
	free(data);
}

static void
then_free(struct outcome *o)
{
	rpc_client_free(o->fake->client);
	o->fake->client = NULL;
}

static void
done_may_free_the_client(void)
{
	struct fake f;
	struct outcome o, p;

	fake_init(&f);
	fake_start(&f);
	fake_getattr(&f, &o);
	fake_getattr(&f, &p);
	o.then = then_free;
	fake_run(&f);
	fake_reply(&f, &f.seen[0]);
	fake_reply(&f, &f.seen[1]);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	CU_ASSERT_EQUAL(p.done_nr, 1);
	CU_ASSERT_EQUAL(p.err, -ECANCELED);
	fake_stop(&f);
}

static struct outcome second;

static void
then_call(struct outcome *o)
{
	CU_ASSERT_EQUAL(fake_getattr(o->fake, &second), 0);
	CU_ASSERT_EQUAL(second.done_nr, 0);
}

static void
done_may_call_again(void)
{
	struct fake f;
	struct outcome o;

	fake_init(&f);
	f.auto_reply = true;
	f.params.slot_nr = 1;
	fake_start(&f);
	fake_getattr(&f, &o);
	o.then = then_call;
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(second.done_nr, 1);
	CU_ASSERT_EQUAL(second.err, 0);
	fake_stop(&f);
}

static READ3res read_result;
static bool read_in_place, read_right;

static void
read_done(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	const READ3res *r = res;
	struct fake *f = arg;
	const unsigned char *data, *record = f->client->lanes->connection.reader.data;
	size_t i;

	(void)t;
	CU_ASSERT_EQUAL_FATAL(err, 0);
	read_result = *r;
	data = (const unsigned char *)r->READ3res_u.resok.data.data_val;
	read_in_place = data > record &&
			data < record + f->client->lanes->connection.reader.length;
	read_right = true;
	for (i = 0; i < r->READ3res_u.resok.data.data_len; i++)
		if (data[i] != (unsigned char)(i * 7))
			read_right = false;
	f->done_nr++;
}

static void
read_data_is_handed_over_where_it_came_in(void)
{
	enum { LEN = MIB - 3 };
	READ3args args = { .count = LEN };
	READ3res_head head = { .status = NFS3_OK };
	unsigned char *buf = calloc(1, MIB + 256);
	struct fake f;
	struct rpc_request r = {
		.proc = NFSPROC3_READ, .encode = xdr_READ3args, .args = &args,
		.decode = nfs3_xdr_read_res, .res_bytes = sizeof(READ3res),
		.done = read_done, .arg = &f,
	};
	ssize_t len, i, n;

	CU_ASSERT_FATAL(buf != NULL);
	fake_init(&f);
	fake_start(&f);
	CU_ASSERT_EQUAL(rpc_client_call(f.client, &r, NULL), 0);
	fake_run(&f);
	head.READ3res_head_u.resok.count = LEN;
	head.READ3res_head_u.resok.data_length = LEN;
	len = rpc_encode_accepted(buf, 256, f.seen[0].info.xid, SUCCESS,
				  xdr_READ3res_head, &head, LEN);
	CU_ASSERT_FATAL(len > 0);
	for (i = 0; i < LEN; i++)
		buf[len + i] = (unsigned char)(i * 7);
	len += LEN + rpc_pad(LEN);
	for (i = 0; i < len; i += n) {
		n = send(f.fd, buf + i, (size_t)(len - i), MSG_DONTWAIT);
		CU_ASSERT_FATAL(n > 0);
		CU_ASSERT_EQUAL(f.done_nr, 0);
		fake_run(&f);
	}
	CU_ASSERT_EQUAL(f.done_nr, 1);
	CU_ASSERT_EQUAL(read_result.READ3res_u.resok.data.data_len, LEN);
	CU_ASSERT(read_in_place);
	CU_ASSERT(read_right);
	fake_stop(&f);
	free(buf);
}

static void
arguments_longer_than_the_room_set_aside_are_sent(void)
{
	static char content[4000];
	SYMLINK3args args;
	struct fake f;
	struct outcome o = { .fake = &f };
	struct rpc_request r = {
		.proc = NFSPROC3_SYMLINK,
		.encode = xdr_SYMLINK3args, .args = &args,
		.decode = xdr_SYMLINK3res, .res_bytes = sizeof(SYMLINK3res),
		.done = fake_done, .arg = &o,
	};

	memset(content, 'x', sizeof content - 1);
	memset(&args, 0, sizeof args);
	args.where.name = "name";
	args.symlink.symlink_data = content;
	fake_init(&f);
	fake_start(&f);
	CU_ASSERT_EQUAL(rpc_client_call(f.client, &r, NULL), 0);
	fake_run(&f);
	CU_ASSERT_EQUAL_FATAL(f.seen_nr, 1);
	CU_ASSERT(f.seen[0].length > sizeof content);
	fake_stop(&f);
}

/* Random calls, sizes, bytes a sendmsg, and cuts: each call arrives whole and
   is answered once. */
static void
random_sizes_and_cuts_lose_and_garble_nothing(void)
{
	enum { CALLS = 200 };
	static unsigned char data[100000];
	static struct outcome o[CALLS];
	static struct iovec iov[CALLS];
	unsigned seed = (unsigned)getpid(), i, n;
	struct fake f;
	u_int len;

	printf("# seed %u\n", seed);
	srand(seed);
	fill(data, sizeof data, 0);
	fake_init(&f);
	f.auto_reply = true;
	f.params.slot_nr = 8;
	fake_start(&f);
	for (i = 0; i < CALLS; i++) {
		iov[i].iov_len = (size_t)rand() % 3000 + 1;
		iov[i].iov_base = data + 3 * i;
		fake_write(&f, (enum rpc_class)(i % 3), &iov[i], 1, &o[i]);
		send_limit = (size_t)(rand() % 2000 + 1);
		if (rand() % 3)
			fake_run(&f);
		if (!(rand() % 20))
			fake_cut(&f);
	}
	fake_pass(&f, 100 * SECOND);
	for (i = 0; i < CALLS; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, 0);
	}
	for (i = 0; i < f.seen_nr; i++) {
		const unsigned char *p = seen_data(&f.seen[i], &len);

		for (n = 0; n < CALLS; n++)
			if (iov[n].iov_len == len &&
			    !memcmp(p, iov[n].iov_base, len))
				break;
		CU_ASSERT(n < CALLS);
	}
	CU_ASSERT(f.connection_nr > 1);
	fake_stop(&f);
}

UNIT_TESTS(rpc_call,
	UNIT(a_call_is_answered_once_and_from_the_loop),
	UNIT(times_and_counts_are_kept_per_procedure),
	UNIT(a_reply_in_fragments_of_one_byte_is_whole),
	UNIT(a_call_that_leaves_byte_by_byte_is_whole),
	UNIT(payload_goes_from_where_it_lies_into_sendmsg),
	UNIT(a_payload_of_more_pieces_than_iov_max_is_whole),
	UNIT(calls_queued_together_leave_in_one_sendmsg),
	UNIT(auth_sys_carries_uid_gid_and_groups),
	UNIT(a_reply_to_an_unknown_xid_changes_nothing),
	UNIT(a_duplicate_reply_changes_nothing),
	UNIT(a_reply_before_the_call_is_out_waits_for_that),
	UNIT(a_reply_before_the_call_is_out_counts_when_the_connection_ends),
	UNIT(a_denied_credential_is_eacces),
	UNIT(a_refused_program_or_version_is_eio),
	UNIT(a_result_that_can_not_be_decoded_is_eio),
	UNIT(data_that_can_not_be_read_fails_that_call_alone),
	UNIT(a_call_that_faults_half_sent_takes_the_connection_with_it),
	UNIT(freeing_the_client_cancels_every_call),
	UNIT(done_may_free_the_client),
	UNIT(done_may_call_again),
	UNIT(read_data_is_handed_over_where_it_came_in),
	UNIT(arguments_longer_than_the_room_set_aside_are_sent),
	UNIT(random_sizes_and_cuts_lose_and_garble_nothing),
)
