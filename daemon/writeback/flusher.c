/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flusher.c - see flusher.h
 *
 * Async causes, the most urgent first:
 *	shutdown	everything goes
 *	memory		a writer waits for room: for its own slab's, the oldest
 *			file in that; for the limit, the oldest of all
 *	age		data older than dirty_expire
 *	background	more than dirty_background_bytes
 *
 * The oldest dirty file first; each gets one portion in its turn and goes to the
 * back.  The unfinished tail of a file that is being written stays until it is a
 * whole WRITE, unless somebody waits for it, it is old, or there is nothing else
 * to make room by (BOUND_TAILS).  No background pass begins while the server has
 * a second's work already (BOUND_PASS).
 *
 * Cost: O(log n) in the dirty files for each that has a turn; one with nothing but a
 * tail has none (tails.h), nor one that is not too old yet (age.h).
 */
#include <sys/param.h>

#include "daemon/writeback/age.h"
#include "daemon/writeback/commit.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/sync.h"
#include "daemon/writeback/tails.h"
#include "daemon/writeback/throttle.h"
#include "daemon/writeback/write_op.h"
#include "daemon/writeback/writepages.h"

#define PORTION_MIN (4u << 20)
#define OLDEST_LOOKS 256	/* of one slab, at most */
#define TAILS_SHARE (256ull << 10)
#define STUCK_USEC 1000000	/* no WRITE was answered for so long */
#define OVERDUE_USEC 10000000	/* beyond dirty_expire: something is wrong */

static uint64_t
portion(const struct wb_server *s)
{
	uint64_t half = s->bandwidth.bytes_per_sec / 2;

	return MAX(MIN(half, server_backlog(s)),
		   wbt_share(&s->wbt, PORTION_MIN));
}

bool
flusher_may_write(struct wb_file *f, uint64_t now)
{
	if (!TAILQ_EMPTY(&f->truncations) || f->forgotten || f->paused)
		return false;
	if (f->not_before_usec > now) {
		wb_due(f->server->wb, f->not_before_usec);
		return false;
	}
	return !jukebox_full(f);
}

static uint64_t
writeback(const struct wb_server *s)
{
	return s->bytes[EXTENT_WRITEBACK];
}

/* ---- sync ---- */

static void
sync_wait(struct wb_file *f, uint64_t now)
{
	TAILQ_REMOVE(&f->server->sync_files, f, sync_link);
	congestion_wait(&f->server->congestion.sync, &f->sync_pass, now);
}

static void
sync_wake(struct wb_file *f, uint64_t now)
{
	congestion_wake(&f->server->congestion.sync, &f->sync_pass, now);
	TAILQ_INSERT_TAIL(&f->server->sync_files, f, sync_link);
}

void
flusher_sync(struct wb_file *f, bool wanted, uint64_t now)
{
	struct wb_server *s = f->server;

	if (wanted && !f->on_sync)
		TAILQ_INSERT_TAIL(&s->sync_files, f, sync_link);
	else if (!wanted && f->sync_pass.waits)
		congestion_leave(&s->congestion.sync, &f->sync_pass, now);
	else if (!wanted && f->on_sync)
		TAILQ_REMOVE(&s->sync_files, f, sync_link);
	f->on_sync = wanted;
}

/* Writes a portion of what is waited for; goes to the queue if the mark ended it
   before. */
static void
sync_pass(struct wb_file *f, uint64_t now)
{
	struct wb_server *s = f->server;
	struct pass p = { .sync = true, .partial = true,
			  .portion_bytes = portion(s),
			  .class = WB_FOREGROUND };
	struct pass_result r;
	bool only_close;

	if (!sync_target(f, &p.target_seq, &only_close)) {
		flusher_sync(f, false, now);
		return;
	}
	r = writepages(f, &p, now);
	if (r.bytes)
		s->stats.flush_causes[only_close ? FLUSH_CLOSE
						 : FLUSH_SYNC]++;
	if (!r.more)
		flusher_sync(f, false, now);
	else if (congestion_full(&s->congestion.sync, writeback(s)))
		sync_wait(f, now);
	else if (r.bytes)
		wb_poke(s->wb);
}

static void
sync_come(struct wb_file *f, uint64_t now)
{
	struct wb_server *s = f->server;

	if (!flusher_may_write(f, now))
		return;
	if (congestion_stops(&s->congestion.sync, writeback(s)))
		sync_wait(f, now);
	else
		sync_pass(f, now);
}

/* Those that wait, in their order, until the mark is passed again: the others
   keep their places, the one that passed it goes to the end. */
static void
run_waiting(struct wb_server *s, uint64_t now)
{
	struct congestion_queue *q = &s->congestion.sync;
	struct congestion_pass *p, *last;
	bool end = congestion_held(q, writeback(s));

	last = TAILQ_LAST(&q->waiting, congestion_list);
	while (!end && (p = TAILQ_FIRST(&q->waiting)) &&
	       !congestion_full(q, writeback(s))) {
		end = p == last;
		sync_wake(p->file, now);
		if (flusher_may_write(p->file, now))
			sync_pass(p->file, now);
	}
}

/* Once round the files that don't wait; a portion each. */
static void
run_ready(struct wb_server *s, uint64_t now)
{
	struct wb_file *f, *last = TAILQ_LAST(&s->sync_files, file_list);
	bool end = !last;

	while (!end) {
		f = TAILQ_FIRST(&s->sync_files);
		end = f == last;
		TAILQ_REMOVE(&s->sync_files, f, sync_link);
		TAILQ_INSERT_TAIL(&s->sync_files, f, sync_link);
		sync_come(f, now);
	}
}

static void
run_sync(struct wb_server *s, uint64_t now)
{
	run_waiting(s, now);
	run_ready(s, now);
}

/* ---- async ---- */

static void
to_the_back(struct wb_file *f)
{
	f->portion_used = 0;
	dirty_to_the_back(f);
}

static uint64_t
portion_left(const struct wb_file *f)
{
	uint64_t all = portion(f->server);

	return all > f->portion_used ? all - f->portion_used : 1;
}

/* Nothing may be queued now: a pass that has more to write goes on later, from
   where it is and with what it has left of its portion. */
static bool
async_stopped(struct wb_server *s, uint64_t now)
{
	if (!write_ops_room(s, false))
		return true;
	if (!congestion_full(&s->congestion.async, writeback(s)))
		return false;
	congestion_wait(&s->congestion.async, &s->async_pass, now);
	return true;
}

/* One async pass.  The bytes it queued; *stopped: no other may begin. */
static uint64_t
async_pass(struct wb_file *f, enum flush_cause cause, bool partial,
	   uint64_t now, bool *stopped)
{
	struct wb_server *s = f->server;
	struct pass p = { .partial = partial,
			  .portion_bytes = portion_left(f),
			  .class = f->on_sync ? WB_FOREGROUND :
				   cause == FLUSH_MEMORY ? WB_NORMAL
							 : WB_BACKGROUND };
	struct pass_result r = writepages(f, &p, now);

	if (r.bytes)
		s->stats.flush_causes[cause]++;
	f->portion_used += r.bytes;
	*stopped = r.more && async_stopped(s, now);
	if (!partial && !r.bytes && !r.more)
		tails_found(f);
	if (!*stopped || f->portion_used >= portion(s))
		to_the_back(f);
	return r.bytes;
}

static bool
cause_now(const struct wb_server *s, enum flush_cause *cause)
{
	if (s->wb->draining)
		*cause = FLUSH_SHUTDOWN;
	else if (throttle_urgent(s))
		*cause = FLUSH_MEMORY;
	else if (throttle_pushes(s))
		*cause = FLUSH_BACKGROUND;
	else
		return false;
	return true;
}

bool
flusher_wanted(const struct wb_server *s)
{
	enum flush_cause cause;

	return cause_now(s, &cause);
}

/* More is on its way than the server takes in a second, not counting what it is
   making stable now. */
static bool
has_enough(const struct wb_server *s)
{
	if (!(s->params.bounds & BOUND_PASS) || s->wb->draining ||
	    (!writeback(s) && !s->window_of_commits.out &&
	     !wbt_commit_wait_usec(&s->wbt, s->wb->now)))
		return false;
	return s->bytes[EXTENT_WRITEBACK] + s->bytes[EXTENT_UNSTABLE] >
	       server_backlog(s) + wbt_share(&s->wbt,
					     s->window_of_commits.out_bytes);
}

/* May tails wait until they are whole WRITEs?  Not where the files' shares of
   the limit are so small that what waits is missed. */
static bool
tails_wait(const struct wb_server *s)
{
	const struct wb *wb = s->wb;

	return (s->params.bounds & BOUND_TAILS) &&
	       wb->limits.dirty_bytes >= TAILS_SHARE * wb->live_files;
}

struct extent *
flusher_oldest(struct slab *slab, const struct wb_server *s, uint64_t now)
{
	const struct wb_file *no = NULL;
	unsigned left = OLDEST_LOOKS;
	struct extent *e;

	TAILQ_FOREACH(e, &slab->dirty, link) {
		if (e->file != no && (!s || e->file->server == s) &&
		    flusher_may_write(e->file, now))
			return e;
		no = e->file;
		if (!--left)
			break;
	}
	return NULL;
}

/* One portion for a session that lacks room of its own: its tails too, if nothing
   else of it is under way.  The bytes. */
static uint64_t
slab_pass(struct wb_server *s, struct slab *slab, uint64_t now, bool *stopped)
{
	struct extent *e = flusher_oldest(slab, s, now);
	bool partial = !slab->bytes[EXTENT_WRITEBACK] &&
		       !slab->bytes[EXTENT_UNSTABLE];

	return e ? async_pass(e->file, FLUSH_MEMORY, partial, now, stopped) : 0;
}

/* Round those who wait for room in their slabs.  false: no other pass may
   begin. */
static bool
run_short_slabs(struct wb_server *s, uint64_t now)
{
	struct slab *slab;
	bool progress, stopped = false;

	do {
		progress = false;
		TAILQ_FOREACH(slab, &s->wb->waiting, wait_link) {
			if (!slab->short_of_room)
				continue;
			if (has_enough(s))
				return false;
			if (slab_pass(s, slab, now, &stopped))
				progress = true;
			if (stopped)
				return false;
		}
	} while (progress);
	return true;
}

/* Will no WRITE make room soon?  Then tails go: none is out, or those that are
   may hang with the file, or volume, that they are for. */
static bool
tails_must_go(const struct wb_server *s, uint64_t now)
{
	if (!throttle_urgent(s))
		return false;
	if (!writeback(s) || now - s->moved_usec >= STUCK_USEC)
		return true;
	wb_due(s->wb, s->moved_usec + STUCK_USEC);
	return false;
}

/* Round the dirty files until the cause is gone or a round brought nothing. */
static bool
round_files(struct wb_server *s, bool partial, uint64_t now, bool *progress)
{
	struct wb_file *f, *last;
	enum flush_cause cause;
	struct turn began;
	bool stopped;

	*progress = false;
	if (partial || s->wb->draining)
		tails_over_all(s);
	began = dirty_round_begins(s);
	last = dirty_last(s);
	while ((f = dirty_head(s))) {
		bool end = f == last;

		if (!cause_now(s, &cause) || has_enough(s))
			return false;
		dirty_has_turn(f);
		if (flusher_may_write(f, now)) {
			if (async_pass(f, cause, partial ||
				       cause == FLUSH_SHUTDOWN, now,
				       &stopped))
				*progress = true;
			if (stopped)
				return false;
		} else {
			to_the_back(f);
		}
		if (end)
			break;
	}
	dirty_round_ends(s, began);
	return dirty_first(s);
}

/* false: no other pass may begin. */
static bool
run_aged(struct wb_server *s, uint64_t now)
{
	struct wb_file *f;
	bool stopped = false;

	while (!stopped && !has_enough(s) && (f = age_first(s, now)))
		if (!async_pass(f, FLUSH_AGE, true, now, &stopped))
			break;
	return !stopped;
}

static void
run_async(struct wb_server *s, uint64_t now)
{
	struct congestion_queue *q = &s->congestion.async;
	bool progress, wanted;
	enum flush_cause cause;

	wanted = dirty_first(s) &&
		 (cause_now(s, &cause) || age_first(s, now));
	if (!wanted) {
		congestion_leave(q, &s->async_pass, now);
		return;
	}
	if (congestion_stops(q, writeback(s))) {
		congestion_wait(q, &s->async_pass, now);
		return;
	}
	congestion_wake(q, &s->async_pass, now);
	if (has_enough(s)) {
		commit_oldest(s, now);
		return;
	}
	if (!run_short_slabs(s, now) || !run_aged(s, now))
		return;
	/* What others have would make no room for those who lack it. */
	if (reclaim_served(s->wb) && !s->wb->draining &&
	    !throttle_pushes(s))
		return;
	do {
		if (!round_files(s, !tails_wait(s), now, &progress))
			return;
	} while (progress);
	/* Only tails are left; they go when nothing else makes room. */
	if (tails_must_go(s, now))
		(void)round_files(s, true, now, &progress);
}

static bool
older(struct extent_seq_tree *t, uint64_t than_usec)
{
	const struct extent *e = extent_oldest(t);

	return e && e->dirtied_usec < than_usec;
}

/* A server that owes an answer, or gave one a moment ago, is not to blame on us;
   neither is what may not be written now. */
bool
flusher_overdue(struct wb_server *s, uint64_t now)
{
	uint64_t late = s->wb->limits.dirty_expire_usec + OVERDUE_USEC;
	struct wb_file *f;

	if (s->ops_out || s->commits_out || now < late ||
	    now - s->answered_usec < OVERDUE_USEC)
		return false;
	for (f = dirty_first(s); f; f = dirty_next(f))
		if (flusher_may_write(f, now) && older(&f->to_write, now - late))
			return true;
	TAILQ_FOREACH(f, &s->unstable_files, unstable_link)
		if (flusher_may_write(f, now) && older(&f->uncommitted, now - late))
			return true;
	return false;
}

uint64_t
flusher_drive(struct wb_server *s, uint64_t bytes, uint64_t now)
{
	struct pass p = { .partial = true, .portion_bytes = bytes,
			  .class = WB_NORMAL };
	struct wb_file *f;

	if (s->wb->held)
		return 0;
	for (f = dirty_first(s); f; f = dirty_next(f))
		if (flusher_may_write(f, now))
			return writepages(f, &p, now).bytes;
	return 0;
}

void
flusher_run(struct wb_server *s, uint64_t now)
{
	if (s->wb->held)
		return;
	run_sync(s, now);
	run_async(s, now);
}
