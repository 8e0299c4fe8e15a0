/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * access.c - who may do what
 */
#include "daemon/access.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/config_ids.h"

struct asker
access_asker(const struct config *c, const struct cred *peer)
{
	struct asker a = { peer->uid, false };

	a.admin = !peer->uid || peer->uid == geteuid() ||
		  (c->admin_gid != (gid_t)-1 &&
		   cred_in_group(peer, c->admin_gid));
	return a;
}

bool
access_sees(const struct asker *a, uid_t uid)
{
	return a->admin || a->uid == uid;
}

struct cred *
access_cred(const struct config *c, struct cred *peer)
{
	if (peer->uid || !c->map_root.set)
		return cred_ref(peer);
	return cred_get(c->map_root.uid, c->map_root.gid, NULL, 0);
}

static bool
in_one_of(const struct config_ids *groups, const struct cred *cred)
{
	unsigned i;

	for (i = 0; i < groups->nr; i++)
		if (cred_in_group(cred, groups->id[i]))
			return true;
	return false;
}

int
access_mount(const struct config_mount *m, const struct cred *cred,
	     char **error)
{
	if (!m || (!m->allow_users.nr && !m->allow_groups.nr) ||
	    ids_has(&m->allow_users, cred->uid) ||
	    in_one_of(&m->allow_groups, cred))
		return 0;
	if (asprintf(error, "user %u may not use mount '%s': its allow_users "
		     "and allow_groups name who may", (unsigned)cred->uid,
		     m->name) < 0)
		*error = NULL;
	return -EACCES;
}
