/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_backing.c - see nfssim_backing.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/nfssim_backing.h"

struct backing {
	int dir, ids;		/* DIR, DIR/.nfssim */
};

static int
result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static const char *
name_of(uint64_t id, char name[24])
{
	snprintf(name, 24, "%" PRIu64, id);
	return name;
}

static void
empty(int dir)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dir, e->d_name, 0);
	if (d)
		closedir(d);
}

struct backing *
backing_open(const char *dir)
{
	struct backing *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		goto fail;
	b->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dir < 0)
		goto fail;
	mkdirat(b->dir, ".nfssim", 0700);
	b->ids = openat(b->dir, ".nfssim",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->ids < 0) {
		close(b->dir);
		goto fail;
	}
	empty(b->ids);
	return b;
fail:
	free(b);
	return NULL;
}

void
backing_free(struct backing *b)
{
	if (!b)
		return;
	empty(b->ids);
	unlinkat(b->dir, ".nfssim", AT_REMOVEDIR);
	close(b->ids);
	close(b->dir);
	free(b);
}

int
backing_dir(const struct backing *b)
{
	return b->dir;
}

static int
open_id(struct backing *b, uint64_t id)
{
	char name[24];
	int fd = openat(b->ids, name_of(id, name),
			O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int
backing_read(struct backing *b, uint64_t id, uint64_t offset, void *buf,
	     size_t len)
{
	int fd = open_id(b, id), err = 0;
	unsigned char *p = buf;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	for (; len && n > 0; p += n, offset += (uint64_t)n, len -= (size_t)n) {
		n = pread(fd, p, len, (off_t)offset);
		if (n < 0) {
			err = -errno;
			n = 0;
		}
	}
	memset(p, 0, len);
	close(fd);
	return err;
}

int
backing_write(struct backing *b, uint64_t id, uint64_t offset,
	      const void *data, size_t len)
{
	int fd = open_id(b, id), err = 0;
	const unsigned char *p = data;
	ssize_t n;

	if (fd < 0)
		return fd;
	for (; len && !err; p += n, offset += (uint64_t)n, len -= (size_t)n) {
		n = pwrite(fd, p, len, (off_t)offset);
		if (n <= 0) {
			err = n ? -errno : -EIO;
			n = 0;
		}
	}
	close(fd);
	return err;
}

int
backing_truncate(struct backing *b, uint64_t id, uint64_t size)
{
	int fd = open_id(b, id), err;

	if (fd < 0)
		return fd;
	err = result(ftruncate(fd, (off_t)size));
	close(fd);
	return err;
}

int
backing_create(struct backing *b, uint64_t id)
{
	char name[24];
	int fd = openat(b->ids, name_of(id, name),
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void
backing_remove(struct backing *b, uint64_t id)
{
	char name[24];

	unlinkat(b->ids, name_of(id, name), 0);
}

int
backing_link(struct backing *b, uint64_t id, const char *path)
{
	char name[24];

	return result(linkat(b->ids, name_of(id, name), b->dir, path, 0));
}

int
backing_adopt(struct backing *b, uint64_t id, const char *path)
{
	char name[24];

	return result(linkat(b->dir, path, b->ids, name_of(id, name), 0));
}

int
backing_mkdir(struct backing *b, const char *path)
{
	return result(mkdirat(b->dir, path, 0777));
}

int
backing_symlink(struct backing *b, const char *target, const char *path)
{
	return result(symlinkat(target, b->dir, path));
}

int
backing_unlink(struct backing *b, const char *path)
{
	if (unlinkat(b->dir, path, 0) == 0)
		return 0;
	return errno == EISDIR || errno == EPERM ?
	       result(unlinkat(b->dir, path, AT_REMOVEDIR)) : -errno;
}

int
backing_rename(struct backing *b, const char *from, const char *to)
{
	return result(renameat(b->dir, from, b->dir, to));
}
