/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_sink.c - see nfssim_sink.h */
#include <errno.h>

#include "tests/nfssim_sink.h"

size_t
sink_room(struct sink *s, void **buf)
{
	size_t room;

	if (s->mark_got < 4) {
		*buf = s->mark + s->mark_got;
		return 4 - s->mark_got;
	}
	*buf = NULL;
	if (s->length >= SINK_HEAD)
		return s->fragment_left;
	room = SINK_HEAD - s->length;
	*buf = s->head + s->length;
	return room < s->fragment_left ? room : s->fragment_left;
}

static int
fragment_ended(struct sink *s)
{
	s->mark_got = 0;
	return s->last;
}

static int
mark_came(struct sink *s, size_t max)
{
	uint32_t mark = (uint32_t)s->mark[0] << 24 |
			(uint32_t)s->mark[1] << 16 |
			(uint32_t)s->mark[2] << 8 | s->mark[3];

	if (s->last)
		s->length = 0;
	s->last = mark >> 31;
	s->fragment_left = mark & 0x7fffffff;
	if (s->fragment_left > max - s->length)
		return -EMSGSIZE;
	return s->fragment_left ? 0 : fragment_ended(s);
}

int
sink_took(struct sink *s, size_t n, size_t max)
{
	if (s->mark_got < 4) {
		s->mark_got += (unsigned)n;
		return s->mark_got < 4 ? 0 : mark_came(s, max);
	}
	s->length += n;
	s->fragment_left -= (uint32_t)n;
	return s->fragment_left ? 0 : fragment_ended(s);
}
