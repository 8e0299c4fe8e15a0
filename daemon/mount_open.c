/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_open.c - from a server's address and a path to an export's root handle
 *
 * From port to port, a fresh link each, all within one deadline:
 *
 *	portmapper (where a port is not given) → NFS (does it answer NULL?)
 *	→ MOUNT (EXPORT, then MNT) → answer
 *
 * NFS is tried before MOUNT, so that a server that is down is named by the port
 * people know.  Where the EXPORT list tells nothing, MNT is asked for the
 * path's folder, that one's folder and so on, at last for the path itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/mount_link.h"
#include "daemon/target.h"
#include "rpc/nfs3.h"

struct mounting {
	LIST_ENTRY(mounting) entry;
	struct mounter *m;
	struct link *link;
	struct loop_deferred *answer;
	uint64_t deadline;
	char *address, *path;
	unsigned nfsport, mountport;
	mount_done_fn *done;
	void *arg;
	char **exports;
	unsigned export_nr;
	bool folder;			/* path itself is to be mounted */
	bool listed;			/* candidate is of the EXPORT list */
	bool last;			/* … or the last one to try */
	char *candidate;		/* what MNT is asked for */
	struct fh root;
	int err;
	char *text;
};

static void
mounting_free(struct mounting *mo)
{
	loop_deferred_free(mo->m->loop, mo->answer);
	link_drop(mo->link);
	while (mo->export_nr)
		free(mo->exports[--mo->export_nr]);
	free(mo->exports);
	free(mo->candidate);
	free(mo->address);
	free(mo->path);
	free(mo->text);
	LIST_REMOVE(mo, entry);
	free(mo);
}

static void
mounting_answer(void *arg)
{
	struct mounting *mo = arg;
	const struct mount_answer a = { mo->root, mo->nfsport, mo->candidate,
					mo->exports, mo->export_nr };

	mo->done(mo->arg, mo->err, mo->text, mo->err ? NULL : &a);
	mounting_free(mo);
}

/* The answer comes from the top of the loop, not from a link's callback. */
static void
mounting_finish(struct mounting *mo)
{
	link_drop(mo->link);
	mo->link = NULL;
	loop_defer(mo->m->loop, mo->answer);
}

static void mounting_fail(struct mounting *, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
mounting_fail(struct mounting *mo, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&mo->text, fmt, ap) < 0)
		mo->text = NULL;
	va_end(ap);
	mo->err = err;
	mounting_finish(mo);
}

static void
mounting_no_memory(struct mounting *mo)
{
	mounting_fail(mo, -ENOMEM, "out of memory");
}

/* A question could not be put. */
static void
mounting_asked(struct mounting *mo, int rc)
{
	if (rc)
		mounting_no_memory(mo);
}

/* The next port's link instead of this one. */
static void
mounting_connect(struct mounting *mo, unsigned port, unsigned prog,
		 unsigned vers, link_fn *event)
{
	link_drop(mo->link);
	mo->link = link_new(mo->m, mo->address, port, prog, vers, event, mo);
	if (mo->link)
		link_set_deadline(mo->link, mo->deadline);
	else
		mounting_no_memory(mo);
}

static void
mounting_unreachable(struct mounting *mo, unsigned port, const char *what,
		     int err, const char *text)
{
	if (err == -EPROTO)
		mounting_fail(mo, err, "server %s port %u does not serve %s "
			      "version 3: %s; is that the right port?",
			      mo->address, port, what, text);
	else
		mounting_fail(mo, err, "cannot reach server %s port %u: %s; is "
			      "the NFS server running?", mo->address, port,
			      err == -ETIMEDOUT ? text : strerror(-err));
}

/* ---- EXPORT and MNT ---- */

static void
exports_copy(struct mounting *mo, const char *const *dirs, unsigned nr)
{
	mo->exports = nr ? calloc(nr, sizeof *mo->exports) : NULL;
	while (mo->exports && mo->export_nr < nr) {
		char *copy = strdup(dirs[mo->export_nr]);

		if (!copy)
			return;
		mo->exports[mo->export_nr++] = copy;
	}
}

/* "/a/b" becomes "/a", that "/". */
static void
path_to_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = 0;
}

static bool
candidate_first(struct mounting *mo)
{
	const char *export = exports_longest(mo->exports, mo->export_nr,
					     mo->path);

	mo->listed = export;
	mo->candidate = strdup(export ? export : mo->path);
	if (mo->candidate && !export && !mo->folder)
		path_to_parent(mo->candidate);
	return mo->candidate;
}

/* False: none is left. */
static bool
candidate_next(struct mounting *mo)
{
	if (mo->listed || mo->last)
		return false;
	if (strcmp(mo->candidate, "/")) {
		path_to_parent(mo->candidate);
		return true;
	}
	if (mo->folder || !strcmp(mo->path, "/"))
		return false;
	free(mo->candidate);
	mo->candidate = strdup(mo->path);
	mo->last = true;
	return mo->candidate;
}

/* Some servers say EACCES of what they do not export; their list tells. */
static void
mount_refused(struct mounting *mo, int err)
{
	const char *what = mo->listed ? mo->candidate : mo->path;
	bool unlisted = mo->export_nr && !mo->listed;

	if ((err == -EACCES || err == -EPERM) && !unlisted)
		mounting_fail(mo, err, "server %s refuses to mount '%s': %s; "
			      "it may not export it to this host, or the server "
			      "may demand a source port below 1024: resvport = "
			      "yes, or 'insecure' in its exports", mo->address,
			      what, strerror(-err));
	else if (unlisted || err == -ENOENT || err == -ENOTDIR)
		mounting_fail(mo, err, "server %s exports nothing that holds "
			      "'%s': %s; 'showmount -e %s' lists its exports",
			      mo->address, what, strerror(-err), mo->address);
	else
		mounting_fail(mo, err, "server %s refuses to mount '%s': %s",
			      mo->address, what, strerror(-err));
}

static void mnt_answered(void *, int, const char *, unsigned, const void *,
			 unsigned, bool);

static void
mnt_ask(struct mounting *mo)
{
	mounting_asked(mo, link_mnt(mo->link, mo->candidate, mnt_answered,
				    mo));
}

static void
mnt_granted(struct mounting *mo, const void *fh, unsigned len, bool sys)
{
	if (!len || len > FH_MAX) {
		mounting_fail(mo, -EPROTO, "server %s answers MNT of '%s' with "
			      "an impossible file handle of %u bytes",
			      mo->address, mo->candidate, len);
	} else if (!sys) {
		mounting_fail(mo, -EACCES, "server %s takes no AUTH_SYS "
			      "credentials for '%s', and nfswb has no others; "
			      "sec=sys in its exports permits them",
			      mo->address, mo->candidate);
	} else {
		mo->err = 0;
		fh_set(&mo->root, fh, len);
		mounting_finish(mo);
	}
}

static void
mnt_answered(void *arg, int err, const char *text, unsigned status,
	     const void *fh, unsigned len, bool sys)
{
	struct mounting *mo = arg;

	if (err) {
		mounting_fail(mo, err, "server %s does not answer MNT: %s",
			      mo->address, text);
		return;
	}
	if (!status) {
		mnt_granted(mo, fh, len, sys);
		return;
	}
	err = nfs3_errno(status);
	/* A refusal for lack of rights says most, else the first one. */
	if (!mo->err || err == -EACCES)
		mo->err = err;
	if (candidate_next(mo))
		mnt_ask(mo);
	else
		mount_refused(mo, mo->err);
}

/* Some servers keep their list to themselves. */
static void
export_answered(void *arg, int err, const char *text, const char *const *dirs,
		unsigned nr)
{
	struct mounting *mo = arg;

	(void)text;
	if (!err)
		exports_copy(mo, dirs, nr);
	if (candidate_first(mo))
		mnt_ask(mo);
	else
		mounting_no_memory(mo);
}

static void
mountd_event(void *arg, int err, const char *text)
{
	struct mounting *mo = arg;

	if (err)
		mounting_unreachable(mo, mo->mountport, "MOUNT", err, text);
	else
		mounting_asked(mo, link_export(mo->link, export_answered, mo));
}

/* ---- ports ---- */

static void
nfsd_event(void *arg, int err, const char *text)
{
	struct mounting *mo = arg;

	if (err)
		mounting_unreachable(mo, mo->nfsport, "NFS", err, text);
	else
		mounting_connect(mo, mo->mountport, MOUNT_PROG, NFS_VERSION,
				 mountd_event);
}

static bool
is_ipv6(const char *address)
{
	return strchr(address, ':');
}

static void portmap_told(void *, int, const char *, unsigned);

/* For the port that is still missing. */
static void
ports_next(struct mounting *mo)
{
	if (mo->nfsport && mo->mountport)
		mounting_connect(mo, mo->nfsport, NFS_PROG, NFS_VERSION,
				 nfsd_event);
	else
		mounting_asked(mo, link_getport(mo->link, is_ipv6(mo->address),
			       mo->nfsport ? MOUNT_PROG : NFS_PROG,
			       portmap_told, mo));
}

static void
portmap_told(void *arg, int err, const char *text, unsigned port)
{
	struct mounting *mo = arg;
	const char *what = mo->nfsport ? "MOUNT" : "NFS";

	if (err) {
		mounting_fail(mo, err, "the portmapper of server %s (port %d) "
			      "tells no port of %s: %s; ?nfsport=N&mountport=N "
			      "names the ports", mo->address, PORTMAP_PORT,
			      what, text);
	} else if (!port || port > 65535) {
		mounting_fail(mo, -EPROTONOSUPPORT, "server %s has no %s "
			      "version 3 over TCP at its portmapper; is the "
			      "NFS server running? ?nfsport=N&mountport=N "
			      "names the ports", mo->address, what);
	} else {
		*(mo->nfsport ? &mo->mountport : &mo->nfsport) = port;
		ports_next(mo);
	}
}

static void
portmap_event(void *arg, int err, const char *text)
{
	struct mounting *mo = arg;

	if (err)
		mounting_fail(mo, err, "cannot ask the portmapper of server %s "
			      "(port %d): %s; start rpcbind there, or name the "
			      "ports by ?nfsport=N&mountport=N", mo->address,
			      PORTMAP_PORT, err == -EPROTO || err == -ETIMEDOUT
			      ? text : strerror(-err));
	else
		ports_next(mo);
}

static bool
mounting_begin(struct mounting *mo, const char *address, const char *path)
{
	mo->deadline = loop_now(mo->m->loop) +
		       (uint64_t)mo->m->timeout_ms * 1000;
	mo->address = strdup(address);
	mo->path = strdup(path);
	mo->answer = loop_deferred(mo->m->loop, mounting_answer, mo);
	return mo->address && mo->path && mo->answer;
}

void
mount_open(struct mounter *m, const char *address, unsigned nfsport,
	   unsigned mountport, const char *path, bool folder,
	   mount_done_fn *done, void *arg)
{
	struct mounting *mo = calloc(1, sizeof *mo);

	if (!mo) {
		done(arg, -ENOMEM, "out of memory", NULL);
		return;
	}
	mo->m = m;
	LIST_INSERT_HEAD(&m->mountings, mo, entry);
	mo->nfsport = nfsport;
	mo->mountport = mountport;
	mo->folder = folder;
	mo->done = done;
	mo->arg = arg;
	if (!mounting_begin(mo, address, path)) {
		mounting_free(mo);
		done(arg, -ENOMEM, "out of memory", NULL);
	} else if (nfsport && mountport) {
		ports_next(mo);
	} else {
		mounting_connect(mo, PORTMAP_PORT, PORTMAP_PROG,
				 is_ipv6(address) ? 3 : 2, portmap_event);
	}
}

void
mountings_free(struct mounter *m)
{
	struct mounting *mo;

	while ((mo = LIST_FIRST(&m->mountings))) {
		mo->done(mo->arg, -ECANCELED, "nfswbd is stopping", NULL);
		mounting_free(mo);
	}
}
