/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* payload.c - see payload.h */
#include <string.h>

#include "rpc/payload.h"

int
payload_gather(const struct payload *p, uint64_t most, struct iovec *out,
	       int room, uint64_t *bytes)
{
	uint64_t skip = p->at, n;
	int i, nr = 0;

	*bytes = 0;
	for (i = 0; i < p->iov_nr && nr < room && *bytes < most; i++) {
		n = p->iov[i].iov_len;
		if (skip >= n) {
			skip -= n;
			continue;
		}
		n -= skip;
		if (n > most - *bytes)
			n = most - *bytes;
		out[nr].iov_base = (char *)p->iov[i].iov_base + skip;
		out[nr].iov_len = n;
		*bytes += n;
		skip = 0;
		nr++;
	}
	return nr;
}

void
payload_copy(struct payload *p, const void *from, size_t len)
{
	const char *at = from;
	struct iovec piece;
	uint64_t n;

	while (len) {
		if (!payload_gather(p, len, &piece, 1, &n)) {
			p->at += len;		/* dropped */
			return;
		}
		memcpy(piece.iov_base, at, n);
		p->at += n;
		at += n;
		len -= n;
	}
}

void
payload_drop(struct payload *p)
{
	p->iov = NULL;
	p->iov_nr = 0;
}
