/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * namespace_impl.h - one operation on names, and the calls it makes
 *
 * An op is one question to the namespace.  It has one call out at a time, and
 * goes from function to function: each names the next when it asks something.
 * op_done, op_fail end it.
 */
#ifndef NFSWB_NAMESPACE_IMPL_H
#define NFSWB_NAMESPACE_IMPL_H

#include <sys/queue.h>

#include "daemon/namespace.h"
#include "daemon/servers.h"
#include "rpc/nfs3.h"

struct op;
struct hidden;

struct namespace {
	struct loop *loop;
	struct servers *servers;
	const struct config *config;
	struct wb *wb;
	LIST_HEAD(, op) ops;
	LIST_HEAD(, hidden) hidden;
	void (*drain)(void *arg, struct wb_file *);
	void *drain_arg;
	const struct ns_memory *memory;
	void *memory_arg;
	bool stopping;
};

/* ---- typed calls (nfs_names.c) ---- */

/*
 * err: 0, the server's refusal, or the transport's failure as -errno.  res is
 * the xdr type of the call (NULL only where the transport failed), good during
 * the function.
 */
typedef void op_reply_fn(struct op *, int err, const void *res);

union op_args {
	GETATTR3args getattr;
	SETATTR3args setattr;
	LOOKUP3args lookup;
	ACCESS3args access;
	READLINK3args readlink;
	READ3args read;
	WRITE3args write;
	CREATE3args create;
	MKDIR3args mkdir;
	SYMLINK3args symlink;
	REMOVE3args remove;
	RMDIR3args rmdir;
	RENAME3args rename;
};

struct op_call {
	uint32_t proc;
	union op_args args;
	struct fh fh, fh2;		/* what the args point to */
	op_reply_fn *reply;
	unsigned jukebox_nr;
	unsigned transmissions;		/* of it, or of a copy that JUKEBOX
					   put off: the most */
};

/* Names and contents must stay until the reply. */
void op_getattr(struct op *, const struct fh *, op_reply_fn *);
void op_setattr(struct op *, const struct fh *, const sattr3 *, op_reply_fn *);
void op_lookup(struct op *, const struct fh *dir, const char *name,
	       op_reply_fn *);
void op_access(struct op *, const struct fh *, uint32_t bits, op_reply_fn *);
void op_readlink(struct op *, const struct fh *, op_reply_fn *);
void op_read(struct op *, const struct fh *, uint64_t offset, uint32_t count,
	     op_reply_fn *);
/* A WRITE of nothing: the server's reason why it would not take one. */
void op_write_nothing(struct op *, const struct fh *, op_reply_fn *);
void op_create(struct op *, const struct fh *dir, const char *name,
	       const createhow3 *, op_reply_fn *);
void op_mkdir(struct op *, const struct fh *dir, const char *name,
	      const sattr3 *, op_reply_fn *);
void op_symlink(struct op *, const struct fh *dir, const char *name,
		const char *content, op_reply_fn *);
void op_remove(struct op *, const struct fh *dir, const char *name,
	       op_reply_fn *);
void op_rmdir(struct op *, const struct fh *dir, const char *name,
	      op_reply_fn *);
void op_rename(struct op *, const struct fh *from, const char *name,
	       const struct fh *to, const char *to_name, op_reply_fn *);
/* Runs retry after a growing, jittered delay; for JUKEBOX. */
void op_retry_later(struct op *, void (*retry)(struct op *));

/* ---- attributes (nfs_attr.c) ---- */

void attr_from_fattr(struct nfswb_attr *, const fattr3 *);
/* False: the server sent none. */
bool attr_from_post_op(struct nfswb_attr *, const post_op_attr *);
void sattr_from_mode(sattr3 *, unsigned mode);
/* which: the NFSWB_SET_ bits of nfswb.h. */
void sattr_from_attr(sattr3 *, unsigned which, const struct nfswb_attr *);

/* ---- the walk (walk.c) ---- */

#define WALK_FOLLOW	0x1u	/* a symbolic link at the end, too */
#define WALK_PARENT	0x2u	/* to the folder; the last name is not looked up */
#define WALK_CREATE	0x4u	/* the last name need not be there */

struct walk {
	unsigned flags;
	void (*done)(struct op *);	/* only when it got there */
	char *buffer, *rest;		/* the path that is left */
	struct fh *stack;		/* the folders from the root on */
	struct nfswb_attr *stack_attr;	/* theirs; type 0: not known */
	unsigned depth, room, links;
	bool again;			/* started anew, after a stale handle */
	/* the result */
	char *leaf;			/* the last name; "" for the root */
	bool found;
	struct fh fh;
	struct nfswb_attr attr;
};

/* The op's target; fails the op where it can't get there. */
void walk_start(struct op *, unsigned flags, void (*done)(struct op *));
const struct fh *walk_folder(const struct walk *);
void walk_clear(struct walk *);

/* ---- ops (op.c) ---- */

struct op {
	LIST_ENTRY(op) entry;
	struct namespace *ns;
	const char *verb;		/* "open", for the text */
	struct cred *cred;
	ns_done_fn *done;
	void *arg;
	bool starting;			/* still inside the call that began it */
	bool ended;
	struct loop_deferred *later;
	struct loop_timer *timer;
	void (*retry)(struct op *);
	struct target target;
	struct mount *mount;		/* NULL: by file */
	struct server *server;
	struct walk walk;
	struct op_call call;
	struct wb_file *file;		/* with a reference */
	bool waits_for_file;		/* the pipeline will call back */
	bool paused;			/* the file; to be let go on */
	bool at_open;
	/* of single verbs */
	int oflags;
	unsigned mode, which;
	uint64_t verifier;
	struct nfswb_attr attr;
	bool created;
	char *content;			/* symlink */
	uint64_t cookie;
	uint64_t asked_usec;		/* readdir */
	uint64_t offset;		/* read */
	uint64_t size, local_end;	/* the file's when it began */
	uint32_t length, got;
	unsigned char *buffer;
	struct target to;		/* rename */
	struct fh from_folder, from_fh;
	struct mount *from_mount;
	bool from_is_folder;
	char *from_leaf;
	char *hidden_leaf;
	struct hidden *hiding;		/* remembered, not renamed yet */
	uint64_t hidden_id;		/* of the one that is being removed */
	void (*hidden)(struct op *), (*take)(struct op *);
	/* the result */
	int err;
	char *text;
	struct ns_answer answer;
};

/* NULL: no memory, and done was told so. */
struct op *op_new(struct namespace *, const char *verb, struct cred *,
		  ns_done_fn *, void *arg);
/* Parses target and finds its mount, then next. */
/* Takes text apart; may its credential go there?  0, or -errno and *error. */
int op_target(struct op *, const char *text, struct target *, char **error);
void op_begin(struct op *, const char *target, void (*next)(struct op *));
/* At the end of the call that made the op; it may not be touched then. */
void op_started(struct op *);
void op_done(struct op *);
/* Words made of verb, target, server and reason; more (may be NULL) says what
   to do. */
void op_fail(struct op *, int err, const char *more);
void op_fail_text(struct op *, int err, const char *text);
/* A reply that was refused fails the op: true. */
bool op_refused(struct op *, int err);
void op_free(struct op *);
/* The same for a target that was parsed already. */
void op_mount(struct op *, void (*next)(struct op *));
uint64_t op_now(const struct op *);

/* ---- files here (ns_file.c, hide.c) ---- */

/* What another instance must know of an open file, but for hidden names. */
json_t *ns_file_json(struct namespace *, struct wb_file *);
struct wb_file *ns_file_from_json(struct namespace *, const json_t *,
				  int *err);
/* The file here under that handle, its sessions drained; NULL: none. */
struct wb_file *ns_file_here(struct op *, const struct fh *);
void ns_file_attr(struct wb_file *, const struct nfswb_attr *, bool at_open);
/* All of op->file that is here goes to the server, then next. */
void op_flush_file(struct op *, uint64_t offset, uint64_t length,
		   void (*next)(struct op *));
/* Nothing of f is sent from then on, until op_go_on or op's end. */
void op_pause_file(struct op *, struct wb_file *, void (*next)(struct op *));
void op_go_on(struct op *);
void op_truncate_file(struct op *, uint64_t size, void (*next)(struct op *));

/*
 * leaf of folder is open here as file: gives it a hidden name, to be removed
 * after the last close, then next.
 */
void op_hide(struct op *, const struct fh *folder, const char *leaf,
	     struct wb_file *, void (*next)(struct op *));
void hidden_leave(struct op *);
void hidden_free(struct namespace *);

#endif
