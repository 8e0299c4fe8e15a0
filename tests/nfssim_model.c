/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_model.c - an op's way through link and threads
 *
 *	in the link -> waiting for a thread -> in a thread -> done
 *
 * A WRITE keeps its thread for a fixed time and the copying, and then for as
 * long as memory has no room; a COMMIT until its bytes are on the disk.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/nfssim_model.h"

#define MIB (1ull << 20)

TAILQ_HEAD(op_list, model_op);

struct model {
	struct model_params params;
	struct sim_events events;
	struct link link;
	struct disk disk;
	struct cache cache;
	uint64_t busy_threads, queued, most_queued, link_bytes[2];
	struct op_list waiting, under_way;
};

static void start(struct model *, struct model_op *, uint64_t when);

static void
list_op(struct model *m, struct op_list *list, struct model_op *op)
{
	op->model = m;
	op->listed = true;
	TAILQ_INSERT_TAIL(list, op, link);
}

static void
unlist_op(struct model *m, struct model_op *op)
{
	if (op->listed)
		TAILQ_REMOVE(&m->under_way, op, link);
	op->listed = false;
}

/* threads */

static void
next_in_thread(struct model *m, uint64_t when)
{
	struct model_op *op = TAILQ_FIRST(&m->waiting);

	if (!op || (m->params.threads && m->busy_threads >= m->params.threads))
		return;
	TAILQ_REMOVE(&m->waiting, op, link);
	m->queued--;
	list_op(m, &m->under_way, op);
	start(m, op, when);
}

static void
leave_thread(struct model *m, struct model_op *op, uint64_t when)
{
	unlist_op(m, op);
	op->in_thread = false;
	m->busy_threads--;
	op->done(op->arg, when);
	next_in_thread(m, when);
}

static void
ended(void *arg, uint64_t when)
{
	struct model_op *op = arg;

	leave_thread(op->model, op, when);
}

/* From the top: the cache is not to be changed while it tells. */
static void
woken(void *arg, uint64_t when)
{
	struct model_op *op = arg;

	sim_event_set(&op->model->events, &op->event, when, op->next, op);
}

static void
sync_write(void *arg, uint64_t when)
{
	struct model_op *op = arg;

	op->next = ended;
	if (!op->stable ||
	    cache_commit(&op->model->cache, &op->wait, op->file, op->offset,
			 op->offset + op->length, when))
		ended(op, when);
}

static uint64_t
end_of(const struct model_op *op)
{
	return op->length && op->length < UINT64_MAX - op->offset ?
	       op->offset + op->length : UINT64_MAX;
}

/* The thread's own part is over: memory and disk. */
static void
served(void *arg, uint64_t when)
{
	struct model_op *op = arg;
	struct cache *c = &op->model->cache;
	bool now = true;

	op->wait.arg = op;
	op->wait.fn = woken;
	op->next = op->kind == MODEL_WRITE ? sync_write : ended;
	switch (op->kind) {
	case MODEL_WRITE:
		now = cache_write(c, &op->wait, op->file, op->offset,
				  op->offset + op->length, when);
		break;
	case MODEL_COMMIT:
		now = cache_commit(c, &op->wait, op->file, op->offset,
				   end_of(op), when);
		break;
	case MODEL_READ:
		now = !op->model->params.disk_bytes_per_sec || !op->length ||
		      cache_read(c, &op->wait, op->file, op->offset,
				 op->offset + op->length, when);
		break;
	case MODEL_OTHER:
		break;
	}
	if (now)
		op->next(op, when);
}

static uint64_t
own_time(const struct model *m, const struct model_op *op)
{
	uint64_t nsec = op->hold_usec * 1000;

	if (op->kind == MODEL_COMMIT)
		return nsec;
	if (op->kind != MODEL_WRITE)
		return nsec + m->params.other_usec * 1000;
	nsec += m->params.write_usec * 1000;
	if (m->params.copy_bytes_per_sec)
		nsec += (uint64_t)((unsigned __int128)op->length * 1000000000 /
				   m->params.copy_bytes_per_sec);
	return nsec;
}

static void
start(struct model *m, struct model_op *op, uint64_t when)
{
	uint64_t nsec = own_time(m, op);

	m->busy_threads++;
	op->in_thread = true;
	if (op->started)
		op->started(op->arg, when);
	if (nsec)
		sim_event_set(&m->events, &op->event, when + nsec, served, op);
	else
		served(op, when);
}

void
model_run(struct model *m, struct model_op *op, uint64_t when)
{
	list_op(m, &m->waiting, op);
	if (++m->queued > m->most_queued)
		m->most_queued = m->queued;
	next_in_thread(m, when);
}

void
model_cancel(struct model *m, struct model_op *op)
{
	if (!op->listed || op->in_thread)
		return;
	if (op->event.set) {
		sim_event_clear(&m->events, &op->event);
		unlist_op(m, op);
		return;
	}
	TAILQ_REMOVE(&m->waiting, op, link);
	op->listed = false;
	m->queued--;
}

/* the link */

static void
carried(void *arg, uint64_t when)
{
	struct model_op *op = arg;

	unlist_op(op->model, op);
	op->carried(op->arg, when);
}

void
model_carry(struct model *m, struct model_op *op, enum link_way way,
	    uint64_t bytes, sim_event_fn *fn)
{
	uint64_t now = sim_events_now(&m->events);

	m->link_bytes[way] += bytes;
	op->carried = fn;
	list_op(m, &m->under_way, op);
	sim_event_set(&m->events, &op->event,
		      link_pass(&m->link, way, now, bytes), carried, op);
}

uint64_t
model_congested(const struct model *m, enum link_way way)
{
	return model_ahead(m, way, m->params.window_bytes);
}

uint64_t
model_ahead(const struct model *m, enum link_way way, uint64_t bytes)
{
	uint64_t now = sim_events_now(&m->events);
	uint64_t nsec = link_backlog(&m->link, way, now), most;

	if (!m->link.bits_per_sec)
		return 0;
	most = (uint64_t)((unsigned __int128)bytes * 8 *
			  1000000000 / m->link.bits_per_sec);
	return nsec > most ? (nsec - most / 2) / 1000 + 1 : 0;
}

/* as a whole */

static void
set_default(uint64_t *value, uint64_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

struct model *
model_new(struct loop *loop, const struct model_params *params)
{
	struct model *m = calloc(1, sizeof *m);
	struct model_params *p;
	struct cache_params cache;

	if (!m)
		return NULL;
	if (sim_events_init(&m->events, loop) < 0) {
		free(m);
		return NULL;
	}
	m->params = *params;
	p = &m->params;
	set_default(&p->window_bytes, 2 * MIB);
	set_default(&p->request_bytes, MIB);
	set_default(&p->turn_bytes, 8 * MIB);
	TAILQ_INIT(&m->waiting);
	TAILQ_INIT(&m->under_way);
	m->link.bits_per_sec = p->link_bits_per_sec;
	m->link.rtt_nsec = p->rtt_usec * 1000;
	m->disk.events = &m->events;
	m->disk.bytes_per_sec = p->disk_bytes_per_sec;
	m->disk.seek_nsec = p->seek_usec * 1000;
	cache = (struct cache_params){
		.memory_bytes = p->memory_bytes,
		.background_bytes = p->memory_bytes / 100 *
				    p->background_percent,
		.hard_bytes = p->memory_bytes / 100 * p->hard_percent,
		.request_bytes = p->request_bytes,
		.turn_bytes = p->turn_bytes,
		.commit_all = p->commit_all,
		.journal_nsec = p->journal_usec * 1000,
	};
	cache_init(&m->cache, &cache, &m->disk);
	return m;
}

void
model_crash(struct model *m)
{
	struct model_op *op;

	cache_reset(&m->cache);
	TAILQ_CONCAT(&m->under_way, &m->waiting, link);
	while ((op = TAILQ_FIRST(&m->under_way))) {
		sim_event_clear(&m->events, &op->event);
		op->in_thread = false;
		unlist_op(m, op);
	}
	m->busy_threads = m->queued = 0;
}

void
model_free(struct model *m)
{
	if (!m)
		return;
	model_crash(m);
	cache_free(&m->cache);
	sim_events_free(&m->events);
	free(m);
}

void
model_truncate(struct model *m, uint64_t file, uint64_t size)
{
	cache_truncate(&m->cache, file, size, sim_events_now(&m->events));
}

struct model_stats
model_stats(const struct model *m)
{
	return (struct model_stats){
		.disk_written_bytes = m->cache.written_bytes,
		.disk_read_bytes = m->cache.read_bytes,
		.disk_requests = m->disk.requests,
		.seeks = m->disk.seeks,
		.disk_busy_usec = m->disk.busy_nsec / 1000,
		.dirty_bytes = m->cache.dirty_bytes,
		.commits = m->cache.commits,
		.journals = m->cache.journals,
		.held_writes = m->cache.held_writes,
		.queued = m->queued,
		.most_queued = m->most_queued,
		.link_bytes = { m->link_bytes[0], m->link_bytes[1] },
	};
}
