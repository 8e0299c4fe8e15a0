/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * copy.c - one file onto NFS
 *
 * Open, pwrite in pieces of 1 MiB, close.  nfswb_pwrite only says that the
 * daemon took the bytes; nfswb_close says that they are on stable storage, so
 * its answer is the copy's.  Holes of a sparse file are left out: the target
 * was truncated when it was opened, so what is not written reads as zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/put.h"

/* A failure of the local side; one of the NFS side has no reason set, since
   nfswb_strerror has it. */
struct copy {
	int fd;
	struct nfswb_file *file;
	char *buffer;
	off_t offset;			/* in both */
	const char *reason;
};

static int
local_failure(struct copy *copy)
{
	copy->reason = strerror(errno);
	return -1;
}

static ssize_t
read_some(int fd, char *buffer, size_t len)
{
	ssize_t n;

	do
		n = read(fd, buffer, len);
	while (n < 0 && errno == EINTR);
	return n;
}

static int
write_all(struct copy *copy, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = nfswb_pwrite(copy->file, copy->buffer + at,
					 len - at, copy->offset);

		if (n < 0)
			return -1;
		if (n == 0) {
			copy->reason = "nothing was written";
			return -1;
		}
		at += (size_t)n;
		copy->offset += n;
		progress_add((uint64_t)n);
	}
	return 0;
}

/* From where the descriptor stands to limit, or to the end of the file.  A
   pipe gives little at a time: a buffer is filled before it is handed on. */
static int
copy_range(struct copy *copy, off_t limit)
{
	while (copy->offset < limit) {
		size_t want = COPY_BUFFER_BYTES, have = 0;
		ssize_t n = 1;

		if ((off_t)want > limit - copy->offset)
			want = (size_t)(limit - copy->offset);
		while (have < want && n > 0) {
			n = read_some(copy->fd, copy->buffer + have,
				      want - have);
			if (n < 0)
				return local_failure(copy);
			have += (size_t)n;
		}
		if (write_all(copy, have) < 0)
			return -1;
		if (n == 0)
			break;
	}
	return 0;
}

#define NO_LIMIT ((off_t)(~0ULL >> 1))

/* Only what SEEK_DATA finds. */
static int
copy_sparse(struct copy *copy, off_t size)
{
	off_t data, hole;

	while (copy->offset < size) {
		data = lseek(copy->fd, copy->offset, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;			/* a hole to the end */
		if (data < 0)
			return local_failure(copy);
		hole = lseek(copy->fd, data, SEEK_HOLE);
		if (hole < 0 || lseek(copy->fd, data, SEEK_SET) < 0)
			return local_failure(copy);
		progress_add((uint64_t)(data - copy->offset));
		copy->offset = data;
		if (copy_range(copy, hole) < 0)
			return -1;
		if (copy->offset < hole)
			return 0;		/* it was cut meanwhile */
	}
	if (copy->offset >= size)
		return 0;
	progress_add((uint64_t)(size - copy->offset));
	return nfswb_ftruncate(copy->file, size);
}

static bool
is_sparse(int fd, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size >= (off_t)COPY_BUFFER_BYTES &&
		st->st_blocks < st->st_size / 512 &&
		lseek(fd, 0, SEEK_CUR) == 0 && lseek(fd, 0, SEEK_HOLE) >= 0 &&
		lseek(fd, 0, SEEK_SET) == 0;
}

static int
copy_content(struct copy *copy, const struct stat *st)
{
	if (is_sparse(copy->fd, st))
		return copy_sparse(copy, st->st_size);
	return copy_range(copy, NO_LIMIT);
}

/* The owner is not kept, so rights that lean on the owner aren't either. */
static mode_t
mode_to_keep(const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;

	if (!S_ISDIR(st->st_mode) && st->st_uid != geteuid())
		mode &= ~(mode_t)S_ISUID;
	if (!S_ISDIR(st->st_mode) && st->st_gid != getegid())
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

int
copy_attributes(struct put *put, const struct stat *st, const char *target)
{
	struct stat attr = *st;
	unsigned which = NFSWB_SET_ATIME | NFSWB_SET_MTIME;

	attr.st_mode = mode_to_keep(st);
	if (!S_ISLNK(st->st_mode))	/* a symlink has no mode of its own */
		which |= NFSWB_SET_MODE;
	return nfswb_setattr(put->wb, target, &attr, which);
}

/* In a tree only what was a regular file when it was listed is opened, and
   nothing that would make open(2) wait. */
static int
open_source(struct put *put, const char *src, struct stat *st)
{
	int fd;

	if (strcmp(src, "-") == 0)
		fd = STDIN_FILENO;
	else if (put->recursive)
		fd = open(src, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	else
		fd = open(src, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0) {
		if (!S_ISDIR(st->st_mode))
			return fd;
		errno = EISDIR;
	}
	if (fd != STDIN_FILENO) {
		int err = errno;

		close(fd);
		errno = err;
	}
	return -1;
}

static mode_t
mode_to_create(struct put *put, const struct stat *st, bool keep)
{
	if (keep)
		return mode_to_keep(st) & 0777;
	if (S_ISREG(st->st_mode))
		return st->st_mode & 0777 & ~put->umask;
	return 0666 & ~put->umask;
}

void
copy_file(struct put *put, const char *src, const char *target, char *buffer)
{
	struct stat st;
	struct copy copy = { .buffer = buffer };
	bool keep;
	int err;

	copy.fd = open_source(put, src, &st);
	if (copy.fd < 0) {
		put_failed(put, src, NULL, strerror(errno));
		return;
	}
	keep = put->recursive && S_ISREG(st.st_mode);
	copy.file = nfswb_open(put->wb, target, O_WRONLY | O_CREAT | O_TRUNC,
			       mode_to_create(put, &st, keep));
	if (copy.file == NULL) {
		put_failed(put, src, target, cli_reason(put->wb));
		goto close_source;
	}
	err = copy_content(&copy, &st);
	if (err < 0)
		put_failed(put, src, copy.reason ? NULL : target,
			   copy.reason ? copy.reason : cli_reason(put->wb));
	if (nfswb_close(copy.file) < 0 && err == 0) {
		put_failed(put, src, target, cli_reason(put->wb));
		err = -1;
	}
	if (err == 0 && keep && copy_attributes(put, &st, target) < 0)
		put_failed(put, src, target, cli_reason(put->wb));
close_source:
	if (copy.fd != STDIN_FILENO)
		close(copy.fd);
}

static int
read_symlink(const char *src, char *content, size_t size, struct stat *st)
{
	ssize_t len = readlink(src, content, size);

	if (len < 0 || lstat(src, st) < 0)
		return -1;
	if ((size_t)len == size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	content[len] = '\0';
	return 0;
}

/* As cp does: an old name makes room. */
static int
make_symlink(struct put *put, const char *content, const char *target)
{
	if (nfswb_symlink(put->wb, content, target) == 0)
		return 0;
	if (errno != EEXIST || nfswb_unlink(put->wb, target) < 0)
		return -1;
	return nfswb_symlink(put->wb, content, target);
}

void
copy_symlink(struct put *put, const char *src, const char *target)
{
	char content[4097];
	struct stat st;

	if (read_symlink(src, content, sizeof(content), &st) < 0)
		put_failed(put, src, NULL, strerror(errno));
	else if (make_symlink(put, content, target) < 0 ||
		 copy_attributes(put, &st, target) < 0)
		put_failed(put, src, target, cli_reason(put->wb));
}
