/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * handshake.h - the first call on a new socket: HELLO or RESUME
 *
 * Never waits: handshake_step does what can be done, the caller polls fd for
 * events in between.  No byte behind the answer is read.
 */
#ifndef NFSWB_LIB_HANDSHAKE_H
#define NFSWB_LIB_HANDSHAKE_H

#include <stddef.h>
#include <sys/un.h>

#include "common/record.h"
#include "include/nfswb_prot.h"

struct handshake {
	int fd;
	unsigned char *out;
	size_t length, sent;
	int pass[2];		/* go with the first byte; -1: none */
	int got[2];		/* came with the answer */
	unsigned got_nr;
	struct record_reader in;
};

/* Connects and makes the record; pass NULL: no descriptors.  0, or -errno with
   nothing to end. */
int handshake_begin(struct handshake *, const struct sockaddr_un *,
		    const nfswb_call *, const int pass[2]);
/* 1: answered, the caller frees the reply; 0: poll and come back; -errno. */
int handshake_step(struct handshake *, nfswb_reply *);
short handshake_events(const struct handshake *);
/* Closes what is left: set fd, got_nr to -1, 0 to keep those. */
void handshake_end(struct handshake *);

#endif
