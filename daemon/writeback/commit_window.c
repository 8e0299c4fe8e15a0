/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commit_window.c - see commit_window.h
 *
 * A server that flushes just the file it is asked for (S1 of bench/README.md)
 * does best with few COMMITs of many bytes each.  So there is one at least, and
 * more up to about half a second of bandwidth, a sixteenth of dirty_bytes at most:
 * what is being flushed comes back piece by piece.  No more than a quarter of the
 * slots: with all of the server's threads in COMMITs no WRITE is answered, files
 * have little to COMMIT, and so it stays.  On a long way more are needed, so
 * that the next is there when one ends.  The largest goes first, of equals the
 * one that came last: the others grow meanwhile, and a flush of more bytes needs
 * fewer seeks.  Every fourth is the one that has waited longest, so that none is
 * left behind; those that come as a window opens count as picked, too.
 *
 * A server that flushes everything at each COMMIT (S2) does best with many at
 * once, first come, first served: they share a flush.  It shows itself: the COMMIT
 * of the file which has waited longest is answered faster than its bytes can have
 * been written.  Where that is so twice, WIDE_MIN may be out for the next WIDE_FOR
 * COMMITs, a second's bytes at most; then it is asked again.
 *
 * One that is not answered for STUCK_USEC counts no more, so that a slow file (or
 * volume) of a server holds up none but itself.
 *
 * Cost: O(log n) in the files that want a COMMIT, for each that is picked.
 */
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/commit_queue.h"
#include "daemon/writeback/commit_window.h"
#include "daemon/writeback/yield.h"

#define OUT_SHARE 4		/* of the slots */
#define WIDE_MIN 8
#define WIDE_FOR 128
#define SCORE_FAST 2		/* a fast answer, against one for a slow */
#define SCORE_WIDE 4
#define SCORE_MAX 6
#define TELLING_BYTES (256u << 10)	/* less tells nothing by its time */
#define OLDEST_EVERY 4
#define STUCK_USEC 10000000

bool
commit_window_shares(const struct wb_server *s)
{
	return s->window_of_commits.wide_left > 0;
}

static void
forget(struct commit_window *w, struct commit_trip *t)
{
	TAILQ_REMOVE(&w->trips, t, link);
	t->counts = false;
	w->out--;
	w->out_bytes -= t->bytes;
}

void
commit_window_turn(struct wb_server *s, uint64_t now)
{
	struct commit_window *w = &s->window_of_commits;
	struct commit_trip *t;

	while ((t = TAILQ_FIRST(&w->trips)) &&
	       now - t->sent_usec >= STUCK_USEC)
		forget(w, t);
	if (t && !TAILQ_EMPTY(&s->want_commit))
		wb_due(s->wb, t->sent_usec + STUCK_USEC);
	(void)yield_may_commit(s, now);
}

/* Where they share nothing: each has a thread of the server for as long as its
   flush takes, and WRITEs need threads too. */
static unsigned
out_max(const struct wb_server *s)
{
	return MAX(s->params.slot_nr / OUT_SHARE, 1);
}

bool
commit_window_open(const struct wb_server *s)
{
	const struct commit_window *w = &s->window_of_commits;
	uint64_t second = s->bandwidth.bytes_per_sec;
	uint64_t way = 2 * second / 1000 * s->bandwidth.rtt_usec / 1000;
	uint64_t most = MIN(server_backlog(s) / 2,
			    s->wb->limits.dirty_bytes / 16);

	if (wbt_commit_wait_usec(&s->wbt, s->wb->now) ||
	    (w->out && w->out >= wbt_commits(&s->wbt, s->wb->now)))
		return false;
	if (!(s->params.bounds & BOUND_COMMITS))
		return true;
	if (commit_window_shares(s) && w->out < WIDE_MIN)
		most = server_backlog(s);
	if (!w->out || w->out_bytes < way)
		return true;
	if (!w->score && !w->wide_left && w->out >= out_max(s))
		return false;
	/* Files of paced writers grow alike.  Two just below the most would be out
	   for ever where one is enough: is it nearer to it with one more? */
	if (pace_on(s))
		return w->out_bytes + w->out_bytes / w->out / 2 < most;
	return w->out_bytes < most;
}

struct wb_file *
commit_window_next(struct wb_server *s)
{
	struct commit_window *w = &s->window_of_commits;
	struct wb_file *next = TAILQ_FIRST(&s->want_commit);

	w->oldest = NULL;
	if (!next || !(s->params.bounds & BOUND_COMMITS) ||
	    commit_window_shares(s))
		return next;
	if (!w->until_oldest) {
		w->oldest = next;
		return next;
	}
	return commit_queue_largest(s);
}

bool
commit_window_may_pass(const struct wb_server *s)
{
	if (TAILQ_EMPTY(&s->want_commit))
		return true;
	return (s->params.bounds & BOUND_COMMITS) && !commit_window_shares(s) &&
	       s->window_of_commits.until_oldest;
}

void
commit_window_sent(struct wb_file *f, struct commit_trip *t, uint64_t bytes,
		   bool waited, uint64_t now)
{
	struct wb_server *s = f->server;
	struct commit_window *w = &s->window_of_commits;

	*t = (struct commit_trip) {
		.bytes = bytes, .sent_usec = now,
		.telling = w->oldest == f && bytes >= TELLING_BYTES &&
			   bytes == f->bytes[EXTENT_UNSTABLE],
		.counts = true, .waited = waited,
	};
	if (w->oldest == f)
		w->until_oldest = OLDEST_EVERY - 1;
	else if (w->until_oldest && !waited && !TAILQ_EMPTY(&s->want_commit))
		w->until_oldest--;
	TAILQ_INSERT_TAIL(&w->trips, t, link);
	w->oldest = NULL;
	w->out++;
	w->out_bytes += bytes;
}

/* Was that faster than so much can be written? */
static bool
was_fast(const struct wb_server *s, const struct commit_trip *t, uint64_t now)
{
	uint64_t took = now - t->sent_usec, way = s->bandwidth.rtt_usec;

	took = took > way ? took - way : 0;
	return took / 1000 * (s->bandwidth.bytes_per_sec / 1000) < t->bytes;
}

void
commit_window_ended(struct wb_server *s, struct commit_trip *t, bool ok,
		    uint64_t now)
{
	struct commit_window *w = &s->window_of_commits;

	if (t->counts)
		forget(w, t);
	if (!t->waited)
		yield_committed(s, now - t->sent_usec, now);
	if (commit_window_shares(s)) {
		if (--w->wide_left == 0)
			w->score = SCORE_WIDE - SCORE_FAST;
		return;
	}
	if (!ok || !t->telling)
		return;
	if (was_fast(s, t, now))
		w->score = MIN(w->score + SCORE_FAST, SCORE_MAX);
	else if (w->score)
		w->score--;
	if (w->score >= SCORE_WIDE)
		w->wide_left = WIDE_FOR;
}
