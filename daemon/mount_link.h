/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_link.h - one connection of libnfs, seen without libnfs
 *
 * mount.c stands behind it; mount_open.c and mount_dir.c ask through it.  A link
 * connects to one port; once it is connected, questions go over it.  When it
 * fails it is dead: its event says so once, questions out are not answered.
 * Nothing is told after link_drop.
 */
#ifndef NFSWB_MOUNT_LINK_H
#define NFSWB_MOUNT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/mount.h"

#define PORTMAP_PORT 111
#define PORTMAP_PROG 100000
#define NFS_PROG 100003
#define MOUNT_PROG 100005
#define NFS_VERSION 3			/* MOUNT's too */

struct link;
struct mounting;
struct lister;

struct mounter {
	struct loop *loop;
	unsigned timeout_ms;
	LIST_HEAD(, link) links;
	LIST_HEAD(, mounting) mountings;
	LIST_HEAD(, lister) listers;
};

/* err 0: connected, and a NULL call was answered; else the link is dead: an
   errno, or -EPROTO where what answered is not that program. */
typedef void link_fn(void *arg, int err, const char *text);

/* address: a literal.  NULL: no memory. */
struct link *link_new(struct mounter *, const char *address, unsigned port,
		      unsigned prog, unsigned vers, link_fn *event, void *arg);
void link_drop(struct link *);		/* NULL or dead is fine */
/* Absolute; passing it kills the link with -ETIMEDOUT.  0: none. */
void link_set_deadline(struct link *, uint64_t deadline);
/* At once, not to be called from a link's own callback. */
void links_free(struct mounter *);

/* The portmapper's: 0 is "not registered"; ipv6 asks by version 3. */
typedef void link_port_fn(void *arg, int err, const char *text, unsigned port);
int link_getport(struct link *, bool ipv6, unsigned prog, link_port_fn *,
		 void *arg);

/* dirs live during the call. */
typedef void link_export_fn(void *arg, int err, const char *text,
			    const char *const *dirs, unsigned nr);
int link_export(struct link *, link_export_fn *, void *arg);

/* status: a mountstat3, numbers as nfsstat3's; sys: AUTH_SYS will do. */
typedef void link_mnt_fn(void *arg, int err, const char *text, unsigned status,
			 const void *fh, unsigned fh_len, bool sys);
int link_mnt(struct link *, const char *path, link_mnt_fn *, void *arg);

/* READDIRPLUS, or READDIR; status: an nfsstat3. */
typedef void link_dir_fn(void *arg, int err, const char *text, unsigned status,
			 const struct mount_name *names, unsigned name_nr,
			 uint64_t verifier, bool eof);
int link_readdir(struct link *, bool plus, const struct fh *dir,
		 const struct cred *, uint64_t cookie, uint64_t verifier,
		 link_dir_fn *, void *arg);

/* The parts of mounter_free. */
void mountings_free(struct mounter *);
void listers_free(struct mounter *);

#endif
