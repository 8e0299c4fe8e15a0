/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hello.c - how a session begins: whose it is, whether he may have one more,
 * its memory
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "daemon/access.h"
#include "daemon/keep.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

void
session_count(struct session *s, int as)
{
	if (s->counted == COUNT_NEW)
		s->user->new_nr--;
	else if (s->counted == COUNT_SESSION)
		s->user->session_nr--;
	s->counted = as;
	if (as == COUNT_NEW)
		s->user->new_nr++;
	else if (as == COUNT_SESSION)
		s->user->session_nr++;
}

static int
may_begin(const struct session *s)
{
	return s->owner->stopping ? -ESHUTDOWN : user_may_begin(s->user);
}

/* Why there is no session, in words where that helps. */
static void
hello_fail(struct request *r, int err)
{
	const struct user *u = r->session->user;
	char text[160];

	if (err == -EUSERS)
		snprintf(text, sizeof text, "hello: user %u has %u sessions, "
			 "as many as max_sessions allows", (unsigned)u->uid,
			 u->session_nr);
	else if (err == -EDQUOT)
		snprintf(text, sizeof text, "hello: the sessions of user %u "
			 "have the memory that max_slab_bytes allows",
			 (unsigned)u->uid);
	request_fail(r, err, err == -EUSERS || err == -EDQUOT ? text : NULL);
}

static int
make_memory(struct session *s, const nfswb_hello_args *a)
{
	bool plain = a->flags & NFSWB_HELLO_INLINE;
	struct sessions *o = s->owner;
	uint64_t bytes;
	int err;

	bytes = memory_size(o->env.config->slab_bytes, a->slab_bytes,
			    plain ? 0 : s->peer.pid);
	bytes = user_slab_room(s->user, bytes, MEMORY_MIN);
	bytes -= bytes % NFSWB_CHUNK_BYTES;
	if (!bytes)
		return -EDQUOT;
	err = runtime_born(o->runtime, s->peer.pid, s->peer.starttime,
			   s->peer.cred, plain ? 0 : bytes, &s->record);
	if (err)
		return err;
	s->id = s->record->id;
	err = plain ? memory_private(&s->memory, bytes, s->id) :
		      memory_new(&s->memory, bytes, s->id);
	if (!err)
		err = session_make_slab(s);
	if (!err) {
		keep_put(o->env.keep, s->id, &s->memory);
		return 0;
	}
	memory_free(&s->memory);
	runtime_ended(o->runtime, s->record);
	s->record = NULL;
	s->id = 0;
	return err;
}

void
session_hello_reply(struct request *r)
{
	struct session *s = r->session;
	nfswb_hello_res *h;
	nfswb_res res;
	int fd[2];

	memset(&res, 0, sizeof res);
	h = &res.nfswb_res_u.hello;	/* and resume, which is the same */
	h->instance = s->owner->env.instance;
	h->session = s->id;
	memcpy(h->secret, s->record->secret, sizeof h->secret);
	h->data_bytes = s->record->data_bytes;
	fd[0] = s->memory.control_fd;
	fd[1] = s->memory.data_fd;
	request_reply_fds(r, &res, h->data_bytes &&
				   r->api->type == NFSWB_HELLO ? fd : NULL);
}

void
session_hello(struct request *r)
{
	const nfswb_hello_args *a = &r->call.args.nfswb_args_u.hello;
	struct session *s = r->session;
	int err;

	if (s->passed_nr) {
		io_close_passed(s);
		session_hangup(s, "descriptors where none belong");
	}
	if (a->protocol != NFSWB_PROTOCOL) {
		request_fail(r, -EPROTONOSUPPORT, "hello: another version of "
			     "the protocol; the library and nfswbd must be of "
			     "one version");
		return;
	}
	err = may_begin(s);
	if (!err)
		err = make_memory(s, a);
	if (err) {
		hello_fail(r, err);
		return;
	}
	s->state = SESSION_LIVE;
	session_count(s, COUNT_SESSION);
	session_hello_reply(r);
}

/* --- before HELLO --- */

int
session_own(struct session *s)
{
	s->cred = access_cred(s->owner->env.config, s->peer.cred);
	s->user = user_get(s->owner->users, s->peer.cred->uid);
	return s->cred && s->user ? 0 : -ENOMEM;
}

int
session_admit(struct session *s)
{
	int err = session_own(s);

	if (err)
		return err;
	user_charge(s->user, USER_COST_CONNECT);
	return user_may_connect(s->user);
}

/* Told once for each time that a user goes too far. */
void
session_refused(struct session *s, int err)
{
	bool told = s->user && s->user->told;

	if (s->user)
		s->user->told = err == -EUSERS;
	if (err != -EUSERS)
		log_warning("a client was refused: %s", strerror(-err));
	else if (!told)
		log_warning("clients of user %u are refused: %u are connected "
			    "and said no HELLO", (unsigned)s->user->uid,
			    s->user->new_nr);
}
