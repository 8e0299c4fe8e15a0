/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_backing.h - stable contents in files below a folder
 *
 *	DIR/.nfssim/17	the stable bytes of file 17, for as long as it lives
 *	DIR/a/b		a hard link to it: its name on the server
 *
 * What is in DIR at the start is served; .nfssim is made anew.  Owners and
 * modes are read, never written.
 */
#ifndef NFSWB_TESTS_NFSSIM_BACKING_H
#define NFSWB_TESTS_NFSSIM_BACKING_H

#include <stddef.h>
#include <stdint.h>

struct backing;

/* NULL: errno says why. */
struct backing *backing_open(const char *dir);
void backing_free(struct backing *);

/* By number.  0 or -errno; what was never written reads as zeros. */
int backing_read(struct backing *, uint64_t id, uint64_t offset, void *,
		 size_t len);
int backing_write(struct backing *, uint64_t id, uint64_t offset, const void *,
		  size_t len);
int backing_truncate(struct backing *, uint64_t id, uint64_t size);
int backing_create(struct backing *, uint64_t id);
void backing_remove(struct backing *, uint64_t id);

/* By path from the export's root, without a "/" in front. */
int backing_link(struct backing *, uint64_t id, const char *path);
int backing_mkdir(struct backing *, const char *path);
int backing_symlink(struct backing *, const char *target, const char *path);
int backing_unlink(struct backing *, const char *path);
int backing_rename(struct backing *, const char *from, const char *to);
/* A file that is there gets a number. */
int backing_adopt(struct backing *, uint64_t id, const char *path);
/* The folder, for who walks it. */
int backing_dir(const struct backing *);

#endif
