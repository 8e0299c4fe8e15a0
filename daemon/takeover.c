/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * takeover.c - what an earlier instance left of a session becomes ours
 *
 *	its open files, by the table of tokens	takeover_begin
 *	its list, checked and sorted		takeover_begin
 *	the entries of all lists, in sequence	takeover_lists
 *	its ring, from behind the last entry	takeover_tail
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "common/crash.h"
#include "common/log.h"
#include "daemon/session_impl.h"
#include "include/nfswb_prot.h"

/* --- one session: files and list --- */

static void
looked(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct session *s = arg;

	(void)a;
	if (err)
		log_warning(SESSION_FMT " resumes: %s", SESSION_ARG(s),
			    text ? text : strerror(-err));
	s->looks--;
	if (s->owner->resume)
		resume_check(s->owner);
	session_put(s);
}

/* An append goes to the end of the file, so that must be known before the ring
   is drained. */
static void
look_at(struct session *s, struct session_file *sf)
{
	struct namespace *ns = s->owner->env.ns;

	if (!(sf->oflags & O_APPEND)) {
		ns_look(ns, sf->file, s->cred, NULL, NULL);
		return;
	}
	s->looks++;
	ns_look(ns, sf->file, s->cred, looked, session_ref(s));
}

/* -ENOMEM, or else it is as well as it can be. */
static int
take_file(struct session *s, struct runtime_file *rf)
{
	struct session_file *sf = NULL;
	struct wb_file *file;
	int err;

	file = ns_restore(s->owner->env.ns, rf->description, &err);

	if (file) {
		sf = session_file_new(s, rf->number, file, rf->oflags, &err);
		file_put(file);
	}
	if (sf) {
		sf->record = rf;
		return 0;
	}
	if (err != -ENOMEM) {
		log_error(SESSION_FMT ": its file %u can't be opened again: "
			  "%s; %s", SESSION_ARG(s), rf->number,
			  strerror(-err), rf->description);
		err = 0;
	}
	return err;
}

static int
take_files(struct session *s, const nfswb_resume_args *a)
{
	struct runtime_file *rf;
	const nfswb_resume_file *c;
	struct session_file *sf;
	int err = 0;
	u_int i;

	crash_point();
	memset((void *)(uintptr_t)s->memory.view.shared, 0, NFSWB_FILES_MAX);
	LIST_FOREACH(rf, &s->record->files, link)
		if (!err)
			err = take_file(s, rf);
	for (i = 0; a && i < a->files.files_len; i++) {
		c = &a->files.files_val[i];
		sf = session_file(s, c->file);
		if (!sf || !runtime_same(sf->record->token, c->token)) {
			log_warning(SESSION_FMT ": resumes a file %u that it "
				    "has not open", SESSION_ARG(s), c->file);
			continue;
		}
		sf->claimed = true;
		if (c->reserved_end)
			handle_reserved(sf->handle, c->reserved_end);
	}
	return err;
}

static struct wb_handle *
handle_of(void *arg, uint32_t number)
{
	struct session_file *sf = session_file(arg, number);

	return sf ? sf->handle : NULL;
}

/* The memory as the old instance left it becomes this one's. */
static int
take_list(struct session *s)
{
	struct nfswb_control *c = s->memory.view.control;
	int err = session_make_slab(s);

	if (err || s->memory.control_fd < 0)
		return err;
	slab_void_grants(s->slab);
	crash_point();
	atomic_store(&c->g_head, 0);
	crash_point();
	atomic_store(&c->g_tail, 0);
	crash_point();
	return slab_import_begin(s->slab, handle_of, s,
				 session_now(s) * 1000 + 999);
}

int
takeover_begin(struct session *s, const nfswb_resume_args *a)
{
	int err = take_files(s, a);
	uint32_t i;

	if (!err)
		err = take_list(s);
	for (i = 0; !err && i < s->file_room; i++)
		if (s->file[i])
			look_at(s, s->file[i]);
	return err;
}

/* --- all of them: entries and rings --- */

static struct session *
lowest(struct sessions *o)
{
	uint64_t seq, low = UINT64_MAX;
	struct session *s, *best = NULL;

	TAILQ_FOREACH(s, &o->list, link) {
		if (s->state != SESSION_RESUMING || s->broken || !s->slab ||
		    s->memory.control_fd < 0)
			continue;
		seq = slab_import_next(s->slab);
		if (seq && seq < low) {
			low = seq;
			best = s;
		}
	}
	return best;
}

void
takeover_tail(struct session *s)
{
	struct nfswb_control *c = s->memory.view.control;
	uint64_t tail = atomic_load(&c->tail), head = atomic_load(&c->head);

	s->tail = head;
	if (s->broken || s->memory.control_fd < 0)
		return;
	if (head - tail <= s->memory.view.layout.ring_nr)
		s->tail = slab_import_ringpos(s->slab, tail, head);
	else
		session_hangup(s, "its ring's head is out of range");
	crash_point();
	atomic_store(&c->tail, s->tail);
	crash_point();
}

int
takeover_lists(struct sessions *o)
{
	uint64_t now = loop_now(o->env.loop);
	unsigned long long nr = 0, lost_nr = 0;
	struct session *s;
	int err = 0;

	while ((s = lowest(o))) {
		err = slab_import_one(s->slab, now);
		if (err && err != -ENOENT)
			break;
		nr++;
		lost_nr += err == -ENOENT;
		err = 0;
	}
	if (nr)
		log_info("%llu extent%s of earlier sessions taken over", nr,
			 nr == 1 ? "" : "s");
	if (lost_nr)
		log_error("%llu of them belong to no known file and are lost",
			  lost_nr);
	return err;
}

void
takeover_unclaimed(struct session *s)
{
	struct session_file *sf;
	uint32_t i;

	for (i = 0; i < s->file_room; i++) {
		sf = s->file[i];
		if (!sf || !sf->handle || sf->claimed)
			continue;
		handle_close(session_file_shut(sf), session_now(s), NULL,
			     NULL);
		session_file_free(sf);
	}
}
