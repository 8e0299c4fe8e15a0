/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * users.c - what each user has, and how much of it he may have
 *
 * The rate of messages is a bucket of credit, one second's at most.  A message
 * is charged when it came, whatever that makes of the credit; while there is
 * none nothing is read, and a timer is set to when there will be.  Those who
 * wait get their turn one by one, each for what it reads at once, so that one
 * that floods does not keep others of its user from theirs.  Who has gone is
 * remembered until his credit is whole, or leaving would be a way to new credit.
 */
#include "daemon/users.h"

#include <errno.h>
#include <stdlib.h>

#define MILLION		1000000
#define TURN_USEC	10000	/* credit of so long before anybody goes on */
#define NEW_MIN		64	/* connections without a HELLO, at least */

struct users {
	struct loop *loop;
	const struct config *config;
	unsigned refs;			/* users_new's, each user */
	LIST_HEAD(, user) list;
};

/* In the units of credit, a second; 0: no limit. */
static int64_t
rate(const struct user *u)
{
	return (int64_t)u->limits->max_messages_per_sec * USER_COST_MESSAGE;
}

static void
owner_put(struct users *o)
{
	if (!--o->refs)
		free(o);
}

static void
forget(struct user *u)
{
	struct users *o = u->owner;

	LIST_REMOVE(u, link);
	loop_timer_free(o->loop, u->timer);
	free(u);
	owner_put(o);
}

struct users *
users_new(struct loop *l, const struct config *c)
{
	struct users *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->loop = l;
	o->config = c;
	o->refs = 1;
	LIST_INIT(&o->list);
	return o;
}

void
users_free(struct users *o)
{
	struct user *u, *next;

	if (!o)
		return;
	for (u = LIST_FIRST(&o->list); u; u = next) {
		next = LIST_NEXT(u, link);
		loop_timer_free(o->loop, u->timer);
		u->timer = NULL;
		if (!u->refs)
			forget(u);
	}
	owner_put(o);
}

/* --- messages --- */

static void
refill(struct user *u)
{
	uint64_t now = loop_now(u->owner->loop), passed = now - u->credit_usec;
	int64_t most = rate(u) * MILLION;

	u->credit_usec = now;
	if (passed >= 3600ull * MILLION)	/* no debt is as old as that */
		u->credit = most;
	else
		u->credit += (int64_t)passed * rate(u);
	if (u->credit > most)
		u->credit = most;
}

/* When there is enough for a turn. */
static void
set_timer(struct user *u)
{
	int64_t short_of = rate(u) * TURN_USEC - u->credit;

	loop_timer_set(u->owner->loop, u->timer,
		       short_of > 0 ? (uint64_t)(short_of / rate(u)) + 1 : 0);
}

static void
next_turn(void *arg)
{
	struct user *u = arg;
	struct user_wait *w;

	if (!u->refs) {
		forget(u);
		return;
	}
	u->refs++;
	refill(u);
	while (u->credit > 0 && (w = TAILQ_FIRST(&u->waiting))) {
		TAILQ_REMOVE(&u->waiting, w, link);
		w->waits = false;
		w->go(w->arg);
	}
	if (!TAILQ_EMPTY(&u->waiting) && u->timer)
		set_timer(u);
	user_put(u);
}

void
user_charge(struct user *u, unsigned cost)
{
	if (rate(u))
		u->credit -= (int64_t)cost * MILLION;
}

bool
user_may_read(struct user *u, struct user_wait *w)
{
	if (!rate(u) || !u->timer)
		return true;
	if (w->waits)
		return false;
	if (u->credit <= 0)
		refill(u);
	if (u->credit > 0)
		return true;
	if (TAILQ_EMPTY(&u->waiting))
		set_timer(u);
	w->waits = true;
	TAILQ_INSERT_TAIL(&u->waiting, w, link);
	return false;
}

void
user_wait_drop(struct user *u, struct user_wait *w)
{
	if (w->waits)
		TAILQ_REMOVE(&u->waiting, w, link);
	w->waits = false;
}

/* --- users --- */

static struct user *
user_new(struct users *o, uid_t uid)
{
	struct user *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->owner = o;
	u->uid = uid;
	u->limits = config_limits_of(o->config, uid);
	u->timer = loop_timer(o->loop, next_turn, u);
	if (!u->timer) {
		free(u);
		return NULL;
	}
	TAILQ_INIT(&u->waiting);
	u->credit = rate(u) * MILLION;
	u->credit_usec = loop_now(o->loop);
	o->refs++;
	LIST_INSERT_HEAD(&o->list, u, link);
	return u;
}

struct user *
user_get(struct users *o, uid_t uid)
{
	struct user *u;

	LIST_FOREACH(u, &o->list, link)
		if (u->uid == uid)
			break;
	if (!u)
		u = user_new(o, uid);
	if (u)
		u->refs++;
	return u;
}

void
user_put(struct user *u)
{
	if (!u || --u->refs)
		return;
	if (!u->timer || !rate(u)) {
		forget(u);
		return;
	}
	refill(u);
	loop_timer_set(u->owner->loop, u->timer,
		       (uint64_t)((rate(u) * MILLION - u->credit) / rate(u)));
}

/* --- what it may have --- */

int
user_may_connect(const struct user *u)
{
	unsigned most = u->limits->max_sessions;

	return !most || u->new_nr < (most > NEW_MIN ? most : NEW_MIN) ?
	       0 : -EUSERS;
}

int
user_may_begin(const struct user *u)
{
	return !u->limits->max_sessions ||
	       u->session_nr < u->limits->max_sessions ? 0 : -EUSERS;
}

int
user_may_open(const struct user *u)
{
	return !u->limits->max_files || u->file_nr < u->limits->max_files ?
	       0 : -EMFILE;
}

uint64_t
user_slab_room(const struct user *u, uint64_t wanted, uint64_t least)
{
	uint64_t most = u->limits->max_slab_bytes, left;

	if (!most)
		return wanted;
	left = most > u->slab_bytes ? most - u->slab_bytes : 0;
	if (wanted > left)
		wanted = left;
	return wanted < least ? 0 : wanted;
}
