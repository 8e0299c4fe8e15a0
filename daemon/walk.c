/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * walk.c - from the mount's root to a name, by LOOKUP
 *
 *	stack: root ─ a ─ b		rest: "c/d"
 *
 * One name a step, with the caller's credential.  ".." (only symbolic links
 * hold it) goes back down the stack and stops at the root.  A link's content
 * takes its name's place in what is left; an absolute one is understood where
 * it lies below the export.  A stale handle on the way starts the walk anew,
 * once, as somebody has changed the folders meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/namespace_impl.h"

#define LINKS_MAX 40
#define PATH_BYTES_MAX 65536

static void walk_step(struct op *);

const struct fh *
walk_folder(const struct walk *w)
{
	return &w->stack[w->depth - 1];
}

void
walk_clear(struct walk *w)
{
	free(w->buffer);
	free(w->stack);
	free(w->stack_attr);
	free(w->leaf);
	memset(w, 0, sizeof *w);
}

static bool
push(struct walk *w, const struct fh *fh, const struct nfswb_attr *attr)
{
	if (w->depth == w->room) {
		unsigned room = w->room ? 2 * w->room : 16;
		struct fh *stack = realloc(w->stack, room * sizeof *stack);
		struct nfswb_attr *attrs;

		if (!stack)
			return false;
		w->stack = stack;
		attrs = realloc(w->stack_attr, room * sizeof *attrs);
		if (!attrs)
			return false;
		w->stack_attr = attrs;
		w->room = room;
	}
	w->stack[w->depth] = *fh;
	w->stack_attr[w->depth++] = *attr;
	return true;
}

static bool
push_root(struct op *op)
{
	const struct nfswb_attr unknown = { .type = 0 };

	op->walk.depth = 0;
	return push(&op->walk, &op->mount->root, &unknown);
}

/* True: err has been dealt with. */
static bool
walk_refused(struct op *op, int err)
{
	struct walk *w = &op->walk;

	if (err == -ESTALE && !w->again) {
		if (w->depth == 1)
			op->mount->stale = true;
		w->again = true;
		walk_start(op, w->flags, w->done);
		return true;
	}
	return op_refused(op, err);
}

/* ---- the end ---- */

static void
walk_end_folder(struct op *op)
{
	struct walk *w = &op->walk;

	w->fh = *walk_folder(w);
	w->attr = w->stack_attr[w->depth - 1];
	w->found = true;
	w->done(op);
}

static void
folder_attr_came(struct op *op, int err, const void *data)
{
	const GETATTR3res *res = data;
	struct walk *w = &op->walk;

	if (walk_refused(op, err))
		return;
	attr_from_fattr(&w->stack_attr[w->depth - 1],
			&res->GETATTR3res_u.resok.obj_attributes);
	walk_end_folder(op);
}

/* The path names the folder we stand in: the root, or "a/..". */
static void
walk_end_here(struct op *op)
{
	struct walk *w = &op->walk;

	if (w->flags & WALK_PARENT)
		w->done(op);
	else if (!w->stack_attr[w->depth - 1].type)
		op_getattr(op, walk_folder(w), folder_attr_came);
	else
		walk_end_folder(op);
}

/* ---- symbolic links ---- */

/* content takes the place of the name just looked up. */
static int
splice(struct op *op, const char *content)
{
	struct walk *w = &op->walk;
	char *buffer = NULL;

	if (*content == '/') {
		content = target_below(content, op->mount->export);
		if (!content)
			return -EXDEV;
		w->depth = 1;
	}
	if (strlen(content) + strlen(w->rest) > PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (asprintf(&buffer, "%s/%s", content, w->rest) < 0)
		return -ENOMEM;
	free(w->buffer);
	w->buffer = w->rest = buffer;
	return 0;
}

static void
link_came(struct op *op, int err, const void *data)
{
	const READLINK3res *res = data;
	const char *content;
	char more[512];

	if (walk_refused(op, err))
		return;
	content = res->READLINK3res_u.resok.data;
	err = *content ? splice(op, content) : -ENOENT;
	if (!err) {
		walk_step(op);
		return;
	}
	snprintf(more, sizeof more, "the symbolic link '%.100s' on its way "
		 "points to '%.200s'%s", op->walk.leaf, content,
		 err == -EXDEV ? ", outside of this export" : "");
	op_fail(op, err, more);
}

static void
walk_link(struct op *op)
{
	struct walk *w = &op->walk;

	if (++w->links > LINKS_MAX)
		op_fail(op, -ELOOP, NULL);
	else
		op_readlink(op, &w->fh, link_came);
}

/* ---- one name ---- */

static bool
is_last(const struct walk *w)
{
	return !w->rest[strspn(w->rest, "/")];
}

/* w->fh, w->attr are what leaf is. */
static void
walk_object(struct op *op)
{
	struct walk *w = &op->walk;
	bool last = is_last(w);

	if (w->attr.type == S_IFLNK && (!last || w->flags & WALK_FOLLOW)) {
		walk_link(op);
	} else if (last) {
		w->found = true;
		w->done(op);
	} else if (w->attr.type != S_IFDIR) {
		op_fail(op, -ENOTDIR, NULL);
	} else if (!push(w, &w->fh, &w->attr)) {
		op_fail(op, -ENOMEM, NULL);
	} else {
		walk_step(op);
	}
}

static void
object_attr_came(struct op *op, int err, const void *data)
{
	const GETATTR3res *res = data;

	if (walk_refused(op, err))
		return;
	attr_from_fattr(&op->walk.attr,
			&res->GETATTR3res_u.resok.obj_attributes);
	walk_object(op);
}

static void
object_came(struct op *op, int err, const void *data)
{
	const LOOKUP3res *res = data;
	const LOOKUP3resok *ok;
	struct walk *w = &op->walk;

	if (err == -ENOENT && w->flags & WALK_CREATE && is_last(w)) {
		w->found = false;
		w->done(op);
		return;
	}
	if (walk_refused(op, err))
		return;
	ok = &res->LOOKUP3res_u.resok;
	if (!ok->object.data.data_len) {
		op_fail(op, -EIO, "the server sent an empty file handle");
		return;
	}
	fh_set(&w->fh, ok->object.data.data_val, ok->object.data.data_len);
	if (attr_from_post_op(&w->attr, &ok->obj_attributes))
		walk_object(op);
	else
		op_getattr(op, &w->fh, object_attr_came);
}

/* Takes the next name into leaf; 1, 0 where none is left, -ENOMEM. */
static int
next_name(struct walk *w)
{
	size_t len;

	w->rest += strspn(w->rest, "/");
	len = strcspn(w->rest, "/");
	free(w->leaf);
	w->leaf = strndup(w->rest, len);
	if (!w->leaf)
		return -ENOMEM;
	w->rest += len;
	return len > 0;
}

static void
walk_step(struct op *op)
{
	struct walk *w = &op->walk;
	int err;

	while ((err = next_name(w)) > 0) {
		if (!strcmp(w->leaf, ".."))
			w->depth -= w->depth > 1;
		else if (strcmp(w->leaf, "."))
			break;
	}
	if (err < 0)
		op_fail(op, err, NULL);
	else if (!err)
		walk_end_here(op);
	else if (strlen(w->leaf) > NFS3_NAME_MAX)
		op_fail(op, -ENAMETOOLONG, NULL);
	else if (w->flags & WALK_PARENT && is_last(w))
		w->done(op);
	else
		op_lookup(op, walk_folder(w), w->leaf, object_came);
}

static void
walk_from_root(struct op *op)
{
	struct walk *w = &op->walk;
	const char *rest = target_below(op->target.path, op->mount->export);

	w->buffer = w->rest = rest ? strdup(rest) : NULL;
	if (!rest)
		op_fail(op, -EXDEV, "it lies outside of the export that was "
			"mounted");
	else if (!w->buffer || !push_root(op))
		op_fail(op, -ENOMEM, NULL);
	else
		walk_step(op);
}

void
walk_start(struct op *op, unsigned flags, void (*done)(struct op *))
{
	bool again = op->walk.again;	/* the rest is forgotten */

	walk_clear(&op->walk);
	op->walk.again = again;
	op->walk.flags = flags;
	op->walk.done = done;
	if (op->mount->stale)
		op_mount(op, walk_from_root);
	else
		walk_from_root(op);
}
