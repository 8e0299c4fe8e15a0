/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room_queue.h - slabs that wait for room, and whose turn it is
 *
 *	wb->waiting	for room at the limit, or at the most their server may
 *			hold, or for a chunk: every completion gives them a look
 *	wb->paced	until their time has come
 *	wb->driving	until WRITEs of theirs are answered (foreground.c)
 */
#ifndef NFSWB_ROOM_QUEUE_H
#define NFSWB_ROOM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct slab;
struct wb_server;

/* In which list is told by waiting_for. */
void room_queue_join(struct slab *, uint64_t now);
void room_queue_leave(struct slab *, uint64_t now);
/* It still waits, and now for this server's share; NULL: for the limit, or a
   chunk of its own. */
void room_queue_hold(struct slab *, struct wb_server *by);
/* Which of these it is. */
struct wb_server *room_queue_holder(const struct slab *);
/* Its server is another now. */
void room_queue_aimed(struct slab *);
/* Nobody who waits for the same room came before. */
bool room_queue_is_next(const struct slab *);

#endif
