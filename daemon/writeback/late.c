/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late.c - see late.h */
#include <stdlib.h>

#include "daemon/writeback/pipeline_impl.h"

/* Told in steps, as each is written down. */
static void
tell(struct wb *wb, uint64_t until_usec)
{
	if (until_usec <= wb->late_told_usec || !wb->hooks.late)
		return;
	wb->late_told_usec = until_usec + wb->limits.late_duplicate_usec / 4;
	wb->hooks.late(wb->hooks_arg, wb->late_told_usec);
}

void
wb_late(struct wb *wb, uint64_t until_usec)
{
	if (until_usec > wb->now && until_usec <=
	    wb->now + 2 * wb->limits.late_duplicate_usec)
		wb->late_before_usec = until_usec;
}

void
late_add_all(struct wb_file *f, uint64_t until_usec)
{
	if (until_usec <= f->late_all_usec)
		return;
	f->late_all_usec = until_usec;
	file_wake_at(f, until_usec);
}

void
late_add(struct wb_file *f, uint64_t offset, uint64_t end,
	 uint64_t until_usec)
{
	struct late_range *l = TAILQ_LAST(&f->late, late_list);

	tell(f->server->wb, until_usec);
	if (l && l->end == offset && l->until_usec == until_usec) {
		l->end = end;
		return;
	}
	if (l && l->until_usec <= until_usec && TAILQ_FIRST(&f->late) != l &&
	    f->late_nr >= LATE_MAX) {
		/* too many to tell apart: one that covers both */
		if (offset < l->offset)
			l->offset = offset;
		if (end > l->end)
			l->end = end;
		l->until_usec = until_usec;
		return;
	}
	l = malloc(sizeof *l);
	if (!l) {		/* rather wait for too much than for too little */
		late_add_all(f, until_usec);
		return;
	}
	l->offset = offset;
	l->end = end;
	l->until_usec = until_usec;
	TAILQ_INSERT_TAIL(&f->late, l, link);
	f->late_nr++;
	file_wake_at(f, until_usec);
}

void
late_expire(struct wb_file *f, uint64_t now)
{
	struct late_range *l, *next;

	TAILQ_FOREACH_SAFE(l, &f->late, link, next) {
		if (l->until_usec > now)
			continue;
		TAILQ_REMOVE(&f->late, l, link);
		f->late_nr--;
		free(l);
	}
	if (f->late_all_usec <= now)
		f->late_all_usec = 0;
}

void
late_drop(struct wb_file *f)
{
	late_expire(f, UINT64_MAX);
}

bool
late_overlaps(const struct wb_file *f, uint64_t offset, uint64_t end)
{
	const struct late_range *l;

	if (f->late_all_usec)
		return true;
	TAILQ_FOREACH(l, &f->late, link)
		if (l->offset < end && l->end > offset)
			return true;
	return false;
}
