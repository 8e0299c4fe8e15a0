/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call.c - calls under way
 *
 *	call_run ── calls, out ──> wire ──> calls ── answer ──> its waiter
 *
 * A caller that gives up leaves its call behind, abandoned: the record may be
 * half sent, and the answer may matter (an open file must be closed again).
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/session.h"
#include "lib/wire.h"

static struct call *
call_new(const struct ask *ask)
{
	nfswb_call message = { .args = ask->args };
	struct call *c = calloc(1, sizeof *c);
	int err;

	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	err = codec_encode(&message, &c->record, &c->length);
	if (err < 0) {
		free(c);
		errno = -err;
		return NULL;
	}
	c->type = ask->args.type;
	c->file = ask->file;
	c->ask_length = ask->length;
	c->apply = ask->apply;
	c->keep = ask->keep;
	return c;
}

static void
call_free(struct call *c)
{
	free(c->record);
	free(c->answer);
	free(c);
}

static void
call_queue(struct nfswb *wb, struct call *c)
{
	TAILQ_INSERT_TAIL(&wb->out, c, out_link);
	c->in_out = true;
}

static void
call_start(struct nfswb *wb, struct call *c)
{
	c->id = wb->next_id++;
	codec_put64(c->record + CODEC_ID_AT, c->id);
	TAILQ_INSERT_TAIL(&wb->calls, c, link);
	if (wb->link == LINK_UP) {
		call_queue(wb, c);
		wire_send(wb);
	}
}

static void
call_unqueue(struct nfswb *wb, struct call *c)
{
	if (c->in_out)
		TAILQ_REMOVE(&wb->out, c, out_link);
	c->in_out = false;
}

void
call_sent(struct nfswb *wb, struct call *c)
{
	call_unqueue(wb, c);
}

/* Out of all lists; its caller frees it, or nobody is left to. */
static void
call_end(struct nfswb *wb, struct call *c, const nfswb_reply *reply)
{
	TAILQ_REMOVE(&wb->calls, c, link);
	call_unqueue(wb, c);
	c->done = true;
	if (c->apply)
		c->apply(wb, c, reply);
	if (c->abandoned)
		call_free(c);
	else
		wake_waiter(wb, c->waiter);
}

void
call_answer(struct nfswb *wb, unsigned char *record, size_t length)
{
	uint64_t id = codec_get64(record);
	nfswb_reply reply;
	struct call *c;
	bool good = true;

	TAILQ_FOREACH(c, &wb->calls, link)
		if (c->id == id && !c->in_out)
			break;
	if (!c) {
		free(record);
		return;
	}
	if (c->apply)
		good = codec_decode(record, length, &reply) == 0;
	c->answer = record;
	c->answer_length = length;
	if (!c->apply) {
		call_end(wb, c, NULL);
	} else {
		call_end(wb, c, good ? &reply : NULL);
		if (good)
			codec_free(&reply);
	}
}

void
call_unqueue_all(struct nfswb *wb)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&wb->out)))
		call_unqueue(wb, c);
}

void
call_resend_all(struct nfswb *wb)
{
	struct call *c, *next;

	for (c = TAILQ_FIRST(&wb->calls); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->abandoned && !c->keep) {
			call_end(wb, c, NULL);
			continue;
		}
		if (c->sent)
			codec_put32(c->record + CODEC_FLAGS_AT, NFSWB_AGAIN);
		c->sent = 0;
		call_queue(wb, c);
	}
}

void
call_fail_all(struct nfswb *wb)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&wb->calls)))
		call_end(wb, c, NULL);
}

void
call_forget_file(struct nfswb *wb, struct nfswb_file *f)
{
	struct call *c;

	TAILQ_FOREACH(c, &wb->calls, link)
		if (c->file == f)
			c->file = NULL;
}

/* The caller's time is over. */
static void
call_abandon(struct nfswb *wb, struct call *c)
{
	c->waiter = NULL;
	c->abandoned = true;
	if (c->sent == 0 && !c->keep)
		call_end(wb, c, NULL);
}

void
call_post(struct nfswb *wb, const struct ask *ask)
{
	struct call *c = call_new(ask);

	if (!c)
		return;
	c->abandoned = true;
	if (wb->link == LINK_DEAD)
		call_free(c);
	else
		call_start(wb, c);
}

/* Waits with the lock; 0 when done. */
static int
call_wait(struct nfswb *wb, struct call *c, uint64_t deadline)
{
	struct waiter w;
	int rc = 0;

	c->waiter = &w;
	wait_begin(wb, &w, 0);
	call_start(wb, c);
	while (!c->done && !(rc = wait_more(wb, &w, deadline)))
		;
	wait_end(wb, &w);
	return c->done ? 0 : rc;
}

static int
dead(struct nfswb *wb)
{
	error_cause("%s", wb->dead);
	return -ESTALE;
}

/* Of the answer: the daemon's refusal, or a reply of the right kind. */
static int
call_result(struct call *c, nfswb_reply *reply)
{
	int err = codec_decode(c->answer, c->answer_length, reply);

	if (err == 0 && reply->answer.error > 0) {
		err = -reply->answer.error;
		if (reply->answer.nfswb_answer_u.text[0])
			error_cause("%s", reply->answer.nfswb_answer_u.text);
		codec_free(reply);
		return err;
	}
	if (err == 0 && (reply->answer.error < 0 ||
		   reply->answer.nfswb_answer_u.res.type != c->type)) {
		codec_free(reply);
		err = -EPROTO;
	}
	if (err == -EPROTO)
		error_cause("nfswbd's answer makes no sense");
	return err;
}

/* No memory for the call, or it is too long: apply hears of it all the same. */
static void
not_asked(struct nfswb *wb, const struct ask *ask)
{
	struct call none = { .type = ask->args.type, .file = ask->file };

	if (!ask->apply)
		return;
	session_lock(wb);
	ask->apply(wb, &none, NULL);
	session_unlock(wb);
}

int
call_run(struct nfswb *wb, const struct ask *ask, nfswb_reply *reply)
{
	struct call *c = call_new(ask);
	int rc;

	if (!c) {
		rc = -errno;
		not_asked(wb, ask);
		return rc;
	}
	session_lock(wb);
	if (wb->link == LINK_DEAD) {
		rc = dead(wb);
		if (c->apply)
			c->apply(wb, c, NULL);
		call_free(c);
		session_unlock(wb);
		return rc;
	}
	rc = call_wait(wb, c, ask->deadline);
	if (rc < 0) {
		call_abandon(wb, c);
		session_unlock(wb);
		return rc;
	}
	if (!c->answer)
		rc = dead(wb);
	session_unlock(wb);
	if (rc == 0)
		rc = call_result(c, reply);
	call_free(c);
	return rc;
}

int
call_plain(struct nfswb *wb, const struct ask *ask)
{
	nfswb_reply reply;
	int rc = call_run(wb, ask, &reply);

	if (rc == 0)
		codec_free(&reply);
	return rc;
}
