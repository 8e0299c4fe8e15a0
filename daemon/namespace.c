/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * namespace.c - the verbs that look at names and make them
 *
 * Opening is in ns_open.c, what takes names away in ns_remove.c, what needs no
 * name but an open file in ns_file.c; they share op.c's operation and walk.c's
 * walk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/namespace_impl.h"
#include "include/nfswb.h"

/* ---- stat ---- */

static void
stat_walked(struct op *op)
{
	struct wb_file *f = ns_file_here(op, &op->walk.fh);

	op->answer.attr = op->walk.attr;
	if (f) {
		ns_file_attr(f, &op->walk.attr, false);
		op->answer.attr.size = file_size(f);
	}
	op_done(op);
}

static void
stat_follow(struct op *op)
{
	walk_start(op, WALK_FOLLOW, stat_walked);
}

static void
stat_link(struct op *op)
{
	walk_start(op, 0, stat_walked);
}

void
ns_stat(struct namespace *ns, const char *target, struct cred *cred,
	bool follow, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "stat", cred, done, arg);

	if (!op)
		return;
	op_begin(op, target, follow ? stat_follow : stat_link);
	op_started(op);
}

/* ---- setattr ---- */

static void
setattr_came(struct op *op, int err, const void *data)
{
	const SETATTR3res *res = data;
	struct nfswb_attr attr;
	struct wb_file *f;

	if (op_refused(op, err))
		return;
	f = file_find(op->server->wb, &op->walk.fh);
	if (f && attr_from_post_op(&attr,
				   &res->SETATTR3res_u.resok.obj_wcc.after))
		ns_file_attr(f, &attr, false);
	op_done(op);
}

static void
setattr_ask(struct op *op)
{
	sattr3 attr;

	sattr_from_attr(&attr, op->which, &op->attr);
	op_setattr(op, &op->walk.fh, &attr, setattr_came);
}

/* The size was the pipeline's to set; is there more? */
static void
setattr_rest(struct op *op)
{
	op->which &= ~NFSWB_SET_SIZE;
	if (op->which)
		op_flush_file(op, 0, INT64_MAX, setattr_ask);
	else
		op_done(op);
}

/* What is written later would undo a time, or meet other rights. */
static void
setattr_walked(struct op *op)
{
	struct wb_file *f = ns_file_here(op, &op->walk.fh);

	if (op->which & NFSWB_SET_SIZE && op->walk.attr.type == S_IFDIR) {
		op_fail(op, -EISDIR, NULL);
		return;
	}
	if (!op->which) {
		op_done(op);
		return;
	}
	if (f)
		op->file = file_ref(f);
	if (f && op->which & NFSWB_SET_SIZE)
		op_truncate_file(op, op->attr.size, setattr_rest);
	else if (f)
		op_flush_file(op, 0, INT64_MAX, setattr_ask);
	else
		setattr_ask(op);
}

static void
setattr_mounted(struct op *op)
{
	walk_start(op, 0, setattr_walked);
}

void
ns_setattr(struct namespace *ns, const char *target, struct cred *cred,
	   unsigned which, const struct nfswb_attr *attr, ns_done_fn *done,
	   void *arg)
{
	struct op *op = op_new(ns, "set attributes of", cred, done, arg);

	if (!op)
		return;
	op->which = which;
	op->attr = *attr;
	op_begin(op, target, setattr_mounted);
	op_started(op);
}

/* ---- making names ---- */

/* "Exists" to a call that was sent twice: its first copy did it. */
static void
made(struct op *op, int err, const void *data)
{
	(void)data;
	if (err == -EEXIST && op->call.transmissions > 1)
		err = 0;
	if (!op_refused(op, err))
		op_done(op);
}

static bool
make_has_name(struct op *op)
{
	if (*op->walk.leaf)
		return true;
	op_fail(op, -EEXIST, NULL);
	return false;
}

static void
mkdir_walked(struct op *op)
{
	sattr3 attr;

	sattr_from_mode(&attr, op->mode);
	if (make_has_name(op))
		op_mkdir(op, walk_folder(&op->walk), op->walk.leaf, &attr,
			 made);
}

static void
mkdir_mounted(struct op *op)
{
	walk_start(op, WALK_PARENT, mkdir_walked);
}

void
ns_mkdir(struct namespace *ns, const char *target, unsigned mode,
	 struct cred *cred, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "mkdir", cred, done, arg);

	if (!op)
		return;
	op->mode = mode;
	op_begin(op, target, mkdir_mounted);
	op_started(op);
}

static void
symlink_walked(struct op *op)
{
	if (make_has_name(op))
		op_symlink(op, walk_folder(&op->walk), op->walk.leaf,
			   op->content, made);
}

static void
symlink_mounted(struct op *op)
{
	walk_start(op, WALK_PARENT, symlink_walked);
}

void
ns_symlink(struct namespace *ns, const char *content, const char *target,
	   struct cred *cred, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "symlink", cred, done, arg);

	if (!op)
		return;
	op->content = strdup(content);
	if (op->content)
		op_begin(op, target, symlink_mounted);
	else
		op_fail(op, -ENOMEM, NULL);
	op_started(op);
}

/* ---- readlink ---- */

static void
readlink_came(struct op *op, int err, const void *data)
{
	const READLINK3res *res = data;

	if (op_refused(op, err))
		return;
	op->answer.content = res->READLINK3res_u.resok.data;
	op_done(op);
}

static void
readlink_walked(struct op *op)
{
	if (op->walk.attr.type == S_IFLNK)
		op_readlink(op, &op->walk.fh, readlink_came);
	else
		op_fail(op, -EINVAL, "it is not a symbolic link");
}

static void
readlink_mounted(struct op *op)
{
	walk_start(op, 0, readlink_walked);
}

void
ns_readlink(struct namespace *ns, const char *target, struct cred *cred,
	    ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "readlink", cred, done, arg);

	if (!op)
		return;
	op_begin(op, target, readlink_mounted);
	op_started(op);
}

/* ---- readdir ---- */

static void readdir_came(void *, int, const char *, const struct mount_name *,
			 unsigned, uint64_t, int);

/* Not a call of our transport's, but somebody waits for it all the same. */
static void
readdir_ask(struct op *op)
{
	op->asked_usec = op_now(op);
	wb_server_foreground_sent(op->server->wb, NFSPROC3_READDIRPLUS, 0,
				  op->asked_usec);
	mount_readdir(servers_mounter(op->ns->servers), op->server->address,
		      op->server->port, &op->walk.fh, op->cred, op->cookie,
		      op->verifier, readdir_came, op);
}

static void
readdir_answer(struct op *op, const struct mount_name *names, unsigned nr,
	       uint64_t verifier, bool eof)
{
	struct nfswb_readdir_res res = { .verifier = verifier, .eof = eof };
	struct nfswb_name *out = calloc(nr ? nr : 1, sizeof *out);
	unsigned i;

	if (!out) {
		op_fail(op, -ENOMEM, NULL);
		return;
	}
	for (i = 0; i < nr; i++) {
		out[i].fileid = names[i].fileid;
		out[i].type = names[i].type;
		out[i].cookie = names[i].cookie;
		out[i].name = (char *)names[i].name;
	}
	res.names.names_len = nr;
	res.names.names_val = out;
	op->answer.dir = &res;
	op->buffer = (unsigned char *)out;	/* freed with the op */
	op_done(op);
}

static void
readdir_failed(struct op *op, int err, const char *text)
{
	bool lost = err == -ENOTCONN;

	if (!op->ns->stopping && (err == -EAGAIN ||
				  (lost && !op->server->soft)))
		op_retry_later(op, readdir_ask);
	else
		op_fail(op, lost ? -ETIMEDOUT : err, text);
}

static void
readdir_came(void *arg, int err, const char *text,
	     const struct mount_name *names, unsigned nr, uint64_t verifier,
	     int eof)
{
	struct op *op = arg;

	if (!op->ns->stopping)
		wb_server_foreground_ended(op->server->wb,
					   NFSPROC3_READDIRPLUS, 0,
					   op_now(op) - op->asked_usec,
					   err != -ENOTCONN, op_now(op));
	if (err)
		readdir_failed(op, err, text);
	else if (!nr && !eof)
		op_fail(op, -EIO, "the server sent neither names nor the end");
	else
		readdir_answer(op, names, nr, verifier, eof);
}

static void
readdir_walked(struct op *op)
{
	op->call.jukebox_nr = 0;
	if (op->walk.attr.type == S_IFDIR)
		readdir_ask(op);
	else
		op_fail(op, -ENOTDIR, NULL);
}

static void
readdir_mounted(struct op *op)
{
	walk_start(op, WALK_FOLLOW, readdir_walked);
}

void
ns_readdir(struct namespace *ns, const char *target, struct cred *cred,
	   uint64_t cookie, uint64_t verifier, ns_done_fn *done, void *arg)
{
	struct op *op = op_new(ns, "list", cred, done, arg);

	if (!op)
		return;
	op->cookie = cookie;
	op->verifier = verifier;
	op_begin(op, target, readdir_mounted);
	op_started(op);
}

/* ---- the whole ---- */

struct namespace *
namespace_new(struct loop *loop, const struct config *config, struct wb *wb)
{
	struct namespace *ns = calloc(1, sizeof *ns);

	if (!ns)
		return NULL;
	ns->loop = loop;
	ns->config = config;
	ns->wb = wb;
	ns->servers = servers_new(loop, config, wb);
	if (!ns->servers) {
		free(ns);
		return NULL;
	}
	return ns;
}

void
namespace_free(struct namespace *ns)
{
	struct op *op;

	if (!ns)
		return;
	ns->stopping = true;
	hidden_free(ns);
	servers_free(ns->servers);	/* ends what waits for a server */
	while ((op = LIST_FIRST(&ns->ops))) {
		op->starting = false;
		op_fail_text(op, -ECANCELED, "nfswbd is stopping");
	}
	free(ns);
}

void
ns_set_drain(struct namespace *ns, void (*drain)(void *arg, struct wb_file *),
	     void *arg)
{
	ns->drain = drain;
	ns->drain_arg = arg;
}

void
ns_set_memory(struct namespace *ns, const struct ns_memory *memory, void *arg)
{
	ns->memory = memory;
	ns->memory_arg = arg;
}

void
ns_each_server(struct namespace *ns, void (*fn)(void *arg, struct wb_server *,
	       struct rpc_client *), void *arg)
{
	servers_each(ns->servers, fn, arg);
}
