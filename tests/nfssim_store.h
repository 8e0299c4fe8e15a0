/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_store.h - the files of nfssim: a tree of names over nodes in memory
 *
 * Every function that can refuse answers with an nfsstat3.
 */
#ifndef NFSWB_TESTS_NFSSIM_STORE_H
#define NFSWB_TESTS_NFSSIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/tree.h>
#include <uthash.h>

#include "common/fh.h"
#include "rpc/nfs3_prot.h"
#include "tests/nfssim_ranges.h"

/* The contents of a file: two of them, sharing what is equal. */
struct block;
struct backing;
struct snapshot;
RB_HEAD(block_tree, block);

struct contents {
	bool discard;			/* sizes and counts, no bytes */
	struct backing *backing;	/* not NULL: stable bytes are there … */
	uint64_t id;			/* … under this number */
	uint64_t size, stable_size;
	uint64_t used;			/* bytes of blocks */
	uint64_t gen;			/* of the volatile bytes written now */
	uint64_t applied_gen;		/* of the newest snapshot applied */
	uint64_t stabilized;		/* volatile bytes that became stable */
	struct ranges unstable;
	struct block_tree blocks;
};

void contents_init(struct contents *, bool discard);
void contents_free(struct contents *);
/* Volatile, or both at once.  data NULL: with discard only. */
nfsstat3 contents_write(struct contents *, uint64_t offset, const void *,
			size_t len, bool stable);
/* Bytes read. */
size_t contents_read(const struct contents *, bool stable, uint64_t offset,
		     void *, size_t len);
/* length 0: to the end. */
nfsstat3 contents_commit(struct contents *, uint64_t offset, uint64_t length);
/* In two steps: what is volatile now, and later making that stable.  NULL: no
   memory. */
struct snapshot *contents_snapshot(struct contents *, uint64_t offset,
				   uint64_t length);
nfsstat3 contents_apply(struct contents *, const struct snapshot *);
void snapshot_free(struct snapshot *);
nfsstat3 contents_truncate(struct contents *, uint64_t size);
/* Volatile becomes what stable is. */
void contents_forget(struct contents *);

struct node;

struct entry {			/* a name in a directory */
	char *name;
	struct node *node;
	uint64_t cookie;
	UT_hash_handle hh;
};

struct node {
	uint64_t id;
	ftype3 type;
	uint32_t mode, uid, gid, nlink;
	uint64_t atime, mtime, ctime;	/* nanoseconds */
	createverf3 create_verf;	/* of an exclusive CREATE */
	bool exclusive;
	struct contents contents;	/* NF3REG */
	char *target;			/* NF3LNK */
	struct entry *entries;		/* NF3DIR; in the order they came */
	struct node *parent;
	uint64_t last_cookie;
	uint64_t ino;			/* of what was there already */
	UT_hash_handle hh;
};

struct store {
	bool discard;
	struct backing *backing;	/* NULL: in memory */
	void (*gone)(void *arg, uint64_t id);	/* of a node; may be NULL */
	void *gone_arg;
	uint64_t fsid, last_id;
	uint64_t now;			/* nanoseconds; set before each call */
	uint64_t last_time;
	struct node *nodes;
	struct node *root;
};

int store_init(struct store *, bool discard, struct backing *);
void store_free(struct store *);
/* A time later than any given before. */
uint64_t store_time(struct store *);
void store_forget_volatile(struct store *);

void store_fh(const struct store *, const struct node *, struct fh *);
nfsstat3 store_find(struct store *, const void *fh, unsigned len,
		    struct node **);
/* Path from the root, "/" between the names. */
nfsstat3 store_walk(struct store *, const char *path, struct node **);

#define STORE_PATH_BYTES 4096
/* The path of a name from the root; NULL: too long. */
const char *store_path(const struct node *dir, const char *name,
		       char path[STORE_PATH_BYTES]);
/* A name of a node, and the directory it is in; NULL: it has none. */
const char *store_name(struct store *, const struct node *,
		       struct node **dir);

/* Names.  "." and ".." are understood by lookup only. */
nfsstat3 store_lookup(struct store *, struct node *dir, const char *name,
		      struct node **);
nfsstat3 store_make(struct store *, struct node *dir, const char *name,
		    ftype3, const char *target, struct node **);
nfsstat3 store_remove(struct store *, struct node *dir, const char *name);
nfsstat3 store_rmdir(struct store *, struct node *dir, const char *name);
nfsstat3 store_link(struct store *, struct node *, struct node *dir,
		    const char *name);
nfsstat3 store_rename(struct store *, struct node *from_dir,
		      const char *from, struct node *to_dir, const char *to);

#endif
