/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * write_op.h - a WRITE queued or on the wire, and the extents it carries
 *
 * Writing frees memory and so must not fail for memory: the objects are set aside
 * per server.  A part is kept for sync passes, so that async ones never hold them
 * up.
 */
#ifndef NFSWB_WRITE_OP_H
#define NFSWB_WRITE_OP_H

#include <stdbool.h>

#include "daemon/writeback/extent.h"
#include "daemon/writeback/nfs_calls.h"

struct wb;
struct wb_server;
struct wb_server_params;

#define WRITE_IOV_MAX 256

struct write_op {
	struct wb_call call;
	struct wb_file *file;
	struct extent_list extents;	/* in file order, all WRITEBACK */
	TAILQ_ENTRY(write_op) link;	/* file->ops, or server->free_ops */
	struct iovec iov[WRITE_IOV_MAX];
};

/* WRITEs queued and on the wire at most. */
unsigned write_ops_nr(const struct wb *, const struct wb_server_params *);
int write_ops_init(struct wb_server *);
void write_ops_free(struct wb_server *);
/* Is an object left for such a pass? */
bool write_ops_room(const struct wb_server *, bool sync);
/* Its calls are not answered any more (the pipeline ends). */
void write_ops_drop(struct wb_file *);

/* A blank WRITE that starts with this extent, which is not in it yet.  NULL: none
   is left. */
struct write_op *write_op_new(struct extent *, enum wb_class);
/* Empty by now. */
void write_op_free(struct write_op *);
/* Its extents are DIRTY again. */
void write_op_undo(struct write_op *);
/* Its extents are gone: the file is, and nobody will ask for its bytes. */
void write_op_forget(struct write_op *);

#endif
