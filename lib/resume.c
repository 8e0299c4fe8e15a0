/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resume.c - survives the daemon
 *
 *	UP ──lost──> DRAIN ──all claims posted──> DOWN ──connected──> ASKED
 *	 ^                                         ^                   │ │ │
 *	 └───────────────── accepted ──────────────│───────────────────┘ │ │
 *	                                           └────── lost ─────────┘ │
 *	DEAD <───────────────────────── refused ───────────────────────────┘
 *
 * Losing the connection closes all marks, so that no room of the old instance's
 * is claimed any more.  What was claimed before is posted first.  Then the next
 * instance gets the memory: what it finds in list and ring it takes over, all
 * grants are void, and calls without an answer are sent again.
 *
 * The watching thread goes these steps, or without it whoever waits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>

#include "lib/codec.h"
#include "lib/resume.h"
#include "lib/room.h"
#include "lib/session.h"
#include "lib/watch.h"
#include "lib/wire.h"

#define RETRY_FIRST_MSEC 10
#define RETRY_MOST_MSEC 500

/* Whose steps are due takes them. */
static void
link_kick(struct nfswb *wb)
{
	if (wb->flags & NFSWB_NO_THREAD)
		wake(wb, WAKE_LINK);
	else
		watch_kick();
}

static void
retry_later(struct nfswb *wb)
{
	wb->retry_at = clock_now() + (uint64_t)wb->retry_msec * 1000000;
	wb->retry_msec *= 2;
	if (wb->retry_msec > RETRY_MOST_MSEC)
		wb->retry_msec = RETRY_MOST_MSEC;
}

void
link_lost(struct nfswb *wb)
{
	uint32_t i;

	if (wb->link != LINK_UP)
		return;
	wb->link = LINK_DRAIN;
	wb->retry_msec = RETRY_FIRST_MSEC;
	/* who polls it, wakes */
	shutdown(wb->fd, SHUT_RDWR);
	for (i = 0; i < wb->shm.layout.chunk_nr; i++)
		atomic_fetch_or(&wb->shm.mark[i], NFSWB_MARK_CLOSED);
	call_unqueue_all(wb);
	link_kick(wb);
}

void
link_drained(struct nfswb *wb)
{
	if (wb->link == LINK_DRAIN)
		link_kick(wb);
}

static enum link
step_drain(struct nfswb *wb)
{
	if (wb->claim_nr || wb->reader)
		return LINK_DRAIN;
	close(wb->fd);
	wb->fd = -1;
	room_forget_chunks(wb);
	wb->retry_at = 0;
	return LINK_DOWN;
}

/* All the session's files, as the next instance needs to know them. */
static int
list_files(struct nfswb *wb, nfswb_resume_args *args)
{
	const int once = O_CREAT | O_EXCL | O_TRUNC;
	struct nfswb_file *f;
	nfswb_resume_file *r;
	u_int nr = 0;

	LIST_FOREACH(f, &wb->files, link)
		nr++;
	if (nr == 0)
		return 0;
	args->files.files_val = calloc(nr, sizeof *r);
	if (!args->files.files_val)
		return -ENOMEM;
	LIST_FOREACH(f, &wb->files, link) {
		r = &args->files.files_val[args->files.files_len++];
		r->file = f->number;
		memcpy(r->token, f->token, sizeof r->token);
		r->oflags = f->oflags & ~once;
		r->reserved_end = f->reserved_end;
	}
	return 0;
}

static int
begin_resume(struct nfswb *wb)
{
	nfswb_call call = { .id = wb->next_id++,
			    .args.type = NFSWB_RESUME };
	nfswb_resume_args *args = &call.args.nfswb_args_u.resume;
	int rc;

	args->protocol = NFSWB_PROTOCOL;
	args->session = wb->session;
	memcpy(args->secret, wb->secret, sizeof args->secret);
	rc = list_files(wb, args);
	if (rc == 0)
		rc = handshake_begin(&wb->handshake, &wb->address, &call,
				     wb->memory_fd);
	free(args->files.files_val);
	return rc;
}

static enum link
step_down(struct nfswb *wb)
{
	if (clock_now() < wb->retry_at)
		return LINK_DOWN;
	if (begin_resume(wb) == 0)
		return LINK_ASKED;
	retry_later(wb);
	return LINK_DOWN;
}

static enum link
come_up(struct nfswb *wb)
{
	wb->fd = wb->handshake.fd;
	wb->handshake.fd = -1;
	record_reader_reset(&wb->in);
	wb->tail = wb->bell_head =
		atomic_load(&wb->shm.control->tail);
	wb->link = LINK_UP;
	call_resend_all(wb);
	wire_send(wb);
	wire_bell(wb);
	wake(wb, ~0u);
	return wb->link;
}

static enum link
die(struct nfswb *wb, const char *why)
{
	snprintf(wb->dead, sizeof wb->dead, "the session is lost: nfswbd at "
		 "%s refused to take it over: %s", wb->address.sun_path, why);
	wb->link = LINK_DEAD;
	call_fail_all(wb);
	wake(wb, ~0u);
	return LINK_DEAD;
}

/* The answer to a RESUME is in. */
static enum link
take_answer(struct nfswb *wb, const nfswb_answer *answer)
{
	const char *text;

	if (answer->error == 0 &&
	    answer->nfswb_answer_u.res.type == NFSWB_RESUME)
		return come_up(wb);
	if (answer->error == EAGAIN) {
		retry_later(wb);
		return LINK_DOWN;
	}
	text = answer->error ? answer->nfswb_answer_u.text : "";
	if (!text[0])
		text = answer->error > 0 ? strerrordesc_np(answer->error) :
					   NULL;
	return die(wb, text ? text : "its answer makes no sense");
}

static enum link
step_asked(struct nfswb *wb)
{
	nfswb_reply reply;
	enum link next = LINK_DOWN;
	int rc = handshake_step(&wb->handshake, &reply);

	if (rc == 0)
		return LINK_ASKED;
	if (rc == 1) {
		next = take_answer(wb, &reply.answer);
		codec_free(&reply);
	} else if (rc == -EPROTO) {
		next = die(wb, "its answer makes no sense");
	} else {
		retry_later(wb);
	}
	handshake_end(&wb->handshake);
	return next;
}

void
link_resume(struct nfswb *wb)
{
	static enum link (*const step[])(struct nfswb *) = {
		[LINK_DRAIN] = step_drain,
		[LINK_DOWN] = step_down,
		[LINK_ASKED] = step_asked,
	};
	enum link next;

	while (wb->link != LINK_UP && wb->link != LINK_DEAD) {
		next = step[wb->link](wb);
		if (next == wb->link)
			return;
		wb->link = next;
	}
}

bool
link_needs_reader(const struct nfswb *wb)
{
	if (wb->link == LINK_UP)
		return true;
	if (!(wb->flags & NFSWB_NO_THREAD) || wb->link == LINK_DEAD)
		return false;
	return wb->link != LINK_DRAIN || wb->claim_nr == 0;
}

void
link_poll(struct nfswb *wb, struct pollfd *p, uint64_t *until)
{
	p->fd = -1;
	p->events = 0;
	p->revents = 0;
	switch (wb->link) {
	case LINK_UP:
		p->fd = wb->fd;
		p->events = POLLIN;
		if (!TAILQ_EMPTY(&wb->out))
			p->events |= POLLOUT;
		break;
	case LINK_DRAIN:
		if (wb->flags & NFSWB_NO_THREAD && !wb->claim_nr)
			*until = 0;
		break;
	case LINK_DOWN:
		if (*until > wb->retry_at)
			*until = wb->retry_at;
		break;
	case LINK_ASKED:
		p->fd = wb->handshake.fd;
		p->events = handshake_events(&wb->handshake);
		break;
	case LINK_DEAD:
		break;
	}
}

void
link_step(struct nfswb *wb)
{
	if (wb->link == LINK_UP) {
		wire_send(wb);
		wire_receive(wb);
	} else if (wb->flags & NFSWB_NO_THREAD) {
		link_resume(wb);
	} else if (wb->link == LINK_DRAIN) {
		/* this was the reader, which the watching thread waits for */
		link_kick(wb);
	}
}
