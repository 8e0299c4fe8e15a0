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

#include "bench/cell_impl.h"
#include "common/log.h"
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

static void
turn(void *arg)
{
	struct cell *c = arg;
	uint64_t now = loop_now(c->loop), next, dirtied;

	wb_run(c->wb, now);
	c->result->turns++;
	dirtied = wb_stats(c->wb, now)->throttle.dirtied;
	if (dirtied > c->result->most_dirtied)
		c->result->most_dirtied = dirtied;
	next = wb_deadline(c->wb);
	if (next == UINT64_MAX)
		loop_timer_clear(c->loop, c->next_turn);
	else
		loop_timer_set(c->loop, c->next_turn,
			       next > now ? next - now : 0);
}

static int
make_pipeline(struct cell *c)
{
	static const struct wb_hooks hooks = { poke, NULL };
	const struct cell_params *p = &c->params;
	struct wb_limits limits = {
		.dirty_bytes = p->limit_bytes,
		.dirty_background_bytes = p->background_bytes,
		.dirty_throttling = p->throttling,
		.reclaim_policy = p->reclaim,
		.whole_grants = p->server.bounds & BOUND_GRANTS,
		.dirty_expire_usec = 30 * SECOND,
		.clean_expire_usec = 3600 * SECOND,
		.late_duplicate_usec = 10 * SECOND,
	};
	uint64_t now = loop_now(c->loop);

	c->turn = loop_deferred(c->loop, turn, c);
	c->next_turn = loop_timer(c->loop, turn, c);
	if (!c->turn || !c->next_turn)
		return -ENOMEM;
	c->wb = wb_new(&limits, &hooks, c, now);
	if (!c->wb)
		return -ENOMEM;
	c->server = wb_server_new(c->wb, &p->server, &cell_calls, &c->net,
				  now);
	return c->server ? 0 : -ENOMEM;
}

static uint64_t
slab_bytes(const struct cell_params *p)
{
	uint64_t bytes = p->limit_bytes / p->writers * 10;

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
					   i >= c->params.writers);
	}
	return err;
}

static int
make(struct cell *c)
{
	int err;

	c->loop = vloop_new(1000 * SECOND);
	c->cred = cred_get(1000, 100, NULL, 0);
	if (!c->loop || !c->cred)
		return -ENOMEM;
	err = cell_net_init(&c->net, c->loop, &c->params);
	if (!err)
		err = make_pipeline(c);
	return err ? err : make_writers(c);
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
	cell_net_free(&c->net);
	loop_deferred_free(c->loop, c->turn);
	loop_timer_free(c->loop, c->next_turn);
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
	for (i = 0; i < c->params.writers; i++) {
		clean = c->writer[i].offset -
			file_left_bytes(handle_file(c->writer[i].handle));
		r->clean_bytes += clean;
		if (clean < r->least_bytes)
			r->least_bytes = clean;
		if (clean > r->most_bytes)
			r->most_bytes = clean;
	}
}

static void
take_result(struct cell *c)
{
	struct cell_result *r = c->result;
	uint64_t now = loop_now(c->loop);

	take_files(c);
	r->model = model_stats(c->net.model);
	r->stable_bytes = r->model.disk_written_bytes;
	r->write = c->net.ops[NFSPROC3_WRITE];
	r->commit = c->net.ops[NFSPROC3_COMMIT];
	r->server = *wb_server_stats(c->server, now);
	r->wb = *wb_stats(c->wb, now);
	r->most_queued = c->net.most_queued;
}

static bool
all_ended(void *arg)
{
	struct cell *c = arg;

	return c->result->ended == c->params.writers;
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
