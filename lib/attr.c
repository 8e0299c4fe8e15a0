/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attr.c - attributes as the socket carries them, as struct stat */
#include <string.h>

#include "lib/file.h"

#define NSEC 1000000000ll

static struct timespec
from_nsec(int64_t nsec)
{
	struct timespec t = { .tv_sec = nsec / NSEC, .tv_nsec = nsec % NSEC };

	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += NSEC;
	}
	return t;
}

/* Times beyond what 64 bits of nanoseconds hold are cut to that. */
static int64_t
to_nsec(struct timespec t)
{
	int64_t n;

	if (__builtin_mul_overflow((int64_t)t.tv_sec, (int64_t)NSEC, &n) ||
	    __builtin_add_overflow(n, (int64_t)t.tv_nsec, &n))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return n;
}

void
stat_from_attr(struct stat *st, const nfswb_attr *a)
{
	memset(st, 0, sizeof *st);
	st->st_mode = (a->type & S_IFMT) | (a->mode & ~S_IFMT);
	st->st_nlink = a->nlink;
	st->st_uid = a->uid;
	st->st_gid = a->gid;
	st->st_size = (off_t)a->size;
	st->st_blocks = (blkcnt_t)((a->used + 511) / 512);
	st->st_blksize = 65536;
	st->st_rdev = (dev_t)a->rdev;
	st->st_dev = (dev_t)a->fsid;
	st->st_ino = (ino_t)a->fileid;
	st->st_atim = from_nsec(a->atime_nsec);
	st->st_mtim = from_nsec(a->mtime_nsec);
	st->st_ctim = from_nsec(a->ctime_nsec);
}

void
attr_from_stat(nfswb_attr *a, const struct stat *st)
{
	memset(a, 0, sizeof *a);
	a->type = st->st_mode & S_IFMT;
	a->mode = st->st_mode & 07777;
	a->uid = st->st_uid;
	a->gid = st->st_gid;
	a->size = (uint64_t)st->st_size;
	a->atime_nsec = to_nsec(st->st_atim);
	a->mtime_nsec = to_nsec(st->st_mtim);
}
