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

/* The contents of a file: two of them, sharing what is equal. */
struct block;
RB_HEAD(block_tree, block);

struct contents {
	bool discard;
	uint64_t size, stable_size;
	uint64_t used;			/* bytes of blocks */
	struct block_tree blocks;
};

void contents_init(struct contents *, bool discard);
void contents_free(struct contents *);
/* Volatile, or both at once. */
nfsstat3 contents_write(struct contents *, uint64_t offset, const void *,
			size_t len, bool stable);
/* Bytes read. */
size_t contents_read(const struct contents *, bool stable, uint64_t offset,
		     void *, size_t len);
/* length 0: to the end. */
void contents_commit(struct contents *, uint64_t offset, uint64_t length);
void contents_truncate(struct contents *, uint64_t size);
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
	UT_hash_handle hh;
};

struct store {
	bool discard;
	uint64_t fsid, last_id;
	uint64_t now;			/* nanoseconds; set before each call */
	uint64_t last_time;
	struct node *nodes;
	struct node *root;
};

int store_init(struct store *, bool discard);
void store_free(struct store *);
/* A time later than any given before. */
uint64_t store_time(struct store *);
void store_forget_volatile(struct store *);

void store_fh(const struct store *, const struct node *, struct fh *);
nfsstat3 store_find(struct store *, const void *fh, unsigned len,
		    struct node **);
/* Path from the root, "/" between the names. */
nfsstat3 store_walk(struct store *, const char *path, struct node **);

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
