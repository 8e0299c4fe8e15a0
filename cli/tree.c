/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree.c - a directory tree onto NFS
 *
 * fts(3) walks it.  A directory is made before the walk goes into it, with
 * rights to fill it; files and symlinks go to the pool.  What filling a
 * directory spoils, its times, and what would hinder it, a mode without the
 * right to write, is set when all files are there, the deepest first.
 */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/put.h"
#include "cli/target.h"

struct dir {
	char *src, *target;
	struct stat st;
};

struct tree_dirs {
	struct dir *dirs;
	size_t nr, room;
};

struct tree {
	struct put *put;
	struct pool *pool;
	struct tree_dirs *dirs;
	const char *target;		/* of the root */
	size_t root_len;
};

struct tree_dirs *
tree_dirs_new(void)
{
	return calloc(1, sizeof(struct tree_dirs));
}

/* Takes target over. */
static int
remember(struct tree_dirs *dirs, const char *src, char *target,
	 const struct stat *st)
{
	struct dir *dir;

	if (dirs->nr == dirs->room) {
		size_t room = dirs->room ? 2 * dirs->room : 64;
		struct dir *more = realloc(dirs->dirs, room * sizeof(*more));

		if (more == NULL)
			goto no_memory;
		dirs->dirs = more;
		dirs->room = room;
	}
	dir = &dirs->dirs[dirs->nr];
	dir->src = strdup(src);
	if (dir->src == NULL)
		goto no_memory;
	dir->target = target;
	dir->st = *st;
	dirs->nr++;
	return 0;
no_memory:
	free(target);
	errno = ENOMEM;
	return -1;
}

void
tree_dirs_finish(struct put *put, struct tree_dirs *dirs)
{
	while (dirs->nr > 0) {
		struct dir *dir = &dirs->dirs[--dirs->nr];

		if (copy_attributes(put, &dir->st, dir->target) < 0)
			put_failed(put, dir->src, dir->target,
				   cli_reason(put->wb));
		free(dir->src);
		free(dir->target);
	}
	free(dirs->dirs);
	free(dirs);
}

static char *
target_of(const struct tree *tree, const FTSENT *ent)
{
	const char *below = ent->fts_path + tree->root_len;

	while (*below == '/')
		below++;
	return *below ? target_join(tree->target, below) :
		strdup(tree->target);
}

/* 1: made; 0: was there; -1: has complained. */
static int
make_dir(struct put *put, const char *src, const char *target,
	 const struct stat *st)
{
	struct stat there;

	if (nfswb_mkdir(put->wb, target, (st->st_mode & 0777) | 0700) == 0)
		return 1;
	if (errno == EEXIST && nfswb_stat(put->wb, target, &there) == 0) {
		if (S_ISDIR(there.st_mode))
			return 0;
		put_failed(put, src, target, "is there and is no directory");
		return -1;
	}
	put_failed(put, src, target, cli_reason(put->wb));
	return -1;
}

/* A root that was there (a tree merged into another) keeps its attributes. */
static int
enter_dir(struct tree *tree, const FTSENT *ent)
{
	char *target = target_of(tree, ent);
	int made;

	if (target == NULL) {
		put_failed(tree->put, ent->fts_path, NULL, "no memory");
		return -1;
	}
	made = make_dir(tree->put, ent->fts_path, target, ent->fts_statp);
	if (made < 0 || (made == 0 && ent->fts_level == FTS_ROOTLEVEL)) {
		free(target);
		return made;
	}
	if (remember(tree->dirs, ent->fts_path, target, ent->fts_statp) < 0) {
		put_failed(tree->put, ent->fts_path, NULL, "no memory");
		return -1;
	}
	return 0;
}

static void
visit(struct tree *tree, FTS *fts, FTSENT *ent)
{
	switch (ent->fts_info) {
	case FTS_D:
		if (enter_dir(tree, ent) < 0)
			fts_set(fts, ent, FTS_SKIP);
		break;
	case FTS_DP:
		break;
	case FTS_F:
		pool_add(tree->pool, POOL_FILE, ent->fts_path,
			 target_of(tree, ent));
		break;
	case FTS_SL:
	case FTS_SLNONE:
		pool_add(tree->pool, POOL_SYMLINK, ent->fts_path,
			 target_of(tree, ent));
		break;
	case FTS_DNR:
	case FTS_NS:
	case FTS_ERR:
		put_failed(tree->put, ent->fts_path, NULL,
			   strerror(ent->fts_errno));
		break;
	case FTS_DC:
		put_failed(tree->put, ent->fts_path, NULL,
			   "is a directory above itself");
		break;
	default:
		complain("put %s: skipped, since it is no file, directory or "
			 "symlink", ent->fts_path);
	}
}

/* The trailing slashes of a root would show in every path. */
static FTS *
open_tree(const char *src, char **root)
{
	char *paths[2] = { NULL, NULL };
	size_t len;

	*root = paths[0] = strdup(src);
	if (*root == NULL)
		return NULL;
	len = strlen(*root);
	while (len > 1 && (*root)[len - 1] == '/')
		(*root)[--len] = '\0';
	return fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
}

void
tree_put(struct put *put, struct pool *pool, struct tree_dirs *dirs,
	 const char *src, const char *target)
{
	struct tree tree = { put, pool, dirs, target, 0 };
	char *root;
	FTS *fts = open_tree(src, &root);
	FTSENT *ent;

	if (fts == NULL) {
		put_failed(put, src, NULL, strerror(errno));
		free(root);
		return;
	}
	tree.root_len = strlen(root);
	while (errno = 0, (ent = fts_read(fts)) != NULL)
		visit(&tree, fts, ent);
	if (errno != 0)
		put_failed(put, src, NULL, strerror(errno));
	fts_close(fts);
	free(root);
}

unsigned long long
tree_bytes(const char *src)
{
	char *root;
	FTS *fts = open_tree(src, &root);
	FTSENT *ent;
	unsigned long long bytes = 0;

	while (fts != NULL && (ent = fts_read(fts)) != NULL)
		if (ent->fts_info == FTS_F)
			bytes += (unsigned long long)ent->fts_statp->st_size;
	if (fts != NULL)
		fts_close(fts);
	free(root);
	return bytes;
}
