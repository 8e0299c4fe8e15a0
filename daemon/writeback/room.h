/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room.h - how much room there is for a slab now, at the limit and at the most
 * that its server may hold
 */
#ifndef NFSWB_ROOM_H
#define NFSWB_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct slab;
struct wb;
struct wb_server;

/* Of the limit, and of the most that a server may hold, what is for writers that
   are not light. */
uint64_t room_limit(const struct wb *);
uint64_t room_most(const struct wb_server *);

/* What may be granted now: whole pages, a chunk at most. */
uint32_t room_for(const struct slab *);
/* Is it the server's share, and not the limit, that leaves no room? */
bool room_is_held(const struct slab *);
/* Asks for little, and has little under way. */
bool room_is_light(const struct slab *);

#endif
