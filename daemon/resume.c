/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resume.c - the sessions of an instance that died come back
 *
 *	expected --RESUME--> RESUMING --import--> LIVE, ring drained --> answered
 *	    |                   ^
 *	    |                   |-- its memory was kept for us
 *	    \-- its process ended: its data is gone, if the memory is
 *
 * The table of tokens says who was there.  Until all of those have come back or
 * ended, or grace has passed, nobody's messages are acted on and no ring is
 * drained.  Then the entries of all lists join their files in the order the old
 * instance gave them, the rings follow, and life goes on.
 *
 * Who comes later than grace is imported alone: late is better than lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/keep.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

#define AGAIN_USEC 10000

struct expected {
	LIST_ENTRY(expected) link;
	struct resume *resume;
	struct runtime_session *record;
	int pidfd;
	struct loop_watch *death;
};

struct resume {
	struct sessions *owner;
	LIST_HEAD(, expected) expected;
	struct loop_timer *grace, *again;
	bool grace_over, imported;
	bool unhidden;			/* hidden names were restored */
};

/* --- who is expected --- */

static void
forget(struct expected *e)
{
	LIST_REMOVE(e, link);
	loop_watch_free(e->resume->owner->env.loop, e->death);
	if (e->pidfd >= 0)
		close(e->pidfd);
	free(e);
}

static void
lost(struct sessions *o, struct runtime_session *record)
{
	if (!LIST_EMPTY(&record->files))
		log_warning("session %" PRIu64 " of pid %d ended while no "
			    "nfswbd ran; what it had not written back is gone",
			    record->id, (int)record->pid);
	runtime_ended(o->runtime, record);
}

/* Its client is dead, but its memory was kept: it is imported as the others are,
   and then ends as if the client had died now. */
static int
come_back(struct sessions *o, struct runtime_session *record,
	  struct memory *m)
{
	struct session *s = session_come_back(o, record);
	int err;

	if (!s) {
		memory_free(m);
		return -ENOMEM;
	}
	s->memory = *m;
	log_info(SESSION_FMT ": its memory was kept; nfswbd finishes its work",
		 SESSION_ARG(s));
	err = takeover_begin(s, NULL);
	if (err == -ENOMEM) {
		session_give_back(s);
		return err;
	}
	if (err) {
		s->broken = true;
		log_error(SESSION_FMT ": what it had not written back is lost: "
			  "its list is not ours", SESSION_ARG(s));
	}
	return 0;
}

static int
ended(struct sessions *o, struct runtime_session *record)
{
	struct keep *keep = o->env.keep;
	struct memory m;
	const char *why;
	int err;

	if (!keep_has(keep, record->id, record->data_bytes)) {
		lost(o, record);
		return 0;
	}
	err = keep_adopt(keep, record->id, record->data_bytes, &m, &why);
	if (!err)
		err = come_back(o, record, &m);
	else if (err != -ENOMEM) {
		log_warning("memory that was kept for session %" PRIu64
			    " is refused: %s", record->id, why);
		keep_drop(keep, record->id);
		lost(o, record);
		err = 0;
	}
	return err;
}

/* One without open files has nothing that anybody must wait for. */
static unsigned
waited_for(const struct resume *re)
{
	const struct expected *e;
	unsigned nr = 0;

	LIST_FOREACH(e, &re->expected, link)
		nr += !LIST_EMPTY(&e->record->files);
	return nr;
}

/* Hidden names are removed when nobody has their file open; so all who may have
   must be back, or gone. */
static void
restore_hidden(struct sessions *o)
{
	struct runtime_hidden *h, *next;

	if (o->resume->unhidden || o->importing || waited_for(o->resume))
		return;
	o->resume->unhidden = true;
	for (h = LIST_FIRST(runtime_hidden_list(o->runtime)); h; h = next) {
		next = LIST_NEXT(h, link);
		if (ns_restore_hidden(o->env.ns, h->description, h->id))
			continue;
		log_warning("a hidden name on a server can't be removed: %s",
			    h->description);
		runtime_unhide(o->runtime, h->id);
	}
}

static void
died(void *arg, int fd, unsigned events)
{
	struct expected *e = arg;
	struct sessions *o = e->resume->owner;
	struct runtime_session *record = e->record;

	(void)fd;
	(void)events;
	forget(e);
	if (ended(o, record))
		log_error("out of memory; what was kept of session %" PRIu64
			  " waits for the next nfswbd", record->id);
	resume_check(o);
}

static int
expect(struct resume *re, struct runtime_session *record)
{
	struct loop *l = re->owner->env.loop;
	struct expected *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	e->resume = re;
	e->record = record;
	LIST_INSERT_HEAD(&re->expected, e, link);
	e->pidfd = peer_pidfd(record->pid);
	if (e->pidfd >= 0)
		e->death = loop_watch(l, e->pidfd, LOOP_READ, died, e);
	return e->pidfd < 0 || e->death ? 0 : -ENOMEM;
}

static void
grace_over(void *arg)
{
	struct resume *re = arg;
	unsigned nr = waited_for(re);

	if (nr)
		log_warning("%u session%s did not come back within %u s; "
			    "going on without", nr, nr == 1 ? "" : "s",
			    re->owner->env.config->grace_sec);
	re->grace_over = true;
	resume_check(re->owner);
}

static void
try_again(void *arg)
{
	struct resume *re = arg;

	resume_check(re->owner);
}

/* Session by session: its process lives, or it does not. */
static int
look_for_all(struct sessions *o)
{
	struct runtime_session *s, *next;
	int err = 0;

	for (s = LIST_FIRST(runtime_list(o->runtime)); s && !err; s = next) {
		next = LIST_NEXT(s, link);
		if (s->starttime && peer_starttime(s->pid) == s->starttime)
			err = expect(o->resume, s);
		else
			err = ended(o, s);
	}
	return err;
}

static bool
is_known(void *arg, uint64_t session)
{
	struct sessions *o = arg;
	const struct expected *e;

	LIST_FOREACH(e, &o->resume->expected, link)
		if (e->record->id == session)
			return true;
	return false;
}

int
resume_new(struct sessions *o)
{
	struct resume *re = calloc(1, sizeof *re);

	if (!re)
		return -ENOMEM;
	re->owner = o;
	o->resume = re;
	LIST_INIT(&re->expected);
	re->grace = loop_timer(o->env.loop, grace_over, re);
	re->again = loop_timer(o->env.loop, try_again, re);
	if (!re->grace || !re->again)
		return -ENOMEM;
	if (look_for_all(o))
		return -ENOMEM;
	keep_refuse_rest(o->env.keep, is_known, o);
	o->importing = waited_for(re) || !TAILQ_EMPTY(&o->list);
	if (!o->importing)
		restore_hidden(o);
	if (!waited_for(re))
		return 0;
	loop_timer_set(o->env.loop, re->grace,
		       (uint64_t)o->env.config->grace_sec * 1000000);
	log_info("waiting for %u session%s of an earlier instance",
		 waited_for(re), waited_for(re) == 1 ? "" : "s");
	return 0;
}

void
resume_now(struct sessions *o)
{
	o->resume->grace_over = true;
	resume_check(o);
}

void
resume_free(struct sessions *o)
{
	struct resume *re = o->resume;
	struct expected *e;

	if (!re)
		return;
	while ((e = LIST_FIRST(&re->expected)))
		forget(e);
	loop_timer_free(o->env.loop, re->grace);
	loop_timer_free(o->env.loop, re->again);
	free(re);
	o->resume = NULL;
}

/* --- RESUME --- */

static struct expected *
find(struct resume *re, const nfswb_resume_args *a, uid_t uid)
{
	struct expected *e;

	LIST_FOREACH(e, &re->expected, link)
		if (e->record->id == a->session &&
		    runtime_same(e->record->secret, a->secret) &&
		    e->record->cred->uid == uid)
			return e;
	return NULL;
}

static int
take_memory(struct session *s, const struct runtime_session *record,
	    bool *kept, const char **why)
{
	uint64_t size = s->owner->env.config->slab_bytes;
	struct keep *keep = s->owner->env.keep;
	int err;

	*why = "out of memory";
	*kept = false;
	if (!record->data_bytes)
		return memory_private(&s->memory, memory_size(size, 0, 0),
				      record->id);
	*why = "its two descriptors did not come along";
	if (s->passed_nr != 2)
		return -EPROTO;
	*kept = keep_has(keep, record->id, record->data_bytes);
	if (*kept) {
		*why = "these are not the memory files that it was given";
		if (!keep_is(keep, record->id, s->passed[0], s->passed[1]))
			return -EPERM;
		return keep_adopt(keep, record->id, record->data_bytes,
				  &s->memory, why);
	}
	err = memory_adopt(&s->memory, s->passed[0], s->passed[1],
			   record->data_bytes, why);
	if (err)
		return err;
	s->passed_nr = 0;	/* the memory's now */
	return 0;
}

/* Something has run out that may be there when it is tried again. */
static bool
is_short(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	       err == -EAGAIN;
}

static void
refuse(struct request *r, int err, const char *why)
{
	struct session *s = r->session;
	char text[256];

	snprintf(text, sizeof text, "resume: %s", why);
	log_warning(SESSION_FMT " may not resume session %" PRIu64 ": %s",
		    SESSION_ARG(s), (uint64_t)r->call.args.nfswb_args_u.
		    resume.session, why);
	request_fail(r, err, text);
	io_close_passed(s);
}

void
resume_request(struct request *r)
{
	const nfswb_resume_args *a = &r->call.args.nfswb_args_u.resume;
	struct session *s = r->session;
	struct resume *re = s->owner->resume;
	struct expected *e = find(re, a, s->peer.cred->uid);
	const char *why;
	bool kept;
	int err;

	if (s->owner->stopping) {
		refuse(r, -EAGAIN, "nfswbd is being stopped");
		return;
	}
	if (a->protocol != NFSWB_PROTOCOL) {
		refuse(r, -EPROTONOSUPPORT, "another version of the protocol");
		return;
	}
	if (!e) {
		refuse(r, -ESTALE, "no such session is expected back");
		return;
	}
	err = take_memory(s, e->record, &kept, &why);
	if (err) {
		refuse(r, is_short(err) || s->passed_cut ? -EAGAIN : err, why);
		return;
	}
	io_close_passed(s);
	s->record = e->record;
	s->id = s->record->id;
	s->state = SESSION_RESUMING;
	err = takeover_begin(s, a);
	if (err == -ENOMEM) {		/* it stays expected */
		refuse(r, -EAGAIN, "out of memory");
		session_give_back(s);
		return;
	}
	if (!kept)
		keep_put(s->owner->env.keep, s->id, &s->memory);
	forget(e);
	session_count(s, COUNT_SESSION);
	s->resuming = r;
	if (err) {
		s->broken = true;
		session_hangup(s, "its list is not ours");
	}
	session_poke(s);
	resume_check(s->owner);
}

/* --- import --- */

/* 0: who was resuming lives, or waits for the size of a file. */
static int
import(struct sessions *o)
{
	struct session *s;

	if (takeover_lists(o)) {
		loop_timer_set(o->env.loop, o->resume->again, AGAIN_USEC);
		return -ENOBUFS;
	}
	TAILQ_FOREACH(s, &o->list, link) {
		if (s->state != SESSION_RESUMING || s->looks)
			continue;
		takeover_tail(s);
		s->state = SESSION_LIVE;
		session_poke(s);
	}
	return 0;
}

static void
answer(struct session *s)
{
	struct request *r = s->resuming;

	if (!r)
		return;
	s->resuming = NULL;
	if (!s->blocked)
		takeover_unclaimed(s);
	if (!s->hangup)
		log_info(SESSION_FMT " resumed", SESSION_ARG(s));
	session_hello_reply(r);
}

/* Are the rings of all that came back drained, or is it not to be waited for
   any longer? */
static bool
drained(struct sessions *o)
{
	struct session *s;
	bool all = true;

	TAILQ_FOREACH(s, &o->list, link)
		if (s->slab)
			all &= s->state != SESSION_RESUMING && drain_all(s);
	return all || o->resume->grace_over;
}

void
resume_check(struct sessions *o)
{
	struct resume *re = o->resume;
	struct session *s;

	if (o->importing && !re->imported && waited_for(re) && !re->grace_over)
		return;
	if (import(o))		/* of all, or of one that came late */
		return;
	re->imported = true;
	if (o->importing && !drained(o))
		return;
	o->importing = false;
	TAILQ_FOREACH(s, &o->list, link) {
		if (s->state == SESSION_LIVE)
			answer(s);
		session_poke(s);
	}
	restore_hidden(o);
}
