/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_file.c - procedures on one file: attributes, READ, WRITE, COMMIT */
#include <string.h>

#include "tests/nfssim_int.h"

nfsstat3
sim_node(struct nfssim *sim, const nfs_fh3 *fh, struct node **n)
{
	*n = NULL;
	return store_find(&sim->store, fh->data.data_val, fh->data.data_len, n);
}

static void
say_time(uint64_t nsec, nfstime3 *t)
{
	t->seconds = (uint32_t)(nsec / 1000000000);
	t->nseconds = (uint32_t)(nsec % 1000000000);
}

static uint64_t
nsec_of(const nfstime3 *t)
{
	return t->seconds * 1000000000ull + t->nseconds;
}

void
sim_attr(const struct nfssim *sim, const struct node *n, fattr3 *a)
{
	memset(a, 0, sizeof *a);
	a->type = n->type;
	a->mode = n->mode;
	a->nlink = n->nlink;
	a->uid = n->uid;
	a->gid = n->gid;
	a->size = n->type == NF3REG ? n->contents.size :
		  n->type == NF3LNK ? strlen(n->target) : 4096;
	a->used = n->contents.used;
	a->fsid = sim->store.fsid;
	a->fileid = n->id;
	say_time(n->atime, &a->atime);
	say_time(n->mtime, &a->mtime);
	say_time(n->ctime, &a->ctime);
}

void
sim_post_attr(const struct nfssim *sim, const struct node *n,
	      post_op_attr *a)
{
	a->attributes_follow = n && !sim->bare;
	if (a->attributes_follow)
		sim_attr(sim, n, &a->post_op_attr_u.attributes);
}

void
sim_pre_attr(const struct nfssim *sim, const struct node *n, pre_op_attr *a)
{
	wcc_attr *w = &a->pre_op_attr_u.attributes;

	a->attributes_follow = n && !sim->bare;
	if (!a->attributes_follow)
		return;
	w->size = n->type == NF3REG ? n->contents.size : 4096;
	say_time(n->mtime, &w->mtime);
	say_time(n->ctime, &w->ctime);
}

static nfsstat3
set_size(struct nfssim *sim, struct node *n, uint64_t size)
{
	uint64_t old = n->contents.size;
	nfsstat3 st = NFS3_OK;

	if (n->type == NF3DIR)
		return NFS3ERR_ISDIR;
	if (n->type != NF3REG)
		return NFS3ERR_INVAL;
	if (size > sim->fsinfo.maxfilesize)
		return NFS3ERR_FBIG;
	if (size > old)
		access_room(sim, n, old, size - old, &st);
	if (st == NFS3_OK)
		st = contents_truncate(&n->contents, size);
	if (st != NFS3_OK)
		return st;
	if (sim->model)
		model_truncate(sim->model, n->id, size);
	n->mtime = store_time(&sim->store);
	return NFS3_OK;
}

nfsstat3
sim_set_attr(struct nfssim *sim, struct node *n, const sattr3 *a)
{
	nfsstat3 st;

	if (a->size.set_it) {
		st = set_size(sim, n, a->size.set_size3_u.size);
		if (st != NFS3_OK)
			return st;
	}
	if (a->mode.set_it)
		n->mode = a->mode.set_mode3_u.mode & 07777;
	if (a->uid.set_it)
		n->uid = a->uid.set_uid3_u.uid;
	if (a->gid.set_it)
		n->gid = a->gid.set_gid3_u.gid;
	if (a->atime.set_it == SET_TO_CLIENT_TIME)
		n->atime = nsec_of(&a->atime.set_atime_u.atime);
	if (a->atime.set_it == SET_TO_SERVER_TIME)
		n->atime = sim->store.now;
	if (a->mtime.set_it == SET_TO_CLIENT_TIME)
		n->mtime = nsec_of(&a->mtime.set_mtime_u.mtime);
	if (a->mtime.set_it == SET_TO_SERVER_TIME)
		n->mtime = sim->store.now;
	n->ctime = store_time(&sim->store);
	return NFS3_OK;
}

static void
getattr(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const GETATTR3args *a = args;
	GETATTR3res *r = res;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->object, &n);
	if (n)
		sim_attr(sim, n, &r->GETATTR3res_u.resok.obj_attributes);
}

static void
setattr(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const SETATTR3args *a = args;
	SETATTR3res *r = res;
	wcc_data *wcc = &r->SETATTR3res_u.resok.obj_wcc;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->object, &n);
	if (!n)
		return;
	sim_pre_attr(sim, n, &wcc->before);
	if (a->guard.check &&
	    nsec_of(&a->guard.sattrguard3_u.obj_ctime) != n->ctime)
		r->status = NFS3ERR_NOT_SYNC;
	else
		r->status = sim_set_attr(sim, n, &a->new_attributes);
	sim_post_attr(sim, n, &wcc->after);
}

static void
access3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const ACCESS3args *a = args;
	ACCESS3res *r = res;
	struct node *n;

	r->status = sim_node(sim, &a->object, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &r->ACCESS3res_u.resok.obj_attributes);
	r->ACCESS3res_u.resok.access = access_bits(sim, c, n, a->access);
}

static void
readlink3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const READLINK3args *a = args;
	READLINK3res *r = res;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->symlink, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &r->READLINK3res_u.resok.symlink_attributes);
	if (n->type != NF3LNK)
		r->status = NFS3ERR_INVAL;
	else
		r->READLINK3res_u.resok.data = n->target;
}

static nfsstat3
check_file(const struct node *n)
{
	return n->type == NF3REG ? NFS3_OK :
	       n->type == NF3DIR ? NFS3ERR_ISDIR : NFS3ERR_INVAL;
}

static void
read3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const READ3args *a = args;
	READ3res *r = res;
	READ3resok *ok = &r->READ3res_u.resok;
	size_t len = a->count < sim->opt.rtmax ? a->count : sim->opt.rtmax;
	struct node *n;

	r->status = sim_node(sim, &a->file, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &ok->file_attributes);
	r->status = check_file(n);
	if (r->status != NFS3_OK)
		return;
	if (c->verdict.garbage == NFSSIM_OVERSIZED)
		len = a->count + 4096;
	ok->data.data_val = call_alloc(c, len + 1);
	if (!ok->data.data_val) {
		r->status = NFS3ERR_SERVERFAULT;
		return;
	}
	len = contents_read(&n->contents, false, a->offset,
			    ok->data.data_val, len);
	sim->stats.read_bytes += len;
	if (c->verdict.garbage == NFSSIM_OVERSIZED)
		len = a->count + 4096;
	ok->data.data_len = ok->count = (uint32_t)len;
	ok->eof = a->offset + len >= n->contents.size;
}

static void
say_verifier(const struct nfssim *sim, const struct sim_call *c,
	     char verf[NFS3_WRITEVERFSIZE])
{
	uint64_t v = c->verdict.verifier ? c->verdict.verifier : sim->verifier;

	memcpy(verf, &v, NFS3_WRITEVERFSIZE);
}

static stable_how
granted(const struct sim_call *c, stable_how asked)
{
	return c->verdict.set_committed ? (stable_how)c->verdict.committed :
	       c->verdict.sync ? FILE_SYNC : asked;
}

bool
sim_is_stable(const struct sim_call *c)
{
	return granted(c, (stable_how)c->pub.stable) != UNSTABLE;
}

/* What of a WRITE is done: the server's limit, a fault's, what there is room
   for. */
static uint32_t
write_length(struct nfssim *sim, const struct sim_call *c,
	     const struct node *n, const WRITE3args *a, nfsstat3 *st)
{
	const struct nfssim_verdict *v = &c->verdict;
	uint64_t len = a->count, end;

	if (len > sim->opt.wtmax)
		len = sim->opt.wtmax;
	if (v->short_count && len > v->short_count)
		len = v->short_count;
	if (v->count_0)
		len = 0;
	end = sim->fsinfo.maxfilesize;
	if (len && a->offset >= end)
		*st = NFS3ERR_FBIG;
	else if (len > end - a->offset)
		len = end - a->offset;
	if (*st == NFS3_OK)
		len = access_room(sim, n, a->offset, len, st);
	return *st == NFS3_OK ? (uint32_t)len : 0;
}

static nfsstat3
put(struct nfssim *sim, struct sim_call *c, struct node *n,
    const WRITE3args *a, WRITE3resok *ok)
{
	nfsstat3 st = a->count != a->data.data_len ? NFS3ERR_INVAL :
						     check_file(n);
	uint32_t len = 0;
	bool stable = sim_is_stable(c);

	if (st == NFS3_OK)
		len = write_length(sim, c, n, a, &st);
	if (st == NFS3_OK && !c->verdict.lie)
		st = contents_write(&n->contents, a->offset, a->data.data_val,
				    len, stable);
	if (st != NFS3_OK)
		return st;
	if (!c->verdict.lie) {
		n->mtime = n->ctime = store_time(&sim->store);
		sim->stats.written_bytes += len;
		sim->stats.stable_bytes += stable ? len : 0;
	}
	ok->count = c->verdict.garbage == NFSSIM_OVERSIZED ? a->count + 1 :
							     len;
	ok->committed = granted(c, a->stable);
	say_verifier(sim, c, ok->verf);
	return NFS3_OK;
}

static void
write3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const WRITE3args *a = args;
	WRITE3res *r = res;
	WRITE3resok *ok = &r->WRITE3res_u.resok;
	struct node *n;

	r->status = sim_node(sim, &a->file, &n);
	if (!n)
		return;
	sim_pre_attr(sim, n, &ok->file_wcc.before);
	r->status = put(sim, c, n, a, ok);
	sim_post_attr(sim, n, &ok->file_wcc.after);
}

static nfsstat3
make_stable(struct nfssim *sim, const struct sim_call *c, struct contents *d,
	    const COMMIT3args *a)
{
	uint64_t before = d->stabilized;
	nfsstat3 st;

	if (c->verdict.lie)
		return NFS3_OK;
	st = c->snapshot ? contents_apply(d, c->snapshot) :
			   contents_commit(d, a->offset, a->count);
	sim->stats.stable_bytes += d->stabilized - before;
	return st;
}

static void
commit3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const COMMIT3args *a = args;
	COMMIT3res *r = res;
	COMMIT3resok *ok = &r->COMMIT3res_u.resok;
	struct node *n;

	r->status = sim_node(sim, &a->file, &n);
	if (!n)
		return;
	sim_pre_attr(sim, n, &ok->file_wcc.before);
	r->status = check_file(n);
	if (r->status == NFS3_OK)
		r->status = make_stable(sim, c, &n->contents, a);
	if (r->status == NFS3_OK)
		say_verifier(sim, c, ok->verf);
	sim_post_attr(sim, n, &ok->file_wcc.after);
}

static void
fsstat(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const FSSTAT3args *a = args;
	FSSTAT3res *r = res;
	FSSTAT3resok *ok = &r->FSSTAT3res_u.resok;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->fsroot, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &ok->obj_attributes);
	ok->tbytes = sim->full_bytes < 1ull << 40 ? sim->full_bytes :
						    1ull << 40;
	ok->fbytes = ok->abytes = access_free_bytes(sim);
	ok->tfiles = ok->ffiles = ok->afiles = 1 << 20;
}

static void
fsinfo(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const FSINFO3args *a = args;
	FSINFO3res *r = res;
	FSINFO3resok *ok = &r->FSINFO3res_u.resok;
	const struct nfssim_fsinfo *f = &sim->fsinfo;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->fsroot, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &ok->obj_attributes);
	ok->rtmax = f->rtmax;
	ok->rtpref = f->rtpref;
	ok->rtmult = f->rtmult;
	ok->wtmax = f->wtmax;
	ok->wtpref = f->wtpref;
	ok->wtmult = f->wtmult;
	ok->dtpref = f->dtpref;
	ok->maxfilesize = f->maxfilesize;
	ok->time_delta.nseconds = 1;
	ok->properties = f->properties;
}

static void
pathconf3(struct nfssim *sim, struct sim_call *c, const void *args, void *res)
{
	const PATHCONF3args *a = args;
	PATHCONF3res *r = res;
	PATHCONF3resok *ok = &r->PATHCONF3res_u.resok;
	struct node *n;

	(void)c;
	r->status = sim_node(sim, &a->object, &n);
	if (!n)
		return;
	sim_post_attr(sim, n, &ok->obj_attributes);
	ok->linkmax = 32000;
	ok->name_max = 255;
	ok->no_trunc = TRUE;
	ok->chown_restricted = TRUE;
	ok->case_preserving = TRUE;
}

static const struct sim_proc procs[NFSSIM_PROCS] = {
	[NFSPROC3_NULL] = { .name = "NULL" },
	[NFSPROC3_GETATTR] = SIM_PROC(GETATTR, getattr, false),
	[NFSPROC3_SETATTR] = SIM_PROC(SETATTR, setattr, false),
	[NFSPROC3_ACCESS] = SIM_PROC(ACCESS, access3, false),
	[NFSPROC3_READLINK] = SIM_PROC(READLINK, readlink3, false),
	[NFSPROC3_READ] = SIM_PROC(READ, read3, false),
	[NFSPROC3_WRITE] = {
		"WRITE", write3,
		(rpc_xdr_fn *)nfs3_xdr_write_args, sizeof(WRITE3args),
		(rpc_xdr_fn *)xdr_WRITE3res, sizeof(WRITE3res), false,
	},
	[NFSPROC3_FSSTAT] = SIM_PROC(FSSTAT, fsstat, false),
	[NFSPROC3_FSINFO] = SIM_PROC(FSINFO, fsinfo, false),
	[NFSPROC3_PATHCONF] = SIM_PROC(PATHCONF, pathconf3, false),
	[NFSPROC3_COMMIT] = SIM_PROC(COMMIT, commit3, false),
};

const struct sim_proc *
sim_file_proc(uint32_t proc)
{
	return proc < NFSSIM_PROCS && procs[proc].name ? &procs[proc] : NULL;
}
