/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * throttle.h - how much room a session gets, and when: a grant is the throttle
 *
 * Nothing here writes.  Parts: room.c (how much room is there?), room_queue.c (who
 * is next?), grant.c (handing it out), pace.c and share.c (how fast, and how much a
 * server?).
 */
#ifndef NFSWB_THROTTLE_H
#define NFSWB_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct slab;
struct wb;
struct wb_server;

/* granted + dirty + writeback + unstable: never more than dirty_bytes. */
uint64_t throttle_dirtied(const struct wb *);
bool throttle_over_background(const struct wb *);
/* ... or this server's writers don't run free any more: it has to write. */
bool throttle_pushes(const struct wb_server *);
/* Somebody waits for room that this server can make: its writeback is urgent. */
bool throttle_urgent(const struct wb_server *);

/* Serves those who wait, in their order. */
void throttle_run(struct wb *, uint64_t now);

/* Room for data that came in a message: bytes at *place, 0: none now. */
uint32_t throttle_inline_room(struct slab *, uint64_t *place);

#endif
