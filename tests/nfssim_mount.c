/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_mount.c - the MOUNT program: one export, and who mounted it */
#include <stdlib.h>
#include <string.h>

#include "tests/mount3_prot.h"
#include "tests/nfssim_int.h"

struct mounted {
	TAILQ_ENTRY(mounted) link;
	char directory[];
};

static void
forget(struct nfssim *sim, struct mounted *m)
{
	TAILQ_REMOVE(&sim->mounted, m, link);
	free(m);
}

void
sim_forget_mounted(struct nfssim *sim)
{
	while (!TAILQ_EMPTY(&sim->mounted))
		forget(sim, TAILQ_FIRST(&sim->mounted));
}

/* What of path lies below the export; NULL: it does not. */
static const char *
below_export(const struct nfssim *sim, const char *path)
{
	size_t len = strlen(sim->export);

	if (len && sim->export[len - 1] == '/')
		len--;
	if (strncmp(path, sim->export, len) ||
	    (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

static void
remember(struct nfssim *sim, const char *path)
{
	struct mounted *m = malloc(sizeof *m + strlen(path) + 1);

	if (!m)
		return;
	strcpy(m->directory, path);
	TAILQ_INSERT_TAIL(&sim->mounted, m, link);
}

static void
mnt(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const char *path = *(char *const *)args;
	const char *below = below_export(sim, path);
	mountres3 *r = res;
	mountres3_ok *ok = &r->mountres3_u.mountinfo;
	static int auth_sys = AUTH_SYS;
	struct node *n;
	struct fh *fh;

	if (!below) {
		r->status = MNT3ERR_NOENT;
		return;
	}
	r->status = (mountstat3)store_walk(&sim->store, below, &n);
	if (r->status == MNT3_OK && n->type != NF3DIR)
		r->status = MNT3ERR_NOTDIR;
	fh = call_alloc(c, sizeof *fh);
	if (!fh)
		r->status = MNT3ERR_SERVERFAULT;
	if (r->status != MNT3_OK)
		return;
	store_fh(&sim->store, n, fh);
	ok->fhandle.fhandle_val = (char *)fh->data;
	ok->fhandle.fhandle_len = fh->len;
	ok->auth_flavors.auth_flavors_val = &auth_sys;
	ok->auth_flavors.auth_flavors_len = 1;
	remember(sim, path);
}

static void
dump(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	static char host[] = "client";
	mount3_body **tail = &((mount3_list *)res)->first, *b;
	struct mounted *m;

	(void)args;
	TAILQ_FOREACH(m, &sim->mounted, link) {
		b = call_alloc(c, sizeof *b);
		if (!b)
			return;
		b->host = host;
		b->directory = m->directory;
		*tail = b;
		tail = &b->next;
	}
}

static void
umnt(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const char *path = *(char *const *)args;
	struct mounted *m, *next;

	(void)c;
	(void)res;
	for (m = TAILQ_FIRST(&sim->mounted); m; m = next) {
		next = TAILQ_NEXT(m, link);
		if (!strcmp(m->directory, path))
			forget(sim, m);
	}
}

static void
umnt_all(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	(void)c;
	(void)args;
	(void)res;
	sim_forget_mounted(sim);
}

static void
export3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	export3_node *e = call_alloc(c, sizeof *e);

	(void)args;
	if (!e)
		return;
	e->directory = sim->export;
	((export3_list *)res)->first = e;
}

#define PATH (rpc_xdr_fn *)xdr_mnt3_path, sizeof(mnt3_path)

static const struct sim_proc procs[] = {
	{ .name = "NULL" },
	{ "MNT", mnt, PATH, (rpc_xdr_fn *)xdr_mountres3, sizeof(mountres3),
	  false },
	{ "DUMP", dump, NULL, 0, (rpc_xdr_fn *)xdr_mount3_list,
	  sizeof(mount3_list), false },
	{ "UMNT", umnt, PATH, NULL, 0, false },
	{ "UMNTALL", umnt_all, NULL, 0, NULL, 0, false },
	{ "EXPORT", export3, NULL, 0, (rpc_xdr_fn *)xdr_export3_list,
	  sizeof(export3_list), false },
};

const struct sim_proc *
sim_mount_proc(uint32_t proc)
{
	return proc < sizeof procs / sizeof *procs ? &procs[proc] : NULL;
}
