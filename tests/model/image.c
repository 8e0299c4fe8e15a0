/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* image.c - see image.h */
#include <stdio.h>
#include <string.h>

#include "tests/model/image.h"

void
image_state(const struct image *m, struct state *s)
{
	s->size = m->size;
	memcpy(s->data, m->data, IMAGE_MAX);
}

void
image_touch(struct image *m, uint32_t offset, uint32_t end)
{
	memset(m->over + offset, true, end - offset);
}

void
image_touch_cut(struct image *m, uint32_t size)
{
	image_touch(m, size, IMAGE_MAX);
	if (m->promised_size > size)
		m->promised_size = size;
}

void
image_write(struct image *m, uint32_t offset, const void *data, uint32_t len)
{
	memcpy(m->data + offset, data, len);
	memset(m->vague + offset, false, len);
	memset(m->lost + offset, false, len);
	if (len && offset + len > m->size)
		m->size = offset + len;
}

void
image_cut(struct image *m, uint32_t size)
{
	if (size < m->size) {
		memset(m->data + size, 0, IMAGE_MAX - size);
		memset(m->vague + size, false, IMAGE_MAX - size);
		memset(m->lost + size, false, IMAGE_MAX - size);
	}
	m->size = size;
	m->vague_size = m->lost_size = false;
}

void
image_give_up(struct image *m, uint64_t offset, uint64_t length)
{
	memset(m->vague + offset, true, length);
	memset(m->lost + offset, true, length);
	image_touch(m, (uint32_t)offset, (uint32_t)(offset + length));
	if (offset + length >= m->size)
		m->vague_size = m->lost_size = true;
}

static bool
one_of(const struct state *s, unsigned nr, uint32_t at, unsigned char byte)
{
	while (nr--)
		if (s[nr].data[at] == byte)
			return true;
	return false;
}

static uint32_t
least_size(const struct state *s, unsigned nr)
{
	uint32_t least = s->size;

	while (--nr)
		if (s[nr].size < least)
			least = s[nr].size;
	return least;
}

static uint32_t
most_size(const struct state *s, unsigned nr)
{
	uint32_t most = s->size;

	while (--nr)
		if (s[nr].size > most)
			most = s[nr].size;
	return most;
}

static bool
differs(const char *what, uint32_t at, const unsigned char *is,
	const unsigned char *should)
{
	printf("# %s: byte %u is %02x, not %02x\n", what, at, is[at],
	       should[at]);
	return false;
}

bool
image_promise(struct image *m, const struct state *s, unsigned nr,
	      const void *stable, int64_t size)
{
	const unsigned char *there = stable;
	uint32_t i;
	unsigned k;

	if (!m->lost_size && (size < least_size(s, nr) ||
			       size > most_size(s, nr))) {
		printf("# stable: %lld bytes, not %u to %u\n", (long long)size,
		       least_size(s, nr), most_size(s, nr));
		return false;
	}
	if (nr > 1 || memcmp(there, s->data, (size_t)size))
		for (i = 0; i < size; i++)
			if (!m->lost[i] && !one_of(s, nr, i, there[i]))
				return differs("stable", i, there, s->data);
	m->promise = true;
	m->promised_size = least_size(s, nr) < size ? least_size(s, nr) :
						      (uint32_t)size;
	memcpy(m->promised, s->data, IMAGE_MAX);
	memcpy(m->over, m->lost, IMAGE_MAX);
	for (k = 1; k < nr; k++)
		for (i = 0; i < m->promised_size; i++)
			m->over[i] |= s[k].data[i] != s[0].data[i];
	return true;
}

bool
image_holds(const struct image *m, const void *stable, int64_t size)
{
	const unsigned char *there = stable;
	uint32_t i;

	if (!m->promise)
		return true;
	if (size < m->promised_size) {
		printf("# promised: %u bytes, there are %lld\n",
		       m->promised_size, (long long)size);
		return false;
	}
	for (i = 0; i < m->promised_size; i++)
		if (!m->over[i] && there[i] != m->promised[i])
			return differs("promised", i, there, m->promised);
	return true;
}

static uint32_t
expected(uint32_t size, uint32_t offset, uint32_t len)
{
	if (offset >= size)
		return 0;
	return size - offset < len ? size - offset : len;
}

bool
image_read_is(struct image *m, const struct state *s, unsigned nr,
	      uint32_t offset, uint32_t len, const void *data, int64_t got)
{
	const unsigned char *there = data;
	uint32_t i, least = expected(least_size(s, nr), offset, len);
	uint32_t most = expected(most_size(s, nr), offset, len);

	if (got < least || got > most) {
		printf("# read: %lld bytes, not %u to %u\n", (long long)got,
		       least, most);
		return false;
	}
	for (i = 0; i < got; i++) {
		if (m->vague[offset + i]) {
			m->vague[offset + i] = false;
			m->data[offset + i] = there[i];
		} else if (!one_of(s, nr, offset + i, there[i])) {
			return differs("read", i, there, s->data + offset);
		}
	}
	return true;
}

bool
image_err_since(const struct image *m, unsigned nr, int err)
{
	unsigned i;

	for (i = nr; i < m->err_nr; i++)
		if (m->errs[i % IMAGE_ERRS] == err)
			return true;
	return false;
}
