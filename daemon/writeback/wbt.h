/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wbt.h - background writeback yields to foreground work
 *
 * After Linux block/blk-wbt.c: foreground latency is watched, the number of
 * background calls in flight follows.  In this form the latency is counted and
 * the depth is the whole slot table.
 */
#ifndef NFSWB_WBT_H
#define NFSWB_WBT_H

struct wb_server;

void wbt_init(struct wb_server *);

#endif
