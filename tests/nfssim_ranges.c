/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_ranges.c - see nfssim_ranges.h */
#include <stdlib.h>

#include "tests/nfssim_ranges.h"

static int
range_cmp(const struct range *a, const struct range *b)
{
	return a->from < b->from ? -1 : a->from > b->from;
}

RB_PROTOTYPE(range_tree, range, link, range_cmp)
RB_GENERATE(range_tree, range, link, range_cmp)

void
ranges_init(struct ranges *r)
{
	RB_INIT(&r->tree);
	TAILQ_INIT(&r->list);
	r->bytes = 0;
}

static void
drop(struct ranges *r, struct range *x)
{
	RB_REMOVE(range_tree, &r->tree, x);
	TAILQ_REMOVE(&r->list, x, order);
	r->bytes -= x->to - x->from;
	free(x);
}

void
ranges_free(struct ranges *r)
{
	struct range *x;

	while ((x = TAILQ_FIRST(&r->list)))
		drop(r, x);
}

/* The last that begins at or before. */
static struct range *
at_or_before(const struct ranges *r, uint64_t offset)
{
	struct range key = { .from = offset };
	struct range_tree *tree = (struct range_tree *)&r->tree;
	struct range *x = RB_NFIND(range_tree, tree, &key);

	if (x && x->from == offset)
		return x;
	return x ? RB_PREV(range_tree, tree, x) : RB_MAX(range_tree, tree);
}

/* The first that ends behind offset. */
static struct range *
ends_behind(const struct ranges *r, uint64_t offset)
{
	struct range *x = at_or_before(r, offset);

	if (!x)
		return RB_MIN(range_tree, (struct range_tree *)&r->tree);
	return x->to > offset ? x : RB_NEXT(range_tree, &r->tree, x);
}

static struct range *
insert(struct ranges *r, uint64_t from, uint64_t to, uint64_t gen,
       struct range *after)
{
	struct range *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->from = from;
	x->to = to;
	x->gen = gen;
	RB_INSERT(range_tree, &r->tree, x);
	if (after)
		TAILQ_INSERT_AFTER(&r->list, after, x, order);
	else
		TAILQ_INSERT_TAIL(&r->list, x, order);
	r->bytes += to - from;
	return x;
}

static void
add_gap(struct ranges *r, uint64_t from, uint64_t to, uint64_t gen)
{
	struct range *left = from ? at_or_before(r, from - 1) : NULL;

	if (left && left->to == from && left->gen == gen) {
		left->to = to;
		r->bytes += to - from;
	} else {
		insert(r, from, to, gen, NULL);
	}
}

uint64_t
ranges_add(struct ranges *r, uint64_t from, uint64_t to, uint64_t gen)
{
	uint64_t before = r->bytes, a, b;

	while (from < to && ranges_gap(r, from, to, &a, &b)) {
		add_gap(r, a, b, gen);
		from = b;
	}
	return r->bytes - before;
}

uint64_t
ranges_remove(struct ranges *r, uint64_t from, uint64_t to)
{
	uint64_t before = r->bytes, end;
	struct range *x, *next;

	for (x = ends_behind(r, from); x && x->from < to; x = next) {
		next = RB_NEXT(range_tree, &r->tree, x);
		end = x->to;
		if (x->from >= from && end <= to) {
			drop(r, x);
			continue;
		}
		if (x->from < from) {
			x->to = from;
			r->bytes -= end - from;
			if (end > to)
				insert(r, to, end, x->gen, x);
			continue;
		}
		/* its place in the tree stays right: nothing is in between */
		r->bytes -= to - x->from;
		x->from = to;
	}
	return before - r->bytes;
}

bool
ranges_first(const struct ranges *r, uint64_t from, uint64_t to, uint64_t gen,
	     uint64_t *a, uint64_t *b)
{
	const struct range *x;

	if (from >= to)
		return false;
	TAILQ_FOREACH(x, &r->list, order) {
		if (x->gen > gen)
			return false;
		if (x->to <= from || x->from >= to)
			continue;
		*a = x->from > from ? x->from : from;
		*b = x->to < to ? x->to : to;
		return true;
	}
	return false;
}

bool
ranges_next(const struct ranges *r, uint64_t from, uint64_t to, uint64_t *a,
	    uint64_t *b)
{
	const struct range *x = ends_behind(r, from);

	if (!x || x->from >= to || from >= to)
		return false;
	*a = x->from > from ? x->from : from;
	*b = x->to < to ? x->to : to;
	return true;
}

bool
ranges_gap(const struct ranges *r, uint64_t from, uint64_t to, uint64_t *a,
	   uint64_t *b)
{
	const struct range *x = ends_behind(r, from);

	while (x && x->from <= from) {
		from = x->to;
		x = RB_NEXT(range_tree, &r->tree, (struct range *)x);
	}
	if (from >= to)
		return false;
	*a = from;
	*b = x && x->from < to ? x->from : to;
	return true;
}
