/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * errseq.h - every open handle sees each failure exactly once
 *
 * The kernel's errseq_t (Linux lib/errseq.c) in words: the file counts its
 * failures, a handle remembers the count it has seen.  Failures that nobody has
 * seen yet are one; a handle opened while one is unseen will see it too.
 */
#ifndef NFSWB_ERRSEQ_H
#define NFSWB_ERRSEQ_H

#include <stdbool.h>
#include <stdint.h>

struct errseq {
	uint64_t count;
	int err;		/* the last failure, -errno */
	bool seen;		/* by any handle */
};

/* A failure happened. */
void errseq_set(struct errseq *, int err);
/* Has no handle seen the last one? */
bool errseq_unseen(const struct errseq *);
/* What a new handle has seen. */
uint64_t errseq_sample(const struct errseq *);
/* The failure this handle has not seen yet (then it has), or 0. */
int errseq_check_and_advance(struct errseq *, uint64_t *since);

#endif
