/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_rule.h - one rule of a fault script: when, and what then
 *
 *	nfssim_rule.c	words to rules
 *	nfssim_script.c	rules to verdicts, and what they do to the server
 */
#ifndef NFSWB_TESTS_NFSSIM_RULE_H
#define NFSWB_TESTS_NFSSIM_RULE_H

#include <sys/queue.h>

#include "common/loop.h"
#include "tests/nfssim.h"

struct span {			/* both ends count */
	uint64_t from, to;
};

/* Server actions come last: they need no call. */
#define RULE_ACTIONS(X) \
	X(STATUS, "status") X(SHORT, "short") X(COUNT_0, "count-0") \
	X(LIE, "lie") X(SYNC, "sync") X(COMMITTED, "committed") \
	X(OWN_VERIFIER, "own-verifier") X(DELAY, "delay") X(HOLD, "hold") \
	X(LOSE_CALL, "lose-call") X(LOSE_REPLY, "lose-reply") \
	X(REORDER, "reorder") X(COPIES, "copies") X(GARBAGE, "garbage") \
	X(CUT, "cut") X(CUT_HALF, "cut-half") X(CUT_AFTER, "cut-after") \
	X(RESTART_DONE, "restart-done") \
	X(RESTART_REPLIED, "restart-replied") \
	X(RESTART, "restart") X(DOWN, "down") X(CUT_ALL, "cut-all") \
	X(CUT_IN, "cut-in") X(VERIFIER, "verifier") X(FULL, "full") \
	X(QUOTA, "quota") X(DRC, "drc") X(FSINFO, "fsinfo") \
	X(SLOW, "slow") X(EARLY, "early")

enum rule_action_kind {
#define X(kind, name) RULE_##kind,
	RULE_ACTIONS(X)
#undef X
	RULE_ACTION_NR,
	RULE_FIRST_OF_SERVER = RULE_RESTART
};

struct rule_action {
	enum rule_action_kind kind;
	struct span value;		/* mostly from alone */
	STAILQ_ENTRY(rule_action) link;
};

#define RULE_ANY 0xffffffffu
#define RULE_MNT (1u << NFSSIM_PROCS)	/* a bit behind those of NFS */

struct rule {
	uint32_t procs;			/* a bit each */
	char *file;			/* a pattern; NULL: any */
	struct span call, nth, offset, size, time, uid;
	uint64_t every;			/* 0: each */
	uint64_t reach, total;		/* 0: not asked */
	double chance;
	unsigned stable;		/* a bit each; 0: any */
	bool copy;
	bool is_set;			/* "set": done at once */
	bool has_at;
	uint64_t at_usec;		/* done then, without a call */

	STAILQ_HEAD(, rule_action) actions;
	uint64_t matched;		/* by all but nth, every and chance */
	struct nfssim *sim;
	struct loop_timer *timer;	/* has_at */
	STAILQ_ENTRY(rule) link;
};

/* Reads one rule (text is written to).  NULL: see why. */
struct rule *rule_parse(char *text, char *why, size_t room);
void rule_free(struct rule *, struct loop *);

#endif
