/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_drc.c - the duplicate request cache
 *
 * Keeps the replies of calls that had better not be done twice, under xid,
 * procedure and a sum over the first bytes of the call; not under the
 * connection, since a client comes again over another one.  A copy that comes
 * while the first is being done is dropped, as other servers do.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_int.h"

#define ENTRIES 4096u
#define SUMMED 256u

struct drc_key {
	uint32_t xid, proc;
	uint64_t sum;
};

struct drc_entry {
	struct drc_key key;
	bool done;
	unsigned char *reply;
	size_t len;
	TAILQ_ENTRY(drc_entry) link;
	UT_hash_handle hh;
};

static bool
is_cached(uint32_t proc)
{
	return proc == NFSPROC3_WRITE ||
	       (proc && !nfs3_is_idempotent(proc));
}

static struct drc_key
key_of(const struct nfssim *sim, const struct nfssim_call *call,
       const struct sim_record *rec)
{
	struct drc_key key;
	const unsigned char *p = rec->data;
	size_t i, len = rec->len < SUMMED ? rec->len : SUMMED;

	memset(&key, 0, sizeof key);
	key.xid = call->xid;
	if (sim->opt.drc == NFSSIM_DRC_BLIND)
		return key;
	key.proc = call->proc;
	key.sum = 14695981039346656037ull ^ rec->wire_len;
	for (i = 0; i < len; i++)
		key.sum = (key.sum ^ p[i]) * 1099511628211ull;
	return key;
}

static struct drc_entry *
find(struct nfssim *sim, const struct drc_key *key)
{
	struct drc_entry *e;

	HASH_FIND(hh, sim->drc, key, sizeof *key, e);
	return e;
}

static void
drop(struct nfssim *sim, struct drc_entry *e)
{
	HASH_DEL(sim->drc, e);
	TAILQ_REMOVE(&sim->drc_order, e, link);
	free(e->reply);
	free(e);
}

static void
add(struct nfssim *sim, const struct drc_key *key)
{
	struct drc_entry *e = calloc(1, sizeof *e);

	if (!e)
		return;
	e->key = *key;
	HASH_ADD(hh, sim->drc, key, sizeof e->key, e);
	TAILQ_INSERT_TAIL(&sim->drc_order, e, link);
	if (HASH_COUNT(sim->drc) > ENTRIES)
		drop(sim, TAILQ_FIRST(&sim->drc_order));
}

enum drc_answer
drc_ask(struct nfssim *sim, const struct nfssim_call *call,
	const struct sim_record *rec, const void **reply, size_t *len)
{
	struct drc_key key;
	struct drc_entry *e;

	if (sim->opt.drc == NFSSIM_DRC_OFF || !is_cached(call->proc))
		return DRC_NEW;
	key = key_of(sim, call, rec);
	e = find(sim, &key);
	if (!e) {
		add(sim, &key);
		return DRC_NEW;
	}
	if (!e->done || sim->opt.drc == NFSSIM_DRC_CUT)
		return DRC_DROP;
	*reply = e->reply;
	*len = e->len;
	return DRC_REPLAY;
}

void
drc_answered(struct nfssim *sim, const struct nfssim_call *call,
	     const struct sim_record *rec, const void *reply, size_t len,
	     bool keep)
{
	struct drc_key key;
	struct drc_entry *e;

	if (!sim->drc)
		return;
	key = key_of(sim, call, rec);
	e = find(sim, &key);
	if (!e || e->done)
		return;
	e->reply = keep ? malloc(len) : NULL;
	if (!e->reply) {
		drop(sim, e);
		return;
	}
	memcpy(e->reply, reply, len);
	e->len = len;
	e->done = true;
}

void
drc_forget(struct nfssim *sim)
{
	struct drc_entry *e;

	while ((e = TAILQ_FIRST(&sim->drc_order)))
		drop(sim, e);
}

void
nfssim_set_drc(struct nfssim *sim, enum nfssim_drc drc)
{
	if (drc != sim->opt.drc)
		drc_forget(sim);
	sim->opt.drc = drc;
}
