/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * calls.c - the call table: xid to call, and calls set aside
 *
 *	WAITING    in slots.c, for a slot
 *	SENDING    in send.c's queue; the first may be half sent
 *	IN_FLIGHT  waits for the reply, by the time it left
 *	READY      answered or failed, done is due
 *
 *	WAITING -> SENDING -> IN_FLIGHT -> READY
 *	              ^-----------'  sent again (retry.c)
 *
 * A call is found by its xid from when it gets one to its end, so a reply is
 * matched whichever copy it answers.  Xids start at random: a server's reply
 * cache may remember those of the process before us.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/calls.h"

static struct call_bucket *
bucket_of(struct call_table *t, uint32_t xid)
{
	return &t->bucket[xid & (t->bucket_nr - 1)];
}

int
call_table_init(struct call_table *t, unsigned pool_nr, unsigned reserve_nr,
		uint32_t first_xid)
{
	unsigned i;

	memset(t, 0, sizeof *t);
	TAILQ_INIT(&t->spare);
	t->next_xid = first_xid;
	t->bucket_nr = 64;
	while (t->bucket_nr < 2 * pool_nr)
		t->bucket_nr *= 2;
	t->bucket = calloc(t->bucket_nr, sizeof *t->bucket);
	t->pool = calloc(pool_nr, sizeof *t->pool);
	if (!t->bucket || !t->pool) {
		call_table_free(t);
		return -ENOMEM;
	}
	for (i = 0; i < pool_nr; i++)
		TAILQ_INSERT_TAIL(&t->spare, &t->pool[i], link);
	t->spare_nr = pool_nr;
	t->reserve_nr = reserve_nr;
	return 0;
}

void
call_table_free(struct call_table *t)
{
	free(t->bucket);
	free(t->pool);
	t->bucket = NULL;
	t->pool = NULL;
}

static struct rpc_call *
take_spare(struct call_table *t)
{
	struct rpc_call *call = TAILQ_FIRST(&t->spare);

	TAILQ_REMOVE(&t->spare, call, link);
	t->spare_nr--;
	return call;
}

struct rpc_call *
call_new(struct call_table *t, bool essential)
{
	bool pooled = t->spare_nr > (essential ? 0 : t->reserve_nr);
	struct rpc_call *call = pooled ? take_spare(t) : malloc(sizeof *call);

	if (!call)
		return NULL;
	memset(call, 0, offsetof(struct rpc_call, header_room));
	call->pooled = pooled;
	call->header = call->header_room;
	return call;
}

void
call_free(struct call_table *t, struct rpc_call *call)
{
	call_forget_xid(call);
	if (call->header != call->header_room)
		free(call->header);
	free(call->early);
	cred_put(call->cred);
	if (!call->pooled) {
		free(call);
		return;
	}
	TAILQ_INSERT_HEAD(&t->spare, call, link);
	t->spare_nr++;
}

void
call_assign_xid(struct call_table *t, struct rpc_call *call)
{
	call_forget_xid(call);
	do
		call->xid = t->next_xid++;
	while (call_find(t, call->xid));
	LIST_INSERT_HEAD(bucket_of(t, call->xid), call, hash_link);
	call->hashed = true;
	if (call->header_len)
		rpc_set_xid(call->header, call->xid);
}

void
call_forget_xid(struct rpc_call *call)
{
	if (call->hashed)
		LIST_REMOVE(call, hash_link);
	call->hashed = false;
}

struct rpc_call *
call_find(struct call_table *t, uint32_t xid)
{
	struct rpc_call *call;

	LIST_FOREACH(call, bucket_of(t, xid), hash_link)
		if (call->xid == xid)
			return call;
	return NULL;
}

int
call_keep_reply(struct rpc_call *call, const void *data, size_t len,
		const struct payload *p)
{
	if (call->early)
		return 0;	/* a duplicate */
	call->early = malloc(len);
	if (!call->early)
		return -ENOMEM;
	memcpy(call->early, data, len);
	call->early_len = len;
	call->early_payload = *p;
	return 0;
}
