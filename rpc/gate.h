/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * gate.h - large calls of the background let small ones through
 *
 * What has begun must be finished on a connection, so a WRITE of 1 MiB holds up
 * whoever comes behind it by its time on the wire: 8 ms at 1 Gbit/s.  A program
 * that asks one thing after the other would wait so long for each.  So no such
 * WRITE begins while a small foreground call is out, nor just after its answer:
 * then the next one often comes.  But not for longer than HELD_TIMES what the last
 * one took, so that the background has its share of the wire.
 *
 * Pure logic; asked before each call is sent.
 */
#ifndef NFSWB_RPC_GATE_H
#define NFSWB_RPC_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/calls.h"

#define GATE_SMALL (64u << 10)		/* bytes of a call, either way */

struct gate {
	bool on;
	unsigned out;			/* small ones, queued or sent */
	uint64_t until_usec;		/* the next one may come until then */
	uint64_t last_usec, took_usec;	/* the last large one was begun, or out;
					   the time it took */
};

/* A call is queued, and has ended: each call once. */
void gate_queued(struct gate *, const struct rpc_call *);
void gate_ended(struct gate *, const struct rpc_call *, uint64_t now);
/* Its first byte has left: no other connection begins a large one now. */
void gate_begun(struct gate *, const struct rpc_call *, uint64_t now);
/* All of it has left; it took so long from its first byte on. */
void gate_sent(struct gate *, const struct rpc_call *, uint64_t took_usec,
	       uint64_t now);
/* Is it one that may have to wait? */
bool gate_is_for(const struct rpc_call *);
/* 0: it may begin now; else ask again after so long, or when one has ended. */
uint64_t gate_wait_usec(const struct gate *, const struct rpc_call *,
			uint64_t now);

#endif
