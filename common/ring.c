/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ring.c - pointers into the shared memory, and the grant queue
 *
 * The grant queue has one producer (the daemon) and, in the library, a consumer
 * per thread.  A slot is used again grant_nr grants later, and a chunk is
 * granted again only after it was taken, so no slot is overwritten untaken.
 */
#include "common/crash.h"
#include "common/ring.h"

int
shm_view_init(struct shm_view *v, void *control, void *data,
	      uint64_t data_bytes)
{
	unsigned char *base = control;

	if (nfswb_layout(&v->layout, data_bytes) < 0)
		return -1;
	v->control = control;
	v->grant = (void *)(base + v->layout.grant_off);
	v->shared = (void *)(base + v->layout.shared_off);
	v->mark = (void *)(base + v->layout.mark_off);
	v->ring = (void *)(base + v->layout.ring_off);
	v->list = (void *)(base + v->layout.list_off);
	v->data = data;
	return 0;
}

void
shm_view_format(struct shm_view *v, uint64_t session)
{
	struct nfswb_control *c = v->control;
	uint32_t i;

	c->session = session;
	c->data_bytes = (uint64_t)v->layout.chunk_nr * NFSWB_CHUNK_BYTES;
	c->chunk_nr = v->layout.chunk_nr;
	c->ring_nr = v->layout.ring_nr;
	c->grant_nr = v->layout.grant_nr;
	c->list_nr = v->layout.list_nr;
	for (i = 0; i < v->layout.chunk_nr; i++)
		atomic_store_explicit(&v->mark[i], NFSWB_MARK_CLOSED,
				      memory_order_relaxed);
	atomic_store_explicit(&c->want_chunk, NFSWB_NO_CHUNK,
			      memory_order_relaxed);
	c->magic = NFSWB_SHM_MAGIC;
}

void
ring_grant(struct shm_view *v, uint32_t chunk)
{
	struct nfswb_control *c = v->control;
	uint64_t head = atomic_load_explicit(&c->g_head,
					     memory_order_relaxed);

	crash_point();
	atomic_store_explicit(&v->grant[head & (v->layout.grant_nr - 1)],
			      chunk, memory_order_relaxed);
	crash_point();
	atomic_store_explicit(&c->g_head, head + 1, memory_order_release);
}

uint32_t
ring_grant_pop(struct shm_view *v)
{
	struct nfswb_control *c = v->control;
	uint64_t tail = atomic_load_explicit(&c->g_tail,
					     memory_order_relaxed);
	uint32_t chunk;

	do {
		if (tail == atomic_load_explicit(&c->g_head,
						 memory_order_acquire))
			return NFSWB_NO_CHUNK;
		chunk = atomic_load_explicit(
			&v->grant[tail & (v->layout.grant_nr - 1)],
			memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&c->g_tail, &tail,
							tail + 1,
							memory_order_acq_rel,
							memory_order_relaxed));
	return chunk;
}
