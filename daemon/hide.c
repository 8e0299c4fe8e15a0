/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hide.c - an unlinked file that is still open keeps a hidden name
 *
 * NFSv3 knows no open files: what is removed is gone.  So a file that somebody
 * here has open is renamed to .nfs… in its folder instead, as kernels do it,
 * and that name removed after the last close.  A file may have several (hard
 * links), and another instance must know of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"
#include "daemon/namespace_impl.h"

struct hidden {
	LIST_ENTRY(hidden) entry;
	struct wb_file *file;		/* with a reference */
	struct cred *cred;
	struct fh folder;
	char name[];
};

static void
hidden_drop(struct hidden *h)
{
	LIST_REMOVE(h, entry);
	file_put(h->file);
	cred_put(h->cred);
	free(h);
}

/* ---- after the last close ---- */

static void
remove_came(struct op *op, int err, const void *data)
{
	(void)data;
	if (err && err != -ENOENT)
		log_warning("%s: its hidden name %s stays on server %s: %s; "
			    "remove it by hand", file_name(op->file),
			    op->hidden_leaf, op->server->name, strerror(-err));
	else if (!file_handle_nr(op->file))
		file_forget(op->file);
	op_done(op);
}

static void
hidden_remove(struct namespace *ns, struct hidden *h)
{
	struct op *op = op_new(ns, "remove", h->cred, NULL, NULL);

	if (!op)
		return;
	op->file = file_ref(h->file);
	op->server = servers_of(ns->servers, file_server(h->file));
	op->hidden_leaf = strdup(h->name);
	if (op->hidden_leaf)
		op_remove(op, &h->folder, op->hidden_leaf, remove_came);
	else
		op_fail(op, -ENOMEM, NULL);
	op_started(op);
}

static void
hidden_closed(void *arg, struct wb_file *f)
{
	struct namespace *ns = arg;
	struct hidden *h, *next;

	for (h = LIST_FIRST(&ns->hidden); h; h = next) {
		next = LIST_NEXT(h, entry);
		if (h->file != f)
			continue;
		hidden_remove(ns, h);
		hidden_drop(h);
	}
}

static int
hidden_add(struct namespace *ns, struct wb_file *f, struct cred *cred,
	   const struct fh *folder, const char *name)
{
	struct hidden *h = malloc(sizeof *h + strlen(name) + 1);

	if (!h)
		return -ENOMEM;
	h->file = file_ref(f);
	h->cred = cred_ref(cred);
	h->folder = *folder;
	strcpy(h->name, name);
	LIST_INSERT_HEAD(&ns->hidden, h, entry);
	file_when_closed(f, hidden_closed, ns);
	return 0;
}

/* ---- hiding ---- */

static void
hide_came(struct op *op, int err, const void *data)
{
	void (*next)(struct op *) = op->hidden;
	struct wb_file *f = op->file;

	(void)data;
	if (err == -ENOENT && op->call.transmissions > 1)
		err = 0;
	if (op_refused(op, err))
		return;
	if (hidden_add(op->ns, f, op->cred, &op->call.fh, op->hidden_leaf))
		log_warning("%s: no memory to remember its hidden name %s; "
			    "remove it by hand", file_name(f),
			    op->hidden_leaf);
	op->file = NULL;
	file_put(f);
	next(op);
}

void
op_hide(struct op *op, const struct fh *folder, const char *leaf,
	struct wb_file *f, void (*next)(struct op *))
{
	uint64_t unique;

	if (getrandom(&unique, sizeof unique, GRND_NONBLOCK) !=
	    sizeof unique)
		unique = op_now(op) << 16 ^ (uint64_t)random();
	free(op->hidden_leaf);
	op->hidden_leaf = NULL;
	if (asprintf(&op->hidden_leaf, ".nfs%016llx",
		     (unsigned long long)unique) < 0) {
		op->hidden_leaf = NULL;
		op_fail(op, -ENOMEM, NULL);
		return;
	}
	op->file = file_ref(f);
	op->hidden = next;
	op_rename(op, folder, leaf, folder, op->hidden_leaf, hide_came);
}

/* ---- for another instance ---- */

static json_t *
hidden_one(const struct hidden *h)
{
	char folder[2 * FH_MAX + 1];
	json_t *groups = json_array();
	unsigned i;

	for (i = 0; i < h->cred->group_nr; i++)
		json_array_append_new(groups, json_integer(h->cred->group[i]));
	fh_to_hex(&h->folder, folder);
	return json_pack("{s:s, s:s, s:I, s:I, s:o}", "folder", folder,
			 "name", h->name, "uid", (json_int_t)h->cred->uid,
			 "gid", (json_int_t)h->cred->gid, "groups", groups);
}

json_t *
hidden_describe(struct namespace *ns, const struct wb_file *f)
{
	json_t *all = json_array();
	struct hidden *h;

	LIST_FOREACH(h, &ns->hidden, entry)
		if (h->file == f)
			json_array_append_new(all, hidden_one(h));
	return all;
}

static void
hidden_restore_one(struct namespace *ns, struct wb_file *f, const json_t *j)
{
	const char *folder, *name;
	json_int_t uid, gid;
	gid_t group[CRED_GROUPS_MAX];
	struct cred *cred;
	json_t *groups;
	unsigned nr;
	struct fh fh;

	if (json_unpack((json_t *)j, "{s:s, s:s, s:I, s:I, s:o}", "folder",
			&folder, "name", &name, "uid", &uid, "gid", &gid,
			"groups", &groups) || fh_from_hex(&fh, folder))
		return;
	for (nr = 0; nr < CRED_GROUPS_MAX && nr < json_array_size(groups);
	     nr++)
		group[nr] = (gid_t)json_integer_value(
				json_array_get(groups, nr));
	cred = cred_get((uid_t)uid, (gid_t)gid, group, nr);
	if (cred)
		hidden_add(ns, f, cred, &fh, name);
	cred_put(cred);
}

static bool
hidden_known(struct namespace *ns, const struct wb_file *f)
{
	struct hidden *h;

	LIST_FOREACH(h, &ns->hidden, entry)
		if (h->file == f)
			return true;
	return false;
}

void
hidden_restore(struct namespace *ns, struct wb_file *f, const json_t *all)
{
	size_t i;

	if (hidden_known(ns, f))	/* another session restored it */
		return;
	for (i = 0; i < json_array_size(all); i++)
		hidden_restore_one(ns, f, json_array_get(all, i));
}

/* Stopping: who has the file open resumes with the next instance. */
void
hidden_free(struct namespace *ns)
{
	struct hidden *h;

	while ((h = LIST_FIRST(&ns->hidden))) {
		log_info("%s: its hidden name %s stays on the server until "
			 "its last user closes it", file_name(h->file),
			 h->name);
		file_when_closed(h->file, NULL, NULL);
		hidden_drop(h);
	}
}
