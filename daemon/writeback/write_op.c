/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write_op.c - see write_op.h */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/write_answer.h"
#include "daemon/writeback/write_op.h"

#define OPS_MIN 256		/* WRITEs queued and in flight, per server, */
#define OPS_MAX 2048		/* unless it was said */
#define OPS_NONE_MAX 16384	/* where there are no queues to bound it */
#define SYNC_SHARE 4		/* one in so many is for sync passes alone */

/* As many as fill the sync mark with WRITEs of 1 MiB; without queues as many as
   dirty_bytes are, so that they do not stand in for a queue. */
unsigned
write_ops_nr(const struct wb *wb, const struct wb_server_params *p)
{
	if (p->write_nr)
		return p->write_nr;
	if (p->congestion_policy == CONGESTION_NONE)
		return (unsigned)MIN((wb->limits.dirty_bytes >> 18) + 1024,
				     OPS_NONE_MAX);
	return (unsigned)MAX(MIN(2 * p->congestion_bytes >> 20, OPS_MAX),
			     OPS_MIN);
}

int
write_ops_init(struct wb_server *s)
{
	unsigned i;

	s->ops_nr = write_ops_nr(s->wb, &s->params);
	s->ops = calloc(s->ops_nr, sizeof *s->ops);
	if (!s->ops)
		return -ENOMEM;
	for (i = 0; i < s->ops_nr; i++) {
		TAILQ_INIT(&s->ops[i].extents);
		TAILQ_INSERT_TAIL(&s->free_ops, &s->ops[i], link);
	}
	return 0;
}

void
write_ops_free(struct wb_server *s)
{
	free(s->ops);
}

bool
write_ops_room(const struct wb_server *s, bool sync)
{
	unsigned kept = s->ops_nr > 1 ? MAX(s->ops_nr / SYNC_SHARE, 1) : 0;

	return s->ops_out < s->ops_nr - (sync ? 0 : kept);
}

struct write_op *
write_op_new(struct extent *e, enum wb_class class)
{
	struct wb_file *f = e->file;
	struct wb_server *s = f->server;
	struct write_op *op = TAILQ_FIRST(&s->free_ops);

	if (!op)
		return NULL;
	TAILQ_REMOVE(&s->free_ops, op, link);
	if (s->ops_out++ == 0)
		s->moved_usec = s->wb->now;
	op->file = f;
	op->call = (struct wb_call) {
		.kind = WB_CALL_WRITE,
		.class = server_class(s, class),
		.fh = &f->fh,
		.cred = cred_ref(e->cred),
		.offset = e->offset,
		.iov = op->iov,
		.done = write_answered,
	};
	TAILQ_INSERT_TAIL(&f->ops, op, link);
	f->ops_nr++;
	f->ops_class = MAX(f->ops_class, op->call.class);
	return op;
}

void
write_op_free(struct write_op *op)
{
	struct wb_server *s = op->file->server;

	TAILQ_REMOVE(&op->file->ops, op, link);
	op->file->ops_nr--;
	cred_put(op->call.cred);
	s->ops_out--;
	TAILQ_INSERT_HEAD(&s->free_ops, op, link);
}

/* Cancelled calls (our end is near) may have left: the next instance is told. */
void
write_op_undo(struct write_op *op)
{
	struct extent *e;

	while ((e = TAILQ_FIRST(&op->extents))) {
		extent_list_remove(e);
		if (op->call.err == -ECANCELED)
			e->was_sent = true;
		extent_set_state(e, EXTENT_DIRTY);
	}
}

void
write_op_forget(struct write_op *op)
{
	struct extent *e;

	while ((e = TAILQ_FIRST(&op->extents)))
		extent_drop(e);
}

void
write_ops_drop(struct wb_file *f)
{
	struct write_op *op;

	while ((op = TAILQ_FIRST(&f->ops))) {
		write_op_forget(op);
		write_op_free(op);
	}
}
