/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* users_test.c - what a user may have, and how fast it may ask */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/users.h"
#include "tests/unit.h"
#include "tests/vloop.h"

#define RATE 1000u		/* messages a second */
#define SECOND 1000000u

static struct {
	struct loop *loop;
	struct config *config;
	struct users *users;
	struct user *user;
	struct user_wait wait[3];
	unsigned went[3], order[64], order_nr;
	unsigned costs;		/* what a turn's reading is charged */
	unsigned charged;
	bool greedy;		/* one's reading goes on as long as it may */
} t;

static void
went(void *arg)
{
	unsigned i = (unsigned)((struct user_wait *)arg - t.wait);

	t.went[i]++;
	if (t.order_nr < 64)
		t.order[t.order_nr++] = i;
	do {
		t.charged += t.costs;
		user_charge(t.user, t.costs);
	} while (t.greedy && user_may_read(t.user, &t.wait[i]));
}

static void
start(unsigned messages)
{
	unsigned i;

	memset(&t, 0, sizeof t);
	t.loop = vloop_new(5 * SECOND);
	t.config = config_default();
	t.config->limits.max_messages_per_sec = messages;
	t.users = users_new(t.loop, t.config);
	t.user = user_get(t.users, 1234);
	t.costs = USER_COST_MESSAGE;
	for (i = 0; i < 3; i++)
		t.wait[i] = (struct user_wait){ .go = went, .arg = &t.wait[i] };
}

static void
end(void)
{
	users_free(t.users);
	config_free(t.config);
	loop_free(t.loop);
}

static void
say(unsigned nr)
{
	while (nr--)
		user_charge(t.user, USER_COST_MESSAGE);
}

static void
who_is_over_the_rate_waits_until_its_time(void)
{
	start(RATE);
	say(RATE - 1);
	CU_ASSERT(user_may_read(t.user, &t.wait[0]));
	say(1 + 2 * RATE);		/* came at once; two seconds to wait */
	CU_ASSERT_FALSE(user_may_read(t.user, &t.wait[0]));
	vloop_pass(t.loop, 2 * SECOND - 1);
	CU_ASSERT_EQUAL(t.went[0], 0);
	vloop_pass(t.loop, SECOND / 50);
	CU_ASSERT_EQUAL(t.went[0], 1);
	CU_ASSERT_FALSE(t.wait[0].waits);
	user_put(t.user);
	end();
}

static void
idle_time_is_worth_one_second_at_most(void)
{
	start(RATE);
	say(RATE);
	vloop_pass(t.loop, 10 * SECOND);
	CU_ASSERT(user_may_read(t.user, &t.wait[0]));
	say(RATE + 1);
	CU_ASSERT_FALSE(user_may_read(t.user, &t.wait[0]));
	user_wait_drop(t.user, &t.wait[0]);
	user_put(t.user);
	end();
}

static void
those_who_wait_go_on_in_turn_and_within_the_rate(void)
{
	unsigned i;

	start(RATE);
	t.costs = 5 * USER_COST_MESSAGE;
	t.greedy = true;
	say(RATE);
	for (i = 0; i < 3; i++)
		CU_ASSERT_FALSE(user_may_read(t.user, &t.wait[i]));
	vloop_pass(t.loop, 4 * SECOND);
	for (i = 1; i < t.order_nr; i++)
		CU_ASSERT_EQUAL(t.order[i], (t.order[i - 1] + 1) % 3);
	CU_ASSERT(t.charged <= (4 * RATE + 10) * USER_COST_MESSAGE);
	CU_ASSERT(t.charged >= (4 * RATE - 20) * USER_COST_MESSAGE);
	for (i = 0; i < 3; i++)
		user_wait_drop(t.user, &t.wait[i]);
	user_put(t.user);
	end();
}

static void
who_leaves_and_comes_back_has_no_new_credit(void)
{
	start(RATE);
	say(3 * RATE);
	user_put(t.user);
	t.user = user_get(t.users, 1234);
	CU_ASSERT_FALSE(user_may_read(t.user, &t.wait[0]));
	user_wait_drop(t.user, &t.wait[0]);
	user_put(t.user);
	vloop_pass(t.loop, 3 * SECOND + 1);	/* now it is forgotten */
	t.user = user_get(t.users, 1234);
	CU_ASSERT(user_may_read(t.user, &t.wait[0]));
	user_put(t.user);
	end();
}

static void
another_user_is_not_held_up(void)
{
	struct user *other;

	start(RATE);
	other = user_get(t.users, 77);
	say(10 * RATE);
	CU_ASSERT_FALSE(user_may_read(t.user, &t.wait[0]));
	CU_ASSERT(user_may_read(other, &t.wait[1]));
	CU_ASSERT_EQUAL(user_may_begin(other), 0);
	user_wait_drop(t.user, &t.wait[0]);
	user_put(other);
	user_put(t.user);
	end();
}

static void
no_limit_is_none(void)
{
	start(0);
	t.config->limits.max_sessions = t.config->limits.max_files = 0;
	t.user->session_nr = t.user->new_nr = t.user->file_nr = 1u << 30;
	t.user->slab_bytes = 1ull << 40;
	say(100 * RATE);
	CU_ASSERT(user_may_read(t.user, &t.wait[0]));
	CU_ASSERT_EQUAL(user_may_connect(t.user), 0);
	CU_ASSERT_EQUAL(user_may_begin(t.user), 0);
	CU_ASSERT_EQUAL(user_may_open(t.user), 0);
	CU_ASSERT_EQUAL(user_slab_room(t.user, 1 << 28, 1 << 18), 1 << 28);
	user_put(t.user);
	end();
}

static void
a_users_own_section_counts(void)
{
	struct user *u;

	start(RATE);
	user_put(t.user);
	t.config->uid = calloc(1, sizeof *t.config->uid);
	t.config->uid_nr = 1;
	t.config->uid[0].uid = 88;
	t.config->uid[0].limits.max_sessions = 2;
	u = user_get(t.users, 88);
	u->session_nr = 2;
	CU_ASSERT_EQUAL(user_may_begin(u), -EUSERS);
	u->session_nr = 0;
	u->new_nr = 64;
	CU_ASSERT_EQUAL(user_may_connect(u), -EUSERS);
	u->new_nr = 63;
	CU_ASSERT_EQUAL(user_may_connect(u), 0);
	user_put(u);
	end();
}

static void
memory_is_what_is_left_or_none(void)
{
	start(RATE);
	t.config->limits.max_slab_bytes = 1000;
	CU_ASSERT_EQUAL(user_slab_room(t.user, 400, 100), 400);
	t.user->slab_bytes = 800;
	CU_ASSERT_EQUAL(user_slab_room(t.user, 400, 100), 200);
	t.user->slab_bytes = 901;
	CU_ASSERT_EQUAL(user_slab_room(t.user, 400, 100), 0);
	t.user->slab_bytes = 2000;		/* the limit was lowered */
	CU_ASSERT_EQUAL(user_slab_room(t.user, 400, 100), 0);
	t.user->slab_bytes = 0;
	user_put(t.user);
	end();
}

UNIT_TESTS(users,
	UNIT(who_is_over_the_rate_waits_until_its_time),
	UNIT(idle_time_is_worth_one_second_at_most),
	UNIT(those_who_wait_go_on_in_turn_and_within_the_rate),
	UNIT(who_leaves_and_comes_back_has_no_new_credit),
	UNIT(another_user_is_not_held_up),
	UNIT(no_limit_is_none),
	UNIT(a_users_own_section_counts),
	UNIT(memory_is_what_is_left_or_none),
)
