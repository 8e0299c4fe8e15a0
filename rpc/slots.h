/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots.h - the slot table: who may go out next
 */
#ifndef NFSWB_RPC_SLOTS_H
#define NFSWB_RPC_SLOTS_H

#include "rpc/calls.h"

struct slots {
	unsigned nr, background_depth;
	unsigned out_nr[RPC_CLASS_NR];	/* calls that hold a slot */
	unsigned deep_nr;		/* of them, those the depth is for */
	unsigned passed_nr;		/* foreground, before others that had none */
	unsigned waiting_nr;
	uint64_t next_nr;
	struct call_list waiting[RPC_CLASS_NR][2];	/* urgent ones, rest */
	struct call_list out;		/* in the order they got their slots */
};

void slots_init(struct slots *, unsigned nr);
void slots_add(struct slots *, struct rpc_call *);
/* Another class, first within it; also where the call holds a slot. */
void slots_raise(struct slots *, struct rpc_call *, enum rpc_class);
/* The next call, which holds a slot from now on; NULL: none may go. */
struct rpc_call *slots_take(struct slots *);
/* Gives the slot back, or stops waiting for one. */
void slots_remove(struct slots *, struct rpc_call *);
unsigned slots_out_nr(const struct slots *);

#endif
