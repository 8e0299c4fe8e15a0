/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fh.h - an NFSv3 file handle as plain bytes (RFC 1813, 2.3.3) */
#ifndef NFSWB_FH_H
#define NFSWB_FH_H

#include <stdbool.h>
#include <string.h>

#define FH_MAX 64

struct fh {
	unsigned len;
	unsigned char data[FH_MAX];	/* bytes behind len are 0 */
};

static inline bool
fh_equal(const struct fh *a, const struct fh *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* len must be FH_MAX at most. */
static inline void
fh_set(struct fh *fh, const void *data, unsigned len)
{
	memset(fh, 0, sizeof *fh);
	fh->len = len;
	memcpy(fh->data, data, len);
}

#endif
