/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * jukebox.h - a server that asks for patience (NFS3ERR_JUKEBOX)
 */
#ifndef NFSWB_JUKEBOX_H
#define NFSWB_JUKEBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/file.h"

/* Counts the answer where it was JUKEBOX. */
void jukebox_count(struct wb_server *, const struct wb_call *);
/* A call of the file was told to come back later. */
void jukebox_asked(struct wb_file *, uint64_t now);
/* The same, and it was a WRITE. */
void jukebox_write_asked(struct wb_file *, uint64_t now);
/* A WRITE was taken. */
void jukebox_write_taken(struct wb_file *);
/* Are as many of its WRITEs out as may be now?  Each answer lets look anew. */
bool jukebox_full(const struct wb_file *);

#endif
