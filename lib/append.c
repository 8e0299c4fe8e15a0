/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * append.c - O_APPEND: every record whole, wherever the file ends
 *
 * A record that fits the room of one chunk is one entry of the ring, and the
 * daemon says where it lies.  A small one waits for such room.  For a larger one
 * the daemon first sets a range aside, then its pieces are plain writes; one
 * such append at a time per file, since a RESUME tells of one range only.
 */
#include <errno.h>

#include "lib/codec.h"
#include "lib/post.h"
#include "lib/session.h"
#include "lib/write.h"

#define SMALL_MAX 4096u		/* a grant is 4 KiB at least */

/* Bytes, -EAGAIN where no chunk has the room, -errno. */
static ssize_t
append_entry(struct nfswb *wb, struct nfswb_file *f, struct source *from,
	     size_t len, uint64_t deadline)
{
	struct need need = { .bytes = len, .whole = true,
			     .no_wait = len > SMALL_MAX };
	struct claim c;
	int rc;

	rc = room_claim(wb, f, &need, deadline, &c);
	if (rc < 0)
		return rc;
	room_follow(f, f->next, len);
	post_claimed(wb, f, &c, from, 0, NFSWB_RING_APPEND);
	rc = post_wait_shared(wb, f, deadline);
	return rc == -ESTALE ? rc : (ssize_t)len;
}

/* The daemon set the range aside: a RESUME must say so until it is filled. */
static void
reserved(struct nfswb *wb, struct call *c, const nfswb_reply *reply)
{
	(void)wb;
	if (c->file && !c->abandoned && reply && reply->answer.error == 0)
		c->file->reserved_end =
			reply->answer.nfswb_answer_u.res.nfswb_res_u.reserved +
			c->ask_length;
}

static int
reserve(struct nfswb *wb, struct nfswb_file *f, size_t len, uint64_t deadline,
	uint64_t *start)
{
	struct ask ask = {
		.args.type = NFSWB_RESERVE, .deadline = deadline,
		.file = f, .length = len, .apply = reserved,
	};
	nfswb_range_args *args = &ask.args.nfswb_args_u.reserve;
	nfswb_reply reply;
	int rc;

	args->file = f->number;
	args->length = len;
	rc = call_run(wb, &ask, &reply);
	if (rc < 0)
		return rc;
	*start = reply.answer.nfswb_answer_u.res.nfswb_res_u.reserved;
	codec_free(&reply);
	return *start > (uint64_t)INT64_MAX - len ? -EFBIG : 0;
}

static ssize_t
append_reserved(struct nfswb *wb, struct nfswb_file *f, struct source *from,
		size_t len, uint64_t deadline)
{
	uint64_t start = 0;
	ssize_t rc = turn_take(wb, &f->appending, deadline);

	if (rc < 0)
		return rc;
	session_unlock(wb);
	rc = reserve(wb, f, len, deadline, &start);
	session_lock(wb);
	if (rc == 0)
		rc = write_pieces(wb, f, from, len, start, deadline);
	f->reserved_end = 0;
	turn_end(wb, &f->appending);
	return rc;
}

ssize_t
append_record(struct nfswb *wb, struct nfswb_file *f, struct source *from,
	      size_t len, uint64_t deadline)
{
	ssize_t rc = -EAGAIN;

	session_lock(wb);
	if (len <= NFSWB_CHUNK_BYTES)
		rc = append_entry(wb, f, from, len, deadline);
	if (rc == -EAGAIN)
		rc = append_reserved(wb, f, from, len, deadline);
	session_unlock(wb);
	return rc;
}
