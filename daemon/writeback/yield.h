/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * yield.h - what wbt says, done to one server's slots, COMMITs and passes
 */
#ifndef NFSWB_YIELD_H
#define NFSWB_YIELD_H

#include <stdbool.h>
#include <stdint.h>

struct wb_server;

void yield_init(struct wb_server *);
/* Once a turn, before COMMITs are picked. */
void yield_turn(struct wb_server *, uint64_t now);
/* A COMMIT of the background was answered after so long. */
void yield_committed(struct wb_server *, uint64_t took_usec, uint64_t now);

/* May one more go?  If not, there will be a turn when it may. */
bool yield_may_commit(struct wb_server *, uint64_t now);

#endif
