/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * foreground.c - see foreground.h
 *
 * As Linux did before 3.2 (balance_dirty_pages, in its idea): who dirties above
 * the middle of background and limit writes one and a half times as much as it
 * wants to dirty, of whichever file is the oldest, beside the flusher and beside
 * all others that do the same, and waits until all that was under way is answered.
 * Where the congestion queue lets no more be queued it waits until as much as it
 * wanted to write is.
 */
#include <sys/param.h>

#include "daemon/writeback/flusher.h"
#include "daemon/writeback/foreground.h"
#include "daemon/writeback/pipeline_impl.h"

#define WANT_MAX (1u << 20)

bool
foreground_begins(struct slab *s, uint64_t now)
{
	struct wb_server *server = s->server;
	uint64_t want = MIN(MAX(s->want, NFSWB_CHUNK_BYTES), WANT_MAX) * 3 / 2;
	uint64_t under_way;

	if (!server)
		return false;
	if (flusher_drive(server, want, now))
		want = UINT64_MAX;
	under_way = server->bytes[EXTENT_WRITEBACK];
	s->answered_wanted = server->answered_bytes + MIN(under_way, want);
	return under_way > 0;
}

bool
foreground_ended(const struct slab *s)
{
	return !s->server || s->server->answered_bytes >= s->answered_wanted;
}
