/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file_read.c - what a reader needs to know of a file: what of it is here, what is
 * not at the server yet, and where it ends
 */
#include "daemon/writeback/pipeline_impl.h"

bool
file_has_local(const struct wb_file *f)
{
	return !file_all_written(f) || f->uncommitted.last ||
	       f->failed.last || !TAILQ_EMPTY(&f->truncations);
}

uint64_t
file_local_end(const struct wb_file *f)
{
	return file_has_local(f) ? f->size : 0;
}

static bool
held_within(struct wb_file *f, uint64_t offset, uint64_t end)
{
	struct extent *e;

	TAILQ_FOREACH(e, &f->held, link)
		if (e->offset < end && extent_end(e) > offset)
			return true;
	return false;
}

/* A GHOST is a place that a server which restarts shows with older bytes. */
bool
file_is_settled(struct wb_file *f, uint64_t offset, uint64_t end)
{
	struct extent *e;

	if (!file_has_local(f))
		return true;
	if (!TAILQ_EMPTY(&f->truncations) || f->nr[EXTENT_GHOST] ||
	    held_within(f, offset, end))
		return false;
	for (e = extent_at(f, offset); e && e->offset < end;
	     e = extent_next(e))
		if (e->state != EXTENT_CLEAN)
			return false;
	return true;
}

/* Another client has made it longer. */
void
file_read_attr(struct wb_file *f, uint64_t size, uint64_t ctime_nsec)
{
	if (size > f->size && ctime_nsec >= f->cut_ctime && !file_has_local(f))
		f->size = size;
}

/* A record is being appended in pieces: the size is ahead of what was written. */
static bool
is_reserved(const struct wb_file *f, uint64_t from)
{
	const struct wb_handle *h;

	LIST_FOREACH(h, &f->handles, link)
		if (h->reserved_end > from)
			return true;
	return false;
}

/* ... or shorter; not where we have changed it while the READ was out. */
void
file_read_end(struct wb_file *f, uint64_t end, uint64_t changes)
{
	if (is_reserved(f, end))
		return;
	if (end < f->size && changes == f->changes && !file_has_local(f))
		f->size = end;
}

/* ---- from what is here ---- */

static void
copy_part(const struct extent *e, uint64_t offset, uint64_t end,
	  unsigned char *buf)
{
	uint64_t from = e->offset > offset ? e->offset : offset;
	uint64_t to = extent_end(e) < end ? extent_end(e) : end;

	if (from < to)
		memcpy(buf + (from - offset),
		       e->slab->view.data + e->place + (from - e->offset),
		       to - from);
}

int
file_read_cached(struct wb_file *f, struct cred *cred, uint64_t offset,
		 uint64_t length, void *buf)
{
	uint64_t end = offset + length, at = offset;
	struct extent *e, *first = extent_at(f, offset);

	for (e = first; e && e->offset <= at && at < end; e = extent_next(e)) {
		if (e->cred->uid != cred->uid)
			return 0;
		at = extent_end(e);
	}
	if (at < end)
		return 0;
	TAILQ_FOREACH(e, &f->held, link)
		if (e->offset < end && extent_end(e) > offset &&
		    e->cred->uid != cred->uid)
			return 0;
	for (e = first; e && e->offset < end; e = extent_next(e))
		copy_part(e, offset, end, buf);
	TAILQ_FOREACH(e, &f->held, link)
		copy_part(e, offset, end, buf);
	return 1;
}
