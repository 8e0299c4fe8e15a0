/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reach.c - the way from a place to a mount
 *
 *	idle → name to addresses → (for each) MOUNT → FSINFO → those who wait
 *
 * One attempt at a time for a place; who comes meanwhile waits for its end, and
 * whose path lies elsewhere starts the next one.  A server that can't be
 * reached is everybody's failure, a refused path only that path's.  FSINFO goes
 * over the server's own connection, which never gives up, and again while the
 * server asks for time (JUKEBOX); so the waiting has an end, the call goes on,
 * and its answer still counts for those who come later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/servers_impl.h"
#include "rpc/nfs3.h"

#define FSINFO_JUKEBOX_USEC 500000

static void
waiter_answer(struct place *p, struct waiter *w, int err, const char *text,
	      struct mount *m)
{
	TAILQ_REMOVE(&p->waiters, w, entry);
	w->done(w->arg, err, text, m);
	cred_put(w->cred);
	free(w);
}

/* path NULL: all that wait now. */
static void
waiters_fail(struct place *p, const char *path, int err, const char *text)
{
	TAILQ_HEAD(, waiter) meant;
	struct waiter *w, *next;

	TAILQ_INIT(&meant);
	for (w = TAILQ_FIRST(&p->waiters); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (path && strcmp(w->path, path))
			continue;
		TAILQ_REMOVE(&p->waiters, w, entry);
		TAILQ_INSERT_TAIL(&meant, w, entry);
	}
	while ((w = TAILQ_FIRST(&meant))) {
		TAILQ_REMOVE(&meant, w, entry);
		w->done(w->arg, err, text, NULL);
		cred_put(w->cred);
		free(w);
	}
}

/* The attempt is over; from the top, is there another to make? */
static void
attempt_end(struct place *p)
{
	loop_timer_clear(p->servers->loop, p->deadline);
	p->found = NULL;
	if (!p->servers->stopping)
		loop_defer(p->servers->loop, p->go);
}

static bool
is_about_path(int err)
{
	switch (-err) {
	case EACCES:
	case EPERM:
	case ENOENT:
	case ENOTDIR:
	case EINVAL:
	case ENAMETOOLONG:
		return true;
	}
	return false;
}

/* All whose path lies in a mount that is known; mount, if any, is the one for
   the path that was asked for. */
static void
waiters_serve(struct place *p, struct mount *mount)
{
	struct waiter *w, *next;

	for (w = TAILQ_FIRST(&p->waiters); w; w = next) {
		struct mount *m = place_mount(p, w->path, false);

		next = TAILQ_NEXT(w, entry);
		if (mount && !strcmp(w->path, p->path))
			m = mount;
		if (m)
			waiter_answer(p, w, 0, NULL, m);
	}
}

static void
attempt_fail(struct place *p, int err, const char *text)
{
	waiters_fail(p, is_about_path(err) ? p->path : NULL, err, text);
	attempt_end(p);
}

/* ---- FSINFO ---- */

static void
attempt_done(struct place *p, struct mount *mount)
{
	waiters_serve(p, mount);
	attempt_end(p);
}

static void
fsinfo_refused(struct place *p, int err)
{
	char text[512];

	/* Linux says EPERM for the port */
	snprintf(text, sizeof text, "server %s does not tell its limits for "
		 "'%s' (FSINFO): %s%s", p->found->name, p->export,
		 strerror(-err), err != -EACCES && err != -EPERM ? "" :
		 "; it may demand a source port below 1024: resvport = yes, or "
		 "'insecure' in its exports");
	attempt_fail(p, err, text);
}

static void
fsinfo_came(void *arg, int err, const void *data, const struct rpc_timing *t)
{
	struct place *p = arg;
	const FSINFO3res *res = data;
	const FSINFO3resok *ok;
	struct fsinfo info;
	struct mount *m;

	(void)t;
	if (!err)
		err = nfs3_errno(res->status);
	if (err == -EAGAIN && !p->servers->stopping) {	/* JUKEBOX */
		loop_timer_set(p->servers->loop, p->again,
			       FSINFO_JUKEBOX_USEC);
		return;
	}
	if (err) {
		fsinfo_refused(p, err);
		return;
	}
	ok = &res->FSINFO3res_u.resok;
	info = (struct fsinfo){ ok->rtmax, ok->rtpref, ok->wtmax, ok->wtpref,
				ok->wtmult, ok->maxfilesize };
	p->server = p->found;
	m = mount_get(p, p->found, p->export, &p->root, &info);
	if (m)
		attempt_done(p, m);
	else
		attempt_fail(p, -ENOMEM, "out of memory");
}

static void
fsinfo_late(void *arg)
{
	struct place *p = arg;
	char text[256];

	snprintf(text, sizeof text, "cannot reach server %s: no answer to "
		 "FSINFO within %u s; is the NFS server running?",
		 p->found->name, p->servers->mount_ms / 1000);
	waiters_serve(p, NULL);
	waiters_fail(p, NULL, -ETIMEDOUT, text);
}

static void
fsinfo_send(void *arg)
{
	struct place *p = arg;
	FSINFO3args args;
	struct rpc_request r = {
		.proc = NFSPROC3_FSINFO, .class = RPC_FOREGROUND,
		.cred = p->cred, .encode = (rpc_xdr_fn *)xdr_FSINFO3args,
		.args = &args, .decode = (rpc_xdr_fn *)xdr_FSINFO3res,
		.res_bytes = sizeof(FSINFO3res), .done = fsinfo_came, .arg = p,
	};

	args.fsroot.data.data_len = p->root.len;
	args.fsroot.data.data_val = (char *)p->root.data;
	if (rpc_client_call(p->found->rpc, &r, NULL))
		attempt_fail(p, -ENOMEM, "out of memory");
}

static void
fsinfo_wait(struct place *p)
{
	loop_timer_set(p->servers->loop, p->deadline,
		       (uint64_t)p->servers->mount_ms * 1000);
}

static void
fsinfo_ask(struct place *p)
{
	fsinfo_wait(p);
	fsinfo_send(p);
}

/* ---- MOUNT ---- */

static bool
exports_take(struct place *p, const struct mount_answer *a)
{
	while (p->export_nr)
		free(p->exports[--p->export_nr]);
	free(p->exports);
	p->exports = a->export_nr ? calloc(a->export_nr, sizeof *p->exports)
				  : NULL;
	while (p->exports && p->export_nr < a->export_nr) {
		char *copy = strdup(a->exports[p->export_nr]);

		if (!copy)
			return false;
		p->exports[p->export_nr++] = copy;
	}
	p->asked = true;
	return p->exports || !a->export_nr;
}

static void address_next(struct place *);

/* What an earlier instance had mounted stays mounted while its server is
   away. */
static void
unreachable(struct place *p)
{
	if (!p->servers->stopping && !is_about_path(p->err))
		waiters_serve(p, NULL);
	attempt_fail(p, p->err, p->text);
}

static void
address_failed(struct place *p, int err, const char *text)
{
	if (!p->err) {
		p->err = err;
		free(p->text);
		p->text = text ? strdup(text) : NULL;
	}
	if (!p->servers->stopping && !is_about_path(err) &&
	    ++p->addr_i < p->addr_nr)
		address_next(p);
	else
		unreachable(p);
}

static void
mounted(void *arg, int err, const char *text, const struct mount_answer *a)
{
	struct place *p = arg;

	if (err) {
		address_failed(p, err, text);
		return;
	}
	p->root = a->root;
	free(p->export);
	p->export = strdup(a->export);
	p->found = server_get(p, &p->addr[p->addr_i], a->nfsport);
	if (p->export && p->found && exports_take(p, a))
		fsinfo_ask(p);
	else
		attempt_fail(p, -ENOMEM, "no memory for another server");
}

static void
address_next(struct place *p)
{
	mount_open(p->servers->mounter, p->addr[p->addr_i].literal, p->nfsport,
		   p->mountport, p->path, p->named, mounted, p);
}

/* ---- from the start ---- */

static void
resolved(void *arg, int err, const char *text, const struct resolved *r,
	 unsigned nr)
{
	struct place *p = arg;

	p->resolve = NULL;
	if (err) {
		attempt_fail(p, err, text);
		return;
	}
	memcpy(p->addr, r, nr * sizeof *r);
	p->addr_nr = nr;
	p->addr_i = 0;
	p->err = 0;
	address_next(p);
}

static void
attempt_begin(void *arg)
{
	struct place *p = arg;
	struct waiter *w = TAILQ_FIRST(&p->waiters);

	p->busy = w;
	if (!w) {
		if (!p->server)		/* nothing worth remembering */
			place_free(p);
		return;
	}
	free(p->path);
	p->path = strdup(w->path);
	cred_put(p->cred);
	p->cred = cred_ref(w->cred);
	p->resolve = p->path ? resolve_start(p->servers->loop, p->host,
					     resolved, p) : NULL;
	if (!p->resolve) {
		waiters_fail(p, NULL, -ENOMEM, "out of memory");
		attempt_end(p);
	}
}

int
reach_wait(struct place *p, const char *path, struct cred *cred,
	   servers_fn *done, void *arg)
{
	struct waiter *w = malloc(sizeof *w + strlen(path) + 1);

	if (!w)
		return -ENOMEM;
	strcpy(w->path, path);
	w->cred = cred_ref(cred);
	w->done = done;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&p->waiters, w, entry);
	if (!p->busy) {
		p->busy = true;
		loop_defer(p->servers->loop, p->go);
	} else if (p->found && TAILQ_FIRST(&p->waiters) == w) {
		/* The others gave up on FSINFO. */
		fsinfo_wait(p);
	}
	return 0;
}

bool
reach_init(struct place *p)
{
	p->go = loop_deferred(p->servers->loop, attempt_begin, p);
	p->deadline = loop_timer(p->servers->loop, fsinfo_late, p);
	p->again = loop_timer(p->servers->loop, fsinfo_send, p);
	return p->go && p->deadline && p->again;
}

void
reach_cancel(struct place *p)
{
	resolve_cancel(p->resolve);
	p->resolve = NULL;
	loop_timer_clear(p->servers->loop, p->deadline);
	loop_timer_clear(p->servers->loop, p->again);
	waiters_fail(p, NULL, -ECANCELED, "nfswbd is stopping");
}
