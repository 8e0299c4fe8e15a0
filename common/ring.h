/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ring.h - a session's shared memory as both sides address it
 *
 * shm_view turns the two mappings into typed pointers by nfswb_layout; the
 * ring's positions are free running, slot = position % ring_nr.
 */
#ifndef NFSWB_RING_H
#define NFSWB_RING_H

#include "include/nfswb_shm.h"

struct shm_view {
	struct nfswb_layout layout;
	struct nfswb_control *control;
	_Atomic uint32_t *grant;
	_Atomic uint8_t *shared;
	_Atomic uint64_t *mark;
	struct nfswb_ring_entry *ring;
	struct nfswb_list_entry *list;
	unsigned char *data;
};

/* control must be layout.bytes long, data data_bytes.  0, or -1 where
   data_bytes fits no layout. */
int shm_view_init(struct shm_view *, void *control, void *data,
		  uint64_t data_bytes);
/* Fills in a fresh (zeroed) control area: magic, sizes, all marks closed. */
void shm_view_format(struct shm_view *, uint64_t session);

/* Daemon: hands a chunk over.  The queue has room for every chunk. */
void ring_grant(struct shm_view *, uint32_t chunk);
/* Library: takes the next granted chunk, NFSWB_NO_CHUNK: none. */
uint32_t ring_grant_pop(struct shm_view *);

/* Library: the slot that position head addresses. */
static inline struct nfswb_ring_entry *
ring_slot(struct shm_view *v, uint64_t position)
{
	return &v->ring[position & (v->layout.ring_nr - 1)];
}

#endif
