/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree.c - a file's extents in their orders: all and the DIRTY ones by
 * offset, and those of each kind by the oldest byte they answer for
 *
 * What is new lies behind all that is there, as a rule.  So each tree knows its
 * last, and what comes behind that is put there without a search.
 *
 * Cost: O(1) amortised behind the last, and where one is taken out; else O(log n)
 * in the file's extents.
 */
#include "daemon/writeback/extent_tree.h"
#include "daemon/writeback/pipeline_impl.h"

enum seq_tree { TREE_NONE, TREE_TO_WRITE, TREE_UNDER_WAY, TREE_UNCOMMITTED,
		TREE_FAILED };

static const struct {
	bool by_offset, by_dirty;
	enum seq_tree seq;
} trees_of[EXTENT_STATE_NR] = {
	[EXTENT_FREE] = { false, false, TREE_NONE },
	[EXTENT_DIRTY] = { true, true, TREE_TO_WRITE },
	[EXTENT_HELD] = { false, false, TREE_UNDER_WAY },
	[EXTENT_WRITEBACK] = { true, false, TREE_UNDER_WAY },
	[EXTENT_UNSTABLE] = { true, false, TREE_UNCOMMITTED },
	[EXTENT_GHOST] = { false, false, TREE_UNCOMMITTED },
	[EXTENT_CLEAN] = { true, false, TREE_NONE },
	[EXTENT_FAILED] = { true, false, TREE_FAILED },
};

static int
offset_cmp(struct extent *a, struct extent *b)
{
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int
seq_cmp(struct extent *a, struct extent *b)
{
	if (a->oldest_seq != b->oldest_seq)
		return a->oldest_seq < b->oldest_seq ? -1 : 1;
	return a < b ? -1 : a > b;
}

#ifdef RB_INSERT_NEXT
#define PUT_BEHIND(name, t, e, link) \
	RB_INSERT_NEXT(name, &(t)->root, (t)->last, e)
#else
#define PUT_BEHIND(name, t, e, link) do { \
	RB_SET(e, (t)->last, link); \
	RB_RIGHT((t)->last, link) = (e); \
	name##_RB_INSERT_COLOR(&(t)->root, e); \
} while (0)
#endif

#define TREE(name, link, cmp) \
RB_GENERATE_INTERNAL(name##_root, extent, link, cmp, \
		     static __attribute__((unused))) \
static void \
name##_put(struct name *t, struct extent *e) \
{ \
	if (t->last && cmp(e, t->last) < 0) { \
		RB_INSERT(name##_root, &t->root, e); \
		return; \
	} \
	if (t->last) \
		PUT_BEHIND(name##_root, t, e, link); \
	else \
		RB_INSERT(name##_root, &t->root, e); \
	t->last = e; \
} \
static void \
name##_take(struct name *t, struct extent *e) \
{ \
	if (t->last == e) \
		t->last = RB_PREV(name##_root, &t->root, e); \
	RB_REMOVE(name##_root, &t->root, e); \
}

TREE(extent_offset_tree, by_offset, offset_cmp)
TREE(extent_dirty_tree, by_dirty, offset_cmp)
TREE(extent_seq_tree, by_seq, seq_cmp)

static struct extent_seq_tree *
seq_tree(struct wb_file *f, enum seq_tree t)
{
	switch (t) {
	case TREE_TO_WRITE:
		return &f->to_write;
	case TREE_UNDER_WAY:
		return &f->under_way;
	case TREE_UNCOMMITTED:
		return &f->uncommitted;
	case TREE_FAILED:
		return &f->failed;
	case TREE_NONE:
		break;
	}
	return NULL;
}

static void
seq_put(struct extent *e, enum seq_tree which)
{
	struct extent_seq_tree *t = seq_tree(e->file, which);

	if (t)
		extent_seq_tree_put(t, e);
}

static void
seq_take(struct extent *e, enum seq_tree which)
{
	struct extent_seq_tree *t = seq_tree(e->file, which);

	if (t)
		extent_seq_tree_take(t, e);
}

void
extent_tree_leave(struct extent *e, enum extent_state to)
{
	enum extent_state from = e->state;
	struct wb_file *f = e->file;

	if (trees_of[from].by_dirty)
		extent_dirty_tree_take(&f->dirty, e);
	if (trees_of[from].by_offset && !trees_of[to].by_offset)
		extent_offset_tree_take(&f->extents, e);
	if (trees_of[from].seq != trees_of[to].seq)
		seq_take(e, trees_of[from].seq);
}

void
extent_tree_enter(struct extent *e, enum extent_state from)
{
	enum extent_state to = e->state;
	struct wb_file *f = e->file;

	if (trees_of[to].by_dirty)
		extent_dirty_tree_put(&f->dirty, e);
	if (trees_of[to].by_offset && !trees_of[from].by_offset)
		extent_offset_tree_put(&f->extents, e);
	if (trees_of[from].seq != trees_of[to].seq)
		seq_put(e, trees_of[to].seq);
}

void
extent_inherit(struct extent *e, uint64_t oldest_seq)
{
	enum seq_tree which = trees_of[e->state].seq;

	if (e->oldest_seq <= oldest_seq)
		return;
	seq_take(e, which);
	e->oldest_seq = oldest_seq;
	seq_put(e, which);
}

struct extent *
extent_at(struct wb_file *f, uint64_t offset)
{
	struct extent key = { .offset = offset };
	struct extent *last = f->extents.last, *e, *before;

	if (!last || extent_end(last) <= offset)
		return NULL;
	if (last->offset <= offset)
		return last;
	e = RB_NFIND(extent_offset_tree_root, &f->extents.root, &key);
	before = RB_PREV(extent_offset_tree_root, &f->extents.root, e);
	return before && extent_end(before) > offset ? before : e;
}

struct extent *
extent_next(struct extent *e)
{
	return RB_NEXT(extent_offset_tree_root, NULL, e);
}

struct extent *
extent_before(struct extent *e)
{
	return RB_PREV(extent_offset_tree_root, NULL, e);
}

struct extent *
extent_dirty_from(struct wb_file *f, uint64_t offset)
{
	struct extent key = { .offset = offset };

	if (!f->dirty.last || f->dirty.last->offset < offset)
		return NULL;
	return RB_NFIND(extent_dirty_tree_root, &f->dirty.root, &key);
}

struct extent *
extent_dirty_next(struct extent *e)
{
	return RB_NEXT(extent_dirty_tree_root, NULL, e);
}

struct extent *
extent_oldest(struct extent_seq_tree *t)
{
	return RB_MIN(extent_seq_tree_root, &t->root);
}

struct extent *
extent_older_next(struct extent *e)
{
	return RB_NEXT(extent_seq_tree_root, NULL, e);
}
