/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file.c - finding files, their sizes, and how long they live
 *
 * A file stays in its server's table while anybody refers to it or any of its
 * bytes are here, CLEAN ones too: whoever opens it again finds them.
 *
 * Cost: O(1), by handle; for all of a file's CLEAN data that another client has
 * overtaken, O(extents).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/age.h"
#include "daemon/writeback/commit.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/truncate.h"
#include "daemon/writeback/writepages.h"

static struct wb_file *
file_new(struct wb_server *s, const struct fh *fh,
	 const struct wb_file_params *params, const char *name)
{
	struct wb_file *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->name = strdup(name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->server = s;
	f->fh = *fh;
	f->params = *params;
	f->sync_pass.file = f;
	TAILQ_INIT(&f->held);
	TAILQ_INIT(&f->unstable);
	TAILQ_INIT(&f->late);
	TAILQ_INIT(&f->ops);
	LIST_INIT(&f->handles);
	LIST_INIT(&f->reads);
	TAILQ_INIT(&f->waits);
	TAILQ_INIT(&f->truncations);
	HASH_ADD(hh, s->files, fh, sizeof f->fh, f);
	if (!f->hh.tbl) {
		free(f->name);
		free(f);
		return NULL;
	}
	congestion_wsize(&s->congestion, params->wsize);
	if (s->wb->late_before_usec > s->wb->now)
		late_add_all(f, s->wb->late_before_usec);
	return f;
}

struct wb_file *
file_find(struct wb_server *s, const struct fh *fh)
{
	struct wb_file *f;

	HASH_FIND(hh, s->files, fh, sizeof *fh, f);
	return f;
}

/* Reached by two mounts: both get what they ask for. */
static void
stricter(struct wb_file *f, const struct wb_file_params *params)
{
	if (f->params.stable < params->stable)
		f->params.stable = params->stable;
	if (f->params.wsize > params->wsize)
		f->params.wsize = params->wsize;
	tails_over(f);
	if (f->params.rsize > params->rsize)
		f->params.rsize = params->rsize;
	if (f->params.read_ahead > params->read_ahead)
		f->params.read_ahead = params->read_ahead;
	if (f->params.max_size > params->max_size)
		f->params.max_size = params->max_size;
}

struct wb_file *
file_get(struct wb_server *s, const struct fh *fh,
	 const struct wb_file_params *params, const char *name)
{
	struct wb_file *f = file_find(s, fh);

	if (f)
		stricter(f, params);
	else
		f = file_new(s, fh, params, name);
	return f ? file_ref(f) : NULL;
}

struct wb_file *
file_ref(struct wb_file *f)
{
	f->refs++;
	return f;
}

void
file_put(struct wb_file *f)
{
	if (!f)
		return;
	f->refs--;
	file_check_unused(f);
}

/* Its writers are gone and were told nothing: who opens it soon is. */
static bool
owes_error(const struct wb_file *f)
{
	return errseq_unseen(&f->errors) && !f->forgotten &&
	       f->server->wb->now < f->error_until_usec;
}

static bool
in_use(const struct wb_file *f)
{
	return f->refs || f->handle_nr || f->when_closed ||
	       f->extents.last || !file_all_written(f) ||
	       f->uncommitted.last || !TAILQ_EMPTY(&f->ops) ||
	       f->commit || !TAILQ_EMPTY(&f->waits) ||
	       !TAILQ_EMPTY(&f->truncations) ||
	       late_overlaps(f, 0, UINT64_MAX) || owes_error(f);
}

void
file_check_unused(struct wb_file *f)
{
	struct wb_server *s = f->server;

	if (in_use(f))
		return;
	HASH_DELETE(hh, s->files, f);
	if (f->on_kick)
		TAILQ_REMOVE(&s->wb->kicked, f, kick_link);
	flusher_sync(f, false, s->wb->now);
	if (f->on_timed)
		TAILQ_REMOVE(&s->wb->timed, f, timed_link);
	if (f->on_short)
		TAILQ_REMOVE(&s->wb->short_files, f, short_link);
	commit_unwant(f);
	free(f->name);
	free(f);
}

void
file_kick(struct wb_file *f)
{
	struct wb *wb = f->server->wb;

	if (!f->on_kick) {
		TAILQ_INSERT_TAIL(&wb->kicked, f, kick_link);
		f->on_kick = true;
	}
	wb_poke(wb);
}

void
file_wake_at(struct wb_file *f, uint64_t at_usec)
{
	struct wb *wb = f->server->wb;

	if (!f->on_timed) {
		TAILQ_INSERT_TAIL(&wb->timed, f, timed_link);
		f->on_timed = true;
		f->wake_usec = at_usec;
	} else if (at_usec < f->wake_usec) {
		f->wake_usec = at_usec;
	}
	wb->timed_usec = MIN(wb->timed_usec, at_usec);
	wb_due(wb, at_usec);
}

void
file_short(struct wb_file *f)
{
	if (f->on_short)
		return;
	TAILQ_INSERT_TAIL(&f->server->wb->short_files, f, short_link);
	f->on_short = true;
}

uint32_t
file_wsize(const struct wb_file *f)
{
	uint32_t n = f->params.wsize;

	if (f->server->wsize_max && n > f->server->wsize_max)
		n = f->server->wsize_max;
	if (f->wsize_try && n > f->wsize_try)
		n = f->wsize_try;
	return n;
}

void
file_error(struct wb_file *f, int err)
{
	struct wb *wb = f->server->wb;

	f->failures++;
	errseq_set(&f->errors, err);
	f->error_until_usec = wb->now + wb->limits.clean_expire_usec;
	file_wake_at(f, f->error_until_usec);
}

/* ---- what others ask ---- */

const char *
file_name(const struct wb_file *f)
{
	return f->name;
}

void
file_rename(struct wb_file *f, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return;		/* for people only: the old one stays */
	free(f->name);
	f->name = copy;
}

const struct fh *
file_fh(const struct wb_file *f)
{
	return &f->fh;
}

struct wb_server *
file_server(const struct wb_file *f)
{
	return f->server;
}

unsigned
file_handle_nr(const struct wb_file *f)
{
	return f->handle_nr;
}

unsigned
file_user_nr(const struct wb_file *f)
{
	return f->handle_nr - sync_unattended(f);
}

void
file_pause(struct wb_file *f, uint64_t now, wb_done_fn *done, void *arg)
{
	f->paused++;
	if (sync_begin(f, SYNC_PAUSE, NULL, now, done, arg) < 0)
		wb_fail_later(f->server->wb, done, arg, -ENOMEM);
}

void
file_go_on(struct wb_file *f)
{
	f->paused--;
	age_look(f);
	file_kick(f);
}

uint64_t
file_left_bytes(const struct wb_file *f)
{
	return extent_live_bytes(f->bytes) + f->bytes[EXTENT_FAILED];
}

uint64_t
file_size_at_most(const struct wb_file *f)
{
	return f->size_known ? f->size : UINT64_MAX;
}

uint64_t
file_size(const struct wb_file *f)
{
	return f->size;
}

uint64_t
file_max_size(const struct wb_file *f)
{
	return f->params.max_size;
}

void
file_when_closed(struct wb_file *f,
		 void (*fn)(void *arg, struct wb_file *), void *arg)
{
	f->when_closed = fn;
	f->when_closed_arg = arg;
	file_kick(f);
}

static void
drop_clean(struct wb_file *f)
{
	struct extent *e, *next;

	for (e = extent_at(f, 0); e; e = next) {
		next = extent_next(e);
		if (e->state == EXTENT_CLEAN)
			extent_drop(e);
	}
}

void
file_server_attr(struct wb_file *f, uint64_t size, uint64_t ctime_nsec,
		 bool at_open)
{
	f->size_known = true;
	if (at_open)
		reads_drop(f, 0, UINT64_MAX);
	else
		reads_drop_older(f, ctime_nsec);
	if (at_open && ctime_nsec < f->reply_ctime && size < f->size) {
		drop_clean(f);		/* from before our last reply: it was */
		return;			/* overtaken, and its size is history */
	}
	if (ctime_nsec < f->cut_ctime && size > f->size)
		return;			/* from before our truncation */
	if (file_has_local(f)) {
		if (size > f->size && at_open)
			f->size = size;
		tails_over(f);
		return;
	}
	/* close-to-open: what another client wrote is what counts */
	if (at_open && (size != f->reply_size ||
			ctime_nsec != f->reply_ctime))
		drop_clean(f);
	if (at_open || f->handle_nr == 0 || size > f->size)
		f->size = size;
}

void
file_forget(struct wb_file *f)
{
	struct extent *e, *next;

	f->forgotten = true;
	reads_drop(f, 0, UINT64_MAX);
	for (e = extent_at(f, 0); e; e = next) {
		next = extent_next(e);
		if (e->state != EXTENT_WRITEBACK)
			extent_drop(e);
	}
	while ((e = TAILQ_FIRST(&f->held)))
		extent_drop(e);
	while ((e = extent_oldest(&f->uncommitted)))
		extent_drop(e);
	file_kick(f);
}
