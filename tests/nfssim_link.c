/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_link.c - see nfssim_link.h */
#include "tests/nfssim_link.h"

uint64_t
link_pass(struct link *l, enum link_way way, uint64_t now, uint64_t bytes)
{
	uint64_t *busy = &l->busy_until[way];

	if (*busy < now)
		*busy = now;
	if (l->bits_per_sec)
		*busy += (uint64_t)((unsigned __int128)bytes * 8 * 1000000000 /
				    l->bits_per_sec);
	return *busy + l->rtt_nsec / 2;
}

uint64_t
link_backlog(const struct link *l, enum link_way way, uint64_t now)
{
	return l->busy_until[way] > now ? l->busy_until[way] - now : 0;
}
