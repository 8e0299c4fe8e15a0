/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record.c - record marking
 *
 *	mark_got < 4				a mark is due
 *	mark_got == 4, fragment_left > 0	bytes of a fragment are due
 *	mark_got == 0, last			the record in data is whole
 *
 * Memory grows with the bytes that came, not with what a mark announces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/record.h"

#define ROOM_STEP 65536u

void
record_reader_init(struct record_reader *r, size_t max)
{
	memset(r, 0, sizeof *r);
	r->max = max;
}

void
record_reader_free(struct record_reader *r)
{
	free(r->data);
	record_reader_init(r, r->max);
}

void
record_reader_reset(struct record_reader *r)
{
	r->mark_got = 0;
	r->fragment_left = 0;
	r->last = false;
	r->length = 0;
	r->elsewhere = 0;
}

/* The record that was whole at the last call is the caller's no more. */
static void
forget_whole(struct record_reader *r)
{
	if (r->last && !r->mark_got)
		record_reader_reset(r);
}

static bool
is_too_long(const struct record_reader *r)
{
	return r->fragment_left > r->max - r->length - r->elsewhere;
}

/* Room for some of the current fragment's bytes behind what is here. */
static int
make_room(struct record_reader *r)
{
	size_t end = r->length + r->fragment_left, room;
	unsigned char *p;

	if (r->room > r->length)
		return 0;
	room = r->room * 2 > r->length + ROOM_STEP ? r->room * 2 :
						     r->length + ROOM_STEP;
	if (room > end)
		room = end;
	p = realloc(r->data, room);
	if (!p)
		return -ENOMEM;
	r->data = p;
	r->room = room;
	return 0;
}

/* The fragment is over: 1 when the record is, too. */
static int
end_fragment(struct record_reader *r)
{
	r->mark_got = 0;
	return r->last;
}

static void
parse_mark(struct record_reader *r)
{
	uint32_t mark = (uint32_t)r->mark[0] << 24 |
			(uint32_t)r->mark[1] << 16 |
			(uint32_t)r->mark[2] << 8 | r->mark[3];

	r->last = mark & RECORD_LAST;
	r->fragment_left = mark & ~RECORD_LAST;
}

static size_t
room_left(const struct record_reader *r)
{
	size_t room = r->room - r->length;

	return room < r->fragment_left ? room : r->fragment_left;
}

int
record_took(struct record_reader *r, size_t n)
{
	r->length += n;
	r->fragment_left -= (uint32_t)n;
	return r->fragment_left ? 0 : end_fragment(r);
}

size_t
record_room(struct record_reader *r, void **buf)
{
	forget_whole(r);
	if (r->mark_got < 4 || is_too_long(r) || make_room(r) < 0)
		return 0;
	*buf = r->data + r->length;
	return room_left(r);
}

/* One mark byte, or a piece of a fragment: 1 whole, 0, or -errno. */
static int
feed_step(struct record_reader *r, const unsigned char *p, size_t len,
	  size_t *took)
{
	int err;

	if (r->mark_got < 4) {
		r->mark[r->mark_got++] = *p;
		*took = 1;
		if (r->mark_got < 4)
			return 0;
		parse_mark(r);
		if (is_too_long(r))
			return -EMSGSIZE;
		return r->fragment_left ? 0 : end_fragment(r);
	}
	*took = 0;
	if (is_too_long(r))
		return -EMSGSIZE;
	err = make_room(r);
	if (err < 0)
		return err;
	if (len > room_left(r))
		len = room_left(r);
	memcpy(r->data + r->length, p, len);
	*took = len;
	return record_took(r, len);
}

int
record_feed(struct record_reader *r, const void *buf, size_t len, size_t *used)
{
	const unsigned char *p = buf;
	size_t took;
	int ret = 0;

	forget_whole(r);
	*used = 0;
	while (!ret && *used < len) {
		ret = feed_step(r, p + *used, len - *used, &took);
		*used += took;
	}
	return ret;
}

size_t
record_left(const struct record_reader *r)
{
	return r->mark_got == 4 ? r->fragment_left : 0;
}

int
record_elsewhere(struct record_reader *r, size_t n)
{
	r->elsewhere += n;
	r->fragment_left -= (uint32_t)n;
	return r->fragment_left ? 0 : end_fragment(r);
}

void
record_cut(struct record_reader *r, size_t at, size_t n)
{
	memmove(r->data + at, r->data + at + n, r->length - at - n);
	r->length -= n;
	r->elsewhere += n;
}

unsigned char *
record_take(struct record_reader *r)
{
	unsigned char *data = r->data;

	r->data = NULL;
	r->room = 0;
	return data;
}

void
record_mark(unsigned char mark[4], size_t len)
{
	uint32_t m = RECORD_LAST | (uint32_t)len;

	mark[0] = (unsigned char)(m >> 24);
	mark[1] = (unsigned char)(m >> 16);
	mark[2] = (unsigned char)(m >> 8);
	mark[3] = (unsigned char)m;
}
