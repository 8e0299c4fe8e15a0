/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* handle.c - an open file of one session: what its owner may ask of the file */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/truncate.h"

static bool
may_read(const struct wb_handle *h)
{
	return (h->oflags & O_ACCMODE) != O_WRONLY;
}

struct wb_handle *
handle_open(struct wb_file *f, struct cred *cred, int oflags)
{
	struct wb_handle *h = calloc(1, sizeof *h);

	if (h)
		h->closing = sync_wait_new();
	if (!h || !h->closing) {
		free(h);
		return NULL;
	}
	h->file = file_ref(f);
	h->cred = cred_ref(cred);
	h->oflags = oflags;
	h->since = errseq_sample(&f->errors);
	LIST_INSERT_HEAD(&f->handles, h, link);
	f->handle_nr++;
	f->reader_nr += may_read(h);
	f->forgotten = false;	/* it is not gone after all */
	return h;
}

void
handle_free(struct wb_handle *h)
{
	struct wb_file *f = h->file;

	LIST_REMOVE(h, link);
	f->handle_nr--;
	f->reader_nr -= may_read(h);
	cred_put(h->cred);
	free(h->closing);
	free(h);
	file_put(f);
}

struct wb_file *
handle_file(const struct wb_handle *h)
{
	return h->file;
}

void
handle_fsync(struct wb_handle *h, uint64_t now, wb_done_fn *done, void *arg)
{
	if (sync_begin(h->file, SYNC_FSYNC, h, now, done, arg) < 0)
		wb_fail_later(h->file->server->wb, done, arg, -ENOMEM);
}

void
handle_close(struct wb_handle *h, uint64_t now, wb_done_fn *done, void *arg)
{
	(void)sync_begin(h->file, SYNC_CLOSE, h, now, done, arg);
}

void
handle_abandon(struct wb_file *f, void *arg)
{
	struct wb *wb = f->server->wb;
	struct sync_wait *w;
	struct truncation *t;
	struct wb_later *l;

	TAILQ_FOREACH(w, &f->waits, link)
		if (w->arg == arg)
			w->done = NULL;
	TAILQ_FOREACH(t, &f->truncations, link)
		if (t->arg == arg)
			t->done = NULL;
	STAILQ_FOREACH(l, &wb->later, link)
		if (l->arg == arg)
			l->done = NULL;
}

void
handle_truncate(struct wb_handle *h, uint64_t size, uint64_t now,
		wb_done_fn *done, void *arg)
{
	file_truncate(h->file, h->cred, size, now, done, arg);
}

int64_t
handle_reserve(struct wb_handle *h, uint64_t length)
{
	struct wb_file *f = h->file;
	uint64_t start = f->size;

	if (!TAILQ_EMPTY(&f->truncations))
		return -EAGAIN;
	if (start > f->params.max_size || length > f->params.max_size - start)
		return -EFBIG;
	f->size = h->reserved_end = start + length;
	tails_over(f);
	h->cut_from = UINT64_MAX;
	return (int64_t)start;
}

void
handle_reserved(struct wb_handle *h, uint64_t end)
{
	struct wb_file *f = h->file;

	h->reserved_end = end;
	h->cut_from = UINT64_MAX;
	if (end > f->size)
		f->size = end;
	tails_over(f);
}

void
handle_cut(struct wb_handle *h, uint64_t size)
{
	if (h->reserved_end > size && size < h->cut_from)
		h->cut_from = size;
}

void
file_when_cut(struct wb_file *f, uint64_t now, wb_done_fn *done, void *arg)
{
	if (sync_begin(f, SYNC_CUT, NULL, now, done, arg) < 0)
		wb_fail_later(f->server->wb, done, arg, -ENOMEM);
}

/*
 * The whole file is flushed: a read beside writes is rare enough, and what it
 * needs is then right whatever overlaps.  What failed outside of the range is
 * no matter of the reader's.
 */
void
file_flush_range(struct wb_file *f, uint64_t offset, uint64_t length,
		 uint64_t now, wb_done_fn *done, void *arg)
{
	if (sync_flush(f, offset, offset + length, now, done, arg) < 0)
		wb_fail_later(f->server->wb, done, arg, -ENOMEM);
}
