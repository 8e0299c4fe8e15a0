/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * namespace.h - names to handles, and everything that changes names
 *
 * A target is resolved to a server and an export (servers.c, mount.c), the rest
 * of its path walked by LOOKUP with the caller's credential, on our own
 * transport.  Every call answers by done, from the loop, never from inside the
 * call; text (may be NULL) says in words what went wrong, with server and path.
 */
#ifndef NFSWB_NAMESPACE_H
#define NFSWB_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cred.h"
#include "common/loop.h"
#include "daemon/config.h"
#include "daemon/writeback/file.h"
#include "include/nfswb_prot.h"

struct namespace;

struct ns_answer {
	struct wb_file *file;		/* open: the callee takes a reference if
					   it keeps it */
	struct nfswb_attr attr;		/* open, stat, lstat, getattr */
	const char *content;		/* readlink */
	const struct nfswb_readdir_res *dir;
	const void *data;		/* read */
	uint32_t length;
	bool eof;
};

typedef void ns_done_fn(void *arg, int err, const char *text,
			const struct ns_answer *);

struct namespace *namespace_new(struct loop *, const struct config *,
				struct wb *);
void namespace_free(struct namespace *);

/* verifier: createverf3 for O_CREAT|O_EXCL, the same when asked again. */
void ns_open(struct namespace *, const char *target, struct cred *, int oflags,
	     unsigned mode, uint64_t verifier, ns_done_fn *, void *arg);
void ns_stat(struct namespace *, const char *target, struct cred *,
	     bool follow, ns_done_fn *, void *arg);
void ns_setattr(struct namespace *, const char *target, struct cred *,
		unsigned which, const struct nfswb_attr *, ns_done_fn *,
		void *arg);
void ns_unlink(struct namespace *, const char *target, struct cred *,
	       ns_done_fn *, void *arg);
void ns_rename(struct namespace *, const char *from, const char *to,
	       struct cred *, ns_done_fn *, void *arg);
void ns_mkdir(struct namespace *, const char *target, unsigned mode,
	      struct cred *, ns_done_fn *, void *arg);
void ns_rmdir(struct namespace *, const char *target, struct cred *,
	      ns_done_fn *, void *arg);
void ns_symlink(struct namespace *, const char *content, const char *target,
		struct cred *, ns_done_fn *, void *arg);
void ns_readlink(struct namespace *, const char *target, struct cred *,
		 ns_done_fn *, void *arg);
void ns_readdir(struct namespace *, const char *target, struct cred *,
		uint64_t cookie, uint64_t verifier, ns_done_fn *, void *arg);

/* By file. */
void ns_getattr(struct namespace *, struct wb_file *, struct cred *,
		ns_done_fn *, void *arg);
/* READ of length bytes (NFSWB_DATA_MAX at most) from the server, after
   file_flush_range; data may be shorter only at end of file. */
void ns_read(struct namespace *, struct wb_file *, struct cred *,
	     uint64_t offset, uint32_t length, ns_done_fn *, void *arg);

/*
 * What an open file needs to be found again by another instance without asking
 * MOUNT or LOOKUP: one line of JSON (server address, export, sizes, handle),
 * the caller frees.  ns_restore turns it back into a file, whose size is not
 * known before ns_look was answered (done may be NULL).  NULL, err: -ENOMEM (it
 * can be tried again), or -EINVAL.
 */
char *ns_describe(struct namespace *, struct wb_file *);
struct wb_file *ns_restore(struct namespace *, const char *description,
			   int *err);
void ns_look(struct namespace *, struct wb_file *, struct cred *,
	     ns_done_fn *, void *arg);

/* Does target name this file's server and export, and is the file below it, as
   far as the name it was opened by tells?  For nfswb_sync. */
bool ns_below(struct namespace *, const char *target, struct wb_file *);

/* Told when a file is about to be renamed, unlinked, cut or looked at: drains
   the rings of the sessions that have it open (NULL: of all).  Set once by the
   wiring. */
void ns_set_drain(struct namespace *, void (*drain)(void *arg,
		  struct wb_file *), void *arg);

/* What must outlive this instance; set once by the wiring. */
struct ns_memory {
	/* What ns_describe says of an open file has changed. */
	void (*described)(void *arg, struct wb_file *);
	/* A hidden name is about to be made: text is for ns_restore_hidden, *id
	   for unhide.  0 or -errno: it can't be remembered. */
	int (*hide)(void *arg, const char *text, uint64_t *id);
	/* It is gone again. */
	void (*unhide)(void *arg, uint64_t id);
};
void ns_set_memory(struct namespace *, const struct ns_memory *, void *arg);
/* A hidden name of an earlier instance, to be removed when nobody has its file
   open; to be called when all who had are back.  false: not ours. */
bool ns_restore_hidden(struct namespace *, const char *text, uint64_t id);

/* Each server, for the statistics. */
struct rpc_client;
void ns_each_server(struct namespace *, void (*fn)(void *arg,
		    struct wb_server *, struct rpc_client *), void *arg);

#endif
