/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reserved_port.h - may this process bind a port below 1024?  Tests ask */
#ifndef NFSWB_TESTS_RESERVED_PORT_H
#define NFSWB_TESTS_RESERVED_PORT_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool
may_bind_reserved(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), port, err = -1;

	for (port = 1023; port >= 512 && err; port--) {
		in.sin_port = htons((uint16_t)port);
		err = bind(fd, (struct sockaddr *)&in, sizeof in);
		if (err && errno != EADDRINUSE)
			break;
	}
	close(fd);
	return !err;
}

#endif
