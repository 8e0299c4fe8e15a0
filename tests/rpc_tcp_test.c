/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpc_tcp_test.c - the client over TCP on loopback: ports, refusals */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/parts.h"
#include "rpc/socket.h"
#include "tests/reserved_port.h"
#include "tests/rpcfake.h"

/* A listening socket; addr is where. */
static int
listen_at(struct sockaddr_storage *addr, socklen_t *len, sa_family_t family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(addr, 0, sizeof *addr);
	addr->ss_family = family;
	if (family == AF_INET6) {
		((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
		*len = sizeof(struct sockaddr_in6);
	} else {
		((struct sockaddr_in *)addr)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
		*len = sizeof(struct sockaddr_in);
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, *len) < 0 ||
	    listen(fd, 8) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)addr, len), 0);
	return fd;
}

/* Accepts one, which is blocking until a connect has begun; its port. */
static int
accept_one(int listener, unsigned *port)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	int fd = accept4(listener, (struct sockaddr *)&peer, &len,
			 SOCK_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	*port = ntohs(peer.ss_family == AF_INET6 ?
		      ((struct sockaddr_in6 *)&peer)->sin6_port :
		      ((struct sockaddr_in *)&peer)->sin_port);
	return fd;
}

static void
start(struct fake *f, int *listener, sa_family_t family)
{
	fake_init(f);
	*listener = listen_at(&f->params.addr, &f->params.addr_len, family);
	f->params.connect_hook = NULL;
	fake_start(f);
}

static bool
is_up(void *arg)
{
	struct fake *f = arg;

	return rpc_client_state(f->client) == RPC_UP;
}

static void
answer_over(sa_family_t family)
{
	unsigned char buf[1024];
	struct rpc_call_info info;
	struct outcome o;
	struct fake f;
	unsigned port;
	int listener;
	XDR x;

	start(&f, &listener, family);
	if (listener < 0) {	/* no IPv6 here */
		fake_stop(&f);
		return;
	}
	fake_getattr(&f, &o);
	CU_ASSERT(vloop_run_until(f.loop, is_up, &f, SECOND));
	f.fd = accept_one(listener, &port);
	fake_run(&f);
	CU_ASSERT_FATAL(recv(f.fd, buf, sizeof buf, 0) > 40);
	xdrmem_create(&x, (char *)buf + 4, sizeof buf - 4, XDR_DECODE);
	CU_ASSERT_EQUAL(rpc_decode_call(&x, &info), 0);
	fake_reply_xid(&f, info.xid, info.proc);
	fake_run(&f);
	CU_ASSERT_EQUAL(o.done_nr, 1);
	CU_ASSERT_EQUAL(o.err, 0);
	fake_stop(&f);
	close(listener);
}

static void
a_call_is_answered_over_tcp(void)
{
	answer_over(AF_INET);
}

static void
a_call_is_answered_over_tcp_on_ipv6(void)
{
	answer_over(AF_INET6);
}

static void
a_new_connection_comes_from_the_same_port(void)
{
	struct outcome o;
	struct fake f;
	unsigned port, again, i;
	int listener, fd;

	start(&f, &listener, AF_INET);
	fake_getattr(&f, &o);
	fake_run(&f);
	fd = accept_one(listener, &port);
	for (i = 0; i < 3; i++) {
		/* silent: the client gives it up */
		fake_pass(&f, 10 * SECOND + SECOND / 2);
		close(fd);
		fd = accept_one(listener, &again);
		CU_ASSERT_EQUAL(again, port);
	}
	close(fd);
	close(listener);
	fake_stop(&f);
}

/* The xid of the call that comes next. */
static uint32_t
read_xid(int fd)
{
	unsigned char buf[1024];
	struct rpc_call_info info;
	XDR x;

	CU_ASSERT_FATAL(recv(fd, buf, sizeof buf, 0) > 40);
	xdrmem_create(&x, (char *)buf + 4, sizeof buf - 4, XDR_DECODE);
	CU_ASSERT_EQUAL(rpc_decode_call(&x, &info), 0);
	return info.xid;
}

static void
each_of_several_connections_keeps_its_port_and_its_calls(void)
{
	unsigned port[4], again, i;
	uint32_t xid[4];
	struct outcome o[4];
	struct fake f;
	int listener, fd[4];

	fake_init(&f);
	listener = listen_at(&f.params.addr, &f.params.addr_len, AF_INET);
	f.params.connect_hook = NULL;
	f.params.connection_nr = 4;
	fake_start(&f);
	for (i = 0; i < 4; i++)
		fake_getattr(&f, &o[i]);
	fake_run(&f);
	for (i = 0; i < 4; i++)
		fd[i] = accept_one(listener, &port[i]);
	fake_run(&f);
	for (i = 0; i < 4; i++)
		xid[i] = read_xid(fd[i]);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_NOT_EQUAL(port[i], port[(i + 1) % 4]);
		CU_ASSERT_NOT_EQUAL(xid[i], xid[(i + 1) % 4]);
	}
	for (i = 0; i < 4; i++) {
		socket_abort(fd[i]);
		fake_run(&f);
		fd[i] = accept_one(listener, &again);
		fake_run(&f);
		CU_ASSERT_EQUAL(again, port[i]);
		CU_ASSERT_EQUAL(read_xid(fd[i]), xid[i]);
	}
	for (i = 0; i < 4; i++) {
		f.fd = fd[i];
		fake_reply_xid(&f, xid[i], NFSPROC3_GETATTR);
	}
	fake_run(&f);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(o[i].done_nr, 1);
		CU_ASSERT_EQUAL(o[i].err, 0);
		if (i < 3)
			close(fd[i]);
	}
	fake_stop(&f);
	close(listener);
}

static int
option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	(void)getsockopt(fd, level, name, &value, &len);
	return value;
}

/* A host that is gone without a word is found out while nothing is asked. */
static void
keepalive_follows_timeo(void)
{
	struct outcome o;
	struct fake f;
	unsigned port, timeo;
	int listener, fd;

	start(&f, &listener, AF_INET);
	timeo = f.params.timeo_ds / 10;
	fake_getattr(&f, &o);
	CU_ASSERT(vloop_run_until(f.loop, is_up, &f, SECOND));
	fd = f.client->lanes->connection.fd;
	CU_ASSERT_EQUAL(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	CU_ASSERT_EQUAL(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), (int)timeo);
	CU_ASSERT_EQUAL(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), (int)timeo);
	CU_ASSERT_EQUAL(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
	f.fd = accept_one(listener, &port);
	fake_stop(&f);
	close(listener);
}

static int
connect_with(enum rpc_resvport resvport, const struct sockaddr_storage *addr,
	     socklen_t len, uint64_t random, unsigned *port)
{
	struct socket_params p = { .addr = addr, .addr_len = len,
				   .resvport = resvport, .random = random };
	int fd = socket_connect(&p);

	*port = fd >= 0 ? socket_port(fd) : 0;
	return fd;
}

static void
little_lies_in_the_socket_to_a_server_on_this_host(void)
{
	struct sockaddr_storage addr;
	const int asked = 512 << 10;
	unsigned port, i;
	socklen_t len;
	int listener, fd, like;

	for (i = 0; i < 2; i++) {
		listener = listen_at(&addr, &len, i ? AF_INET6 : AF_INET);
		if (listener < 0)	/* no IPv6 here */
			continue;
		fd = connect_with(RPC_RESVPORT_NO, &addr, len, 5, &port);
		CU_ASSERT_FATAL(fd >= 0);
		/* as much as the system makes of it */
		like = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CU_ASSERT_EQUAL(setsockopt(like, SOL_SOCKET, SO_SNDBUF, &asked,
					   sizeof asked), 0);
		CU_ASSERT_EQUAL(option(fd, SOL_SOCKET, SO_SNDBUF),
				option(like, SOL_SOCKET, SO_SNDBUF));
		close(like);
		socket_abort(fd);
		close(listener);
	}
}

/* Connections to a listener that has no room for more: none comes up. */
static void
fill(const struct fake *f, int *fd, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		fd[i] = socket(AF_INET,
			       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(fd[i], (const struct sockaddr *)&f->params.addr,
			      f->params.addr_len);
	}
}

static void
a_connection_that_does_not_come_up_is_given_up(void)
{
	struct outcome o;
	struct fake f;
	int listener, fd[4];
	unsigned i;

	start(&f, &listener, AF_INET);
	CU_ASSERT_EQUAL(listen(listener, 0), 0);
	fill(&f, fd, 4);
	fake_getattr(&f, &o);
	fake_run(&f);
	CU_ASSERT_EQUAL(rpc_client_state(f.client), RPC_CONNECTING);
	fake_pass(&f, 10 * SECOND - 1000);
	CU_ASSERT_EQUAL(rpc_client_state(f.client), RPC_CONNECTING);
	CU_ASSERT(f.client->lanes->connection.fd >= 0);
	fake_pass(&f, 2000);
	CU_ASSERT(f.client->lanes->connection.fd < 0);		/* until it tries anew */
	CU_ASSERT_EQUAL(o.done_nr, 0);
	fake_stop(&f);
	for (i = 0; i < 4; i++)
		close(fd[i]);
	close(listener);
}

static void
a_refused_connection_is_tried_again(void)
{
	struct outcome o;
	struct fake f;
	int listener;

	start(&f, &listener, AF_INET);
	close(listener);
	fake_getattr(&f, &o);
	fake_pass(&f, 10 * SECOND);
	CU_ASSERT_EQUAL(o.done_nr, 0);
	CU_ASSERT(f.client->lanes->connection.failure_nr > 3);
	CU_ASSERT_NOT_EQUAL(rpc_client_state(f.client), RPC_UP);
	fake_stop(&f);
	CU_ASSERT_EQUAL(o.err, -ECANCELED);
}

/* As root or not: what may be bound is asked of the system each time. */
static void
try_each_resvport(const struct sockaddr_storage *addr, socklen_t len,
		  uint64_t random)
{
	bool may = may_bind_reserved();
	unsigned port;
	int fd;

	fd = connect_with(RPC_RESVPORT_YES, addr, len, random, &port);
	if (may)
		CU_ASSERT(port >= 512 && port < 1024);
	if (!may)
		CU_ASSERT_EQUAL(fd, -EACCES);
	if (fd >= 0)
		socket_abort(fd);
	fd = connect_with(RPC_RESVPORT_AUTO, addr, len, random, &port);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(port < 1024, may);
	socket_abort(fd);
	fd = connect_with(RPC_RESVPORT_NO, addr, len, random, &port);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT(port >= 1024);
	socket_abort(fd);
}

static void
resvport_is_below_1024_where_that_may_be(void)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int listener = listen_at(&addr, &len, AF_INET), i;
	uid_t uid = geteuid();

	CU_ASSERT_FATAL(listener >= 0);
	for (i = 0; i < 3; i++)
		try_each_resvport(&addr, len, (unsigned)i * 137);
	if (!uid && !seteuid(65534)) {
		try_each_resvport(&addr, len, 0);
		CU_ASSERT_EQUAL(seteuid(uid), 0);
	}
	close(listener);
}

static void
a_reserved_port_in_use_is_passed_over(void)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int listener = listen_at(&addr, &len, AF_INET), a, b;
	unsigned port_a, port_b;

	a = connect_with(RPC_RESVPORT_AUTO, &addr, len, 5, &port_a);
	b = connect_with(RPC_RESVPORT_AUTO, &addr, len, 5, &port_b);
	CU_ASSERT(a >= 0 && b >= 0);
	CU_ASSERT_NOT_EQUAL(port_a, port_b);
	CU_ASSERT_EQUAL(port_a < 1024, port_b < 1024);
	socket_abort(a);
	socket_abort(b);
	close(listener);
}

UNIT_TESTS(rpc_tcp,
	UNIT(a_call_is_answered_over_tcp),
	UNIT(a_call_is_answered_over_tcp_on_ipv6),
	UNIT(a_new_connection_comes_from_the_same_port),
	UNIT(each_of_several_connections_keeps_its_port_and_its_calls),
	UNIT(keepalive_follows_timeo),
	UNIT(little_lies_in_the_socket_to_a_server_on_this_host),
	UNIT(a_connection_that_does_not_come_up_is_given_up),
	UNIT(a_refused_connection_is_tried_again),
	UNIT(resvport_is_below_1024_where_that_may_be),
	UNIT(a_reserved_port_in_use_is_passed_over),
)
