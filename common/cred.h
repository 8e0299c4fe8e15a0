/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cred.h - who is asking: uid, gid and supplementary groups of a call
 *
 * Interned: equal credentials are one object, so that comparing is comparing
 * pointers.  Counted; one thread.
 */
#ifndef NFSWB_CRED_H
#define NFSWB_CRED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CRED_GROUPS_MAX 16	/* AUTH_SYS, RFC 5531 appendix A */

struct cred {
	uid_t uid;
	gid_t gid;
	unsigned group_nr;	/* of group[], 16 at most */
	gid_t group[CRED_GROUPS_MAX];
	unsigned refs;
	struct cred *next;	/* in the interning table */
	unsigned all_nr;
	gid_t all[];		/* the groups, also those beyond group[] */
};

/* The one object for these.  NULL: no memory.  The caller owns a reference. */
struct cred *cred_get(uid_t uid, gid_t gid, const gid_t *group,
		      unsigned group_nr);
struct cred *cred_ref(struct cred *);
void cred_put(struct cred *);	/* NULL is fine */
bool cred_in_group(const struct cred *, gid_t);

#endif
