/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wb_bench.c - see wb_bench.h */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/wb_bench.h"
#include "tests/wb_check.h"

static void
poke(void *arg)
{
	((struct bench *)arg)->poked = true;
}

static void
gave_up(void *arg, struct wb_file *f, uid_t writer, uint64_t offset,
	uint64_t length, int err)
{
	(void)f;
	(void)offset;
	(void)writer;
	(void)err;
	((struct bench *)arg)->gave_up += length;
}

static int
queue(void *arg, struct wb_call *c)
{
	struct bench *b = arg;

	if (b->no_memory)
		return -ENOMEM;
	assert(b->call_nr < BENCH_CALLS);
	if (b->queued)
		b->queued(b, c);
	b->call[b->call_nr++] = c;
	return 0;
}

static void
raise_class(void *arg, struct wb_call *c, enum wb_class class)
{
	(void)c;
	(void)class;
	((struct bench *)arg)->raised++;
}

/* Whose memory may not be written to any more. */
static void
drop_data(void *arg, struct wb_call *c)
{
	(void)arg;
	c->iov_nr = 0;
}

static const struct wb_calls calls = { queue, raise_class, NULL, drop_data,
				       NULL };

static void
room(void *arg)
{
	((struct bench *)arg)->rooms++;
}

static void
released(void *arg)
{
	((struct bench *)arg)->released++;
}

static uint64_t
either(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

static const struct wb_hooks hooks = { poke, gave_up, NULL };
static void
idle(void *arg, uint64_t place, uint64_t length)
{
	(void)place;
	((struct bench *)arg)->idle_bytes += length;
}

static const struct slab_hooks slab_hooks = { room, released, idle };

static void
new_session(struct bench *b)
{
	struct nfswb_layout l;

	if (nfswb_layout(&l, b->slab_bytes))
		abort();
	b->control = aligned_alloc(4096, l.bytes);
	memset(b->control, 0, l.bytes);
	if (shm_view_init(&b->view, b->control, malloc(b->slab_bytes),
			  b->slab_bytes))
		abort();
	shm_view_format(&b->view, 1);
	b->slab = slab_new(b->wb, &b->view, &slab_hooks, b);
	b->head = 0;
	b->chunk = NFSWB_NO_CHUNK;
}

void
bench_swap(struct bench *b)
{
	struct bench was = *b;

	b->slab = b->other.slab;
	b->view = b->other.view;
	b->control = b->other.control;
	b->head = b->other.head;
	b->chunk = b->other.chunk;
	b->kept_place = b->other.kept_place;
	b->kept = b->other.kept;
	b->other.slab = was.slab;
	b->other.view = was.view;
	b->other.control = was.control;
	b->other.head = was.head;
	b->other.chunk = was.chunk;
	b->other.kept_place = was.kept_place;
	b->other.kept = was.kept;
	if (!b->slab)
		new_session(b);
}

static void
new_pipeline(struct bench *b)
{
	b->wb = wb_new(&b->limits, &hooks, b, b->now);
	b->server = wb_server_new(b->wb, &b->params, &calls, b, b->now);
}

static struct slab *
take_over(struct bench *b, struct shm_view *v)
{
	struct slab *s = slab_new(b->wb, v, &slab_hooks, b);

	slab_void_grants(s);
	atomic_store(&v->control->g_head, 0);
	atomic_store(&v->control->g_tail, 0);
	return s;
}

void
bench_crash(struct bench *b)
{
	wb_free(b->wb);
	b->call_nr = 0;
	b->kept = b->other.kept = 0;
	b->now += 1000;
	new_pipeline(b);
	b->slab = take_over(b, &b->view);
	b->chunk = b->other.chunk = NFSWB_NO_CHUNK;
	if (b->other.slab)
		b->other.slab = take_over(b, &b->other.view);
}

unsigned
bench_file_nr(const struct wb_handle *h)
{
	unsigned nr;

	memcpy(&nr, file_fh(h->file)->data, sizeof nr);
	return nr;
}

void
bench_init(struct bench *b, const struct bench_options *o)
{
	struct wb_limits limits = {
		.dirty_bytes = either(o->dirty_bytes, 64 << 20),
		.dirty_background_bytes = either(o->background_bytes, 32 << 20),
		.dirty_throttling = o->dirty_throttling,
		.reclaim_policy = o->reclaim_policy,
		.whole_grants = !o->unbound,
		.dirty_expire_usec = 30000000,
		.clean_expire_usec = 3600000000ull,
		.late_duplicate_usec = 10000000,
	};
	struct wb_server_params params = {
		.name = "bench",
		.congestion_bytes = either(o->congestion_bytes, 64 << 20),
		.congestion_policy = o->congestion_policy,
		.commit_priority = o->commit_priority,
		.commit_rule = o->commit_rule,
		.bounds = o->unbound ? BOUND_NONE : BOUND_ALL,
		.slot_nr = 16,
		.write_nr = o->write_nr,
	};

	memset(b, 0, sizeof *b);
	b->now = 1000000;
	b->wsize = (uint32_t)either(o->wsize, 1 << 20);
	b->limits = limits;
	b->params = params;
	new_pipeline(b);
	b->slab_bytes = either(o->slab_bytes, 16 << 20);
	new_session(b);
}

void
bench_free(struct bench *b)
{
	struct wb_call *c;

	/* as the transport ends: every call is answered first */
	while (b->wb && (c = bench_take(b, 0))) {
		c->err = -ECANCELED;
		c->done(c, b->now);
	}
	if (b->wb)
		wb_free(b->wb);
	free(b->control);
	free(b->view.data);
	free(b->other.control);
	free(b->other.view.data);
}

struct wb_handle *
bench_open(struct bench *b, unsigned file_nr, uid_t uid, int oflags)
{
	struct wb_file_params params = {
		.wsize = b->wsize,
		.rsize = 128 << 10,
		.read_ahead = 2 << 20,
		.stable = WB_UNSTABLE,
		.max_size = INT64_MAX,
	};
	struct cred *cred = cred_get(uid, uid, NULL, 0);
	struct wb_handle *h;
	struct wb_file *f;
	struct fh fh;
	char name[32];

	fh_set(&fh, &file_nr, sizeof file_nr);
	snprintf(name, sizeof name, "file %u", file_nr);
	f = file_get(b->server, &fh, &params, name);
	h = handle_open(f, cred, oflags);
	file_put(f);
	cred_put(cred);
	return h;
}

/* A claim, as the library makes it. */
static uint32_t
claim(struct bench *b, uint32_t want, uint64_t *place)
{
	uint64_t m;
	uint32_t fill, n;

	if (b->kept) {
		n = b->kept < want ? b->kept : want;
		*place = b->kept_place;
		b->kept -= n;
		b->kept_place += n;
		return n;
	}
	for (;;) {
		if (b->chunk == NFSWB_NO_CHUNK) {
			b->chunk = ring_grant_pop(&b->view);
			if (b->chunk == NFSWB_NO_CHUNK)
				return 0;
		}
		m = atomic_load(&b->view.mark[b->chunk]);
		fill = nfswb_mark_fill(m);
		if (!(m & NFSWB_MARK_CLOSED) && fill < nfswb_mark_limit(m))
			break;
		if (!(m & NFSWB_MARK_CLOSED) && fill < NFSWB_CHUNK_BYTES)
			return 0;	/* may be raised */
		b->chunk = NFSWB_NO_CHUNK;
	}
	n = nfswb_mark_limit(m) - fill;
	if (n > want)
		n = want;
	atomic_fetch_add(&b->view.mark[b->chunk], n);
	*place = (uint64_t)b->chunk * NFSWB_CHUNK_BYTES + fill;
	return n;
}

static void
ask_for_room(struct bench *b, uint32_t want)
{
	atomic_store(&b->view.control->want, want);
	atomic_store(&b->view.control->want_chunk, b->chunk);
	atomic_store(&b->view.control->c_waits, 1);
	slab_serve(b->slab, b->now);
	bench_turn(b);
}

uint32_t
bench_write_some(struct bench *b, struct wb_handle *h, uint64_t offset,
		 uint32_t length, unsigned char fill)
{
	struct nfswb_ring_entry r = {
		.kind = h->oflags & O_APPEND ? NFSWB_RING_APPEND
					     : NFSWB_RING_WRITE,
		.file = bench_file_nr(h),
	};
	uint32_t n, done;
	uint64_t place;
	int err;

	for (done = 0; done < length; done += n) {
		n = claim(b, length - done, &place);
		if (!n) {
			ask_for_room(b, length - done);
			n = claim(b, length - done, &place);
		}
		if (!n)
			break;
		memset(b->view.data + place, fill, n);
		r.offset = r.kind == NFSWB_RING_APPEND ? 0 : offset + done;
		r.place = place;
		r.length = n;
		err = slab_post(b->slab, h, &r, ++b->head, b->now);
		if (err) {
			b->kept_place = place;
			b->kept += n;
			break;
		}
	}
	return done;
}

bool
bench_write(struct bench *b, struct wb_handle *h, uint64_t offset,
	    uint32_t length, unsigned char fill)
{
	return bench_write_some(b, h, offset, length, fill) == length;
}

void
bench_turn(struct bench *b)
{
	unsigned i;

	for (i = 0; i < 1000; i++) {
		b->poked = false;
		wb_run(b->wb, b->now);
		if (b->poked)
			continue;
		if (!b->check_every || ++b->turns % b->check_every == 0)
			wb_check(b->wb, b->hostile);
		return;
	}
	assert(!"the clockwork never rests");
}

void
bench_advance(struct bench *b, uint64_t usec)
{
	b->now += usec;
	bench_turn(b);
}

struct wb_call *
bench_take(struct bench *b, unsigned index)
{
	struct wb_call *c;

	if (index >= b->call_nr)
		return NULL;
	c = b->call[index];
	b->call_nr--;
	memmove(&b->call[index], &b->call[index + 1],
		(b->call_nr - index) * sizeof b->call[0]);
	return c;
}

void
bench_answer(struct bench *b, struct wb_call *c, int err,
	     enum wb_stable committed, unsigned verf)
{
	c->err = err;
	c->nfs_status = err ? (uint32_t)-err : 0;
	c->have_size = 0;
	c->written = c->count;
	c->committed = committed;
	c->transmissions = 1;
	c->sent_usec = b->now;
	memset(c->verf, 0, WB_VERF);
	memcpy(c->verf, &verf, sizeof verf);
	c->done(c, b->now);
	bench_turn(b);
}

unsigned
bench_serve(struct bench *b, unsigned verf)
{
	struct wb_call *c;
	unsigned nr = 0;

	bench_turn(b);
	while ((c = bench_take(b, 0))) {
		bench_answer(b, c, 0, c->stable, verf);
		nr++;
	}
	return nr;
}

unsigned
bench_count(const struct bench *b, enum wb_call_kind kind)
{
	unsigned i, nr = 0;

	for (i = 0; i < b->call_nr; i++)
		nr += b->call[i]->kind == kind;
	return nr;
}

struct wb_handle *
bench_fsync_out(struct bench *b, uint32_t length, struct bench_done *d)
{
	static const struct bench_options roomy;
	struct wb_handle *h;

	bench_init(b, &roomy);
	h = bench_open(b, 1, 10, O_RDWR);
	if (!bench_write(b, h, 0, length, 'a'))
		abort();
	handle_fsync(h, b->now, bench_done, d);
	bench_turn(b);
	return h;
}

void
bench_done(void *arg, int err)
{
	struct bench_done *d = arg;

	d->nr++;
	d->err = err;
}
