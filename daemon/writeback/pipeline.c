/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pipeline.c - one turn of the clockwork
 *
 *	files that something happened to	held ones join, truncations go
 *						on, waits end, COMMITs go out
 *	writers who wait for room		throttle
 *	per server				flusher: WRITEs go out
 *	what is over				slabs, old CLEAN data
 *
 * Cost of a turn: O(servers), and O(log n) in files for each that something
 * happened to.  Who waits at the limit: O(sessions) for what others were granted
 * and do not fill (grant.c); where files wait for a time (late copies, JUKEBOX, an
 * error nobody has seen), O(those) each time that one is due.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/commit.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/throttle.h"
#include "daemon/writeback/truncate.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/yield.h"

struct wb *
wb_new(const struct wb_limits *limits, const struct wb_hooks *hooks, void *arg,
       uint64_t now)
{
	struct wb *wb = calloc(1, sizeof *wb);

	if (!wb)
		return NULL;
	wb->limits = *limits;
	wb->hooks = *hooks;
	wb->hooks_arg = arg;
	wb->now = now;
	/* above all that an earlier instance gave (CLOCK_BOOTTIME, ns) */
	wb->seq = now * 1000;
	wb->slots_max = slots_max(limits->dirty_bytes);
	wb->timed_usec = wb->deadline = wb->next_clean_usec = wb->next_read_usec = UINT64_MAX;
	LIST_INIT(&wb->servers);
	LIST_INIT(&wb->slabs);
	LIST_INIT(&wb->ending_slabs);
	TAILQ_INIT(&wb->waiting);
	TAILQ_INIT(&wb->paced);
	TAILQ_INIT(&wb->driving);
	LIST_INIT(&wb->users);
	TAILQ_INIT(&wb->kicked);
	TAILQ_INIT(&wb->timed);
	TAILQ_INIT(&wb->short_files);
	STAILQ_INIT(&wb->later);
	return wb;
}

static void
drop_all(struct wb_server *s)
{
	struct wb_file *f, *next;
	struct extent *e, *n;

	HASH_ITER(hh, s->files, f, next) {
		file_ref(f);
		f->when_closed = NULL;
		sync_drop(f);
		truncate_drop(f);
		late_drop(f);
		write_ops_drop(f);
		commit_drop(f);
		reads_free(f);
		while (!LIST_EMPTY(&f->handles))
			handle_free(LIST_FIRST(&f->handles));
		for (e = extent_at(f, 0); e; e = n) {
			n = extent_next(e);
			extent_drop(e);
		}
		file_forget(f);
		file_put(f);
	}
}

void
wb_free(struct wb *wb)
{
	struct wb_server *s;
	struct slab *slab;
	struct wb_later *l;

	wb->ending = true;
	LIST_FOREACH(s, &wb->servers, link)
		drop_all(s);
	while ((slab = LIST_FIRST(&wb->slabs))) {
		slab_release(slab, wb->now);
		if (!slab_reap(slab))
			break;
	}
	while ((s = LIST_FIRST(&wb->servers)))
		wb_server_free(s);
	while ((l = STAILQ_FIRST(&wb->later))) {
		STAILQ_REMOVE_HEAD(&wb->later, link);
		sync_drop_done(l->done, l->arg);
		free(l);
	}
	free(wb);
}

void
wb_poke(struct wb *wb)
{
	if (wb->hooks.poke)
		wb->hooks.poke(wb->hooks_arg);
}

void
wb_give_up(struct wb_file *f, const struct cred *writer, uint64_t offset,
	   uint64_t length, int err)
{
	struct wb *wb = f->server->wb;

	if (wb->hooks.gave_up)
		wb->hooks.gave_up(wb->hooks_arg, f, writer->uid, offset,
				  length, err);
}

void
wb_fail_later(struct wb *wb, wb_done_fn *done, void *arg, int err)
{
	struct wb_later *l = malloc(sizeof *l);

	if (!l) {		/* nothing left to keep the promise with */
		if (done)
			done(arg, err);
		return;
	}
	l->done = done;
	l->arg = arg;
	l->err = err;
	STAILQ_INSERT_TAIL(&wb->later, l, link);
	wb_poke(wb);
}

static void
run_later(struct wb *wb)
{
	struct wb_later *l;

	while ((l = STAILQ_FIRST(&wb->later))) {
		STAILQ_REMOVE_HEAD(&wb->later, link);
		if (l->done)
			l->done(l->arg, l->err);
		free(l);
	}
}

static void
closed_check(struct wb_file *f)
{
	void (*fn)(void *arg, struct wb_file *) = f->when_closed;

	if (!fn || f->handle_nr || file_left_bytes(f))
		return;
	f->when_closed = NULL;
	fn(f->when_closed_arg, f);
}

/* Held back until a late copy can land no more, or by JUKEBOX? */
static void
wait_for_time(struct wb_file *f, uint64_t now)
{
	struct late_range *l = TAILQ_FIRST(&f->late);

	if (l)
		file_wake_at(f, l->until_usec);
	if (f->late_all_usec)
		file_wake_at(f, f->late_all_usec);
	if (f->not_before_usec > now)
		file_wake_at(f, f->not_before_usec);
	if (errseq_unseen(&f->errors) && f->error_until_usec > now)
		file_wake_at(f, f->error_until_usec);
}

static void
turn_file(struct wb_file *f, uint64_t now)
{
	file_ref(f);
	extent_release_held(f, now);
	truncate_check(f, now);
	sync_check(f, now);
	commit_check(f, false, now);
	closed_check(f);
	wait_for_time(f, now);
	file_put(f);
}

static void
run_kicked(struct wb *wb, uint64_t now)
{
	struct wb_file *f, *last = TAILQ_LAST(&wb->kicked, file_list);
	bool end;

	while (last && (f = TAILQ_FIRST(&wb->kicked))) {
		end = f == last;
		TAILQ_REMOVE(&wb->kicked, f, kick_link);
		f->on_kick = false;
		turn_file(f, now);
		if (end)
			break;
	}
}

/* Files that wait for a time: all of those are looked at when the first is due. */
static void
kick_timed(struct wb *wb, uint64_t now)
{
	uint64_t first = UINT64_MAX;
	struct wb_file *f, *next;

	if (now < wb->timed_usec) {
		wb_due(wb, wb->timed_usec);
		return;
	}
	TAILQ_FOREACH_SAFE(f, &wb->timed, timed_link, next) {
		if (f->wake_usec > now) {
			first = MIN(first, f->wake_usec);
			continue;
		}
		TAILQ_REMOVE(&wb->timed, f, timed_link);
		f->on_timed = false;
		file_kick(f);
	}
	wb->timed_usec = first;
	wb_due(wb, first);
}

static void
wake_starved(struct wb *wb)
{
	struct slab *s, *next;
	struct wb_file *f;

	if (!wb->slots_came_free)
		return;
	wb->slots_came_free = false;
	while ((f = TAILQ_FIRST(&wb->short_files))) {
		TAILQ_REMOVE(&wb->short_files, f, short_link);
		f->on_short = false;
		file_kick(f);
	}
	if (!wb->starved_nr && !wb->some_stalled)
		return;
	wb->some_stalled = false;
	LIST_FOREACH_SAFE(s, &wb->slabs, link, next)
		if (s->starved || s->stalled)
			slab_wake(s);
}

static void
reap_slabs(struct wb *wb)
{
	struct slab *s, *next;

	LIST_FOREACH_SAFE(s, &wb->ending_slabs, ending_link, next)
		(void)slab_reap(s);
}

/* As much as it can do? */
static bool
has_work(const struct wb_server *s)
{
	return (s->bytes[EXTENT_WRITEBACK] || s->window_of_commits.out) &&
	       flusher_wanted(s);
}

void
wb_run(struct wb *wb, uint64_t now)
{
	struct wb_server *s;

	wb->now = now;
	wb->deadline = UINT64_MAX;
	run_later(wb);
	kick_timed(wb, now);
	run_kicked(wb, now);
	LIST_FOREACH(s, &wb->servers, link) {
		yield_turn(s, now);
		commit_run(s, now);
	}
	LIST_FOREACH(s, &wb->servers, link)
		commit_for_room(s, now);
	throttle_run(wb, now);
	LIST_FOREACH(s, &wb->servers, link) {
		flusher_run(s, now);
		drain_turn(&s->drain, has_work(s), now);
	}
	wake_starved(wb);
	reap_slabs(wb);
	reclaim_expire(wb, now);
	reads_run(wb, now);
}

uint64_t
wb_deadline(const struct wb *wb)
{
	return wb->deadline;
}

/* ---- everything at once ---- */

int
wb_sync(struct wb *wb, bool (*match)(void *arg, struct wb_file *),
	void *match_arg, uint64_t now, wb_done_fn *done, void *arg)
{
	struct sync_group *g = sync_group_new(done, arg);
	struct wb_server *s;
	struct wb_file *f, *next;

	if (!g)
		return -ENOMEM;
	LIST_FOREACH(s, &wb->servers, link)
		HASH_ITER(hh, s->files, f, next)
			if (file_left_bytes(f) &&
			    (!match || match(match_arg, f)))
				sync_group_add(g, f, now);
	sync_group_end(g, wb);
	return 0;
}

void
wb_drain(struct wb *wb, uint64_t now)
{
	struct wb_server *s;
	struct wb_file *f, *next;

	wb->now = now;
	wb->draining = true;
	LIST_FOREACH(s, &wb->servers, link)
		HASH_ITER(hh, s->files, f, next)
			file_kick(f);
	wb_poke(wb);
}

void
wb_hold(struct wb *wb, bool hold)
{
	struct wb_server *s;
	struct wb_file *f, *next;

	wb->held = hold;
	if (hold)
		return;
	LIST_FOREACH(s, &wb->servers, link)
		HASH_ITER(hh, s->files, f, next)
			if (!TAILQ_EMPTY(&f->truncations))
				file_kick(f);
	wb_poke(wb);
}

bool
wb_is_quiet(const struct wb *wb)
{
	const struct wb_server *s;

	LIST_FOREACH(s, &wb->servers, link)
		if (s->ops_out || s->truncations_out)
			return false;
	return true;
}

bool
wb_stands_still(const struct wb *wb, uint64_t now)
{
	struct wb_server *s;

	LIST_FOREACH(s, &wb->servers, link)
		if (flusher_overdue(s, now))
			return true;
	return false;
}

uint64_t
wb_left_bytes(const struct wb *wb)
{
	return extent_live_bytes(wb->bytes) + wb->bytes[EXTENT_FAILED];
}

void
wb_each_left(struct wb *wb, void (*fn)(void *arg, struct wb_file *,
	     uint64_t offset, uint64_t length, int err), void *arg)
{
	struct wb_server *s;
	struct wb_file *f, *next;
	struct extent *e;

	LIST_FOREACH(s, &wb->servers, link)
		HASH_ITER(hh, s->files, f, next) {
			for (e = extent_at(f, 0); e; e = extent_next(e))
				if (e->state != EXTENT_CLEAN)
					fn(arg, f, e->offset, e->length,
					   e->err);
			TAILQ_FOREACH(e, &f->held, link)
				fn(arg, f, e->offset, e->length, e->err);
		}
}
