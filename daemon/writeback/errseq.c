/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* errseq.c - see errseq.h */
#include "daemon/writeback/errseq.h"

void
errseq_set(struct errseq *e, int err)
{
	if (e->count == 0 || e->seen) {
		e->count++;
		e->seen = false;
	}
	e->err = err;
}

bool
errseq_unseen(const struct errseq *e)
{
	return e->count && !e->seen;
}

uint64_t
errseq_sample(const struct errseq *e)
{
	return errseq_unseen(e) ? e->count - 1 : e->count;
}

int
errseq_check_and_advance(struct errseq *e, uint64_t *since)
{
	if (*since == e->count)
		return 0;
	*since = e->count;
	e->seen = true;
	return e->err;
}
