/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pace.h - how fast the writers of a server may go, once they may not run free
 *
 * Pure arithmetic on what the pipeline counts; the grants are grant.c's.
 */
#ifndef NFSWB_PACE_H
#define NFSWB_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct slab;
struct wb;
struct wb_server;

#define PACE_ONE 1024u			/* a ratio of one, a usual weight */
#define PACE_PAUSE_MAX 200000u		/* microseconds */
#define PACE_TOGETHER_USEC 5000u	/* who is due so soon is served with the
					   first */

struct pace {				/* a server's writers */
	uint64_t balanced_rate;		/* bytes a second, of weight one */
	uint64_t hungry;		/* weights of those who had to wait in
					   this period or the last */
	uint64_t hungry_nr;		/* how many they are */
	uint64_t writing, writing_nr;	/* who got any room in this period */
	bool was_on;
	bool fits;			/* its range is wide enough */
};

struct pace_writer {			/* of a slab */
	uint64_t next_usec;		/* no grant before */
	uint64_t granted_bytes;		/* in this period */
	uint64_t hungry_usec;		/* had to wait then; 0: never */
	bool hungry;			/* counted as such, */
	bool writing;			/* and as one that got room */
	struct wb_user *user;		/* NULL: a weight of its own */
};

/* The control curve, in PACE_ONEs: 2 at middle and below, 1 half-way between
   that and limit, 0 at limit and above. */
uint64_t pace_curve(uint64_t dirtied, uint64_t middle, uint64_t limit);
/* Where writers stop to run free: the middle of background and limit, both
   scaled to what the server may hold. */
uint64_t pace_middle(const struct wb *, uint64_t limit);
/* The lesser of the server's ratio and the global one. */
uint64_t pace_ratio(const struct wb_server *);
/* Are its writers paced now? */
bool pace_on(const struct wb_server *);

/* When it may be granted room: now or later. */
uint64_t pace_when(struct slab *, uint64_t now);
/* It has to wait for that. */
void pace_hungry(struct slab *, uint64_t now);
/* How much room that is. */
uint64_t pace_bytes(const struct slab *);
/* So much was granted, paced or not. */
void pace_granted(struct slab *, uint64_t bytes, bool paced, uint64_t now);

/* The rates, every 200 ms. */
void pace_run(struct wb *, uint64_t now);

/* For slab_set_user. */
void pace_join(struct slab *, uid_t, unsigned weight);
void pace_leave(struct slab *);

#endif
