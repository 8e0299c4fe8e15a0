/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lanesfake.c - rpcfake's client with several connections, and their ends */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lanesfake.h"

#define CONTENT_WORDS (1u << 18)

/* A word says where it stands; a WRITE's contents begin at its number. */
static uint64_t content[CONTENT_WORDS];

static void
check_content(const WRITE3args *a)
{
	size_t first = (size_t)(a->offset % 4096) * 8;

	CU_ASSERT_EQUAL(a->data.data_len, a->count);
	CU_ASSERT(!memcmp(a->data.data_val, (const char *)content + first,
			  a->data.data_len));
}

static void
take_record(void *arg)
{
	struct end *e = arg;
	struct lanes *l = e->lanes;
	struct rpc_call_info info;
	struct came *c;
	WRITE3args a;
	XDR x;

	if (l->came_nr == l->came_room) {
		l->came_room = 2 * l->came_room + 64;
		l->came = realloc(l->came, l->came_room * sizeof *l->came);
		CU_ASSERT_FATAL(l->came != NULL);
	}
	c = &l->came[l->came_nr++];
	memset(c, 0, sizeof *c);
	xdrmem_create(&x, (char *)e->reader.data, (u_int)e->reader.length,
		      XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_call(&x, &info), 0);
	c->lane = e->lane;
	c->connection = e->connection_nr;
	c->xid = info.xid;
	c->proc = info.proc;
	e->came_nr++;
	if (info.proc == NFSPROC3_WRITE) {
		memset(&a, 0, sizeof a);
		CU_ASSERT_FATAL(nfs3_xdr_write_args(&x, &a));
		c->offset = a.offset;
		c->bytes = a.count;
		check_content(&a);
		xdr_free((xdrproc_t)nfs3_xdr_write_args, &a);
	}
	if (l->auto_reply)
		lanes_answer(l, e->lane);
}

static void
on_end(void *arg, int fd, unsigned events)
{
	struct end *e = arg;

	(void)events;
	if (fake_receive(fd, &e->reader, take_record, e))
		return;
	loop_watch_free(e->lanes->f.loop, e->watch);
	e->watch = NULL;
}

void
lanes_cut(struct lanes *l, unsigned lane)
{
	struct end *e = &l->end[lane];

	loop_watch_free(l->f.loop, e->watch);
	e->watch = NULL;
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	record_reader_reset(&e->reader);
}

/* Which one is being made: the first that should be and is not. */
static struct end *
connecting(struct lanes *l)
{
	struct lane *lane;

	LANES_FOREACH(lane, l->f.client)
		if (lane->connection.state == RPC_DOWN &&
		    lane->connection.wanted && !lane->connection.waiting)
			return &l->end[lane - l->f.client->lanes];
	abort();
}

static int
connect_hook(void *arg)
{
	struct lanes *l = arg;
	struct end *e = connecting(l);
	int sv[2], room = 65536;

	e->attempt_nr++;
	if (e->refuse)
		return -ECONNREFUSED;
	lanes_cut(l, e->lane);
	e->connection_nr++;
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					 0, sv), 0);
	(void)setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	e->fd = sv[1];
	e->watch = loop_watch(l->f.loop, e->fd, e->paused ? 0 : LOOP_READ,
			      on_end, e);
	CU_ASSERT_FATAL(e->watch != NULL);
	if (l->hang_up)
		lanes_cut(l, e->lane);
	return sv[0];
}

void
lanes_prepare(struct lanes *l, unsigned nr)
{
	unsigned i;

	memset(l, 0, sizeof *l);
	for (i = 0; i < CONTENT_WORDS; i++)
		content[i] = i;
	fake_init(&l->f);
	l->f.params.connection_nr = nr;
	l->f.params.slot_nr = 64;
	l->f.params.connect_hook = connect_hook;
	l->f.params.connect_arg = l;
	for (i = 0; i < LANES; i++) {
		l->end[i].lanes = l;
		l->end[i].lane = i;
		l->end[i].fd = -1;
		record_reader_init(&l->end[i].reader, 4 << 20);
	}
}

void
lanes_go(struct lanes *l)
{
	fake_start(&l->f);
}

void
lanes_start(struct lanes *l, unsigned nr)
{
	lanes_prepare(l, nr);
	lanes_go(l);
}

void
lanes_stop(struct lanes *l)
{
	unsigned i;

	rpc_client_free(l->f.client);
	l->f.client = NULL;
	lanes_run(l);
	for (i = 0; i < LANES; i++) {
		lanes_cut(l, i);
		record_reader_free(&l->end[i].reader);
	}
	free(l->came);
	fake_stop(&l->f);
}

void
lanes_run(struct lanes *l)
{
	lanes_pass(l, 1);
}

void
lanes_pass(struct lanes *l, uint64_t usec)
{
	vloop_pass(l->f.loop, usec);
}

void
lanes_pause(struct lanes *l, unsigned lane, bool paused)
{
	struct end *e = &l->end[lane];

	e->paused = paused;
	if (e->watch)
		loop_watch_set(l->f.loop, e->watch, paused ? 0 : LOOP_READ);
}

void
lanes_send_raw(struct lanes *l, unsigned lane, const void *data, size_t len)
{
	ssize_t n;

	if (l->end[lane].fd < 0)
		return;
	n = send(l->end[lane].fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	/* the client may have given it up */
	CU_ASSERT(n == (ssize_t)len || errno == EPIPE || errno == ECONNRESET);
}

void
lanes_answer(struct lanes *l, unsigned lane)
{
	struct end *e = &l->end[lane];
	struct came *c;
	char buf[512];
	ssize_t len;

	for (c = l->came; c < l->came + l->came_nr; c++) {
		if (c->answered || c->lane != lane ||
		    c->connection != e->connection_nr)
			continue;
		c->answered = true;
		len = fake_encode_reply(buf, sizeof buf, c->xid, c->proc);
		CU_ASSERT_FATAL(len > 0);
		lanes_send_raw(l, lane, buf, (size_t)len);
	}
}

/* ---- calls ---- */

static nfs_fh3 handle = { .data = { .data_len = 4, .data_val = "file" } };

/* One iovec for each number: it must stay until done. */
static struct iovec iov_of[4096];

void
lanes_write(struct lanes *l, enum rpc_class class, uint32_t number,
	    uint32_t bytes, struct outcome *o, struct rpc_call **out)
{
	struct iovec *iov = &iov_of[number % 4096];
	WRITE3args_head args = { .file = handle, .offset = number,
				 .count = bytes, .data_length = bytes };
	struct rpc_request r = {
		.proc = NFSPROC3_WRITE,
		.class = class,
		.encode = xdr_WRITE3args_head,
		.args = &args,
		.iov = iov,
		.iov_nr = 1,
		.payload_bytes = bytes,
		.decode = xdr_WRITE3res,
		.res_bytes = sizeof(WRITE3res),
		.done = fake_done,
		.arg = o,
	};

	*iov = (struct iovec){ content + number % 4096, bytes };
	memset(o, 0, sizeof *o);
	o->fake = &l->f;
	CU_ASSERT_EQUAL_FATAL(rpc_client_call(l->f.client, &r, out), 0);
}

const struct came *
lanes_find_write(const struct lanes *l, uint32_t number)
{
	unsigned i;

	for (i = l->came_nr; i--;)
		if (l->came[i].proc == NFSPROC3_WRITE &&
		    l->came[i].offset == number)
			return &l->came[i];
	return NULL;
}

const struct came *
lanes_find(const struct lanes *l, uint32_t proc)
{
	unsigned i;

	for (i = l->came_nr; i--;)
		if (l->came[i].proc == proc)
			return &l->came[i];
	return NULL;
}

unsigned
lanes_count_write(const struct lanes *l, uint32_t number)
{
	unsigned i, nr = 0;

	for (i = 0; i < l->came_nr; i++)
		nr += l->came[i].proc == NFSPROC3_WRITE &&
		      l->came[i].offset == number;
	return nr;
}
