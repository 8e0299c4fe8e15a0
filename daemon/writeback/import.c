/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * import.c - a new instance takes over the list that an earlier one kept
 *
 * The list is copied out slot by slot and checked; what does not make sense is
 * refused whole.  Entries keep their slots.  They join their files in sequence,
 * cutting as they did when they were new.  What may have been sent and was not
 * answered is closed to newer data until it is, and no late copy can land any
 * more: the old instance's connection may still deliver it.  What was answered
 * is sent again, since nobody knows its verifier.
 *
 * While importing no room is granted; it ends when the ring is drained.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/writeback/pipeline_impl.h"
#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/tails.h"

static struct slab *sorting;	/* qsort has no argument; one thread */

static int
by_seq(const void *a, const void *b)
{
	const struct import_entry *i = a, *j = b;
	uint64_t x = sorting->extent[i->slot].seq;
	uint64_t y = sorting->extent[j->slot].seq;

	return x < y ? -1 : x > y;
}

/* Copies one slot into its extent; -EPROTO: nonsense. */
static int
take_entry(struct slab *s, uint32_t slot, uint64_t seq)
{
	struct nfswb_list_entry *l = &s->view.list[slot];
	struct extent *e = &s->extent[slot];
	uint64_t lr = atomic_load(&l->length_ringpos);
	uint64_t place = l->place, offset = l->offset;
	uint32_t length = (uint32_t)lr, state;

	if (length == 0 || length > NFSWB_CHUNK_BYTES ||
	    place / NFSWB_CHUNK_BYTES >= s->view.layout.chunk_nr ||
	    place % NFSWB_CHUNK_BYTES + length > NFSWB_CHUNK_BYTES ||
	    offset > (uint64_t)INT64_MAX - length)
		return -EPROTO;
	e->slab = s;
	e->seq = e->oldest_seq = seq;
	e->offset = offset;
	e->place = place;
	e->length = length;
	state = atomic_load(&l->state);
	e->was_sent = state != NFSWB_LIST_DIRTY &&
		      state != NFSWB_LIST_ANSWERED;
	e->file_nr = l->file;
	e->ringpos = (uint32_t)(lr >> 32);
	s->import[s->import_nr++] =
	    (struct import_entry) { .slot = slot, .ringpos = e->ringpos };
	return 0;
}

static int
take_list(struct slab *s, uint64_t max_seq)
{
	uint32_t i, n = s->view.layout.list_nr;
	int err;

	while (n && !atomic_load(&s->view.list[n - 1].seq))
		n--;
	slab_set_fresh(s, n);
	for (i = 0; i < n; i++) {
		uint64_t seq = atomic_load(&s->view.list[i].seq);

		if (!seq) {
			s->extent[i].slab = s;
			extent_list_append(&s->free_extents, &s->extent[i]);
			s->free_nr++;
			continue;
		}
		if (seq > max_seq)
			return -EPROTO;
		err = take_entry(s, i, seq);
		if (err)
			return err;
	}
	return 0;
}

int
slab_import_begin(struct slab *s,
		  struct wb_handle *(*file_of)(void *arg, uint32_t file),
		  void *arg, uint64_t max_seq)
{
	uint32_t i;
	int err;

	s->import = calloc(s->view.layout.list_nr, sizeof *s->import);
	if (!s->import)
		return -ENOMEM;
	s->importing = true;
	s->import_file_of = file_of;
	s->import_arg = arg;
	err = take_list(s, max_seq);
	if (err)
		return err;
	sorting = s;
	qsort(s->import, s->import_nr, sizeof *s->import, by_seq);
	for (i = 0; i < s->view.layout.chunk_nr; i++) {
		slab_chunk_move(s, &s->chunk[i], CHUNK_CLOSED);
		s->chunk[i].granted = s->chunk[i].posted = 0;
	}
	return 0;
}

uint64_t
slab_import_next(struct slab *s)
{
	return s->import_at < s->import_nr
		? s->extent[s->import[s->import_at].slot].seq : 0;
}

int
slab_import_one(struct slab *s, uint64_t now)
{
	struct extent *e = &s->extent[s->import[s->import_at++].slot];
	struct wb_handle *h = s->import_file_of(s->import_arg, e->file_nr);
	struct wb_file *f;
	int err;

	s->wb->now = now;
	if (!h) {
		slab_strike(e);
		slab_extent_put(e);
		return -ENOENT;
	}
	if (e->seq > s->wb->seq)	/* a fsync from now on covers it */
		s->wb->seq = e->seq;
	f = h->file;
	e->file = f;
	e->cred = cred_ref(h->cred);
	e->dirtied_usec = now;
	err = extent_join(e);
	if (err) {		/* no slot for a cut: nothing newer needs it */
		s->import_at--;
		return err;
	}
	if (e->was_sent) {
		f->imported = true;
		late_add(f, e->offset, extent_end(e),
			  now + s->wb->limits.late_duplicate_usec);
	}
	reads_drop(f, e->offset, extent_end(e));
	if (extent_end(e) > f->size)
		f->size = extent_end(e);
	tails_over(f);
	file_kick(f);
	return 0;
}

/* By what the list held when it was taken: much of it may be written back and
   struck by now.  Positions are compared by their low 32 bits, as the list keeps
   them; the ring is shorter than that. */
uint64_t
slab_import_ringpos(struct slab *s, uint64_t tail, uint64_t head)
{
	uint64_t span = head - tail;
	uint32_t best = 0, i, ahead;

	if (span > s->view.layout.ring_nr)
		return tail;
	for (i = 0; i < s->import_nr; i++) {
		ahead = s->import[i].ringpos - (uint32_t)tail;
		if (ahead <= span && ahead > best)
			best = ahead;
	}
	return tail + best;
}

void
slab_import_end(struct slab *s)
{
	uint32_t i;

	s->importing = false;
	free(s->import);
	s->import = NULL;
	for (i = 0; i < s->view.layout.chunk_nr; i++)
		slab_chunk_check(s, &s->chunk[i]);
}
