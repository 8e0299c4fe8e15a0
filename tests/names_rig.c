/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* names_rig.c - see names_rig.h */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "include/nfswb.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/unit.h"

#define GUARD_USEC 30000000
#define SLAB_BYTES (4u << 20)

struct world w;

/* ---- the world ---- */

static void
poke(void *arg)
{
	(void)arg;
	loop_defer(w.loop, w.turn);
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	(void)arg;
	(void)f;
	(void)offset;
	(void)length;
	(void)writer;
	(void)err;
}

void
world_turn(void *arg)
{
	uint64_t now = loop_now(w.loop), due;

	(void)arg;
	wb_run(w.wb, now);
	due = wb_deadline(w.wb);
	if (due != UINT64_MAX)
		loop_timer_set(w.loop, w.next, due > now ? due - now : 0);
}

static void
guard(void *arg)
{
	(void)arg;
	w.late = true;
	loop_stop(w.loop);
}

static void
room(void *arg)
{
	(void)arg;
	loop_stop(w.loop);
}

static void
drain(void *arg, struct wb_file *f)
{
	(void)arg;
	(void)f;
	w.drains++;
}

static void
described(void *arg, struct wb_file *f)
{
	(void)arg;
	(void)f;
	w.memory.described++;
}

static int
hide(void *arg, const char *text, uint64_t *id)
{
	(void)arg;
	if (w.memory.full)
		return -ENOSPC;
	w.memory.renames = nfssim_stats(w.sim)->calls[NFSPROC3_RENAME];
	snprintf(w.memory.text, sizeof w.memory.text, "%s", text);
	*id = ++w.memory.id;
	w.memory.hide++;
	return 0;
}

static void
unhide(void *arg, uint64_t id)
{
	(void)arg;
	CU_ASSERT_EQUAL(id, w.memory.id);
	w.memory.unhide++;
}

int
listen_on_loopback(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) ||
	    listen(fd, 16) || getsockname(fd, (struct sockaddr *)&a, &len))
		abort();
	*port = ntohs(a.sin_port);
	return fd;
}

void
start_pipeline(void)
{
	static const struct wb_hooks hooks = { poke, gave_up, NULL };
	static const struct slab_hooks slab_hooks = { .room = room,
		.released = room };
	struct wb_limits limits = {
		.dirty_bytes = 64 << 20, .dirty_background_bytes = 32 << 20,
		.whole_grants = true,
		.dirty_expire_usec = 30000000,
		.clean_expire_usec = 30000000,
		.late_duplicate_usec = 1000,
	};
	struct nfswb_layout l;
	void *control, *data;

	w.wb = wb_new(&limits, &hooks, NULL, loop_now(w.loop));
	if (!w.wb || nfswb_layout(&l, SLAB_BYTES))
		abort();
	control = aligned_alloc(4096, l.bytes);
	data = aligned_alloc(4096, SLAB_BYTES);
	if (!control || !data)
		abort();
	memset(control, 0, l.bytes);
	if (shm_view_init(&w.view, control, data, SLAB_BYTES))
		abort();
	shm_view_format(&w.view, 1);
	w.slab = slab_new(w.wb, &w.view, &slab_hooks, NULL);
}

void
start_namespace(void)
{
	static const struct ns_memory memory = { described, hide, unhide };

	w.ns = namespace_new(w.loop, w.config, w.wb);
	if (!w.ns)
		abort();
	ns_set_drain(w.ns, drain, NULL);
	ns_set_memory(w.ns, &memory, NULL);
}

void
world_start(const struct nfssim_options *options)
{
	static const struct nfssim_options none;

	memset(&w, 0, sizeof w);
	w.loop = evloop_new();
	w.turn = loop_deferred(w.loop, world_turn, NULL);
	w.next = loop_timer(w.loop, world_turn, NULL);
	w.guard = loop_timer(w.loop, guard, NULL);
	w.config = config_default();
	w.config->allow_urls = CONFIG_YES;
	w.config->server.resvport = RPC_RESVPORT_NO;
	w.sim = nfssim_new(w.loop, options ? options : &none);
	w.listen_fd = listen_on_loopback(&w.port);
	if (!w.sim || nfssim_listen(w.sim, w.listen_fd) < 0)
		abort();
	w.cred = cred_get(1000, 100, NULL, 0);
	start_pipeline();
	start_namespace();
}

void
world_end(void)
{
	namespace_free(w.ns);
	wb_free(w.wb);
	free(w.view.control);
	free(w.view.data);
	nfssim_free(w.sim);
	close(w.listen_fd);
	cred_put(w.cred);
	config_free(w.config);
	free(w.names);
	loop_timer_free(w.loop, w.guard);
	loop_timer_free(w.loop, w.next);
	loop_deferred_free(w.loop, w.turn);
	loop_free(w.loop);
}

void
run(void)
{
	w.late = false;
	loop_timer_set(w.loop, w.guard, GUARD_USEC);
	loop_run(w.loop);
	loop_timer_clear(w.loop, w.guard);
	CU_ASSERT_FALSE(w.late);
}

/* ---- questions and answers ---- */

static void
keep_names(const struct nfswb_readdir_res *dir)
{
	unsigned i;

	for (i = 0; i < dir->names.names_len; i++) {
		const struct nfswb_name *n = &dir->names.names_val[i];

		w.names = realloc(w.names, (w.name_nr + 1) * sizeof *w.names);
		snprintf(w.names[w.name_nr++], sizeof *w.names, "%s",
			 n->name);
		w.cookie = n->cookie;
	}
	w.verifier = dir->verifier;
	w.eof = dir->eof;
}

void
answered(void *arg, int err, const char *text, const struct ns_answer *a)
{
	(void)arg;
	w.answers++;
	w.err = err;
	snprintf(w.text, sizeof w.text, "%s", text ? text : "");
	if (a) {
		w.attr = a->attr;
		w.length = a->length;
		w.eof = a->eof;
		if (a->file)
			w.file = file_ref(a->file);
		if (a->content)
			snprintf(w.content, sizeof w.content, "%s",
				 a->content);
		if (a->data)
			memcpy(w.data, a->data, a->length);
		if (a->dir)
			keep_names(a->dir);
	}
	loop_stop(w.loop);
}

/* The answer never comes from inside the call. */
int
answer(void)
{
	CU_ASSERT_EQUAL(w.answers, 0);
	while (!w.answers && !w.late)
		run();
	CU_ASSERT_EQUAL(w.answers, 1);
	w.answers = 0;
	return w.err;
}

const char *
url(const char *path)
{
	static char text[2][8192];
	static unsigned i;

	i = !i;
	snprintf(text[i], sizeof text[i], "nfs://127.0.0.1:%u/export/%s"
		 "?mountport=%u", w.port, path, w.port);
	return text[i];
}

int
do_open(const char *path, int oflags, unsigned mode)
{
	w.file = NULL;
	ns_open(w.ns, url(path), w.cred, oflags, mode, 77, answered, NULL);
	return answer();
}

int
do_stat(const char *path, bool follow)
{
	ns_stat(w.ns, url(path), w.cred, follow, answered, NULL);
	return answer();
}

int
do_unlink(const char *path)
{
	ns_unlink(w.ns, url(path), w.cred, answered, NULL);
	return answer();
}

int
do_rename(const char *from, const char *to)
{
	ns_rename(w.ns, url(from), url(to), w.cred, answered, NULL);
	return answer();
}

int
do_mkdir(const char *path)
{
	ns_mkdir(w.ns, url(path), 0750, w.cred, answered, NULL);
	return answer();
}

int
do_symlink(const char *content, const char *path)
{
	ns_symlink(w.ns, content, url(path), w.cred, answered, NULL);
	return answer();
}

struct wb_handle *
open_file(const char *path, int oflags)
{
	struct wb_handle *h;

	CU_ASSERT_EQUAL_FATAL(do_open(path, oflags, 0644), 0);
	h = handle_open(w.file, w.cred, oflags);
	file_put(w.file);
	return h;
}

void
file_answered(void *arg, int err)
{
	(void)arg;
	w.answers++;
	w.err = err;
	loop_stop(w.loop);
}

void
write_text(struct wb_handle *h, const char *text, uint64_t offset)
{
	size_t done = 0, len = strlen(text);

	while (done < len && !w.late) {
		int64_t n = slab_write(w.slab, h, text + done, len - done,
				       offset + done, loop_now(w.loop));

		CU_ASSERT_FATAL(n >= 0);
		done += (size_t)n;
		if (!n)
			run();		/* until room() */
	}
}

int
do_close(struct wb_handle *h)
{
	handle_close(h, loop_now(w.loop), file_answered, NULL);
	return answer();
}

static bool (*awaited)(void);

static void
tick(void *arg)
{
	struct loop_timer **t = arg;

	if (awaited())
		loop_stop(w.loop);
	else
		loop_timer_set(w.loop, *t, 1000);
}

bool
comes_true(bool (*condition)(void))
{
	struct loop_timer *t = NULL;

	t = loop_timer(w.loop, tick, &t);
	awaited = condition;
	loop_timer_set(w.loop, t, 0);
	run();
	loop_timer_free(w.loop, t);
	return condition();
}

/* ---- faults ---- */

struct world_fault fault;

static void
fault_fn(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->prog != NFSSIM_NFS || c->proc != fault.proc || !fault.times)
		return;
	fault.times--;
	*v = fault.verdict;
}

void
break_next(uint32_t proc, struct nfssim_verdict v, unsigned times)
{
	fault.proc = proc;
	fault.verdict = v;
	fault.times = times;
	nfssim_set_fault(w.sim, fault_fn, NULL);
}

uint64_t
calls(uint32_t proc)
{
	return nfssim_stats(w.sim)->calls[proc];
}
