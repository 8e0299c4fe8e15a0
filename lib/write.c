/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * write.c - nfswb_pwrite and its kin
 *
 *	claim a piece of room ── copy ── post ── and again
 *
 * Pieces are as large as the room that is there; a call that must wait for more
 * has posted all it claimed before.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "lib/error.h"
#include "lib/file.h"
#include "lib/post.h"
#include "lib/session.h"
#include "lib/write.h"

ssize_t
write_pieces(struct nfswb *wb, struct nfswb_file *f, struct source *from,
	     size_t len, uint64_t offset, uint64_t deadline)
{
	struct need need = { .bytes = len };
	struct claim c;
	uint64_t done = 0;
	int rc = 0, rc_shared;

	room_follow(f, offset, len);
	while (need.bytes && !(rc = room_claim(wb, f, &need, deadline, &c))) {
		post_claimed(wb, f, &c, from, offset + done,
			     NFSWB_RING_WRITE);
		done += c.length;
		need.bytes -= c.length;
	}
	if (!done)
		return rc;
	rc_shared = post_wait_shared(wb, f, deadline);
	return rc_shared == -ESTALE ? rc_shared : (ssize_t)done;
}

/* Bytes of an iovec, or -EINVAL. */
static ssize_t
total(const struct iovec *iov, int iovcnt)
{
	size_t sum = 0;
	int i;

	if (iovcnt < 0 || iovcnt > IOV_MAX)
		return -EINVAL;
	for (i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len > (size_t)SSIZE_MAX - sum)
			return -EINVAL;
		sum += iov[i].iov_len;
	}
	return (ssize_t)sum;
}

static int
check(const struct nfswb_file *f, ssize_t len, off_t offset)
{
	if (len < 0)
		return (int)len;
	if ((f->oflags & O_ACCMODE) == O_RDONLY) {
		error_cause("the file was opened for reading only");
		return -EBADF;
	}
	if (offset < 0)
		return -EINVAL;
	if (len && ((uint64_t)offset > f->max_size ||
		    (uint64_t)len > f->max_size - (uint64_t)offset)) {
		error_cause("the server's files end at %llu bytes",
			    (unsigned long long)f->max_size);
		return -EFBIG;
	}
	return 0;
}

/* O_SYNC, O_DSYNC: accepted is not enough. */
static ssize_t
sync_written(struct nfswb_file *f, ssize_t done, uint64_t deadline)
{
	int rc;

	if (done <= 0 || !(f->oflags & (O_SYNC | O_DSYNC)))
		return done;
	rc = file_fsync(f, deadline);
	return rc < 0 ? rc : done;
}

static ssize_t
write_at(struct nfswb_file *f, const struct iovec *iov, ssize_t len,
	 off_t offset, uint64_t deadline)
{
	struct source from = { .iov = iov };
	struct nfswb *wb = f->wb;
	ssize_t done;

	if (len == 0)
		return 0;
	if (f->oflags & O_APPEND) {
		done = append_record(wb, f, &from, (size_t)len, deadline);
	} else {
		session_lock(wb);
		done = write_pieces(wb, f, &from, (size_t)len,
				    (uint64_t)offset, deadline);
		session_unlock(wb);
	}
	return sync_written(f, done, deadline);
}

static ssize_t
pwritev_inner(struct nfswb_file *f, const struct iovec *iov, int iovcnt,
	      off_t offset)
{
	ssize_t len = total(iov, iovcnt);
	int err = check(f, len, offset);

	if (err < 0)
		return err;
	return write_at(f, iov, len, offset, deadline_of(f->wb));
}

/* At the position, which no other call may use meanwhile. */
static ssize_t
write_on(struct nfswb_file *f, const struct iovec *iov)
{
	struct nfswb *wb = f->wb;
	uint64_t deadline = deadline_of(wb);
	ssize_t len = total(iov, 1), done;
	bool appends = f->oflags & O_APPEND;
	int64_t position;
	int err = check(f, len, 0);

	if (err < 0)
		return err;
	err = file_take_position(f, deadline, !appends, &position);
	if (err < 0)
		return err;
	done = check(f, len, appends ? 0 : position);
	if (done == 0)
		done = write_at(f, iov, len, position, deadline);
	if (done > 0)
		position = appends ? POSITION_AT_END : position + done;
	file_end_position(f, position);
	return done;
}

ssize_t
nfswb_pwritev(struct nfswb_file *f, const struct iovec *iov, int iovcnt,
	      off_t off)
{
	ssize_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = pwritev_inner(f, iov, iovcnt, off);
	return error_leave(f ? f->wb : NULL, "nfswb_pwritev", rc);
}

ssize_t
nfswb_pwrite(struct nfswb_file *f, const void *buf, size_t len, off_t off)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	ssize_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = pwritev_inner(f, &iov, 1, off);
	return error_leave(f ? f->wb : NULL, "nfswb_pwrite", rc);
}

ssize_t
nfswb_write(struct nfswb_file *f, const void *buf, size_t len)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	ssize_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = write_on(f, &iov);
	return error_leave(f ? f->wb : NULL, "nfswb_write", rc);
}
