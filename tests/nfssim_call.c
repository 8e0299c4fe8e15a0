/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_call.c - from a record to its reply
 *
 *	record -> header, arguments -> what shall become of it (verdict)
 *	       -> seen before? (drc) -> held, or on its way through the model
 *	       -> the procedure -> the reply, now, later, never, or garbled
 *
 * The record is kept and decoded once more where the procedure runs later.
 *
 * Keeps a list of WRITEs that came and were not answered, to see whether two of
 * them ever overlap.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_int.h"

struct sim_alloc {
	SLIST_ENTRY(sim_alloc) link;
	_Alignas(16) unsigned char data[];
};

struct flying {
	uint32_t xid;
	struct fh fh;
	uint64_t from, to, sum;		/* sum: of the data */
	TAILQ_ENTRY(flying) link;
};

void *
call_alloc(struct sim_call *c, size_t bytes)
{
	struct sim_alloc *a = calloc(1, sizeof *a + bytes);

	if (!a)
		return NULL;
	SLIST_INSERT_HEAD(&c->allocs, a, link);
	return a->data;
}

static void
free_allocs(struct sim_call *c)
{
	struct sim_alloc *a;

	while ((a = SLIST_FIRST(&c->allocs))) {
		SLIST_REMOVE_HEAD(&c->allocs, link);
		free(a);
	}
}

/* WRITEs in flight */

void
sim_answered(struct nfssim *sim, uint32_t xid)
{
	struct flying *f, *next;

	for (f = TAILQ_FIRST(&sim->flying); f; f = next) {
		next = TAILQ_NEXT(f, link);
		if (f->xid != xid)
			continue;
		TAILQ_REMOVE(&sim->flying, f, link);
		free(f);
	}
}

void
sim_forget_flying(struct nfssim *sim)
{
	struct flying *f;

	while ((f = TAILQ_FIRST(&sim->flying))) {
		TAILQ_REMOVE(&sim->flying, f, link);
		free(f);
	}
}

static uint64_t
sum_of(const char *data, size_t len)
{
	uint64_t sum = 14695981039346656037ull, word;

	for (; len >= 8; data += 8, len -= 8) {
		memcpy(&word, data, 8);
		sum = (sum ^ word) * 1099511628211ull;
	}
	while (len--)
		sum = (sum ^ (unsigned char)*data++) * 1099511628211ull;
	return sum;
}

/* The same call again, be it under another xid? */
static bool
is_copy(const struct flying *a, const struct flying *b)
{
	return a->xid == b->xid ||
	       (a->from == b->from && a->to == b->to && a->sum == b->sum);
}

static void
write_came(struct nfssim *sim, uint32_t xid, const WRITE3args *w)
{
	struct flying *f = calloc(1, sizeof *f), *g, *next;

	if (!f)
		return;
	f->xid = xid;
	fh_set(&f->fh, w->file.data.data_val, w->file.data.data_len);
	f->from = w->offset;
	f->to = w->offset + w->data.data_len;
	if (w->data.data_val)
		f->sum = sum_of(w->data.data_val, w->data.data_len);
	for (g = TAILQ_FIRST(&sim->flying); g; g = next) {
		next = TAILQ_NEXT(g, link);
		if (!fh_equal(&f->fh, &g->fh) || f->to <= g->from ||
		    g->to <= f->from)
			continue;
		if (!is_copy(f, g)) {
			sim->stats.overlapping_writes++;
			continue;
		}
		TAILQ_REMOVE(&sim->flying, g, link);
		free(g);
	}
	TAILQ_INSERT_TAIL(&sim->flying, f, link);
	if (w->stable == UNSTABLE)
		sim->stats.unstable_writes++;
	else
		sim->stats.stable_writes++;
}

/* decoding */

static const struct sim_proc *
find_proc(const struct rpc_call_info *info)
{
	const struct sim_proc *p;

	if (info->prog == NFSSIM_MOUNT)
		return sim_mount_proc(info->proc);
	p = sim_file_proc(info->proc);
	return p ? p : sim_names_proc(info->proc);
}

static void
say_header(struct nfssim *sim, const struct rpc_call_info *info,
	   struct nfssim_call *pub)
{
	unsigned i;

	pub->xid = info->xid;
	pub->prog = info->prog;
	pub->proc = info->proc;
	pub->flavor = info->auth_sys;
	pub->uid = info->uid;
	pub->gid = info->gid;
	pub->group_nr = info->group_nr;
	for (i = 0; i < info->group_nr; i++)
		pub->group[i] = info->group[i];
	for (i = 0; i < NFSSIM_PROCS; i++)
		pub->nr += sim->stats.calls[i];
}

/* Every NFS procedure's arguments begin with a handle. */
static void
say_args(const struct sim_proc *p, const void *args, struct nfssim_call *pub)
{
	const diropargs3 *where = args;
	const WRITE3args *w = args;
	const COMMIT3args *commit = args;
	const READ3args *r = args;

	if (!p->args_bytes)
		return;
	fh_set(&pub->fh, where->dir.data.data_val, where->dir.data.data_len);
	if (p->has_name)
		pub->name = where->name;
	switch (pub->proc) {
	case NFSPROC3_WRITE:
		pub->offset = w->offset;
		pub->count = w->count;
		pub->stable = w->stable;
		break;
	case NFSPROC3_READ:
		pub->offset = r->offset;
		pub->count = r->count;
		break;
	case NFSPROC3_COMMIT:
		pub->offset = commit->offset;
		pub->count = commit->count;
		break;
	}
}

/* replies */

static void
send_bytes(struct nfssim *sim, struct conn *conn, const struct sim_call *c,
	   const void *reply, size_t len)
{
	const struct nfssim_verdict *v = &c->verdict;
	unsigned char *garbled = NULL;
	unsigned i;

	(void)sim;
	if (v->garbage) {
		garbled = sim_garble(v->garbage, c->pub.prog, c->pub.proc,
				     reply, len, &len);
		if (!garbled)
			return;
		reply = garbled;
	}
	for (i = 0; i <= v->copies; i++)
		conn_reply(conn, reply, len, v);
	free(garbled);
}

/* A whole reply, which the caller frees; NULL: no memory. */
static unsigned char *
encode(const struct sim_call *c, enum accept_stat stat, rpc_xdr_fn *xdr_res,
       void *res, size_t *len)
{
	size_t room = 64 + (xdr_res && stat == SUCCESS ?
			    xdr_sizeof((xdrproc_t)xdr_res, res) : 0);
	unsigned char *buf = malloc(room);
	ssize_t ret = -1;

	if (buf)
		ret = rpc_encode_accepted(buf, room, c->pub.xid, stat, xdr_res,
					  res, 0);
	if (ret < 0) {
		free(buf);
		return NULL;
	}
	*len = (size_t)ret;
	return buf;
}

static void
refuse(struct nfssim *sim, struct conn *conn, const struct sim_call *c,
       enum accept_stat stat)
{
	size_t len;
	unsigned char *reply = conn ? encode(c, stat, NULL, NULL, &len) : NULL;

	if (reply)
		send_bytes(sim, conn, c, reply, len);
	free(reply);
}

/* The last of it: sent, or what else the verdict wants. */
static void
dismiss(struct nfssim *sim, struct conn *conn, const struct sim_call *c,
	const void *reply, size_t len)
{
	const struct nfssim_verdict *v = &c->verdict;

	if (v->restart == NFSSIM_DONE)
		nfssim_restart(sim, v->restart_verifier);
	else if (conn && v->cut)
		conn_close(conn);
	else if (conn && !v->lose_reply)
		send_bytes(sim, conn, c, reply, len);
}

static void
set_clock(struct nfssim *sim)
{
	sim->store.now = (uint64_t)((int64_t)loop_now(sim->loop) +
				    sim->opt.wall_usec) * 1000;
}

/* Every NFS result begins with its status, and the rest may be zeros; of
   MOUNT's only MNT's does. */
static bool
has_status(const struct sim_call *c, const struct sim_proc *p)
{
	return p->res_bytes && (c->pub.prog == NFSSIM_NFS || c->pub.proc == 1);
}

static void
run(struct nfssim *sim, struct sim_call *c, const struct sim_proc *p,
    void *args, void *res)
{
	nfsstat3 st = (nfsstat3)c->verdict.status;

	sim->bare = c->verdict.garbage == NFSSIM_NO_ATTRIBUTES ||
		    c->verdict.garbage == NFSSIM_NO_HANDLE;
	if (!st && c->pub.prog == NFSSIM_NFS)
		st = access_check(sim, c, args);
	if (st && has_status(c, p))
		*(nfsstat3 *)res = st;
	else if (p->run)
		p->run(sim, c, args, res);
	sim->bare = false;
}

static void
perform(struct nfssim *sim, struct conn *conn, const struct sim_record *rec,
	struct sim_call *c, const struct sim_proc *p, void *args)
{
	void *res = call_alloc(c, p->res_bytes + 8);
	unsigned char *reply;
	size_t len;
	bool jukebox;

	set_clock(sim);
	if (!res)
		return;
	run(sim, c, p, args, res);
	reply = encode(c, SUCCESS, p->xdr_res, res, &len);
	if (!reply)
		return;
	jukebox = has_status(c, p) && *(nfsstat3 *)res == NFS3ERR_JUKEBOX;
	if (c->pub.prog == NFSSIM_NFS)
		drc_answered(sim, &c->pub, rec, reply, len, !jukebox);
	dismiss(sim, conn, c, reply, len);
	free(reply);
}

static bool
is_fault(const struct nfssim_verdict *v)
{
	static const struct nfssim_verdict none;

	return memcmp(v, &none, sizeof none);
}

/* Answers a call that came before, or not; true: it is new. */
static bool
is_new(struct nfssim *sim, struct conn *conn, const struct sim_record *rec,
       struct sim_call *c)
{
	const void *reply;
	size_t len;

	if (c->pub.prog != NFSSIM_NFS)
		return true;
	switch (drc_ask(sim, &c->pub, rec, &reply, &len)) {
	case DRC_NEW:
		return true;
	case DRC_DROP:
		sim->stats.drc_drops++;
		return false;
	case DRC_REPLAY:
		sim->stats.drc_hits++;
		dismiss(sim, conn, c, reply, len);
		return false;
	}
	return true;
}

/* What is to become of a call that came just now; true: do it. */
static bool
judge(struct nfssim *sim, struct conn *conn, const struct sim_record *rec,
      struct sim_call *c, const void *args)
{
	if (sim->opt.fault)
		sim->opt.fault(sim->opt.fault_arg, &c->pub, &c->verdict);
	if (sim->script)
		script_judge(sim, &c->pub, &c->verdict);
	if (is_fault(&c->verdict))
		sim->stats.faults++;
	if (c->pub.prog == NFSSIM_NFS)
		sim->stats.calls[c->pub.proc]++;
	else
		sim->stats.mount_calls++;
	if (c->verdict.lose_call)
		return false;
	if (c->pub.prog == NFSSIM_NFS && c->pub.proc == NFSPROC3_WRITE)
		write_came(sim, c->pub.xid, args);
	if (!is_new(sim, conn, rec, c))
		return false;
	/* the fault function may have ended the connection, or the server */
	if (!c->verdict.hold_usec || sim->model || !conn_is_open(conn))
		return true;
	conn_hold(conn, rec, &c->verdict);
	return false;
}

/* A WRITE whose payload was left in the socket. */
static bool_t
xdr_write_head(XDR *x, WRITE3args *a)
{
	return xdr_nfs_fh3(x, &a->file) &&
	       (x->x_op == XDR_FREE ||
		(xdr_offset3(x, &a->offset) && xdr_count3(x, &a->count) &&
		 xdr_stable_how(x, &a->stable) &&
		 xdr_u_int(x, &a->data.data_len) &&
		 a->data.data_len <= NFS3_DATA_MAX));
}

static rpc_xdr_fn *
args_xdr(const struct sim_proc *p, const struct sim_call *c,
	 const struct sim_record *rec)
{
	return c->pub.prog == NFSSIM_NFS && c->pub.proc == NFSPROC3_WRITE &&
	       rec->wire_len > rec->len ? (rpc_xdr_fn *)xdr_write_head :
					  p->xdr_args;
}

/* Where a call stands while it is handled. */
struct stand {
	struct conn *conn;
	const struct sim_record *rec;
	struct job *job;
	uint64_t when;
	bool judged;
	bool kept;		/* the job is */
};

static void
handle_call(struct nfssim *sim, struct stand *s, struct sim_call *c,
	    const struct sim_proc *p, XDR *x)
{
	rpc_xdr_fn *xdr = args_xdr(p, c, s->rec);
	void *args = call_alloc(c, p->args_bytes + 8);

	if (!args)
		return;
	if (!xdr || ((xdrproc_t)xdr)(x, args)) {
		if (c->pub.prog == NFSSIM_NFS)
			say_args(p, args, &c->pub);
		if (!s->judged && !judge(sim, s->conn, s->rec, c, args)) {
			s->kept = false;
		} else if (s->job) {
			s->kept = true;
			sim_job_run(sim, s->job, c, s->when);
		} else {
			perform(sim, s->conn, s->rec, c, p, args);
		}
	} else {
		refuse(sim, s->conn, c, GARBAGE_ARGS);
	}
	if (xdr)
		xdr_free((xdrproc_t)xdr, args);
}

static void
handle(struct nfssim *sim, struct stand *s, struct sim_call *c)
{
	struct rpc_call_info info;
	const struct sim_proc *p;
	union {
		const void *in;
		char *out;
	} u = { s->rec->data };
	XDR x;

	xdrmem_create(&x, u.out, (u_int)s->rec->len, XDR_DECODE);
	if (!s->rec->len || rpc_decode_call(&x, &info) < 0) {
		if (s->conn)
			conn_close(s->conn);
		return;
	}
	say_header(sim, &info, &c->pub);
	access_who(sim, c);
	p = find_proc(&info);
	if (sim->opt.secure_port && s->conn && !s->judged &&
	    !conn_is_secure(s->conn) && !c->verdict.status)
		c->verdict.status = info.prog == NFSSIM_MOUNT ?
				    NFS3ERR_ACCES : NFS3ERR_PERM;
	if (info.prog != NFSSIM_NFS && info.prog != NFSSIM_MOUNT)
		refuse(sim, s->conn, c, PROG_UNAVAIL);
	else if (info.vers != 3)
		refuse(sim, s->conn, c, PROG_MISMATCH);
	else if (!p)
		refuse(sim, s->conn, c, PROC_UNAVAIL);
	else
		handle_call(sim, s, c, p, &x);
	free_allocs(c);
}

bool
sim_handle(struct nfssim *sim, struct conn *conn, const struct sim_record *rec,
	   struct job *job, uint64_t when)
{
	struct stand s = { .conn = conn, .rec = rec, .job = job,
			   .when = when };
	struct sim_call c;

	memset(&c, 0, sizeof c);
	handle(sim, &s, &c);
	return s.kept;
}

void
sim_perform(struct nfssim *sim, struct conn *conn,
	    const struct sim_record *rec, const struct nfssim_verdict *verdict,
	    const struct snapshot *snapshot)
{
	struct stand s = { .conn = conn, .rec = rec, .judged = true };
	struct sim_call c;

	memset(&c, 0, sizeof c);
	c.verdict = *verdict;
	c.snapshot = snapshot;
	handle(sim, &s, &c);
}

/*
 * Of a WRITE that has come in part: answers it as done, and stable.  What
 * follows of it is not done.  true: it was one, and that is to be forgotten.
 */
bool
sim_early(struct nfssim *sim, struct conn *conn, const void *head, size_t len)
{
	struct rpc_call_info info;
	WRITE3args a = { 0 };
	WRITE3res r = { .status = NFS3_OK };
	struct sim_call c;
	union {
		const void *in;
		char *out;
	} u = { head };
	unsigned char *reply = NULL;
	size_t reply_len;
	XDR x;

	memset(&c, 0, sizeof c);
	xdrmem_create(&x, u.out, (u_int)len, XDR_DECODE);
	if (rpc_decode_call(&x, &info) == 0 && info.prog == NFSSIM_NFS &&
	    info.proc == NFSPROC3_WRITE && xdr_write_head(&x, &a)) {
		c.pub.xid = info.xid;
		r.WRITE3res_u.resok.count = a.count;
		r.WRITE3res_u.resok.committed = FILE_SYNC;
		reply = encode(&c, SUCCESS, (rpc_xdr_fn *)xdr_WRITE3res, &r,
			       &reply_len);
	}
	xdr_free((xdrproc_t)xdr_write_head, &a);
	if (!reply)
		return false;
	sim->early--;
	conn_reply(conn, reply, reply_len, &c.verdict);
	free(reply);
	return true;
}
