/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount.c - libnfs on our loop: links and the questions put over them
 *
 * A link is one libnfs context, connected to one port.  Its descriptor and mask
 * are asked for again after every call and every service, and the watch made
 * anew, because both change under one's feet; it ticks, because libnfs wants
 * that; it is destroyed from a deferred call, because libnfs can't bear that
 * inside its own callbacks.  libnfs' reconnecting stays off: a link that fails
 * is dead.
 *
 * Between libnfs and the server stands a screen (mount_screen.h), from when they
 * are connected: libnfs trusts what a server says.
 *
 * libnfs reports a lost connection to each question before it tells the link;
 * so bad news is kept until the service is over: if the link died of it, the
 * link's event is all there is to say.
 */
#include <sys/time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-portmap.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/mount_link.h"
#include "daemon/mount_screen.h"

#define TICK_USEC 100000
#define AUTH_FLAVOR_SYS 1
#define EXPORTS_MAX 4096		/* taken from one EXPORT reply */
#define NAMES_MAX 512			/* given on from one READDIR reply */
#define NAME_BYTES_MAX 255
#define DIR_BYTES 32768			/* asked for in one READDIR reply */

struct question {
	LIST_ENTRY(question) entry;
	struct link *link;
	union {
		link_port_fn *port;
		link_export_fn *export;
		link_mnt_fn *mnt;
		link_dir_fn *dir;
	} fn;
	void (*fail)(struct question *, const char *text);
	void *arg;
	bool failed;			/* to be told after the service */
};

struct link {
	LIST_ENTRY(link) entry;
	struct mounter *m;
	struct rpc_context *rpc;
	struct screen *screen;		/* NULL: not connected yet */
	struct loop_watch *watch;
	struct loop_timer *tick;
	struct loop_deferred *turn;	/* fails or destroys it from the top */
	uint64_t deadline;
	link_fn *event;
	void *arg;
	bool dead;
	LIST_HEAD(, question) questions;
	char text[256];			/* why it or a question failed */
};

/* libnfs 4.0 tells the errno of a failed connect only as "…(111)…"; what has
   none comes from the other side. */
static int
errno_in(const char *text)
{
	const char *p;
	int err = EPROTO;

	for (p = strchr(text, '('); p; p = strchr(p + 1, '(')) {
		char *end;
		long n = strtol(p + 1, &end, 10);

		if (end > p + 1 && *end == ')' && n > 0 && n < 4096)
			err = (int)n;
	}
	return -err;
}

static void
link_unwatch(struct link *l)
{
	loop_watch_free(l->m->loop, l->watch);
	l->watch = NULL;
}

void
link_drop(struct link *l)
{
	if (!l || l->dead)
		return;
	l->dead = true;
	link_unwatch(l);
	loop_timer_clear(l->m->loop, l->tick);
	loop_defer(l->m->loop, l->turn);
}

static void
link_fail(struct link *l, int err)
{
	if (l->dead)
		return;
	link_drop(l);
	l->event(l->arg, err, l->text);
}

/* libnfs' words die with its next error. */
static void
link_keep_text(struct link *l, const char *text)
{
	snprintf(l->text, sizeof l->text, "%s",
		 text && *text ? text : "connection closed");
}

static void
link_fail_libnfs(struct link *l)
{
	if (l->dead)
		return;
	link_keep_text(l, rpc_get_error(l->rpc));
	link_fail(l, errno_in(l->text));
}

static void link_service(struct link *, int revents);

static void
link_ready(void *arg, int fd, unsigned events)
{
	(void)fd;
	link_service(arg, (events & LOOP_READ ? POLLIN : 0) |
		     (events & LOOP_WRITE ? POLLOUT : 0));
}

static void
link_rearm(struct link *l)
{
	int fd, mask;

	link_unwatch(l);
	if (l->dead)
		return;
	fd = rpc_get_fd(l->rpc);
	mask = rpc_which_events(l->rpc);
	if (fd >= 0)
		l->watch = loop_watch(l->m->loop, fd,
				      (mask & POLLIN ? LOOP_READ : 0) |
				      (mask & POLLOUT ? LOOP_WRITE : 0),
				      link_ready, l);
}

static void
question_free(struct question *q)
{
	LIST_REMOVE(q, entry);
	free(q);
}

/* The link lives on, so these were refused, one by one. */
static void
link_tell_failed(struct link *l)
{
	struct question *q, *next;

	for (q = LIST_FIRST(&l->questions); q && !l->dead; q = next) {
		next = LIST_NEXT(q, entry);
		if (!q->failed)
			continue;
		q->fail(q, l->text);
		question_free(q);
	}
}

static void
link_bad(void *arg, const char *why)
{
	struct link *l = arg;

	if (l->dead)
		return;
	link_keep_text(l, why);
	link_fail(l, -EPROTO);
}

/* Once it is connected, before libnfs reads a byte; false: it failed. */
static bool
link_screen(struct link *l)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	int fd = rpc_get_fd(l->rpc);

	if (l->screen || fd < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return true;
	l->screen = screen_new(l->m->loop, fd, link_bad, l);
	if (l->screen)
		return true;
	link_keep_text(l, "out of memory");
	link_fail(l, -ENOMEM);
	return false;
}

static void
link_service(struct link *l, int revents)
{
	link_unwatch(l);		/* libnfs may close the descriptor */
	if (!link_screen(l))
		return;
	if (rpc_service(l->rpc, revents) < 0) {
		link_fail_libnfs(l);
		return;
	}
	link_tell_failed(l);
	link_rearm(l);
}

static void
link_tick(void *arg)
{
	struct link *l = arg;

	loop_timer_set(l->m->loop, l->tick, TICK_USEC);
	if (l->deadline && loop_now(l->m->loop) >= l->deadline) {
		snprintf(l->text, sizeof l->text, "no answer within %u s",
			 (l->m->timeout_ms + 999) / 1000);
		link_fail(l, -ETIMEDOUT);
		return;
	}
	link_service(l, 0);
}

static void
link_connected(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct link *l = arg;

	(void)rpc;
	(void)data;
	if (l->dead)
		return;
	if (status == RPC_STATUS_SUCCESS)
		l->event(l->arg, 0, NULL);
	else
		link_fail_libnfs(l);
}

static void
link_free(struct link *l)
{
	struct question *q;

	l->dead = true;
	link_unwatch(l);
	loop_timer_free(l->m->loop, l->tick);
	loop_deferred_free(l->m->loop, l->turn);
	screen_free(l->screen);
	if (l->rpc)
		rpc_destroy_context(l->rpc);	/* calls back what waits */
	while ((q = LIST_FIRST(&l->questions)))
		question_free(q);
	LIST_REMOVE(l, entry);
	free(l);
}

static void
link_turn(void *arg)
{
	struct link *l = arg;

	if (l->dead)
		link_free(l);
	else			/* it failed while being made */
		link_fail_libnfs(l);
}

struct link *
link_new(struct mounter *m, const char *address, unsigned port, unsigned prog,
	 unsigned vers, link_fn *event, void *arg)
{
	struct link *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->m = m;
	l->event = event;
	l->arg = arg;
	LIST_INSERT_HEAD(&m->links, l, entry);
	l->tick = loop_timer(m->loop, link_tick, l);
	l->turn = loop_deferred(m->loop, link_turn, l);
	l->rpc = rpc_init_context();
	if (!l->tick || !l->turn || !l->rpc) {
		link_free(l);
		return NULL;
	}
	if (rpc_connect_port_async(l->rpc, address, (int)port, (int)prog,
				   (int)vers, link_connected, l) < 0) {
		loop_defer(m->loop, l->turn);
		return l;
	}
	loop_timer_set(m->loop, l->tick, TICK_USEC);
	link_rearm(l);
	return l;
}

void
link_set_deadline(struct link *l, uint64_t deadline)
{
	l->deadline = deadline;
}

void
links_free(struct mounter *m)
{
	struct link *l;

	while ((l = LIST_FIRST(&m->links)))
		link_free(l);
}

/* ---- questions ---- */

static struct question *
question_new(struct link *l, void *arg,
	     void (*fail)(struct question *, const char *text))
{
	struct question *q = calloc(1, sizeof *q);

	if (!q)
		return NULL;
	q->link = l;
	q->fail = fail;
	q->arg = arg;
	LIST_INSERT_HEAD(&l->questions, q, entry);
	return q;
}

/* rc: libnfs' when it took the call. */
static int
question_queued(struct question *q, int rc)
{
	struct link *l = q->link;

	if (rc < 0) {
		question_free(q);
		return -ENOMEM;
	}
	link_rearm(l);
	return 0;
}

/* At the head of every reply: is there good news that somebody waits for? */
static bool
question_good(struct question *q, int status, const void *data)
{
	if (q->link->dead)
		return false;		/* link_free takes it along */
	if (status == RPC_STATUS_SUCCESS)
		return true;
	q->failed = true;
	link_keep_text(q->link, status == RPC_STATUS_ERROR ? data : NULL);
	return false;
}

static void
port_fail(struct question *q, const char *text)
{
	q->fn.port(q->arg, -EPROTO, text, 0);
}

static void
getport_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	q->fn.port(q->arg, 0, NULL, *(uint32_t *)data);
	question_free(q);
}

/* "::1.8.1" is port 8 * 256 + 1, "" is none. */
static unsigned
uaddr_port(const char *uaddr)
{
	const char *low = uaddr ? strrchr(uaddr, '.') : NULL;
	const char *high = low;

	if (!low)
		return 0;
	while (high > uaddr && high[-1] != '.')
		high--;
	return (unsigned)atoi(high) * 256 + (unsigned)atoi(low + 1);
}

static void
getaddr_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;
	const struct pmap3_string_result *res = data;

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	q->fn.port(q->arg, 0, NULL, uaddr_port(res->addr));
	question_free(q);
}

int
link_getport(struct link *l, bool ipv6, unsigned prog, link_port_fn *fn,
	     void *arg)
{
	struct question *q = question_new(l, arg, port_fail);
	struct pmap3_mapping map = { prog, NFS_VERSION, (char *)"tcp6",
				     (char *)"", (char *)"" };

	if (!q)
		return -ENOMEM;
	q->fn.port = fn;
	if (ipv6)
		return question_queued(q, rpc_pmap3_getaddr_async(l->rpc, &map,
				       getaddr_came, q));
	return question_queued(q, rpc_pmap2_getport_async(l->rpc, (int)prog,
			       NFS_VERSION, IPPROTO_TCP, getport_came, q));
}

static void
export_fail(struct question *q, const char *text)
{
	q->fn.export(q->arg, -EPROTO, text, NULL, 0);
}

static void
export_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;
	const void *at;
	struct exportnode i;		/* libnfs aligns to four bytes only */
	const char *dirs[EXPORTS_MAX];
	unsigned nr = 0;

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	for (at = *(void **)data; at && nr < EXPORTS_MAX; at = i.ex_next) {
		memcpy(&i, at, sizeof i);
		if (i.ex_dir && *i.ex_dir == '/')
			dirs[nr++] = i.ex_dir;
	}
	q->fn.export(q->arg, 0, NULL, dirs, nr);
	question_free(q);
}

int
link_export(struct link *l, link_export_fn *fn, void *arg)
{
	struct question *q = question_new(l, arg, export_fail);

	if (!q)
		return -ENOMEM;
	q->fn.export = fn;
	return question_queued(q, rpc_mount3_export_async(l->rpc, export_came,
							  q));
}

static void
mnt_fail(struct question *q, const char *text)
{
	q->fn.mnt(q->arg, -EPROTO, text, 0, NULL, 0, false);
}

static bool
flavors_allow_sys(const struct mountres3_ok *ok)
{
	u_int i;

	for (i = 0; i < ok->auth_flavors.auth_flavors_len; i++)
		if (ok->auth_flavors.auth_flavors_val[i] == AUTH_FLAVOR_SYS)
			return true;
	return !ok->auth_flavors.auth_flavors_len;
}

static void
mnt_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;
	const struct mountres3 *res = data;
	const struct mountres3_ok *ok;

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	ok = &res->mountres3_u.mountinfo;
	if (res->fhs_status != MNT3_OK)
		q->fn.mnt(q->arg, 0, NULL, res->fhs_status, NULL, 0, false);
	else
		q->fn.mnt(q->arg, 0, NULL, 0, ok->fhandle.fhandle3_val,
			  ok->fhandle.fhandle3_len, flavors_allow_sys(ok));
	question_free(q);
}

int
link_mnt(struct link *l, const char *path, link_mnt_fn *fn, void *arg)
{
	struct question *q = question_new(l, arg, mnt_fail);

	if (!q)
		return -ENOMEM;
	q->fn.mnt = fn;
	return question_queued(q, rpc_mount3_mnt_async(l->rpc, mnt_came,
						       (char *)path, q));
}

/* ---- listing ---- */

struct names {
	struct mount_name name[NAMES_MAX];
	unsigned nr;
	bool cut;			/* there were more */
};

static unsigned
type_bits(const post_op_attr *attr)
{
	static const unsigned bits[] = {
		[NF3REG] = S_IFREG, [NF3DIR] = S_IFDIR, [NF3BLK] = S_IFBLK,
		[NF3CHR] = S_IFCHR, [NF3LNK] = S_IFLNK, [NF3SOCK] = S_IFSOCK,
		[NF3FIFO] = S_IFIFO
	};
	unsigned type = attr->post_op_attr_u.attributes.type;

	return attr->attributes_follow && type < sizeof bits / sizeof *bits ?
	       bits[type] : 0;
}

/* Names that no file system can hold would lead astray. */
static bool
name_is_sane(const char *name)
{
	return name && *name && !strchr(name, '/') &&
	       strlen(name) <= NAME_BYTES_MAX;
}

static void
names_add(struct names *n, uint64_t fileid, uint64_t cookie, unsigned type,
	  const char *name)
{
	if (n->nr == NAMES_MAX)
		n->cut = true;
	else if (name_is_sane(name))
		n->name[n->nr++] = (struct mount_name){ fileid, cookie, type,
							name };
}

static void
dir_fail(struct question *q, const char *text)
{
	q->fn.dir(q->arg, -EPROTO, text, 0, NULL, 0, 0, false);
}

static void
dir_tell(struct question *q, const struct names *n, const char *verf,
	 bool eof)
{
	uint64_t verifier;

	memcpy(&verifier, verf, sizeof verifier);
	q->fn.dir(q->arg, 0, NULL, NFS3_OK, n->name, n->nr, verifier,
		  eof && !n->cut);
}

static void
readdir_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;
	const READDIR3res *res = data;
	const READDIR3resok *ok;
	struct names n = { .nr = 0 };
	const void *at;
	entry3 e;			/* libnfs aligns to four bytes only */

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	ok = &res->READDIR3res_u.resok;
	if (res->status != NFS3_OK) {
		q->fn.dir(q->arg, 0, NULL, res->status, NULL, 0, 0, false);
	} else {
		for (at = ok->reply.entries; at; at = e.nextentry) {
			memcpy(&e, at, sizeof e);
			names_add(&n, e.fileid, e.cookie, 0, e.name);
		}
		dir_tell(q, &n, ok->cookieverf, ok->reply.eof);
	}
	question_free(q);
}

static void
readdirplus_came(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct question *q = arg;
	const READDIRPLUS3res *res = data;
	const READDIRPLUS3resok *ok;
	struct names n = { .nr = 0 };
	const void *at;
	entryplus3 e;			/* libnfs aligns to four bytes only */

	(void)rpc;
	if (!question_good(q, status, data))
		return;
	ok = &res->READDIRPLUS3res_u.resok;
	if (res->status != NFS3_OK) {
		q->fn.dir(q->arg, 0, NULL, res->status, NULL, 0, 0, false);
	} else {
		for (at = ok->reply.entries; at; at = e.nextentry) {
			memcpy(&e, at, sizeof e);
			names_add(&n, e.fileid, e.cookie,
				  type_bits(&e.name_attributes), e.name);
		}
		dir_tell(q, &n, ok->cookieverf, ok->reply.eof);
	}
	question_free(q);
}

/* libnfs encodes the credential at once, so a context may have one a call. */
static int
link_set_cred(struct link *l, const struct cred *cred)
{
	uint32_t group[CRED_GROUPS_MAX];
	struct AUTH *auth;
	unsigned i;

	for (i = 0; i < cred->group_nr; i++)
		group[i] = cred->group[i];
	auth = libnfs_authunix_create("nfswb", cred->uid, cred->gid,
				      cred->group_nr, group);
	if (!auth)
		return -ENOMEM;
	rpc_set_auth(l->rpc, auth);
	return 0;
}

static int
readdir_queue(struct question *q, bool plus, const struct fh *dir,
	      uint64_t cookie, uint64_t verifier)
{
	struct rpc_context *rpc = q->link->rpc;
	READDIRPLUS3args p = { .cookie = cookie, .dircount = DIR_BYTES,
			       .maxcount = DIR_BYTES };
	READDIR3args r = { .cookie = cookie, .count = DIR_BYTES };

	p.dir.data.data_len = r.dir.data.data_len = dir->len;
	p.dir.data.data_val = r.dir.data.data_val = (char *)dir->data;
	memcpy(p.cookieverf, &verifier, sizeof p.cookieverf);
	memcpy(r.cookieverf, &verifier, sizeof r.cookieverf);
	return plus ? rpc_nfs3_readdirplus_async(rpc, readdirplus_came, &p, q)
		    : rpc_nfs3_readdir_async(rpc, readdir_came, &r, q);
}

int
link_readdir(struct link *l, bool plus, const struct fh *dir,
	     const struct cred *cred, uint64_t cookie, uint64_t verifier,
	     link_dir_fn *fn, void *arg)
{
	struct question *q;

	if (link_set_cred(l, cred))
		return -ENOMEM;
	q = question_new(l, arg, dir_fail);
	if (!q)
		return -ENOMEM;
	q->fn.dir = fn;
	return question_queued(q, readdir_queue(q, plus, dir, cookie,
						verifier));
}

/* ---- the mounter ---- */

struct mounter *
mounter_new(struct loop *loop, unsigned timeout_ms)
{
	struct mounter *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->loop = loop;
	m->timeout_ms = timeout_ms;
	return m;
}

void
mounter_free(struct mounter *m)
{
	if (!m)
		return;
	mountings_free(m);
	listers_free(m);
	links_free(m);
	free(m);
}
