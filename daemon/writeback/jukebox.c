/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * jukebox.c - see jukebox.h
 *
 * The file waits, longer each time, with jitter; other files go on.  After the
 * wait it does not come back at full strength:
 *
 *	WRITEs in flight	any
 *	JUKEBOX, the file	1, and one more for each that is taken
 *	JUKEBOX, 16 files	half of what the server had, for all its files;
 *	in a row		half again when as many as that are refused in a
 *				row; one more for each that is taken
 *
 * The replies of WRITEs that were out together are one refusal.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/writeback/age.h"
#include "daemon/writeback/jukebox.h"
#include "daemon/writeback/pipeline_impl.h"

#define DELAY_MIN_USEC 100000
#define DELAY_MAX_USEC 5000000
#define DOUBLINGS 6
#define ROW 16			/* files in a row that mean the server */
#define WINDOW_MAX 64		/* more is as good as any */

void
jukebox_count(struct wb_server *s, const struct wb_call *call)
{
	if (call->err == -EAGAIN)
		s->stats.delays++;
}

void
wb_server_delayed(struct wb_server *s)
{
	s->stats.delays++;
}

void
jukebox_asked(struct wb_file *f, uint64_t now)
{
	uint64_t delay = DELAY_MIN_USEC << (f->jukebox_nr < DOUBLINGS ?
					    f->jukebox_nr : DOUBLINGS);

	f->window = 1;
	if (f->not_before_usec > now)
		return;
	if (delay > DELAY_MAX_USEC)
		delay = DELAY_MAX_USEC;
	delay += (uint64_t)random() % (delay / 4);
	f->jukebox_nr++;
	f->not_before_usec = now + delay;
	file_wake_at(f, f->not_before_usec);
}

void
jukebox_write_asked(struct wb_file *f, uint64_t now)
{
	struct wb_server *s = f->server;

	bool counts = f->not_before_usec <= now && f != s->jukebox_last;

	jukebox_asked(f, now);
	if (!counts)
		return;
	s->jukebox_last = f;
	if (++s->jukebox_row < (s->window ? s->window : ROW))
		return;
	s->jukebox_row = 0;
	s->window = (s->window ? s->window : s->ops_out) / 2;
	if (!s->window)
		s->window = 1;
}

static void
widen(unsigned *window)
{
	if (*window && ++*window > WINDOW_MAX)
		*window = 0;
}

void
jukebox_write_taken(struct wb_file *f)
{
	struct wb_server *s = f->server;

	f->jukebox_nr = 0;
	s->jukebox_row = 0;
	s->jukebox_last = NULL;
	if (f->window)		/* old data may have been passed over */
		age_look(f);
	widen(&f->window);
	widen(&s->window);
}

bool
jukebox_full(const struct wb_file *f)
{
	const struct wb_server *s = f->server;

	return (f->window && f->ops_nr >= f->window) ||
	       (s->window && s->ops_out >= s->window);
}
