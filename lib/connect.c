/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * connect.c - a session begins and ends
 *
 *	find the socket ── HELLO ── map the two memfds ── watch it
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/fork.h"
#include "lib/session.h"
#include "lib/watch.h"

#define SYSTEM_SOCKET "/run/nfswbd/nfswbd.sock"
#define HELLO_NSEC 30000000000ull
#define BACKLOG_NSEC 10000000	/* until the daemon has accepted others */

static int
use_path(struct nfswb *wb, const char *path)
{
	if (strlen(path) >= sizeof wb->address.sun_path) {
		error_cause("%s: longer than a socket's path may be (%zu)",
			    path, sizeof wb->address.sun_path - 1);
		return -ENAMETOOLONG;
	}
	wb->address.sun_family = AF_UNIX;
	strcpy(wb->address.sun_path, path);
	return 0;
}

/* The first that exists. */
static int
find_path(struct nfswb *wb)
{
	const char *named = secure_getenv("NFSWB_SOCKET");
	const char *user = secure_getenv("XDG_RUNTIME_DIR");
	char in_user[sizeof wb->address.sun_path + 16] = "";

	if (named && *named && access(named, F_OK) == 0)
		return use_path(wb, named);
	if (user && *user) {
		snprintf(in_user, sizeof in_user, "%s/nfswbd.sock", user);
		if (access(in_user, F_OK) == 0)
			return use_path(wb, in_user);
	}
	if (access(SYSTEM_SOCKET, F_OK) == 0)
		return use_path(wb, SYSTEM_SOCKET);
	error_cause("no socket of nfswbd's found (tried %s%s%s%s"
		    SYSTEM_SOCKET "); is nfswbd running?",
		    named ? named : "", named ? ", " : "",
		    in_user, *in_user ? ", " : "");
	return -ENOENT;
}

/* Waits for the answer, without end only where the daemon makes progress. */
static int
run_handshake(struct handshake *h, nfswb_reply *reply, uint64_t deadline)
{
	struct pollfd p = { .fd = h->fd };
	uint64_t now;
	int rc;

	for (;;) {
		rc = handshake_step(h, reply);
		if (rc != 0)
			return rc;
		now = clock_now();
		if (now >= deadline)
			return -ETIMEDOUT;
		p.events = handshake_events(h);
		(void)poll(&p, 1, (int)((deadline - now) / 1000000) + 1);
	}
}

static int
begin_hello(struct nfswb *wb, struct handshake *h, uint64_t deadline)
{
	const struct timespec pause = { .tv_nsec = BACKLOG_NSEC };
	nfswb_call call = { .id = wb->next_id++, .args.type = NFSWB_HELLO };
	int rc;

	call.args.nfswb_args_u.hello.protocol = NFSWB_PROTOCOL;
	for (;;) {
		rc = handshake_begin(h, &wb->address, &call, NULL);
		if (rc != -EAGAIN || clock_now() >= deadline)
			return rc;
		nanosleep(&pause, NULL);
	}
}

static bool
is_sealed(int fd, size_t bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == bytes &&
	       (fcntl(fd, F_GET_SEALS) & seals) == seals;
}

static int
map_one(struct nfswb *wb, unsigned i, size_t bytes)
{
	void *p;

	if (!is_sealed(wb->memory_fd[i], bytes))
		return -EPROTO;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 wb->memory_fd[i], 0);
	if (p == MAP_FAILED)
		return -errno;
	wb->memory[i] = p;
	return madvise(p, bytes, MADV_DONTFORK) < 0 ? -errno : 0;
}

static int
map_memory(struct nfswb *wb, uint64_t data_bytes)
{
	struct nfswb_layout *layout = &wb->shm.layout;
	int rc;

	if (nfswb_layout(layout, data_bytes) < 0)
		return -EPROTO;
	wb->filler = calloc(layout->chunk_nr, sizeof *wb->filler);
	if (!wb->filler)
		return -ENOMEM;
	rc = map_one(wb, 0, layout->bytes);
	if (rc == 0)
		rc = map_one(wb, 1, data_bytes);
	if (rc < 0)
		return rc;
	shm_view_init(&wb->shm, wb->memory[0], wb->memory[1], data_bytes);
	if (wb->shm.control->magic != NFSWB_SHM_MAGIC)
		return -EPROTO;
	wb->head = atomic_load(&wb->shm.control->head);
	wb->tail = wb->bell_head = atomic_load(&wb->shm.control->tail);
	return 0;
}

/* The daemon's answer to HELLO. */
static int
take_hello(struct nfswb *wb, struct handshake *h, const nfswb_answer *answer)
{
	const nfswb_hello_res *res;

	if (answer->error > 0) {
		error_cause("%s: %s", wb->address.sun_path,
			    answer->nfswb_answer_u.text);
		return -answer->error;
	}
	res = &answer->nfswb_answer_u.res.nfswb_res_u.hello;
	if (answer->error < 0 ||
	    answer->nfswb_answer_u.res.type != NFSWB_HELLO || h->got_nr != 2)
		return -EPROTO;
	wb->session = res->session;
	memcpy(wb->secret, res->secret, sizeof wb->secret);
	wb->memory_fd[0] = h->got[0];
	wb->memory_fd[1] = h->got[1];
	wb->fd = h->fd;
	h->got_nr = 0;
	h->fd = -1;
	return map_memory(wb, res->data_bytes);
}

static void
say_why(struct nfswb *wb, int err)
{
	const char *path = wb->address.sun_path;

	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		error_cause("%s: no nfswbd listens there (%s)", path,
			    strerrordesc_np(-err));
		break;
	case -EPROTO:
		error_cause("%s: what listens there is not nfswbd", path);
		break;
	case -ETIMEDOUT:
		error_cause("%s: no answer in %llu s", path,
			    HELLO_NSEC / 1000000000);
		break;
	default:
		error_cause("%s: %s", path, strerrordesc_np(-err));
	}
}

static int
say_hello(struct nfswb *wb)
{
	uint64_t deadline = clock_now() + HELLO_NSEC;
	struct handshake h;
	nfswb_reply reply;
	int rc = begin_hello(wb, &h, deadline);

	if (rc < 0) {
		say_why(wb, rc);
		return rc;
	}
	rc = run_handshake(&h, &reply, deadline);
	if (rc == -ECONNRESET || rc == -EPIPE)
		rc = -EPROTO;
	if (rc < 0) {
		say_why(wb, rc);
	} else {
		bool refused = reply.answer.error > 0;

		rc = take_hello(wb, &h, &reply.answer);
		if (rc < 0 && !refused)
			say_why(wb, rc);
		codec_free(&reply);
	}
	handshake_end(&h);
	return rc;
}

static struct nfswb *
session_new(unsigned flags)
{
	static _Atomic uint64_t serials;
	struct nfswb *wb = calloc(1, sizeof *wb);

	if (!wb)
		return NULL;
	wb->flags = flags;
	wb->born = fork_generation();
	wb->serial = atomic_fetch_add(&serials, 1) + 1;
	wb->timeout_msec = -1;
	wb->fd = wb->wake_fd = wb->handshake.fd = -1;
	wb->memory_fd[0] = wb->memory_fd[1] = -1;
	wb->next_id = 1;
	wb->shared.nr = NFSWB_NO_CHUNK;
	pthread_mutex_init(&wb->lock, NULL);
	LIST_INIT(&wb->files);
	TAILQ_INIT(&wb->calls);
	TAILQ_INIT(&wb->out);
	TAILQ_INIT(&wb->waiters);
	record_reader_init(&wb->in, NFSWB_RECORD_MAX);
	return wb;
}

static void
close_all(struct nfswb *wb)
{
	const int fds[] = { wb->fd, wb->wake_fd, wb->memory_fd[0],
			    wb->memory_fd[1] };
	size_t i;

	for (i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void
session_free(struct nfswb *wb)
{
	struct nfswb_file *f;

	wb->link = LINK_DEAD;
	call_fail_all(wb);
	while ((f = LIST_FIRST(&wb->files)))
		file_free(wb, f);
	if (wb->memory[0])
		munmap(wb->memory[0], wb->shm.layout.bytes);
	if (wb->memory[1])
		munmap(wb->memory[1], (size_t)wb->shm.layout.chunk_nr *
		       NFSWB_CHUNK_BYTES);
	close_all(wb);
	free(wb->filler);
	handshake_end(&wb->handshake);
	record_reader_free(&wb->in);
	pthread_mutex_destroy(&wb->lock);
	free(wb);
}

static int
connect_inner(struct nfswb *wb, const char *path)
{
	int rc = watch_prepare();

	if (rc == 0)
		rc = path ? use_path(wb, path) : find_path(wb);
	if (rc < 0)
		return rc;
	wb->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wb->wake_fd < 0)
		return -errno;
	rc = say_hello(wb);
	if (rc == 0 && !(wb->flags & NFSWB_NO_THREAD))
		rc = watch_add(wb);
	return rc;
}

struct nfswb *
nfswb_connect(const char *socket_path, unsigned flags)
{
	struct nfswb *wb = NULL;
	int rc = -EINVAL;

	error_enter(NULL);
	if (!(flags & ~(NFSWB_INTR | NFSWB_NO_THREAD))) {
		wb = session_new(flags);
		rc = wb ? connect_inner(wb, socket_path) : -ENOMEM;
	}
	if (rc < 0 && wb) {
		session_free(wb);
		wb = NULL;
	}
	error_leave(NULL, "nfswb_connect", rc);
	return wb;
}

void
nfswb_disconnect(struct nfswb *wb)
{
	if (!wb)
		return;
	if (fork_is_stale(wb)) {
		/* the child's copy: nothing is mapped, locks mean nothing */
		close_all(wb);
		if (wb->handshake.fd >= 0)
			close(wb->handshake.fd);
		free(wb);
	} else if (wb->flags & NFSWB_NO_THREAD) {
		session_free(wb);
	} else {
		watch_remove(wb);
	}
}

int
nfswb_set_timeout(struct nfswb *wb, int msec)
{
	int rc = error_enter(wb);

	if (rc == 0)
		atomic_store(&wb->timeout_msec, msec < 0 ? -1 : msec);
	return (int)error_leave(wb, "nfswb_set_timeout", rc);
}
