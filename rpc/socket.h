/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * socket.h - a TCP socket on its way to a server
 */
#ifndef NFSWB_RPC_SOCKET_H
#define NFSWB_RPC_SOCKET_H

#include "rpc/client.h"

struct socket_params {
	const struct sockaddr_storage *addr;
	socklen_t addr_len;
	enum rpc_resvport resvport;
	unsigned port;			/* ours, if it can be had; 0: any */
	unsigned keepalive_sec;
	uint64_t random;		/* where to begin among reserved ports */
};

/*
 * Begins to connect without waiting: the fd, writable when that has ended
 * (socket_result tells how), or -errno.  -EACCES: no reserved port may be
 * bound.
 */
int socket_connect(const struct socket_params *);
int socket_result(int fd);
/* Does it take no more bytes than are soon on the wire, or as many as it has room
   for? */
void socket_keep_little(int fd, bool little);
/* The port it has on this side; 0: none. */
unsigned socket_port(int fd);
/* Closes it so that nothing still in it is sent, and the port is free. */
void socket_abort(int fd);

#endif
