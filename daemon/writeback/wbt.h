/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wbt.h - background writeback yields to foreground work
 *
 * After Linux block/blk-wbt.c, in its idea: how long foreground calls take is
 * watched in windows, and how much of the background is under way at the server
 * follows.  Knows nothing of calls, files or sockets: it is told what was sent and
 * answered, and says how much may be out.  wbt.c tells how in prose.
 */
#ifndef NFSWB_WBT_H
#define NFSWB_WBT_H

#include <stdbool.h>
#include <stdint.h>

#define WBT_WINDOW_USEC 100000
#define WBT_AUTO UINT32_MAX		/* a target by the idle round trip */
#define WBT_TARGET_MIN 2000		/* microseconds; the least of those */
#define WBT_LARGE (64u << 10)		/* calls of more bytes are another kind */
#define WBT_KINDS (2 * 22)		/* NFSv3 procedures, small and large */
#define WBT_GAPS 8
#define WBT_LEAST_BYTES (1u << 20)	/* one WRITE may always be under way */

struct wbt_kind {
	unsigned out;			/* sent, and not answered */
	uint64_t since_usec;		/* some are out, and were not counted */
	uint64_t still_usec;		/* ... and none was answered */
	uint64_t busy_usec, answered;	/* in 1/256 calls; both fade */
	unsigned answered_nr;		/* in this window, */
	uint64_t least_usec;		/* and the least round trip of them */
	uint64_t idle_usec[2];		/* the least, of this age and the one
					   before; 0: none */
	uint64_t floor_usec;		/* for want of those: the least seen with
					   the background at its least */
	uint64_t age_usec;		/* this age began */
	uint64_t gap_usec[WBT_GAPS];	/* from an answer after which none was out
					   to the next call; the last ones */
	unsigned gap_nr;
};

struct wbt {
	uint64_t lat_usec;		/* 0: off */
	unsigned slot_nr;
	unsigned level, level_max;	/* how often halved: 0 is all */
	unsigned depth_levels;		/* from that on depth is 1 */
	unsigned good_row, good_needed, empty_row, floor_row;
	bool probing;			/* the last step was up */
	uint64_t window_usec;		/* it ends then; 0: none runs */
	uint64_t foreground_usec;	/* the last was sent; 0: never */
	unsigned worst;			/* the kind that suffered most, lately */
	uint64_t committed_usec, took_usec;	/* the last COMMIT ended; its time */
	uint64_t load, last_load;	/* the most bytes that were out in it, and
					   in the one before */
	struct wbt_kind kind[WBT_KINDS];
	uint64_t windows, steps_down, steps_up;
};

/* The kind of a call, by procedure and payload. */
static inline unsigned
wbt_kind(unsigned proc, uint64_t bytes)
{
	return 2 * (proc < WBT_KINDS / 2 ? proc : 0) + (bytes > WBT_LARGE);
}

void wbt_init(struct wbt *, uint64_t lat_usec, unsigned slot_nr);
/* From now on everything may be used. */
void wbt_off(struct wbt *);

/* A foreground call has left as a whole.  Each such call once. */
void wbt_sent(struct wbt *, unsigned kind, uint64_t now);
/* One of them was answered, or (ok false) will never be. */
void wbt_ended(struct wbt *, unsigned kind, bool ok, uint64_t rtt_usec,
	       uint64_t now);

/* Once a turn; bytes: of WRITEs and COMMITs that are out now.  When the next turn
   is due at the latest; UINT64_MAX: nothing to wait for. */
uint64_t wbt_turn(struct wbt *, uint64_t bytes, uint64_t now);

/* WRITEs of the background that may be in flight: 1 to slot_nr. */
unsigned wbt_depth(const struct wbt *);
/* Of bytes that may be on their way to stable storage, so many are left. */
uint64_t wbt_share(const struct wbt *, uint64_t bytes);
/* COMMITs of the background that may be out: 1 at least. */
unsigned wbt_commits(const struct wbt *, uint64_t now);
/* One was answered after so long. */
void wbt_committed(struct wbt *, uint64_t took_usec, uint64_t now);
/* How long until one may go, unless a call of the kind that suffers most ends
   before; 0: now. */
uint64_t wbt_commit_wait_usec(const struct wbt *, uint64_t now);
/* Was there any foreground lately? */
bool wbt_yields(const struct wbt *, uint64_t now);
/* lat_usec, or what it comes to. */
uint64_t wbt_target_usec(const struct wbt *);
/* What calls of this kind are held against. */
uint64_t wbt_limit_usec(const struct wbt *, unsigned kind);

#endif
