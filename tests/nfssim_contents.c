/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_contents.c - a file's bytes, the stable and the volatile ones
 *
 * Blocks of 64 KiB stand in a tree by number; what is in none reads as zeros.
 * A block has two pictures of itself:
 *
 *	stable == now		nothing volatile in it
 *	stable != now		they differ within dirty_from … dirty_to at most
 *
 * Either is NULL while it is all zeros.  Behind its own end of file each
 * picture holds zeros, so growing shows none of the bytes that were cut.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_store.h"

#define BLOCK 65536u
#define SIZE_MAX_BYTES (1ull << 62)

struct block {
	uint64_t nr;
	unsigned char *stable, *now;
	uint32_t dirty_from, dirty_to;
	RB_ENTRY(block) link;
};

static int
block_cmp(const struct block *a, const struct block *b)
{
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

RB_PROTOTYPE(block_tree, block, link, block_cmp)
RB_GENERATE(block_tree, block, link, block_cmp)

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void
contents_init(struct contents *c, bool discard)
{
	memset(c, 0, sizeof *c);
	c->discard = discard;
	RB_INIT(&c->blocks);
}

static void
free_block(struct contents *c, struct block *b)
{
	RB_REMOVE(block_tree, &c->blocks, b);
	if (b->now != b->stable)
		free(b->now);
	free(b->stable);
	free(b);
	c->used -= BLOCK;
}

void
contents_free(struct contents *c)
{
	struct block *b;

	while ((b = RB_MIN(block_tree, &c->blocks)))
		free_block(c, b);
}

static struct block *
find_block(const struct contents *c, uint64_t nr)
{
	struct block key = { .nr = nr };

	return RB_FIND(block_tree, (struct block_tree *)&c->blocks, &key);
}

/* The first block with this number or a higher one. */
static struct block *
block_from(struct contents *c, uint64_t nr)
{
	struct block key = { .nr = nr };

	return RB_NFIND(block_tree, &c->blocks, &key);
}

static struct block *
get_block(struct contents *c, uint64_t nr)
{
	struct block *b = find_block(c, nr);

	if (b)
		return b;
	b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->nr = nr;
	RB_INSERT(block_tree, &c->blocks, b);
	c->used += BLOCK;
	return b;
}

static unsigned char *
copy_of(const unsigned char *p)
{
	unsigned char *copy = p ? malloc(BLOCK) : calloc(1, BLOCK);

	if (p && copy)
		memcpy(copy, p, BLOCK);
	return copy;
}

static bool
is_clean(const struct block *b)
{
	return b->stable == b->now;
}

/* Into the volatile picture, which becomes one of its own. */
static int
write_volatile(struct block *b, uint32_t at, const void *data, uint32_t len)
{
	unsigned char *own;

	if (is_clean(b)) {
		own = copy_of(b->stable);
		if (!own)
			return -1;
		b->now = own;
		b->dirty_from = at;
		b->dirty_to = at + len;
	}
	b->dirty_from = (uint32_t)min_u64(b->dirty_from, at);
	b->dirty_to = (uint32_t)max_u64(b->dirty_to, at + len);
	memcpy(b->now + at, data, len);
	return 0;
}

static int
write_both(struct block *b, uint32_t at, const void *data, uint32_t len)
{
	bool shared = is_clean(b);

	if (!b->stable) {
		b->stable = copy_of(NULL);
		if (!b->stable)
			return -1;
		if (shared)
			b->now = b->stable;
	}
	memcpy(b->stable + at, data, len);
	if (!shared)
		memcpy(b->now + at, data, len);
	return 0;
}

static nfsstat3
write_blocks(struct contents *c, uint64_t offset, const unsigned char *data,
	     size_t len, bool stable)
{
	struct block *b;
	uint32_t at, n;

	for (; len; offset += n, data += n, len -= n) {
		at = offset % BLOCK;
		n = (uint32_t)min_u64(len, BLOCK - at);
		b = get_block(c, offset / BLOCK);
		if (!b || (stable ? write_both(b, at, data, n) :
				    write_volatile(b, at, data, n)) < 0)
			return NFS3ERR_NOSPC;
	}
	return NFS3_OK;
}

nfsstat3
contents_write(struct contents *c, uint64_t offset, const void *data,
	       size_t len, bool stable)
{
	nfsstat3 st = NFS3_OK;

	if (offset > SIZE_MAX_BYTES || len > SIZE_MAX_BYTES - offset)
		return NFS3ERR_FBIG;
	if (!c->discard)
		st = write_blocks(c, offset, data, len, stable);
	if (st != NFS3_OK || !len)
		return st;
	c->size = max_u64(c->size, offset + len);
	if (stable)
		c->stable_size = max_u64(c->stable_size, offset + len);
	return NFS3_OK;
}

size_t
contents_read(const struct contents *c, bool stable, uint64_t offset,
	      void *buf, size_t len)
{
	uint64_t size = stable ? c->stable_size : c->size;
	unsigned char *out = buf, *picture;
	const struct block *b;
	size_t left;
	uint32_t at, n;

	if (offset >= size)
		return 0;
	len = (size_t)min_u64(len, size - offset);
	for (left = len; left; offset += n, out += n, left -= n) {
		at = offset % BLOCK;
		n = (uint32_t)min_u64(left, BLOCK - at);
		b = find_block(c, offset / BLOCK);
		picture = !b ? NULL : stable ? b->stable : b->now;
		if (picture)
			memcpy(out, picture + at, n);
		else
			memset(out, 0, n);
	}
	return len;
}

/* from … to, within the block, becomes stable. */
static void
commit_block(struct block *b, uint32_t from, uint32_t to)
{
	if (is_clean(b))
		return;
	if (from <= b->dirty_from && to >= b->dirty_to) {
		free(b->stable);
		b->stable = b->now;
		return;
	}
	if (!b->stable)
		b->stable = copy_of(NULL);
	if (b->stable)
		memcpy(b->stable + from, b->now + from, to - from);
}

void
contents_commit(struct contents *c, uint64_t offset, uint64_t length)
{
	uint64_t end = !length || length > c->size ||
		       offset + length > c->size ? c->size : offset + length;
	struct block *b;
	uint64_t start;

	if (offset >= end)
		return;
	for (b = block_from(c, offset / BLOCK); b && b->nr * BLOCK < end;
	     b = RB_NEXT(block_tree, &c->blocks, b)) {
		start = b->nr * BLOCK;
		commit_block(b, (uint32_t)(max_u64(offset, start) - start),
			     (uint32_t)min_u64(end - start, BLOCK));
	}
	c->stable_size = max_u64(c->stable_size, end);
}

void
contents_truncate(struct contents *c, uint64_t size)
{
	struct block *b, *next;
	uint64_t start;

	for (b = block_from(c, size / BLOCK); b; b = next) {
		next = RB_NEXT(block_tree, &c->blocks, b);
		start = b->nr * BLOCK;
		if (start >= size) {
			free_block(c, b);
			continue;
		}
		if (b->now)
			memset(b->now + (size - start), 0,
			       (size_t)(BLOCK - (size - start)));
		if (b->stable && !is_clean(b))
			memset(b->stable + (size - start), 0,
			       (size_t)(BLOCK - (size - start)));
	}
	c->size = c->stable_size = size;
}

void
contents_forget(struct contents *c)
{
	struct block *b, *next;

	for (b = RB_MIN(block_tree, &c->blocks); b; b = next) {
		next = RB_NEXT(block_tree, &c->blocks, b);
		if (!is_clean(b))
			free(b->now);
		b->now = b->stable;
		if (!b->stable)
			free_block(c, b);
	}
	c->size = c->stable_size;
}
