/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount.h - MOUNT, the portmapper and directory listing, by libnfs
 *
 * mount.c is the only file that includes libnfs; mount_open.c and mount_dir.c
 * decide what is asked.  Handles cross as plain bytes.  Errors are the server's,
 * as -errno, with text.
 */
#ifndef NFSWB_MOUNT_H
#define NFSWB_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cred.h"
#include "common/fh.h"
#include "common/loop.h"

struct mounter;
struct mounter *mounter_new(struct loop *, unsigned timeout_ms);
void mounter_free(struct mounter *);	/* answers what waits -ECANCELED */

struct mount_answer {
	struct fh root;
	unsigned nfsport;		/* as given or as the portmapper said */
	const char *export;		/* what was mounted */
	/* The server's EXPORT list; export_nr 0: it told none. */
	char *const *exports;
	unsigned export_nr;
};
typedef void mount_done_fn(void *arg, int err, const char *text,
			   const struct mount_answer *);

/*
 * Mounts the longest export of the server that is a prefix of path (by its
 * EXPORT list), else path's parent folder, or, where folder says that path is
 * one to be mounted, path.  address: a literal, IPv4 or IPv6 without brackets;
 * nfsport, mountport 0: ask the portmapper.
 */
void mount_open(struct mounter *, const char *address, unsigned nfsport,
		unsigned mountport, const char *path, bool folder,
		mount_done_fn *, void *arg);

struct mount_name {
	uint64_t fileid, cookie;
	unsigned type;			/* S_IFMT bits, 0: unknown */
	const char *name;
};
/* One READDIRPLUS; names until eof or the reply is full.  err -ENOTCONN: the
   connection failed, ask again; -EAGAIN: JUKEBOX.  May be answered from inside
   only with -ENOMEM. */
typedef void mount_dir_fn(void *arg, int err, const char *text,
			  const struct mount_name *names, unsigned name_nr,
			  uint64_t verifier, int eof);
void mount_readdir(struct mounter *, const char *address, unsigned nfsport,
		   const struct fh *dir, struct cred *, uint64_t cookie,
		   uint64_t verifier, mount_dir_fn *, void *arg);

#endif
