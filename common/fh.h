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

/* In lower case digits and a zero: 2 * len + 1 bytes. */
static inline void
fh_to_hex(const struct fh *fh, char *hex)
{
	static const char digit[] = "0123456789abcdef";
	unsigned i;

	for (i = 0; i < fh->len; i++) {
		*hex++ = digit[fh->data[i] >> 4];
		*hex++ = digit[fh->data[i] & 15];
	}
	*hex = 0;
}

static inline int
fh_digit(char c)
{
	const char *digits = "0123456789abcdef", *p = c ? strchr(digits, c)
							: NULL;

	return p ? (int)(p - digits) : -1;
}

/* 0, or -1: not what fh_to_hex makes of a handle. */
static inline int
fh_from_hex(struct fh *fh, const char *hex)
{
	size_t len = strlen(hex);
	unsigned i;

	memset(fh, 0, sizeof *fh);
	if (!len || len % 2 || len > 2 * FH_MAX)
		return -1;
	fh->len = (unsigned)(len / 2);
	for (i = 0; i < fh->len; i++) {
		int high = fh_digit(hex[2 * i]), low = fh_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		fh->data[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

#endif
