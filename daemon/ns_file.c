/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ns_file.c - what is asked of an open file, and how another instance finds it
 *
 * The pipeline's file knows its server and handle; its mount is found by the
 * name it was opened by.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/namespace_impl.h"

#define RSIZE_WHEN_UNKNOWN 32768u

struct wb_file *
ns_file_here(struct op *op, const struct fh *fh)
{
	struct namespace *ns = op->ns;
	struct wb_file *f = file_find(op->server->wb, fh);

	if (!f || !ns->drain)
		return f;
	file_ref(f);
	ns->drain(ns->drain_arg, f);
	file_put(f);
	return file_find(op->server->wb, fh);
}

void
ns_file_attr(struct wb_file *f, const struct nfswb_attr *a, bool at_open)
{
	file_server_attr(f, a->size, (uint64_t)a->ctime_nsec, at_open);
}

/* The mount of an open file, NULL: no memory. */
static struct mount *
file_mount(struct namespace *ns, const struct wb_file *f)
{
	struct mount *m = NULL;
	struct target t;

	if (!target_parse_again(ns->config, file_name(f), &t)) {
		m = servers_known(ns->servers, &t);
		target_clear(&t);
	}
	return m;
}

/* An op on an open file. */
static struct op *
file_op(struct namespace *ns, const char *verb, struct wb_file *f,
	struct cred *cred, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, verb, cred, done, arg);

	if (!op)
		return NULL;
	op->file = file_ref(f);
	op->server = servers_of(ns->servers, file_server(f));
	return op;
}

/* ---- getattr ---- */

static void
getattr_came(struct op *op, int err, const void *data)
{
	const GETATTR3res *res = data;

	if (op_refused(op, err))
		return;
	attr_from_fattr(&op->answer.attr,
			&res->GETATTR3res_u.resok.obj_attributes);
	ns_file_attr(op->file, &op->answer.attr, op->at_open);
	op->answer.attr.size = file_size(op->file);
	op->answer.file = op->file;
	op_done(op);
}

static void
getattr_begin(struct namespace *ns, struct wb_file *f, struct cred *cred,
	      bool at_open, ns_done_fn *done, void *arg)
{
	struct op *op = file_op(ns, "stat", f, cred, done, arg);

	if (!op)
		return;
	op->at_open = at_open;
	op_getattr(op, file_fh(f), getattr_came);
	op_started(op);
}

void
ns_getattr(struct namespace *ns, struct wb_file *f, struct cred *cred,
	   ns_done_fn *done, void *arg)
{
	file_ref(f);
	if (ns->drain)
		ns->drain(ns->drain_arg, f);
	getattr_begin(ns, f, cred, false, done, arg);
	file_put(f);
}

/* ---- read ---- */

static void read_came(struct op *, int, const void *);

static void
read_next(struct op *op)
{
	uint32_t left = op->length - op->got;
	uint32_t rsize = op->mount ? op->mount->rsize : RSIZE_WHEN_UNKNOWN;

	op_read(op, file_fh(op->file), op->offset + op->got,
		left < rsize ? left : rsize, read_came);
}

/*
 * The server's end of file.  Where the file goes on here (its end is not
 * written yet) there is a hole up to that; not where it has grown since the read
 * began: those bytes come, and were never zeros; nor where another client has cut
 * it.
 */
static void
read_end(struct op *op)
{
	uint64_t size = file_size(op->file);
	uint64_t end = op->offset + op->length;
	uint64_t at = op->offset + op->got;
	uint64_t ours = file_local_end(op->file);

	if (ours < op->local_end)
		ours = op->local_end;
	if (end > op->size)
		end = op->size;
	if (end > ours)
		end = ours;
	if (end > at) {
		uint64_t hole = end - at;

		memset(op->buffer + op->got, 0, hole);
		op->got += (uint32_t)hole;
	}
	op->answer.eof = op->offset + op->got >= size;
	op->answer.data = op->buffer;
	op->answer.length = op->got;
	op_done(op);
}

static void
read_came(struct op *op, int err, const void *data)
{
	const READ3res *res = data;
	const READ3resok *ok;
	uint32_t nr;

	if (op_refused(op, err))
		return;
	ok = &res->READ3res_u.resok;
	nr = ok->data.data_len;
	if (nr > op->call.args.read.count) {
		op_fail(op, -EIO, "it sent more than was asked for");
		return;
	}
	if (nr)
		memcpy(op->buffer + op->got, ok->data.data_val, nr);
	op->got += nr;
	/* A server that sends nothing and no end would be asked for ever. */
	if (ok->eof || !nr || op->got == op->length)
		read_end(op);
	else
		read_next(op);
}

void
ns_read(struct namespace *ns, struct wb_file *f, struct cred *cred,
	uint64_t offset, uint32_t length, ns_done_fn *done, void *arg)
{
	struct op *op = file_op(ns, "read", f, cred, done, arg);

	if (!op)
		return;
	op->mount = file_mount(ns, f);
	op->offset = offset;
	op->size = file_size_at_most(f);
	op->local_end = file_local_end(f);
	op->length = length < NFSWB_DATA_MAX ? length : NFSWB_DATA_MAX;
	op->buffer = malloc(op->length ? op->length : 1);
	if (!op->buffer)
		op_fail(op, -ENOMEM, NULL);
	else if (!op->length)
		read_end(op);
	else
		read_next(op);
	op_started(op);
}

/* ---- for another instance ---- */

json_t *
ns_file_json(struct namespace *ns, struct wb_file *f)
{
	struct mount *m = file_mount(ns, f);
	char fh[2 * FH_MAX + 1];

	if (!m)
		return NULL;
	fh_to_hex(file_fh(f), fh);
	return json_pack("{s:s, s:s, s:o}", "name", file_name(f), "fh", fh,
			 "mount", mount_describe(m));
}

struct wb_file *
ns_file_from_json(struct namespace *ns, const json_t *j, int *err)
{
	const char *name, *hex;
	struct target t;
	struct mount *m;
	json_t *mount;
	struct wb_file *f;
	json_error_t why;
	struct fh fh;

	if (json_unpack_ex((json_t *)j, &why, 0, "{s:s, s:s, s:o}", "name",
			   &name, "fh", &hex, "mount", &mount)) {
		*err = description_errno(&why);
		return NULL;
	}
	*err = -EINVAL;
	if (fh_from_hex(&fh, hex) ||
	    (*err = target_parse_again(ns->config, name, &t)))
		return NULL;
	m = mount_restore(ns->servers, &t, mount, err);
	target_clear(&t);
	if (!m)
		return NULL;
	f = file_get(m->server->wb, &fh, &m->params, name);
	*err = f ? 0 : -ENOMEM;
	return f;
}

char *
ns_describe(struct namespace *ns, struct wb_file *f)
{
	json_t *j = ns_file_json(ns, f);
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

struct wb_file *
ns_restore(struct namespace *ns, const char *description, int *err)
{
	json_error_t why;
	json_t *j = json_loads(description, 0, &why);
	struct wb_file *f = NULL;

	if (j)
		f = ns_file_from_json(ns, j, err);
	else
		*err = description_errno(&why);
	json_decref(j);
	return f;
}

void
ns_look(struct namespace *ns, struct wb_file *f, struct cred *cred,
	ns_done_fn *done, void *arg)
{
	getattr_begin(ns, f, cred, true, done, arg);
}

/* ---- below ---- */

static bool
same_server(struct namespace *ns, const struct target *t,
	    const struct target *of_file, const struct wb_file *f)
{
	struct mount *m = servers_known(ns->servers, t);

	if (m)
		return m->server->wb == file_server(f);
	return !strcasecmp(t->host, of_file->host);
}

bool
ns_below(struct namespace *ns, const char *target, struct wb_file *f)
{
	struct target t, of_file;
	bool below = false;

	if (target_parse_again(ns->config, target, &t))
		return false;
	if (!target_parse_again(ns->config, file_name(f), &of_file)) {
		below = target_below(of_file.path, t.path) &&
			same_server(ns, &t, &of_file, f);
		target_clear(&of_file);
	}
	target_clear(&t);
	return below;
}
