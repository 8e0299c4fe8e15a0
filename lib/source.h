/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* source.h - the caller's bytes, taken piece by piece from an iovec */
#ifndef NFSWB_LIB_SOURCE_H
#define NFSWB_LIB_SOURCE_H

#include <string.h>
#include <sys/uio.h>

struct source {
	const struct iovec *iov;
	size_t skip;		/* of iov[0] */
};

/* The next len bytes, which must be there. */
static inline void
source_copy(struct source *s, void *to, size_t len)
{
	unsigned char *p = to;
	size_t n;

	while (len) {
		n = s->iov->iov_len - s->skip;
		if (n > len)
			n = len;
		if (n)
			memcpy(p, (const char *)s->iov->iov_base + s->skip, n);
		p += n;
		len -= n;
		s->skip += n;
		if (s->skip == s->iov->iov_len) {
			s->iov++;
			s->skip = 0;
		}
	}
}

#endif
