/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory.h - the two memfds of a session: made, sealed, checked, mapped
 */
#ifndef NFSWB_MEMORY_H
#define NFSWB_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/ring.h"

#define MEMORY_MIN (4 * NFSWB_CHUNK_BYTES)	/* of data */

struct memory {
	struct shm_view view;
	int control_fd, data_fd;	/* -1: private memory */
	uint64_t data_bytes;		/* 0: nothing here */
};

/* How long the data part may be: the least of what is configured, wanted (0:
   anything) and a quarter of the client's cgroup memory.max. */
uint64_t memory_size(uint64_t configured, uint64_t wanted, pid_t client);

/* Makes both memfds, sealed, mapped and formatted.  0 or -errno. */
int memory_new(struct memory *, uint64_t data_bytes, uint64_t session);
/* The same in the daemon's own memory, for a client that has none. */
int memory_private(struct memory *, uint64_t data_bytes, uint64_t session);
/* NULL: the two have the size and the seals that memory_new gives; else why not,
   in words. */
const char *memory_not_ours(int control_fd, int data_fd, uint64_t data_bytes);
/* Takes memfds that a client, or who kept them, hands back; takes the descriptors over when 0,
   else -errno and *why in words. */
int memory_adopt(struct memory *, int control_fd, int data_fd,
		 uint64_t data_bytes, const char **why);
void memory_free(struct memory *);
/* Gives the pages of a part of the data back; it reads as zeros then. */
void memory_punch(struct memory *, uint64_t place, uint64_t length);

#endif
