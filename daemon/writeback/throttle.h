/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * throttle.h - how much room a session gets, and when: a grant is the throttle
 *
 * Nothing here writes.  A slab that gets no room waits in wb->waiting; every
 * completion gives it another look.
 */
#ifndef NFSWB_THROTTLE_H
#define NFSWB_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct slab;
struct wb;

/* granted + dirty + writeback + unstable: never more than dirty_bytes. */
uint64_t throttle_dirtied(const struct wb *);
bool throttle_over_background(const struct wb *);
/* Somebody waits for room: writeback is urgent. */
bool throttle_waiting(const struct wb *);

/* Serves those who wait, in their order. */
void throttle_run(struct wb *, uint64_t now);
void throttle_wait(struct slab *, uint64_t now);
void throttle_unwait(struct slab *, uint64_t now);

/* Room for data that came in a message: bytes at *place, 0: none now. */
uint32_t throttle_inline_room(struct slab *, uint64_t *place);

#endif
