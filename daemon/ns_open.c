/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ns_open.c - opening a file
 *
 *	walk ─┬─ there ──▶ ACCESS ──┬─▶ file_get ─▶ (O_TRUNC) ─▶ answer
 *	      └─ not there ─▶ CREATE ┘
 *
 * Rights are asked for at open, because buffered writes have nobody to tell.
 * Where ACCESS says no to writing, a WRITE of nothing fetches the server's own
 * reason: a read-only export is not a lack of rights.
 *
 * O_EXCL is CREATE EXCLUSIVE with the caller's verifier, so that the same
 * question put twice is one creation; the mode follows by SETATTR, with the
 * times that the verifier was kept in.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/namespace_impl.h"

static void open_file(struct op *);

static bool
wants_write(const struct op *op)
{
	return (op->oflags & O_ACCMODE) != O_RDONLY || op->oflags & O_TRUNC;
}

static bool
wants_read(const struct op *op)
{
	return (op->oflags & O_ACCMODE) != O_WRONLY;
}

/* ---- the pipeline's file ---- */

static void
open_answer(struct op *op)
{
	op->answer.file = op->file;
	op->answer.attr = op->walk.attr;
	op->answer.attr.size = file_size(op->file);
	op_done(op);
}

static void
open_file(struct op *op)
{
	struct wb_file *f;

	f = file_get(op->server->wb, &op->walk.fh, &op->mount->params,
		     op->target.text);
	if (!f) {
		op_fail(op, -ENOMEM, NULL);
		return;
	}
	op->file = f;
	ns_file_attr(f, &op->walk.attr, true);
	if (op->oflags & O_TRUNC && !op->created) {
		ns_file_here(op, &op->walk.fh);		/* what is on its way */
		if (file_size(f) || file_left_bytes(f)) {
			op_truncate_file(op, 0, open_answer);
			return;
		}
	}
	open_answer(op);
}

/* ---- rights ---- */

static void
nothing_written(struct op *op, int err, const void *data)
{
	(void)data;
	if (err == -EROFS)
		op_fail(op, err, "the server exports it read-only");
	else if (!op_refused(op, err))
		open_file(op);
}

static bool
may_write(const struct op *op, uint32_t access)
{
	if (op->oflags & O_APPEND && !(op->oflags & O_TRUNC))
		return access & (ACCESS3_MODIFY | ACCESS3_EXTEND);
	return access & ACCESS3_MODIFY;
}

static void
access_came(struct op *op, int err, const void *data)
{
	const ACCESS3res *res = data;
	const ACCESS3resok *ok;

	if (op_refused(op, err))
		return;
	ok = &res->ACCESS3res_u.resok;
	attr_from_post_op(&op->walk.attr, &ok->obj_attributes);
	if (wants_read(op) && !(ok->access & ACCESS3_READ))
		op_fail(op, -EACCES, NULL);
	else if (wants_write(op) && !may_write(op, ok->access))
		op_write_nothing(op, &op->walk.fh, nothing_written);
	else
		open_file(op);
}

static void
open_check(struct op *op)
{
	const struct nfswb_attr *a = &op->walk.attr;
	uint32_t bits = 0;

	if (a->type == S_IFDIR)
		op_fail(op, -EISDIR, NULL);
	else if (a->type == S_IFLNK)
		op_fail(op, -ELOOP, "it is a symbolic link");
	else if (a->type != S_IFREG)
		op_fail(op, -EINVAL, "it is not a regular file");
	else if (op->oflags & O_DIRECTORY)
		op_fail(op, -ENOTDIR, NULL);
	else if (op->created)
		open_file(op);
	else {
		if (wants_read(op))
			bits |= ACCESS3_READ;
		if (wants_write(op))
			bits |= ACCESS3_MODIFY | ACCESS3_EXTEND;
		op_access(op, &op->walk.fh, bits, access_came);
	}
}

/* ---- creating ---- */

static void
created_attr_came(struct op *op, int err, const void *data)
{
	const GETATTR3res *res = data;

	if (op_refused(op, err))
		return;
	attr_from_fattr(&op->walk.attr,
			&res->GETATTR3res_u.resok.obj_attributes);
	open_check(op);
}

static void
created_set(struct op *op, int err, const void *data)
{
	const SETATTR3res *res = data;

	if (op_refused(op, err))
		return;
	if (attr_from_post_op(&op->walk.attr,
			      &res->SETATTR3res_u.resok.obj_wcc.after))
		open_check(op);
	else
		op_getattr(op, &op->walk.fh, created_attr_came);
}

/* An exclusive CREATE carries no mode, and leaves its verifier in the times. */
static void
created_exclusively(struct op *op)
{
	sattr3 attr;

	sattr_from_mode(&attr, op->mode);
	attr.atime.set_it = SET_TO_SERVER_TIME;
	attr.mtime.set_it = SET_TO_SERVER_TIME;
	op_setattr(op, &op->walk.fh, &attr, created_set);
}

static void
created(struct op *op, bool have_attr)
{
	if (op->oflags & O_EXCL && op->created)
		created_exclusively(op);
	else if (have_attr)
		open_check(op);
	else
		op_getattr(op, &op->walk.fh, created_attr_came);
}

static void
created_lookup_came(struct op *op, int err, const void *data)
{
	const LOOKUP3res *res = data;
	const LOOKUP3resok *ok;

	if (op_refused(op, err))
		return;
	ok = &res->LOOKUP3res_u.resok;
	fh_set(&op->walk.fh, ok->object.data.data_val,
	       ok->object.data.data_len);
	created(op, attr_from_post_op(&op->walk.attr, &ok->obj_attributes));
}

/* The handle is in the reply, or must be asked for. */
static void
created_find(struct op *op, const CREATE3resok *ok)
{
	const nfs_fh3 *fh = &ok->obj.post_op_fh3_u.handle;

	if (!ok->obj.handle_follows || !fh->data.data_len) {
		op_lookup(op, walk_folder(&op->walk), op->walk.leaf,
			  created_lookup_came);
		return;
	}
	fh_set(&op->walk.fh, fh->data.data_val, fh->data.data_len);
	created(op, attr_from_post_op(&op->walk.attr, &ok->obj_attributes));
}

/* Sent more than once, "exists" may be our own first copy's work. */
static bool
was_ours(const struct op *op, int err)
{
	return err == -EEXIST && op->call.transmissions > 1;
}

static void
create_came(struct op *op, int err, const void *data)
{
	const CREATE3res *res = data;

	if (was_ours(op, err)) {
		op->created = true;
		op_lookup(op, walk_folder(&op->walk), op->walk.leaf,
			  created_lookup_came);
		return;
	}
	if (op_refused(op, err))
		return;
	op->created = true;
	created_find(op, &res->CREATE3res_u.resok);
}

static void
create(struct op *op, createmode3 mode)
{
	createhow3 how = { .mode = mode };

	sattr_from_mode(&how.createhow3_u.obj_attributes, op->mode);
	op_create(op, walk_folder(&op->walk), op->walk.leaf, &how,
		  create_came);
}

static void
exclusive_came(struct op *op, int err, const void *data)
{
	const CREATE3res *res = data;

	if (err == -EOPNOTSUPP) {
		create(op, GUARDED);	/* the next best */
		return;
	}
	if (op_refused(op, err))
		return;
	op->created = true;
	created_find(op, &res->CREATE3res_u.resok);
}

static void
open_exclusive(struct op *op)
{
	createhow3 how = { .mode = EXCLUSIVE };

	if (!*op->walk.leaf) {
		op_fail(op, -EEXIST, NULL);
		return;
	}
	memcpy(how.createhow3_u.verf, &op->verifier, sizeof op->verifier);
	op_create(op, walk_folder(&op->walk), op->walk.leaf, &how,
		  exclusive_came);
}

/* ---- the way there ---- */

static void
open_walked(struct op *op)
{
	if (op->walk.found)
		open_check(op);
	else
		create(op, UNCHECKED);
}

static void
open_mounted(struct op *op)
{
	unsigned flags = 0;

	if (op->oflags & O_CREAT && op->oflags & O_EXCL) {
		walk_start(op, WALK_PARENT, open_exclusive);
		return;
	}
	op->oflags &= ~O_EXCL;		/* means nothing without O_CREAT */
	if (!(op->oflags & O_NOFOLLOW))
		flags |= WALK_FOLLOW;
	if (op->oflags & O_CREAT)
		flags |= WALK_CREATE;
	walk_start(op, flags, open_walked);
}

void
ns_open(struct namespace *ns, const char *target, struct cred *cred,
	int oflags, unsigned mode, uint64_t verifier, ns_done_fn *done,
	void *arg)
{
	struct op *op = op_new(ns, "open", cred, done, arg);

	if (!op)
		return;
	op->oflags = oflags;
	op->mode = mode;
	op->verifier = verifier;
	op_begin(op, target, open_mounted);
	op_started(op);
}
