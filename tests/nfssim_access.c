/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_access.c - who may do what to which file, and how many bytes fit
 *
 * Modes count only where the options say so.  As other servers do, a file's
 * owner may always read and write it: it was checked when it was opened.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/nfssim_int.h"

#define NOBODY 65534u

enum { MAY_READ = 4, MAY_WRITE = 2, MAY_EXEC = 1 };

struct quota {
	uint32_t uid;
	uint64_t bytes;
	struct quota *next;
};

void
access_who(const struct nfssim *sim, struct sim_call *c)
{
	bool squash = !c->pub.flavor ||
		      (sim->opt.root_squash && c->pub.uid == 0);

	c->uid = squash ? NOBODY : c->pub.uid;
	c->gid = squash ? NOBODY : c->pub.gid;
}

static bool
is_in_group(const struct sim_call *c, uint32_t gid)
{
	unsigned i;

	if (c->gid == gid)
		return true;
	for (i = 0; i < c->pub.group_nr; i++)
		if (c->pub.group[i] == gid)
			return c->uid != NOBODY;
	return false;
}

static bool
may(const struct nfssim *sim, const struct sim_call *c, const struct node *n,
    unsigned what)
{
	unsigned bits;

	if (!sim->opt.check_access || c->uid == 0)
		return true;
	bits = c->uid == n->uid ? n->mode >> 6 :
	       is_in_group(c, n->gid) ? n->mode >> 3 : n->mode;
	return (bits & what) == what;
}

static bool
owns(const struct nfssim *sim, const struct sim_call *c, const struct node *n)
{
	return !sim->opt.check_access || c->uid == 0 || c->uid == n->uid;
}

bool
access_may_write(const struct nfssim *sim, const struct sim_call *c,
		 const struct node *n)
{
	return owns(sim, c, n) || may(sim, c, n, MAY_WRITE);
}

uint32_t
access_bits(const struct nfssim *sim, const struct sim_call *c,
	    const struct node *n, uint32_t want)
{
	bool dir = n->type == NF3DIR;
	uint32_t got = 0;

	if (may(sim, c, n, MAY_READ))
		got |= ACCESS3_READ;
	if (may(sim, c, n, MAY_WRITE))
		got |= ACCESS3_MODIFY | ACCESS3_EXTEND |
		       (dir ? ACCESS3_DELETE : 0);
	if (may(sim, c, n, MAY_EXEC))
		got |= dir ? ACCESS3_LOOKUP : ACCESS3_EXECUTE;
	return sim->opt.check_access ? want & got : want;
}

static nfsstat3
check_setattr(const struct nfssim *sim, const struct sim_call *c,
	      const struct node *n, const sattr3 *a)
{
	bool times = a->atime.set_it == SET_TO_CLIENT_TIME ||
		     a->mtime.set_it == SET_TO_CLIENT_TIME;

	if ((a->mode.set_it || a->uid.set_it || a->gid.set_it || times) &&
	    !owns(sim, c, n))
		return NFS3ERR_PERM;
	if (a->uid.set_it && c->uid != 0 && sim->opt.check_access &&
	    a->uid.set_uid3_u.uid != n->uid)
		return NFS3ERR_PERM;
	if (!access_may_write(sim, c, n))
		return NFS3ERR_ACCES;
	return NFS3_OK;
}

nfsstat3
access_check(struct nfssim *sim, const struct sim_call *c, const void *args)
{
	const RENAME3args *rename = args;
	const LINK3args *link = args;
	struct node *n, *to;
	bool ok = true;

	if (!sim->opt.check_access ||
	    store_find(&sim->store, c->pub.fh.data, c->pub.fh.len, &n) !=
	    NFS3_OK)
		return NFS3_OK;		/* the procedure says what is wrong */
	switch (c->pub.proc) {
	case NFSPROC3_SETATTR:
		return check_setattr(sim, c, n,
				     &((const SETATTR3args *)args)->
				     new_attributes);
	case NFSPROC3_LOOKUP:
		ok = may(sim, c, n, MAY_EXEC);
		break;
	case NFSPROC3_READ:
		ok = owns(sim, c, n) || may(sim, c, n, MAY_READ) ||
		     may(sim, c, n, MAY_EXEC);
		break;
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		ok = may(sim, c, n, MAY_READ);
		break;
	case NFSPROC3_WRITE:
	case NFSPROC3_COMMIT:
		ok = access_may_write(sim, c, n);
		break;
	case NFSPROC3_RENAME:
		ok = may(sim, c, n, MAY_WRITE | MAY_EXEC) &&
		     (sim_node(sim, &rename->to.dir, &to) != NFS3_OK ||
		      may(sim, c, to, MAY_WRITE | MAY_EXEC));
		break;
	case NFSPROC3_LINK:
		ok = sim_node(sim, &link->link.dir, &to) != NFS3_OK ||
		     may(sim, c, to, MAY_WRITE | MAY_EXEC);
		break;
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		ok = n->type != NF3DIR ||
		     may(sim, c, n, MAY_WRITE | MAY_EXEC);
		/* what is there may be opened by CREATE all the same */
		if (!ok && c->pub.proc == NFSPROC3_CREATE && c->pub.name)
			ok = may(sim, c, n, MAY_EXEC) &&
			     store_lookup(&sim->store, n, c->pub.name, &to) ==
			     NFS3_OK;
		break;
	}
	return ok ? NFS3_OK : NFS3ERR_ACCES;
}

/* room */

/* Of all files, or of this uid's. */
static uint64_t
used_bytes(const struct nfssim *sim, bool all, uint32_t uid)
{
	const struct node *n;
	uint64_t sum = 0;

	for (n = sim->store.nodes; n; n = n->hh.next)
		if (n->type == NF3REG && (all || n->uid == uid))
			sum += n->contents.size;
	return sum;
}

uint64_t
access_free_bytes(const struct nfssim *sim)
{
	uint64_t used;

	if (sim->full_bytes == UINT64_MAX)
		return 1ull << 40;
	used = used_bytes(sim, true, 0);
	return used < sim->full_bytes ? sim->full_bytes - used : 0;
}

/* Cuts len, which begins at offset, so that the file grows by at most that. */
static uint64_t
fit(const struct node *n, uint64_t offset, uint64_t len, uint64_t used,
    uint64_t limit, nfsstat3 full, nfsstat3 *st)
{
	uint64_t most = n->contents.size + (used < limit ? limit - used : 0);

	if (offset + len <= most)
		return len;
	if (offset < most && len)
		return most - offset;
	*st = full;
	return 0;
}

uint64_t
access_room(struct nfssim *sim, const struct node *n, uint64_t offset,
	    uint64_t len, nfsstat3 *st)
{
	const struct quota *q;

	if (offset + len <= n->contents.size)
		return len;
	for (q = sim->quotas; q; q = q->next)
		if (q->uid == n->uid && q->bytes != UINT64_MAX)
			len = fit(n, offset, len,
				  used_bytes(sim, false, q->uid), q->bytes,
				  NFS3ERR_DQUOT, st);
	if (sim->full_bytes != UINT64_MAX && *st == NFS3_OK)
		len = fit(n, offset, len, used_bytes(sim, true, 0),
			  sim->full_bytes, NFS3ERR_NOSPC, st);
	return len;
}

int
nfssim_set_quota(struct nfssim *sim, uint32_t uid, uint64_t bytes)
{
	struct quota *q;

	for (q = sim->quotas; q && q->uid != uid; q = q->next)
		;
	if (!q) {
		q = calloc(1, sizeof *q);
		if (!q)
			return -ENOMEM;
		q->uid = uid;
		q->next = sim->quotas;
		sim->quotas = q;
	}
	q->bytes = bytes;
	return 0;
}

void
access_free(struct nfssim *sim)
{
	struct quota *q;

	while ((q = sim->quotas)) {
		sim->quotas = q->next;
		free(q);
	}
}
