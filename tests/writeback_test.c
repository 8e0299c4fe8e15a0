/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* writeback_test.c - the pipeline, a behaviour a test */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define MiB (1u << 20)

static struct bench b;
static const struct bench_options roomy;

static void
start(const struct bench_options *o)
{
	bench_init(&b, o);
}

static unsigned char
byte_of(const struct wb_call *c, uint64_t offset)
{
	uint64_t at = c->offset;
	int i;

	for (i = 0; i < c->iov_nr; i++) {
		if (offset < at + c->iov[i].iov_len)
			return ((unsigned char *)c->iov[i].iov_base)
			    [offset - at];
		at += c->iov[i].iov_len;
	}
	return 0;
}

static void
fsync_of_much_data_writes_unstable_and_commits(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_call *c;

	bench_fsync_out(&b, 3 * MiB, &d);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 3);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 0);
	while (bench_count(&b, WB_CALL_WRITE)) {
		c = bench_take(&b, 0);
		CU_ASSERT_EQUAL(c->stable, WB_UNSTABLE);
		CU_ASSERT_EQUAL(c->count, MiB);
		bench_answer(&b, c, 0, WB_UNSTABLE, 7);
	}
	CU_ASSERT_EQUAL(d.nr, 0);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 7);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
fsync_of_one_small_write_is_one_file_sync(void)
{
	struct bench_done d = { 0, 1 };

	bench_fsync_out(&b, 4096, &d);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(b.call[0]->stable, WB_FILE_SYNC);
	bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 7);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_free(&b);
}

static void
commit_with_new_verifier_sends_all_again(void)
{
	struct bench_done d = { 0, 1 };
	const struct server_stats *st;

	bench_fsync_out(&b, 2 * MiB, &d);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 2);
	CU_ASSERT_EQUAL(d.nr, 0);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	st = wb_server_stats(b.server, b.now);
	CU_ASSERT_EQUAL(st->replayed_bytes, 2 * MiB);
	CU_ASSERT_EQUAL(st->verifier_changes, 1);
	bench_serve(&b, 2);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

static void
verifiers_that_never_agree_end_in_file_sync(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_call *c;
	unsigned copies = 0, i;

	bench_fsync_out(&b, 2 * MiB, &d);
	for (i = 0; i < 100 && (c = bench_take(&b, 0)); i++) {
		copies += c->kind == WB_CALL_WRITE && c->offset == 0;
		bench_answer(&b, c, 0, c->stable,
			     c->kind == WB_CALL_WRITE ? 1 : 2);
	}
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT(copies <= 4);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

static void
write_reply_with_new_verifier_sends_older_data_again(void)
{
	struct bench_done d = { 0, 1 };

	bench_fsync_out(&b, 2 * MiB, &d);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 2);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 1);
	CU_ASSERT_EQUAL(b.call[0]->offset, 0);
	bench_serve(&b, 2);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

static void
no_commit_where_all_was_file_sync(void)
{
	struct bench_done d = { 0, 1 };

	bench_fsync_out(&b, 4 * MiB, &d);
	while (b.call_nr) {
		CU_ASSERT_EQUAL(b.call[0]->kind, WB_CALL_WRITE);
		bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 7);
	}
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
overlapping_write_waits_for_the_one_in_flight(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *first, *second;

	h = bench_fsync_out(&b, 65536, &d);
	first = bench_take(&b, 0);
	CU_ASSERT(bench_write(&b, h, 1000, 100, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	CU_ASSERT_EQUAL(byte_of(first, 1000), 'a');
	bench_answer(&b, first, 0, WB_FILE_SYNC, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	second = bench_take(&b, 0);
	CU_ASSERT_EQUAL(second->offset, 1000);
	CU_ASSERT_EQUAL(second->count, 100);
	CU_ASSERT_EQUAL(byte_of(second, 1000), 'b');
	bench_answer(&b, second, 0, second->stable, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	bench_free(&b);
}

static void
lost_ghost_makes_its_fsync_wait_for_what_superseded_it(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *commit;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	commit = bench_take(&b, 0);
	CU_ASSERT_EQUAL_FATAL(commit->kind, WB_CALL_COMMIT);
	/* between the call and the return of fsync */
	CU_ASSERT(bench_write(&b, h, 4096, 4096, 'b'));
	bench_answer(&b, commit, 0, WB_UNSTABLE, 2);
	CU_ASSERT_EQUAL(d.nr, 0);
	while (b.call_nr > 0 && d.nr == 0)
		bench_answer(&b, bench_take(&b, 0), 0,
			     b.call[0] ? WB_UNSTABLE : 0, 2);
	CU_ASSERT_EQUAL(d.nr, 1);
	/* the new bytes are stable too, for the old ones are nowhere */
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_serve(&b, 2);
	bench_free(&b);
}

static void
fsync_ends_though_the_writer_never_stops(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned i;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	for (i = 0; i < 50 && !d.nr; i++) {
		CU_ASSERT(bench_write(&b, h, (2 + i) * 65536, 65536, 'b'));
		c = bench_take(&b, 0);
		if (c)
			bench_answer(&b, c, 0, c->stable, 1);
	}
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT(i < 20);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
refused_write_is_told_to_each_handle_once_and_tried_again(void)
{
	struct bench_done d1 = { 0, 1 }, d2 = { 0, 1 };
	struct wb_handle *h1, *h2;

	start(&roomy);
	h1 = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h1, 0, 4096, 'a'));
	handle_fsync(h1, b.now, bench_done, &d1);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -ENOSPC, 0, 1);
	CU_ASSERT_EQUAL(d1.nr, 1);
	CU_ASSERT_EQUAL(d1.err, -ENOSPC);
	CU_ASSERT_EQUAL(b.slab->bytes[EXTENT_FAILED], 4096);
	/* room again: the second handle's fsync writes it, and tells once */
	handle_fsync(h2, b.now, bench_done, &d2);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d2.err, -ENOSPC);
	handle_fsync(h2, b.now, bench_done, &d2);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d2.nr, 2);
	CU_ASSERT_EQUAL(d2.err, 0);
	handle_fsync(h1, b.now, bench_done, &d1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d1.nr, 2);
	CU_ASSERT_EQUAL(d1.err, 0);
	bench_free(&b);
}

static void
last_close_gives_failed_data_up_and_counts_it(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h1, *h2;

	start(&roomy);
	h1 = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h1, 0, 4096, 'a'));
	handle_close(h1, b.now, bench_done, &d);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -EDQUOT, 0, 1);
	CU_ASSERT_EQUAL(d.err, -EDQUOT);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	handle_close(h2, b.now, bench_done, &d);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -EDQUOT, 0, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	CU_ASSERT_EQUAL(d.err, -EDQUOT);
	CU_ASSERT_EQUAL(b.gave_up, 4096);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

static void
failed_data_that_fills_the_slab_is_tried_once_more_and_told(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	unsigned i, n = 0;

	start(&(struct bench_options) { .slab_bytes = 4 * 65536 });
	h = bench_open(&b, 1, 10, O_RDWR);
	while (n < 100 && bench_write(&b, h, n * 65536, 65536, 'a'))
		n++;
	bench_turn(&b);
	for (i = 0; i < 100 && b.call_nr; i++)
		bench_answer(&b, bench_take(&b, 0), -ENOSPC, 0, 1);
	CU_ASSERT_EQUAL(b.slab->bytes[EXTENT_FAILED], n * 65536);
	slab_retry_failed(b.slab, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 1);
	bench_answer(&b, bench_take(&b, 0), -ENOSPC, 0, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -ENOSPC);
	slab_retry_failed(b.slab, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	CU_ASSERT_EQUAL(d.err, 0);
	handle_fsync(h, b.now, bench_done, &d);	/* is still owed the failure */
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, -ENOSPC);
	bench_free(&b);
}

static void
refused_commit_is_written_again_not_only_committed(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), -EIO, 0, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -EIO);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
jukebox_is_tried_again_unseen_and_holds_up_that_file_only(void)
{
	struct bench_done d1 = { 0, 1 }, d2 = { 0, 1 };
	struct wb_handle *h1, *h2;

	start(&roomy);
	h1 = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h1, 0, 4096, 'a'));
	handle_fsync(h1, b.now, bench_done, &d1);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -EAGAIN, 0, 1);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	CU_ASSERT_EQUAL(d1.nr, 0);
	CU_ASSERT(bench_write(&b, h2, 0, 4096, 'a'));
	handle_fsync(h2, b.now, bench_done, &d2);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d2.nr, 1);
	CU_ASSERT(wb_deadline(b.wb) < b.now + 1000000);
	bench_advance(&b, wb_deadline(b.wb) - b.now);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d1.nr, 1);
	CU_ASSERT_EQUAL(d1.err, 0);
	bench_free(&b);
}

static void
given_up_write_may_still_land_so_newer_data_waits(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	h = bench_fsync_out(&b, 4096, &d);
	bench_answer(&b, bench_take(&b, 0), -ETIMEDOUT, 0, 1);
	CU_ASSERT_EQUAL(d.err, -ETIMEDOUT);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);		/* what failed goes again: it is 'a' */
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(byte_of(b.call[0], 0), 'b');
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
short_write_sends_the_rest_again(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_call *c;

	bench_fsync_out(&b, MiB, &d);
	c = bench_take(&b, 0);
	c->err = 0;
	c->written = 100001;
	c->committed = WB_FILE_SYNC;
	c->done(c, b.now);
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(b.call[0]->offset, 100001);
	CU_ASSERT_EQUAL(b.call[0]->count, MiB - 100001);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
server_that_writes_nothing_ends_in_an_error(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_call *c;
	unsigned i;

	bench_fsync_out(&b, 4096, &d);
	for (i = 0; i < 100 && !d.nr; i++) {
		c = bench_take(&b, 0);
		if (c) {
			c->err = 0;
			c->written = 0;
			c->done(c, b.now);
		}
		bench_advance(&b, 6000000);
	}
	CU_ASSERT_EQUAL(d.err, -EIO);
	bench_free(&b);
}

static void
small_sequential_writes_become_whole_ones(void)
{
	struct wb_handle *h;
	unsigned i;

	start(&(struct bench_options) { .background_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 40000; i++)
		CU_ASSERT(bench_write(&b, h, i * 100, 100, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 3);
	for (i = 0; i < b.call_nr; i++)
		CU_ASSERT_EQUAL(b.call[i]->count, MiB);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
two_users_bytes_never_share_a_write(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h1, *h2;
	unsigned i;

	start(&roomy);
	h1 = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 1, 11, O_RDWR);
	CU_ASSERT(bench_write(&b, h1, 0, 1000, 'a'));
	CU_ASSERT(bench_write(&b, h2, 1000, 1000, 'b'));
	handle_fsync(h1, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 2);
	for (i = 0; i < b.call_nr; i++)
		CU_ASSERT_EQUAL(b.call[i]->cred->uid,
				b.call[i]->offset ? 11u : 10u);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
the_dirty_limit_is_never_exceeded(void)
{
	struct bench_options o = { .dirty_bytes = 65536,
				   .background_bytes = 32768 };
	struct wb_handle *h;
	unsigned i, written = 0;

	start(&o);
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 2000 && written < 400; i++) {
		if (bench_write(&b, h, written * 4096, 4096, 'a'))
			written++;
		CU_ASSERT(throttle_dirtied(b.wb) <= o.dirty_bytes);
		if (i % 7 == 0)
			bench_serve(&b, 1);
		CU_ASSERT(throttle_dirtied(b.wb) <= o.dirty_bytes);
	}
	CU_ASSERT_EQUAL(written, 400);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
full_slab_takes_the_oldest_clean_chunk_and_never_writes(void)
{
	struct bench_options o = { .slab_bytes = 4 * 65536 };
	struct wb_handle *h;
	unsigned i, n = 0;

	start(&o);
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 200 && n < 40; i++) {
		if (bench_write(&b, h, (uint64_t)n * 65536, 65536, 'a'))
			n++;
		else
			bench_serve(&b, 1);
	}
	CU_ASSERT_EQUAL(n, 40);
	CU_ASSERT_EQUAL(b.wb->stats.reclaim.reclaim_writes, 0);
	CU_ASSERT(b.wb->stats.reclaim.freed_bytes >= 36u * 65536);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
clean_data_that_nobody_wants_for_long_gives_its_pages_back(void)
{
	struct bench_done d = { 0, 1 };
	unsigned char back[4];
	struct wb_handle *h = bench_fsync_out(&b, 2 * 65536, &d);

	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(file_read_cached(h->file, h->cred, 0, 4, back), 1);
	CU_ASSERT(wb_deadline(b.wb) <= b.now +
		  b.wb->limits.clean_expire_usec);
	bench_advance(&b, b.wb->limits.clean_expire_usec);
	CU_ASSERT_EQUAL(b.idle_bytes, 2 * 65536);
	CU_ASSERT_EQUAL(file_read_cached(h->file, h->cred, 0, 4, back), 0);
	bench_free(&b);
}

static void
truncate_cuts_what_lies_behind_after_setattr(void)
{
	struct bench_done d = { 0, 1 }, t = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 200000, 'a'));
	handle_truncate(h, 100000, b.now, bench_done, &t);
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL(c->kind, WB_CALL_SETSIZE);
	CU_ASSERT_EQUAL(c->offset, 100000);
	/* newer data waits, and survives */
	CU_ASSERT(bench_write(&b, h, 150000, 10, 'b'));
	bench_answer(&b, c, 0, 0, 1);
	CU_ASSERT_EQUAL(t.nr, 1);
	CU_ASSERT_EQUAL(handle_file(h)->size, 150010);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.slab->bytes[EXTENT_WRITEBACK], 100010);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
appends_go_to_the_end_whole(void)
{
	struct wb_handle *h1, *h2;

	start(&roomy);
	h1 = bench_open(&b, 1, 10, O_WRONLY | O_APPEND);
	h2 = bench_open(&b, 1, 10, O_WRONLY | O_APPEND);
	CU_ASSERT(bench_write(&b, h1, 0, 100, 'a'));
	CU_ASSERT(bench_write(&b, h2, 0, 50, 'b'));
	CU_ASSERT(bench_write(&b, h1, 0, 100, 'a'));
	CU_ASSERT_EQUAL(handle_file(h1)->size, 250);
	CU_ASSERT_EQUAL(extent_at(handle_file(h1), 120)->offset, 100);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
garbage_in_the_ring_is_refused(void)
{
	struct wb_handle *h;
	struct nfswb_ring_entry r = { .kind = NFSWB_RING_WRITE, .length = 10 };

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT_EQUAL(slab_post(b.slab, h, &r, 1, b.now), -EPROTO);
	CU_ASSERT(bench_write(&b, h, 0, 10, 'a'));
	r.place = UINT64_MAX - 5;
	CU_ASSERT_EQUAL(slab_post(b.slab, h, &r, 1, b.now), -EPROTO);
	r.place = (uint64_t)b.chunk * NFSWB_CHUNK_BYTES + 10;	/* not claimed */
	CU_ASSERT_EQUAL(slab_post(b.slab, h, &r, 1, b.now), -EPROTO);
	r.length = 0;
	CU_ASSERT_EQUAL(slab_post(b.slab, h, &r, 1, b.now), -EPROTO);
	r.length = 0xffffffff;
	CU_ASSERT_EQUAL(slab_post(b.slab, h, &r, 1, b.now), -EPROTO);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
released_slab_is_written_back_then_let_go(void)
{
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 300000, 'a'));
	handle_close(h, b.now, NULL, NULL);
	slab_release(b.slab, b.now);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.released, 0);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(b.released, 1);
	CU_ASSERT_EQUAL(b.wb->granted_bytes, 0);
	CU_ASSERT_EQUAL(throttle_dirtied(b.wb), 0);
	bench_free(&b);
}

static struct wb_handle *import_handle;

static struct wb_handle *
import_file_of(void *arg, uint32_t file)
{
	(void)arg;
	return file == 1 ? import_handle : NULL;
}

static void
imported_list_is_written_and_nothing_twice(void)
{
	struct bench_done d = { 0, 1 };
	static struct bench old;
	struct wb_handle *h;
	struct slab *s;
	static const struct slab_hooks none;
	uint64_t ringpos;

	bench_init(&old, &roomy);
	h = bench_open(&old, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&old, h, 0, 100000, 'a'));
	CU_ASSERT(bench_write(&old, h, 50000, 100, 'b'));
	/* that instance is gone; another one takes its memory */
	start(&roomy);
	b.now = old.now + 1000;
	b.wb->seq = b.now * 1000;
	import_handle = bench_open(&b, 1, 10, O_RDWR);
	s = slab_new(b.wb, &old.view, &none, NULL);
	slab_void_grants(s);
	CU_ASSERT_EQUAL(slab_import_begin(s, import_file_of, NULL,
					  b.now * 1000), 0);
	while (slab_import_next(s))
		CU_ASSERT_EQUAL(slab_import_one(s, b.now), 0);
	ringpos = slab_import_ringpos(s, 0, old.head);
	CU_ASSERT_EQUAL(ringpos, old.head);
	CU_ASSERT_EQUAL(s->bytes[EXTENT_DIRTY], 100000);
	slab_serve(s, b.now);
	handle_fsync(import_handle, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(b.call[0]->count, 100000);
	CU_ASSERT_EQUAL(byte_of(b.call[0], 49999), 'a');
	CU_ASSERT_EQUAL(byte_of(b.call[0], 50099), 'b');
	CU_ASSERT_EQUAL(byte_of(b.call[0], 50100), 'a');
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
	bench_free(&old);
}

static void
sent_entry_of_an_import_is_closed_to_newer_data(void)
{
	static struct bench old;
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct slab *s;
	static const struct slab_hooks none;

	bench_init(&old, &roomy);
	h = bench_open(&old, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&old, h, 0, 4096, 'a'));
	handle_fsync(h, old.now, bench_done, &d);
	bench_turn(&old);		/* sent, not answered */
	CU_ASSERT_EQUAL(old.call_nr, 1);
	start(&roomy);
	b.now = old.now + 1000;
	import_handle = bench_open(&b, 1, 10, O_RDWR);
	s = slab_new(b.wb, &old.view, &none, NULL);
	slab_void_grants(s);
	CU_ASSERT_EQUAL(slab_import_begin(s, import_file_of, NULL,
					  UINT64_MAX), 0);
	while (slab_import_next(s))
		CU_ASSERT_EQUAL(slab_import_one(s, b.now), 0);
	slab_serve(s, b.now);
	CU_ASSERT(bench_write(&b, import_handle, 0, 4096, 'b'));
	handle_fsync(import_handle, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(byte_of(b.call[0], 0), 'a');
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 0);	/* a late copy may still land */
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(byte_of(b.call[0], 0), 'b');
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
	old.hostile = true;	/* the list is not its own any more */
	bench_serve(&old, 1);	/* its reply comes to nobody */
	bench_free(&old);
}

static void
commit_speaks_only_for_replies_before_it(void)
{
	struct bench_done d = { 0, 1 }, d2 = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *commit;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	commit = bench_take(&b, 0);
	CU_ASSERT(bench_write(&b, h, 2 * MiB, 2 * MiB, 'b'));
	handle_fsync(h, b.now, bench_done, &d2);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, commit, 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d2.nr, 0);
	CU_ASSERT_EQUAL(b.slab->bytes[EXTENT_UNSTABLE], 2 * MiB);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d2.nr, 1);
	bench_free(&b);
}

static void
congested_async_pass_wakes_below_its_mark_and_sync_goes_on(void)
{
	struct bench_options o = { .congestion_bytes = 2 * MiB,
				   .background_bytes = MiB };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h, *h2;
	unsigned before;

	start(&o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 10 * MiB, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 3);	/* the third passed the mark */
	CU_ASSERT(b.server->async_pass.waits);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h2, 0, 4096, 'b'));
	handle_fsync(h2, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 4);	/* sync is not held up */
	before = b.call_nr;
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), before - 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT(bench_count(&b, WB_CALL_WRITE) > before - 2);
	CU_ASSERT_EQUAL(b.server->stats.async.wakeups, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(b.server->congestion.async.waiting_nr, 0);
	CU_ASSERT_EQUAL(b.server->congestion.sync.waiting_nr, 0);
	bench_free(&b);
}

static void
any_congestion_limit_makes_progress(void)
{
	struct bench_options o = { .congestion_bytes = 1,
				   .background_bytes = 1 };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	start(&o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 5 * MiB, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	handle_close(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

/* A plain model of one file beside the pipeline, with a server that keeps
   stable and volatile contents apart. */
#define MODEL_BYTES 200000
static unsigned char model[MODEL_BYTES], volatile_image[MODEL_BYTES],
    stable_image[MODEL_BYTES];
static unsigned written_at[MODEL_BYTES];	/* step, 0: never */

static void
model_answer(struct wb_call *c, unsigned verf)
{
	unsigned char *to;
	uint64_t at = c->offset;
	int i;

	if (c->kind == WB_CALL_WRITE) {
		for (i = 0; i < c->iov_nr; i++) {
			to = volatile_image + at;
			memcpy(to, c->iov[i].iov_base, c->iov[i].iov_len);
			if (c->stable == WB_FILE_SYNC)
				memcpy(stable_image + at, to,
				       c->iov[i].iov_len);
			at += c->iov[i].iov_len;
		}
	} else {
		memcpy(stable_image, volatile_image, MODEL_BYTES);
	}
	bench_answer(&b, c, 0, c->stable, verf);
}

static void
model_write(uint32_t off, uint32_t len, unsigned step)
{
	uint32_t i;

	for (i = off; i < off + len; i++) {
		model[i] = (unsigned char)(step + 1);
		written_at[i] = step;
	}
}

static void
random_writes_and_restarts_never_break_an_fsync(void)
{
	unsigned seed = (unsigned)time(NULL), i, verf = 1, step, fsync_at = 0;
	struct wb_handle *h;
	struct bench_done d = { 0, 1 };
	bool waiting = false, ok = true;
	const char *s = getenv("SEED");

	if (s)
		seed = (unsigned)atoi(s);
	printf("# SEED=%u\n", seed);
	srandom(seed);
	start(&(struct bench_options) { .slab_bytes = 16 * 65536,
					.background_bytes = 100000 });
	memset(model, 0, sizeof model);
	memset(written_at, 0, sizeof written_at);
	memset(volatile_image, 0, sizeof model);
	memset(stable_image, 0, sizeof model);
	h = bench_open(&b, 1, 10, O_RDWR);
	for (step = 0; step < 60000 && ok; step++) {
		switch (random() % 8) {
		case 0: case 1: case 2: {
			uint32_t len = (uint32_t)random() % 9000 + 1;
			uint32_t off = (uint32_t)random() % (MODEL_BYTES - len);

			if (bench_write(&b, h, off, len,
					(unsigned char)(step + 1)))
				model_write(off, len, step);
			else	/* part of it may be in: settle it */
				while (!bench_write(&b, h, off, len,
						    (unsigned char)
						    (step + 1))) {
					while (b.call_nr)
						model_answer(bench_take(&b, 0),
							     verf);
					bench_turn(&b);
				}
			model_write(off, len, step);
			break;
		}
		case 3: case 4: case 5:
			if (b.call_nr)
				model_answer(bench_take(&b,
				    (unsigned)random() % b.call_nr), verf);
			break;
		case 6:
			if (!waiting) {
				fsync_at = step;
				handle_fsync(h, b.now, bench_done, &d);
				waiting = true;
				bench_turn(&b);
			}
			break;
		case 7:
			if (random() % 16)
				break;
			memcpy(volatile_image, stable_image, MODEL_BYTES);
			verf++;
			break;
		}
		if (waiting && d.nr) {
			/* every byte not overwritten since is stable */
			for (i = 0; i < MODEL_BYTES && ok; i++)
				ok = written_at[i] > fsync_at ||
				     stable_image[i] == model[i];
			waiting = false;
			d.nr = 0;
		}
	}
	CU_ASSERT(ok);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	for (i = 0; i < 100000 && b.call_nr; i++)
		model_answer(bench_take(&b, 0), verf);
	CU_ASSERT_EQUAL(memcmp(stable_image, model, MODEL_BYTES), 0);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

UNIT_TESTS(writeback,
	UNIT(fsync_of_much_data_writes_unstable_and_commits),
	UNIT(fsync_of_one_small_write_is_one_file_sync),
	UNIT(commit_with_new_verifier_sends_all_again),
	UNIT(verifiers_that_never_agree_end_in_file_sync),
	UNIT(write_reply_with_new_verifier_sends_older_data_again),
	UNIT(no_commit_where_all_was_file_sync),
	UNIT(overlapping_write_waits_for_the_one_in_flight),
	UNIT(lost_ghost_makes_its_fsync_wait_for_what_superseded_it),
	UNIT(fsync_ends_though_the_writer_never_stops),
	UNIT(refused_write_is_told_to_each_handle_once_and_tried_again),
	UNIT(last_close_gives_failed_data_up_and_counts_it),
	UNIT(failed_data_that_fills_the_slab_is_tried_once_more_and_told),
	UNIT(refused_commit_is_written_again_not_only_committed),
	UNIT(jukebox_is_tried_again_unseen_and_holds_up_that_file_only),
	UNIT(given_up_write_may_still_land_so_newer_data_waits),
	UNIT(short_write_sends_the_rest_again),
	UNIT(server_that_writes_nothing_ends_in_an_error),
	UNIT(small_sequential_writes_become_whole_ones),
	UNIT(two_users_bytes_never_share_a_write),
	UNIT(the_dirty_limit_is_never_exceeded),
	UNIT(full_slab_takes_the_oldest_clean_chunk_and_never_writes),
	UNIT(clean_data_that_nobody_wants_for_long_gives_its_pages_back),
	UNIT(truncate_cuts_what_lies_behind_after_setattr),
	UNIT(appends_go_to_the_end_whole),
	UNIT(garbage_in_the_ring_is_refused),
	UNIT(released_slab_is_written_back_then_let_go),
	UNIT(imported_list_is_written_and_nothing_twice),
	UNIT(sent_entry_of_an_import_is_closed_to_newer_data),
	UNIT(commit_speaks_only_for_replies_before_it),
	UNIT(congested_async_pass_wakes_below_its_mark_and_sync_goes_on),
	UNIT(any_congestion_limit_makes_progress),
	UNIT(random_writes_and_restarts_never_break_an_fsync),
)
