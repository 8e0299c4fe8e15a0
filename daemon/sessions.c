/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sessions.c - all sessions: the listening socket, start and stop, and what
 * the statistics hear of them
 */
#include "daemon/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/keep.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

#define ACCEPT_MAX	16
#define REST_USEC	100000

/* --- the listening socket --- */

static void
listen_ready(void *arg, int listen_fd, unsigned events)
{
	struct sessions *o = arg;
	int fd, i;

	(void)events;
	for (i = 0; i < ACCEPT_MAX; i++) {
		fd = accept4(listen_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			session_come(o, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			log_warning("clients have to wait: accept: %s",
				    strerror(errno));
			loop_watch_set(o->env.loop, o->listen, 0);
			loop_timer_set(o->env.loop, o->rest, REST_USEC);
		}
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void
rested(void *arg)
{
	struct sessions *o = arg;

	if (o->listen)
		loop_watch_set(o->env.loop, o->listen, LOOP_READ);
}

/* --- all of them --- */

struct sessions *
sessions_new(const struct sessions_env *env, int listen_fd,
	     const char *runtime_dir, char **error)
{
	struct sessions *o = calloc(1, sizeof *o);

	*error = NULL;
	if (!o) {
		close(listen_fd);
		return NULL;
	}
	o->refs = 1;
	o->env = *env;
	o->listen_fd = listen_fd;
	TAILQ_INIT(&o->list);
	o->runtime = runtime_open(runtime_dir, error);
	o->users = users_new(env->loop, env->config);
	if (o->runtime && o->users) {
		wb_late(env->wb, runtime_late_until(o->runtime));
		o->rest = loop_timer(env->loop, rested, o);
		o->listen = loop_watch(env->loop, listen_fd, LOOP_READ,
				       listen_ready, o);
		if (o->rest && o->listen && !resume_new(o))
			return o;
	}
	if (!*error)
		*error = strdup("out of memory");
	sessions_free(o);
	return NULL;
}

static void
stop_listening(struct sessions *o)
{
	loop_watch_free(o->env.loop, o->listen);
	o->listen = NULL;
	if (o->listen_fd >= 0)
		close(o->listen_fd);
	o->listen_fd = -1;
}

/* What comes from now on is left for the next instance, in sockets and rings;
   claims under way are still waited for, by napping. */
void
sessions_stop(struct sessions *o)
{
	struct session *s;

	stop_listening(o);
	o->stopping = true;
	resume_now(o);
	opens_drain_every(o);
	TAILQ_FOREACH(s, &o->list, link) {
		if (s->slab)
			slab_void_grants(s->slab);
		io_update(s);
		session_poke(s);
	}
}

int
sessions_socket(const struct sessions *o)
{
	return o->listen_fd;
}

int
sessions_leave(const struct sessions *o, struct inherit *in)
{
	const struct session *s;
	int err = 0;

	TAILQ_FOREACH(s, &o->list, link)
		if (!err && s->record)
			err = keep_leave(in, s->id, &s->memory);
	return err;
}

unsigned
sessions_left(const struct sessions *o)
{
	const struct session *s;
	unsigned nr = 0;

	TAILQ_FOREACH(s, &o->list, link)
		nr += s->slab && (s->state == SESSION_RESUMING ||
				  s->state == SESSION_ENDING);
	return nr;
}

void
sessions_free(struct sessions *o)
{
	struct session *s;

	if (!o)
		return;
	stop_listening(o);
	while ((s = TAILQ_FIRST(&o->list)))
		session_let_go(s);
	resume_free(o);
	loop_timer_free(o->env.loop, o->rest);
	users_free(o->users);
	runtime_close(o->runtime);
	o->runtime = NULL;
	sessions_put(o);
}

void
sessions_drain(struct sessions *o, struct wb_file *file)
{
	if (file)
		opens_drain(o, file);
	else
		opens_drain_every(o);
}

/* --- what the next instance must know --- */

/* In one session, open or being closed. */
static void
redescribe(struct session *s, struct wb_file *file, const char *text)
{
	struct session_file *sf;
	uint32_t i;

	for (i = 0; s->record && i < s->file_room; i++) {
		sf = s->file[i];
		if (sf && sf->file == file && sf->record &&
		    runtime_described(s->owner->runtime, s->record, sf->record,
				      text))
			log_warning("%s: another instance would know it by "
				    "its old name", file_name(file));
	}
}

void
sessions_described(struct sessions *o, struct wb_file *file)
{
	char *text = ns_describe(o->env.ns, file);
	struct session *s;

	if (!text)
		return;		/* its handle is what counts, not the name */
	TAILQ_FOREACH(s, &o->list, link)
		redescribe(s, file, text);
	free(text);
}

int
sessions_hide(struct sessions *o, const char *text, uint64_t *id)
{
	return runtime_hide(o->runtime, text, id);
}

void
sessions_unhide(struct sessions *o, uint64_t id)
{
	runtime_unhide(o->runtime, id);
}

void
sessions_late(struct sessions *o, uint64_t until_usec)
{
	int err = runtime_late(o->runtime, until_usec);

	if (err)
		log_error("late copies of calls could not be written down: %s; "
			  "do not kill nfswbd twice within a few seconds",
			  strerror(-err));
}

/* --- for the statistics --- */

static enum waiting_for
waits_for(const struct session *s, const struct request *r)
{
	enum waiting_for w = WAIT_NONE;

	if (r->api->type == NFSWB_SYNC || r->api->type == NFSWB_FAILED_ROOM)
		w = sync_waiting_for(s->owner->env.wb, r);
	else if (r->in_file)
		w = file_waiting_for(r->file, r);
	if (w != WAIT_NONE)
		return w;
	switch (r->api->type) {
	case NFSWB_WRITE:
		return WAIT_GRANT;
	case NFSWB_RESUME:
		return WAIT_RESUME;
	default:
		return WAIT_REPLY;
	}
}

static const char *
some_written_file(const struct session *s)
{
	uint32_t i;

	for (i = 0; i < s->file_room; i++)
		if (s->file[i] && file_left_bytes(s->file[i]->file))
			return file_name(s->file[i]->file);
	return NULL;
}

static void
describe(struct session *s, struct session_info *info)
{
	uint64_t now = session_now(s);
	const struct request *r = TAILQ_FIRST(&s->under_way);

	memset(info, 0, sizeof *info);
	info->id = s->id;
	info->pid = s->peer.pid;
	info->uid = s->peer.cred->uid;
	info->comm = s->peer.comm;
	info->files = s->file_nr;
	info->file = some_written_file(s);
	slab_usage(s->slab, now, &info->usage);
	info->waiting = info->usage.waiting;
	info->waiting_usec = info->usage.waiting_usec;
	if (!r)
		r = TAILQ_FIRST(&s->todo);
	if (!r || (info->waiting != WAIT_NONE &&
		   info->waiting_usec >= now - r->came_usec))
		return;
	if (request_subject(r) && *request_subject(r))
		info->file = request_subject(r);
	info->waiting = s->owner->importing ? WAIT_RESUME : waits_for(s, r);
	info->waiting_usec = now - r->came_usec;
}

void
sessions_each(struct sessions *o, void (*fn)(void *arg,
	      const struct session_info *), void *arg)
{
	struct session_info info;
	struct session *s;

	TAILQ_FOREACH(s, &o->list, link) {
		if (!s->slab)
			continue;
		describe(s, &info);
		fn(arg, &info);
	}
}
