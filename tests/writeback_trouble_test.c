/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_trouble_test.c - the pipeline where something is short, late or not
 * as it should be
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

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

/* Answers all calls of one kind that are out now. */
static void
answer_all(enum wb_call_kind kind, int err, unsigned verf)
{
	unsigned i = 0;

	while (i < b.call_nr)
		if (b.call[i]->kind == kind)
			bench_answer(&b, bench_take(&b, i), err, WB_UNSTABLE,
				     verf);
		else
			i++;
}

/* ---- waits that somebody must end ---- */

static void
more_files_than_commits_are_synced(void)
{
	enum { FILES = 150 };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	unsigned i;

	start(&(struct bench_options) { .wsize = 4096 });
	for (i = 0; i < FILES; i++) {
		h = bench_open(&b, i, 10, O_RDWR);
		CU_ASSERT(bench_write(&b, h, 0, 8192, 'a'));
		handle_fsync(h, b.now, bench_done, &d);
	}
	bench_turn(&b);
	while (bench_count(&b, WB_CALL_WRITE))
		answer_all(WB_CALL_WRITE, 0, 1);
	while (bench_count(&b, WB_CALL_COMMIT))
		answer_all(WB_CALL_COMMIT, 0, 1);
	CU_ASSERT_EQUAL(d.nr, FILES);
	bench_free(&b);
}

static void
calls_that_find_no_memory_are_tried_again(void)
{
	struct bench_done d = { 0, 1 }, t = { 0, 1 };
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
	b.no_memory = true;
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	b.no_memory = true;
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_turn(&b);		/* a turn for another reason */
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	b.no_memory = true;
	handle_truncate(h, 10, b.now, bench_done, &t);
	bench_turn(&b);
	bench_turn(&b);
	b.no_memory = false;
	bench_advance(&b, 100000);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_SETSIZE), 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(t.nr, 1);
	bench_free(&b);
}

/* ---- list slots ---- */

static void
scattered_bytes_that_use_up_the_list_are_written_to_make_room(void)
{
	enum { WRITES = 30000 };
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	unsigned n = 0, i;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR);
	for (i = 0; i < 2 * WRITES && n < WRITES; i++)
		if (bench_write(&b, h, 2ull * n, 1, 'a')) {
			n++;
		} else {
			if (b.rooms) {	/* some came free before */
				b.rooms = 0;
				continue;
			}
			bench_turn(&b);
			CU_ASSERT_FATAL(b.call_nr > 0);
			bench_serve(&b, 1);
			CU_ASSERT_FATAL(b.rooms > 0);
			b.rooms = 0;
		}
	CU_ASSERT_EQUAL(n, WRITES);
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
inline_data_waits_quietly_for_a_truncation_and_for_slots(void)
{
	struct bench_done t = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned n = 0;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR | O_APPEND);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "abc", 3, 0, b.now), 3);
	handle_truncate(h, 1, b.now, bench_done, &t);
	bench_turn(&b);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL_FATAL(c->kind, WB_CALL_SETSIZE);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "de", 2, 0, b.now), 0);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);	/* nothing has changed */
	bench_answer(&b, c, 0, 0, 1);
	CU_ASSERT(b.rooms > 0);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "de", 2, 0, b.now), 2);
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 3);
	h = bench_open(&b, 2, 10, O_RDWR);
	while (n < 5000 && slab_write(b.slab, h, "x", 1, 2 * n, b.now) == 1)
		n++;
	CU_ASSERT(n < 5000);
	b.rooms = 0;
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);
	CU_ASSERT(b.call_nr > 0);
	bench_serve(&b, 1);
	CU_ASSERT(b.rooms > 0);
	CU_ASSERT_EQUAL(slab_write(b.slab, h, "x", 1, 2 * n, b.now), 1);
	bench_free(&b);
}

static void
refused_post_does_not_wake_its_own_session(void)
{
	struct wb_handle *h;
	unsigned n = 0;

	start(&(struct bench_options) { .slab_bytes = MiB });
	h = bench_open(&b, 1, 10, O_RDWR);
	while (n < 5000 && bench_write(&b, h, 2 * n, 1, 'a'))
		n++;
	bench_turn(&b);
	b.rooms = 0;
	CU_ASSERT(!bench_write(&b, h, 2 * n, 1, 'a'));
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.rooms, 0);
	bench_free(&b);
}

/* ---- truncation ---- */

static void
truncation_cuts_without_a_free_slot(void)
{
	struct bench_done d = { 0, 1 }, t = { 0, 1 };
	struct wb_handle *h, *h2;
	struct extent *e;
	unsigned i;

	start(&(struct bench_options) { .slab_bytes = MiB, .wsize = 1024 });
	h = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 12 * 65536, 'a'));
	CU_ASSERT(bench_write(&b, h2, 0, 3000, 'b'));
	for (i = 0; bench_write(&b, h2, 5000 + 2 * i, 1, 'b'); i++)
		;
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);			/* cut into WRITEs of 1024 */
	for (i = 0; i < 100 && slab_has_slots(b.slab, 1); i++)
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT(!slab_has_slots(b.slab, 1));
	handle_truncate(h2, 1000, b.now, bench_done, &t);
	bench_turn(&b);
	for (i = 0; i < b.call_nr; i++)
		if (b.call[i]->kind == WB_CALL_SETSIZE)
			break;
	CU_ASSERT_FATAL(i < b.call_nr);
	bench_answer(&b, bench_take(&b, i), 0, 0, 1);
	e = extent_at(handle_file(h2), 0);
	CU_ASSERT_EQUAL(t.nr, 1);
	CU_ASSERT_EQUAL(e->length, 1000);
	CU_ASSERT_PTR_NULL(extent_next(e));
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
late_copy_of_a_truncation_cuts_no_newer_data(void)
{
	struct bench_done t = { 0, 1 }, d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	handle_truncate(h, 1000, b.now, bench_done, &t);
	bench_turn(&b);
	c = bench_take(&b, 0);
	c->err = 0;
	c->have_size = 0;
	c->transmissions = 2;
	c->done(c, b.now);
	bench_turn(&b);
	CU_ASSERT_EQUAL(t.nr, 1);
	CU_ASSERT(bench_write(&b, h, 500, 1000, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

static void
pipeline_that_ends_lets_go_of_what_waits(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	handle_truncate(h, 10, b.now, bench_done, &d);
	wb_sync(b.wb, NULL, NULL, b.now, bench_done, &d);
	bench_turn(&b);
	while ((c = bench_take(&b, 0))) {	/* as the transport's end does */
		c->err = -ECANCELED;
		c->transmissions = 1;
		c->done(c, b.now);
	}
	wb_free(b.wb);
	b.wb = NULL;
	CU_ASSERT(atomic_load(&b.view.list[0].seq) != 0);
	CU_ASSERT_EQUAL(atomic_load(&b.view.list[0].state), NFSWB_LIST_SENT);
	bench_free(&b);
	CU_ASSERT_EQUAL(d.nr, 0);
}

/* ---- late copies ---- */

static void
file_that_a_late_copy_may_hit_is_not_forgotten(void)
{
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	c = bench_take(&b, 0);
	c->err = 0;
	c->written = c->count;
	c->committed = WB_FILE_SYNC;
	c->transmissions = 2;
	c->done(c, b.now);
	slab_release(b.slab, b.now);	/* its CLEAN data goes */
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.released, 1);
	bench_swap(&b);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'b'));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	bench_advance(&b, 10000001);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	slab_release(b.slab, b.now);
	bench_turn(&b);
	CU_ASSERT_PTR_NULL(b.server->files);
	bench_free(&b);
}

/* ---- files that are gone ---- */

static struct wb_call *
only_call(enum wb_call_kind kind)
{
	struct wb_call *c = b.call_nr == 1 ? bench_take(&b, 0) : NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->kind, kind);
	return c;
}

static void
removed_file_leaves_nothing_however_its_last_write_is_answered(void)
{
	static const struct { int err; enum wb_stable how; } answer[] = {
		{ 0, WB_UNSTABLE }, { 0, WB_FILE_SYNC }, { -EAGAIN, 0 },
		{ -ESTALE, 0 },
	};
	struct wb_handle *h;
	struct wb_file *f;
	struct wb_call *c;
	unsigned i;

	for (i = 0; i < 4; i++) {
		start(&roomy);
		h = bench_open(&b, 1, 10, O_RDWR);
		f = file_ref(handle_file(h));
		CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
		handle_close(h, b.now, NULL, NULL);
		bench_turn(&b);
		c = bench_take(&b, 0);
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
		file_forget(f);
		file_put(f);
		bench_turn(&b);
		bench_answer(&b, c, answer[i].err, answer[i].how, 1);
		CU_ASSERT_EQUAL(b.call_nr, 0);
		CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
		CU_ASSERT_PTR_NULL(b.server->files);
		CU_ASSERT_EQUAL(b.gave_up, 0);
		bench_free(&b);
	}
}

static void
removed_file_with_a_commit_out_leaves_nothing(void)
{
	struct wb_handle *h;
	struct wb_file *f;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = file_ref(handle_file(h));
	CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	c = only_call(WB_CALL_COMMIT);
	file_forget(f);
	file_put(f);
	bench_turn(&b);
	bench_answer(&b, c, -ESTALE, 0, 1);
	CU_ASSERT_PTR_NULL(b.server->files);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

static void
file_that_is_opened_again_after_its_removal_is_written(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_file *f;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = file_ref(handle_file(h));
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	file_forget(f);		/* a hard link was made elsewhere */
	h = bench_open(&b, 1, 10, O_RDWR);
	file_put(f);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	bench_free(&b);
}

/* ---- one session's trouble is not another's ---- */

static void
two_sessions_bytes_never_share_a_write(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	uint64_t at;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	bench_swap(&b);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 4096, 4096, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 2);
	at = b.call[0]->offset;
	bench_answer(&b, bench_take(&b, 0), -EFAULT, 0, 1);
	CU_ASSERT_EQUAL(b.slab->bytes[EXTENT_FAILED], at ? 4096u : 0);
	CU_ASSERT_EQUAL(b.other.slab->bytes[EXTENT_FAILED], at ? 0 : 4096u);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -EFAULT);
	bench_free(&b);
}

static void
failed_data_elsewhere_fails_no_read(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h, *h2;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	h2 = bench_open(&b, 1, 11, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -ENOSPC, 0, 1);
	CU_ASSERT(bench_write(&b, h2, 100000, 4096, 'b'));
	file_flush_range(handle_file(h), 100000, 4096, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	CU_ASSERT_EQUAL(d.err, 0);
	file_flush_range(handle_file(h), 4000, 200, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, -ENOSPC);
	bench_free(&b);
}

static void
failed_data_in_a_chunk_that_is_still_filled_is_tried_too(void)
{
	struct bench_done d = { 0, 1 };

	bench_fsync_out(&b, 4096, &d);
	bench_answer(&b, bench_take(&b, 0), -ENOSPC, 0, 1);
	slab_retry_failed(b.slab, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 2);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
list_is_kept_by_our_own_books_not_by_what_it_says(void)
{
	struct nfswb_list_entry *l;
	struct wb_handle *h;
	unsigned i, rests = 0;

	start(&roomy);
	b.hostile = true;
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	l = &b.view.list[0];
	CU_ASSERT_EQUAL(atomic_load(&l->length_ringpos), 1ull << 32 | 4096);
	l->file = 77;
	atomic_store(&l->length_ringpos, ~0ull);
	atomic_store(&l->state, 77);
	CU_ASSERT(bench_write(&b, h, 1000, 10, 'b'));	/* cuts it */
	CU_ASSERT_EQUAL(atomic_load(&l->length_ringpos), 1ull << 32 | 1000);
	for (i = 1; i < 4; i++) {
		l = &b.view.list[i];
		if (!atomic_load(&l->seq) || l->offset != 1010)
			continue;
		rests++;
		CU_ASSERT_EQUAL(l->file, 1);
		CU_ASSERT_EQUAL(atomic_load(&l->state), NFSWB_LIST_DIRTY);
		CU_ASSERT_EQUAL(atomic_load(&l->length_ringpos),
				1ull << 32 | 3086);
	}
	CU_ASSERT_EQUAL(rests, 1);
	bench_serve(&b, 1);
	bench_free(&b);
}

/* ---- import ---- */

static struct wb_handle *import_handle;

static struct wb_handle *
import_file_of(void *arg, uint32_t file)
{
	(void)arg;
	return file == 1 ? import_handle : NULL;
}

static void
imported_data_that_is_struck_at_once_is_not_posted_again(void)
{
	static const struct slab_hooks none;
	static struct bench old;
	struct bench_done d = { 0, 1 };
	struct slab *s;

	bench_init(&old, &roomy);
	CU_ASSERT(bench_write(&old, bench_open(&old, 1, 10, O_RDWR), 0, 100,
			      'a'));
	start(&roomy);
	b.now = old.now + 1000;
	import_handle = bench_open(&b, 1, 10, O_RDWR);
	s = slab_new(b.wb, &old.view, &none, NULL);
	slab_void_grants(s);
	CU_ASSERT_EQUAL(slab_import_begin(s, import_file_of, NULL,
					  UINT64_MAX), 0);
	while (slab_import_next(s))
		CU_ASSERT_EQUAL(slab_import_one(s, b.now), 0);
	handle_fsync(import_handle, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(slab_import_ringpos(s, 0, 1), 1);
	bench_free(&b);
	bench_free(&old);
}

/* ---- servers that are odd ---- */

static void
verifiers_that_never_agree_and_no_file_sync_end_in_an_error(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned i;

	h = bench_fsync_out(&b, 2 * MiB, &d);
	for (i = 0; i < 100 && (c = bench_take(&b, 0)); i++)
		bench_answer(&b, c, 0, WB_UNSTABLE,
			     c->kind == WB_CALL_WRITE ? 1 : 2);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -EIO);
	CU_ASSERT(i < 40);
	bench_serve(&b, 1);
	handle_fsync(h, b.now, bench_done, &d);	/* it has been mended */
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
server_that_refuses_its_own_size_is_asked_for_half(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned i;

	h = bench_fsync_out(&b, 3 * MiB, &d);
	for (i = 0; i < 100 && (c = bench_take(&b, 0)); i++)
		bench_answer(&b, c, c->count > 300000 ? -EINVAL : 0,
			     WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	/* remembered, for other files too */
	h = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 1 * MiB, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 4);
	bench_serve(&b, 1);
	/* what is refused at any size is an error */
	CU_ASSERT(bench_write(&b, h, 0, 100, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), -EINVAL, 0, 1);
	CU_ASSERT_EQUAL(d.nr, 3);
	CU_ASSERT_EQUAL(d.err, -EINVAL);
	bench_free(&b);
}

/* ---- age ---- */

static void
old_data_that_met_jukebox_is_tried_again_soon(void)
{
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	bench_turn(&b);
	bench_advance(&b, 30000001);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 1);
	bench_answer(&b, bench_take(&b, 0), -EAGAIN, 0, 1);
	bench_turn(&b);
	bench_advance(&b, 200000);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	bench_serve(&b, 1);
	bench_free(&b);
}

static void
old_data_that_was_lost_is_old_still(void)
{
	struct wb_handle *h;

	start(&(struct bench_options) { .wsize = 4096 });
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 8192, 'a'));
	bench_turn(&b);
	bench_advance(&b, 30000001);
	CU_ASSERT_EQUAL_FATAL(b.call_nr, 2);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	bench_answer(&b, only_call(WB_CALL_COMMIT), 0, 0, 2);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	bench_serve(&b, 2);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

/* ---- attributes ---- */

static void
attributes_older_than_our_last_reply_shorten_no_file(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_file *f;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = handle_file(h);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	c = only_call(WB_CALL_WRITE);
	c->err = 0;
	c->written = c->count;
	c->committed = WB_FILE_SYNC;
	c->transmissions = 1;
	c->have_size = 1;
	c->size_after = 4096;
	c->ctime_nsec = 5000;
	c->done(c, b.now);
	bench_turn(&b);
	file_server_attr(f, 0, 4000, true);	/* overtaken on its way */
	CU_ASSERT_EQUAL(file_size(f), 4096);
	file_server_attr(f, 100, 6000, true);	/* another client's truncate */
	CU_ASSERT_EQUAL(file_size(f), 100);
	bench_free(&b);
}

static void
attributes_older_than_a_truncation_bring_nothing_back(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;
	struct wb_file *f;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = handle_file(h);
	file_server_attr(f, 8192, 4000, true);
	handle_truncate(h, 100, b.now, bench_done, &d);
	bench_turn(&b);
	c = only_call(WB_CALL_SETSIZE);
	c->err = 0;
	c->transmissions = 1;
	c->have_size = 1;
	c->size_after = 100;
	c->ctime_nsec = 5000;
	c->done(c, b.now);
	bench_turn(&b);
	CU_ASSERT_EQUAL(d.nr, 1);
	file_server_attr(f, 8192, 4000, true);	/* an open's, overtaken */
	CU_ASSERT_EQUAL(file_size(f), 100);
	file_server_attr(f, 8192, 4000, false);	/* a stat's */
	CU_ASSERT_EQUAL(file_size(f), 100);
	file_server_attr(f, 200, 6000, true);	/* another client's write */
	CU_ASSERT_EQUAL(file_size(f), 200);
	bench_free(&b);
}

/* ---- the end ---- */

static void
pipeline_that_ends_leaves_the_list_for_the_next(void)
{
	struct wb_handle *h;
	struct nfswb_list_entry *l;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 4096, 'a'));
	l = &b.view.list[0];
	CU_ASSERT(atomic_load(&l->seq) != 0);
	wb_free(b.wb);
	CU_ASSERT(atomic_load(&l->seq) != 0);
	b.wb = NULL;
	bench_free(&b);
}

/* ---- holding, and standing still ---- */

static void
pipeline_that_is_held_begins_no_write_and_is_quiet_when_all_are_answered(void)
{
	struct bench_done d = { 0, 1 };
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 * MiB, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	wb_hold(b.wb, true);
	CU_ASSERT(bench_write(&b, h, 2 * MiB, 1000, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 2);
	CU_ASSERT(!wb_is_quiet(b.wb));
	answer_all(WB_CALL_WRITE, 0, 1);
	CU_ASSERT(wb_is_quiet(b.wb));
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 0);
	file_truncate(h->file, h->cred, 100, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_SETSIZE), 0);
	b.poked = false;
	wb_hold(b.wb, false);
	CU_ASSERT(b.poked);
	bench_turn(&b);
	while (bench_count(&b, WB_CALL_WRITE))
		answer_all(WB_CALL_WRITE, 0, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_SETSIZE), 1);
	wb_hold(b.wb, true);
	CU_ASSERT(!wb_is_quiet(b.wb));
	wb_hold(b.wb, false);
	bench_serve(&b, 1);
	CU_ASSERT(wb_is_quiet(b.wb));
	CU_ASSERT_EQUAL(d.nr, 3);
	CU_ASSERT_EQUAL(d.err, 0);
	bench_free(&b);
}

static void
server_that_owes_an_answer_is_not_us_standing_still(void)
{
	struct wb_handle *h;
	unsigned i;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 1000, 'a'));
	bench_turn(&b);
	for (i = 0; i < 600; i++) {	/* its WRITE leaves when it is old */
		CU_ASSERT(!wb_stands_still(b.wb, b.now));
		bench_advance(&b, 10000000);
	}
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 1);
	bench_answer(&b, bench_take(&b, 0), -EAGAIN, WB_UNSTABLE, 1);
	CU_ASSERT(!wb_stands_still(b.wb, b.now));	/* JUKEBOX */
	for (i = 0; i < 600 && !b.call_nr; i++)
		bench_advance(&b, 1000000);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_advance(&b, 3600000000ull);
	CU_ASSERT(!wb_stands_still(b.wb, b.now));
	bench_serve(&b, 1);
	bench_advance(&b, 3600000000ull);
	CU_ASSERT(!wb_stands_still(b.wb, b.now));
	bench_free(&b);
}

static void
old_data_that_nobody_writes_though_he_could_is_us_standing_still(void)
{
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	wb_hold(b.wb, true);		/* as a fault would */
	CU_ASSERT(bench_write(&b, h, 0, 1000, 'a'));
	bench_turn(&b);
	b.now += b.limits.dirty_expire_usec + 9000000;
	CU_ASSERT(!wb_stands_still(b.wb, b.now));
	b.now += 2000000;
	CU_ASSERT(wb_stands_still(b.wb, b.now));
	wb_hold(b.wb, false);
	bench_turn(&b);
	CU_ASSERT(!wb_stands_still(b.wb, b.now));
	bench_serve(&b, 1);
	bench_free(&b);
}

UNIT_TESTS(writeback_trouble,
	UNIT(pipeline_that_is_held_begins_no_write_and_is_quiet_when_all_are_answered),
	UNIT(server_that_owes_an_answer_is_not_us_standing_still),
	UNIT(old_data_that_nobody_writes_though_he_could_is_us_standing_still),
	UNIT(more_files_than_commits_are_synced),
	UNIT(calls_that_find_no_memory_are_tried_again),
	UNIT(scattered_bytes_that_use_up_the_list_are_written_to_make_room),
	UNIT(inline_data_waits_quietly_for_a_truncation_and_for_slots),
	UNIT(refused_post_does_not_wake_its_own_session),
	UNIT(truncation_cuts_without_a_free_slot),
	UNIT(late_copy_of_a_truncation_cuts_no_newer_data),
	UNIT(pipeline_that_ends_lets_go_of_what_waits),
	UNIT(file_that_a_late_copy_may_hit_is_not_forgotten),
	UNIT(removed_file_leaves_nothing_however_its_last_write_is_answered),
	UNIT(removed_file_with_a_commit_out_leaves_nothing),
	UNIT(file_that_is_opened_again_after_its_removal_is_written),
	UNIT(two_sessions_bytes_never_share_a_write),
	UNIT(failed_data_elsewhere_fails_no_read),
	UNIT(failed_data_in_a_chunk_that_is_still_filled_is_tried_too),
	UNIT(list_is_kept_by_our_own_books_not_by_what_it_says),
	UNIT(imported_data_that_is_struck_at_once_is_not_posted_again),
	UNIT(verifiers_that_never_agree_and_no_file_sync_end_in_an_error),
	UNIT(server_that_refuses_its_own_size_is_asked_for_half),
	UNIT(old_data_that_met_jukebox_is_tried_again_soon),
	UNIT(old_data_that_was_lost_is_old_still),
	UNIT(attributes_older_than_our_last_reply_shorten_no_file),
	UNIT(attributes_older_than_a_truncation_bring_nothing_back),
	UNIT(pipeline_that_ends_leaves_the_list_for_the_next),
)
