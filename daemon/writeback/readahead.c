/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * readahead.c - how far ahead of a reader
 *
 * Who reads where the last read ended reads in sequence; so does, once that is
 * known, who reads near by: several threads of a program may come in any order.
 * The window is twice what was read so far, up to the mount's read_ahead_kb and a
 * quarter of the slab; reading elsewhere closes it.  Where what was read ahead
 * expired before it was wanted, the reader is slow, and the run counts less.
 *
 *	         next            next + window
 *	 read     |    ahead           |
 *	──────────┴───────┬───────┬────┴──┬──▶     READs of rsize, in its multiples
 *
 * Nothing is read ahead behind the end of the file, nor of what is here.
 */
#include <sys/param.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"

#define WINDOW_MIN (128u << 10)

static uint32_t
rsize_of(const struct wb_file *f)
{
	uint32_t n = f->params.rsize ? f->params.rsize : RSIZE_WHEN_UNKNOWN;

	return MIN(n, READ_CHUNKS * NFSWB_CHUNK_BYTES);
}

static bool
is_sequential(const struct readahead *ra, uint64_t offset)
{
	uint64_t before = ra->next > ra->window ? ra->next - ra->window : 0;

	if (offset == ra->next)
		return true;
	return ra->run && offset >= before && offset < ra->next + ra->window;
}

/* To the end of the rsize that it lies in, at most. */
static uint32_t
within_rsize(const struct wb_file *f, uint64_t offset, uint64_t bytes)
{
	uint32_t rsize = rsize_of(f);

	return (uint32_t)MIN(bytes, rsize - offset % rsize);
}

uint32_t
readahead_note(struct wb_handle *h, uint64_t offset, uint32_t length)
{
	struct readahead *ra = &h->ahead;
	struct wb_file *f = h->file;
	uint64_t most = f->params.read_ahead, want = length, end;

	if (ra->wasted != f->read_wasted) {
		ra->wasted = f->read_wasted;
		ra->run /= 4;
	}
	if (is_sequential(ra, offset)) {
		end = MAX(ra->next, offset + length);
		ra->run = MIN(ra->run + end - ra->next, most);
		ra->next = end;
		ra->window = MIN(MAX(2 * ra->run, WINDOW_MIN), most);
	} else {
		ra->run = ra->window = 0;
		ra->next = offset + length;
	}
	/* behind the end as much as was asked for: it may have grown */
	end = MAX(offset + length, MIN(ra->next + ra->window, f->size));
	if (ra->window && want < end - offset)
		want = end - offset;
	return within_rsize(f, offset, want);
}

/* Where what is here, of any state, ends that has this byte; else where the next
   begins, in stop. */
static uint64_t
skip_extents(struct wb_file *f, uint64_t at, uint64_t *stop)
{
	struct extent *e = extent_at(f, at);

	if (!e || e->offset >= *stop)
		return at;
	if (e->offset <= at)
		return extent_end(e);
	*stop = e->offset;
	return at;
}

static uint64_t
skip_known(struct slab *s, struct wb_file *f, uint64_t at, uint64_t *stop)
{
	struct read_block *b = read_find(s, f, at);

	if (b)
		return read_end(b);
	*stop = MIN(*stop, read_next(s, f, at));
	return at;
}

/* false: there is no room, or nothing may be asked for. */
static bool
ask_range(struct slab *s, struct wb_handle *h, uint64_t at, uint64_t end,
	  bool wanted)
{
	struct wb_file *f = h->file;
	uint64_t stop, past;

	end = MIN(end, f->size);
	while (at < end) {
		stop = MIN(at + within_rsize(f, at, UINT64_MAX), f->size);
		past = skip_known(s, f, at, &stop);
		if (past == at)
			past = skip_extents(f, at, &stop);
		if (past != at) {
			at = past;
			continue;
		}
		if (stop > end && !wanted)
			return true;	/* not by crumbs */
		stop = MIN(stop, end);
		if (!read_ask(s, h, at, (uint32_t)(stop - at), true))
			return false;
		at = stop;
	}
	return true;
}

void
readahead_go(struct slab *s, struct wb_handle *h, uint64_t from,
	     uint64_t wanted)
{
	const struct readahead *ra = &h->ahead;
	struct wb_file *f = h->file;
	uint64_t window = MIN(ra->window,
			      (uint64_t)s->view.layout.chunk_nr / 4 *
			      NFSWB_CHUNK_BYTES);

	if (TAILQ_EMPTY(&f->truncations) && TAILQ_EMPTY(&f->held) &&
	    ask_range(s, h, from, wanted, true))
		(void)ask_range(s, h, ra->next, ra->next + window, false);
}
