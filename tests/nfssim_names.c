/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_names.c - procedures on names: LOOKUP, CREATE … READDIRPLUS */
#include <string.h>

#include "tests/nfssim_int.h"

static void
say_handle(struct nfssim *sim, struct sim_call *c, const struct node *n,
	   nfs_fh3 *out)
{
	struct fh *fh = call_alloc(c, sizeof *fh);

	if (!fh)
		return;		/* an empty handle, in a test without memory */
	store_fh(&sim->store, n, fh);
	out->data.data_val = (char *)fh->data;
	out->data.data_len = fh->len;
}

static void
lookup(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const LOOKUP3args *a = args;
	LOOKUP3res *r = res;
	LOOKUP3resok *ok = &r->LOOKUP3res_u.resok;
	struct node *dir, *n;

	r->status = sim_node(sim, &a->what.dir, &dir);
	if (r->status == NFS3_OK)
		r->status = store_lookup(&sim->store, dir, a->what.name, &n);
	if (r->status != NFS3_OK) {
		sim_post_attr(sim, dir,
			      &r->LOOKUP3res_u.resfail.dir_attributes);
		return;
	}
	say_handle(sim, c, n, &ok->object);
	sim_post_attr(sim, n, &ok->obj_attributes);
	sim_post_attr(sim, dir, &ok->dir_attributes);
}

/* What CREATE, MKDIR and SYMLINK answer is the same in bytes. */
struct made {
	post_op_fh3 *obj;
	post_op_attr *attr;
	wcc_data *dir_ok, *dir_fail;
};

static nfsstat3
make(struct nfssim *sim, struct sim_call *c, struct node *dir,
     const char *name, ftype3 type, const char *target, const sattr3 *attr,
     struct node **n)
{
	nfsstat3 st = store_make(&sim->store, dir, name, type, target, n);

	if (st != NFS3_OK)
		return st;
	(*n)->uid = c->uid;
	(*n)->gid = c->gid;
	return attr ? sim_set_attr(sim, *n, attr) : NFS3_OK;
}

static void
say_made(struct nfssim *sim, struct sim_call *c, nfsstat3 st,
	 const struct node *dir, const pre_op_attr *before,
	 const struct node *n, const struct made *out)
{
	wcc_data *wcc = st == NFS3_OK ? out->dir_ok : out->dir_fail;

	if (st == NFS3_OK) {
		out->obj->handle_follows =
			c->verdict.garbage != NFSSIM_NO_HANDLE;
		say_handle(sim, c, n, &out->obj->post_op_fh3_u.handle);
		sim_post_attr(sim, n, out->attr);
	}
	wcc->before = *before;
	sim_post_attr(sim, dir, &wcc->after);
}

static nfsstat3
make_exclusive(struct nfssim *sim, struct sim_call *c, struct node *dir,
	       const char *name, const char *verf, struct node **n)
{
	nfsstat3 st = make(sim, c, dir, name, NF3REG, NULL, NULL, n);

	if (st == NFS3_OK) {
		(*n)->exclusive = true;
		memcpy((*n)->create_verf, verf, NFS3_CREATEVERFSIZE);
		return st;
	}
	if (st != NFS3ERR_EXIST)
		return st;
	/* the same call again? */
	if (store_lookup(&sim->store, dir, name, n) == NFS3_OK &&
	    (*n)->exclusive &&
	    !memcmp((*n)->create_verf, verf, NFS3_CREATEVERFSIZE))
		return NFS3_OK;
	return NFS3ERR_EXIST;
}

static nfsstat3
make_file(struct nfssim *sim, struct sim_call *c, struct node *dir,
	  const CREATE3args *a, struct node **n)
{
	const sattr3 *attr = &a->how.createhow3_u.obj_attributes;
	nfsstat3 st;

	if (a->how.mode == EXCLUSIVE)
		return make_exclusive(sim, c, dir, a->where.name,
				      a->how.createhow3_u.verf, n);
	st = make(sim, c, dir, a->where.name, NF3REG, NULL, attr, n);
	if (st != NFS3ERR_EXIST || a->how.mode == GUARDED)
		return st;
	st = store_lookup(&sim->store, dir, a->where.name, n);
	if (st != NFS3_OK || (*n)->type != NF3REG)
		return st == NFS3_OK ? NFS3ERR_EXIST : st;
	/* there already: only the size is set, as other servers do */
	if (attr->size.set_it && !access_may_write(sim, c, *n))
		return NFS3ERR_ACCES;
	if (attr->size.set_it) {
		sattr3 size_only = { .size = attr->size };

		st = sim_set_attr(sim, *n, &size_only);
	}
	return st;
}

static void
create(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const CREATE3args *a = args;
	CREATE3res *r = res;
	CREATE3resok *ok = &r->CREATE3res_u.resok;
	struct made out = { &ok->obj, &ok->obj_attributes, &ok->dir_wcc,
			    &r->CREATE3res_u.resfail.dir_wcc };
	struct node *dir, *n = NULL;
	pre_op_attr before;

	r->status = sim_node(sim, &a->where.dir, &dir);
	sim_pre_attr(sim, dir, &before);
	if (dir)
		r->status = make_file(sim, c, dir, a, &n);
	say_made(sim, c, r->status, dir, &before, n, &out);
}

static void
mkdir3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const MKDIR3args *a = args;
	MKDIR3res *r = res;
	MKDIR3resok *ok = &r->MKDIR3res_u.resok;
	struct made out = { &ok->obj, &ok->obj_attributes, &ok->dir_wcc,
			    &r->MKDIR3res_u.resfail.dir_wcc };
	struct node *dir, *n = NULL;
	pre_op_attr before;

	r->status = sim_node(sim, &a->where.dir, &dir);
	sim_pre_attr(sim, dir, &before);
	if (dir)
		r->status = make(sim, c, dir, a->where.name, NF3DIR, NULL,
				 &a->attributes, &n);
	say_made(sim, c, r->status, dir, &before, n, &out);
}

static void
symlink3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const SYMLINK3args *a = args;
	SYMLINK3res *r = res;
	SYMLINK3resok *ok = &r->SYMLINK3res_u.resok;
	struct made out = { &ok->obj, &ok->obj_attributes, &ok->dir_wcc,
			    &r->SYMLINK3res_u.resfail.dir_wcc };
	struct node *dir, *n = NULL;
	pre_op_attr before;

	r->status = sim_node(sim, &a->where.dir, &dir);
	sim_pre_attr(sim, dir, &before);
	if (dir)
		r->status = make(sim, c, dir, a->where.name, NF3LNK,
				 a->symlink.symlink_data,
				 &a->symlink.symlink_attributes, &n);
	say_made(sim, c, r->status, dir, &before, n, &out);
}

/* The server has no devices. */
static void
mknod3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	MKNOD3res *r = res;

	(void)sim;
	(void)c;
	(void)args;
	r->status = NFS3ERR_NOTSUPP;
}

typedef nfsstat3 remove_fn(struct store *, struct node *, const char *);

/* REMOVE3res and RMDIR3res are the same. */
static void
remove_by(struct nfssim *sim, const diropargs3 *a, REMOVE3res *r,
	  remove_fn *fn)
{
	wcc_data *wcc = &r->REMOVE3res_u.resok.dir_wcc;
	struct node *dir;

	r->status = sim_node(sim, &a->dir, &dir);
	sim_pre_attr(sim, dir, &wcc->before);
	if (dir)
		r->status = fn(&sim->store, dir, a->name);
	sim_post_attr(sim, dir, &wcc->after);
}

static void
remove3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	(void)c;
	remove_by(sim, &((const REMOVE3args *)args)->object, res,
		  store_remove);
}

static void
rmdir3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	(void)c;
	remove_by(sim, &((const RMDIR3args *)args)->object, res, store_rmdir);
}

static void
rename3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const RENAME3args *a = args;
	RENAME3res *r = res;
	RENAME3resok *ok = &r->RENAME3res_u.resok;
	struct node *from, *to;
	nfsstat3 st;

	(void)c;
	r->status = sim_node(sim, &a->from.dir, &from);
	st = sim_node(sim, &a->to.dir, &to);
	sim_pre_attr(sim, from, &ok->fromdir_wcc.before);
	sim_pre_attr(sim, to, &ok->todir_wcc.before);
	if (r->status == NFS3_OK)
		r->status = st;
	if (from && to)
		r->status = store_rename(&sim->store, from, a->from.name, to,
					 a->to.name);
	sim_post_attr(sim, from, &ok->fromdir_wcc.after);
	sim_post_attr(sim, to, &ok->todir_wcc.after);
}

static void
link3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const LINK3args *a = args;
	LINK3res *r = res;
	LINK3resok *ok = &r->LINK3res_u.resok;
	struct node *n, *dir;
	nfsstat3 st;

	(void)c;
	r->status = sim_node(sim, &a->file, &n);
	st = sim_node(sim, &a->link.dir, &dir);
	sim_pre_attr(sim, dir, &ok->linkdir_wcc.before);
	if (r->status == NFS3_OK)
		r->status = st;
	if (n && dir)
		r->status = store_link(&sim->store, n, dir, a->link.name);
	sim_post_attr(sim, n, &ok->file_attributes);
	sim_post_attr(sim, dir, &ok->linkdir_wcc.after);
}

/* READDIR, READDIRPLUS: a walk over ".", ".." and the entries. */
struct walk {
	struct node *dir;
	struct entry *next;	/* the one after cookie */
	uint64_t cookie;	/* of what was walked last */
	const char *name;	/* of what is walked now */
	struct node *node;
};

static void
walk_start(struct walk *w, struct node *dir, uint64_t cookie)
{
	w->dir = dir;
	w->cookie = cookie;
	for (w->next = dir->entries; w->next && w->next->cookie <= cookie;
	     w->next = w->next->hh.next)
		;
}

/* false: that was all */
static bool
walk_peek(struct walk *w)
{
	if (w->cookie < 2) {
		w->name = w->cookie ? ".." : ".";
		w->node = w->cookie ? w->dir->parent : w->dir;
		return true;
	}
	if (!w->next)
		return false;
	w->name = w->next->name;
	w->node = w->next->node;
	return true;
}

static void
walk_step(struct walk *w)
{
	if (w->cookie < 2) {
		w->cookie++;
		return;
	}
	w->cookie = w->next->cookie;
	w->next = w->next->hh.next;
}

/* In the reply: follows, id, length, name, cookie. */
static size_t
entry_bytes(const char *name)
{
	return 4 + 8 + 4 + ((strlen(name) + 3) & ~(size_t)3) + 8;
}

static nfsstat3
start_readdir(struct nfssim *sim, const nfs_fh3 *fh, uint64_t cookie,
	      struct walk *w, post_op_attr *attr)
{
	struct node *dir;
	nfsstat3 st = sim_node(sim, fh, &dir);

	sim_post_attr(sim, dir, attr);
	if (st == NFS3_OK && dir->type != NF3DIR)
		st = NFS3ERR_NOTDIR;
	if (st == NFS3_OK)
		walk_start(w, dir, cookie);
	return st;
}

static void
readdir3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const READDIR3args *a = args;
	READDIR3res *r = res;
	READDIR3resok *ok = &r->READDIR3res_u.resok;
	entry3 **tail = &ok->reply.entries, *e;
	size_t bytes = 112;	/* all but the entries */
	struct walk w;

	r->status = start_readdir(sim, &a->dir, a->cookie, &w,
				  &ok->dir_attributes);
	if (r->status != NFS3_OK)
		return;
	while (walk_peek(&w)) {
		bytes += entry_bytes(w.name);
		e = bytes <= a->count ? call_alloc(c, sizeof *e) : NULL;
		if (!e)
			break;
		e->fileid = w.node->id;
		e->name = (char *)w.name;
		walk_step(&w);
		e->cookie = w.cookie;
		*tail = e;
		tail = &e->nextentry;
	}
	ok->reply.eof = !walk_peek(&w);
	if (!ok->reply.entries && !ok->reply.eof)
		r->status = NFS3ERR_TOOSMALL;
}

static void
readdirplus(struct nfssim *sim, struct sim_call *c, const void *args,
	    void *res)
{
	const READDIRPLUS3args *a = args;
	READDIRPLUS3res *r = res;
	READDIRPLUS3resok *ok = &r->READDIRPLUS3res_u.resok;
	entryplus3 **tail = &ok->reply.entries, *e;
	size_t names = 0, bytes = 112;
	struct walk w;

	r->status = start_readdir(sim, &a->dir, a->cookie, &w,
				  &ok->dir_attributes);
	if (r->status != NFS3_OK)
		return;
	while (walk_peek(&w)) {
		names += entry_bytes(w.name);
		/* attributes, handle */
		bytes += entry_bytes(w.name) + 4 + 84 + 4 + 4 + 16;
		e = bytes <= a->maxcount && names <= a->dircount ?
		    call_alloc(c, sizeof *e) : NULL;
		if (!e)
			break;
		e->fileid = w.node->id;
		e->name = (char *)w.name;
		sim_post_attr(sim, w.node, &e->name_attributes);
		e->name_handle.handle_follows = TRUE;
		say_handle(sim, c, w.node, &e->name_handle.post_op_fh3_u.handle);
		walk_step(&w);
		e->cookie = w.cookie;
		*tail = e;
		tail = &e->nextentry;
	}
	ok->reply.eof = !walk_peek(&w);
	if (!ok->reply.entries && !ok->reply.eof)
		r->status = NFS3ERR_TOOSMALL;
}

static const struct sim_proc procs[NFSSIM_PROCS] = {
	[NFSPROC3_LOOKUP] = SIM_PROC(LOOKUP, lookup, true),
	[NFSPROC3_CREATE] = SIM_PROC(CREATE, create, true),
	[NFSPROC3_MKDIR] = SIM_PROC(MKDIR, mkdir3, true),
	[NFSPROC3_SYMLINK] = SIM_PROC(SYMLINK, symlink3, true),
	[NFSPROC3_MKNOD] = SIM_PROC(MKNOD, mknod3, true),
	[NFSPROC3_REMOVE] = SIM_PROC(REMOVE, remove3, true),
	[NFSPROC3_RMDIR] = SIM_PROC(RMDIR, rmdir3, true),
	[NFSPROC3_RENAME] = SIM_PROC(RENAME, rename3, true),
	[NFSPROC3_LINK] = SIM_PROC(LINK, link3, false),
	[NFSPROC3_READDIR] = SIM_PROC(READDIR, readdir3, false),
	[NFSPROC3_READDIRPLUS] = SIM_PROC(READDIRPLUS, readdirplus, false),
};

const struct sim_proc *
sim_names_proc(uint32_t proc)
{
	return proc < NFSSIM_PROCS && procs[proc].name ? &procs[proc] : NULL;
}
