/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * api_file.c - what messages mean that are about an open file
 *
 * The rings of all who have the file open were drained before any of these is
 * called.  Whatever is asked for answers later, perhaps when the session is
 * gone: a request keeps what it needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/request.h"
#include "daemon/session_impl.h"

/* What a handle keeps of the flags of its open. */
#define KEPT_OFLAGS (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC)

static bool
may_write(const struct session_file *sf)
{
	return (sf->oflags & O_ACCMODE) != O_RDONLY;
}

static void
ended(void *arg, int err)
{
	struct request *r = arg;

	r->in_file = false;
	request_end(r, err);
}

/* --- open --- */

/* createverf3: the same when the same call is asked again of the next
   instance, another for every other call. */
static uint64_t
verifier(const struct request *r)
{
	const unsigned char *secret = r->session->record->secret;
	uint64_t h = 0xcbf29ce484222325u ^ r->call.id;
	int i;

	for (i = 0; i < RUNTIME_SECRET; i++)
		h = (h ^ secret[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

static void
open_reply(struct request *r)
{
	nfswb_open_res *o;
	nfswb_res res;

	memset(&res, 0, sizeof res);
	o = &res.nfswb_res_u.open;
	o->file = r->sf->number;
	memcpy(o->token, r->sf->record->token, sizeof o->token);
	o->attr = r->attr;
	o->attr.size = file_size(r->file);
	o->max_size = file_max_size(r->file);
	request_reply(r, &res);
}

/* Written down before the client hears of it. */
static int
record(struct request *r, struct session_file *sf, int oflags)
{
	struct session *s = r->session;
	struct sessions *o = s->owner;
	char *description = ns_describe(o->env.ns, sf->file);
	int err = -ENOMEM;

	if (description)
		err = runtime_opened(o->runtime, s->record, sf->number, oflags,
				     description, &sf->record);
	free(description);
	return err;
}

static void
opened(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct request *r = arg;
	struct session *s = r->session;
	int oflags = r->call.args.nfswb_args_u.open.oflags & KEPT_OFLAGS;
	struct session_file *sf;

	if (!err && session_is_gone(s))
		err = -ECANCELED;
	if (err) {
		request_fail(r, err, text);
		return;
	}
	sf = session_file_new(s, UINT32_MAX, a->file, oflags, &err);
	if (!sf) {
		request_fail(r, err, NULL);
		return;
	}
	err = record(r, sf, oflags);
	if (err) {
		handle_close(session_file_shut(sf), session_now(s), NULL,
			     NULL);
		session_file_free(sf);
		request_fail(r, err, NULL);
		return;
	}
	r->sf = sf;
	r->file = file_ref(a->file);
	r->attr = a->attr;
	request_park(r, open_reply);
}

static void
too_many_files(struct request *r)
{
	const struct user *u = r->session->user;
	char text[3200];

	snprintf(text, sizeof text, "open %.3000s: user %u has %u files open, "
		 "as many as max_files allows", request_subject(r),
		 (unsigned)u->uid, u->file_nr);
	request_fail(r, -EMFILE, text);
}

void
api_open(struct request *r)
{
	const nfswb_open_args *a = &r->call.args.nfswb_args_u.open;
	struct session *s = r->session;
	int err = user_may_open(s->user);

	if (!err && s->file_nr >= NFSWB_FILES_MAX)
		err = -EMFILE;
	if (!err && (a->oflags & O_ACCMODE) == O_ACCMODE)
		err = -EINVAL;
	if (err == -EMFILE && user_may_open(s->user))
		too_many_files(r);
	else if (err)
		request_fail(r, err, NULL);
	else
		ns_open(s->owner->env.ns, a->target, s->cred, a->oflags,
			a->mode & 07777, verifier(r), opened, r);
}

/* --- close, fsync, truncate, reserve, fstat --- */

/* Answered first, struck after: killed in between, the next instance closes
   once more what was closed; the other way round it could not know it. */
static void
closed(void *arg, int err)
{
	struct request *r = arg;
	struct session *s = session_ref(r->session);
	struct session_file *sf = r->sf;

	r->in_file = false;
	request_end(r, r->close_err ? r->close_err : err);
	session_file_free(sf);
	session_put(s);
}

void
api_close(struct request *r)
{
	struct session *s = r->session;

	if (!r->sf) {	/* asked again: it was closed, the answer was lost */
		request_end(r, r->call.flags & NFSWB_AGAIN ? 0 : -EBADF);
		return;
	}
	r->close_err = s->close_err;
	s->close_err = 0;
	r->in_file = true;
	handle_close(session_file_shut(r->sf), session_now(s), closed, r);
}

void
api_fsync(struct request *r)
{
	if (!r->sf) {
		request_end(r, -EBADF);
		return;
	}
	r->in_file = true;
	handle_fsync(r->sf->handle, session_now(r->session), ended, r);
}

void
api_truncate(struct request *r)
{
	uint64_t size = r->call.args.nfswb_args_u.truncate.length;

	if (!r->sf) {
		request_end(r, -EBADF);
	} else if (!may_write(r->sf) || size > INT64_MAX) {
		request_end(r, -EINVAL);
	} else if (size > file_max_size(r->file)) {
		request_end(r, -EFBIG);
	} else {
		r->in_file = true;
		handle_truncate(r->sf->handle, size, session_now(r->session),
				ended, r);
	}
}

/* Its session may have ended, or closed the file. */
static void
reserve_again(void *arg, int err)
{
	struct request *r = arg;

	err = request_back(r, err);
	if (err) {
		request_end(r, err);
		return;
	}
	r->sf = session_file(r->session, request_file(r));
	api_reserve(r);
}

void
api_reserve(struct request *r)
{
	uint64_t length = r->call.args.nfswb_args_u.reserve.length;
	int64_t start;
	nfswb_res res;

	if (!r->sf || !may_write(r->sf)) {
		request_end(r, -EBADF);
		return;
	}
	start = handle_reserve(r->sf->handle, length);
	if (start == -EAGAIN) {
		r->in_file = true;
		file_when_cut(r->file, session_now(r->session), reserve_again,
			      r);
		return;
	}
	if (start < 0) {
		request_end(r, (int)start);
		return;
	}
	memset(&res, 0, sizeof res);
	res.nfswb_res_u.reserved = (uint64_t)start;
	request_reply(r, &res);
}

static void
attributes(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct request *r = arg;
	nfswb_res res;

	if (err) {
		request_fail(r, err, text);
		return;
	}
	memset(&res, 0, sizeof res);
	res.nfswb_res_u.fstat = a->attr;
	res.nfswb_res_u.fstat.size = file_size(r->file);
	request_reply(r, &res);
}

void
api_fstat(struct request *r)
{
	struct session *s = r->session;

	if (!r->sf)
		request_end(r, -EBADF);
	else
		ns_getattr(s->owner->env.ns, r->file, s->cred, attributes,
			   r);
}
