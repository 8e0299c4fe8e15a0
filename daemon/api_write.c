/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * api_write.c - WRITE: data that comes in the message
 *
 * Copied into the session's slab piece by piece as room comes, and answered
 * when the whole of it is there.  While one waits for room nothing further is
 * read from its session: that is how such a writer is held back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "daemon/request.h"
#include "daemon/session_impl.h"

static const nfswb_write_args *
args(const struct request *r)
{
	return &r->call.args.nfswb_args_u.write;
}

static void
reply(struct request *r)
{
	nfswb_res res;

	memset(&res, 0, sizeof res);
	res.nfswb_res_u.written = (u_int)r->done;
	request_reply(r, &res);
}

/* An O_SYNC file: the data is where it has to be. */
static void
synced(void *arg, int err)
{
	struct request *r = arg;

	r->in_file = false;
	if (err)
		request_fail(r, err, NULL);
	else
		reply(r);
}

/* What was taken counts; the failure comes with the next call. */
static void
finish(struct session *s, int err)
{
	struct request *r = s->writing;

	s->writing = NULL;
	if (err && !r->done)
		request_fail(r, err, NULL);
	else if (!err && r->sf->oflags & O_DSYNC) {
		r->in_file = true;
		handle_fsync(r->sf->handle, session_now(s), synced, r);
	} else
		reply(r);
	session_poke(s);
}

static void
retried(void *arg, int err)
{
	struct session *s = arg;

	s->retrying = false;
	if (err && s->writing)
		finish(s, err);
	session_put(s);
}

/* Room is short because of data that failed: it is tried once more. */
static void
retry_failed(struct session *s)
{
	struct slab_usage u;

	if (s->retrying)
		return;
	slab_usage(s->slab, session_now(s), &u);
	if (!u.failed || u.waiting == WAIT_PACE)
		return;
	s->retrying = true;
	slab_retry_failed(s->slab, session_now(s), retried, session_ref(s));
}

void
api_write_more(struct session *s)
{
	struct request *r = s->writing;
	int64_t n;

	if (!r || r->in_file)
		return;
	n = 1;
	while (n > 0 && r->done < args(r)->data.data_len) {
		n = slab_write(s->slab, r->sf->handle,
			       args(r)->data.data_val + r->done,
			       args(r)->data.data_len - r->done,
			       r->offset + r->done, session_now(s));
		if (n > 0)
			r->done += (uint64_t)n;
	}
	if (n < 0)
		finish(s, (int)n);
	else if (n > 0)
		finish(s, 0);
	else
		retry_failed(s);
}

static void place_append(struct request *);

static void
end_is_known(void *arg, int err)
{
	struct request *r = arg;
	struct session *s = r->session;

	err = request_back(r, err);
	if (err)
		finish(s, err);
	else
		place_append(r);
}

/* At the end of the file, which is not known while a size is being set. */
static void
place_append(struct request *r)
{
	struct session *s = r->session;
	int64_t start = handle_reserve(r->sf->handle, args(r)->data.data_len);

	if (start == -EAGAIN) {
		r->in_file = true;
		file_when_cut(r->file, session_now(s), end_is_known, r);
	} else if (start < 0) {
		finish(s, (int)start);
	} else {
		r->offset = (uint64_t)start;
		api_write_more(s);
	}
}

void
api_write(struct request *r)
{
	struct session *s = r->session;
	uint32_t length = args(r)->data.data_len;
	uint64_t max = r->file ? file_max_size(r->file) : 0;

	if (!r->sf ||
	    (r->sf->oflags & O_ACCMODE) == O_RDONLY) {
		request_end(r, -EBADF);
		return;
	}
	if (s->memory.control_fd >= 0) {
		request_fail(r, -EINVAL, "write: a session with shared memory "
			     "writes there");
		return;
	}
	if (!length) {
		reply(r);
		return;
	}
	if (r->sf->oflags & O_APPEND) {
		s->writing = r;
		place_append(r);
		return;
	}
	if (args(r)->offset > max || length > max - args(r)->offset) {
		request_end(r, -EFBIG);
		return;
	}
	r->offset = args(r)->offset;
	s->writing = r;
	api_write_more(s);
}
