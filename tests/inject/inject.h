/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject.h - an allocation or a system call that fails once
 *
 *	for (n = 1; ; n++) {
 *		inject_begin(&(struct injection){ INJECT_CALL, .nth = n });
 *		… what is tested …
 *		if (!inject_end()->failed_nr)
 *			break;
 *		… is all as it should be? …
 *	}
 *
 * inject_alloc.c stands in front of malloc and its kin, inject_call.c of the
 * system calls that the daemon, or a library it uses, makes: for the whole
 * process, under sanitizers too.  A call has several ways to fail, each with an
 * errno that its manual page names, or by moving fewer bytes than asked; `way`
 * chooses one.
 *
 * A program that nobody drives takes its injection from the environment:
 *
 *	INJECT=alloc:NTH[:TIMES]  INJECT=call:NTH[:WAY]
 *	INJECT_REPORT=FILE	a line for what failed, and one at the end
 *	INJECT_ABORT=1		ends it there, for a debugger
 */
#ifndef NFSWB_TESTS_INJECT_H
#define NFSWB_TESTS_INJECT_H

#include <stdbool.h>
#include <stdint.h>

enum inject_kind { INJECT_ALLOC, INJECT_CALL };

struct injection {
	enum inject_kind kind;
	unsigned nth;		/* 0: only count */
	unsigned times;		/* from the nth on; 0 as 1 */
	unsigned way;
};

struct injected {
	uint64_t seen_nr;	/* of the kind, excused ones left out */
	unsigned failed_nr;
	/* the first that failed */
	const char *name;
	int err;		/* INJECT_SHORT: it moved less */
	const void *caller;
	bool no_such_way;	/* the nth was there, and has fewer */
};

#define INJECT_SHORT (-1)
#define INJECT_CUT   (-2)	/* descriptors did not come along */

void inject_begin(const struct injection *);
const struct injected *inject_end(void);
/* "sendmsg: EPIPE, called from nfswbd+0x1234" */
const char *inject_text(const struct injected *);
/* Allocated and not freed; under a sanitizer not all of it is seen. */
int64_t inject_live_nr(void);

/* From now on threads are made so that inject_join() can wait for their end. */
extern bool inject_joins;
void inject_join(void);

/* --- for inject_alloc.c and inject_call.c --- */

/* Must it fail now?  way_nr ways: which of them in *way. */
bool inject_fails(enum inject_kind, const char *name, const int *ways,
		  unsigned way_nr, const void *caller, int *err);
extern volatile bool inject_on;
extern int64_t inject_live;
extern __thread bool inject_uncounted;
/* This thread runs what is tested, not yet or no more libc's part of it. */
extern __thread bool inject_here;

#endif
