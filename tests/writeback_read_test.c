/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_read_test.c - what is READ into a slab: ahead of whom, for how long it
 * may be told, and who gets the room
 *
 * rsize is 128 KiB, the window 2 MiB at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/writeback/read_impl.h"
#include "daemon/writeback/reclaim.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define CHUNK NFSWB_CHUNK_BYTES
#define RSIZE (128 * KIB)
#define SECOND 1000000u

static struct bench b;
static struct wb_handle *h;

/* The file as the server has it. */
static struct {
	uint64_t size, ctime;
	unsigned version;
	unsigned read_nr;
	uint64_t read_bytes;
} sv;

static unsigned char
byte_at(unsigned version, uint64_t at)
{
	return (unsigned char)(version * 59 + at * 7 + (at >> 9));
}

static void
begin_with(uint64_t slab_bytes, uint64_t size)
{
	bench_init(&b, &(struct bench_options){ .slab_bytes = slab_bytes });
	memset(&sv, 0, sizeof sv);
	sv.size = size;
	sv.ctime = 1;
	h = bench_open(&b, 1, 10, O_RDWR);
	file_server_attr(h->file, size, 1, true);
}

static void
begin(uint64_t size)
{
	begin_with(16 * MIB, size);
}

static void
end(void)
{
	bench_turn(&b);
	bench_free(&b);
}

/* ---- the server ---- */

static void
finish_call(struct wb_call *c, int err)
{
	c->err = err;
	c->nfs_status = err ? (uint32_t)-err : 0;
	c->have_size = !err;
	c->size_after = sv.size;
	c->ctime_nsec = sv.ctime;
	c->transmissions = 1;
	c->sent_usec = b.now;
	c->done(c, b.now);
	bench_turn(&b);
}

/* At most so many bytes. */
static void
answer_short(struct wb_call *c, uint32_t most)
{
	uint64_t at = c->offset;
	size_t n, k;
	int i;

	CU_ASSERT_EQUAL_FATAL(c->kind, WB_CALL_READ);
	CU_ASSERT_EQUAL(c->class, WB_FOREGROUND);
	CU_ASSERT(c->count <= RSIZE && c->count > 0);
	c->read = 0;
	for (i = 0; i < c->iov_nr; i++) {
		unsigned char *p = c->iov[i].iov_base;

		n = c->iov[i].iov_len;
		if (n > most - c->read)
			n = most - c->read;
		if (at >= sv.size)
			n = 0;
		else if (n > sv.size - at)
			n = sv.size - at;
		for (k = 0; k < n; k++)
			p[k] = byte_at(sv.version, at + k);
		at += n;
		c->read += (uint32_t)n;
	}
	c->eof = at >= sv.size;
	sv.read_nr++;
	sv.read_bytes += c->read;
	finish_call(c, 0);
}

static void
answer(struct wb_call *c)
{
	answer_short(c, UINT32_MAX);
}

static struct wb_call *
take_read(void)
{
	unsigned i;

	for (i = 0; i < b.call_nr; i++)
		if (b.call[i]->kind == WB_CALL_READ)
			return bench_take(&b, i);
	return NULL;
}

static unsigned
serve_reads(void)
{
	struct wb_call *c;
	unsigned nr = 0;

	while ((c = take_read())) {
		answer(c);
		nr++;
	}
	return nr;
}

static uint64_t
out_bytes(void)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < b.call_nr; i++)
		n += b.call[i]->kind == WB_CALL_READ ? b.call[i]->count : 0;
	return n;
}

/* ---- the reader ---- */

static struct told {
	unsigned nr;
	int err;
	struct read_result r;
} told;

static void
tell(void *arg, int err, const struct read_result *r)
{
	struct told *t = arg;

	t->nr++;
	t->err = err;
	if (r)
		t->r = *r;
}

static int
ask(struct told *t, uint64_t offset, uint32_t length)
{
	int rc;

	memset(t, 0, sizeof *t);
	rc = slab_read(b.slab, h, offset, length, h->file->size, b.now, &t->r,
		       tell, t);
	if (rc == 1)
		t->nr = 1;
	bench_turn(&b);
	return rc;
}

/* Copies as the library does; are these the server's bytes of that version? */
static bool
is_told(struct told *t, uint64_t offset, uint32_t length, unsigned version)
{
	uint64_t at = offset;
	unsigned i;
	uint32_t k;

	if (t->nr != 1 || t->err || t->r.length != length)
		return false;
	for (i = 0; i < t->r.nr; i++) {
		const struct read_piece *p = &t->r.piece[i];

		if (p->place == NFSWB_PLACE_ZEROS)
			return false;
		for (k = 0; k < p->length; k++)
			if (b.view.data[p->place + k] !=
			    byte_at(version, at + k))
				return false;
		if (!nfswb_mark_took(&b.view.mark[p->place / CHUNK], p->mark,
				     p->length))
			return false;
		at += p->length;
	}
	return at == offset + length;
}

/* All of it, asking and serving as often as it takes. */
static bool
reads(uint64_t offset, uint32_t length)
{
	uint64_t at = offset;

	while (at < offset + length) {
		if (!ask(&told, at, (uint32_t)(offset + length - at)))
			serve_reads();
		if (!told.r.length ||
		    !is_told(&told, at, told.r.length, sv.version))
			return false;
		at += told.r.length;
	}
	return true;
}

static uint32_t
chunks_read(void)
{
	return b.slab->read_nr;
}

#define STATS (&b.server->stats.read)

/* ---- how far ahead ---- */

static void
who_reads_in_sequence_is_read_ahead_for_and_the_window_grows(void)
{
	uint64_t at, ahead = 0, most = 0;

	begin(32 * MIB);
	for (at = 0; at < 4 * MIB; at += RSIZE) {
		if (!ask(&told, at, RSIZE))
			answer(take_read());
		CU_ASSERT(is_told(&told, at, RSIZE, 0));
		ahead = out_bytes();
		if (ahead > most)
			most = ahead;
		if (at == 0)
			CU_ASSERT(ahead <= 2 * RSIZE);
		serve_reads();
	}
	CU_ASSERT_EQUAL(h->ahead.window, 2 * MIB);
	CU_ASSERT(most >= 2 * RSIZE);
	CU_ASSERT_EQUAL(STATS->misses, 1);
	CU_ASSERT(STATS->hits >= 30);
	/* what is asked is ahead of it by the window, and nothing comes twice */
	CU_ASSERT_EQUAL(sv.read_bytes, at + 2 * MIB);
	end();
}

static void
reading_elsewhere_closes_the_window_and_asks_for_no_more_than_is_wanted(void)
{
	unsigned i;

	begin(64 * MIB);
	CU_ASSERT(reads(0, 2 * MIB));
	serve_reads();
	for (i = 0; i < 20; i++) {
		uint64_t at = (8 + (i * 37) % 53) * MIB + 12345;

		CU_ASSERT_EQUAL(ask(&told, at, 5000), 0);
		CU_ASSERT_EQUAL(out_bytes(), 5000);
		CU_ASSERT_EQUAL(serve_reads(), 1);
		CU_ASSERT(is_told(&told, at, 5000, 0));
		CU_ASSERT_EQUAL(h->ahead.window, 0);
	}
	/* where it goes on it is a sequence again */
	i--;
	CU_ASSERT_EQUAL(ask(&told, (8 + (i * 37) % 53) * MIB + 17345, 5000),
			0);
	CU_ASSERT(out_bytes() > 5000);
	end();
}

static void
threads_that_read_side_by_side_are_one_sequence(void)
{
	static const unsigned order[] = { 0, 2, 1, 3, 6, 4, 5, 7, 9, 8, 11, 10,
					  12, 15, 13, 14 };
	unsigned i;

	begin(32 * MIB);
	CU_ASSERT(reads(0, MIB));
	for (i = 0; i < 16; i++)
		CU_ASSERT(reads(MIB + order[i] * RSIZE, RSIZE));
	serve_reads();
	CU_ASSERT_EQUAL(h->ahead.window, 2 * MIB);
	CU_ASSERT_EQUAL(STATS->misses, 1);
	CU_ASSERT_EQUAL(sv.read_bytes, 5 * MIB);
	end();
}

static void
nothing_is_read_ahead_behind_the_end_of_the_file(void)
{
	begin(300 * KIB + 7);
	CU_ASSERT(reads(0, 300 * KIB + 7));
	CU_ASSERT_EQUAL(serve_reads(), 0);
	CU_ASSERT_EQUAL(sv.read_bytes, 300 * KIB + 7);
	CU_ASSERT_EQUAL(ask(&told, 300 * KIB + 7, 1000), 0);
	CU_ASSERT_EQUAL(out_bytes(), 1000);	/* it may have grown */
	serve_reads();
	CU_ASSERT_EQUAL(told.nr, 1);
	CU_ASSERT_EQUAL(told.r.length, 0);
	sv.size += 100;
	sv.ctime++;
	CU_ASSERT_EQUAL(ask(&told, 300 * KIB + 7, 1000), 0);
	serve_reads();
	CU_ASSERT(is_told(&told, 300 * KIB + 7, 100, 0));
	CU_ASSERT_EQUAL(file_size(h->file), sv.size);
	end();
}

static void
small_reads_in_sequence_are_few_calls(void)
{
	uint64_t at;

	begin(4 * MIB);
	for (at = 0; at < 4 * MIB; at += 4096)
		if (!reads(at, 4096))
			break;
	CU_ASSERT_EQUAL(at, 4 * MIB);
	CU_ASSERT(sv.read_nr <= 34);
	CU_ASSERT_EQUAL(sv.read_bytes, 4 * MIB);
	end();
}

static void
large_file_goes_through_few_chunks(void)
{
	uint64_t at;
	uint32_t most = 0;

	begin(200 * MIB);
	for (at = 0; at < 200 * MIB; at += MIB) {
		CU_ASSERT(reads(at, MIB));
		if (chunks_read() > most)
			most = chunks_read();
	}
	CU_ASSERT(most <= (2 * MIB + 2 * MIB) / CHUNK);
	CU_ASSERT_EQUAL(sv.read_bytes, 200 * MIB);
	end();
}

static void
smallest_slab_reads_too(void)
{
	uint64_t at;

	begin_with(4 * CHUNK, 8 * MIB);
	for (at = 0; at < 8 * MIB; at += 100000) {
		uint32_t n = 8 * MIB - at < 100000 ?
			     (uint32_t)(8 * MIB - at) : 100000;

		CU_ASSERT(reads(at, n));
		CU_ASSERT(chunks_read() <= 2);
	}
	end();
}

/* ---- what may be told ---- */

static void
what_is_told_stays_until_it_was_copied(void)
{
	struct told first;
	uint64_t at;

	begin(64 * MIB);
	CU_ASSERT_EQUAL(ask(&first, 0, RSIZE), 0);
	serve_reads();
	for (at = RSIZE; at < 6 * MIB; at += RSIZE)
		CU_ASSERT(reads(at, RSIZE));
	CU_ASSERT(is_told(&first, 0, RSIZE, 0));
	end();
}

static void
place_that_was_used_anew_has_another_mark(void)
{
	struct told first;
	uint64_t at;
	unsigned i;

	begin_with(8 * CHUNK, 64 * MIB);
	CU_ASSERT_EQUAL(ask(&first, 0, CHUNK), 0);
	serve_reads();
	for (at = CHUNK; at < 2 * MIB; at += CHUNK)
		CU_ASSERT(reads(at, CHUNK));
	/* its client took more than five seconds */
	bench_advance(&b, 6 * SECOND);
	for (i = 0; i < first.r.nr; i++)
		CU_ASSERT(!nfswb_mark_took(
			&b.view.mark[first.r.piece[i].place / CHUNK],
			first.r.piece[i].mark, first.r.piece[i].length));
	end();
}

static void
write_drops_what_was_read_of_its_range_and_nothing_else(void)
{
	uint64_t before;

	begin(4 * MIB);
	CU_ASSERT(reads(0, MIB));
	serve_reads();
	before = sv.read_bytes;
	CU_ASSERT(bench_write(&b, h, MIB + 10 * KIB, 100, 'x'));
	CU_ASSERT_EQUAL(ask(&told, MIB + RSIZE, RSIZE), 1);	/* here */
	CU_ASSERT(!read_find(b.slab, h->file, MIB));
	CU_ASSERT(!file_is_settled(h->file, MIB, MIB + RSIZE));
	CU_ASSERT(file_is_settled(h->file, MIB + RSIZE, MIB + 2 * RSIZE));
	CU_ASSERT(before <= sv.read_bytes);
	end();
}

static void
what_is_on_the_way_when_it_is_written_is_told_to_who_waits_and_no_other(void)
{
	struct told early, late;
	struct wb_call *c;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&early, 5 * RSIZE, RSIZE), 0);
	c = take_read();
	CU_ASSERT(bench_write(&b, h, 5 * RSIZE, 1000, 'x'));
	bench_serve(&b, 7);
	sv.version = 1;		/* as the server has it then */
	CU_ASSERT_EQUAL(ask(&late, 5 * RSIZE, RSIZE), 0);
	sv.version = 0;
	answer(c);
	CU_ASSERT(is_told(&early, 5 * RSIZE, RSIZE, 0));
	CU_ASSERT_EQUAL(late.nr, 0);
	sv.version = 1;
	c = take_read();
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	answer(c);
	CU_ASSERT(is_told(&late, 5 * RSIZE, RSIZE, 1));
	end();
}

static void
what_is_dirty_already_is_told_to_who_asked_and_no_other(void)
{
	begin(4 * MIB);
	CU_ASSERT(bench_write(&b, h, 5 * RSIZE, 1000, 'x'));
	CU_ASSERT_EQUAL(ask(&told, 5 * RSIZE, RSIZE), 0);
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, 5 * RSIZE));
	serve_reads();
	CU_ASSERT(is_told(&told, 5 * RSIZE, RSIZE, 0));
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, 5 * RSIZE));
	end();
}

static void
read_ahead_that_was_overtaken_by_a_write_is_never_told(void)
{
	begin(4 * MIB);
	CU_ASSERT(!ask(&told, 0, RSIZE));
	answer(take_read());
	CU_ASSERT(out_bytes() > 0);		/* ahead, of version 0 */
	CU_ASSERT(bench_write(&b, h, RSIZE, RSIZE, 'x'));
	serve_reads();
	CU_ASSERT(!read_find(b.slab, h->file, RSIZE));
	CU_ASSERT(!read_find(b.slab, h->file, 2 * RSIZE - 1));
	end();
}

static void
nothing_is_read_ahead_of_what_is_here(void)
{
	unsigned i;

	begin(4 * MIB);
	CU_ASSERT(bench_write(&b, h, RSIZE + 1000, 5000, 'x'));
	CU_ASSERT(bench_write(&b, h, 3 * RSIZE, 3 * RSIZE, 'x'));
	CU_ASSERT(reads(0, RSIZE));
	CU_ASSERT(ask(&told, RSIZE, 1000) >= 0);
	for (i = 0; i < b.call_nr; i++)
		if (b.call[i]->kind == WB_CALL_READ)
			CU_ASSERT(file_is_settled(h->file, b.call[i]->offset,
					b.call[i]->offset +
					b.call[i]->count));
	serve_reads();
	CU_ASSERT(is_told(&told, RSIZE, 1000, 0));
	end();
}

static void
truncating_and_opening_drop_all_that_was_read(void)
{
	struct bench_done d = { 0 };
	struct wb_call *c;

	begin(4 * MIB);
	CU_ASSERT(reads(0, MIB));
	serve_reads();
	CU_ASSERT_PTR_NOT_NULL(read_find(b.slab, h->file, MIB));
	file_server_attr(h->file, sv.size, sv.ctime, true);
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, MIB));
	CU_ASSERT(reads(MIB, MIB));
	CU_ASSERT(out_bytes() || read_find(b.slab, h->file, 2 * MIB));
	handle_truncate(h, 3 * MIB, b.now, bench_done, &d);
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, 2 * MIB));
	bench_turn(&b);
	/* nothing is read ahead while it is on its way */
	CU_ASSERT_EQUAL(ask(&told, 2 * MIB, RSIZE), 0);
	CU_ASSERT_EQUAL(out_bytes(), RSIZE);
	serve_reads();
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, 2 * MIB));
	c = bench_take(&b, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	sv.size = 3 * MIB;
	sv.ctime++;
	finish_call(c, 0);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT(reads(2 * MIB, MIB));
	end();
}

static void
read_that_was_out_at_an_open_is_not_told_after_it(void)
{
	struct told early;
	struct wb_call *c;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&early, 6 * RSIZE, RSIZE), 0);
	c = take_read();
	file_server_attr(h->file, sv.size, 2, true);	/* another's close */
	CU_ASSERT_EQUAL(ask(&told, 6 * RSIZE, RSIZE), 0);
	answer(c);
	CU_ASSERT(is_told(&early, 6 * RSIZE, RSIZE, 0));
	CU_ASSERT_EQUAL(told.nr, 0);
	sv.version = 1;
	answer(take_read());
	CU_ASSERT(is_told(&told, 6 * RSIZE, RSIZE, 1));
	end();
}

static void
attributes_that_are_new_drop_what_was_read_under_old_ones(void)
{
	begin(4 * MIB);
	CU_ASSERT(reads(0, MIB));
	serve_reads();
	file_server_attr(h->file, sv.size, sv.ctime, false);
	CU_ASSERT_PTR_NOT_NULL(read_find(b.slab, h->file, MIB));
	file_server_attr(h->file, sv.size, sv.ctime + 1, false);
	CU_ASSERT_PTR_NULL(read_find(b.slab, h->file, MIB));
	end();
}

static void
what_one_session_read_is_not_told_to_another(void)
{
	begin(4 * MIB);
	CU_ASSERT(reads(0, RSIZE));
	serve_reads();
	CU_ASSERT_PTR_NOT_NULL(read_find(b.slab, h->file, RSIZE));
	bench_swap(&b);
	CU_ASSERT_EQUAL(ask(&told, RSIZE, RSIZE), 0);
	serve_reads();
	CU_ASSERT(is_told(&told, RSIZE, RSIZE, 0));
	bench_swap(&b);
	end();
}

/* ---- replies ---- */

static void
short_reply_is_asked_for_the_rest(void)
{
	struct wb_call *c;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE + 100, RSIZE - 100), 0);
	answer_short(take_read(), 70000);
	CU_ASSERT_EQUAL(told.nr, 0);
	c = take_read();
	CU_ASSERT_EQUAL(c->offset, 7 * RSIZE + 100 + 70000);
	CU_ASSERT_EQUAL(c->count, RSIZE - 100 - 70000);
	answer_short(c, 1);
	answer(take_read());
	CU_ASSERT(is_told(&told, 7 * RSIZE + 100, RSIZE - 100, 0));
	/* nothing, and no end: not for ever */
	CU_ASSERT_EQUAL(ask(&told, 20 * RSIZE, RSIZE), 0);
	answer_short(take_read(), 0);
	CU_ASSERT_EQUAL(told.nr, 1);
	CU_ASSERT_EQUAL(told.err, 0);
	CU_ASSERT_EQUAL(told.r.length, 0);
	end();
}

static void
refusal_reaches_all_who_wait_and_the_next_asks_again(void)
{
	static const int errs[] = { -ESTALE, -EIO, -EACCES, -ETIMEDOUT };
	struct told other;
	struct wb_call *c;
	unsigned i;

	begin(4 * MIB);
	for (i = 0; i < sizeof errs / sizeof *errs; i++) {
		CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE, RSIZE), 0);
		CU_ASSERT_EQUAL(ask(&other, 7 * RSIZE + 5, 10), 0);
		c = take_read();
		finish_call(c, errs[i]);
		CU_ASSERT_EQUAL(told.nr, 1);
		CU_ASSERT_EQUAL(told.err, errs[i]);
		CU_ASSERT_EQUAL(other.err, errs[i]);
		while ((c = take_read()))
			finish_call(c, errs[i]);
	}
	CU_ASSERT(reads(7 * RSIZE, RSIZE));
	end();
}

static void
what_is_refused_ahead_is_asked_again_when_it_is_wanted(void)
{
	struct wb_call *c;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 0, RSIZE), 0);
	answer(take_read());
	CU_ASSERT_PTR_NOT_NULL_FATAL(c = take_read());
	finish_call(c, -EIO);
	CU_ASSERT(reads(RSIZE, RSIZE));
	end();
}

static void
jukebox_is_asked_again_later_unless_nobody_waits(void)
{
	struct wb_call *c;
	unsigned i;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE, RSIZE), 0);
	for (i = 0; i < 8; i++) {
		c = take_read();
		CU_ASSERT_PTR_NOT_NULL_FATAL(c);
		finish_call(c, -EAGAIN);
		CU_ASSERT_PTR_NULL(take_read());
		CU_ASSERT(wb_deadline(b.wb) <= b.now + 8 * SECOND);
		bench_advance(&b, 10 * SECOND);
	}
	CU_ASSERT_EQUAL(told.nr, 0);
	answer(take_read());
	CU_ASSERT(is_told(&told, 7 * RSIZE, RSIZE, 0));
	CU_ASSERT_EQUAL(b.server->stats.delays, 8);
	serve_reads();
	CU_ASSERT_EQUAL(ask(&told, 8 * RSIZE, RSIZE), 0);
	answer(take_read());
	CU_ASSERT_PTR_NOT_NULL_FATAL(c = take_read());	/* ahead */
	serve_reads();
	finish_call(c, -EAGAIN);
	bench_advance(&b, 10 * SECOND);
	CU_ASSERT_PTR_NULL(take_read());
	end();
}

static void
end_that_is_not_written_yet_is_a_hole(void)
{
	begin(1000);
	CU_ASSERT(bench_write(&b, h, MIB, 10, 'x'));
	CU_ASSERT_EQUAL(ask(&told, 0, 5000), 0);
	serve_reads();
	CU_ASSERT_EQUAL(told.r.length, 5000);
	CU_ASSERT_EQUAL_FATAL(told.r.nr, 2);
	CU_ASSERT_EQUAL(told.r.piece[0].length, 1000);
	CU_ASSERT_EQUAL(told.r.piece[1].place, NFSWB_PLACE_ZEROS);
	/* within it, too; and what was written while it was out */
	CU_ASSERT_EQUAL(ask(&told, 3000, 100), 0);
	bench_serve(&b, 7);
	CU_ASSERT_EQUAL(told.nr, 1);
	end();
}

static void
hole_is_told_as_far_as_it_was_asked_for(void)
{
	struct wb_call *c;

	begin(1000);
	CU_ASSERT(bench_write(&b, h, 4 * MIB, 10, 'x'));
	CU_ASSERT_EQUAL(ask(&told, 0, 500), 0);
	c = take_read();
	answer(c);			/* the rest of it stays here */
	CU_ASSERT_PTR_NOT_NULL(read_find(b.slab, h->file, 999));
	CU_ASSERT(bench_write(&b, h, 3 * RSIZE, 1000, 'y'));
	bench_serve(&b, 7);
	CU_ASSERT(ask(&told, 500, 4 * RSIZE) >= 0);
	CU_ASSERT(told.r.length <= 3 * RSIZE - 500);
	serve_reads();
	end();
}

static void
hole_stays_one_though_its_end_is_written_meanwhile(void)
{
	struct bench_done d = { 0 };
	struct wb_call *c;
	unsigned i;

	begin(1000);
	CU_ASSERT(bench_write(&b, h, MIB, 10, 'x'));
	CU_ASSERT_EQUAL(ask(&told, 3000, 100), 0);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	for (i = 0; i < 4 && !d.nr; i++) {
		c = bench_take(&b, b.call[0]->kind == WB_CALL_READ);
		bench_answer(&b, c, 0, WB_FILE_SYNC, 7);
	}
	CU_ASSERT_EQUAL(d.nr, 1);
	answer(take_read());		/* it came before the WRITE */
	CU_ASSERT_EQUAL(told.r.length, 100);
	CU_ASSERT_EQUAL(told.r.piece[0].place, NFSWB_PLACE_ZEROS);
	CU_ASSERT_EQUAL(file_size(h->file), MIB + 10);
	end();
}

static void
file_that_another_client_has_cut_ends_there(void)
{
	begin(4 * MIB);
	CU_ASSERT(reads(0, 2 * RSIZE));
	serve_reads();
	sv.size = 2 * MIB + 100;
	sv.ctime++;
	CU_ASSERT_EQUAL(ask(&told, 3 * MIB, RSIZE), 0);
	answer(take_read());
	CU_ASSERT_EQUAL(told.nr, 1);
	CU_ASSERT_EQUAL(told.r.length, 0);
	CU_ASSERT(file_size(h->file) <= 3 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 2 * MIB, RSIZE), 0);
	answer(take_read());
	CU_ASSERT(is_told(&told, 2 * MIB, 100, 0));
	CU_ASSERT_EQUAL(file_size(h->file), 2 * MIB + 100);
	end();
}

static void
append_under_way_does_not_lose_its_place_to_a_read_at_the_end(void)
{
	begin(1000);
	CU_ASSERT_EQUAL(handle_reserve(h, 500), 1000);
	CU_ASSERT_EQUAL(ask(&told, 1000, 100), 0);
	serve_reads();
	CU_ASSERT_EQUAL(told.r.length, 0);
	CU_ASSERT_EQUAL(file_size(h->file), 1500);
	end();
}

/* ---- whose room it is ---- */

static void
writer_gets_the_room_of_what_was_read(void)
{
	begin_with(MIB, 64 * MIB);
	CU_ASSERT(reads(0, 512 * KIB));
	serve_reads();
	CU_ASSERT(chunks_read() > 0);
	CU_ASSERT(bench_write(&b, h, 32 * MIB, MIB, 'x'));
	CU_ASSERT_EQUAL(chunks_read(), 0);
	end();
}

static void
writer_does_not_wait_for_reads_that_nobody_waits_for(void)
{
	unsigned i;

	begin_with(MIB, 64 * MIB);
	CU_ASSERT(reads(0, 512 * KIB));
	CU_ASSERT(!ask(&told, 512 * KIB, RSIZE) || out_bytes());
	while (told.nr == 0)
		answer(take_read());
	CU_ASSERT(out_bytes() > 0);		/* ahead, to a server that is
						   down from now on */
	CU_ASSERT(bench_write(&b, h, 32 * MIB, MIB, 'x'));
	CU_ASSERT_EQUAL(chunks_read(), 0);
	for (i = 0; i < b.call_nr; i++)		/* nothing lands there */
		if (b.call[i]->kind == WB_CALL_READ)
			CU_ASSERT_EQUAL(b.call[i]->iov_nr, 0);
	end();
}

static void
reader_takes_at_most_half_and_nothing_while_a_writer_waits(void)
{
	struct told t[16];
	unsigned i;

	begin_with(MIB, 64 * MIB);
	for (i = 0; i < 16; i++) {
		int rc = ask(&t[i], (2 * i + 1) * MIB, CHUNK);

		CU_ASSERT_EQUAL(rc, i < 8 ? 0 : -ENOBUFS);
	}
	CU_ASSERT_EQUAL(chunks_read(), 8);
	(void)bench_write_some(&b, h, 40 * MIB, MIB, 'x');
	CU_ASSERT(b.slab->waiting);
	CU_ASSERT_EQUAL(ask(&told, 50 * MIB, CHUNK), -ENOBUFS);
	serve_reads();
	CU_ASSERT(!b.slab->waiting);	/* it got what was told */
	end();
}

static void
idle_pages_go_and_a_slow_reader_is_read_ahead_for_less(void)
{
	uint64_t window;

	begin(64 * MIB);
	CU_ASSERT(reads(0, 2 * MIB));
	serve_reads();
	window = h->ahead.window;
	CU_ASSERT_EQUAL(window, 2 * MIB);
	bench_advance(&b, 6 * SECOND);
	CU_ASSERT_EQUAL(chunks_read(), 0);
	CU_ASSERT(b.idle_bytes >= 2 * MIB);
	CU_ASSERT(STATS->wasted_bytes >= 2 * MIB - RSIZE);
	CU_ASSERT(reads(2 * MIB, 4096));
	CU_ASSERT(h->ahead.window < window);
	end();
}

static void
session_that_ends_in_a_read_frees_its_memory_at_once(void)
{
	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 0, RSIZE), 0);
	CU_ASSERT(b.call_nr >= 1);
	slab_release(b.slab, b.now);
	CU_ASSERT_EQUAL(told.nr, 1);
	CU_ASSERT_EQUAL(told.err, -ECANCELED);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.released, 1);
	CU_ASSERT_EQUAL(b.call[0]->iov_nr, 0);
	serve_reads();
	end();
}

static void
who_gives_up_is_not_told(void)
{
	struct told other;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE, RSIZE), 0);
	CU_ASSERT_EQUAL(ask(&other, 7 * RSIZE, RSIZE), 0);
	slab_read_abandon(b.slab, &told);
	serve_reads();
	CU_ASSERT_EQUAL(told.nr, 0);
	CU_ASSERT(is_told(&other, 7 * RSIZE, RSIZE, 0));
	end();
}

static void
next_instance_makes_what_was_told_void(void)
{
	struct read_piece p;

	begin(4 * MIB);
	CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE, RSIZE), 0);
	serve_reads();
	p = told.r.piece[0];
	CU_ASSERT(nfswb_mark_took(&b.view.mark[p.place / CHUNK], p.mark, 1));
	bench_crash(&b);
	CU_ASSERT(!nfswb_mark_took(&b.view.mark[p.place / CHUNK], p.mark, 1));
	end();
}

static void
no_memory_for_the_call_leaves_nothing_behind(void)
{
	begin(4 * MIB);
	b.no_memory = true;
	CU_ASSERT_EQUAL(ask(&told, 7 * RSIZE, RSIZE), -ENOBUFS);
	CU_ASSERT_EQUAL(chunks_read(), 0);
	b.no_memory = false;
	CU_ASSERT(reads(7 * RSIZE, RSIZE));
	end();
}

UNIT_TESTS(writeback_read,
	UNIT(who_reads_in_sequence_is_read_ahead_for_and_the_window_grows),
	UNIT(reading_elsewhere_closes_the_window_and_asks_for_no_more_than_is_wanted),
	UNIT(threads_that_read_side_by_side_are_one_sequence),
	UNIT(nothing_is_read_ahead_behind_the_end_of_the_file),
	UNIT(small_reads_in_sequence_are_few_calls),
	UNIT(large_file_goes_through_few_chunks),
	UNIT(smallest_slab_reads_too),
	UNIT(what_is_told_stays_until_it_was_copied),
	UNIT(place_that_was_used_anew_has_another_mark),
	UNIT(write_drops_what_was_read_of_its_range_and_nothing_else),
	UNIT(what_is_on_the_way_when_it_is_written_is_told_to_who_waits_and_no_other),
	UNIT(what_is_dirty_already_is_told_to_who_asked_and_no_other),
	UNIT(read_ahead_that_was_overtaken_by_a_write_is_never_told),
	UNIT(nothing_is_read_ahead_of_what_is_here),
	UNIT(truncating_and_opening_drop_all_that_was_read),
	UNIT(read_that_was_out_at_an_open_is_not_told_after_it),
	UNIT(attributes_that_are_new_drop_what_was_read_under_old_ones),
	UNIT(what_one_session_read_is_not_told_to_another),
	UNIT(short_reply_is_asked_for_the_rest),
	UNIT(refusal_reaches_all_who_wait_and_the_next_asks_again),
	UNIT(what_is_refused_ahead_is_asked_again_when_it_is_wanted),
	UNIT(jukebox_is_asked_again_later_unless_nobody_waits),
	UNIT(end_that_is_not_written_yet_is_a_hole),
	UNIT(hole_is_told_as_far_as_it_was_asked_for),
	UNIT(hole_stays_one_though_its_end_is_written_meanwhile),
	UNIT(file_that_another_client_has_cut_ends_there),
	UNIT(append_under_way_does_not_lose_its_place_to_a_read_at_the_end),
	UNIT(writer_gets_the_room_of_what_was_read),
	UNIT(writer_does_not_wait_for_reads_that_nobody_waits_for),
	UNIT(reader_takes_at_most_half_and_nothing_while_a_writer_waits),
	UNIT(idle_pages_go_and_a_slow_reader_is_read_ahead_for_less),
	UNIT(session_that_ends_in_a_read_frees_its_memory_at_once),
	UNIT(who_gives_up_is_not_told),
	UNIT(next_instance_makes_what_was_told_void),
	UNIT(no_memory_for_the_call_leaves_nothing_behind),
)
