/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* peer.h - who is at the other end of a socket, as the kernel says it */
#ifndef NFSWB_PEER_H
#define NFSWB_PEER_H

#include <stdint.h>
#include <sys/types.h>

#include "common/cred.h"

struct peer {
	pid_t pid;		/* 0: in another PID namespace */
	uint64_t starttime;	/* of pid, in clock ticks since boot; 0: gone */
	struct cred *cred;	/* a reference */
	char comm[20];
};

/* 0 or -errno; then peer_clear is not needed. */
int peer_init(struct peer *, int fd);
void peer_clear(struct peer *);
/* A process that has ended, as it is remembered. */
void peer_gone(struct peer *, pid_t, struct cred *);

/* 0: there is no such process. */
uint64_t peer_starttime(pid_t);
/* A descriptor that gets readable when the process ends, or -errno. */
int peer_pidfd(pid_t);

#endif
