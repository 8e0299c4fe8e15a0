/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resolve.h - a server's name to addresses, without making the loop wait
 */
#ifndef NFSWB_RESOLVE_H
#define NFSWB_RESOLVE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/loop.h"

#define RESOLVE_MAX 8		/* addresses looked at */
/* A literal, with the scope of an IPv6 one. */
#define RESOLVE_LITERAL_MAX (INET6_ADDRSTRLEN + 1 + 16)

struct resolved {
	struct sockaddr_storage addr;	/* its port is 0 */
	socklen_t addr_len;
	char literal[RESOLVE_LITERAL_MAX];
};

/* err: 0 or -errno, with text. */
typedef void resolve_fn(void *arg, int err, const char *text,
			const struct resolved *, unsigned nr);

struct resolve;
/* Answers from the loop, once.  NULL: no memory or no thread. */
struct resolve *resolve_start(struct loop *, const char *host, resolve_fn *,
			      void *arg);
/* Before its answer: it will not come.  The lookup itself ends by itself. */
void resolve_cancel(struct resolve *);

/* "::1" and "127.0.0.1", and nothing that must be looked up; 0 or -EINVAL. */
int resolve_literal(const char *host, struct resolved *);
void resolve_set_port(struct sockaddr_storage *, unsigned port);

#endif
