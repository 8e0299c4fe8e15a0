/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * share.c - see share.h
 *
 *	most = 3/4 of what the others leave free, a chunk at least
 *	fair = dirty_bytes * its drain rate / the drain rates of all in use
 *
 * So whoever comes next finds room, whatever became of those before: a server
 * that is dead holds three quarters, the next gets three quarters of the rest.
 * That goes for one alone as well, since nobody knows who comes next.  The fair
 * share is approached by the pace (pace.c), not enforced: a server that held much
 * while nobody else wanted it is slowed, not stopped, until it is back there.
 *
 * A grant belongs to a session, and is a server's as long as the session's last
 * post went there.  A session that turns to another server takes with it what it
 * was granted and has not filled, a few chunks, by which that one's share may be
 * passed for a moment; never the limit itself.  A session's threads that write to
 * two servers at a time share its grants, so the slower server holds up both.
 *
 * Cost: O(servers).
 */
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/throttle.h"

uint64_t
share_dirtied(const struct wb_server *s)
{
	return s->granted_bytes + extent_live_bytes(s->bytes);
}

uint64_t
share_most(const struct wb_server *s)
{
	uint64_t limit = s->wb->limits.dirty_bytes;
	uint64_t others = throttle_dirtied(s->wb) - share_dirtied(s);
	uint64_t left = limit > others ? limit - others : 0;

	return MAX(left - left / 4, NFSWB_CHUNK_BYTES);
}

uint64_t
share_fair(const struct wb_server *s)
{
	uint64_t limit = s->wb->limits.dirty_bytes, mine, all = 0;
	const struct wb_server *o;
	bool alone = true;

	LIST_FOREACH(o, &s->wb->servers, link) {
		if (o != s && !share_dirtied(o))
			continue;
		alone = alone && o == s;
		all += o->drain.bytes_per_sec / 1024 + 1;
	}
	if (alone)
		return UINT64_MAX;
	mine = s->drain.bytes_per_sec / 1024 + 1;
	return MAX(limit / all * mine, NFSWB_CHUNK_BYTES);
}
