/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * write_answer.h - what becomes of a WRITE's extents: written, short, to be tried
 * again, refused
 */
#ifndef NFSWB_WRITE_ANSWER_H
#define NFSWB_WRITE_ANSWER_H

#include "daemon/writeback/nfs_calls.h"

/* The done function of a write_op's call. */
void write_answered(struct wb_call *, uint64_t now);

#endif
