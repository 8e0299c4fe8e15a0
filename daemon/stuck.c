/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stuck.c - a message waits for a ring that can't be drained, because the list
 * is full
 *
 * A list slot comes free when its data is on stable storage.  So the session's
 * files are synced, which also tries once more what FAILED at the server.  If
 * that fails again, the message is told so: fsync must not say more than is
 * true, and not hang either.
 *
 * A close must end.  It gives the failed data of its file up, as the last close
 * does, by closing the handle for another one; that frees slots for what is
 * still in the ring, and so on until the ring is empty and the close itself can
 * be acted on.
 *
 * Nobody is told when the session is gone: then what is left in its ring is
 * given up, and the log says how much.
 */
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

/* Its failed data is given up; what is in the ring needs a handle again. */
static void
round_over(void *arg, int err)
{
	struct session *s = arg;
	struct session_file *sf = s->halted;

	s->halted = NULL;
	if (!s->close_err)
		s->close_err = err;
	if (!s->turn) {			/* after sessions_free */
		session_file_free(sf);
		session_put(s);
		return;
	}
	sf->handle = handle_open(sf->file, s->cred, sf->oflags);
	if (!sf->handle) {
		s->broken = true;
		session_hangup(s, "no memory to close its file");
	}
	session_poke(s);
	session_put(s);
}

static void
close_round(struct session *s, struct session_file *sf)
{
	struct wb_handle *h = sf->handle;

	sf->handle = NULL;
	s->halted = sf;
	handle_close(h, session_now(s), round_over, session_ref(s));
}

/* The session is gone: there is nobody to try it for. */
static void
give_up_ring(struct session *s, int err)
{
	log_error(SESSION_FMT " is gone; %llu writes in its ring are given "
		  "up: %s", SESSION_ARG(s),
		  (unsigned long long)(s->last_head - s->tail),
		  strerror(-err));
	s->blocked = false;
	s->last_head = s->tail;
	session_poke(s);
}

static void
tried(void *arg, int err)
{
	struct session *s = arg;
	struct request *r = TAILQ_FIRST(&s->todo);

	s->retrying = false;
	if (!s->turn || !s->blocked || !err) {
		;				/* room() has told */
	} else if (s->state == SESSION_ENDING) {
		give_up_ring(s, err);
	} else if (r && r->api->type == NFSWB_CLOSE &&
		   session_file(s, request_file(r))) {
		close_round(s, session_file(s, request_file(r)));
	} else if (r) {
		request_withdraw(r, err);
	}
	session_put(s);
}

static bool
is_open_here(void *arg, struct wb_file *file)
{
	return opens_has(arg, file);
}

void
stuck_check(struct session *s)
{
	if (!s->blocked || s->retrying || s->halted ||
	    (s->state != SESSION_ENDING && TAILQ_EMPTY(&s->todo)))
		return;
	s->retrying = true;
	session_ref(s);
	if (wb_sync(s->owner->env.wb, is_open_here, s, session_now(s), tried,
		    s)) {
		s->retrying = false;		/* no memory: at the next turn */
		session_put(s);
	}
}
