/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call.h - one question to the daemon and its answer
 *
 *	nfswb_reply reply;
 *	rc = call_run(wb, &(struct ask){ .args = …, .deadline = … }, &reply);
 *	if (rc == 0) { … reply.answer.nfswb_answer_u.res … codec_free(&reply); }
 *
 * A call that waits when the daemon dies is sent again to the next instance,
 * under the same id and marked as such.
 */
#ifndef NFSWB_LIB_CALL_H
#define NFSWB_LIB_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "include/nfswb_prot.h"

struct nfswb;
struct nfswb_file;
struct call;

/*
 * Runs under the lock the moment the answer is in, whether or not anybody
 * still waits (c->abandoned), so that a RESUME right after knows of it.  NULL:
 * there will be no answer to it.
 */
typedef void call_apply_fn(struct nfswb *, struct call *, const nfswb_reply *);

struct ask {
	nfswb_args args;
	uint64_t deadline;
	struct nfswb_file *file;	/* apply's; NULL once that was freed */
	uint64_t length;		/* apply's, too */
	call_apply_fn *apply;
	bool keep;			/* sent on, and again, even when nobody
					   waits any more */
};

struct call {
	TAILQ_ENTRY(call) link, out_link;
	uint64_t id;
	nfswb_type type;
	unsigned char *record;
	size_t length, sent;
	bool in_out;			/* in wb->out */
	bool abandoned;			/* its caller has gone */
	bool done;
	struct nfswb_file *file;
	uint64_t ask_length;
	call_apply_fn *apply;
	bool keep;
	struct waiter *waiter;
	unsigned char *answer;		/* a record, not decoded yet */
	size_t answer_length;
};

/* Without the lock.  0 with a reply to free, or -errno. */
int call_run(struct nfswb *, const struct ask *, nfswb_reply *);
/* The same for an answer that holds nothing. */
int call_plain(struct nfswb *, const struct ask *);
/* With the lock: sends it, waits for nothing. */
void call_post(struct nfswb *, const struct ask *);

/* For the rest of the library, with the lock: */
void call_sent(struct nfswb *, struct call *);
/* record, 8 bytes at least, is taken over */
void call_answer(struct nfswb *, unsigned char *record, size_t length);
void call_unqueue_all(struct nfswb *);		/* the connection is lost */
void call_resend_all(struct nfswb *);		/* and is back */
void call_fail_all(struct nfswb *);		/* and never comes back */
void call_forget_file(struct nfswb *, struct nfswb_file *);

#endif
