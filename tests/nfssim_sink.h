/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_sink.h - records of which only the beginning is kept
 *
 * For the store that discards: a payload is not even copied out of the socket
 * where the socket can do without (TCP).
 */
#ifndef NFSWB_TESTS_NFSSIM_SINK_H
#define NFSWB_TESTS_NFSSIM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SINK_HEAD 4096u

struct sink {			/* zeroed: a mark is due */
	unsigned char mark[4];
	unsigned mark_got;
	uint32_t fragment_left;
	bool last;
	size_t length;		/* of the record so far */
	unsigned char head[SINK_HEAD];
};

/* Bytes that may come next, and where to: NULL: nowhere. */
size_t sink_room(struct sink *, void **buf);
/* 1: that completed a record; its length and head are good until the next call.
   0: not yet.  -EMSGSIZE: longer than max. */
int sink_took(struct sink *, size_t n, size_t max);

#endif
