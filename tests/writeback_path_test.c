/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_path_test.c - the write path's finer promises: what was granted,
 * where files end, who is held back
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/writeback/throttle.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

static struct bench b;
static const struct bench_options roomy;

static void
start(const struct bench_options *o)
{
	bench_init(&b, o);
}

static int
closed(struct wb_handle *h)
{
	struct bench_done d = { 0 };

	handle_close(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	return d.err;
}

/* ---- where files end ---- */

static void
last_offset_there_is_may_be_written(void)
{
	struct wb_handle *h;
	struct wb_call *c;
	struct bench_done d = { 0 };

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, INT64_MAX - 1, 1, 'z'));
	CU_ASSERT_EQUAL(file_size(handle_file(h)), INT64_MAX);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL(c->offset, INT64_MAX - 1);
	CU_ASSERT_EQUAL(c->count, 1);
	bench_answer(&b, c, 0, WB_FILE_SYNC, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

/* Where an append will lie is not known to its writer. */
static void
append_beyond_the_servers_largest_file_is_told_and_listed(void)
{
	struct wb_handle *h;
	struct bench_done d = { 0 };

	start(&roomy);
	h = bench_open(&b, 1, 10, O_WRONLY | O_APPEND);
	handle_file(h)->params.max_size = 10;
	file_server_attr(handle_file(h), 8, 1, true);
	CU_ASSERT_FALSE(bench_write(&b, h, 0, 3, 'a'));
	b.kept = 0;			/* its room is used up all the same */
	CU_ASSERT_EQUAL(b.gave_up, 3);
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 8);
	CU_ASSERT_EQUAL(handle_reserve(h, 3), -EFBIG);
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, -EFBIG);
	CU_ASSERT_EQUAL(handle_reserve(h, 2), 8);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

/* ---- what was granted ---- */

static struct wb_handle *
open_stable(enum wb_stable stable)
{
	struct wb_handle *h = bench_open(&b, 1, 10, O_RDWR);

	handle_file(h)->params.stable = stable;
	return h;
}

/* 64 KiB of a file on a mount of that kind, granted so: the COMMITs that
   follow, and 0 when the data is stable then. */
static unsigned
commits_after(enum wb_stable asked, enum wb_stable granted)
{
	struct bench_done d = { 0 };
	struct wb_handle *h;
	struct wb_call *c;
	unsigned nr;

	start(&roomy);
	h = open_stable(asked);
	CU_ASSERT(bench_write(&b, h, 0, 65536, 'a'));
	CU_ASSERT(bench_write(&b, h, 10 << 20, 65536, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	while (bench_count(&b, WB_CALL_WRITE)) {
		c = bench_take(&b, 0);
		CU_ASSERT_EQUAL(c->stable, asked);
		CU_ASSERT_EQUAL(d.nr, 0);
		bench_answer(&b, c, 0, granted, 1);
	}
	nr = bench_count(&b, WB_CALL_COMMIT);
	CU_ASSERT_EQUAL(d.nr, nr ? 0 : 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
	return nr;
}

static void
less_than_was_asked_for_is_committed(void)
{
	CU_ASSERT_EQUAL(commits_after(WB_UNSTABLE, WB_UNSTABLE), 1);
	CU_ASSERT_EQUAL(commits_after(WB_UNSTABLE, WB_DATA_SYNC), 0);
	CU_ASSERT_EQUAL(commits_after(WB_UNSTABLE, WB_FILE_SYNC), 0);
	CU_ASSERT_EQUAL(commits_after(WB_DATA_SYNC, WB_UNSTABLE), 1);
	CU_ASSERT_EQUAL(commits_after(WB_DATA_SYNC, WB_DATA_SYNC), 0);
	CU_ASSERT_EQUAL(commits_after(WB_DATA_SYNC, WB_FILE_SYNC), 0);
	CU_ASSERT_EQUAL(commits_after(WB_FILE_SYNC, WB_UNSTABLE), 1);
	CU_ASSERT_EQUAL(commits_after(WB_FILE_SYNC, WB_DATA_SYNC), 1);
	CU_ASSERT_EQUAL(commits_after(WB_FILE_SYNC, WB_FILE_SYNC), 0);
}

static void
less_than_was_asked_for_and_forgotten_is_written_again(void)
{
	struct bench_done d = { 0 };
	struct wb_handle *h;

	start(&roomy);
	h = open_stable(WB_FILE_SYNC);
	CU_ASSERT(bench_write(&b, h, 0, 65536, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	bench_answer(&b, bench_take(&b, 0), 0, WB_DATA_SYNC, 1);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_COMMIT), 1);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 2);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 1);
	CU_ASSERT_EQUAL(d.nr, 0);
	bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 2);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

static void
file_of_two_mounts_is_written_as_the_stricter_says(void)
{
	struct wb_file_params strict = { .wsize = 4096, .max_size = 1000,
					 .stable = WB_FILE_SYNC };
	struct wb_handle *h;
	struct wb_file *f;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = file_get(b.server, file_fh(handle_file(h)), &strict, "again");
	CU_ASSERT_PTR_EQUAL(f, handle_file(h));
	file_put(f);
	CU_ASSERT_EQUAL(f->params.stable, WB_FILE_SYNC);
	CU_ASSERT_EQUAL(file_wsize(f), 4096);
	CU_ASSERT_EQUAL(file_max_size(f), 1000);
	bench_free(&b);
}

static void
commit_is_for_the_whole_file(void)
{
	struct bench_done d = { 0 };
	struct wb_handle *h;
	struct wb_call *c;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 12345, 100, 'a'));
	CU_ASSERT(bench_write(&b, h, 1ull << 40, 100, 'b'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	while (bench_count(&b, WB_CALL_WRITE))
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	c = bench_take(&b, 0);
	CU_ASSERT_EQUAL(c->kind, WB_CALL_COMMIT);
	CU_ASSERT_EQUAL(c->offset, 0);
	CU_ASSERT_EQUAL(c->count, 0);
	bench_answer(&b, c, 0, 0, 1);
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

/* ---- JUKEBOX ---- */

/* Answers all WRITEs that are out: those of file nr (0: any) with JUKEBOX. */
static unsigned
answer_writes(unsigned jukebox_nr)
{
	unsigned i, out = b.call_nr, nr = 0;
	struct wb_call *c;
	unsigned file;

	for (i = 0; i < out; i++) {
		c = bench_take(&b, 0);
		memcpy(&file, c->fh->data, sizeof file);
		if (!jukebox_nr || file == jukebox_nr) {
			bench_answer(&b, c, -EAGAIN, 0, 0);
			nr++;
		} else {
			bench_answer(&b, c, 0, WB_FILE_SYNC, 1);
		}
	}
	return nr;
}

static void
file_that_met_jukebox_comes_back_slowly(void)
{
	struct bench_options o = { .wsize = 65536 };
	struct bench_done d = { 0 };
	struct wb_handle *h;
	uint64_t waited;
	unsigned most, n;

	start(&o);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 2 << 20, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 32);
	CU_ASSERT_EQUAL(answer_writes(0), 32);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	/* one round of replies is one refusal: it waits 100 ms and a jitter */
	waited = wb_deadline(b.wb) - b.now;
	CU_ASSERT(waited >= 100000 && waited < 125000);
	bench_advance(&b, waited);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	CU_ASSERT_EQUAL(answer_writes(0), 1);
	waited = wb_deadline(b.wb) - b.now;
	CU_ASSERT(waited >= 200000 && waited < 250000);
	bench_advance(&b, waited);
	for (most = 1; b.call_nr; most = n) {
		n = b.call_nr;
		CU_ASSERT(n <= 2 * most);
		answer_writes(99);
	}
	CU_ASSERT_EQUAL(d.nr, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

static void
one_files_jukebox_slows_no_other(void)
{
	struct bench_options o = { .wsize = 65536 };
	struct bench_done d[2] = { { 0 }, { 0 } };
	struct wb_handle *h[2];
	unsigned i;

	start(&o);
	h[0] = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h[0], 0, 1 << 20, 'a'));
	handle_fsync(h[0], b.now, bench_done, &d[0]);
	bench_turn(&b);
	for (i = 0; i < 100; i++) {
		answer_writes(1);
		bench_advance(&b, 10000000);
	}
	CU_ASSERT_EQUAL(d[0].nr, 0);
	h[1] = bench_open(&b, 2, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h[1], 0, 1 << 20, 'b'));
	handle_fsync(h[1], b.now, bench_done, &d[1]);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 1 + 16);
	bench_serve(&b, 1);
	CU_ASSERT(d[0].nr == 1 && d[1].nr == 1);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(closed(h[i]), 0);
	bench_free(&b);
}

#define MANY 40

static void
server_that_asks_all_for_patience_gets_fewer_writes(void)
{
	struct bench_done d[MANY] = { { 0 } };
	struct wb_handle *h[MANY];
	unsigned i, out[8];

	start(&roomy);
	for (i = 0; i < MANY; i++) {
		h[i] = bench_open(&b, i + 1, 10, O_RDWR);
		CU_ASSERT(bench_write(&b, h[i], 0, 100, 'a'));
		handle_fsync(h[i], b.now, bench_done, &d[i]);
	}
	bench_turn(&b);
	for (i = 0; i < 8; i++) {
		out[i] = b.call_nr;
		answer_writes(0);
		bench_advance(&b, 10000000);
	}
	CU_ASSERT_EQUAL(out[0], MANY);
	CU_ASSERT(out[1] <= MANY / 2);
	CU_ASSERT_EQUAL(out[7], 1);
	for (i = 0; i < 1000 && b.call_nr; i++) {
		CU_ASSERT(b.call_nr <= i + 1);
		bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 1);
		bench_turn(&b);
	}
	for (i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(d[i].nr, 1);
		CU_ASSERT_EQUAL(closed(h[i]), 0);
	}
	bench_free(&b);
}

/* ---- reads ---- */

static struct cred *
uid(unsigned nr)
{
	return cred_get(nr, nr, NULL, 0);
}

/* May this uid read the 3 blocks of 100 bytes here, and are they these? */
static bool
reads(struct wb_handle *h, unsigned nr, const char *letters)
{
	struct cred *c = uid(nr);
	char buf[300];
	int have = file_read_cached(handle_file(h), c, 0, 300, buf);
	unsigned i;

	cred_put(c);
	for (i = 0; have && i < 300; i++)
		if (buf[i] != letters[i / 100])
			return false;
	return have;
}

static void
reads_see_the_newest_bytes_whatever_their_state(void)
{
	struct bench_done d = { 0 };
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 300, 'a'));
	CU_ASSERT(bench_write(&b, h, 1 << 20, 10, 'z'));
	CU_ASSERT(reads(h, 10, "aaa"));			/* DIRTY */
	CU_ASSERT_FALSE(reads(h, 11, "aaa"));		/* not another's */
	CU_ASSERT(bench_write(&b, h, 100, 100, 'b'));
	CU_ASSERT(reads(h, 10, "aba"));
	handle_fsync(h, b.now, bench_done, &d);
	bench_turn(&b);
	CU_ASSERT(reads(h, 10, "aba"));			/* WRITEBACK */
	CU_ASSERT(bench_write(&b, h, 200, 100, 'c'));
	CU_ASSERT(reads(h, 10, "abc"));			/* HELD over it */
	CU_ASSERT_FALSE(reads(h, 11, "abc"));
	while (bench_count(&b, WB_CALL_WRITE))
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT(reads(h, 10, "abc"));			/* UNSTABLE */
	CU_ASSERT(bench_write(&b, h, 0, 100, 'd'));
	CU_ASSERT(reads(h, 10, "dbc"));
	bench_serve(&b, 1);
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(handle_file(h)->nr[EXTENT_DIRTY], 0);
	CU_ASSERT(reads(h, 10, "dbc"));			/* CLEAN */
	CU_ASSERT_FALSE(reads(h, 11, "dbc"));
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

static void
reads_of_what_is_not_all_here_go_to_the_server(void)
{
	struct wb_handle *h, *other;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	other = bench_open(&b, 1, 11, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 100, 'a'));
	CU_ASSERT(bench_write(&b, h, 200, 100, 'c'));
	CU_ASSERT_FALSE(reads(h, 10, "a\0c"));		/* a hole */
	CU_ASSERT_EQUAL(file_size(handle_file(h)), 300);
	CU_ASSERT(bench_write(&b, other, 100, 100, 'b'));
	CU_ASSERT_FALSE(reads(h, 10, "abc"));		/* two writers */
	CU_ASSERT_FALSE(reads(h, 11, "abc"));
	CU_ASSERT_EQUAL(closed(h), 0);
	CU_ASSERT_EQUAL(closed(other), 0);
	bench_free(&b);
}

/* ---- records in pieces, and truncation ---- */

/* A record of three pieces of 1000 bytes; the file is cut to size when the first
   is there; err is what the server says to that. */
static uint64_t
record_beside_truncate(uint64_t size, int err, const char **what)
{
	struct bench_done cut = { 0 }, d = { 0 };
	struct wb_handle *h, *other;
	struct wb_file *f;
	uint64_t end;
	int64_t at;

	start(&roomy);
	*what = "";
	h = bench_open(&b, 1, 10, O_RDWR);
	other = bench_open(&b, 1, 11, O_RDWR);
	f = handle_file(h);
	CU_ASSERT(bench_write(&b, h, 0, 500, 'o'));
	at = handle_reserve(h, 3000);
	CU_ASSERT_EQUAL(at, 500);
	CU_ASSERT(bench_write(&b, h, 500, 1000, 'a'));
	handle_truncate(other, size, b.now, bench_done, &cut);
	bench_turn(&b);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_SETSIZE), 1);
	CU_ASSERT_FALSE(bench_write(&b, h, 1500, 1000, 'b'));
	CU_ASSERT_EQUAL(handle_reserve(other, 1), -EAGAIN);
	bench_answer(&b, bench_take(&b, 0), err, 0, 0);
	CU_ASSERT_EQUAL(cut.nr, 1);
	CU_ASSERT_EQUAL(cut.err, err);
	CU_ASSERT(b.rooms);		/* who stalled is told */
	CU_ASSERT(bench_write(&b, h, 1500, 1000, 'b'));
	CU_ASSERT(bench_write(&b, h, 2500, 1000, 'c'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	end = extent_at(f, 0) ? 0 : size;
	for (struct extent *e = extent_at(f, 0); e; e = extent_next(e)) {
		if (e->offset != end)
			*what = "a hole";
		end = extent_end(e);
	}
	CU_ASSERT_EQUAL(file_size(f), end > size ? end : size > end ? size :
			end);
	at = handle_reserve(h, 10);
	CU_ASSERT_EQUAL((uint64_t)at, file_size(f) - 10);
	CU_ASSERT(bench_write(&b, h, (uint64_t)at, 10, 'n'));
	CU_ASSERT_EQUAL(file_size(f), (uint64_t)at + 10);
	CU_ASSERT_EQUAL(closed(h), 0);
	CU_ASSERT_EQUAL(closed(other), 0);
	bench_free(&b);
	return end;
}

static void
truncate_cuts_a_record_that_is_not_all_there_yet(void)
{
	const char *what;

	CU_ASSERT_EQUAL(record_beside_truncate(0, 0, &what), 0);
	CU_ASSERT_STRING_EQUAL(what, "");
	CU_ASSERT_EQUAL(record_beside_truncate(300, 0, &what), 300);
	CU_ASSERT_STRING_EQUAL(what, "");
	CU_ASSERT_EQUAL(record_beside_truncate(800, 0, &what), 800);
	CU_ASSERT_STRING_EQUAL(what, "");
	CU_ASSERT_EQUAL(record_beside_truncate(2000, 0, &what), 2000);
	CU_ASSERT_STRING_EQUAL(what, "");
	CU_ASSERT_EQUAL(record_beside_truncate(9000, 0, &what), 3500);
	CU_ASSERT_STRING_EQUAL(what, "");
}

static void
truncate_that_is_refused_leaves_the_record_whole(void)
{
	const char *what;

	CU_ASSERT_EQUAL(record_beside_truncate(800, -EACCES, &what), 3500);
	CU_ASSERT_STRING_EQUAL(what, "");
}

static void
append_waits_until_the_end_of_file_is_known(void)
{
	struct bench_done cut = { 0 }, known = { 0 };
	struct wb_handle *h;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	CU_ASSERT(bench_write(&b, h, 0, 500, 'o'));
	handle_truncate(h, 100, b.now, bench_done, &cut);
	CU_ASSERT_EQUAL(handle_reserve(h, 5), -EAGAIN);
	file_when_cut(handle_file(h), b.now, bench_done, &known);
	bench_turn(&b);
	CU_ASSERT_EQUAL(known.nr, 0);
	CU_ASSERT_EQUAL(bench_count(&b, WB_CALL_WRITE), 0);
	bench_answer(&b, bench_take(&b, 0), 0, 0, 0);
	CU_ASSERT_EQUAL(known.nr, 1);
	CU_ASSERT_EQUAL(known.err, 0);
	CU_ASSERT_EQUAL(handle_reserve(h, 5), 100);
	CU_ASSERT_EQUAL(closed(h), 0);
	bench_free(&b);
}

/* ---- a file that loses its last name ---- */

static void
paused_file_sends_nothing_and_tells_when_at_rest(void)
{
	struct bench_done rest = { 0 };
	struct wb_handle *h;
	struct wb_file *f;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = file_ref(handle_file(h));
	CU_ASSERT(bench_write(&b, h, 0, 3 << 20, 'a'));
	CU_ASSERT_EQUAL(file_user_nr(f), 1);
	handle_close(h, b.now, NULL, NULL);
	CU_ASSERT_EQUAL(file_handle_nr(f), 1);
	CU_ASSERT_EQUAL(file_user_nr(f), 0);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 3);
	CU_ASSERT(bench_write(&b, h, 5 << 20, 100, 'b'));
	file_pause(f, b.now, bench_done, &rest);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 3);
	bench_answer(&b, bench_take(&b, 0), -EAGAIN, 0, 0);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(rest.nr, 0);
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	CU_ASSERT_EQUAL(rest.nr, 1);
	CU_ASSERT_EQUAL(rest.err, 0);
	bench_advance(&b, 100000000);	/* neither by age nor to commit */
	CU_ASSERT_EQUAL(b.call_nr, 0);
	file_go_on(f);
	CU_ASSERT(bench_serve(&b, 1) > 0);
	CU_ASSERT_EQUAL(file_handle_nr(f), 0);
	file_put(f);
	bench_free(&b);
}

static void
paused_file_that_is_forgotten_ends_its_waits(void)
{
	struct bench_done rest = { 0 };
	struct wb_handle *h;
	struct wb_file *f;

	start(&roomy);
	h = bench_open(&b, 1, 10, O_RDWR);
	f = file_ref(handle_file(h));
	CU_ASSERT(bench_write(&b, h, 0, 100, 'a'));
	file_pause(f, b.now, bench_done, &rest);
	handle_close(h, b.now, NULL, NULL);
	bench_turn(&b);
	CU_ASSERT_EQUAL(rest.nr, 1);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	file_forget(f);
	file_go_on(f);
	bench_turn(&b);
	CU_ASSERT_EQUAL(b.call_nr, 0);
	CU_ASSERT_EQUAL(file_handle_nr(f), 0);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	file_put(f);
	bench_free(&b);
}

UNIT_TESTS(writeback_path,
	UNIT(last_offset_there_is_may_be_written),
	UNIT(append_beyond_the_servers_largest_file_is_told_and_listed),
	UNIT(less_than_was_asked_for_is_committed),
	UNIT(less_than_was_asked_for_and_forgotten_is_written_again),
	UNIT(file_of_two_mounts_is_written_as_the_stricter_says),
	UNIT(commit_is_for_the_whole_file),
	UNIT(file_that_met_jukebox_comes_back_slowly),
	UNIT(one_files_jukebox_slows_no_other),
	UNIT(server_that_asks_all_for_patience_gets_fewer_writes),
	UNIT(reads_see_the_newest_bytes_whatever_their_state),
	UNIT(reads_of_what_is_not_all_here_go_to_the_server),
	UNIT(truncate_cuts_a_record_that_is_not_all_there_yet),
	UNIT(truncate_that_is_refused_leaves_the_record_whole),
	UNIT(append_waits_until_the_end_of_file_is_known),
	UNIT(paused_file_sends_nothing_and_tells_when_at_rest),
	UNIT(paused_file_that_is_forgotten_ends_its_waits),
)
