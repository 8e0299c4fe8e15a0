/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * api_read.c - READ and READ_PLACE
 *
 *	what the same user wrote here, all of it	from the slab, copied
 *	else: dirty data goes to the server first, then
 *		READ_PLACE	into the session's slab; the reply says where
 *		READ, inline	into the daemon's slab for it, copied
 *		no room there	READ into a buffer of its own, copied
 *
 * A session with shared memory asks by READ only when its place was used anew under
 * its hands; then it gets a buffer of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/request.h"
#include "daemon/session_impl.h"
#include "daemon/writeback/read.h"

_Static_assert(READ_PIECES <= NFSWB_PIECES_MAX, "pieces of a reply");

/* One reply is made at a time; XDR copies it out. */
static unsigned char buffer[NFSWB_DATA_MAX];

static bool
by_place(const struct request *r)
{
	return r->api->type == NFSWB_READ_PLACE;
}

static bool
has_memory(const struct session *s)
{
	return s->memory.control_fd >= 0;
}

/* ---- replies ---- */

static void
end(struct request *r)
{
	r->session->read_bytes -= r->charged;
	r->charged = 0;
}

static void
fail(struct request *r, int err, const char *text)
{
	end(r);
	request_fail(r, err, text);
}

static bool
is_eof(const struct request *r, uint32_t length)
{
	return r->offset + length >= file_size(r->file);
}

static void
reply_data(struct request *r, const void *data, uint32_t length)
{
	char *bytes = (char *)(uintptr_t)data;
	nfswb_res res;

	end(r);
	memset(&res, 0, sizeof res);
	if (by_place(r)) {
		res.nfswb_res_u.read_place.data.data_val = bytes;
		res.nfswb_res_u.read_place.data.data_len = length;
		res.nfswb_res_u.read_place.eof = is_eof(r, length);
	} else {
		res.nfswb_res_u.read.data.data_val = bytes;
		res.nfswb_res_u.read.data.data_len = length;
		res.nfswb_res_u.read.eof = is_eof(r, length);
	}
	request_reply(r, &res);
}

static void
reply_places(struct request *r, const struct read_result *from)
{
	nfswb_piece piece[READ_PIECES];
	nfswb_read_place_res *to;
	nfswb_res res;
	unsigned i;

	end(r);
	memset(&res, 0, sizeof res);
	to = &res.nfswb_res_u.read_place;
	for (i = 0; i < from->nr; i++) {
		piece[i].place = from->piece[i].place;
		piece[i].mark = from->piece[i].mark;
		piece[i].length = from->piece[i].length;
	}
	to->pieces.pieces_val = piece;
	to->pieces.pieces_len = from->nr;
	to->eof = is_eof(r, from->length);
	request_reply(r, &res);
}

/* An inline session's slab is the daemon's own. */
static void
copy(struct request *r, const struct read_result *from)
{
	struct shm_view *v = &r->session->memory.view;
	unsigned char *to = r->data + r->done;
	uint32_t n;
	unsigned i;

	for (i = 0; i < from->nr; i++, to += n) {
		const struct read_piece *p = &from->piece[i];

		n = p->length;
		if (p->place == NFSWB_PLACE_ZEROS) {
			memset(to, 0, n);
			continue;
		}
		memcpy(to, v->data + p->place, n);
		(void)nfswb_mark_took(&v->mark[p->place / NFSWB_CHUNK_BYTES],
				      p->mark, n);
	}
	r->done += from->length;
}

static void read_on(struct request *);

static void
take_result(struct request *r, const struct read_result *from)
{
	if (by_place(r)) {
		reply_places(r, from);
		return;
	}
	copy(r, from);
	if (from->length)
		read_on(r);
	else
		reply_data(r, r->data, (uint32_t)r->done);
}

/* ---- from the server ---- */

static void
came(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct request *r = arg;

	if (err) {
		fail(r, err, text);
	} else if (r->data) {		/* the rest of what is there */
		memcpy(r->data + r->done, a->data, a->length);
		reply_data(r, r->data, (uint32_t)r->done + a->length);
	} else {
		reply_data(r, a->data, a->length);
	}
}

/* Into a buffer of its own. */
static void
read_apart(struct request *r, uint32_t length)
{
	struct session *s = r->session;

	ns_read(s->owner->env.ns, r->file, s->cred, r->offset + r->done,
		length < NFSWB_DATA_MAX ? length : NFSWB_DATA_MAX, came, r);
}

static void
placed(void *arg, int err, const struct read_result *result)
{
	struct request *r = arg;

	r->in_slab = false;
	if (err)
		fail(r, err, NULL);
	else if (session_is_gone(r->session) || !r->session->slab)
		fail(r, -ECANCELED, NULL);
	else
		take_result(r, result);
}

/* Into the slab, where there is room. */
static void
read_placed(struct request *r, uint32_t length)
{
	struct session *s = r->session;
	struct read_result out;
	bool fits = by_place(r) || !has_memory(s);
	int err = -ENOBUFS;

	if (fits && !by_place(r) && !r->data)
		fits = (r->data = malloc(length));
	/* it may have been closed meanwhile */
	r->sf = session_file(s, request_file(r));
	if (s->slab && r->sf && fits)
		err = slab_read(s->slab, r->sf->handle, r->offset + r->done,
				length, r->size, session_now(s), &out, placed,
				r);
	if (err == 1)
		take_result(r, &out);
	else if (err)
		read_apart(r, length);
	else
		r->in_slab = true;
}

/* READ brings all that there is of what was asked for. */
static void
read_on(struct request *r)
{
	if (r->done == r->length || is_eof(r, (uint32_t)r->done))
		reply_data(r, r->data, (uint32_t)r->done);
	else
		read_placed(r, r->length - (uint32_t)r->done);
}

/* How much of the range lay before the end of file, as its users saw it when
   the read came. */
static uint32_t
within_file(const struct request *r, uint32_t length)
{
	if (r->offset >= r->size)
		return 0;
	return r->size - r->offset < length ?
	       (uint32_t)(r->size - r->offset) : length;
}

static void
settled(struct request *r)
{
	uint32_t length = r->length;

	/* what was added meanwhile is not at the server yet */
	if (file_size(r->file) > r->size)
		length = r->length = within_file(r, length);
	if (length)
		read_placed(r, length);
	else
		reply_data(r, NULL, 0);
}

static void
flushed(void *arg, int err)
{
	struct request *r = arg;

	err = request_back(r, err);
	if (err)
		fail(r, err, NULL);
	else
		settled(r);
}

/* ---- what is asked ---- */

static uint32_t
most(const struct request *r)
{
	return by_place(r) ? NFSWB_PLACE_MAX : NFSWB_DATA_MAX;
}

/* All of it, or a reply's fill of it, from what was written here. */
static bool
is_cached(struct request *r, uint32_t want)
{
	return want && file_read_cached(r->file, r->session->cred,
					r->offset, want, buffer);
}

static void
start(struct request *r)
{
	struct session *s = r->session;
	uint32_t part = r->length < NFSWB_DATA_MAX ? r->length :
						     NFSWB_DATA_MAX;
	uint32_t want = within_file(r, part);
	uint64_t last = r->offset + r->length;

	if (!r->length || is_cached(r, want)) {
		reply_data(r, buffer, r->length ? want : 0);
	} else if (file_is_settled(r->file, r->offset, last)) {
		settled(r);
	} else {
		r->in_file = true;
		file_flush_range(r->file, r->offset, r->length, session_now(s),
				 flushed, r);
	}
}

void
api_read(struct request *r)
{
	const nfswb_range_args *a = &r->call.args.nfswb_args_u.read;
	struct session *s = r->session;

	if (!r->sf || (r->sf->oflags & O_ACCMODE) == O_WRONLY) {
		request_end(r, -EBADF);
		return;
	}
	if (a->offset > INT64_MAX) {
		request_end(r, -EINVAL);
		return;
	}
	if (by_place(r) && !has_memory(s)) {
		request_fail(r, -EINVAL, "read: a session without shared "
			     "memory has no places");
		return;
	}
	r->offset = a->offset;
	r->length = a->length < most(r) ? (uint32_t)a->length : most(r);
	if (r->length > INT64_MAX - r->offset)
		r->length = (uint32_t)(INT64_MAX - r->offset);
	/* what the daemon itself may have to hold for it */
	r->charged = r->length < NFSWB_DATA_MAX ? r->length : NFSWB_DATA_MAX;
	s->read_bytes += r->charged;
	r->size = file_size_at_most(r->file);
	start(r);
}
