/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read.c - nfswb_pread, nfswb_read, nfswb_lseek
 *
 * What the daemon READs it puts into our memory and says where; one copy, to the
 * caller's buffer, is ours.  It may use the place for something else at any time:
 * the chunk's mark tells whether what was copied is what was read.  Where it is
 * not, twice, the data is asked for in the message.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/session.h"

#define TRIES 2

/* May this be copied from?  What the daemon says is looked at, too. */
static bool
is_sane(const struct nfswb *wb, const nfswb_piece *p, size_t len)
{
	uint64_t end = (uint64_t)wb->shm.layout.chunk_nr * NFSWB_CHUNK_BYTES;

	if (p->length > len)
		return false;
	return p->place == NFSWB_PLACE_ZEROS ||
	       (p->place < end && p->place % NFSWB_CHUNK_BYTES + p->length <=
				  NFSWB_CHUNK_BYTES);
}

/* false: the place was used anew meanwhile. */
static bool
copy_piece(struct nfswb *wb, const nfswb_piece *p, void *to)
{
	if (p->place == NFSWB_PLACE_ZEROS) {
		memset(to, 0, p->length);
		return true;
	}
	memcpy(to, wb->shm.data + p->place, p->length);
	return nfswb_mark_took(&wb->shm.mark[p->place / NFSWB_CHUNK_BYTES],
			       p->mark, p->length);
}

/* As much as is good; all: of all that was said. */
static ssize_t
copy_pieces(struct nfswb *wb, const nfswb_read_place_res *res, char *buf,
	    size_t len, bool *all)
{
	size_t done = 0;
	u_int i;

	*all = true;
	for (i = 0; i < res->pieces.pieces_len; i++) {
		const nfswb_piece *p = &res->pieces.pieces_val[i];

		if (!is_sane(wb, p, len - done))
			return -EPROTO;
		if (!copy_piece(wb, p, buf + done)) {
			*all = false;
			break;
		}
		done += p->length;
	}
	return (ssize_t)done;
}

static ssize_t
copy_data(const nfswb_read_place_res *res, char *buf, size_t len)
{
	if (res->data.data_len > len)
		return -EPROTO;
	if (res->data.data_len)
		memcpy(buf, res->data.data_val, res->data.data_len);
	return (ssize_t)res->data.data_len;
}

/* One READ: bytes, or -errno; lost: none of them was good. */
static ssize_t
read_place(struct nfswb_file *f, void *buf, size_t len, uint64_t offset,
	   uint64_t deadline, bool *eof, bool *lost)
{
	struct ask ask = { .args.type = NFSWB_READ_PLACE,
			   .deadline = deadline };
	nfswb_range_args *args = &ask.args.nfswb_args_u.read_place;
	const nfswb_read_place_res *res;
	nfswb_reply reply;
	bool all = true;
	ssize_t n;
	int rc;

	if (len > NFSWB_PLACE_MAX)
		len = NFSWB_PLACE_MAX;
	args->file = f->number;
	args->offset = offset;
	args->length = len;
	rc = call_run(f->wb, &ask, &reply);
	if (rc < 0)
		return rc;
	res = &reply.answer.nfswb_answer_u.res.nfswb_res_u.read_place;
	n = res->pieces.pieces_len ?
	    copy_pieces(f->wb, res, buf, len, &all) : copy_data(res, buf, len);
	*lost = !all && n == 0;
	*eof = all && (res->eof || n == 0);
	codec_free(&reply);
	return n;
}

/* The same with the data in the message. */
static ssize_t
read_inline(struct nfswb_file *f, void *buf, size_t len, uint64_t offset,
	    uint64_t deadline, bool *eof)
{
	struct ask ask = { .args.type = NFSWB_READ, .deadline = deadline };
	nfswb_range_args *args = &ask.args.nfswb_args_u.read;
	const nfswb_read_res *res;
	nfswb_reply reply;
	ssize_t n;
	int rc;

	args->file = f->number;
	args->offset = offset;
	args->length = len < NFSWB_DATA_MAX ? len : NFSWB_DATA_MAX;
	rc = call_run(f->wb, &ask, &reply);
	if (rc < 0)
		return rc;
	res = &reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	n = (ssize_t)res->data.data_len;
	if ((uint64_t)n > args->length)
		n = -EPROTO;
	if (n > 0)
		memcpy(buf, res->data.data_val, (size_t)n);
	*eof = res->eof || n == 0;
	codec_free(&reply);
	return n;
}

static ssize_t
read_some(struct nfswb_file *f, void *buf, size_t len, uint64_t offset,
	  uint64_t deadline, bool *eof)
{
	bool lost = true;
	ssize_t n = 0;
	int i;

	for (i = 0; lost && i < TRIES; i++) {
		lost = false;
		n = read_place(f, buf, len, offset, deadline, eof, &lost);
	}
	return lost ? read_inline(f, buf, len, offset, deadline, eof) : n;
}

static ssize_t
read_at(struct nfswb_file *f, void *buf, size_t len, off_t offset,
	uint64_t deadline)
{
	size_t done = 0;
	bool eof = false;
	ssize_t n = 0;

	if ((f->oflags & O_ACCMODE) == O_WRONLY) {
		error_cause("the file was opened for writing only");
		return -EBADF;
	}
	if (offset < 0 || len > (size_t)SSIZE_MAX)
		return -EINVAL;
	if (len > (size_t)(INT64_MAX - offset))
		len = (size_t)(INT64_MAX - offset);
	while (done < len && !eof) {
		n = read_some(f, (char *)buf + done, len - done,
			      (uint64_t)offset + done, deadline, &eof);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return n < 0 && !done ? n : (ssize_t)done;
}

static ssize_t
read_on(struct nfswb_file *f, void *buf, size_t len)
{
	uint64_t deadline = deadline_of(f->wb);
	int64_t position;
	ssize_t n = file_take_position(f, deadline, true, &position);

	if (n < 0)
		return n;
	n = read_at(f, buf, len, position, deadline);
	file_end_position(f, position + (n > 0 ? n : 0));
	return n;
}

ssize_t
nfswb_pread(struct nfswb_file *f, void *buf, size_t len, off_t off)
{
	ssize_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = read_at(f, buf, len, off, deadline_of(f->wb));
	return error_leave(f ? f->wb : NULL, "nfswb_pread", rc);
}

ssize_t
nfswb_read(struct nfswb_file *f, void *buf, size_t len)
{
	ssize_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = read_on(f, buf, len);
	return error_leave(f ? f->wb : NULL, "nfswb_read", rc);
}

/* Where whence counts from. */
static int
base_of(struct nfswb_file *f, int whence, int64_t position, uint64_t deadline,
	int64_t *base)
{
	switch (whence) {
	case SEEK_SET:
		*base = 0;
		return 0;
	case SEEK_CUR:
		*base = position;
		return 0;
	case SEEK_END:
		return file_size_now(f, deadline, base);
	}
	return -EINVAL;
}

static off_t
seek(struct nfswb_file *f, off_t off, int whence)
{
	uint64_t deadline = deadline_of(f->wb);
	int64_t position, base = 0, to;
	int rc = file_take_position(f, deadline, whence == SEEK_CUR,
				    &position);

	if (rc < 0)
		return rc;
	rc = base_of(f, whence, position, deadline, &base);
	if (rc == 0 && __builtin_add_overflow(base, (int64_t)off, &to))
		rc = -EOVERFLOW;
	if (rc == 0 && to < 0)
		rc = -EINVAL;
	file_end_position(f, rc == 0 ? to : position);
	return rc == 0 ? to : rc;
}

off_t
nfswb_lseek(struct nfswb_file *f, off_t off, int whence)
{
	off_t rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = seek(f, off, whence);
	return error_leave(f ? f->wb : NULL, "nfswb_lseek", rc);
}
