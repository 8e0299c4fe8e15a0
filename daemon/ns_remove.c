/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ns_remove.c - unlink, rmdir and rename: what takes names away
 *
 * What has lost its last name and nobody has open is forgotten: bytes not yet
 * written need not be, and none are sent from before its name is taken.  A call that was sent twice and finds nothing has worked
 * the first time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/namespace_impl.h"

static bool
gone_by_first_copy(const struct op *op, int err)
{
	return err == -ENOENT && op->call.transmissions > 1;
}

/* fh's last name was taken away, if attr (as it was before) says so. */
static void
forget(struct op *op, const struct fh *fh, const struct nfswb_attr *attr)
{
	struct wb_file *f = file_find(op->server->wb, fh);

	if (f && attr->nlink == 1 && !file_user_nr(f))
		file_forget(f);
}

/* What a LOOKUP found, into the walk's result. */
static bool
take_found(struct op *op, const LOOKUP3res *res)
{
	const LOOKUP3resok *ok = &res->LOOKUP3res_u.resok;

	memset(&op->walk.attr, 0, sizeof op->walk.attr);
	fh_set(&op->walk.fh, ok->object.data.data_val,
	       ok->object.data.data_len);
	return attr_from_post_op(&op->walk.attr, &ok->obj_attributes);
}

static void take_last_name(struct op *);

/* The name that the walk found is to be taken from a file.  Somebody has that
   open: hide.  It is the last, and there is data: first nothing more is sent. */
static void
take_name(struct op *op, void (*hidden)(struct op *),
	  void (*take)(struct op *))
{
	struct walk *w = &op->walk;
	struct wb_file *f = ns_file_here(op, &w->fh);

	op->hidden = hidden;
	op->take = take;
	if (f && file_user_nr(f))
		op_hide(op, walk_folder(w), w->leaf, f, hidden);
	else if (f && w->attr.nlink == 1 && file_left_bytes(f))
		op_pause_file(op, f, take_last_name);
	else
		take(op);
}

/* It may have been opened meanwhile. */
static void
take_last_name(struct op *op)
{
	struct walk *w = &op->walk;
	struct wb_file *f = op->file;

	if (!file_user_nr(f)) {
		op->take(op);
		return;
	}
	file_ref(f);
	op_go_on(op);
	op_hide(op, walk_folder(w), w->leaf, f, op->hidden);
	file_put(f);
}

/* ---- unlink ---- */

static void
unlink_came(struct op *op, int err, const void *data)
{
	(void)data;
	if (gone_by_first_copy(op, err))
		err = 0;
	if (op_refused(op, err))
		return;
	forget(op, &op->walk.fh, &op->walk.attr);
	op_done(op);
}

static void
unlink_now(struct op *op)
{
	op_remove(op, walk_folder(&op->walk), op->walk.leaf, unlink_came);
}

static void
unlink_found(struct op *op, int err, const void *data)
{
	if (op_refused(op, err))
		return;
	take_found(op, data);
	if (op->walk.attr.type == S_IFDIR)
		op_fail(op, -EISDIR, NULL);
	else
		take_name(op, op_done, unlink_now);
}

static void
unlink_walked(struct op *op)
{
	if (*op->walk.leaf)
		op_lookup(op, walk_folder(&op->walk), op->walk.leaf,
			  unlink_found);
	else
		op_fail(op, -EISDIR, NULL);
}

static void
unlink_mounted(struct op *op)
{
	walk_start(op, WALK_PARENT, unlink_walked);
}

void
ns_unlink(struct namespace *ns, const char *target, struct cred *cred,
	  ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "unlink", cred, done, arg);

	if (!op)
		return;
	op_begin(op, target, unlink_mounted);
	op_started(op);
}

/* ---- rmdir ---- */

static void
rmdir_came(struct op *op, int err, const void *data)
{
	(void)data;
	if (gone_by_first_copy(op, err))
		err = 0;
	if (!op_refused(op, err))
		op_done(op);
}

static void
rmdir_walked(struct op *op)
{
	if (*op->walk.leaf)
		op_rmdir(op, walk_folder(&op->walk), op->walk.leaf,
			 rmdir_came);
	else
		op_fail(op, -EBUSY, "it is the root of the export");
}

static void
rmdir_mounted(struct op *op)
{
	walk_start(op, WALK_PARENT, rmdir_walked);
}

void
ns_rmdir(struct namespace *ns, const char *target, struct cred *cred,
	 ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "rmdir", cred, done, arg);

	if (!op)
		return;
	op_begin(op, target, rmdir_mounted);
	op_started(op);
}

/* ---- rename: from is found first, then to, then what to names ---- */

static void
rename_came(struct op *op, int err, const void *data)
{
	struct wb_file *f;

	(void)data;
	if (gone_by_first_copy(op, err))
		err = 0;
	if (op_refused(op, err))
		return;
	f = file_find(op->server->wb, &op->from_fh);
	if (f) {
		file_rename(f, op->target.text);
		if (op->ns->memory)
			op->ns->memory->described(op->ns->memory_arg, f);
	}
	if (op->walk.found && !fh_equal(&op->walk.fh, &op->from_fh))
		forget(op, &op->walk.fh, &op->walk.attr);
	op_done(op);
}

static void
rename_now(struct op *op)
{
	ns_file_here(op, &op->from_fh);
	op_rename(op, &op->from_folder, op->from_leaf, walk_folder(&op->walk),
		  op->walk.leaf, rename_came);
}

/* The file that was there is hidden: nothing of it is to be forgotten. */
static void
rename_hidden(struct op *op)
{
	op->walk.found = false;
	rename_now(op);
}

static void
rename_to_found(struct op *op, int err, const void *data)
{
	struct walk *w = &op->walk;

	if (err == -ENOENT) {
		rename_now(op);
		return;
	}
	if (op_refused(op, err))
		return;
	take_found(op, data);
	w->found = true;
	if (!fh_equal(&w->fh, &op->from_fh) && !op->from_is_folder)
		take_name(op, rename_hidden, rename_now);
	else
		rename_now(op);
}

static void
rename_to_walked(struct op *op)
{
	op->walk.found = false;
	if (*op->walk.leaf)
		op_lookup(op, walk_folder(&op->walk), op->walk.leaf,
			  rename_to_found);
	else
		op_fail(op, -EBUSY, "it is the root of the export");
}

static void
rename_to_mounted(struct op *op)
{
	const struct mount *from = op->from_mount, *to = op->mount;

	if (from->server != to->server || strcmp(from->export, to->export))
		op_fail(op, -EXDEV, "the two names lie on different exports");
	else
		walk_start(op, WALK_PARENT, rename_to_walked);
}

static void
rename_from_found(struct op *op, int err, const void *data)
{
	struct target from;

	if (op_refused(op, err))
		return;
	take_found(op, data);
	op->from_fh = op->walk.fh;
	op->from_is_folder = op->walk.attr.type == S_IFDIR;
	op->from_folder = *walk_folder(&op->walk);
	op->from_leaf = op->walk.leaf;
	op->walk.leaf = NULL;
	op->from_mount = op->mount;
	from = op->target;
	op->target = op->to;
	op->to = from;
	op_mount(op, rename_to_mounted);
}

static void
rename_from_walked(struct op *op)
{
	if (*op->walk.leaf)
		op_lookup(op, walk_folder(&op->walk), op->walk.leaf,
			  rename_from_found);
	else
		op_fail(op, -EBUSY, "it is the root of the export");
}

static void
rename_mounted(struct op *op)
{
	walk_start(op, WALK_PARENT, rename_from_walked);
}

void
ns_rename(struct namespace *ns, const char *from, const char *to,
	  struct cred *cred, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "rename", cred, done, arg);
	char *error;
	int err;

	if (!op)
		return;
	err = op_target(op, to, &op->to, &error);
	if (err)
		op_fail_text(op, err, error);
	else
		op_begin(op, from, rename_mounted);
	free(error);
	op_started(op);
}
