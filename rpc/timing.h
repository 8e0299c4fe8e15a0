/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * timing.h - per procedure: how many, how large, where the time went
 */
#ifndef NFSWB_RPC_TIMING_H
#define NFSWB_RPC_TIMING_H

#include "rpc/calls.h"

/* A call has come to its end; err 0: answered. */
void timing_count(struct rpc_op_stats *, const struct rpc_call *, int err);

#endif
