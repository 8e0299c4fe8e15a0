/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_store.c - nodes and the names they go by
 *
 * With a backing, what is made, named and removed here is so below its folder,
 * too; there it is found again by the next server.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/nfssim_backing.h"
#include "tests/nfssim_store.h"

#define FH_BYTES 16		/* fsid, id */
#define NAME_BYTES 255
#define PATH_BYTES STORE_PATH_BYTES

uint64_t
store_time(struct store *s)
{
	s->last_time = s->now > s->last_time ? s->now : s->last_time + 1;
	return s->last_time;
}

static struct node *
new_node(struct store *s, ftype3 type)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->id = ++s->last_id;
	n->type = type;
	n->mode = type == NF3DIR ? 0755 : 0644;
	n->nlink = type == NF3DIR ? 2 : 1;
	n->atime = n->mtime = n->ctime = store_time(s);
	contents_init(&n->contents, s->discard);
	n->contents.id = n->id;
	if (type == NF3REG)
		n->contents.backing = s->backing;
	HASH_ADD(hh, s->nodes, id, sizeof n->id, n);
	return n;
}

static void
free_node(struct store *s, struct node *n)
{
	HASH_DEL(s->nodes, n);
	if (s->gone)
		s->gone(s->gone_arg, n->id);
	if (n->contents.backing)
		backing_remove(s->backing, n->id);
	contents_free(&n->contents);
	free(n->target);
	free(n);
}

static void
drop_entry(struct node *dir, struct entry *e)
{
	HASH_DEL(dir->entries, e);
	free(e->name);
	free(e);
}

static int load(struct store *, struct node *dir, int fd, const char *path);

int
store_init(struct store *s, bool discard, struct backing *backing)
{
	memset(s, 0, sizeof *s);
	s->discard = discard;
	s->backing = backing;
	s->fsid = 0x6e667373696d;
	s->root = new_node(s, NF3DIR);
	if (!s->root)
		return -1;
	s->root->mode = 0777;
	s->root->parent = s->root;
	return backing ? load(s, s->root, dup(backing_dir(backing)), "") : 0;
}

void
store_free(struct store *s)
{
	struct node *n, *tmp;
	struct entry *e, *tmp_e;

	s->gone = NULL;
	HASH_ITER(hh, s->nodes, n, tmp) {
		HASH_ITER(hh, n->entries, e, tmp_e)
			drop_entry(n, e);
		free_node(s, n);
	}
}

void
store_forget_volatile(struct store *s)
{
	struct node *n, *tmp;

	HASH_ITER(hh, s->nodes, n, tmp)
		contents_forget(&n->contents);
}

/* handles */

void
store_fh(const struct store *s, const struct node *n, struct fh *fh)
{
	unsigned char b[FH_BYTES];

	memcpy(b, &s->fsid, 8);
	memcpy(b + 8, &n->id, 8);
	fh_set(fh, b, sizeof b);
}

nfsstat3
store_find(struct store *s, const void *fh, unsigned len, struct node **out)
{
	const unsigned char *b = fh;
	uint64_t id;

	if (len != FH_BYTES || memcmp(b, &s->fsid, 8))
		return NFS3ERR_BADHANDLE;
	memcpy(&id, b + 8, 8);
	HASH_FIND(hh, s->nodes, &id, sizeof id, *out);
	return *out ? NFS3_OK : NFS3ERR_STALE;
}

nfsstat3
store_walk(struct store *s, const char *path, struct node **out)
{
	struct node *n = s->root;
	char name[NAME_BYTES + 1];
	nfsstat3 st;
	size_t len;

	for (;;) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len)
			break;
		if (len > NAME_BYTES)
			return NFS3ERR_NAMETOOLONG;
		memcpy(name, path, len);
		name[len] = 0;
		path += len;
		st = store_lookup(s, n, name, &n);
		if (st != NFS3_OK)
			return st;
	}
	*out = n;
	return NFS3_OK;
}

/* names */

static struct entry *
find_entry(struct node *dir, const char *name)
{
	struct entry *e;

	HASH_FIND_STR(dir->entries, name, e);
	return e;
}

/* May the name be made, removed or renamed? */
static nfsstat3
check_name(const struct node *dir, const char *name)
{
	if (dir->type != NF3DIR)
		return NFS3ERR_NOTDIR;
	if (!*name || strchr(name, '/'))
		return NFS3ERR_ACCES;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return NFS3ERR_INVAL;
	if (strlen(name) > NAME_BYTES)
		return NFS3ERR_NAMETOOLONG;
	return NFS3_OK;
}

static void
dir_changed(struct store *s, struct node *dir)
{
	dir->mtime = dir->ctime = store_time(s);
}

static nfsstat3
add_entry(struct store *s, struct node *dir, const char *name,
	  struct node *n)
{
	struct entry *e = calloc(1, sizeof *e);

	if (!e || !(e->name = strdup(name))) {
		free(e);
		return NFS3ERR_NOSPC;
	}
	e->node = n;
	/* 1 and 2 are "." and ".." */
	e->cookie = 3 + dir->last_cookie++;
	HASH_ADD_KEYPTR(hh, dir->entries, e->name, strlen(e->name), e);
	if (n->type == NF3DIR) {
		n->parent = dir;
		dir->nlink++;
	}
	dir_changed(s, dir);
	return NFS3_OK;
}

const char *
store_path(const struct node *dir, const char *name, char path[PATH_BYTES])
{
	size_t at = PATH_BYTES - 1, len = strlen(name);
	const struct entry *e;

	path[at] = 0;
	for (;;) {
		if (len + 1 > at)
			return NULL;
		at -= len;
		memcpy(path + at, name, len);
		if (dir == dir->parent)
			return path + at;
		for (e = dir->parent->entries; e && e->node != dir;
		     e = e->hh.next)
			;
		if (!e)
			return NULL;
		name = e->name;
		len = strlen(name);
		path[--at] = '/';
		dir = dir->parent;
	}
}

const char *
store_name(struct store *s, const struct node *n, struct node **dir)
{
	const struct entry *e;

	for (*dir = s->nodes; *dir; *dir = (*dir)->hh.next)
		for (e = (*dir)->entries; e; e = e->hh.next)
			if (e->node == n)
				return e->name;
	return NULL;
}

/* What was added in memory is below the folder, too; or not at all. */
static nfsstat3
back_made(struct store *s, struct node *dir, const char *name,
	  struct node *n, bool is_new)
{
	char buf[PATH_BYTES];
	const char *path = s->backing ? store_path(dir, name, buf) : NULL;
	int err = 0;

	if (!s->backing)
		return NFS3_OK;
	if (!path || !strcmp(path, ".nfssim"))
		return NFS3ERR_NAMETOOLONG;
	if (n->type == NF3DIR)
		err = backing_mkdir(s->backing, path);
	else if (n->type == NF3LNK)
		err = backing_symlink(s->backing, n->target, path);
	else if (is_new)
		err = backing_create(s->backing, n->id);
	if (!err && n->type == NF3REG)
		err = backing_link(s->backing, n->id, path);
	return err ? NFS3ERR_IO : NFS3_OK;
}

static void
back_removed(struct store *s, struct node *dir, const char *name)
{
	char buf[PATH_BYTES];
	const char *path = s->backing ? store_path(dir, name, buf) : NULL;

	if (path)
		backing_unlink(s->backing, path);
}

static void
remove_entry(struct store *s, struct node *dir, struct entry *e)
{
	if (e->node->type == NF3DIR)
		dir->nlink--;
	drop_entry(dir, e);
	dir_changed(s, dir);
}

/* One name less: the last one takes the node along. */
static void
unlink_entry(struct store *s, struct node *dir, struct entry *e)
{
	struct node *n = e->node;

	back_removed(s, dir, e->name);
	remove_entry(s, dir, e);
	n->ctime = store_time(s);
	if (n->type == NF3DIR || !--n->nlink)
		free_node(s, n);
}

nfsstat3
store_lookup(struct store *s, struct node *dir, const char *name,
	     struct node **out)
{
	struct entry *e;

	(void)s;
	if (dir->type != NF3DIR)
		return NFS3ERR_NOTDIR;
	if (strlen(name) > NAME_BYTES)
		return NFS3ERR_NAMETOOLONG;
	if (!strcmp(name, ".") || !strcmp(name, "..")) {
		*out = name[1] ? dir->parent : dir;
		return NFS3_OK;
	}
	e = find_entry(dir, name);
	if (!e)
		return NFS3ERR_NOENT;
	*out = e->node;
	return NFS3_OK;
}

nfsstat3
store_make(struct store *s, struct node *dir, const char *name, ftype3 type,
	   const char *target, struct node **out)
{
	nfsstat3 st = check_name(dir, name);
	struct node *n;

	if (st != NFS3_OK)
		return st;
	if (find_entry(dir, name))
		return NFS3ERR_EXIST;
	n = new_node(s, type);
	if (!n)
		return NFS3ERR_NOSPC;
	if (target && !(n->target = strdup(target)))
		st = NFS3ERR_NOSPC;
	else
		st = back_made(s, dir, name, n, true);
	if (st == NFS3_OK)
		st = add_entry(s, dir, name, n);
	if (st != NFS3_OK)
		free_node(s, n);
	else
		*out = n;
	return st;
}

nfsstat3
store_remove(struct store *s, struct node *dir, const char *name)
{
	nfsstat3 st = check_name(dir, name);
	struct entry *e;

	if (st != NFS3_OK)
		return st;
	e = find_entry(dir, name);
	if (!e)
		return NFS3ERR_NOENT;
	if (e->node->type == NF3DIR)
		return NFS3ERR_ISDIR;
	unlink_entry(s, dir, e);
	return NFS3_OK;
}

nfsstat3
store_rmdir(struct store *s, struct node *dir, const char *name)
{
	nfsstat3 st = check_name(dir, name);
	struct entry *e;

	if (st != NFS3_OK)
		return st;
	e = find_entry(dir, name);
	if (!e)
		return NFS3ERR_NOENT;
	if (e->node->type != NF3DIR)
		return NFS3ERR_NOTDIR;
	if (e->node->entries)
		return NFS3ERR_NOTEMPTY;
	unlink_entry(s, dir, e);
	return NFS3_OK;
}

nfsstat3
store_link(struct store *s, struct node *n, struct node *dir,
	   const char *name)
{
	nfsstat3 st = check_name(dir, name);

	if (st != NFS3_OK)
		return st;
	if (n->type == NF3DIR)
		return NFS3ERR_ISDIR;
	if (find_entry(dir, name))
		return NFS3ERR_EXIST;
	st = back_made(s, dir, name, n, false);
	if (st == NFS3_OK)
		st = add_entry(s, dir, name, n);
	if (st != NFS3_OK)
		return st;
	n->nlink++;
	n->ctime = store_time(s);
	return NFS3_OK;
}

static bool
is_below(const struct node *n, const struct node *dir)
{
	for (; n != n->parent; n = n->parent)
		if (n == dir)
			return true;
	return n == dir;
}

/* Makes way for n at an existing name. */
static nfsstat3
replace(struct store *s, struct node *dir, struct entry *old,
	const struct node *n)
{
	if (old->node->type == NF3DIR && n->type != NF3DIR)
		return NFS3ERR_EXIST;
	if (old->node->type != NF3DIR && n->type == NF3DIR)
		return NFS3ERR_EXIST;
	if (old->node->entries)
		return NFS3ERR_NOTEMPTY;
	unlink_entry(s, dir, old);
	return NFS3_OK;
}

static nfsstat3
back_renamed(struct store *s, struct node *from_dir, const char *from,
	     struct node *to_dir, const char *to)
{
	char a[PATH_BYTES], b[PATH_BYTES];
	const char *x, *y;

	if (!s->backing)
		return NFS3_OK;
	x = store_path(from_dir, from, a);
	y = store_path(to_dir, to, b);
	return !x || !y || backing_rename(s->backing, x, y) < 0 ?
	       NFS3ERR_IO : NFS3_OK;
}

nfsstat3
store_rename(struct store *s, struct node *from_dir, const char *from,
	     struct node *to_dir, const char *to)
{
	nfsstat3 st = check_name(from_dir, from);
	struct entry *e, *old;

	if (st == NFS3_OK)
		st = check_name(to_dir, to);
	if (st != NFS3_OK)
		return st;
	e = find_entry(from_dir, from);
	if (!e)
		return NFS3ERR_NOENT;
	old = find_entry(to_dir, to);
	if (old && old->node == e->node)
		return NFS3_OK;
	if (e->node->type == NF3DIR && is_below(to_dir, e->node))
		return NFS3ERR_INVAL;
	if (old)
		st = replace(s, to_dir, old, e->node);
	if (st == NFS3_OK)
		st = back_renamed(s, from_dir, from, to_dir, to);
	if (st == NFS3_OK)
		st = add_entry(s, to_dir, to, e->node);
	if (st != NFS3_OK)
		return st;
	e->node->ctime = store_time(s);
	remove_entry(s, from_dir, e);
	return NFS3_OK;
}

/* what is there already */

/* The node of a file that was met before, under another name. */
static struct node *
node_of_ino(struct store *s, const struct stat *st)
{
	struct node *n;

	if (st->st_nlink > 1)
		for (n = s->nodes; n; n = n->hh.next)
			if (n->type == NF3REG && n->ino == st->st_ino)
				return n;
	return NULL;
}

static char *
read_link(int dir, const char *name, size_t len)
{
	char *target = calloc(1, len + 1);

	if (target && readlinkat(dir, name, target, len) < 0)
		*target = 0;
	return target;
}

static void
take_stat(struct node *n, const struct stat *st)
{
	n->mode = st->st_mode & 07777;
	n->uid = st->st_uid;
	n->gid = st->st_gid;
	n->ino = st->st_ino;
	n->mtime = (uint64_t)st->st_mtim.tv_sec * 1000000000 +
		   (uint64_t)st->st_mtim.tv_nsec;
	if (n->type == NF3REG)
		n->contents.size = n->contents.stable_size =
			(uint64_t)st->st_size;
}

static int
load_one(struct store *s, struct node *dir, int fd, const char *name,
	 const char *path)
{
	struct stat st;
	struct node *n;
	ftype3 type;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
	    !S_ISLNK(st.st_mode))
		return 0;
	type = S_ISDIR(st.st_mode) ? NF3DIR :
	       S_ISLNK(st.st_mode) ? NF3LNK : NF3REG;
	n = type == NF3REG ? node_of_ino(s, &st) : NULL;
	if (n) {
		n->nlink++;
		return add_entry(s, dir, name, n) == NFS3_OK ? 0 : -1;
	}
	n = new_node(s, type);
	if (!n)
		return -1;
	if (type == NF3LNK &&
	    !(n->target = read_link(fd, name, (size_t)st.st_size)))
		return -1;
	if (type == NF3REG && backing_adopt(s->backing, n->id, path) < 0)
		return -1;
	if (add_entry(s, dir, name, n) != NFS3_OK)
		return -1;
	take_stat(n, &st);
	return type == NF3DIR ? load(s, n, openat(fd, name, O_RDONLY |
						  O_DIRECTORY | O_NOFOLLOW |
						  O_CLOEXEC), path) : 0;
}

static int
load(struct store *s, struct node *dir, int fd, const char *path)
{
	char below[PATH_BYTES];
	struct dirent *e;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int ret = 0, len;

	if (!d)
		return -1;
	while (!ret && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (!*path && !strcmp(e->d_name, ".nfssim")))
			continue;
		len = snprintf(below, sizeof below, "%s%s%s", path,
			       *path ? "/" : "", e->d_name);
		ret = len < 0 || len >= PATH_BYTES ? -1 :
		      load_one(s, dir, dirfd(d), e->d_name, below);
	}
	closedir(d);
	return ret;
}
