/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commit.c - when to COMMIT, and what to do when the server forgot
 *
 * A COMMIT is due when somebody waits for it; when a file has nothing left to
 * write; when its UNSTABLE bytes reach about a second of bandwidth (a tenth where
 * commit_window.c chooses among those that are due); when room is short; when the
 * server's verifier changed under another file.  The rule of the
 * kernel's 3.x series, for comparison, has in place of the third and fourth: in a
 * background pass, when more than half of the file's cached bytes are UNSTABLE
 * (fs/nfs/write.c, nfs_commit_unstable_pages, in its idea).
 *
 * A COMMIT is for the whole file (offset 0, count 0), not a range, unless the
 * server's disk must be kept free for others (wbt.c).  It says no
 * more than the range's would: which extents it cleans is decided here, by what
 * was answered before it left.  What it makes the server write beyond those is
 * the file's newer data, due a moment later anyway, and about a second of it at
 * most.  A range would need several COMMITs where UNSTABLE data lies apart or
 * spans 4 GiB (count has 32 bits), each with the server's flush at its end.
 *
 * The verifier of the COMMIT must equal that of each WRITE it speaks for, else
 * the server has restarted in between and may have lost it: the data is still
 * here and is sent again.  A server whose verifiers never agree gets FILE_SYNC
 * for that file after three rounds, after three such files for all.  If it
 * grants only UNSTABLE even then, and forgets that too, it is an I/O error.
 *
 * Cost: O(1) an extent, and what a change of its state takes; O(log n) in the files
 * for each COMMIT (commit_queue.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "common/log.h"
#include "daemon/writeback/commit.h"
#include "daemon/writeback/commit_queue.h"
#include "daemon/writeback/flusher.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/throttle.h"

#define ROUNDS_MAX 3
#define ODD_FILES_MAX 3
#define UNSTABLE_MIN (4u << 20)	/* never commit for bandwidth below this */

int
commit_init(struct wb_server *s)
{
	unsigned i;

	s->commits = calloc(COMMITS_NR, sizeof *s->commits);
	if (!s->commits)
		return -ENOMEM;
	for (i = 0; i < COMMITS_NR; i++) {
		TAILQ_INIT(&s->commits[i].extents);
		TAILQ_INSERT_TAIL(&s->free_commits, &s->commits[i], link);
	}
	return 0;
}

void
commit_free(struct wb_server *s)
{
	free(s->commits);
}

/* ---- the verifier ---- */

/* A GHOST's bytes are lost at the server and here: who waits for them waits
   for what superseded them. */
static void
ghost_lost(struct extent *g)
{
	struct extent *e;

	for (e = extent_at(g->file, g->offset);
	     e && e->offset < extent_end(g); e = extent_next(e))
		extent_inherit(e, g->oldest_seq);
	TAILQ_FOREACH(e, &g->file->held, link)
		if (e->offset < extent_end(g) && extent_end(e) > g->offset)
			extent_inherit(e, g->oldest_seq);
	extent_drop(g);
}

static void
replay(struct extent *e)
{
	if (e->state == EXTENT_GHOST) {
		ghost_lost(e);
		return;
	}
	if (e->not_stable && e->file->mismatch_nr >= ROUNDS_MAX) {
		e->err = -EIO;
		extent_set_state(e, EXTENT_FAILED);
		return;
	}
	e->file->server->stats.replayed_bytes += e->length;
	extent_set_state(e, EXTENT_DIRTY);
}

/* failed_nr: the file's FAILED extents before. */
static void
round_lost(struct wb_file *f, unsigned failed_nr)
{
	struct wb_server *s = f->server;

	if (f->nr[EXTENT_FAILED] > failed_nr) {
		log_warning("%s: server %s keeps nothing, not even FILE_SYNC",
			    f->name, s->name);
		file_error(f, -EIO);
	}
	if (++f->mismatch_nr < ROUNDS_MAX || f->force_stable)
		return;
	f->force_stable = true;
	log_warning("%s: the verifiers of server %s never agree; "
		    "writing FILE_SYNC", f->name, s->name);
	if (++s->odd_files >= ODD_FILES_MAX && !s->force_stable) {
		s->force_stable = true;
		log_warning("server %s: writing FILE_SYNC to all files",
			    s->name);
	}
}

/* Counts a change and has the other files ask the server soon. */
static void
server_verifier(struct wb_file *from, const unsigned char verf[WB_VERF])
{
	struct wb_server *s = from->server;
	struct wb_file *f;

	if (s->have_verf && !memcmp(s->verf, verf, WB_VERF))
		return;
	memcpy(s->verf, verf, WB_VERF);
	if (!s->have_verf) {
		s->have_verf = true;
		return;
	}
	s->stats.verifier_changes++;
	log_info("server %s: the write verifier changed", s->name);
	TAILQ_FOREACH(f, &s->unstable_files, unstable_link)
		if (f != from) {
			f->commit_soon = true;
			file_kick(f);
		}
}

void
commit_verifier_seen(struct wb_file *f, const unsigned char verf[WB_VERF])
{
	unsigned failed_nr = f->nr[EXTENT_FAILED];
	struct extent *e, *next;
	bool lost = false;

	server_verifier(f, verf);
	/* At each change those under the old one leave the list, so the first
	   speaks for all.  (What a COMMIT in vain put back waits for the next.) */
	e = TAILQ_FIRST(&f->unstable);
	if (!e || !memcmp(e->verf, verf, WB_VERF))
		return;
	TAILQ_FOREACH_SAFE(e, &f->unstable, link, next)
		if (memcmp(e->verf, verf, WB_VERF)) {
			replay(e);
			lost = true;
		}
	if (lost)
		round_lost(f, failed_nr);
}

/* ---- the answer ---- */

static void
take_back(struct commit *c)
{
	struct extent *e;

	while ((e = TAILQ_FIRST(&c->extents)))
		extent_list_append(&c->file->unstable, e);
}

static void
committed(struct commit *c)
{
	struct wb_file *f = c->file;
	unsigned failed_nr = f->nr[EXTENT_FAILED];
	struct extent *e;
	bool lost = false;

	server_verifier(f, c->call.verf);
	while ((e = TAILQ_FIRST(&c->extents))) {
		extent_list_remove(e);
		if (memcmp(e->verf, c->call.verf, WB_VERF)) {
			replay(e);
			lost = true;
		} else if (e->state == EXTENT_GHOST) {
			extent_drop(e);
		} else {
			extent_set_state(e, EXTENT_CLEAN);
		}
	}
	if (lost)
		round_lost(f, failed_nr);
	else
		f->mismatch_nr = 0;
}

static void
refused(struct commit *c)
{
	struct wb_file *f = c->file;
	struct extent *e;

	if (f->forgotten)
		return;		/* and so are its extents */
	log_warning("%s: COMMIT failed: %s", f->name, strerror(-c->call.err));
	while ((e = TAILQ_FIRST(&c->extents))) {
		extent_list_remove(e);
		if (e->state == EXTENT_GHOST) {
			ghost_lost(e);
			continue;
		}
		e->err = c->call.err;
		extent_set_state(e, EXTENT_FAILED);
	}
	file_error(f, c->call.err);
}

static void
commit_end(struct commit *c)
{
	struct wb_server *s = c->file->server;

	cred_put(c->call.cred);
	TAILQ_INSERT_TAIL(&s->free_commits, c, link);
	s->commits_out--;
	commit_window_ended(s, &c->trip, c->call.err == 0, s->wb->now);
}

static void
commit_done(struct wb_call *call, uint64_t now)
{
	struct commit *c = (struct commit *)call;
	struct wb_file *f = c->file;
	struct wb_server *s = f->server;

	s->wb->now = s->answered_usec = now;
	jukebox_count(s, call);
	f->commit = NULL;
	commit_queue_look(f);
	if (call->err == 0) {
		f->jukebox_nr = 0;
		if (call->have_size) {
			f->reply_size = call->size_after;
			f->reply_ctime = call->ctime_nsec;
		}
		committed(c);
	} else if (call->err == -EAGAIN || call->err == -ECANCELED) {
		take_back(c);
		jukebox_asked(f, now);
	} else {
		refused(c);
	}
	commit_end(c);
	file_kick(f);
}

void
commit_drop(struct wb_file *f)
{
	struct commit *c = f->commit;

	if (!c)
		return;
	f->commit = NULL;
	commit_queue_look(f);
	take_back(c);
	commit_end(c);
}

/* ---- when ---- */

/* Room is short, and nothing else is on its way: a COMMIT of anything pays. */
static bool
nothing_else_comes(const struct wb_server *s)
{
	if (!throttle_urgent(s))	/* writers are paced: the disk rests */
		return pace_on(s) && (!s->bytes[EXTENT_WRITEBACK] ||
				      !s->window_of_commits.out);
	return !s->bytes[EXTENT_WRITEBACK];
}

/* Room is short: a COMMIT pays when it frees a good part of what is waited
   for, or when nothing else is on its way. */
static bool
room_short(const struct wb_file *f, uint64_t unstable)
{
	struct wb *wb = f->server->wb;
	struct slab *first = TAILQ_FIRST(&wb->waiting);
	uint64_t all;

	if (nothing_else_comes(f->server))
		return true;
	if (!throttle_urgent(f->server) ||
	    !first)		/* list slots are short, not bytes */
		return false;
	all = MIN(wb->limits.dirty_bytes,
		    (uint64_t)first->view.layout.chunk_nr *
		    NFSWB_CHUNK_BYTES);
	return unstable >= all / 8;
}

static bool
due_by_bandwidth(const struct wb_file *f)
{
	uint64_t unstable = f->bytes[EXTENT_UNSTABLE];
	const struct wb_server *s = f->server;
	uint64_t second = s->bandwidth.bytes_per_sec;

	/* where the window decides, it has a choice */
	if (s->params.bounds & BOUND_COMMITS)
		second /= 10;
	return unstable >= wbt_share(&s->wbt, MAX(second, UNSTABLE_MIN)) ||
	       room_short(f, unstable);
}

/* In a background pass, more than half of what is cached is UNSTABLE. */
static bool
due_by_kernel(const struct wb_file *f)
{
	return flusher_wanted(f->server) &&
	       f->bytes[EXTENT_UNSTABLE] > extent_live_bytes(f->bytes) / 2;
}

static bool
due(const struct wb_file *f, bool waited)
{
	if (waited || f->commit_soon || file_all_written(f))
		return true;
	return f->server->params.commit_rule == COMMIT_BY_KERNEL ?
	       due_by_kernel(f) : due_by_bandwidth(f);
}

static enum wb_class
class_of(struct wb_file *f, bool waited)
{
	return server_class(f->server, waited ? WB_FOREGROUND :
			    throttle_urgent(f->server) ? WB_NORMAL :
			    WB_BACKGROUND);
}

/* Somebody waits for it now. */
static void
raise_commit(struct commit *c)
{
	struct wb_server *s = c->file->server;
	enum wb_class class = server_class(s, WB_FOREGROUND);

	if (c->call.class <= class)
		return;
	c->call.class = class;
	s->calls->raise(s->calls_arg, &c->call, class);
}

void
commit_unwant(struct wb_file *f)
{
	struct wb_server *s = f->server;

	if (f->wants_commit)
		TAILQ_REMOVE(f->commit_waited ? &s->want_waited
					      : &s->want_commit, f, want_link);
	f->wants_commit = f->commit_waited = false;
	commit_queue_look(f);
}

/* It can't go now: commit_run decides which of these is next. */
static void
want(struct wb_file *f, bool waited)
{
	struct wb_server *s = f->server;

	if (f->wants_commit && (f->commit_waited || !waited))
		return;
	commit_unwant(f);
	f->wants_commit = true;
	f->commit_waited = waited;
	TAILQ_INSERT_TAIL(waited ? &s->want_waited : &s->want_commit, f,
			  want_link);
	commit_queue_look(f);
}

/* Is there one to send? */
static bool
ready(struct wb_file *f, bool waited, uint64_t now)
{
	if (f->commit) {
		if (waited)
			raise_commit(f->commit);
		return false;
	}
	return !TAILQ_EMPTY(&f->unstable) && !f->paused &&
	       f->not_before_usec <= now && due(f, waited);
}

/* Foreground work suffers: no more than that is asked for at a time, from where the
   oldest lies. */
static void
only_a_piece(struct wb_call *call, const struct extent *oldest)
{
	struct wb_server *s = oldest->file->server;
	uint64_t piece = wbt_share(&s->wbt, s->bandwidth.bytes_per_sec);

	if (oldest->file->bytes[EXTENT_UNSTABLE] <= piece)
		return;
	call->offset = oldest->offset;
	call->count = (uint32_t)MAX(MIN(piece, UINT32_MAX), oldest->length);
}

/* Those that it speaks for; their bytes. */
static uint64_t
take_extents(struct commit *c)
{
	uint64_t end = c->call.offset + c->call.count, bytes = 0;
	struct extent *e, *next;

	TAILQ_FOREACH_SAFE(e, &c->file->unstable, link, next) {
		if (c->call.count &&
		    (e->offset < c->call.offset || extent_end(e) > end))
			continue;
		if (e->state == EXTENT_UNSTABLE)
			bytes += e->length;
		extent_list_append(&c->extents, e);
	}
	return bytes;
}

static void
send_commit(struct wb_file *f, bool waited, uint64_t now)
{
	struct wb_server *s = f->server;
	struct commit *c = TAILQ_FIRST(&s->free_commits);
	struct extent *e = TAILQ_FIRST(&f->unstable);
	uint64_t bytes;

	commit_unwant(f);
	c->file = f;
	c->call = (struct wb_call) {
		.kind = WB_CALL_COMMIT,
		.class = class_of(f, waited),
		.ahead = s->params.commit_priority == COMMIT_AHEAD,
		.fh = &f->fh,
		.cred = cred_ref(e->cred),
		.done = commit_done,
	};
	if (!waited && s->wbt.level && !commit_window_shares(s))
		only_a_piece(&c->call, e);
	if (wb_queue(s, &c->call) < 0) {
		cred_put(c->call.cred);
		file_wake_at(f, now + SHORT_USEC);
		return;
	}
	TAILQ_REMOVE(&s->free_commits, c, link);
	s->commits_out++;
	bytes = take_extents(c);
	f->commit = c;
	f->commit_soon = false;
	commit_queue_look(f);
	commit_window_sent(f, &c->trip, bytes, waited, now);
	s->stats.nfs_nr_commits++;
	s->commit_bytes += bytes;
}

/* May a COMMIT go at once?  A file that comes as one ends must not be before those
   that want one already each time. */
static bool
may_go(const struct wb_server *s, bool waited)
{
	if (TAILQ_EMPTY(&s->free_commits))
		return false;
	return waited || (commit_window_open(s) && commit_window_may_pass(s));
}

void
commit_check(struct wb_file *f, bool waited, uint64_t now)
{
	commit_queue_look(f);
	if (!ready(f, waited, now))
		return;
	if (may_go(f->server, waited))
		send_commit(f, waited, now);
	else
		want(f, waited);
}

void
commit_oldest(struct wb_server *s, uint64_t now)
{
	struct wb_file *f;

	if (s->bytes[EXTENT_WRITEBACK] > s->bytes[EXTENT_UNSTABLE])
		return;
	TAILQ_FOREACH(f, &s->unstable_files, unstable_link) {
		if (s->window_of_commits.out)
			return;
		f->commit_soon = true;
		commit_check(f, false, now);
	}
}

/* May a COMMIT pay because room is short?  Where writers are only paced, and
   there are many turns, those that are wanted already come first. */
static bool
may_pay(const struct wb_server *s)
{
	if (throttle_urgent(s) || s->wb->draining)
		return true;
	return TAILQ_EMPTY(&s->want_commit) && pace_on(s) &&
	       (!s->window_of_commits.out ||
		(!s->bytes[EXTENT_WRITEBACK] && commit_window_open(s)));
}

/* All that are UNSTABLE want one: one alone would make the server do it all, and
   the others again. */
static void
all_together(struct wb_server *s, uint64_t now)
{
	struct wb_file *f, *next;

	s->soon_nr = s->queued_nr;
	for (f = commit_queue_oldest(s); f; f = next) {
		next = commit_queue_younger(f);
		f->commit_soon = true;
		commit_check(f, false, now);
	}
}

void
commit_for_room(struct wb_server *s, uint64_t now)
{
	struct wb_file *f, *next;
	bool by_kernel = s->params.commit_rule == COMMIT_BY_KERNEL;

	if (!may_pay(s))
		return;
	if (commit_window_shares(s) && !s->window_of_commits.out) {
		all_together(s, now);
		return;
	}
	for (f = commit_queue_oldest(s);
	     f && (by_kernel || nothing_else_comes(s)); f = next) {
		next = commit_queue_younger(f);
		commit_check(f, false, now);
	}
	for (f = commit_queue_idle(s); f && due_by_bandwidth(f); f = next) {
		next = commit_queue_smaller(f);
		commit_check(f, false, now);
	}
}

/* Those that are waited for need no window. */
static struct wb_file *
next_commit(struct wb_server *s)
{
	struct wb_file *f = TAILQ_FIRST(&s->want_waited);

	return f || !commit_window_open(s) ? f : commit_window_next(s);
}

void
commit_run(struct wb_server *s, uint64_t now)
{
	struct wb_file *f;
	bool waited;

	commit_window_turn(s, now);
	while (!TAILQ_EMPTY(&s->free_commits) &&
	       (f = next_commit(s))) {
		waited = f->commit_waited;
		f->commit_soon |= f->queue == QUEUE_WANTED &&
				  f->queued_nr <= s->soon_nr;
		commit_unwant(f);
		if (ready(f, waited, now))
			send_commit(f, waited, now);
	}
}
