/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * socket.c - a TCP socket on its way to a server
 *
 * The source port is the one of the connection before, where it can be had: the
 * server's reply cache may know a client by it.  Else a reserved one (below
 * 1024, as many servers ask for), tried one after the other without waiting;
 * with RESVPORT_AUTO any port where that fails.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "rpc/socket.h"

#define RESERVED_FIRST 512u
#define RESERVED_USUAL 665u	/* services have names for those below */
#define RESERVED_END 1024u
#define KEEPALIVE_PROBES 3

static int
bind_port(int fd, sa_family_t family, unsigned port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)port) };
	int ret;

	if (family == AF_INET6)
		ret = bind(fd, (struct sockaddr *)&in6, sizeof in6);
	else
		ret = bind(fd, (struct sockaddr *)&in, sizeof in);
	return ret < 0 ? -errno : 0;
}

static int
bind_reserved(int fd, sa_family_t family, uint64_t random)
{
	unsigned all = RESERVED_END - RESERVED_FIRST, i, start;
	int err = -EADDRINUSE;

	start = RESERVED_USUAL + (unsigned)(random %
					    (RESERVED_END - RESERVED_USUAL));
	for (i = 0; i < all && err == -EADDRINUSE; i++)
		err = bind_port(fd, family,
				RESERVED_FIRST +
				(start - RESERVED_FIRST + i) % all);
	return err;
}

static void
set_option(int fd, int level, int option, int value)
{
	/* What the system can't do it does without. */
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

static int
bind_source(int fd, const struct socket_params *p)
{
	sa_family_t family = p->addr->ss_family;
	int err;

	if (p->port) {
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		if (!bind_port(fd, family, p->port))
			return 0;
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 0);
	}
	if (p->resvport == RPC_RESVPORT_NO)
		return 0;
	err = bind_reserved(fd, family, p->random);
	return p->resvport == RPC_RESVPORT_AUTO ? 0 : err;
}

static void
set_options(int fd, unsigned keepalive_sec)
{
	int sec = keepalive_sec ? (int)keepalive_sec : 1;

	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, sec);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, sec);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/* A server on this host takes as fast as it can.  What lies in the socket
   meanwhile gains nothing, and the more it is the less of it is in a processor's
   cache when it is read; so the kernel is not let make room for megabytes. */
#define HERE_BYTES (512 << 10)

static bool
is_this_host(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return addr->ss_family == AF_INET &&
	       ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int
connect_once(const struct socket_params *p)
{
	int fd, err;

	fd = socket(p->addr->ss_family,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return -errno;
	set_options(fd, p->keepalive_sec);
	if (is_this_host(p->addr))
		set_option(fd, SOL_SOCKET, SO_SNDBUF, HERE_BYTES);
	err = bind_source(fd, p);
	if (!err && connect(fd, (const struct sockaddr *)p->addr,
			    p->addr_len) < 0 && errno != EINPROGRESS)
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int
socket_connect(const struct socket_params *p)
{
	struct socket_params any = *p;
	int fd = connect_once(p);

	/* The connection before may not be over for the system. */
	if (p->port && (fd == -EADDRNOTAVAIL || fd == -EADDRINUSE)) {
		any.port = 0;
		fd = connect_once(&any);
	}
	return fd;
}

int
socket_result(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

/* Of what was not sent; what the network holds is the congestion control's. */
#define LITTLE_BYTES (128 << 10)

void
socket_keep_little(int fd, bool little)
{
	set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
		   little ? LITTLE_BYTES : -1);
}

unsigned
socket_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	if (ss.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&ss)->sin_port);
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
	return 0;
}

void
socket_abort(int fd)
{
	struct linger linger = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	close(fd);
}
