/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * world.c - see world.h; the wiring is that of daemon/wiring.c
 *
 * The program's own poll, ppoll, clock_gettime and nanosleep stand before the C
 * library's, for libnfswb too; peer_init, mount_open and rpc_client_new are
 * changed at the link (--wrap).
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/mount.h"
#include "daemon/namespace.h"
#include "daemon/peer.h"
#include "daemon/session.h"
#include "tests/model/world.h"

#define PATIENCE (900 * SECOND)
#define HOST "127.0.0.1"

struct inner {
	struct world pub;
	struct config *config;
	struct namespace *ns;
	struct sessions *sessions;
	struct loop_deferred *turn, *mounted;
	struct loop_timer *next_turn;
	struct sooner *sooner;
	char dir[40], socket[60];
	unsigned uid;			/* of who connects next */
	uint64_t seed;
	bool in_loop;
	uint64_t clock_nsec;		/* as last told */
	mount_done_fn *mount_done;
	void *mount_arg;
};

struct sooner {
	struct sooner *next;
	struct loop_deferred *deferred;
	void (*fn)(void *);
	void *arg;
};

static struct inner *here;
static void (*on_fail)(void);

static void
remove_files(const struct inner *w)
{
	static const char *const names[] = { "s", "lock", "sessions" };
	char path[80];
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", w->dir, names[i]);
		unlink(path);
	}
	rmdir(w->dir);
}

void
world_on_fail(void (*fn)(void))
{
	on_fail = fn;
}

void
world_fail(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (on_fail)
		on_fail();
	fflush(stdout);
	if (here)
		remove_files(here);
	_exit(1);
}

static void *
must(void *p)
{
	if (!p)
		world_fail("no memory");
	return p;
}

/* ---- waiting: the C library's functions, as far as libnfswb uses them ---- */

static int
real_poll(struct pollfd *p, nfds_t nr)
{
	struct timespec none = { 0 };

	return (int)syscall(SYS_ppoll, p, nr, &none, NULL, 0);
}

static bool
one_round(void *arg)
{
	unsigned *asked = arg;

	return (*asked)++ > 0;
}

static int
virtual_poll(struct pollfd *p, nfds_t nr, uint64_t usec)
{
	struct loop *l = here->pub.loop;
	uint64_t began = loop_now(l), passed;
	unsigned rounds, asked;
	int n;

	for (rounds = 0;; rounds++) {
		n = real_poll(p, nr);
		passed = loop_now(l) - began;
		if (n || passed >= usec)
			return n;
		if (passed > PATIENCE || rounds > 3000000)
			world_fail("a call waits for ever");
		if (here->pub.beside) {
			here->pub.beside(here->pub.arg, rounds);
			if ((n = real_poll(p, nr)))
				return n;
		}
		asked = 0;
		here->in_loop = true;
		if (!vloop_run_until(l, one_round, &asked, usec - passed) &&
		    loop_now(l) - began < usec)
			world_fail("a call waits for what can't happen");
		here->in_loop = false;
	}
}

int
poll(struct pollfd *p, nfds_t nr, int msec)
{
	if (!here || here->in_loop || msec == 0)
		return real_poll(p, nr);
	return virtual_poll(p, nr, msec < 0 ? PATIENCE * 2 :
					      (uint64_t)msec * 1000);
}

int
ppoll(struct pollfd *p, nfds_t nr, const struct timespec *t,
      const sigset_t *mask)
{
	(void)mask;
	if (!here)
		return -1;
	return virtual_poll(p, nr, t ? (uint64_t)t->tv_sec * SECOND +
				       (uint64_t)t->tv_nsec / 1000 + 1 :
				       PATIENCE * 2);
}

/* Every look takes some time, lest who spins spins for ever. */
int
clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t nsec;

	if (!here)
		return (int)syscall(SYS_clock_gettime, id, t);
	nsec = loop_now(here->pub.loop) * 1000;
	here->clock_nsec += 300;
	if (here->clock_nsec < nsec)
		here->clock_nsec = nsec;
	t->tv_sec = (time_t)(here->clock_nsec / 1000000000);
	t->tv_nsec = (long)(here->clock_nsec % 1000000000);
	return 0;
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	if (here)
		vloop_pass(here->pub.loop, (uint64_t)t->tv_sec * SECOND +
			   (uint64_t)t->tv_nsec / 1000 + 1);
	return 0;
}

/* ---- what is changed at the link ---- */

int __wrap_peer_init(struct peer *, int fd);
void __wrap_mount_open(struct mounter *, const char *, unsigned, unsigned,
		       const char *, bool, mount_done_fn *, void *);
struct rpc_client *__wrap_rpc_client_new(struct loop *,
					 const struct rpc_params *);
struct rpc_client *__real_rpc_client_new(struct loop *,
					 const struct rpc_params *);

int
__wrap_peer_init(struct peer *p, int fd)
{
	static const gid_t group[] = { 100 };

	(void)fd;
	memset(p, 0, sizeof *p);
	p->pid = getpid();
	p->starttime = 1;
	p->cred = cred_get(here->uid, 100, group, 1);
	strcpy(p->comm, "model");
	return p->cred ? 0 : -ENOMEM;
}

static void
mounted(void *arg)
{
	struct mount_answer a = { .nfsport = 2049, .export = "/export" };

	(void)arg;
	if (nfssim_lookup(here->pub.sim, "", &a.root) < 0)
		world_fail("nfssim has no root");
	here->mount_done(here->mount_arg, 0, NULL, &a);
}

void
__wrap_mount_open(struct mounter *m, const char *address, unsigned nfsport,
		  unsigned mountport, const char *path, bool folder,
		  mount_done_fn *done, void *arg)
{
	(void)m;
	(void)address;
	(void)nfsport;
	(void)mountport;
	(void)path;
	(void)folder;
	here->mount_done = done;
	here->mount_arg = arg;
	loop_defer(here->pub.loop, here->mounted);
}

struct rpc_client *
__wrap_rpc_client_new(struct loop *l, const struct rpc_params *params)
{
	struct rpc_params p = *params;

	p.connect_hook = nfssim_connect;
	p.connect_arg = here->pub.sim;
	p.seed = here->seed;
	return __real_rpc_client_new(l, &p);
}

/* ---- the daemon ---- */

static void
poke(void *arg)
{
	struct inner *w = arg;

	loop_defer(w->pub.loop, w->turn);
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	struct inner *w = arg;

	(void)writer;
	(void)err;
	w->pub.given_up_bytes += length;
	if (w->pub.gave_up)
		w->pub.gave_up(w->pub.arg, file_fh(f), offset, length);
}

static void
turn(void *arg)
{
	struct inner *w = arg;
	uint64_t now = loop_now(w->pub.loop), next;

	wb_run(w->pub.wb, now);
	next = wb_deadline(w->pub.wb);
	if (next == UINT64_MAX)
		loop_timer_clear(w->pub.loop, w->next_turn);
	else
		loop_timer_set(w->pub.loop, w->next_turn,
			       next > now ? next - now : 0);
}

static void
drain(void *arg, struct wb_file *f)
{
	struct inner *w = arg;

	if (w->sessions)
		sessions_drain(w->sessions, f);
}

static char *
statistics(void *arg, const struct asker *who)
{
	(void)who;
	(void)arg;
	return strdup("{}");
}

static char *
control(void *arg, const char *request, const struct asker *who, int *err)
{
	(void)err;
	(void)arg;
	(void)who;
	return strdup(request);
}

static int
listen_at(struct inner *w)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	snprintf(w->dir, sizeof w->dir, "%s/nfswb-model.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(w->dir))
		world_fail("mkdtemp: %s", strerror(errno));
	snprintf(w->socket, sizeof w->socket, "%s/s", w->dir);
	strcpy(a.sun_path, w->socket);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) ||
	    listen(fd, 64))
		world_fail("%s: %s", w->socket, strerror(errno));
	return fd;
}

static void
configure_as_linux_3(struct config *c)
{
	c->dirty_throttling = THROTTLE_NONE;
	c->server.congestion_policy = CONGESTION_NONE;
	c->server.commit_priority = COMMIT_FIFO;
	c->server.commit_rule = COMMIT_BY_KERNEL;
	c->server.writeback_bounds = BOUND_NONE;
}

static void
configure(struct inner *w, const struct world_options *o)
{
	struct config *c = must(config_default());

	w->config = c;
	c->allow_urls = CONFIG_YES;
	c->slab_bytes = o->slab_bytes ? o->slab_bytes : 1 << 20;
	c->dirty_bytes = o->dirty_bytes ? o->dirty_bytes : 2 << 20;
	c->dirty_background_bytes = c->dirty_bytes / 2;
	c->dirty_expire_centisecs = 500;
	c->clean_expire_sec = 20;
	c->late_duplicate_sec = 10;
	c->grace_sec = 5;
	c->server.wsize = o->wsize ? o->wsize : 8192;
	c->server.rsize = 16384;
	c->server.timeo = o->timeo_ds ? o->timeo_ds : 10;
	c->server.retrans = 2;
	c->server.stable = o->stable;
	c->server.congestion_kb = o->congestion_kb ? o->congestion_kb : 512;
	c->server.slot_table_entries = 16;
	if (o->as_linux_3)
		configure_as_linux_3(c);
}

static void
start_pipeline(struct inner *w)
{
	static const struct wb_hooks hooks = { poke, gave_up, NULL };
	const struct config *c = w->config;
	struct wb_limits limits = {
		.dirty_bytes = c->dirty_bytes,
		.dirty_background_bytes = c->dirty_background_bytes,
		.dirty_throttling = c->dirty_throttling,
		.whole_grants = c->server.writeback_bounds & BOUND_GRANTS,
		.dirty_expire_usec = c->dirty_expire_centisecs * 10000ull,
		.clean_expire_usec = c->clean_expire_sec * SECOND,
		.late_duplicate_usec = c->late_duplicate_sec * SECOND,
	};

	w->turn = must(loop_deferred(w->pub.loop, turn, w));
	w->next_turn = must(loop_timer(w->pub.loop, turn, w));
	w->pub.wb = must(wb_new(&limits, &hooks, w, loop_now(w->pub.loop)));
}

static void
start_sessions(struct inner *w)
{
	struct sessions_env env = {
		.loop = w->pub.loop, .config = w->config, .wb = w->pub.wb,
		.ns = w->ns, .instance = 77,
		.statistics = statistics, .control = control,
	};
	char *error;

	w->sessions = sessions_new(&env, listen_at(w), w->dir, &error);
	if (!w->sessions)
		world_fail("%s", error);
}

struct world *
world_new(const struct world_options *o)
{
	struct inner *w = must(calloc(1, sizeof *w));
	struct nfssim_options sim = {
		.delay_usec = o->delay_usec ? o->delay_usec : 200,
	};

	log_set_level(getenv("SIM_VERBOSE") ? LOG_LEVEL_DEBUG :
					      LOG_LEVEL_ERROR);
	w->seed = o->seed ? o->seed : 1;
	srandom((unsigned)w->seed);	/* the pipeline's jitter */
	w->pub.loop = must(vloop_new(1000 * SECOND));
	w->pub.sim = must(nfssim_new(w->pub.loop, &sim));
	w->mounted = must(loop_deferred(w->pub.loop, mounted, w));
	configure(w, o);
	start_pipeline(w);
	w->ns = must(namespace_new(w->pub.loop, w->config, w->pub.wb));
	ns_set_drain(w->ns, drain, w);
	start_sessions(w);
	here = w;
	return &w->pub;
}

void
world_free(struct world *pub)
{
	struct inner *w = here;
	struct sooner *s;

	sessions_free(w->sessions);
	namespace_free(w->ns);
	wb_free(pub->wb);
	nfssim_free(pub->sim);
	while ((s = w->sooner)) {
		w->sooner = s->next;
		loop_deferred_free(pub->loop, s->deferred);
		free(s);
	}
	loop_deferred_free(pub->loop, w->mounted);
	loop_deferred_free(pub->loop, w->turn);
	loop_timer_free(pub->loop, w->next_turn);
	loop_free(pub->loop);
	config_free(w->config);
	remove_files(w);
	here = NULL;
	free(w);
}

/* ---- applications ---- */

struct nfswb *
world_connect(struct world *w, unsigned uid)
{
	struct nfswb *nfs;

	(void)w;
	here->uid = uid;
	nfs = nfswb_connect(here->socket, NFSWB_NO_THREAD);
	if (!nfs)
		world_fail("connect: %s", nfswb_strerror(NULL));
	return nfs;
}

const char *
world_target(const char *name)
{
	static char text[4][80];
	static unsigned nr;
	char *to = text[nr++ % 4];

	snprintf(to, sizeof text[0], "nfs://" HOST "/export/%s", name);
	return to;
}

void
world_soon(struct world *w, void (*fn)(void *), void *arg)
{
	struct sooner *s = must(calloc(1, sizeof *s));

	s->deferred = must(loop_deferred(w->loop, fn, arg));
	s->next = here->sooner;
	here->sooner = s;
	loop_defer(w->loop, s->deferred);
}
