/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room.c - see room.h
 *
 * With BOUND_GRANTS a small part of the limit is for those alone who ask for
 * little and have little under way (light writers).
 */
#include <sys/param.h>

#include "daemon/writeback/grant.h"
#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/room.h"
#include "daemon/writeback/share.h"
#include "daemon/writeback/throttle.h"

#define LIGHT_SHARE 8		/* of a file's share of the limit */
#define RESERVE_SHARE 64	/* of the limit, for light writers */
#define RESERVE_MAX (4ull << 20)
#define RESERVE_FROM (32ull << 20)	/* limits below have none to spare */

static uint64_t
below(uint64_t bytes, uint64_t most)
{
	return bytes < most ? most - bytes : 0;
}

bool
room_is_light(const struct slab *s)
{
	const struct wb *wb = s->wb;
	uint64_t has = s->granted_bytes + extent_live_bytes(s->bytes);

	return wb->limits.whole_grants && s->want && !s->want_inline &&
	       s->want <= NFSWB_CHUNK_BYTES &&
	       has <= wb->limits.dirty_bytes / LIGHT_SHARE /
		      MAX(wb->live_files, 1);
}

/* What only light writers may have: whole turns, so that the others' still come
   out even. */
static uint64_t
reserve(const struct wb *wb)
{
	uint64_t limit = wb->limits.dirty_bytes;
	uint64_t turns = MIN(limit / RESERVE_SHARE, RESERVE_MAX) /
			 GRANT_TURN_BYTES;

	if (!wb->limits.whole_grants || limit < RESERVE_FROM)
		return 0;
	return MAX(turns, 1) * GRANT_TURN_BYTES;
}

uint64_t
room_limit(const struct wb *wb)
{
	return wb->limits.dirty_bytes - reserve(wb);
}

uint64_t
room_most(const struct wb_server *s)
{
	uint64_t most = share_most(s);

	return most - MIN(reserve(s->wb), most / 8);
}

static uint64_t
limit_left(const struct slab *s)
{
	const struct wb *wb = s->wb;

	return below(throttle_dirtied(wb), room_is_light(s) ?
		     wb->limits.dirty_bytes : room_limit(wb));
}

static uint64_t
share_left(const struct slab *s)
{
	if (!s->server || s->wb->limits.dirty_throttling == THROTTLE_NONE)
		return UINT64_MAX;
	return below(share_dirtied(s->server), room_is_light(s) ?
		     share_most(s->server) : room_most(s->server));
}

bool
room_is_held(const struct slab *s)
{
	return limit_left(s) >= GRANT_MIN && share_left(s) < GRANT_MIN;
}

uint32_t
room_for(const struct slab *s)
{
	uint64_t left = MIN(limit_left(s), share_left(s));

	left = MIN(left, NFSWB_CHUNK_BYTES);
	return (uint32_t)(left - left % GRANT_MIN);
}
