/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * put.h - one nfswb put: what its parts share
 *
 *	put.c	the command: which SRC goes where
 *	tree.c	a directory: made first, finished last
 *	pool.c	files under way at once
 *	copy.c	one file
 */
#ifndef NFSWB_CLI_PUT_H
#define NFSWB_CLI_PUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct nfswb;

#define COPY_BUFFER_BYTES (1u << 20)

struct put {
	struct nfswb *wb;
	bool recursive;			/* keeps modes, times, symlinks */
	mode_t umask;			/* for files whose mode is not kept */
	atomic_bool failed;
};

/* "nfswb: put SRC: TARGET: reason"; the put goes on and ends with exit code
   1. */
void put_failed(struct put *, const char *src, const char *target,
		const char *reason);

/* Copies a file (src "-": standard input), or a symlink as such.  buffer holds
   COPY_BUFFER_BYTES.  When it returns the bytes are on stable storage, or
   put_failed() was called. */
void copy_file(struct put *, const char *src, const char *target,
	       char *buffer);
void copy_symlink(struct put *, const char *src, const char *target);

/* Mode and times of st; 0 or -1 with errno. */
int copy_attributes(struct put *, const struct stat *st, const char *target);

/* Files under way at once. */
struct pool;
struct pool *pool_new(struct put *);
/* Takes target over (malloc). */
enum pool_what { POOL_FILE, POOL_SYMLINK };
void pool_add(struct pool *, enum pool_what, const char *src, char *target);
void pool_drain(struct pool *);		/* until all that was added is done */
void pool_free(struct pool *);		/* drains */

/* The directories of trees, to be finished when their files are there. */
struct tree_dirs;
struct tree_dirs *tree_dirs_new(void);
/* Makes src's directories below target, and gives its files to the pool. */
void tree_put(struct put *, struct pool *, struct tree_dirs *, const char *src,
	      const char *target);
/* Sets the directories' modes and times, the deepest first, and frees. */
void tree_dirs_finish(struct put *, struct tree_dirs *);
/* The bytes of all regular files in src. */
unsigned long long tree_bytes(const char *src);

#endif
