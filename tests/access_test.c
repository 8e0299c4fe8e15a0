/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* access_test.c - who may do what */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/access.h"
#include "tests/unit.h"

#define OTHER (geteuid() + 4321)

static gid_t many[40];
static struct cred *cred;

static struct config *
start(uid_t uid, gid_t gid, unsigned group_nr)
{
	unsigned i;

	for (i = 0; i < 40; i++)
		many[i] = 500 + i;
	cred = cred_get(uid, gid, many, group_nr);
	return config_default();
}

static void
end(struct config *c)
{
	cred_put(cred);
	config_free(c);
}

static bool
is_admin(uid_t uid, gid_t gid, unsigned group_nr, gid_t admin_gid)
{
	struct config *c = start(uid, gid, group_nr);
	struct asker a;

	c->admin_gid = admin_gid;
	a = access_asker(c, cred);
	CU_ASSERT_EQUAL(a.uid, uid);
	end(c);
	return a.admin;
}

static void
root_the_daemons_user_and_the_admin_group_are_administrators(void)
{
	CU_ASSERT(is_admin(0, 7, 0, (gid_t)-1));
	CU_ASSERT(is_admin(geteuid(), 7, 0, (gid_t)-1));
	CU_ASSERT_FALSE(is_admin(OTHER, 7, 3, (gid_t)-1));
	CU_ASSERT(is_admin(OTHER, 7, 3, 7));
	CU_ASSERT(is_admin(OTHER, 7, 3, 502));
	CU_ASSERT_FALSE(is_admin(OTHER, 7, 3, 503));
}

static void
a_group_beyond_what_auth_sys_carries_counts_too(void)
{
	CU_ASSERT(is_admin(OTHER, 7, 40, 539));
	CU_ASSERT_FALSE(is_admin(OTHER, 7, 39, 539));
}

static void
one_sees_ones_own_an_administrator_all(void)
{
	struct asker one = { 1000, false }, admin = { 1000, true };

	CU_ASSERT(access_sees(&one, 1000));
	CU_ASSERT_FALSE(access_sees(&one, 0));
	CU_ASSERT_FALSE(access_sees(&one, 1001));
	CU_ASSERT(access_sees(&admin, 1001));
}

static void
map_root_makes_another_of_root_and_of_nobody_else(void)
{
	struct config *c = start(0, 0, 20);
	struct cred *mapped = access_cred(c, cred), *other;

	CU_ASSERT_PTR_EQUAL(mapped, cred);
	cred_put(mapped);
	c->map_root = (struct config_account){ true, 65534, 65533 };
	mapped = access_cred(c, cred);
	CU_ASSERT_EQUAL(mapped->uid, 65534);
	CU_ASSERT_EQUAL(mapped->gid, 65533);
	CU_ASSERT_EQUAL(mapped->group_nr, 0);
	CU_ASSERT_EQUAL(mapped->all_nr, 0);
	cred_put(mapped);
	other = cred_get(1000, 0, NULL, 0);	/* its group is no user */
	mapped = access_cred(c, other);
	CU_ASSERT_PTR_EQUAL(mapped, other);
	cred_put(mapped);
	cred_put(other);
	end(c);
}

static int
enters(const struct config_mount *m, uid_t uid, gid_t gid, unsigned group_nr)
{
	struct config *c = start(uid, gid, group_nr);
	char *error = NULL;
	int err = access_mount(m, cred, &error);

	CU_ASSERT(!error == !err);
	CU_ASSERT(!error || (strstr(error, "closed") &&
			     strstr(error, "allow_users")));
	free(error);
	end(c);
	return err;
}

static void
a_mount_with_lists_is_for_those_on_one_of_them(void)
{
	uint32_t users[] = { 1000, 1002 }, groups[] = { 539 };
	struct config_mount m = { .name = (char *)(uintptr_t)"closed" };

	CU_ASSERT_EQUAL(enters(NULL, 5, 5, 0), 0);
	CU_ASSERT_EQUAL(enters(&m, 5, 5, 0), 0);
	m.allow_users = (struct config_ids){ 2, users };
	CU_ASSERT_EQUAL(enters(&m, 1002, 5, 0), 0);
	CU_ASSERT_EQUAL(enters(&m, 1001, 1002, 40), -EACCES);
	CU_ASSERT_EQUAL(enters(&m, 0, 0, 40), -EACCES);
	m.allow_groups = (struct config_ids){ 1, groups };
	CU_ASSERT_EQUAL(enters(&m, 1002, 5, 0), 0);
	CU_ASSERT_EQUAL(enters(&m, 1001, 539, 0), 0);
	CU_ASSERT_EQUAL(enters(&m, 1001, 5, 40), 0);	/* the fortieth */
	CU_ASSERT_EQUAL(enters(&m, 539, 5, 39), -EACCES);
	m.allow_users.nr = 0;
	CU_ASSERT_EQUAL(enters(&m, 1002, 5, 0), -EACCES);
}

UNIT_TESTS(access,
	UNIT(root_the_daemons_user_and_the_admin_group_are_administrators),
	UNIT(a_group_beyond_what_auth_sys_carries_counts_too),
	UNIT(one_sees_ones_own_an_administrator_all),
	UNIT(map_root_makes_another_of_root_and_of_nobody_else),
	UNIT(a_mount_with_lists_is_for_those_on_one_of_them),
)
