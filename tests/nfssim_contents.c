/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_contents.c - a file's bytes, the stable and the volatile ones
 *
 * Blocks of 64 KiB stand in a tree by number; what is in none reads as zeros.
 * A block has two pictures of itself:
 *
 *	stable == now		nothing volatile in it
 *	stable != now		they differ at most where `unstable' says so
 *
 * Either is NULL while it is all zeros.  Behind its own end of file each
 * picture holds zeros, so growing shows none of the bytes that were cut.
 *
 * With a backing the stable picture is in its file instead, and a block is
 * there only while something in it is volatile.
 *
 * A snapshot is a copy of what is volatile, for a COMMIT that takes time: what
 * is written meanwhile isn't covered by it.  Volatile bytes carry the gen they
 * were written at, and a snapshot counts it up.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_backing.h"
#include "tests/nfssim_store.h"

#define BLOCK 65536u
#define SIZE_MAX_BYTES ((1ull << 63) - 1)

struct block {
	uint64_t nr;
	unsigned char *stable, *now;
	RB_ENTRY(block) link;
};

struct piece {
	uint64_t from, to;
	TAILQ_ENTRY(piece) link;
	unsigned char data[];		/* none with discard */
};

struct snapshot {
	uint64_t gen, end;		/* of the range, within the file */
	TAILQ_HEAD(, piece) pieces;
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
	ranges_init(&c->unstable);
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
	ranges_free(&c->unstable);
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

static bool
is_clean(const struct block *b)
{
	return b->stable == b->now;
}

/* A copy of the stable picture. */
static unsigned char *
copy_stable(const struct contents *c, const struct block *b)
{
	unsigned char *copy = b->stable ? malloc(BLOCK) : calloc(1, BLOCK);

	if (!copy)
		return NULL;
	if (b->stable)
		memcpy(copy, b->stable, BLOCK);
	if (c->backing && backing_read(c->backing, c->id, b->nr * BLOCK, copy,
				       BLOCK) < 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* Into the volatile picture, which becomes one of its own. */
static int
write_volatile(struct contents *c, struct block *b, uint32_t at,
	       const void *data, uint32_t len)
{
	unsigned char *own;

	if (is_clean(b)) {
		own = copy_stable(c, b);
		if (!own)
			return -1;
		b->now = own;
	}
	memcpy(b->now + at, data, len);
	return 0;
}

/* Into the stable picture, and not into another one. */
static int
write_stable(struct contents *c, struct block *b, uint32_t at,
	     const void *data, uint32_t len)
{
	bool shared = is_clean(b);

	if (c->backing)
		return backing_write(c->backing, c->id, b->nr * BLOCK + at,
				     data, len);
	if (!b->stable) {
		b->stable = calloc(1, BLOCK);
		if (!b->stable)
			return -1;
		if (shared)
			b->now = b->stable;
	}
	memcpy(b->stable + at, data, len);
	return 0;
}

static bool
has_unstable(const struct contents *c, const struct block *b)
{
	uint64_t x, y;

	return ranges_next(&c->unstable, b->nr * BLOCK, (b->nr + 1) * BLOCK,
			   &x, &y);
}

/* Blocks in which nothing is volatile any more have one picture again. */
static void
tidy(struct contents *c, uint64_t from, uint64_t to)
{
	struct block *b, *next;

	for (b = block_from(c, from / BLOCK); b && b->nr * BLOCK < to;
	     b = next) {
		next = RB_NEXT(block_tree, &c->blocks, b);
		if (has_unstable(c, b))
			continue;
		if (c->backing) {
			free_block(c, b);
		} else if (!is_clean(b)) {
			free(b->stable);
			b->stable = b->now;
		}
	}
}

static nfsstat3
write_blocks(struct contents *c, uint64_t offset, const unsigned char *data,
	     size_t len, bool stable)
{
	struct block *b;
	uint32_t at, n;
	int err;

	for (; len; offset += n, data += n, len -= n) {
		at = offset % BLOCK;
		n = (uint32_t)min_u64(len, BLOCK - at);
		b = get_block(c, offset / BLOCK);
		if (!b)
			return NFS3ERR_NOSPC;
		err = stable ? write_stable(c, b, at, data, n) : 0;
		if (!err && (!stable || !is_clean(b)))
			err = write_volatile(c, b, at, data, n);
		if (err)
			return NFS3ERR_IO;
	}
	return NFS3_OK;
}

static nfsstat3
grow_stable(struct contents *c, uint64_t size)
{
	if (size <= c->stable_size)
		return NFS3_OK;
	c->stable_size = size;
	return c->backing && backing_truncate(c->backing, c->id, size) < 0 ?
	       NFS3ERR_IO : NFS3_OK;
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
	ranges_remove(&c->unstable, offset, offset + len);
	if (!stable) {
		ranges_add(&c->unstable, offset, offset + len, c->gen);
		return NFS3_OK;
	}
	tidy(c, offset, offset + len);
	return grow_stable(c, offset + len);
}

static void
read_part(const struct contents *c, bool stable, uint64_t offset,
	  unsigned char *out, uint32_t n)
{
	const struct block *b = find_block(c, offset / BLOCK);
	const unsigned char *p = !b ? NULL : stable ? b->stable : b->now;

	if (p)
		memcpy(out, p + offset % BLOCK, n);
	else if (!c->backing ||
		 backing_read(c->backing, c->id, offset, out, n) < 0)
		memset(out, 0, n);
}

size_t
contents_read(const struct contents *c, bool stable, uint64_t offset,
	      void *buf, size_t len)
{
	uint64_t size = stable ? c->stable_size : c->size;
	unsigned char *out = buf;
	size_t left;
	uint32_t n;

	if (offset >= size)
		return 0;
	len = (size_t)min_u64(len, size - offset);
	for (left = len; left; offset += n, out += n, left -= n) {
		n = (uint32_t)min_u64(left, BLOCK - offset % BLOCK);
		read_part(c, stable, offset, out, n);
	}
	return len;
}

/* COMMIT */

static uint64_t
end_of(const struct contents *c, uint64_t offset, uint64_t length)
{
	return !length || length > c->size || offset + length > c->size ?
	       c->size : offset + length;
}

/* from … to, all of it volatile, becomes stable as data says (NULL: as it is
   now). */
static nfsstat3
stabilize(struct contents *c, uint64_t from, uint64_t to,
	  const unsigned char *data)
{
	struct block *b;
	uint32_t at, n;

	if (c->discard)
		return NFS3_OK;
	for (; from < to; from += n) {
		at = from % BLOCK;
		n = (uint32_t)min_u64(to - from, BLOCK - at);
		b = find_block(c, from / BLOCK);
		if (!b || !b->now)
			continue;	/* what isn't there can't be volatile */
		if (write_stable(c, b, at, data ? data : b->now + at, n))
			return NFS3ERR_IO;
		if (data)
			data += n;
	}
	return NFS3_OK;
}

/* from … to is not volatile any more: where the whole block is, its picture
   moves over, else the bytes are copied. */
static nfsstat3
commit_range(struct contents *c, uint64_t from, uint64_t to)
{
	struct block *b;
	uint64_t start;
	nfsstat3 st = NFS3_OK;

	c->stabilized += ranges_remove(&c->unstable, from, to);
	if (c->discard)
		return NFS3_OK;
	for (b = block_from(c, from / BLOCK);
	     b && b->nr * BLOCK < to && st == NFS3_OK;
	     b = RB_NEXT(block_tree, &c->blocks, b)) {
		start = b->nr * BLOCK;
		if (c->backing || has_unstable(c, b))
			st = stabilize(c, max_u64(from, start),
				       min_u64(to, start + BLOCK), NULL);
	}
	tidy(c, from, to);
	return st;
}

nfsstat3
contents_commit(struct contents *c, uint64_t offset, uint64_t length)
{
	uint64_t end = end_of(c, offset, length), at = offset, x, y;
	nfsstat3 st = NFS3_OK;

	if (offset >= end)
		return NFS3_OK;
	while (st == NFS3_OK && ranges_next(&c->unstable, at, end, &x, &y)) {
		st = commit_range(c, x, y);
		at = y;
	}
	return st == NFS3_OK ? grow_stable(c, end) : st;
}

/* COMMIT in two steps */

void
snapshot_free(struct snapshot *s)
{
	struct piece *p;

	if (!s)
		return;
	while ((p = TAILQ_FIRST(&s->pieces))) {
		TAILQ_REMOVE(&s->pieces, p, link);
		free(p);
	}
	free(s);
}

struct snapshot *
contents_snapshot(struct contents *c, uint64_t offset, uint64_t length)
{
	struct snapshot *s = calloc(1, sizeof *s);
	uint64_t at = offset, x, y;
	struct piece *p;

	if (!s)
		return NULL;
	TAILQ_INIT(&s->pieces);
	s->gen = c->gen++;
	s->end = end_of(c, offset, length);
	if (offset >= s->end)
		s->end = 0;
	while (at < s->end && ranges_next(&c->unstable, at, s->end, &x, &y)) {
		p = malloc(sizeof *p + (c->discard ? 0 : y - x));
		if (!p) {
			snapshot_free(s);
			return NULL;
		}
		p->from = x;
		p->to = y;
		if (!c->discard)
			contents_read(c, false, x, p->data, y - x);
		TAILQ_INSERT_TAIL(&s->pieces, p, link);
		at = y;
	}
	return s;
}

/* Of a piece: what was not written since is clean now, the rest keeps its newer
   volatile bytes.  A snapshot older than one applied before leaves these be. */
static nfsstat3
apply_piece(struct contents *c, const struct snapshot *s,
	    const struct piece *p)
{
	uint64_t at = p->from, x, y;
	nfsstat3 st = NFS3_OK;

	if (s->gen >= c->applied_gen)
		while (st == NFS3_OK &&
		       ranges_next(&c->unstable, at, p->to, &x, &y)) {
			st = stabilize(c, x, y, c->discard ? NULL :
				       p->data + (x - p->from));
			at = y;
		}
	while (st == NFS3_OK &&
	       ranges_first(&c->unstable, p->from, p->to, s->gen, &x, &y))
		st = commit_range(c, x, y);
	return st;
}

nfsstat3
contents_apply(struct contents *c, const struct snapshot *s)
{
	const struct piece *p;
	nfsstat3 st = NFS3_OK;

	TAILQ_FOREACH(p, &s->pieces, link)
		if (st == NFS3_OK)
			st = apply_piece(c, s, p);
	if (s->gen > c->applied_gen)
		c->applied_gen = s->gen;
	return st == NFS3_OK ? grow_stable(c, min_u64(s->end, c->size)) : st;
}

/* size, restart */

nfsstat3
contents_truncate(struct contents *c, uint64_t size)
{
	struct block *b, *next;
	uint64_t start;
	size_t n;

	ranges_remove(&c->unstable, size, UINT64_MAX);
	for (b = block_from(c, size / BLOCK); b; b = next) {
		next = RB_NEXT(block_tree, &c->blocks, b);
		start = b->nr * BLOCK;
		if (start >= size) {
			free_block(c, b);
			continue;
		}
		n = (size_t)(BLOCK - (size - start));
		if (b->now)
			memset(b->now + (size - start), 0, n);
		if (b->stable && !is_clean(b))
			memset(b->stable + (size - start), 0, n);
	}
	tidy(c, size, size + 1);
	c->size = c->stable_size = size;
	return c->backing && backing_truncate(c->backing, c->id, size) < 0 ?
	       NFS3ERR_IO : NFS3_OK;
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
	ranges_free(&c->unstable);
	c->size = c->stable_size;
}
