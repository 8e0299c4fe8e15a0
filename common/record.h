/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record.h - record marking on a byte stream (RFC 5531, section 11)
 *
 * The reader collects one record at a time from bytes as they come; the size
 * is checked before anything is allocated.  An empty record is reported as a
 * record of length 0.  Used by the RPC transport, the socket sessions of the
 * daemon and the library.
 */
#ifndef NFSWB_RECORD_H
#define NFSWB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_LAST 0x80000000u		/* in the mark: last fragment */

struct record_reader {
	size_t max;		/* of a whole record */
	unsigned char mark[4];
	unsigned mark_got;
	uint32_t fragment_left;
	bool last;
	unsigned char *data;	/* the record so far */
	size_t length, room;
	size_t elsewhere;	/* bytes of it that did not come into data */
};

/* max: bytes a whole record may have. */
void record_reader_init(struct record_reader *, size_t max);
void record_reader_free(struct record_reader *);
/* Forgets what was half read (a new connection). */
void record_reader_reset(struct record_reader *);

/*
 * Takes bytes from buf, *used of them, until a record is whole: 1, and
 * reader->data, reader->length are it until the next call.  0: all bytes taken,
 * none whole.  -EMSGSIZE: longer than max.  -ENOMEM.
 */
int record_feed(struct record_reader *, const void *buf, size_t len,
		size_t *used);

/*
 * Where the next bytes should be received to spare a copy: *buf and the return
 * value are room for that many bytes of the current fragment (0: use
 * record_feed, a mark is due).  After receiving n bytes there call
 * record_took(n): 1 when that completed the record, else 0.
 */
size_t record_room(struct record_reader *, void **buf);
int record_took(struct record_reader *, size_t n);

/*
 * A part of a record may go elsewhere than into data.  record_left: bytes of the
 * current fragment that are to come (0: a mark is due).  record_elsewhere: n of
 * those were received by the caller; 1 when that completed the record, else 0.
 * record_cut: of the bytes in data, n from at on are the caller's; what lies
 * behind them moves up.
 */
size_t record_left(const struct record_reader *);
int record_elsewhere(struct record_reader *, size_t n);
void record_cut(struct record_reader *, size_t at, size_t n);

/* Makes the memory of the record that is whole the caller's, who frees it;
   an empty one may have none: NULL. */
unsigned char *record_take(struct record_reader *);

/* The mark before a record of len bytes sent as one fragment. */
void record_mark(unsigned char mark[4], size_t len);

#endif
