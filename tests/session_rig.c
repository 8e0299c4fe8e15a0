/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* session_rig.c - see session_rig.h */
#include "tests/session_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <bsd/sys/queue.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/inherit.h"
#include "daemon/keep.h"
#include "tests/inject/excused.h"
#include "tests/vloop.h"

#define FILES 16
#define FILE_ROOM (4u << 20)

struct stored {
	char *target;
	unsigned char *data;
	uint64_t size;
};

struct answer {
	STAILQ_ENTRY(answer) link;
	ns_done_fn *done;
	void *arg;
	int err;
	struct ns_answer a;
	struct stored *read;
	struct wb_file *look;
};

struct held {
	STAILQ_ENTRY(held) link;
	struct wb_call *call;
};

struct late {
	STAILQ_ENTRY(late) link;
	uint64_t at_usec;
	struct stored *file;
	uint64_t offset;
	size_t len;
	unsigned char bytes[];
};

struct server {
	unsigned refs;
	struct stored file[FILES];
	STAILQ_HEAD(, late) late;
	bool hold, hold_commits, mute;
	int fail;
	uint64_t max_size;
	unsigned hidden_nr;
	int names_err;
	uid_t opened_by;
};

struct namespace {
	struct loop *loop;
	struct wb *wb;
	struct wb_server *wb_server;
	struct server *server;
	STAILQ_HEAD(, answer) answers;
	STAILQ_HEAD(, held) calls;
	struct loop_deferred *soon;
};

struct rig {
	char dir[64];
	struct loop *loop;
	struct config *config;
	struct wb *wb;
	struct namespace *ns;
	struct sessions *sessions;
	struct keep *keep;
	struct inherit store;		/* of the service manager */
	struct loop_deferred *turn;
	struct loop_timer *next, *land;
	bool killed, keep_dir;
	uint64_t gave_up_bytes;
};

/* --- the server --- */

static struct stored *
find(struct server *sv, const char *target)
{
	int i;

	for (i = 0; i < FILES; i++)
		if (sv->file[i].target && !strcmp(sv->file[i].target, target))
			return &sv->file[i];
	return NULL;
}

static struct stored *
create(struct server *sv, const char *target)
{
	int i;
	EXCUSED;

	for (i = 0; i < FILES; i++)
		if (!sv->file[i].target) {
			sv->file[i].target = strdup(target);
			sv->file[i].data = calloc(1, FILE_ROOM);
			return &sv->file[i];
		}
	return NULL;
}

static struct stored *
by_fh(struct server *sv, const struct fh *fh)
{
	return &sv->file[fh->data[0]];
}

static void
server_put(struct server *sv)
{
	int i;

	if (--sv->refs)
		return;
	for (i = 0; i < FILES; i++) {
		free(sv->file[i].target);
		free(sv->file[i].data);
	}
	free(sv);
}

static void
store(struct stored *f, uint64_t at, const void *data, size_t len)
{
	if (at + len > FILE_ROOM)
		abort();
	memcpy(f->data + at, data, len);
	if (at + len > f->size)
		f->size = at + len;
}

static void
do_read(const struct stored *f, struct wb_call *c)
{
	uint64_t at = c->offset, n;
	int i;

	c->read = 0;
	for (i = 0; i < c->iov_nr && at < f->size; i++) {
		n = c->iov[i].iov_len;
		if (n > f->size - at)
			n = f->size - at;
		memcpy(c->iov[i].iov_base, f->data + at, n);
		at += n;
		c->read += (uint32_t)n;
	}
	c->eof = at >= f->size;
	c->have_size = 0;
}

/* Would the file become longer than there is room for? */
static bool
beyond_room(const struct wb_call *c)
{
	uint64_t more = c->kind == WB_CALL_WRITE ? c->count : 0;

	return (c->kind == WB_CALL_WRITE || c->kind == WB_CALL_SETSIZE) &&
	       (c->offset > FILE_ROOM || more > FILE_ROOM - c->offset);
}

static void
do_call(struct namespace *ns, struct wb_call *c)
{
	struct stored *f = by_fh(ns->server, c->fh);
	uint64_t at = c->offset;
	int i;

	c->err = c->kind == WB_CALL_WRITE ? ns->server->fail : 0;
	if (!c->err && beyond_room(c))
		c->err = -EFBIG;
	c->nfs_status = c->err == -EFBIG ? 27 : c->err ? 5 : 0;
	c->transmissions = 1;
	c->written = c->count;
	c->committed = c->stable;
	memset(c->verf, 7, sizeof c->verf);
	if (c->kind == WB_CALL_SETSIZE && !c->err) {
		if (c->offset < f->size)
			memset(f->data + c->offset, 0, f->size - c->offset);
		f->size = c->offset;
	}
	if (c->kind == WB_CALL_READ)
		do_read(f, c);
	for (i = 0; c->kind == WB_CALL_WRITE && !c->err && i < c->iov_nr;
	     i++) {
		store(f, at, c->iov[i].iov_base, c->iov[i].iov_len);
		at += c->iov[i].iov_len;
	}
	c->done(c, loop_now(ns->loop));
}

static void
keep_late(struct server *sv, const struct wb_call *c, uint64_t at_usec)
{
	struct late *l;
	size_t at = 0;
	int i;

	if (c->kind != WB_CALL_WRITE)
		return;
	l = malloc(sizeof *l + c->count);
	l->at_usec = at_usec;
	l->file = by_fh(sv, c->fh);
	l->offset = c->offset;
	l->len = c->count;
	for (i = 0; i < c->iov_nr; at += c->iov[i++].iov_len)
		memcpy(l->bytes + at, c->iov[i].iov_base, c->iov[i].iov_len);
	STAILQ_INSERT_TAIL(&sv->late, l, link);
}

void
rig_late(struct rig *killed, uint64_t usec)
{
	struct held *h;

	STAILQ_FOREACH(h, &killed->ns->calls, link)
		keep_late(killed->ns->server, h->call,
			  loop_now(killed->loop) + usec);
}

/* Those whose time it is; and when the next one comes. */
static void
land(void *arg)
{
	struct rig *g = arg;
	struct server *sv = g->ns->server;
	uint64_t now = loop_now(g->loop), next = UINT64_MAX;
	struct late *l, *more;

	STAILQ_FOREACH_SAFE(l, &sv->late, link, more) {
		if (l->at_usec > now) {
			next = MIN(next, l->at_usec);
			continue;
		}
		STAILQ_REMOVE(&sv->late, l, late, link);
		store(l->file, l->offset, l->bytes, l->len);
		free(l);
	}
	if (next != UINT64_MAX)
		loop_timer_set(g->loop, g->land, next - now);
}

static int
queue_call(void *arg, struct wb_call *c)
{
	struct namespace *ns = arg;
	struct held *h;
	EXCUSED;

	h = malloc(sizeof *h);
	h->call = c;
	c->sent_usec = loop_now(ns->loop);
	STAILQ_INSERT_TAIL(&ns->calls, h, link);
	loop_defer(ns->loop, ns->soon);
	return 0;
}

static void
raise_call(void *arg, struct wb_call *c, enum wb_class class)
{
	(void)arg;
	c->class = class;
}

static void
background_depth(void *arg, unsigned depth)
{
	(void)arg;
	(void)depth;
}

static void
drop_data(void *arg, struct wb_call *c)
{
	(void)arg;
	c->iov_nr = 0;
}

static const struct wb_calls calls = { queue_call, raise_call,
				       background_depth, drop_data, NULL };

/* --- the namespace --- */

static void
no_matter(void *arg, int err, const char *text, const struct ns_answer *a)
{
	(void)arg;
	(void)err;
	(void)text;
	(void)a;
}

static void
answer_one(struct namespace *ns, struct answer *a)
{
	char text[200];

	if (a->read) {
		a->a.data = a->read->data + (uintptr_t)a->a.data;
		a->a.eof = true;
	}
	if (a->look) {
		file_server_attr(a->look, a->a.attr.size, 1, true);
		file_put(a->look);
	}
	snprintf(text, sizeof text, "rig: %s", strerror(-a->err));
	a->done(a->arg, a->err, a->err ? text : NULL, &a->a);
	if (a->a.file)
		file_put(a->a.file);
	free(a);
	(void)ns;
}

static void
soon(void *arg)
{
	struct namespace *ns = arg;
	struct answer *a;
	struct held *h;

	while (!ns->server->mute && (a = STAILQ_FIRST(&ns->answers))) {
		STAILQ_REMOVE_HEAD(&ns->answers, link);
		answer_one(ns, a);
	}
	while (!ns->server->hold && (h = STAILQ_FIRST(&ns->calls)) &&
	       !(ns->server->hold_commits &&
		 h->call->kind == WB_CALL_COMMIT)) {
		STAILQ_REMOVE_HEAD(&ns->calls, link);
		do_call(ns, h->call);
		free(h);
	}
}

static struct answer *
answer(struct namespace *ns, int err, ns_done_fn *done, void *arg)
{
	struct answer *a;
	EXCUSED;

	a = calloc(1, sizeof *a);
	a->done = done;
	a->arg = arg;
	a->err = err;
	STAILQ_INSERT_TAIL(&ns->answers, a, link);
	loop_defer(ns->loop, ns->soon);
	return a;
}

static struct wb_file *
file_of(struct namespace *ns, struct stored *f)
{
	const struct wb_file_params params = {
		.wsize = 1u << 20, .stable = WB_UNSTABLE,
		.max_size = ns->server->max_size ? ns->server->max_size
						 : INT64_MAX,
	};
	unsigned char nr = (unsigned char)(f - ns->server->file);
	struct fh fh;

	fh_set(&fh, &nr, 1);
	return file_get(ns->wb_server, &fh, &params, f->target);
}

void
ns_open(struct namespace *ns, const char *target, struct cred *cred,
	int oflags, unsigned mode, uint64_t verifier, ns_done_fn *done,
	void *arg)
{
	struct stored *f = find(ns->server, target);
	struct answer *a;
	int err = -ENOENT;

	ns->server->opened_by = cred->uid;
	(void)mode;
	(void)verifier;
	if (!f && oflags & O_CREAT) {
		f = create(ns->server, target);
		err = -ENOSPC;
	}
	a = answer(ns, f ? 0 : err, done, arg);
	if (!f)
		return;
	a->a.file = file_of(ns, f);
	if (!a->a.file) {
		a->err = -ENOMEM;
		return;
	}
	file_server_attr(a->a.file, f->size, 1, true);
	a->a.attr.size = f->size;
}

void
ns_stat(struct namespace *ns, const char *target, struct cred *cred,
	bool follow, ns_done_fn *done, void *arg)
{
	struct stored *f = find(ns->server, target);
	struct answer *a = answer(ns, f ? 0 : -ENOENT, done, arg);

	(void)cred;
	(void)follow;
	if (f)
		a->a.attr.size = f->size;
}

#define UNUSED __attribute__((unused))

void
ns_setattr(struct namespace *ns, const char *target UNUSED,
	   struct cred *cred UNUSED, unsigned which UNUSED,
	   const struct nfswb_attr *attr UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, -EROFS, done, arg);
}

void
ns_unlink(struct namespace *ns, const char *target UNUSED,
	  struct cred *cred UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, ns->server->names_err, done, arg);
}

void
ns_rename(struct namespace *ns, const char *from UNUSED, const char *to UNUSED,
	  struct cred *cred UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, ns->server->names_err, done, arg);
}

void
ns_mkdir(struct namespace *ns, const char *target UNUSED, unsigned mode UNUSED,
	 struct cred *cred UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, ns->server->names_err, done, arg);
}

void
ns_rmdir(struct namespace *ns, const char *target UNUSED,
	 struct cred *cred UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, ns->server->names_err, done, arg);
}

void
ns_symlink(struct namespace *ns, const char *content UNUSED,
	   const char *target UNUSED, struct cred *cred UNUSED,
	   ns_done_fn *done, void *arg)
{
	answer(ns, ns->server->names_err, done, arg);
}

void
ns_readlink(struct namespace *ns, const char *target UNUSED,
	    struct cred *cred UNUSED, ns_done_fn *done, void *arg)
{
	answer(ns, 0, done, arg)->a.content = "elsewhere";
}

void
ns_readdir(struct namespace *ns, const char *target UNUSED,
	   struct cred *cred UNUSED, uint64_t cookie UNUSED,
	   uint64_t verifier UNUSED, ns_done_fn *done, void *arg)
{
	static nfswb_name name = { 3, S_IFREG, 1, (char *)"one" };
	static struct nfswb_readdir_res dir = { 5, 1, { 1, &name } };

	answer(ns, 0, done, arg)->a.dir = &dir;
}

void
ns_getattr(struct namespace *ns, struct wb_file *file, struct cred *cred,
	   ns_done_fn *done, void *arg)
{
	(void)cred;
	answer(ns, 0, done, arg)->a.attr.size =
		by_fh(ns->server, file_fh(file))->size;
}

void
ns_read(struct namespace *ns, struct wb_file *file, struct cred *cred,
	uint64_t offset, uint32_t length, ns_done_fn *done, void *arg)
{
	struct stored *f = by_fh(ns->server, file_fh(file));
	struct answer *a = answer(ns, 0, done, arg);

	(void)cred;
	a->read = f;
	if (offset >= f->size)
		length = 0;
	else if (f->size - offset < length)
		length = (uint32_t)(f->size - offset);
	a->a.data = (const void *)(uintptr_t)offset;	/* soon a pointer */
	a->a.length = length;
}

char *
ns_describe(struct namespace *ns, struct wb_file *file)
{
	return strdup(by_fh(ns->server, file_fh(file))->target);
}

struct wb_file *
ns_restore(struct namespace *ns, const char *description, int *err)
{
	struct stored *f = find(ns->server, description);

	*err = f ? -ENOMEM : -EINVAL;
	return f ? file_of(ns, f) : NULL;
}

void
ns_look(struct namespace *ns, struct wb_file *file, struct cred *cred,
	ns_done_fn *done, void *arg)
{
	struct stored *f = by_fh(ns->server, file_fh(file));
	struct answer *a = answer(ns, 0, done ? done : no_matter, arg);

	(void)cred;
	a->look = file_ref(file);
	a->a.attr.size = f->size;
}

bool
ns_restore_hidden(struct namespace *ns, const char *text, uint64_t id UNUSED)
{
	ns->server->hidden_nr++;
	return strcmp(text, "nonsense");
}

bool
ns_below(struct namespace *ns, const char *target, struct wb_file *file)
{
	(void)ns;
	return !strncmp(file_name(file), target, strlen(target));
}

/* --- the rig --- */

static void
poke(void *arg)
{
	struct rig *g = arg;

	loop_defer(g->loop, g->turn);
}

static void
turn(void *arg)
{
	struct rig *g = arg;
	uint64_t next;

	if (g->killed)
		return;
	wb_run(g->wb, loop_now(g->loop));
	next = wb_deadline(g->wb);
	if (next != UINT64_MAX)
		loop_timer_set(g->loop, g->next, next > loop_now(g->loop) ?
			       next - loop_now(g->loop) : 0);
}

static void
late(void *arg, uint64_t until_usec)
{
	struct rig *g = arg;

	if (g->sessions)
		sessions_late(g->sessions, until_usec);
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	struct rig *g = arg;

	(void)f;
	(void)writer;
	(void)offset;
	(void)err;
	g->gave_up_bytes += length;
}

static char *
statistics(void *arg, const struct asker *who)
{
	(void)arg;
	return strdup(who->admin ? "{}" : "[]");
}

static char *
control(void *arg, const char *request, const struct asker *who, int *err)
{
	(void)arg;
	if (!who->admin) {
		*err = -EPERM;
		return strdup("control: no");
	}
	return strdup(request);
}

/* --- the service manager --- */

static void
put(void *arg, const char *name, int fd)
{
	struct rig *g = arg;
	EXCUSED;

	if (inherit_add(&g->store, name, fcntl(fd, F_DUPFD_CLOEXEC, 3)))
		abort();
}

static void
drop(void *arg, const char *name)
{
	struct rig *g = arg;
	unsigned i;
	EXCUSED;

	for (i = 0; i < g->store.nr; i++)
		if (g->store.each[i].fd >= 0 &&
		    !strcmp(g->store.each[i].name, name)) {
			close(g->store.each[i].fd);
			g->store.each[i].fd = -1;
		}
}

unsigned
rig_kept(struct rig *g, const char *name)
{
	unsigned i, nr = 0;

	for (i = 0; i < g->store.nr; i++)
		nr += g->store.each[i].fd >= 0 &&
		      (!name || !strcmp(g->store.each[i].name, name));
	return nr;
}

void
rig_keep(struct rig *g, const char *name, int fd)
{
	drop(g, name);
	if (fd >= 0)
		put(g, name, fd);
}

/* What g is given is also kept on. */
static void
hand_over(struct rig *g, struct rig *old)
{
	struct inherit in = { .nr = 0 };
	struct inherited *e;
	unsigned i;

	for (i = 0; old && i < old->store.nr; i++) {
		e = &old->store.each[i];
		if (e->fd < 0)
			continue;
		put(g, e->name, e->fd);
		if (inherit_add(&in, e->name, e->fd))
			abort();
		e->fd = -1;
	}
	if (keep_take(g->keep, &in))
		abort();
	inherit_free(&in);
}

static int
listen_at(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s/s", dir);
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 64))
		abort();
	return fd;
}

static void
start(struct rig *g, struct server *server, struct rig *old)
{
	static const struct keep_hooks keep_hooks = { put, drop };
	static const struct wb_hooks hooks = {
		.poke = poke, .gave_up = gave_up, .late = late,
	};
	struct wb_limits limits = {
		.dirty_bytes = 64u << 20, .dirty_background_bytes = 32u << 20,
		.whole_grants = true,
		.dirty_expire_usec = 30000000, .clean_expire_usec = 60000000,
		.late_duplicate_usec = 10000000,
	};
	struct wb_server_params params = {
		.name = "rig", .congestion_bytes = 16u << 20, .bounds = BOUND_ALL,
		.slot_nr = 16,
	};
	struct sessions_env env = {
		.loop = g->loop, .config = g->config, .instance = 77,
		.statistics = statistics, .control = control,
	};
	char *error;

	g->turn = loop_deferred(g->loop, turn, g);
	g->next = loop_timer(g->loop, turn, g);
	g->land = loop_timer(g->loop, land, g);
	g->wb = wb_new(&limits, &hooks, g, loop_now(g->loop));
	g->ns = calloc(1, sizeof *g->ns);
	g->ns->loop = g->loop;
	g->ns->wb = g->wb;
	g->ns->server = server;
	server->refs++;
	g->ns->soon = loop_deferred(g->loop, soon, g->ns);
	STAILQ_INIT(&g->ns->answers);
	STAILQ_INIT(&g->ns->calls);
	g->ns->wb_server = wb_server_new(g->wb, &params, &calls, g->ns,
					 loop_now(g->loop));
	land(g);
	env.wb = g->wb;
	env.ns = g->ns;
	env.keep = g->keep = keep_new(&keep_hooks, g);
	hand_over(g, old);
	g->sessions = sessions_new(&env, listen_at(g->dir), g->dir, &error);
	if (!g->sessions) {
		fprintf(stderr, "%s\n", error);
		abort();
	}
}

struct rig *
rig_new(void)
{
	struct rig *g = calloc(1, sizeof *g);
	const char *tmp = getenv("TMPDIR");
	struct server *server;

	snprintf(g->dir, sizeof g->dir, "%s/nfswb-sessions.XXXXXX",
		 tmp && strlen(tmp) < 32 ? tmp : "/tmp");
	if (!mkdtemp(g->dir))
		abort();
	g->loop = vloop_new(1000000);
	g->config = config_default();
	g->config->slab_bytes = 4u << 20;
	server = calloc(1, sizeof *server);
	STAILQ_INIT(&server->late);
	start(g, server, NULL);
	return g;
}

struct rig *
rig_again(struct rig *old)
{
	struct rig *g = calloc(1, sizeof *g);

	memcpy(g->dir, old->dir, sizeof g->dir);
	g->loop = vloop_new(loop_now(old->loop) + 1000000);
	g->config = config_default();
	g->config->slab_bytes = 4u << 20;
	old->keep_dir = true;
	start(g, old->ns->server, old);
	return g;
}

void
rig_kill(struct rig *g)
{
	char path[128];

	g->killed = true;
	snprintf(path, sizeof path, "%s/lock", g->dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/s", g->dir);
	unlink(path);
}

static void
drop_calls(struct namespace *ns)
{
	struct held *h;

	while ((h = STAILQ_FIRST(&ns->calls))) {
		STAILQ_REMOVE_HEAD(&ns->calls, link);
		h->call->err = -ECANCELED;
		h->call->done(h->call, loop_now(ns->loop));
		free(h);
	}
}

void
rig_free(struct rig *g)
{
	char path[128];
	static const char *const names[] = { "s", "lock", "sessions" };
	size_t i;

	if (!g->killed)		/* let what waits be answered */
		rig_hold(g, false);
	g->ns->server->mute = false;
	sessions_free(g->sessions);
	if (!g->killed)
		vloop_pass(g->loop, 1000);
	if (!g->killed)
		soon(g->ns);
	drop_calls(g->ns);
	wb_free(g->wb);
	keep_free(g->keep);
	for (i = 0; i < g->store.nr; i++)
		drop(g, g->store.each[i].name);
	inherit_free(&g->store);
	loop_deferred_free(g->loop, g->turn);
	loop_timer_free(g->loop, g->next);
	loop_timer_free(g->loop, g->land);
	loop_deferred_free(g->loop, g->ns->soon);
	server_put(g->ns->server);
	free(g->ns);
	loop_free(g->loop);
	config_free(g->config);
	for (i = 0; !g->keep_dir && i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", g->dir, names[i]);
		unlink(path);
	}
	if (!g->keep_dir)
		rmdir(g->dir);
	free(g);
}

uint64_t
rig_gave_up(const struct rig *g)
{
	return g->gave_up_bytes;
}

struct config *
rig_config(struct rig *g)
{
	return g->config;
}

struct wb *
rig_wb(struct rig *g)
{
	return g->wb;
}

struct sessions *
rig_sessions(struct rig *g)
{
	return g->sessions;
}

const char *
rig_dir(const struct rig *g)
{
	return g->dir;
}

void
rig_pass(struct rig *g, uint64_t usec)
{
	vloop_pass(g->loop, usec);
}

uint64_t
rig_rounds(struct rig *g)
{
	return vloop_rounds(g->loop);
}

void
rig_hold(struct rig *g, bool hold)
{
	g->ns->server->hold = hold;
	if (!hold)
		loop_defer(g->loop, g->ns->soon);
}

void
rig_hold_commits(struct rig *g, bool hold)
{
	g->ns->server->hold_commits = hold;
}

void
rig_mute(struct rig *g, bool mute)
{
	g->ns->server->mute = mute;
	loop_defer(g->loop, g->ns->soon);
}

void
rig_renamed(struct rig *g, const char *from, const char *to)
{
	struct stored *f = find(g->ns->server, from);
	struct wb_file *file = file_of(g->ns, f);

	free(f->target);
	f->target = strdup(to);
	sessions_described(g->sessions, file);
	file_put(file);
}

unsigned
rig_hidden(struct rig *g)
{
	return g->ns->server->hidden_nr;
}

void
rig_names(struct rig *g, int err)
{
	g->ns->server->names_err = err;
}

void
rig_max_size(struct rig *g, uint64_t bytes)
{
	g->ns->server->max_size = bytes;
}

void
rig_fail(struct rig *g, int err)
{
	g->ns->server->fail = err;
}

const unsigned char *
rig_data(struct rig *g, const char *target, uint64_t *size)
{
	struct stored *f = find(g->ns->server, target);

	*size = f ? f->size : 0;
	return f ? f->data : NULL;
}

/* --- clients --- */

static void
connect_it(struct rig *g, struct client *c)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "%s/s", g->dir);
	if (connect(c->fd, (struct sockaddr *)&a, sizeof a))
		abort();
}

static void
client_new(struct rig *g, struct client *c)
{
	memset(c, 0, sizeof *c);
	c->rig = g;
	c->next_id = 1;
	c->chunk = NFSWB_NO_CHUNK;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0);
	record_reader_init(&c->in, NFSWB_RECORD_MAX);
}

void
client_connect(struct rig *g, struct client *c)
{
	client_new(g, c);
	connect_it(g, c);
}

bool
client_connect_as(struct rig *g, struct client *c, uid_t uid)
{
	char path[128];

	if (geteuid())
		return false;
	snprintf(path, sizeof path, "%s/s", g->dir);
	if (chmod(g->dir, 0755) || chmod(path, 0666) || seteuid(uid))
		abort();
	client_connect(g, c);
	if (seteuid(0))
		abort();
	return true;
}

uid_t
rig_opened_by(struct rig *g)
{
	return g->ns->server->opened_by;
}

/* Whose socket it is is decided by who connects it. */
static void
live_apart(struct rig *g, struct client *c, int told)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	connect_it(g, c);
	if (write(told, "", 1) != 1)
		abort();
	close_range(3, ~0u, 0);
	for (;;)
		pause();
}

pid_t
client_connect_apart(struct rig *g, struct client *c)
{
	int told[2];
	pid_t pid;
	char b;

	client_new(g, c);
	if (pipe(told))
		abort();
	pid = fork();
	if (!pid)
		live_apart(g, c, told[1]);
	close(told[1]);
	if (pid < 0 || read(told[0], &b, 1) != 1)
		abort();
	close(told[0]);
	return pid;
}

void
client_process_dies(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
unmap(struct client *c)
{
	if (!c->view.control)
		return;
	munmap(c->view.control, c->view.layout.bytes);
	munmap(c->view.data, c->hello.data_bytes);
}

void
client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	while (c->passed_nr)
		close(c->passed[--c->passed_nr]);
	unmap(c);
	record_reader_free(&c->in);
	xdr_free((xdrproc_t)xdr_nfswb_reply, &c->reply);
	memset(c, 0, sizeof *c);
	c->fd = -1;
}

void
client_send_raw(struct client *c, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;
	int tries;

	for (tries = 0; len && tries < 10000; tries++) {
		n = send(c->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return;
		if (n < 0)
			rig_pass(c->rig, 1);
		else {
			at += n;
			len -= (size_t)n;
		}
	}
}

void
client_send_record(struct client *c, const void *data, size_t len)
{
	unsigned char mark[4];

	record_mark(mark, len);
	client_send_raw(c, mark, sizeof mark);
	client_send_raw(c, data, len);
}

void
client_bell(struct client *c)
{
	client_send_record(c, "", 0);
}

uint64_t
client_send(struct client *c, nfswb_args *args)
{
	static char buf[NFSWB_RECORD_MAX];
	nfswb_call call = { .id = c->next_id++, .flags = c->flags,
			    .args = *args };
	XDR x;

	xdrmem_create(&x, buf, sizeof buf, XDR_ENCODE);
	if (!xdr_nfswb_call(&x, &call))
		abort();
	client_send_record(c, buf, xdr_getpos(&x));
	return call.id;
}

static void
take_passed(struct client *c, struct msghdr *m)
{
	struct cmsghdr *h = CMSG_FIRSTHDR(m);

	if (!h || h->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(c->passed, CMSG_DATA(h), sizeof c->passed);
	c->passed_nr = 2;
}

/* One byte-wise look at the socket: 1 a reply is whole, 0 not yet, -1 closed. */
static int
look(struct client *c)
{
	char room[CMSG_SPACE(2 * sizeof(int))];
	static unsigned char buf[65536];
	struct iovec iov = { buf, 4 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	void *direct;
	size_t used, n;
	ssize_t got;
	int whole;
	XDR x;

	for (;;) {
		n = record_room(&c->in, &direct);
		iov.iov_base = n ? direct : buf;
		iov.iov_len = n ? n : 4u - c->in.mark_got % 4;
		m.msg_control = room;
		m.msg_controllen = sizeof room;
		got = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got < 0 && errno == EAGAIN)
			return 0;
		if (got <= 0)
			return -1;
		take_passed(c, &m);
		whole = n ? record_took(&c->in, (size_t)got) :
			    record_feed(&c->in, buf, (size_t)got, &used);
		if (!whole)
			continue;
		if (c->in.length)
			break;
		c->bells++;
	}
	xdr_free((xdrproc_t)xdr_nfswb_reply, &c->reply);
	memset(&c->reply, 0, sizeof c->reply);
	xdrmem_create(&x, (char *)c->in.data, (u_int)c->in.length,
		      XDR_DECODE);
	if (!xdr_nfswb_reply(&x, &c->reply))
		abort();
	return 1;
}

struct waiting {
	struct client *c;
	int got;
};

static bool
has_reply(void *arg)
{
	struct waiting *w = arg;

	w->got = look(w->c);
	return w->got != 0;
}

bool
client_reply(struct client *c)
{
	struct waiting w = { c, 0 };

	vloop_run_until(c->rig->loop, has_reply, &w, 20000000);
	return w.got == 1;
}

int
client_call(struct client *c, nfswb_args *args)
{
	client_send(c, args);
	return client_reply(c) ? c->reply.answer.error : -1;
}

bool
client_is_closed(struct client *c)
{
	rig_pass(c->rig, 100);
	return look(c) < 0;
}

static void
map_memory(struct client *c)
{
	struct nfswb_layout l;
	void *control, *data;

	if (c->passed_nr != 2 || nfswb_layout(&l, c->hello.data_bytes))
		abort();
	control = mmap(NULL, l.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       c->passed[0], 0);
	data = mmap(NULL, c->hello.data_bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED, c->passed[1], 0);
	if (control == MAP_FAILED || data == MAP_FAILED ||
	    shm_view_init(&c->view, control, data, c->hello.data_bytes))
		abort();
}

int
client_hello(struct client *c, unsigned flags, uint64_t slab_bytes)
{
	nfswb_args a = { .type = NFSWB_HELLO };
	int err;

	a.nfswb_args_u.hello.protocol = NFSWB_PROTOCOL;
	a.nfswb_args_u.hello.flags = flags;
	a.nfswb_args_u.hello.slab_bytes = slab_bytes;
	err = client_call(c, &a);
	if (err)
		return err;
	c->hello = c->reply.answer.nfswb_answer_u.res.nfswb_res_u.hello;
	if (c->hello.data_bytes)
		map_memory(c);
	return 0;
}

int
client_open(struct client *c, const char *target, int oflags)
{
	nfswb_args a = { .type = NFSWB_OPEN };
	int err;

	a.nfswb_args_u.open.target = (char *)(uintptr_t)target;
	a.nfswb_args_u.open.oflags = oflags;
	a.nfswb_args_u.open.mode = 0644;
	err = client_call(c, &a);
	if (err)
		return -err;
	return (int)c->reply.answer.nfswb_answer_u.res.nfswb_res_u.open.file;
}

int
client_fsync(struct client *c, uint32_t file)
{
	nfswb_args a = { .type = NFSWB_FSYNC };

	a.nfswb_args_u.fsync_file = file;
	return client_call(c, &a);
}

int
client_close_file(struct client *c, uint32_t file)
{
	nfswb_args a = { .type = NFSWB_CLOSE };

	a.nfswb_args_u.close_file = file;
	return client_call(c, &a);
}

int
client_write(struct client *c, uint32_t file, uint64_t offset,
	     const void *data, size_t len)
{
	nfswb_args a = { .type = NFSWB_WRITE };

	a.nfswb_args_u.write.file = file;
	a.nfswb_args_u.write.offset = offset;
	a.nfswb_args_u.write.data.data_val = (char *)(uintptr_t)data;
	a.nfswb_args_u.write.data.data_len = (u_int)len;
	return client_call(c, &a);
}

static void
send_with_fds(struct client *c, const int fd[2])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control;
	unsigned char first = 0x80;	/* of the mark that follows */
	struct iovec iov = { &first, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };

	memset(&control, 0, sizeof control);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fd, 2 * sizeof(int));
	if (sendmsg(c->fd, &m, 0) != 1)
		abort();
}

int
client_resume(struct client *c, const struct client *old, uint32_t file,
	      const nfswb_token token)
{
	static char buf[NFSWB_RECORD_MAX];
	nfswb_resume_file f = { .file = file, .oflags = O_RDWR };
	nfswb_call call = { .id = c->next_id++ };
	nfswb_resume_args *a = &call.args.nfswb_args_u.resume;
	unsigned char mark[4];
	XDR x;

	memcpy(f.token, token, sizeof f.token);
	call.args.type = NFSWB_RESUME;
	a->protocol = NFSWB_PROTOCOL;
	a->session = old->hello.session;
	memcpy(a->secret, old->hello.secret, sizeof a->secret);
	a->files.files_len = 1;
	a->files.files_val = &f;
	xdrmem_create(&x, buf, sizeof buf, XDR_ENCODE);
	if (!xdr_nfswb_call(&x, &call))
		abort();
	record_mark(mark, xdr_getpos(&x));
	if (old->passed_nr == 2)
		send_with_fds(c, old->passed);
	else
		client_send_raw(c, mark, 1);
	client_send_raw(c, mark + 1, 3);
	client_send_raw(c, buf, xdr_getpos(&x));
	return 0;
}

void
client_post_raw(struct client *c, const struct nfswb_ring_entry *e)
{
	*ring_slot(&c->view, c->head) = *e;
	c->head++;
	atomic_store(&c->view.control->head, c->head);
}

void
client_wants(struct client *c, uint32_t bytes)
{
	struct nfswb_control *ctl = c->view.control;

	atomic_store(&ctl->want, bytes);
	atomic_store(&ctl->want_chunk, c->chunk);
	atomic_store(&ctl->c_waits, 1);
}

static bool
post(struct client *c, uint32_t file, enum nfswb_ring_kind kind,
     uint64_t offset, const void *data, uint32_t length)
{
	struct nfswb_ring_entry e = { .offset = offset, .length = length,
				      .file = file, .kind = kind };
	uint64_t mark;
	uint32_t fill;

	for (;;) {
		if (c->chunk == NFSWB_NO_CHUNK)
			c->chunk = ring_grant_pop(&c->view);
		if (c->chunk == NFSWB_NO_CHUNK)
			return false;
		mark = atomic_load(&c->view.mark[c->chunk]);
		fill = nfswb_mark_fill(mark);
		if (!(mark & NFSWB_MARK_CLOSED) &&
		    fill + length <= nfswb_mark_limit(mark))
			break;
		atomic_fetch_or(&c->view.mark[c->chunk], NFSWB_MARK_CLOSED);
		c->chunk = NFSWB_NO_CHUNK;
	}
	atomic_fetch_add(&c->view.mark[c->chunk], length);
	e.place = (uint64_t)c->chunk * RIG_CHUNK + fill;
	memcpy(c->view.data + e.place, data, length);
	client_post_raw(c, &e);
	return true;
}

bool
client_post(struct client *c, uint32_t file, uint64_t offset, const void *data,
	    uint32_t length)
{
	return post(c, file, NFSWB_RING_WRITE, offset, data, length);
}

bool
client_append(struct client *c, uint32_t file, const void *data,
	      uint32_t length)
{
	return post(c, file, NFSWB_RING_APPEND, 0, data, length);
}
