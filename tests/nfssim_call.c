/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_call.c - from a record to its reply
 *
 *	record -> header, arguments -> what shall become of it (verdict)
 *	       -> the procedure -> the reply, now, later or never
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
	if (!sim->opt.discard)
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
send_reply(struct nfssim *sim, struct conn *conn, struct sim_call *c,
	   enum accept_stat stat, rpc_xdr_fn *xdr_res, void *res)
{
	size_t room = 64 + (xdr_res && stat == SUCCESS ?
			    xdr_sizeof((xdrproc_t)xdr_res, res) : 0);
	unsigned char *buf = malloc(room);
	unsigned i;
	ssize_t len = -1;

	if (buf)
		len = rpc_encode_accepted(buf, room, c->pub.xid, stat, xdr_res,
					  res, 0);
	for (i = 0; len > 0 && i <= c->verdict.copies; i++)
		conn_reply(conn, buf, (size_t)len,
			   sim->opt.delay_usec + c->verdict.delay_usec);
	free(buf);
}

/* Every NFS result begins with its status, and the rest may be zeros. */
static void
perform(struct nfssim *sim, struct conn *conn, struct sim_call *c,
	const struct sim_proc *p, void *args)
{
	void *res = call_alloc(c, p->res_bytes + 8);

	sim->store.now = (uint64_t)((int64_t)loop_now(sim->loop) +
				    sim->opt.wall_usec) * 1000;
	if (!res)
		return;
	if (c->verdict.status && p->res_bytes)
		*(nfsstat3 *)res = (nfsstat3)c->verdict.status;
	else if (p->run)
		p->run(sim, c, args, res);
	if (!conn)
		return;
	if (c->verdict.cut)
		conn_close(conn);
	else if (!c->verdict.lose_reply)
		send_reply(sim, conn, c, SUCCESS, p->xdr_res, res);
}

/* What is to become of a call that came just now; true: do it now. */
static bool
judge(struct nfssim *sim, struct conn *conn, struct sim_call *c,
      const void *args, const void *record, size_t len)
{
	if (sim->opt.fault)
		sim->opt.fault(sim->opt.fault_arg, &c->pub, &c->verdict);
	if (c->pub.prog == NFSSIM_NFS)
		sim->stats.calls[c->pub.proc]++;
	else
		sim->stats.mount_calls++;
	if (c->verdict.lose_call)
		return false;
	if (c->pub.prog == NFSSIM_NFS && c->pub.proc == NFSPROC3_WRITE)
		write_came(sim, c->pub.xid, args);
	if (!c->verdict.hold_usec)
		return true;
	conn_hold(conn, record, len, &c->verdict);
	return false;
}

static void
handle_call(struct nfssim *sim, struct conn *conn, struct sim_call *c,
	    const struct sim_proc *p, XDR *x, const void *record, size_t len,
	    bool is_new)
{
	void *args = call_alloc(c, p->args_bytes + 8);

	if (!args)
		return;
	if (!p->xdr_args || ((xdrproc_t)p->xdr_args)(x, args)) {
		if (c->pub.prog == NFSSIM_NFS)
			say_args(p, args, &c->pub);
		if (!is_new || judge(sim, conn, c, args, record, len))
			perform(sim, conn, c, p, args);
	} else if (conn) {
		send_reply(sim, conn, c, GARBAGE_ARGS, NULL, NULL);
	}
	if (p->xdr_args)
		xdr_free((xdrproc_t)p->xdr_args, args);
}

static void
handle(struct nfssim *sim, struct conn *conn, const void *record, size_t len,
       const struct nfssim_verdict *verdict)
{
	struct sim_call c = { 0 };
	struct rpc_call_info info;
	const struct sim_proc *p;
	union {
		const void *in;
		char *out;
	} u = { record };
	XDR x;

	xdrmem_create(&x, u.out, (u_int)len, XDR_DECODE);
	if (!len || rpc_decode_call(&x, &info) < 0) {
		if (conn)
			conn_close(conn);
		return;
	}
	say_header(sim, &info, &c.pub);
	if (verdict)
		c.verdict = *verdict;
	p = find_proc(&info);
	if (info.prog != NFSSIM_NFS && info.prog != NFSSIM_MOUNT)
		send_reply(sim, conn, &c, PROG_UNAVAIL, NULL, NULL);
	else if (info.vers != 3)
		send_reply(sim, conn, &c, PROG_MISMATCH, NULL, NULL);
	else if (!p)
		send_reply(sim, conn, &c, PROC_UNAVAIL, NULL, NULL);
	else
		handle_call(sim, conn, &c, p, &x, record, len, !verdict);
	free_allocs(&c);
}

void
sim_record(struct nfssim *sim, struct conn *conn, const void *record,
	   size_t len)
{
	handle(sim, conn, record, len, NULL);
}

void
sim_held(struct nfssim *sim, struct conn *conn, const void *record, size_t len,
	 const struct nfssim_verdict *verdict)
{
	handle(sim, conn, record, len, verdict);
}
