/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hide.c - an unlinked file that is still open keeps a hidden name
 *
 * NFSv3 knows no open files: what is removed is gone.  So a file that somebody
 * here has open is renamed to .nfs… in its folder instead, as kernels do it,
 * and that name removed after the last close.  A file may have several (hard
 * links).
 *
 *	remembered -> RENAME -> hidden -> all closed -> REMOVE -> forgotten
 *
 * What is remembered outlives the daemon, from before the RENAME until the
 * REMOVE was answered, so that no hidden name stays for ever.  One that was
 * never made is no matter: its REMOVE finds nothing.
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
	uint64_t id;			/* 0: nothing remembers it */
	bool pending;			/* the RENAME is under way */
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

static struct hidden *
hidden_add(struct namespace *ns, struct wb_file *f, struct cred *cred,
	   const struct fh *folder, const char *name)
{
	struct hidden *h = calloc(1, sizeof *h + strlen(name) + 1);

	if (!h)
		return NULL;
	h->file = file_ref(f);
	h->cred = cred_ref(cred);
	h->folder = *folder;
	strcpy(h->name, name);
	LIST_INSERT_HEAD(&ns->hidden, h, entry);
	return h;
}

static void
unhide(struct namespace *ns, uint64_t id)
{
	if (ns->memory && id)
		ns->memory->unhide(ns->memory_arg, id);
}

/* ---- after the last close ---- */

/* No answer: the next instance, which is told of it, tries again. */
static void
remove_came(struct op *op, int err, const void *data)
{
	if (err && err != -ENOENT)
		log_warning("%s: its hidden name %s stays on server %s: %s; "
			    "%s", file_name(op->file), op->hidden_leaf,
			    op->server->name, strerror(-err), data ?
			    "remove it by hand" : "nfswbd tries again when it "
			    "starts anew");
	else if (!file_user_nr(op->file))
		file_forget(op->file);
	if (data)
		unhide(op->ns, op->hidden_id);
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
	op->hidden_id = h->id;
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
		if (h->file != f || h->pending)
			continue;
		hidden_remove(ns, h);
		hidden_drop(h);
	}
}

/* ---- what is remembered ---- */

static json_t *
cred_json(const struct cred *cred)
{
	json_t *groups = json_array();
	unsigned i;

	for (i = 0; i < cred->group_nr; i++)
		json_array_append_new(groups, json_integer(cred->group[i]));
	return json_pack("{s:I, s:I, s:o}", "uid", (json_int_t)cred->uid,
			 "gid", (json_int_t)cred->gid, "groups", groups);
}

static struct cred *
cred_from_json(const json_t *j)
{
	gid_t group[CRED_GROUPS_MAX];
	json_int_t uid, gid;
	json_t *groups;
	unsigned nr;

	if (json_unpack((json_t *)j, "{s:I, s:I, s:o}", "uid", &uid, "gid",
			&gid, "groups", &groups))
		return NULL;
	for (nr = 0; nr < CRED_GROUPS_MAX && nr < json_array_size(groups);
	     nr++)
		group[nr] = (gid_t)json_integer_value(
				json_array_get(groups, nr));
	return cred_get((uid_t)uid, (gid_t)gid, group, nr);
}

static int
remember(struct namespace *ns, struct hidden *h)
{
	char folder[2 * FH_MAX + 1], *text = NULL;
	int err = -ENOMEM;
	json_t *j;

	if (!ns->memory)
		return 0;
	fh_to_hex(&h->folder, folder);
	j = json_pack("{s:o, s:s, s:s, s:o}", "file",
		      ns_file_json(ns, h->file), "folder", folder, "leaf",
		      h->name, "cred", cred_json(h->cred));
	if (j)
		text = json_dumps(j, JSON_COMPACT);
	if (text)
		err = ns->memory->hide(ns->memory_arg, text, &h->id);
	free(text);
	json_decref(j);
	return err;
}

static struct hidden *
restore(struct namespace *ns, const json_t *j)
{
	const char *folder, *leaf;
	struct hidden *h = NULL;
	json_t *file, *cred_j;
	struct wb_file *f;
	struct cred *cred;
	struct fh fh;
	int err;

	if (json_unpack((json_t *)j, "{s:o, s:s, s:s, s:o}", "file", &file,
			"folder", &folder, "leaf", &leaf, "cred", &cred_j) ||
	    fh_from_hex(&fh, folder))
		return NULL;
	f = ns_file_from_json(ns, file, &err);
	cred = cred_from_json(cred_j);
	if (f && cred)
		h = hidden_add(ns, f, cred, &fh, leaf);
	file_put(f);
	cred_put(cred);
	return h;
}

bool
ns_restore_hidden(struct namespace *ns, const char *text, uint64_t id)
{
	json_t *j = json_loads(text, 0, NULL);
	struct hidden *h = j ? restore(ns, j) : NULL;

	json_decref(j);
	if (!h)
		return false;
	h->id = id;
	file_when_closed(h->file, hidden_closed, ns);
	return true;
}

/* ---- hiding ---- */

/* The server refused: it keeps its name. */
static void
hide_undo(struct op *op)
{
	struct hidden *h = op->hiding;

	op->hiding = NULL;
	if (!h)
		return;
	unhide(op->ns, h->id);
	hidden_drop(h);
}

/* From now on it goes with its last close. */
static void
hide_settle(struct op *op)
{
	struct hidden *h = op->hiding;

	op->hiding = NULL;
	if (!h)
		return;
	h->pending = false;
	file_when_closed(h->file, hidden_closed, op->ns);
}

static void
hide_came(struct op *op, int err, const void *data)
{
	void (*next)(struct op *) = op->hidden;
	struct wb_file *f = op->file;

	if (err == -ENOENT && op->call.transmissions > 1)
		err = 0;
	if (err && data)
		hide_undo(op);
	else
		hide_settle(op);	/* no answer: it may have been done */
	if (op_refused(op, err))
		return;
	op->file = NULL;
	file_put(f);
	next(op);
}

/* Remembers the name that the file will have; 0 or -errno. */
static int
hide_prepare(struct op *op, const struct fh *folder)
{
	uint64_t unique;
	int err;

	if (getrandom(&unique, sizeof unique, GRND_NONBLOCK) !=
	    sizeof unique)
		unique = op_now(op) << 16 ^ (uint64_t)random();
	free(op->hidden_leaf);
	op->hidden_leaf = NULL;
	if (asprintf(&op->hidden_leaf, ".nfs%016llx",
		     (unsigned long long)unique) < 0) {
		op->hidden_leaf = NULL;
		return -ENOMEM;
	}
	op->hiding = hidden_add(op->ns, op->file, op->cred, folder,
				op->hidden_leaf);
	if (!op->hiding)
		return -ENOMEM;
	op->hiding->pending = true;
	err = remember(op->ns, op->hiding);
	if (err)
		hide_undo(op);
	return err;
}

void
op_hide(struct op *op, const struct fh *folder, const char *leaf,
	struct wb_file *f, void (*next)(struct op *))
{
	int err;

	op->file = file_ref(f);
	op->hidden = next;
	err = hide_prepare(op, folder);
	if (err)
		op_fail(op, err, "its hidden name can't be written down");
	else
		op_rename(op, folder, leaf, folder, op->hidden_leaf,
			  hide_came);
}

/* The op ends early. */
void
hidden_leave(struct op *op)
{
	hide_settle(op);
}

/* Stopping: the next instance goes on with them. */
void
hidden_free(struct namespace *ns)
{
	struct hidden *h;
	struct op *op;

	LIST_FOREACH(op, &ns->ops, entry)
		op->hiding = NULL;
	while ((h = LIST_FIRST(&ns->hidden))) {
		log_info("%s: its hidden name %s stays on the server until "
			 "its last user closes it", file_name(h->file),
			 h->name);
		file_when_closed(h->file, NULL, NULL);
		hidden_drop(h);
	}
}
