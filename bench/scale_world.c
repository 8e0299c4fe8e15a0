/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scale_world.c - see scale_world.h */
#include "bench/scale_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <time.h>

#define MIB (1ull << 20)
#define TURN_USEC 1000
#define TURNS_MAX 100000	/* for one write, or to settle: it never will */

const char *const stage_name[STAGE_NR] = { "post", "turn", "answer", "commit",
					   "reclaim" };

/* ---- costs ---- */

static uint64_t steps;

/* Called at each basic block of what was built to do so. */
void __sanitizer_cov_trace_pc(void);
void
__sanitizer_cov_trace_pc(void)
{
	steps++;
}

uint64_t
world_steps(void)
{
	return steps;
}

static uint64_t
cpu_nsec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
begin(struct world *w)
{
	w->since.steps = steps;
	w->since.nsec = cpu_nsec();
}

static void
end(struct world *w, enum stage stage)
{
	w->cost[stage].steps += steps - w->since.steps;
	w->cost[stage].nsec += cpu_nsec() - w->since.nsec;
}

void
world_forget_costs(struct world *w)
{
	memset(w->cost, 0, sizeof w->cost);
	w->writes = w->turns = w->write_calls = w->commit_calls = 0;
}

struct cost
world_cost(const struct world *w)
{
	struct cost sum = { 0, 0 };
	int i;

	for (i = 0; i < STAGE_NR; i++) {
		sum.steps += w->cost[i].steps;
		sum.nsec += w->cost[i].nsec;
	}
	return sum;
}

/* ---- calls ---- */

static void
more_room(struct world *w)
{
	struct world_call *was = w->call;
	uint64_t i, room = w->call_room ? 2 * w->call_room : 1024;

	w->call = calloc(room, sizeof *w->call);
	if (!w->call)
		abort();
	for (i = w->call_first; i < w->call_end; i++)
		w->call[i % room] = was[i % w->call_room];
	w->call_room = room;
	free(was);
}

static int
queue(void *arg, struct wb_call *c)
{
	struct world *w = arg;

	if (w->call_end - w->call_first == w->call_room)
		more_room(w);
	w->call[w->call_end++ % w->call_room] = (struct world_call) {
		c, w->now + TURN_USEC
	};
	return 0;
}

static void
raise_class(void *arg, struct wb_call *c, enum wb_class class)
{
	(void)arg;
	(void)c;
	(void)class;
}

static void
poke(void *arg)
{
	((struct world *)arg)->poked = true;
}

static void
answer(struct world *w, struct wb_call *c)
{
	if (c->kind == WB_CALL_WRITE)
		w->write_calls++;
	else
		w->commit_calls++;
	c->err = 0;
	c->nfs_status = 0;
	c->have_size = 0;
	c->written = c->count;
	c->committed = c->stable;
	c->transmissions = 1;
	c->sent_usec = w->now - TURN_USEC;
	memset(c->verf, 1, WB_VERF);
	c->done(c, w->now);
}

/* Those of one kind in a row are one piece to measure. */
static void
answer_due(struct world *w)
{
	enum wb_call_kind kind;
	struct world_call *c;

	while (!w->still && w->call_first < w->call_end) {
		c = &w->call[w->call_first % w->call_room];
		kind = c->call->kind;
		if (c->due > w->now)
			return;
		begin(w);
		while (c->due <= w->now && c->call->kind == kind) {
			answer(w, c->call);
			if (++w->call_first == w->call_end)
				break;
			c = &w->call[w->call_first % w->call_room];
		}
		end(w, kind == WB_CALL_WRITE ? STAGE_ANSWER : STAGE_COMMIT);
	}
}

void
world_turn(struct world *w)
{
	int i;

	w->now += TURN_USEC;
	answer_due(w);
	begin(w);
	for (i = 0; i < 1000; i++) {
		w->poked = false;
		wb_run(w->wb, w->now);
		w->turns++;
		if (!w->poked)
			break;
	}
	end(w, STAGE_TURN);
}

/* ---- writers ---- */

static uint32_t
claim(struct world_session *s, uint32_t want, uint64_t *place)
{
	uint32_t fill, n;
	uint64_t m;

	if (s->kept) {
		n = MIN(s->kept, want);
		*place = s->kept_place;
		s->kept -= n;
		s->kept_place += n;
		return n;
	}
	for (;;) {
		if (s->chunk == NFSWB_NO_CHUNK)
			s->chunk = ring_grant_pop(&s->view);
		if (s->chunk == NFSWB_NO_CHUNK)
			return 0;
		m = atomic_load(&s->view.mark[s->chunk]);
		fill = nfswb_mark_fill(m);
		if (!(m & NFSWB_MARK_CLOSED) && fill < nfswb_mark_limit(m))
			break;
		if (!(m & NFSWB_MARK_CLOSED) && fill < NFSWB_CHUNK_BYTES)
			return 0;	/* may be raised */
		s->chunk = NFSWB_NO_CHUNK;
	}
	n = MIN(nfswb_mark_limit(m) - fill, want);
	atomic_fetch_add(&s->view.mark[s->chunk], n);
	*place = (uint64_t)s->chunk * NFSWB_CHUNK_BYTES + fill;
	return n;
}

/* As much of it as there is room for. */
static uint32_t
write_some(struct world *w, unsigned h, uint64_t offset, uint32_t length)
{
	struct world_session *s = &w->session[h % w->params.sessions];
	struct nfswb_ring_entry r = { .kind = NFSWB_RING_WRITE, .file = h };
	uint32_t n, done;
	uint64_t place;

	for (done = 0; done < length; done += n) {
		n = claim(s, length - done, &place);
		if (!n)
			break;
		r.offset = offset + done;
		r.place = place;
		r.length = n;
		if (slab_post(s->slab, w->handle[h], &r, s->head + 1,
			      w->now)) {
			s->kept_place = place;
			s->kept += n;
			break;
		}
		s->head++;
	}
	if (done < length && !s->kept) {
		atomic_store(&s->view.control->want, length - done);
		atomic_store(&s->view.control->want_chunk, s->chunk);
		atomic_store(&s->view.control->c_waits, 1);
	}
	slab_serve(s->slab, w->now);
	return done;
}

bool
world_write(struct world *w, unsigned h, uint64_t offset, uint32_t length)
{
	uint32_t done;
	unsigned tries;

	for (tries = 0; tries < TURNS_MAX; tries++) {
		begin(w);
		done = write_some(w, h, offset, length);
		end(w, STAGE_POST);
		offset += done;
		length -= done;
		if (!length) {
			w->writes++;
			return true;
		}
		if (!done)
			world_turn(w);
	}
	return false;
}

bool
world_settle(struct world *w)
{
	uint64_t background = w->wb->limits.dirty_background_bytes;
	unsigned i;

	w->wb->limits.dirty_background_bytes = 0;
	wb_drain(w->wb, w->now);
	for (i = 0; wb_left_bytes(w->wb) && i < TURNS_MAX; i++)
		world_turn(w);
	w->wb->limits.dirty_background_bytes = background;
	w->wb->draining = false;
	return !wb_left_bytes(w->wb);
}

void
world_release(struct world *w)
{
	unsigned i;

	for (i = 0; i < w->handle_nr; i++) {
		handle_close(w->handle[i], w->now, NULL, NULL);
		w->handle[i] = NULL;
	}
	world_turn(w);
	begin(w);
	for (i = 0; i < w->params.sessions; i++) {
		slab_release(w->session[i].slab, w->now);
		w->session[i].slab = NULL;
	}
	wb_run(w->wb, w->now);
	end(w, STAGE_RECLAIM);
}

/* ---- making it ---- */

static int
make_session(struct world *w, struct world_session *s)
{
	static const struct slab_hooks hooks = { NULL, NULL, NULL };
	struct nfswb_layout l;

	if (nfswb_layout(&l, w->params.slab_bytes))
		return -EINVAL;
	s->control_bytes = l.bytes;
	s->control = mmap(NULL, l.bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->control == MAP_FAILED) {
		s->control = NULL;
		return -ENOMEM;
	}
	s->chunk = NFSWB_NO_CHUNK;
	if (shm_view_init(&s->view, s->control, w->data,
			  w->params.slab_bytes))
		return -EINVAL;
	shm_view_format(&s->view, 1);
	s->slab = slab_new(w->wb, &s->view, &hooks, w);
	return s->slab ? 0 : -ENOMEM;
}

static struct wb_handle *
open_file(struct world *w, unsigned nr, struct cred *cred)
{
	struct wb_file_params params = {
		.wsize = 1 << 20, .rsize = 1 << 20, .stable = WB_UNSTABLE,
		.max_size = INT64_MAX,
	};
	struct wb_handle *h = NULL;
	struct wb_file *f;
	struct fh fh;
	char name[32];

	fh_set(&fh, &nr, sizeof nr);
	snprintf(name, sizeof name, "file %u", nr);
	f = file_get(w->server[nr % w->params.servers], &fh, &params, name);
	if (f)
		h = handle_open(f, cred, O_WRONLY);
	file_put(f);
	return h;
}

static int
make(struct world *w)
{
	static const struct wb_hooks hooks = { poke, NULL, NULL };
	static const struct wb_calls calls = { queue, raise_class, NULL, NULL,
					       NULL };
	struct wb_limits limits = {
		.dirty_bytes = w->params.dirty_bytes,
		.dirty_background_bytes = w->params.background_bytes,
		.whole_grants = true,
		.dirty_expire_usec = 30000000,
		.clean_expire_usec = 10000000,
		.late_duplicate_usec = 10000000,
	};
	struct wb_server_params params = {
		.name = "scale", .congestion_bytes = 64 * MIB,
		.bounds = BOUND_ALL, .slot_nr = 16,
	};
	struct cred *cred = cred_get(1, 1, NULL, 0);
	unsigned i;
	int err = 0;

	w->handle_nr = MAX(w->params.files, w->params.sessions);
	w->server = calloc(w->params.servers, sizeof *w->server);
	w->session = calloc(w->params.sessions, sizeof *w->session);
	w->handle = calloc(w->handle_nr, sizeof *w->handle);
	w->data = mmap(NULL, w->params.slab_bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	w->wb = wb_new(&limits, &hooks, w, w->now);
	if (!cred || !w->server || !w->session || !w->handle ||
	    w->data == MAP_FAILED || !w->wb)
		return -ENOMEM;
	for (i = 0; i < w->params.servers; i++) {
		w->server[i] = wb_server_new(w->wb, &params, &calls, w,
					     w->now);
		if (!w->server[i])
			return -ENOMEM;
	}
	for (i = 0; !err && i < w->params.sessions; i++)
		err = make_session(w, &w->session[i]);
	for (i = 0; !err && i < w->handle_nr; i++) {
		w->handle[i] = open_file(w, i % w->params.files, cred);
		err = w->handle[i] ? 0 : -ENOMEM;
	}
	cred_put(cred);
	return err;
}

int
world_init(struct world *w, const struct world_params *p)
{
	int err;

	memset(w, 0, sizeof *w);
	w->params = *p;
	w->now = 1000000;
	err = make(w);
	if (err)
		world_free(w);
	return err;
}

void
world_free(struct world *w)
{
	struct wb_call *c;
	unsigned i;

	while (w->call_first < w->call_end) {	/* as the transport ends */
		c = w->call[w->call_first++ % w->call_room].call;
		c->err = -ECANCELED;
		c->done(c, w->now);
	}
	if (w->wb)
		wb_free(w->wb);
	for (i = 0; w->session && i < w->params.sessions; i++)
		if (w->session[i].control)
			munmap(w->session[i].control,
			       w->session[i].control_bytes);
	if (w->data && w->data != MAP_FAILED)
		munmap(w->data, w->params.slab_bytes);
	free(w->server);
	free(w->session);
	free(w->handle);
	free(w->call);
}
