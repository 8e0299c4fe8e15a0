/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cred_test.c - equal credentials are one object */
#include "common/cred.h"
#include "tests/unit.h"

static void
equal_credentials_are_one_object(void)
{
	static const gid_t g[] = { 7, 8 };
	static const gid_t same[] = { 7, 8 };
	struct cred *a = cred_get(1000, 100, g, 2);
	struct cred *b = cred_get(1000, 100, same, 2);

	CU_ASSERT_PTR_EQUAL(a, b);
	CU_ASSERT_EQUAL(a->refs, 2);
	CU_ASSERT_EQUAL(a->group[1], 8);
	cred_put(b);
	CU_ASSERT_EQUAL(a->refs, 1);
	cred_put(a);
}

static void
any_difference_makes_another_object(void)
{
	static const gid_t g[] = { 7, 8 }, swapped[] = { 8, 7 };
	struct cred *c[6];
	unsigned i, j;

	c[0] = cred_get(1, 2, g, 2);
	c[1] = cred_get(2, 2, g, 2);
	c[2] = cred_get(1, 1, g, 2);
	c[3] = cred_get(1, 2, g, 1);
	c[4] = cred_get(1, 2, NULL, 0);
	c[5] = cred_get(1, 2, swapped, 2);
	for (i = 0; i < 6; i++)
		for (j = 0; j < i; j++)
			CU_ASSERT_PTR_NOT_EQUAL(c[i], c[j]);
	for (i = 0; i < 6; i++)
		cred_put(c[i]);
}

static void
groups_beyond_16_are_known_but_not_carried(void)
{
	gid_t g[20];
	struct cred *a, *b;
	unsigned i;

	for (i = 0; i < 20; i++)
		g[i] = i;
	a = cred_get(1, 1, g, 20);
	b = cred_get(1, 1, g, 16);
	CU_ASSERT_EQUAL(a->group_nr, 16);
	CU_ASSERT_PTR_NOT_EQUAL(a, b);
	CU_ASSERT(cred_in_group(a, 19));
	CU_ASSERT(cred_in_group(a, 1));
	CU_ASSERT(!cred_in_group(a, 20));
	CU_ASSERT(!cred_in_group(b, 19));
	cred_put(a);
	cred_put(b);
}

static void
last_reference_frees_in_any_order(void)
{
	struct cred *c[1000];
	unsigned i;

	for (i = 0; i < 1000; i++)
		c[i] = cred_get(i, i % 7, NULL, 0);
	for (i = 0; i < 1000; i += 2)
		cred_put(c[i]);
	for (i = 1; i < 1000; i += 2)
		CU_ASSERT_EQUAL(c[i]->uid, i);
	for (i = 1; i < 1000; i += 2)
		cred_put(c[i]);
	cred_put(NULL);
}

UNIT_TESTS(cred,
	UNIT(equal_credentials_are_one_object),
	UNIT(any_difference_makes_another_object),
	UNIT(groups_beyond_16_are_known_but_not_carried),
	UNIT(last_reference_frees_in_any_order),
)
