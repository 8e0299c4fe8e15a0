/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pace.c - see pace.h
 *
 * What Linux does since 3.2 (mm/page-writeback.c, "IO-less balance_dirty_pages";
 * its ideas), with grants in place of sleeps and counted writers in place of
 * estimated ones:
 *
 *	 ratio
 *	   2 |----------.
 *	     |           `.                      setpoint - dirtied  3
 *	   1 |             `---.      ratio = 1 + (-------------------)
 *	     |                  `.                  limit - setpoint
 *	   0 +----------+-----+---+--> dirtied
 *		     middle set-  limit
 *			    point
 *
 *	rate of a writer = balanced_rate * ratio * its weight
 *	a grant          = rate * 40 ms, 4 KiB at least, 1 MiB at most
 *	the next one     = grant / rate later, 200 ms at most
 *
 * The ratio brings what is dirtied to the setpoint, and is the least of three:
 * of all that is dirtied against dirty_bytes; of the server's against the most
 * that it may hold (share.c); where there are others and room is short, of the
 * server's against its fair share, that one a quarter at least.
 *
 * Every 200 ms balanced_rate goes a quarter of the way to
 *
 *	      drain rate - what went to writers that never had to wait
 *	      --------------------------------------------------------
 *			weights of those who had to
 *
 * so that a flood gets what loggers leave, and loggers don't notice the flood.
 * When one more has to wait, the rate is divided among one more at once.
 *
 * The drain rate is unknown at first, and wrong while the server rests.  What holds
 * then is the curve: above the setpoint what is dirtied nears the curve's end ever
 * more slowly, however long that lasts.  So the end is where writers are stopped
 * (room.c), less a strip that the least grants, 4 KiB each 200 ms, take LAST_USEC to
 * fill: while a server stands still nobody meets the limit for so long.  As pacing
 * begins, balanced_rate is among all who got room in the last period: a hundred
 * writers that come at once pass the whole range before one of them has waited.
 *
 * Pacing ends where it can't do its work, or costs too much:
 *	- The range from middle to end is less than the server drains in two
 *	  periods.  The rates are set once in a period, and a pause takes up to one:
 *	  two of them are what control lags behind.  (1.5 times as much is needed to
 *	  begin again.)
 *	- Writers paced evenly have half a WRITE each that is no WRITE yet, and
 *	  can't go out.  Together these would be more than half of the range, an
 *	  eighth of what the server may hold: what it has to work on is less by
 *	  that, its flushes smaller, and a disk spends its time on seeks.
 * There writers run into the limit and wait for the whole of what they ask for
 * (room_queue.c).
 *
 * Cost: O(servers) a grant; each 200 ms O(servers * slabs).
 */
#include <stdlib.h>
#include <sys/param.h>

#include "daemon/writeback/grant.h"
#include "daemon/writeback/pace.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/room.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/throttle.h"

#define GRANT_USEC 40000
#define GRANT_MAX (1u << 20)
#define PERIOD_USEC 200000
#define HUNGRY_USEC 500000	/* so long after it had to wait */
#define RANGE_USEC (2 * PERIOD_USEC)
#define TAIL_ROOM (1u << 20)	/* twice half a WRITE */
#define LAST_USEC 10000000
#define FAIR_LEAST (PACE_ONE / 4)

struct wb_user {
	LIST_ENTRY(wb_user) link;	/* wb->users */
	uid_t uid;
	unsigned weight, refs;
	unsigned writing, were_writing;	/* sessions; this period, the last */
};

/* ---- the curve ---- */

uint64_t
pace_curve(uint64_t dirtied, uint64_t middle, uint64_t limit)
{
	int64_t setpoint = (int64_t)((middle + limit) / 2), x;
	int64_t half = (int64_t)limit - setpoint;
	const int64_t one = PACE_ONE;

	if (dirtied >= limit)
		return 0;
	if (dirtied <= middle || half <= 0)
		return 2 * PACE_ONE;
	x = (setpoint - (int64_t)dirtied) * one / half;
	return (uint64_t)(one + x * x / one * x / one);
}

uint64_t
pace_middle(const struct wb *wb, uint64_t limit)
{
	const struct wb_limits *l = &wb->limits;
	double share = (double)limit / (double)l->dirty_bytes;

	return (uint64_t)(share * (double)(l->dirty_background_bytes +
					   l->dirty_bytes) / 2);
}

/* With the strip for the least grants before its end. */
static uint64_t
curve(const struct wb *wb, uint64_t dirtied, uint64_t middle, uint64_t end)
{
	uint64_t range = end > middle ? end - middle : 0, nr = 0, strip;
	const struct wb_server *s;

	LIST_FOREACH(s, &wb->servers, link)
		nr += s->pace.hungry_nr;
	strip = nr * GRANT_MIN * (LAST_USEC / PACE_PAUSE_MAX);
	return pace_curve(dirtied, middle, end - MIN(strip, range / 8));
}

uint64_t
pace_ratio(const struct wb_server *s)
{
	const struct wb *wb = s->wb;
	uint64_t dirtied = throttle_dirtied(wb), mine = share_dirtied(s);
	uint64_t middle = pace_middle(wb, wb->limits.dirty_bytes);
	uint64_t fair, least, r;

	least = curve(wb, mine, pace_middle(wb, share_most(s)), room_most(s));
	r = curve(wb, dirtied, middle, room_limit(wb));
	least = MIN(least, r);
	fair = dirtied > middle ? share_fair(s) : UINT64_MAX;
	if (fair != UINT64_MAX) {
		r = pace_curve(mine, pace_middle(wb, fair), fair);
		least = MIN(least, MAX(r, FAIR_LEAST));
	}
	return least;
}

/* Who would be paced; as it begins, all that got any room lately. */
static uint64_t
writers(const struct wb_server *s)
{
	const struct pace *p = &s->pace;

	return p->was_on ? p->hungry_nr : MAX(p->hungry_nr, p->writing_nr);
}

bool
pace_on(const struct wb_server *s)
{
	const struct wb *wb = s->wb;
	uint64_t most, middle;

	if (wb->limits.dirty_throttling != THROTTLE_IOLESS)
		return false;
	most = share_most(s);
	middle = pace_middle(wb, most);
	if (!s->pace.fits || most - middle < writers(s) * TAIL_ROOM)
		return false;
	return share_dirtied(s) > middle ||
	       throttle_dirtied(wb) >
	       pace_middle(wb, wb->limits.dirty_bytes);
}

/* ---- a writer ---- */

static uint64_t
weight(const struct slab *s)
{
	const struct wb_user *u = s->pace.user;

	if (!u)
		return PACE_ONE;
	return MAX((uint64_t)u->weight * PACE_ONE / SLAB_WEIGHT /
		   MAX(u->were_writing, 1), 1);
}

static uint64_t
rate(const struct slab *s)
{
	return s->server->pace.balanced_rate * pace_ratio(s->server) /
	       PACE_ONE * weight(s) / PACE_ONE;
}

uint64_t
pace_bytes(const struct slab *s)
{
	uint64_t n = rate(s) * (GRANT_USEC / 1000) / 1000;

	n = MIN(MAX(n, GRANT_MIN), GRANT_MAX);
	return n - n % GRANT_MIN;
}

uint64_t
pace_when(struct slab *s, uint64_t now)
{
	return MIN(MAX(s->pace.next_usec, now), now + PACE_PAUSE_MAX);
}

/* More than the server drains can't be had by those who wait for it; as pacing
   begins, by those who write. */
static void
divide(struct wb_server *s)
{
	uint64_t all = s->drain.bytes_per_sec * PACE_ONE;
	uint64_t among = s->pace.hungry;

	if (!s->pace.was_on)
		among = MAX(among, s->pace.writing);
	if (among && s->pace.balanced_rate > all / among)
		s->pace.balanced_rate = all / among;
}

void
pace_hungry(struct slab *s, uint64_t now)
{
	s->pace.hungry_usec = now;
	if (s->pace.hungry || !s->server)
		return;
	s->pace.hungry = true;
	s->server->pace.hungry += weight(s);
	s->server->pace.hungry_nr++;
	divide(s->server);
}

/* One that comes a little late has lost nothing by it, one that had to wait too
   long owes nothing. */
void
pace_granted(struct slab *s, uint64_t bytes, bool paced, uint64_t now)
{
	struct pace_writer *w = &s->pace;
	uint64_t r, usec, from;

	if (!w->writing && s->server) {
		w->writing = true;
		s->server->pace.writing += weight(s);
		s->server->pace.writing_nr++;
		divide(s->server);
	}
	w->granted_bytes += bytes;
	if (!paced)
		return;
	r = rate(s);
	usec = r ? bytes * 1000000 / r : PACE_PAUSE_MAX;
	from = MIN(MAX(w->next_usec, now - GRANT_USEC),
		   now + PACE_TOGETHER_USEC);
	w->next_usec = from + usec;
}

/* ---- every 200 ms ---- */

struct period {				/* of one server */
	uint64_t writing, hungry, hungry_nr;	/* weights, and heads */
	uint64_t eaten;			/* by those not hungry */
};

static struct period
look_at_writers(struct wb_server *server, uint64_t now)
{
	struct period p = { 0, 0, 0, 0 };
	struct slab *s;

	LIST_FOREACH(s, &server->wb->slabs, link) {
		struct pace_writer *w = &s->pace;

		if (s->server != server)
			continue;
		w->hungry = (w->hungry_usec &&
			     now - w->hungry_usec < HUNGRY_USEC) || s->waiting;
		if (w->hungry) {
			p.hungry += weight(s);
			p.hungry_nr++;
		} else {
			p.eaten += w->granted_bytes;
		}
		if (w->hungry || w->granted_bytes)
			p.writing += weight(s);
		w->granted_bytes = 0;
		w->writing = false;
	}
	return p;
}

static void
count_users(struct wb *wb)
{
	struct wb_user *u;
	struct slab *s;

	LIST_FOREACH(s, &wb->slabs, link)
		if (s->pace.user && (s->pace.hungry || s->pace.granted_bytes))
			s->pace.user->writing++;
	LIST_FOREACH(u, &wb->users, link) {
		u->were_writing = u->writing;
		u->writing = 0;
	}
}

/* Is there enough to steer in?  To begin with, half as much again. */
static bool
fits(const struct wb_server *s)
{
	uint64_t most = share_most(s), range = most - pace_middle(s->wb, most);
	uint64_t least = s->drain.bytes_per_sec / 1000 * RANGE_USEC / 1000;

	return range >= (s->pace.fits ? least : least * 3 / 2);
}

static void
update(struct wb_server *s, uint64_t took_usec, uint64_t now)
{
	struct period p = look_at_writers(s, now);
	uint64_t drains = s->drain.bytes_per_sec, eaten, to;
	bool on;

	s->pace.fits = fits(s);
	on = pace_on(s);
	eaten = p.eaten * 1000000 / took_usec;
	to = MAX(drains > eaten ? drains - eaten : 0, drains / 8);
	to = to * PACE_ONE / (p.hungry ? p.hungry :
			      p.writing ? p.writing : PACE_ONE);
	if (!on || !s->pace.was_on)
		s->pace.balanced_rate = to;
	else
		s->pace.balanced_rate = (s->pace.balanced_rate * 3 + to) / 4;
	s->pace.hungry = p.hungry;
	s->pace.writing = s->pace.writing_nr = 0;
	s->pace.hungry_nr = p.hungry_nr;
	s->pace.was_on = on;
	divide(s);
}

void
pace_run(struct wb *wb, uint64_t now)
{
	uint64_t took = now - wb->paced_usec;
	struct wb_server *s;

	if (took < PERIOD_USEC ||
	    wb->limits.dirty_throttling != THROTTLE_IOLESS)
		return;
	wb->paced_usec = now;
	count_users(wb);
	LIST_FOREACH(s, &wb->servers, link)
		update(s, took, now);
}

/* ---- users ---- */

void
pace_join(struct slab *s, uid_t uid, unsigned weight_of_user)
{
	struct wb *wb = s->wb;
	struct wb_user *u;

	pace_leave(s);
	LIST_FOREACH(u, &wb->users, link)
		if (u->uid == uid)
			break;
	if (!u) {
		u = calloc(1, sizeof *u);
		if (!u)
			return;
		u->uid = uid;
		LIST_INSERT_HEAD(&wb->users, u, link);
	}
	u->weight = weight_of_user;
	u->refs++;
	s->pace.user = u;
}

void
pace_leave(struct slab *s)
{
	struct wb_user *u = s->pace.user;

	s->pace.user = NULL;
	if (!u || --u->refs)
		return;
	LIST_REMOVE(u, link);
	free(u);
}
