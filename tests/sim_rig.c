/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sim_rig.c - see sim_rig.h; the wiring is that of daemon/wiring.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "tests/sim_rig.h"

static void *
must(void *p)
{
	if (!p) {
		fprintf(stderr, "sim_rig: no memory\n");
		exit(99);
	}
	return p;
}

/* the pipeline's turns */

static void
poke(void *arg)
{
	struct rig *r = arg;

	loop_defer(r->loop, r->turn);
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	struct rig *r = arg;

	(void)f;
	(void)offset;
	(void)writer;
	(void)err;
	r->given_up_bytes += length;
}

static void
turn(void *arg)
{
	struct rig *r = arg;
	uint64_t now = loop_now(r->loop), next, dirtied;

	wb_run(r->wb, now);
	dirtied = wb_stats(r->wb, now)->throttle.dirtied;
	if (dirtied > r->most_dirtied)
		r->most_dirtied = dirtied;
	next = wb_deadline(r->wb);
	if (next == UINT64_MAX)
		loop_timer_clear(r->loop, r->next_turn);
	else
		loop_timer_set(r->loop, r->next_turn,
			       next > now ? next - now : 0);
}

static void
room(void *arg)
{
	struct rig *r = arg;

	r->room = true;
}

static void
released(void *arg)
{
	struct rig *r = arg;

	r->slab_gone = true;
}

/* made and taken apart */

static void
set_defaults(struct rig_options *o)
{
#define DEFAULT(field, value) if (!o->field) o->field = value
	DEFAULT(slab_bytes, 16 << 20);
	DEFAULT(dirty_bytes, 8 << 20);
	DEFAULT(dirty_background_bytes, o->dirty_bytes / 2);
	DEFAULT(dirty_expire_usec, 30 * RIG_SECOND);
	DEFAULT(late_duplicate_usec, 10 * RIG_SECOND);
	DEFAULT(congestion_bytes, 4 << 20);
	DEFAULT(wsize, 65536);
	DEFAULT(slot_nr, 64);
	DEFAULT(connection_nr, 1);
	DEFAULT(timeo_ds, 600);
	DEFAULT(delay_usec, o->model ? 0 : 200);
	DEFAULT(seed, 1);
#undef DEFAULT
}

static void
make_wb(struct rig *r)
{
	static const struct wb_hooks hooks = { poke, gave_up, NULL };
	struct wb_limits limits = {
		.dirty_bytes = r->opt.dirty_bytes,
		.dirty_background_bytes = r->opt.dirty_background_bytes,
		.whole_grants = true,
		.dirty_expire_usec = r->opt.dirty_expire_usec,
		.clean_expire_usec = 60 * RIG_SECOND,
		.late_duplicate_usec = r->opt.late_duplicate_usec,
	};

	r->turn = must(loop_deferred(r->loop, turn, r));
	r->next_turn = must(loop_timer(r->loop, turn, r));
	r->wb = must(wb_new(&limits, &hooks, r, loop_now(r->loop)));
}

static void
make_server(struct rig *r)
{
	struct nfssim_options sim = { .delay_usec = r->opt.delay_usec,
				      .model = r->opt.model,
				      .discard = r->opt.discard };
	struct wb_server_params server = {
		.name = "sim",
		.congestion_bytes = r->opt.congestion_bytes,
		.congestion_policy = CONGESTION_SPLIT,
		.bounds = BOUND_ALL,
		.slot_nr = r->opt.slot_nr,
	};
	struct rpc_params rpc = {
		.name = "sim", .prog = NFSSIM_NFS, .vers = 3,
		.connection_nr = r->opt.connection_nr,
		.slot_nr = r->opt.slot_nr, .timeo_ds = r->opt.timeo_ds,
		.retrans = 2, .connect_hook = nfssim_connect,
		.seed = r->opt.seed, .soft = r->opt.soft,
		.essential_nr = wb_server_call_nr(r->wb, &server),
	};

	r->sim = must(nfssim_new(r->sim_loop, &sim));
	rpc.connect_arg = r->sim;
	r->client = must(rpc_client_new(r->loop, &rpc));
	r->transport = must(transport_new(r->loop, r->client));
	r->server = must(wb_server_new(r->wb, &server, &transport_calls,
				       r->transport, loop_now(r->loop)));
}

static void
make_slab(struct rig *r)
{
	static const struct slab_hooks hooks = { .room = room,
		.released = released };
	struct nfswb_layout l = { 0 };

	nfswb_layout(&l, r->opt.slab_bytes);
	r->control = must(aligned_alloc(4096, l.bytes));
	memset(r->control, 0, l.bytes);
	r->data = must(calloc(1, r->opt.slab_bytes));
	shm_view_init(&r->view, r->control, r->data, r->opt.slab_bytes);
	shm_view_format(&r->view, 1);
	r->slab = must(slab_new(r->wb, &r->view, &hooks, r));
	r->chunk = NFSWB_NO_CHUNK;
}

struct rig *
rig_new(const struct rig_options *opt)
{
	static const struct rig_options none;
	static const gid_t group[] = { 7, 8, 9 };
	struct rig *r = must(calloc(1, sizeof *r));

	log_set_level(getenv("SIM_VERBOSE") ? LOG_LEVEL_DEBUG :
					     LOG_LEVEL_ERROR);
	r->opt = opt ? *opt : none;
	set_defaults(&r->opt);
	srandom((unsigned)r->opt.seed);	/* the pipeline's jitter */
	r->loop = must(vloop_new(1000 * RIG_SECOND));
	r->sim_loop = r->opt.apart ? must(vloop_new(1000 * RIG_SECOND)) :
				     r->loop;
	r->cred = must(cred_get(1000, 100, group, 3));
	make_wb(r);
	make_server(r);
	make_slab(r);
	return r;
}

void
rig_free(struct rig *r)
{
	rpc_client_free(r->client);
	wb_free(r->wb);
	transport_free(r->transport);
	nfssim_free(r->sim);
	loop_deferred_free(r->loop, r->turn);
	loop_timer_free(r->loop, r->next_turn);
	if (r->sim_loop != r->loop)
		loop_free(r->sim_loop);
	loop_free(r->loop);
	cred_put(r->cred);
	free(r->control);
	free(r->data);
	free(r);
}

/* what an application does */

struct wb_handle *
rig_open(struct rig *r, const char *path)
{
	struct wb_file_params params = { .wsize = r->opt.wsize,
					 .stable = r->opt.stable,
					 .max_size = INT64_MAX };
	struct wb_handle *h;
	struct wb_file *f;
	struct fh fh;

	if (nfssim_create(r->sim, path, &fh) < 0) {
		fprintf(stderr, "sim_rig: no %s on the server\n", path);
		exit(99);
	}
	f = must(file_get(r->server, &fh, &params, path));
	h = must(handle_open(f, r->cred, O_RDWR));
	file_put(f);
	return h;
}

static bool
has_room(void *arg)
{
	struct rig *r = arg;

	return r->room;
}

static void
wait_for_room(struct rig *r, uint32_t want, uint32_t chunk)
{
	struct nfswb_control *c = r->view.control;

	r->room = false;
	atomic_store(&c->want, want);
	atomic_store(&c->want_chunk, chunk);
	atomic_store(&c->c_waits, 1);
	slab_serve(r->slab, loop_now(r->loop));
	if (!vloop_run_until(r->loop, has_room, r, RIG_PATIENCE)) {
		fprintf(stderr, "sim_rig: a writer waits for ever\n");
		exit(99);
	}
}

/* Claims up to len bytes; what it got lies at *place. */
static uint32_t
claim(struct rig *r, size_t len, uint64_t *place)
{
	uint32_t fill, limit, n;
	uint64_t m;

	for (;;) {
		if (r->chunk == NFSWB_NO_CHUNK)
			r->chunk = ring_grant_pop(&r->view);
		if (r->chunk == NFSWB_NO_CHUNK) {
			wait_for_room(r, NFSWB_CHUNK_BYTES, NFSWB_NO_CHUNK);
			continue;
		}
		m = atomic_load(&r->view.mark[r->chunk]);
		fill = nfswb_mark_fill(m);
		limit = nfswb_mark_limit(m);
		if (m & NFSWB_MARK_CLOSED || fill == NFSWB_CHUNK_BYTES) {
			r->chunk = NFSWB_NO_CHUNK;
			continue;
		}
		if (fill == limit) {
			wait_for_room(r, 4096, r->chunk);
			continue;
		}
		n = limit - fill < len ? limit - fill : (uint32_t)len;
		if (!atomic_compare_exchange_strong(&r->view.mark[r->chunk],
						    &m, m + n))
			continue;
		*place = (uint64_t)r->chunk * NFSWB_CHUNK_BYTES + fill;
		return n;
	}
}

static void
post(struct rig *r, struct wb_handle *h, const struct nfswb_ring_entry *e)
{
	int err;

	for (;;) {
		err = slab_post(r->slab, h, e, 0, loop_now(r->loop));
		if (err != -ENOBUFS)
			break;
		r->room = false;
		if (!vloop_run_until(r->loop, has_room, r, RIG_PATIENCE))
			break;
	}
	if (err) {
		fprintf(stderr, "sim_rig: post: %s\n", strerror(-err));
		exit(99);
	}
	slab_serve(r->slab, loop_now(r->loop));
}

void
rig_write(struct rig *r, struct wb_handle *h, uint64_t offset,
	  const void *data, size_t len)
{
	struct nfswb_ring_entry e = { .kind = NFSWB_RING_WRITE, .file = 1 };
	const unsigned char *from = data;
	uint32_t n;

	for (; len; len -= n, from += n, offset += n) {
		n = claim(r, len, &e.place);
		memcpy(r->view.data + e.place, from, n);
		e.offset = offset;
		e.length = n;
		post(r, h, &e);
	}
}

int64_t
rig_write_inline(struct rig *r, struct wb_handle *h, uint64_t offset,
		 const void *data, size_t len)
{
	return slab_write(r->slab, h, data, len, offset, loop_now(r->loop));
}

/* waiting */

static void
note_done(void *arg, int err)
{
	struct rig_wait *w = arg;

	w->done = true;
	w->err = err;
}

static bool
is_done(void *arg)
{
	struct rig_wait *w = arg;

	return w->done;
}

int
rig_finish(struct rig *r, struct rig_wait *w)
{
	return vloop_run_until(r->loop, is_done, w, RIG_PATIENCE) ? w->err :
								    -ETIME;
}

void
rig_fsync_start(struct rig *r, struct wb_handle *h, struct rig_wait *w)
{
	*w = (struct rig_wait){ 0 };
	handle_fsync(h, loop_now(r->loop), note_done, w);
}

int
rig_fsync(struct rig *r, struct wb_handle *h)
{
	struct rig_wait w;

	rig_fsync_start(r, h, &w);
	return rig_finish(r, &w);
}

int
rig_close(struct rig *r, struct wb_handle *h)
{
	struct rig_wait w = { 0 };

	handle_close(h, loop_now(r->loop), note_done, &w);
	return rig_finish(r, &w);
}

void
rig_truncate_start(struct rig *r, struct wb_handle *h, uint64_t size,
		   struct rig_wait *w)
{
	*w = (struct rig_wait){ 0 };
	handle_truncate(h, size, loop_now(r->loop), note_done, w);
}

int
rig_truncate(struct rig *r, struct wb_handle *h, uint64_t size)
{
	struct rig_wait w;

	rig_truncate_start(r, h, size, &w);
	return rig_finish(r, &w);
}

int
rig_sync(struct rig *r)
{
	struct rig_wait w = { 0 };
	int err = wb_sync(r->wb, NULL, NULL, loop_now(r->loop), note_done,
			  &w);

	return err ? err : rig_finish(r, &w);
}

/* what a test asks */

bool
rig_is(struct rig *r, const char *path, enum nfssim_which which,
       const void *data, size_t len)
{
	unsigned char *there;
	int64_t size = nfssim_size(r->sim, path, which);
	bool same;

	if (size != (int64_t)len) {
		printf("# %s is %lld bytes, not %zu\n", path, (long long)size,
		       len);
		return false;
	}
	there = must(malloc(len + 1));
	same = nfssim_read(r->sim, path, which, 0, there, len) ==
	       (int64_t)len;
	if (same && len && memcmp(there, data, len)) {
		const unsigned char *want = data;
		size_t i = 0;

		while (there[i] == want[i])
			i++;
		printf("# %s differs from byte %zu on\n", path, i);
		same = false;
	}
	free(there);
	return same;
}

const struct server_stats *
rig_stats(struct rig *r)
{
	return wb_server_stats(r->server, loop_now(r->loop));
}
