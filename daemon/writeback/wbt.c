/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wbt.c - see wbt.h
 *
 * Time is cut into windows of 100 ms, while there is foreground work at all.  At the
 * end of each, every kind of foreground call (a procedure, small or large) is
 * judged by what a call cost: the time during which some were out, by those that
 * were answered.  For calls that come one at a time that is the round trip; for a
 * reader with eight READs out it is what each adds, for seven eighths of its round
 * trip are its own doing.  Time in our own queue is not in it, as a call counts from
 * when it has left.  A window in which a kind got no answer at all, though some
 * call was out for longer than it should, is bad as well: a server deaf with COMMITs
 * answers nothing that could be measured.  (Least round trips, as blk-wbt takes
 * them, let one lucky READ in a window speak for nine slow ones.)
 *
 * Too much is more than the target, and more than twice what such a call costs when
 * nothing is written back (large ones: four thirds, as the loss is throughput).
 * That idle cost is the least that was seen in windows in which, and in the one
 * before, no more than 64 KiB of WRITEs and COMMITs were out; it is forgotten after
 * one or two minutes of newer ones.  A kind that was never seen idle is held against
 * the target alone, until three windows with the background at its least in fact
 * (what was sent before is answered) tell a better number.
 *
 * In a bad window the background is halved, by a factor of four where it is four
 * times too much.  What is halved is WRITEs in flight (of 16, where
 * there are more slots), down to one, and the bytes
 * that the server has not made stable, which is what its disk works on when a
 * COMMIT asks: a COMMIT is of so many bytes at most then.  That is what a READ or a
 * sync waits for on one disk.  Two more steps put pauses between COMMITs: as long
 * as one took, then three times as long.  Where the calls that suffer come at
 * intervals, a COMMIT goes into the gap instead: after an answer, as long as it
 * will end before the least of the last eight gaps is over.
 *
 * Two good windows (all below three quarters of the limit) raise it by one step; if
 * that turns out bad, the next try takes twice as many, 256 at most, as each is felt.
 * A window below a quarter of the limit counts for eight.  Windows without any
 * foreground tell nothing at first, then raise it by two steps each: from the
 * least all is free again after seven.
 *
 * What it never does: stop the background.  One WRITE may always be in flight, and
 * a COMMIT goes after 150 ms, or four gaps, at the latest.
 */
#include <string.h>
#include <sys/param.h>

#include "daemon/writeback/wbt.h"

#define CALL 256			/* answered counts in parts of one */
#define AGE_USEC 60000000
#define YIELD_USEC 10000000
#define GOOD_MIN 2			/* good windows before a step up */
#define GOOD_MAX 256
#define VERY_GOOD_WEIGHT 8
#define EMPTY_HOLD 2			/* empty windows that tell nothing yet */
#define EMPTY_STEPS 2			/* then so many steps up for each */
#define PAUSE_LEVELS 2
#define COMMITS_MAX 4			/* a server may have eight threads */
#define DEPTH_MAX 16			/* more WRITEs fill pipes, not servers */
#define TOOK_MAX_USEC 50000		/* of a COMMIT: more was a queue */
#define GAP_TIMES 2			/* a gap so long is one to COMMIT in */
#define GAPS_MAX 4			/* after so many of them it goes anyway */
#define FLOOR_HOLD 3			/* windows at the least, before that tells */
#define FLOOR_LOAD (4 * WBT_LEAST_BYTES)

void
wbt_init(struct wbt *w, uint64_t lat_usec, unsigned slot_nr)
{
	memset(w, 0, sizeof *w);
	w->lat_usec = lat_usec;
	w->slot_nr = MAX(slot_nr, 1);
	while (MIN(w->slot_nr, DEPTH_MAX) >> w->depth_levels > 1)
		w->depth_levels++;
	w->level_max = w->depth_levels + PAUSE_LEVELS;
	w->good_needed = GOOD_MIN;
}

void
wbt_off(struct wbt *w)
{
	w->lat_usec = w->level = 0;
	w->window_usec = w->foreground_usec = 0;
}

/* ---- what is told ---- */

static void
count_busy(struct wbt_kind *k, uint64_t now)
{
	if (k->out)
		k->busy_usec += now - k->since_usec;
	k->since_usec = now;
}

void
wbt_sent(struct wbt *w, unsigned kind, uint64_t now)
{
	struct wbt_kind *k = &w->kind[kind];

	if (!w->lat_usec)
		return;
	w->foreground_usec = now;
	count_busy(k, now);
	if (!k->out++) {
		k->gap_usec[k->gap_nr++ % WBT_GAPS] = now - k->still_usec;
		k->still_usec = now;
	}
	if (!w->window_usec)
		w->window_usec = now + WBT_WINDOW_USEC;
}

void
wbt_ended(struct wbt *w, unsigned kind, bool ok, uint64_t rtt_usec,
	  uint64_t now)
{
	struct wbt_kind *k = &w->kind[kind];

	if (!w->lat_usec || !k->out)
		return;
	count_busy(k, now);
	k->out--;
	k->still_usec = now;
	if (!ok)
		return;
	k->answered += CALL;
	if (!k->answered_nr++ || rtt_usec < k->least_usec)
		k->least_usec = rtt_usec;
}

/* ---- what it means ---- */

static uint64_t
least(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static uint64_t
seen_idle(const struct wbt_kind *k)
{
	return least(k->idle_usec[0], k->idle_usec[1]);
}

static uint64_t
idle_usec(const struct wbt_kind *k)
{
	uint64_t idle = seen_idle(k);

	return idle ? idle : k->floor_usec;
}

uint64_t
wbt_target_usec(const struct wbt *w)
{
	uint64_t way = 0;
	unsigned i;

	if (w->lat_usec != WBT_AUTO)
		return w->lat_usec;
	for (i = 0; i < WBT_KINDS; i += 2)	/* small ones */
		way = least(way, seen_idle(&w->kind[i]));
	return MAX(2 * way, WBT_TARGET_MIN);
}

uint64_t
wbt_limit_usec(const struct wbt *w, unsigned kind)
{
	uint64_t idle = idle_usec(&w->kind[kind]);

	return MAX(wbt_target_usec(w), kind & 1 ? idle * 4 / 3 : idle * 2);
}

/* Was background work under way that others may have felt? */
static bool
is_loaded(const struct wbt *w)
{
	return MAX(w->load, w->last_load) > WBT_LARGE;
}

static void
learn(struct wbt *w, struct wbt_kind *k, uint64_t usec, uint64_t now)
{
	if (!is_loaded(w)) {
		if (now - k->age_usec >= AGE_USEC) {
			k->idle_usec[1] = k->idle_usec[0];
			k->idle_usec[0] = 0;
			k->age_usec = now;
		}
		k->idle_usec[0] = least(k->idle_usec[0], usec);
	} else if (w->floor_row >= FLOOR_HOLD) {
		k->floor_usec = least(k->floor_usec, usec);
	}
}

enum verdict { EMPTY, VERY_GOOD, GOOD, FAIR, BAD, VERY_BAD };

static enum verdict
verdict_of(uint64_t usec, uint64_t limit)
{
	return usec > 4 * limit ? VERY_BAD : usec > limit ? BAD :
	       usec > limit * 3 / 4 ? FAIR :
	       usec > limit / 4 ? GOOD : VERY_GOOD;
}

static enum verdict
judge_kind(struct wbt *w, unsigned kind, uint64_t now)
{
	struct wbt_kind *k = &w->kind[kind];
	enum verdict v = EMPTY;
	uint64_t usec, limit;

	count_busy(k, now);
	if (k->answered_nr) {
		usec = k->busy_usec * CALL / k->answered;
		learn(w, k, MIN(usec, MAX(k->least_usec, 1)), now);
		v = verdict_of(usec, wbt_limit_usec(w, kind));
	} else if (k->out) {
		limit = wbt_limit_usec(w, kind);
		usec = now - k->still_usec;
		v = usec > limit ? verdict_of(usec, limit) : EMPTY;
	}
	k->answered_nr = 0;
	if (kind & 1) {
		k->busy_usec /= 2;
		k->answered /= 2;
	} else {
		k->busy_usec = k->answered = 0;
	}
	return v;
}

static enum verdict
judge(struct wbt *w, uint64_t now)
{
	enum verdict worst = EMPTY, v;
	unsigned i;

	for (i = 0; i < WBT_KINDS; i++) {
		v = judge_kind(w, i, now);
		if (v > worst && v >= BAD)
			w->worst = i;
		worst = MAX(worst, v);
	}
	return worst;
}

/* ---- what is done about it ---- */

static void
step_down(struct wbt *w, unsigned nr)
{
	if (w->probing)
		w->good_needed = MIN(w->good_needed * 2, GOOD_MAX);
	w->probing = false;
	w->good_row = w->empty_row = 0;
	nr = MIN(nr, w->level_max - w->level);
	w->level += nr;
	w->steps_down += nr;
}

static void
step_up(struct wbt *w, unsigned nr)
{
	nr = MIN(nr, w->level);
	w->level -= nr;
	w->steps_up += nr;
}

static void
good(struct wbt *w, unsigned weight)
{
	w->empty_row = 0;
	w->good_row += weight;
	if (w->good_row < w->good_needed)
		return;
	w->probing = true;
	w->good_row = 0;
	step_up(w, 1);
}

static void
empty(struct wbt *w)
{
	if (++w->empty_row <= EMPTY_HOLD)
		return;
	w->good_needed = GOOD_MIN;
	w->probing = false;
	step_up(w, EMPTY_STEPS);
}

static void
window(struct wbt *w, uint64_t now)
{
	enum verdict v;

	w->floor_row = w->level == w->level_max && w->load <= FLOOR_LOAD ?
		       w->floor_row + 1 : 0;
	v = judge(w, now);
	w->windows++;
	switch (v) {
	case EMPTY:
		empty(w);
		break;
	case VERY_GOOD:
		good(w, VERY_GOOD_WEIGHT);
		break;
	case GOOD:
		good(w, 1);
		break;
	case FAIR:
		w->empty_row = w->good_row = 0;
		break;
	case BAD:
	case VERY_BAD:
		if (is_loaded(w))
			step_down(w, v == BAD ? 1 : 2);
		break;
	}
	w->last_load = w->load;
}

static bool
goes_on(const struct wbt *w)
{
	unsigned i;

	if (w->level || w->empty_row == 0)
		return true;
	for (i = 0; i < WBT_KINDS; i++)
		if (w->kind[i].out)
			return true;
	return false;
}

uint64_t
wbt_turn(struct wbt *w, uint64_t bytes, uint64_t now)
{
	if (!w->lat_usec)
		return UINT64_MAX;
	w->load = MAX(w->load, bytes);
	if (w->window_usec && now >= w->window_usec) {
		window(w, now);
		w->window_usec = goes_on(w) ? now + WBT_WINDOW_USEC : 0;
		w->load = bytes;
	}
	if (!w->window_usec) {
		w->last_load = w->load = bytes;
		w->empty_row = 0;
	}
	return w->window_usec ? w->window_usec : UINT64_MAX;
}

/* ---- what may be out ---- */

unsigned
wbt_depth(const struct wbt *w)
{
	if (!w->level)
		return w->slot_nr;
	return MAX(MIN(w->slot_nr, DEPTH_MAX) >> w->level, 1);
}

uint64_t
wbt_share(const struct wbt *w, uint64_t bytes)
{
	return w->level ? MAX(bytes >> w->level, WBT_LEAST_BYTES) : bytes;
}

unsigned
wbt_commits(const struct wbt *w, uint64_t now)
{
	if (!wbt_yields(w, now))
		return UINT32_MAX;
	return w->level ? MAX(MIN(wbt_depth(w) / 2, COMMITS_MAX), 1) :
			  COMMITS_MAX;
}

void
wbt_committed(struct wbt *w, uint64_t took_usec, uint64_t now)
{
	w->committed_usec = now;
	w->took_usec = MIN(took_usec, TOOK_MAX_USEC);
}

/* For how long none of this kind will come, if they come as they did. */
static uint64_t
usual_gap(const struct wbt_kind *k)
{
	uint64_t gap = UINT64_MAX;
	unsigned i;

	if (k->gap_nr < WBT_GAPS)
		return 0;
	for (i = 0; i < WBT_GAPS; i++)
		gap = MIN(gap, k->gap_usec[i]);
	return gap;
}

static uint64_t
left_until(uint64_t at, uint64_t now)
{
	return at > now ? at - now : 0;
}

uint64_t
wbt_commit_wait_usec(const struct wbt *w, uint64_t now)
{
	const struct wbt_kind *k = &w->kind[w->worst];
	uint64_t took = w->took_usec, gap = usual_gap(k);

	if (w->level <= w->depth_levels)
		return 0;
	if (gap < GAP_TIMES * took)
		return left_until(w->committed_usec + took *
				  ((1u << (w->level - w->depth_levels)) - 1),
				  now);
	if (!k->out && now - k->still_usec + took + took / 4 <= gap)
		return 0;
	return left_until(w->committed_usec + GAPS_MAX * gap, now);
}

bool
wbt_yields(const struct wbt *w, uint64_t now)
{
	return w->foreground_usec && now - w->foreground_usec < YIELD_USEC;
}
