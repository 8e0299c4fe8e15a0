/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpcfake.c - an RPC client on a virtual loop, and a server that does as told */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/rpcfake.h"

size_t send_limit;
unsigned sendmsg_nr;
struct given given;

static void
note(const struct iovec *iov)
{
	const char *p = iov->iov_base, *region = given.region;

	if (region && p >= region && p + iov->iov_len <=
				     region + given.region_len)
		given.in_region += iov->iov_len;
	else
		given.elsewhere += iov->iov_len;
}

/* In the place of libc's, for everything in this program. */
ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec iov[1024];
	struct msghdr cut = *msg;
	size_t left = send_limit ? send_limit : SIZE_MAX, i;

	sendmsg_nr++;
	for (i = 0; i < msg->msg_iovlen && left; i++) {
		iov[i] = msg->msg_iov[i];
		if (iov[i].iov_len > left)
			iov[i].iov_len = left;
		left -= iov[i].iov_len;
		note(&iov[i]);
	}
	cut.msg_iov = iov;
	cut.msg_iovlen = i;
	return syscall(SYS_sendmsg, fd, &cut, flags);
}

static void
take_record(void *arg)
{
	struct fake *f = arg;
	struct seen *s = &f->seen[f->seen_nr];
	XDR x;

	CU_ASSERT_FATAL(f->seen_nr < SEEN_MAX);
	s->connection = f->connection_nr;
	s->length = f->reader.length;
	s->record = malloc(s->length);
	CU_ASSERT_FATAL(s->record != NULL);
	memcpy(s->record, f->reader.data, s->length);
	xdrmem_create(&x, (char *)s->record, (u_int)s->length, XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_call(&x, &s->info), 0);
	s->args_at = xdr_getpos(&x);
	f->seen_nr++;
	if (f->auto_reply)
		fake_reply(f, s);
}

bool
fake_receive(int fd, struct record_reader *r, void (*record)(void *arg),
	     void *arg)
{
	char buf[65536];
	ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
	size_t at = 0, used;
	int ret;

	while (n > 0 && at < (size_t)n) {
		ret = record_feed(r, buf + at, (size_t)n - at, &used);
		CU_ASSERT_FATAL(ret >= 0);
		at += used;
		if (ret == 1)
			record(arg);
	}
	return n > 0;
}

static void
on_server(void *arg, int fd, unsigned events)
{
	struct fake *f = arg;

	(void)events;
	if (fake_receive(fd, &f->reader, take_record, f))
		return;
	loop_watch_free(f->loop, f->watch);
	f->watch = NULL;
}

void
fake_cut(struct fake *f)
{
	loop_watch_free(f->loop, f->watch);
	f->watch = NULL;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	record_reader_reset(&f->reader);
}

static int
connect_hook(void *arg)
{
	struct fake *f = arg;
	int sv[2], room = 65536;

	f->connection_nr++;
	if (f->refuse)
		return -ECONNREFUSED;
	fake_cut(f);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					 0, sv), 0);
	(void)setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	f->fd = sv[1];
	f->watch = loop_watch(f->loop, f->fd, f->paused ? 0 : LOOP_READ,
			      on_server, f);
	CU_ASSERT_FATAL(f->watch != NULL);
	return sv[0];
}

void
fake_init(struct fake *f)
{
	memset(f, 0, sizeof *f);
	log_set_level(LOG_LEVEL_ERROR);
	send_limit = 0;
	sendmsg_nr = 0;
	memset(&given, 0, sizeof given);
	f->fd = -1;
	record_reader_init(&f->reader, 2 << 20);
	f->loop = vloop_new(1000 * SECOND);
	CU_ASSERT_FATAL(f->loop != NULL);
	f->params = (struct rpc_params){
		.name = "fake",
		.prog = NFS_PROGRAM,
		.vers = NFS_V3,
		.slot_nr = 16,
		.timeo_ds = 100,
		.retrans = 3,
		.connect_hook = connect_hook,
		.connect_arg = f,
		.seed = 1,
	};
}

void
fake_start(struct fake *f)
{
	f->client = rpc_client_new(f->loop, &f->params);
	CU_ASSERT_FATAL(f->client != NULL);
}

void
fake_stop(struct fake *f)
{
	unsigned i;

	rpc_client_free(f->client);
	fake_run(f);
	fake_cut(f);
	record_reader_free(&f->reader);
	for (i = 0; i < f->seen_nr; i++)
		free(f->seen[i].record);
	loop_free(f->loop);
}

void
fake_pass(struct fake *f, uint64_t usec)
{
	if (f->watch)
		loop_watch_set(f->loop, f->watch, f->paused ? 0 : LOOP_READ);
	vloop_pass(f->loop, usec);
}

void
fake_run(struct fake *f)
{
	fake_pass(f, 1);
}

void
fake_done(void *arg, int err, const void *res, const struct rpc_timing *timing)
{
	struct outcome *o = arg;

	o->done_nr++;
	o->err = err;
	o->timing = *timing;
	o->at_usec = loop_now(o->fake->loop);
	o->order = ++o->fake->done_nr;
	if (res)
		memcpy(&o->status, res, sizeof o->status);
	if (o->then)
		o->then(o);
}

static nfs_fh3 handle = { .data = { .data_len = 4, .data_val = "root" } };

int
fake_getattr(struct fake *f, struct outcome *o)
{
	return fake_call(f, NFSPROC3_GETATTR, RPC_FOREGROUND, o, NULL);
}

int
fake_call(struct fake *f, uint32_t proc, enum rpc_class class,
	  struct outcome *o, struct rpc_call **out)
{
	GETATTR3args args = { .object = handle };
	COMMIT3args commit = { .file = handle };
	REMOVE3args remove_args = { .object = { .dir = handle,
						.name = "name" } };
	struct rpc_request r = {
		.proc = proc,
		.class = class,
		.encode = xdr_GETATTR3args,
		.args = &args,
		.decode = xdr_GETATTR3res,
		.res_bytes = sizeof(GETATTR3res),
		.done = fake_done,
		.arg = o,
	};

	if (proc == NFSPROC3_COMMIT) {
		r.ahead = true;
		r.encode = xdr_COMMIT3args;
		r.args = &commit;
		r.decode = xdr_COMMIT3res;
		r.res_bytes = sizeof(COMMIT3res);
	} else if (proc == NFSPROC3_REMOVE) {
		r.encode = xdr_REMOVE3args;
		r.args = &remove_args;
		r.decode = xdr_REMOVE3res;
		r.res_bytes = sizeof(REMOVE3res);
	}
	memset(o, 0, sizeof *o);
	o->fake = f;
	return rpc_client_call(f->client, &r, out);
}

int
fake_write(struct fake *f, enum rpc_class class, const struct iovec *iov,
	   int iov_nr, struct outcome *o)
{
	WRITE3args_head args = { .file = handle };
	struct rpc_request r = {
		.proc = NFSPROC3_WRITE,
		.class = class,
		.encode = xdr_WRITE3args_head,
		.args = &args,
		.iov = iov,
		.iov_nr = iov_nr,
		.decode = xdr_WRITE3res,
		.res_bytes = sizeof(WRITE3res),
		.done = fake_done,
		.arg = o,
	};
	int i;

	for (i = 0; i < iov_nr; i++)
		r.payload_bytes += iov[i].iov_len;
	args.count = args.data_length = (uint32_t)r.payload_bytes;
	memset(o, 0, sizeof *o);
	o->fake = f;
	return rpc_client_call(f->client, &r, NULL);
}

void
fake_send(struct fake *f, const void *data, size_t len)
{
	CU_ASSERT_EQUAL(send(f->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT),
			(ssize_t)len);
}

ssize_t
fake_encode_reply(void *buf, size_t room, uint32_t xid, uint32_t proc)
{
	static const GETATTR3res getattr;
	static const WRITE3res write_res;
	static const COMMIT3res commit;
	static const REMOVE3res remove_res;
	rpc_xdr_fn *encode = xdr_GETATTR3res;
	const void *res = &getattr;

	if (proc == NFSPROC3_WRITE) {
		encode = xdr_WRITE3res;
		res = &write_res;
	} else if (proc == NFSPROC3_COMMIT) {
		encode = xdr_COMMIT3res;
		res = &commit;
	} else if (proc == NFSPROC3_REMOVE) {
		encode = xdr_REMOVE3res;
		res = &remove_res;
	}
	return rpc_encode_accepted(buf, room, xid, SUCCESS, encode, res, 0);
}

void
fake_reply_xid(struct fake *f, uint32_t xid, uint32_t proc)
{
	char buf[512];
	ssize_t len = fake_encode_reply(buf, sizeof buf, xid, proc);

	CU_ASSERT_FATAL(len > 0);
	fake_send(f, buf, (size_t)len);
}

void
fake_reply(struct fake *f, const struct seen *s)
{
	fake_reply_xid(f, s->info.xid, s->info.proc);
}

size_t
fake_read(struct fake *f, void *buf, size_t len)
{
	ssize_t n = recv(f->fd, buf, len, MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}
