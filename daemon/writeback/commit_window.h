/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commit_window.h - how many COMMITs that nobody waits for are out at a time
 *
 * A COMMIT makes the server's disk work.  Too few, and the disk rests between
 * them; too many, and all of them end late and together, and until then no room
 * comes back and nothing is written.  How many is right depends on the server.
 */
#ifndef NFSWB_COMMIT_WINDOW_H
#define NFSWB_COMMIT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

struct wb_file;
struct wb_server;

/* What one COMMIT was, for its answer. */
struct commit_trip {
	uint64_t bytes, sent_usec;
	bool telling;			/* its time tells what the server does */
	bool counts;			/* in out and out_bytes */
	bool waited;			/* somebody did, when it was sent */
	TAILQ_ENTRY(commit_trip) link;
};
TAILQ_HEAD(commit_trips, commit_trip);

struct commit_window {
	struct commit_trips trips;	/* that count, oldest first */
	unsigned out;			/* COMMITs, waited for or not */
	uint64_t out_bytes;		/* UNSTABLE when they were sent */
	unsigned score;			/* signs that it takes others along */
	unsigned wide_left;		/* COMMITs until it is asked again */
	unsigned until_oldest;		/* COMMITs that go before its turn */
	const struct wb_file *oldest;	/* picked as such; to compare only */
};

/* Does the server, as it seems, make all files stable at each COMMIT? */
bool commit_window_shares(const struct wb_server *);
/* May one more go out? */
bool commit_window_open(const struct wb_server *);
/* Which of those that want one is next; NULL: none. */
struct wb_file *commit_window_next(struct wb_server *);
/* May one that comes now go before those? */
bool commit_window_may_pass(const struct wb_server *);
void commit_window_sent(struct wb_file *, struct commit_trip *, uint64_t bytes,
			bool waited, uint64_t now);
/* ok: the server did it. */
void commit_window_ended(struct wb_server *, struct commit_trip *, bool ok,
			 uint64_t now);
/* Once a turn, before any is picked. */
void commit_window_turn(struct wb_server *, uint64_t now);

#endif
