/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell.c - see cell.h; the wiring is that of daemon/wiring.c
 *
 * Unless it was said, a slab holds what its writer may have dirty at a time,
 * generously: it is the limit that is to be felt, and not the slab.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

#include "bench/cell_impl.h"
#include "common/log.h"
#include "daemon/writeback/throttle.h"
#include "rpc/nfs3.h"
#include "tests/vloop.h"

#define MIB (1ull << 20)
#define SECOND 1000000ull
#define SLAB_MAX (2048 * MIB)

static void
poke(void *arg)
{
	struct cell *c = arg;

	loop_defer(c->loop, c->turn);
}

void
cell_look(struct cell *c)
{
	uint64_t dirtied = throttle_dirtied(c->wb);

	if (dirtied > c->result->most_dirtied)
		c->result->most_dirtied = dirtied;
}

static void
look_at_age(struct cell *c, uint64_t now)
{
	unsigned i;

	if (!c->params.expire_usec)
		return;
	for (i = 0; i < c->server_nr; i++)
		c->result->most_age_usec =
			MAX(c->result->most_age_usec,
			    wb_server_stats(c->server[i], now)->oldest_dirty_us);
}

static void
turn(void *arg)
{
	struct cell *c = arg;
	uint64_t now = loop_now(c->loop), next;

	look_at_age(c, now);
	wb_run(c->wb, now);
	c->result->turns++;
	cell_look(c);
	look_at_age(c, now);
	next = wb_deadline(c->wb);
	if (next == UINT64_MAX)
		loop_timer_clear(c->loop, c->next_turn);
	else
		loop_timer_set(c->loop, c->next_turn,
			       next > now ? next - now : 0);
}

static void
note(uint64_t *least, uint64_t *most, uint64_t n)
{
	*least = MIN(*least, n);
	*most = MAX(*most, n);
}

/* Measured seconds, of the first server. */
static void
second(void *arg)
{
	struct cell *c = arg;
	struct cell_result *r = c->result;
	uint64_t all = model_stats(c->net[0].model).disk_written_bytes;

	if (loop_now(c->loop) > c->measure_usec) {
		note(&r->least_second, &r->most_second, all - c->second_bytes);
		note(&r->least_taken, &r->most_taken,
		     r->written_bytes - c->second_taken);
	} else {
		r->least_second = r->least_taken = UINT64_MAX;
	}
	c->second_bytes = all;
	c->second_taken = r->written_bytes;
	loop_timer_set(c->loop, c->second, SECOND);
}

/* A tenth of a second is over. */
static void
sample(void *arg)
{
	struct cell *c = arg;
	struct cell_sample *s = &c->sample;
	const struct server_stats *st =
		wb_server_stats(c->server[0], loop_now(c->loop));

	s->usec = loop_now(c->loop) - c->began_usec;
	s->depth = st->wbt.depth;
	s->steps = st->wbt.steps_down - st->wbt.steps_up;
	s->stable_bytes = model_stats(c->net[0].model).disk_written_bytes;
	s->clean_bytes = c->result->written_bytes - MIN(c->result->written_bytes,
		st->dirty_bytes + st->writeback_bytes + st->unstable_bytes);
	c->params.sample(c->params.sample_arg, s);
	s->stat_usec = s->fsync_usec = 0;
	loop_timer_set(c->loop, c->sampler, SECOND / 10);
}

static int
make_pipeline(struct cell *c)
{
	static const struct wb_hooks hooks = { poke, NULL, NULL };
	const struct cell_params *p = &c->params;
	struct wb_limits limits = {
		.dirty_bytes = p->limit_bytes,
		.dirty_background_bytes = p->background_bytes,
		.dirty_throttling = p->throttling,
		.reclaim_policy = p->reclaim,
		.whole_grants = p->server.bounds & BOUND_GRANTS,
		.dirty_expire_usec = p->expire_usec ? p->expire_usec
						    : 30 * SECOND,
		.clean_expire_usec = 3600 * SECOND,
		.late_duplicate_usec = 10 * SECOND,
	};
	uint64_t now = loop_now(c->loop);
	unsigned i;

	c->turn = loop_deferred(c->loop, turn, c);
	c->next_turn = loop_timer(c->loop, turn, c);
	c->second = loop_timer(c->loop, second, c);
	if (!c->turn || !c->next_turn || !c->second)
		return -ENOMEM;
	c->began_usec = now;
	if (p->sample) {
		c->sampler = loop_timer(c->loop, sample, c);
		if (!c->sampler)
			return -ENOMEM;
		loop_timer_set(c->loop, c->sampler, SECOND / 10);
	}
	if (p->measure_usec)
		loop_timer_set(c->loop, c->second, p->measure_usec);
	c->wb = wb_new(&limits, &hooks, c, now);
	if (!c->wb)
		return -ENOMEM;
	for (i = 0; i < c->server_nr; i++) {
		c->server[i] = wb_server_new(c->wb, &p->server, &cell_calls,
					     &c->net[i], now);
		if (!c->server[i])
			return -ENOMEM;
		c->net[i].server = c->server[i];
	}
	return 0;
}

static uint64_t
slab_bytes(const struct cell_params *p)
{
	uint64_t bytes = p->limit_bytes / MAX(p->writers, 1) * 10;

	if (p->slab_bytes)
		return p->slab_bytes;
	if (bytes < 256 * MIB)
		bytes = 256 * MIB;
	if (bytes > p->limit_bytes + MIB)
		bytes = p->limit_bytes + MIB;
	if (bytes < 16 * MIB)
		bytes = 16 * MIB;
	if (bytes > SLAB_MAX)
		bytes = SLAB_MAX;
	return bytes - bytes % MIB;
}

/* Without groups there is one. */
static void
settle_groups(struct cell *c)
{
	struct cell_params *p = &c->params;
	unsigned i;

	c->server_nr = 1;
	if (!p->group[0].nr)
		p->group[0].nr = p->writers;
	p->writers = 0;
	for (i = 0; i < CELL_GROUPS; i++) {
		p->writers += p->group[i].nr;
		if (p->group[i].nr && p->group[i].server)
			c->server_nr = 2;
	}
}

/* NULL: the sync writer. */
static const struct cell_group *
group_of(const struct cell *c, unsigned nr)
{
	const struct cell_group *g = c->params.group;

	for (; g < c->params.group + CELL_GROUPS; nr -= g->nr, g++)
		if (nr < g->nr)
			return g;
	return NULL;
}

static int
make_writers(struct cell *c)
{
	unsigned i;
	int err = 0;

	c->slab_bytes = slab_bytes(&c->params);
	c->data = mmap(NULL, c->slab_bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->data == MAP_FAILED) {
		c->data = NULL;
		return -ENOMEM;
	}
	c->writer_nr = c->params.writers + c->params.sync_writer;
	c->writer = calloc(c->writer_nr, sizeof *c->writer);
	if (!c->writer)
		return -ENOMEM;
	for (i = 0; i < c->writer_nr; i++) {
		c->writer[i].cell = c;
		if (!err)
			err = writer_start(c, &c->writer[i], i,
					   group_of(c, i));
	}
	return err;
}

static int
make(struct cell *c)
{
	unsigned i;
	int err = 0;

	settle_groups(c);
	c->loop = vloop_new(1000 * SECOND);
	c->cred = cred_get(1000, 100, NULL, 0);
	if (!c->loop || !c->cred)
		return -ENOMEM;
	c->measure_usec = loop_now(c->loop) + c->params.measure_usec;
	for (i = 0; i < c->server_nr && !err; i++)
		err = cell_net_init(&c->net[i], c->loop, &c->params, i);
	if (!err)
		err = make_pipeline(c);
	if (!err)
		err = make_writers(c);
	if (!err)
		err = foreground_start(c, &c->foreground);
	return err ? err : cell_trace_start(c);
}

static void
unmake(struct cell *c)
{
	unsigned i;

	if (!c->loop)
		return;
	if (c->wb)
		wb_free(c->wb);
	for (i = 0; c->writer && i < c->writer_nr; i++)
		writer_free(&c->writer[i]);
	free(c->writer);
	foreground_free(c->foreground);
	for (i = 0; i < CELL_SERVERS; i++)
		cell_net_free(&c->net[i]);
	loop_deferred_free(c->loop, c->turn);
	loop_timer_free(c->loop, c->next_turn);
	loop_timer_free(c->loop, c->second);
	loop_timer_free(c->loop, c->trace);
	loop_timer_free(c->loop, c->sampler);
	if (c->data)
		munmap(c->data, c->slab_bytes);
	cred_put(c->cred);
	loop_free(c->loop);
}

/* What every file has on stable storage, as the client knows it. */
static void
take_files(struct cell *c)
{
	struct cell_result *r = c->result;
	uint64_t clean;
	unsigned i;

	r->least_bytes = UINT64_MAX;
	for (i = 0; i < c->params.writers && c->params.files < 2; i++) {
		clean = c->writer[i].offset -
			file_left_bytes(handle_file(c->writer[i].handle));
		r->clean_bytes += clean;
		if (clean < r->least_bytes)
			r->least_bytes = clean;
		if (clean > r->most_bytes)
			r->most_bytes = clean;
	}
}

/* Jain's index: (sum)^2 / (nr * sum of squares). */
static void
take_group(struct cell *c, unsigned group, unsigned from)
{
	struct cell_group_result *r = &c->result->group[group];
	unsigned nr = c->params.group[group].nr, i;
	double squares = 0;

	r->least_bytes = nr ? UINT64_MAX : 0;
	for (i = from; i < from + nr; i++) {
		const struct writer *w = &c->writer[i];

		r->bytes += w->measured_bytes;
		squares += (double)w->measured_bytes *
			   (double)w->measured_bytes;
		r->least_bytes = MIN(r->least_bytes, w->measured_bytes);
		r->most_bytes = MAX(r->most_bytes, w->measured_bytes);
	}
	r->jain = squares > 0 ? (double)r->bytes * (double)r->bytes /
				(nr * squares) : 0;
}

/* Of servers, the first's. */
static void
take_result(struct cell *c)
{
	struct cell_result *r = c->result;
	uint64_t now = loop_now(c->loop);
	unsigned i, from = 0;

	take_files(c);
	for (i = 0; i < CELL_GROUPS; from += c->params.group[i++].nr)
		take_group(c, i, from);
	r->model = model_stats(c->net[0].model);
	r->stable_bytes = r->model.disk_written_bytes;
	r->write = c->net[0].ops[NFSPROC3_WRITE];
	r->commit = c->net[0].ops[NFSPROC3_COMMIT];
	r->server = *wb_server_stats(c->server[0], now);
	r->wb = *wb_stats(c->wb, now);
	r->most_queued = c->net[0].most_queued;
}

static bool
all_ended(void *arg)
{
	struct cell *c = arg;

	return c->params.writers && c->result->ended == c->params.writers;
}

int
cell_run(const struct cell_params *params, struct cell_result *result)
{
	struct cell c = { .params = *params, .result = result };
	unsigned i;
	int err;

	memset(result, 0, sizeof *result);
	log_set_level(LOG_LEVEL_ERROR);
	srandom((unsigned)params->seed);	/* the pipeline's jitter */
	err = make(&c);
	if (!err) {
		uint64_t end = loop_now(c.loop) + params->usec;

		vloop_run_until(c.loop, all_ended, &c, params->usec);
		result->run_usec = params->usec;
		if (all_ended(&c))
			result->run_usec -= end - loop_now(c.loop);
		else if (loop_now(c.loop) != end)
			err = -EDEADLK;
		take_result(&c);
		for (i = 0; i < c.writer_nr; i++)
			writer_stop(&c.writer[i]);
	}
	unmake(&c);
	return err;
}
