/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * share.h - what a server may hold of dirty_bytes
 */
#ifndef NFSWB_SHARE_H
#define NFSWB_SHARE_H

#include <stdint.h>

struct wb_server;

/* granted + dirty + writeback + unstable, for this server. */
uint64_t share_dirtied(const struct wb_server *);
/* It never holds more than this. */
uint64_t share_most(const struct wb_server *);
/* What it is to hold in the long run where room is short; UINT64_MAX: no other
   server wants any. */
uint64_t share_fair(const struct wb_server *);

#endif
