/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * payload.h - the part of a reply that goes straight to where it is wanted
 *
 *	record   head | payload              | pad
 *	         xid… | iov[0] iov[1] … drop |
 *
 * The head says whose reply it is, and how long its payload.  What of that has
 * no room in the iov, or whose call has ended meanwhile, is dropped.
 */
#ifndef NFSWB_RPC_PAYLOAD_H
#define NFSWB_RPC_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct payload {
	bool known;			/* the head has been understood, or will
					   never be: nothing more is asked */
	const void *owner;		/* the call; NULL: a plain record */
	bool faulted;			/* its memory can't be written */
	const struct iovec *iov;	/* iov_nr 0: all is dropped */
	int iov_nr;
	uint64_t bytes, at;		/* its length; what has come */
};

static inline uint64_t
payload_left(const struct payload *p)
{
	return p->bytes - p->at;
}

/* What the next most bytes of it are to be received into; the number of iovs, room
   at most.  0: they are to be dropped. */
int payload_gather(const struct payload *, uint64_t most, struct iovec *,
		   int room, uint64_t *bytes);
/* Bytes of it that came in a buffer. */
void payload_copy(struct payload *, const void *, size_t len);
/* It is not wanted any more. */
void payload_drop(struct payload *);

#endif
