/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * request.c - a message from its arrival to its reply
 *
 *	come -> todo -> (rings drained) -> act -> … -> reply
 *	             parked: wait for another session's ring
 *
 * Messages begin in the order they came, each only after the ring was drained
 * up to the head read behind it; they end in any order.  Those marked
 * API_ANYTIME wait for nothing: they must get through when a ring can't be
 * drained.
 */
#include "daemon/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/writeback/read.h"

#define TEXT_MAX 4000

static void
request_free(struct request *r)
{
	struct session *s = r->session;

	xdr_free((xdrproc_t)xdr_nfswb_call, &r->call);
	free(r->data);
	if (r->file)
		file_put(r->file);
	free(r);
	session_put(s);
}

/* --- coming in --- */

/* The type, found before anything is allocated: behind id and flags. */
static int
peek_type(const unsigned char *data, size_t len)
{
	if (len < 16)
		return 0;
	return (int)((uint32_t)data[12] << 24 | (uint32_t)data[13] << 16 |
		     (uint32_t)data[14] << 8 | data[15]);
}

static bool
decode(struct nfswb_call *call, const void *data, size_t len)
{
	XDR x;
	bool good;

	xdrmem_create(&x, (char *)(uintptr_t)data, (u_int)len, XDR_DECODE);
	good = xdr_nfswb_call(&x, call) && xdr_getpos(&x) == len;
	xdr_destroy(&x);
	return good;
}

static void
begin(struct request *r)
{
	struct session *s = r->session;

	TAILQ_INSERT_TAIL(&s->under_way, r, link);
	s->under_way_nr++;
	r->begun = true;
	r->api->act(r);
}

int
request_come(struct session *s, const void *data, size_t len,
	     const char **why)
{
	const struct api_entry *api = api_find(peek_type(data, len));
	struct request *r;

	*why = "a message of no known kind";
	if (!api)
		return -EPROTO;
	*why = "a message before HELLO";
	if (!(api->flags & API_FIRST) && s->state == SESSION_NEW)
		return -EPROTO;
	*why = "a second HELLO or RESUME";
	if ((api->flags & API_FIRST) &&
	    (s->state != SESSION_NEW || s->under_way_nr))
		return -EPROTO;
	*why = "a message longer than its kind may be";
	if (len > api->max)
		return -EMSGSIZE;
	user_charge(s->user, api->cost * USER_COST_MESSAGE);
	*why = "out of memory";
	r = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	r->session = session_ref(s);
	*why = "a malformed message";
	if (!decode(&r->call, data, len)) {
		request_free(r);
		return -EPROTO;
	}
	r->api = api;
	r->bytes = len;
	r->came_usec = session_now(s);
	r->until = drain_head(s);
	s->active = true;
	if (api->flags & API_ANYTIME) {
		begin(r);
		return 0;
	}
	TAILQ_INSERT_TAIL(&s->todo, r, link);
	s->todo_bytes += len;
	s->todo_nr++;
	request_pump(s);
	return 0;
}

/* --- waiting for rings --- */

uint32_t
request_file(const struct request *r)
{
	const nfswb_args *a = &r->call.args;

	switch (a->type) {
	case NFSWB_CLOSE:
		return a->nfswb_args_u.close_file;
	case NFSWB_WRITE:
		return a->nfswb_args_u.write.file;
	case NFSWB_READ:
	case NFSWB_READ_PLACE:
		return a->nfswb_args_u.read.file;	/* of one type */
	case NFSWB_FSYNC:
		return a->nfswb_args_u.fsync_file;
	case NFSWB_TRUNCATE:
		return a->nfswb_args_u.truncate.file;
	case NFSWB_FSTAT:
		return a->nfswb_args_u.fstat_file;
	case NFSWB_RESERVE:
		return a->nfswb_args_u.reserve.file;
	default:
		return UINT32_MAX;
	}
}

/* Is all drained that was accepted before it came? */
static bool
ready(struct request *r)
{
	struct session *s = r->session;

	if (drain_to(s, r->until, UINT32_MAX) != DRAIN_DONE)
		return false;
	if (r->api->flags & API_EVERY)
		return opens_drain_every(s->owner);
	if (!(r->api->flags & API_FILE))
		return true;
	r->sf = session_file(s, request_file(r));
	return !r->sf || opens_drain(s->owner, r->sf->file);
}

/* Takes it off what is to be done. */
static void
take_off(struct request *r)
{
	struct session *s = r->session;

	TAILQ_REMOVE(&s->todo, r, link);
	s->todo_bytes -= r->bytes;
	s->todo_nr--;
}

void
request_withdraw(struct request *r, int err)
{
	take_off(r);
	request_fail(r, err, NULL);
}

static void
pump_todo(struct session *s)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&s->todo)) && session_may_act(s) &&
	       !s->writing && ready(r) && !s->hangup) {
		take_off(r);
		if ((r->api->flags & API_FILE) && r->sf)
			r->file = file_ref(r->sf->file);
		begin(r);
	}
}

static void
unpark(struct session *s)
{
	struct request *r, *next;

	for (r = TAILQ_FIRST(&s->parked); r; r = next) {
		next = TAILQ_NEXT(r, link);
		if (!opens_drain(s->owner, r->file))
			continue;
		TAILQ_REMOVE(&s->parked, r, link);
		TAILQ_INSERT_TAIL(&s->under_way, r, link);
		r->go(r);
	}
}

void
request_pump(struct session *s)
{
	unpark(s);
	pump_todo(s);
	io_update(s);
}

void
request_park(struct request *r, void (*go)(struct request *))
{
	struct session *s = r->session;

	r->go = go;
	if (opens_drain(s->owner, r->file)) {
		go(r);
		return;
	}
	TAILQ_REMOVE(&s->under_way, r, link);
	TAILQ_INSERT_TAIL(&s->parked, r, link);
}

/* One that nobody will answer. */
static void
drop(struct session *s, struct request **at)
{
	struct request *r = *at;

	if (!r)
		return;
	*at = NULL;
	if (r->in_file)
		handle_abandon(r->file, r);
	if (r->in_slab && s->slab)
		slab_read_abandon(s->slab, r);
	TAILQ_REMOVE(&s->under_way, r, link);
	s->under_way_nr--;
	request_free(r);
}

void
request_forget(struct session *s)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&s->todo))) {
		TAILQ_REMOVE(&s->todo, r, link);
		request_free(r);
	}
	s->todo_bytes = s->todo_nr = 0;
	while ((r = TAILQ_FIRST(&s->parked))) {
		TAILQ_REMOVE(&s->parked, r, link);
		s->under_way_nr--;
		request_free(r);
	}
	drop(s, &s->writing);
	drop(s, &s->resuming);
}

void
request_abandon(struct session *s)
{
	struct request *r, *next;

	for (r = TAILQ_FIRST(&s->under_way); r; r = next) {
		next = TAILQ_NEXT(r, link);
		if (!r->in_file && !r->in_slab)
			continue;
		if (r->in_file)
			handle_abandon(r->file, r);
		if (r->api->type == NFSWB_CLOSE)
			session_file_free(r->sf);
		drop(s, &r);
	}
}

/* --- replying --- */

static void
leave(struct request *r)
{
	struct session *s = r->session;

	if (r->begun) {
		TAILQ_REMOVE(&s->under_way, r, link);
		s->under_way_nr--;
	}
	s->active = true;
	if (s->fd >= 0)
		session_poke(s);
	request_free(r);
}

static void
answer(struct request *r, struct nfswb_reply *reply, const int fd[2])
{
	struct session *s = r->session;
	struct out *o;
	u_long len;
	XDR x;

	if (s->fd < 0 || s->hangup) {
		leave(r);
		return;
	}
	reply->id = r->call.id;
	len = xdr_sizeof((xdrproc_t)xdr_nfswb_reply, reply);
	o = len && len <= NFSWB_RECORD_MAX ? io_out(len) : NULL;
	if (!o) {
		session_hangup(s, "no memory for a reply");
		leave(r);
		return;
	}
	xdrmem_create(&x, io_out_data(o), (u_int)len, XDR_ENCODE);
	if (xdr_nfswb_reply(&x, reply)) {
		io_send(s, o, fd);
	} else {
		io_drop(o);
		session_hangup(s, "a reply that can't be encoded");
	}
	xdr_destroy(&x);
	leave(r);
}

void
request_reply_fds(struct request *r, nfswb_res *res, const int fd[2])
{
	struct nfswb_reply reply;

	memset(&reply, 0, sizeof reply);
	res->type = r->call.args.type;
	reply.answer.nfswb_answer_u.res = *res;
	answer(r, &reply, fd);
}

void
request_reply(struct request *r, nfswb_res *res)
{
	request_reply_fds(r, res, NULL);
}

void
request_ok(struct request *r)
{
	nfswb_res res;

	memset(&res, 0, sizeof res);
	request_reply(r, &res);
}

const char *
request_subject(const struct request *r)
{
	const nfswb_args *a = &r->call.args;

	if (r->file)
		return file_name(r->file);
	switch (a->type) {
	case NFSWB_OPEN:
		return a->nfswb_args_u.open.target;
	case NFSWB_STAT:
	case NFSWB_LSTAT:
	case NFSWB_UNLINK:
	case NFSWB_RMDIR:
	case NFSWB_READLINK:
	case NFSWB_SYNC:
		return a->nfswb_args_u.stat;	/* all of one type */
	case NFSWB_SETATTR:
		return a->nfswb_args_u.setattr.target;
	case NFSWB_RENAME:
		return a->nfswb_args_u.rename.from;
	case NFSWB_MKDIR:
	case NFSWB_SYMLINK:
		return a->nfswb_args_u.mkdir.target;
	case NFSWB_READDIR:
		return a->nfswb_args_u.readdir.target;
	default:
		return NULL;
	}
}

void
request_fail(struct request *r, int err, const char *text)
{
	struct nfswb_reply reply;
	const char *subject = request_subject(r);
	char buf[TEXT_MAX];

	memset(&reply, 0, sizeof reply);
	if (text)
		snprintf(buf, sizeof buf, "%s", text);
	else if (subject && *subject)
		snprintf(buf, sizeof buf, "%s %.3000s: %s", r->api->name,
			 subject, strerror(-err));
	else
		snprintf(buf, sizeof buf, "%s: %s", r->api->name,
			 strerror(-err));
	reply.answer.error = err < 0 ? -err : EIO;
	reply.answer.nfswb_answer_u.text = buf;
	answer(r, &reply, NULL);
}

int
request_back(struct request *r, int err)
{
	r->in_file = false;
	return !err && session_is_gone(r->session) ? -ECANCELED : err;
}

void
request_end(struct request *r, int err)
{
	if (err)
		request_fail(r, err, NULL);
	else
		request_ok(r);
}
