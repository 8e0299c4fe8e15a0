/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cred.c - the table that makes equal credentials one object */
#include <stdlib.h>
#include <string.h>

#include "common/cred.h"

#define TABLE_NR 64

static struct cred *table[TABLE_NR];

static struct cred **
bucket_of(uid_t uid, gid_t gid)
{
	return &table[(uid * 31u + gid) % TABLE_NR];
}

static int
is_same(const struct cred *c, uid_t uid, gid_t gid, const gid_t *group,
	unsigned group_nr)
{
	return c->uid == uid && c->gid == gid && c->all_nr == group_nr &&
	       (!group_nr ||
		!memcmp(c->all, group, group_nr * sizeof *group));
}

struct cred *
cred_get(uid_t uid, gid_t gid, const gid_t *group, unsigned group_nr)
{
	struct cred **bucket = bucket_of(uid, gid), *c;

	for (c = *bucket; c; c = c->next)
		if (is_same(c, uid, gid, group, group_nr))
			return cred_ref(c);
	c = calloc(1, sizeof *c + group_nr * sizeof *group);
	if (!c)
		return NULL;
	c->uid = uid;
	c->gid = gid;
	c->all_nr = group_nr;
	c->group_nr = group_nr < CRED_GROUPS_MAX ? group_nr : CRED_GROUPS_MAX;
	if (group_nr) {
		memcpy(c->all, group, group_nr * sizeof *group);
		memcpy(c->group, group, c->group_nr * sizeof *group);
	}
	c->refs = 1;
	c->next = *bucket;
	*bucket = c;
	return c;
}

struct cred *
cred_ref(struct cred *c)
{
	c->refs++;
	return c;
}

void
cred_put(struct cred *c)
{
	struct cred **p;

	if (!c || --c->refs)
		return;
	for (p = bucket_of(c->uid, c->gid); *p != c; p = &(*p)->next)
		;
	*p = c->next;
	free(c);
}

bool
cred_in_group(const struct cred *c, gid_t gid)
{
	unsigned i;

	for (i = 0; i < c->all_nr; i++)
		if (c->all[i] == gid)
			return true;
	return c->gid == gid;
}
