/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reclaim_test.c - where a writer's room comes from, and what nobody does for it
 *
 * Many sessions on one pipeline; each has a slab and a file of its own.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "daemon/writeback/reclaim.h"
#include "daemon/writeback/throttle.h"
#include "daemon/writeback/writepages.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define CHUNK NFSWB_CHUNK_BYTES
#define MIB (1u << 20)
#define SESSIONS 101
#define MSEC 1000u

static struct bench b;

/* What bench_swap changes, for more than two. */
static struct session {
	struct slab *slab;
	struct shm_view view;
	void *control;
	uint64_t head;
	uint32_t chunk;
	uint64_t kept_place;
	uint32_t kept;
	struct wb_handle *h;
} session[SESSIONS];
static unsigned current, session_nr;

/* From now on this one writes; its file has its number. */
static struct wb_handle *
use(unsigned i)
{
	struct session *s = &session[current];
	struct wb_handle *h = s->h;

	*s = (struct session){ b.slab, b.view, b.control, b.head, b.chunk,
			       b.kept_place, b.kept, h };
	if (i != current) {
		s = &session[i];
		b.other.slab = s->slab;
		b.other.view = s->view;
		b.other.control = s->control;
		b.other.head = s->head;
		b.other.chunk = s->chunk;
		b.other.kept_place = s->kept_place;
		b.other.kept = s->kept;
		bench_swap(&b);
		b.other.control = NULL;	/* kept here */
		b.other.view.data = NULL;
		current = i;
	}
	if (!session[i].h)
		session[i].h = bench_open(&b, i + 1, 10, O_RDWR);
	if (i >= session_nr)
		session_nr = i + 1;
	return session[i].h;
}

static bool under_wait_only;	/* then no call may come out of reclaim */
static uint64_t from_reclaim;

static void
queued(struct bench *bench, struct wb_call *c)
{
	(void)c;
	from_reclaim += bench->wb->reclaiming > 0;
	if (under_wait_only)
		CU_ASSERT_EQUAL(bench->wb->reclaiming, 0);
}

static void
start(const struct bench_options *o)
{
	memset(session, 0, sizeof session);
	current = session_nr = 0;
	from_reclaim = 0;
	under_wait_only = o->reclaim_policy == RECLAIM_WAIT;
	bench_init(&b, o);
	b.queued = queued;
}

static void
stop(void)
{
	unsigned i;

	if (under_wait_only)
		CU_ASSERT_EQUAL(b.wb->stats.reclaim.reclaim_writes, 0);
	for (i = 0; i < session_nr; i++)
		if (i != current) {
			(void)use(i);
			break;
		}
	(void)use(current);
	bench_free(&b);
	for (i = 0; i < session_nr; i++)
		if (i != current) {
			free(session[i].control);
			free(session[i].view.data);
		}
}

/* Asks for room without writing. */
static void
ask(uint32_t want)
{
	atomic_store(&b.view.control->want, want);
	atomic_store(&b.view.control->want_chunk, b.chunk);
	atomic_store(&b.view.control->c_waits, 1);
	slab_serve(b.slab, b.now);
	bench_turn(&b);
}

/* Fills the slab and asks for more: the slow path. */
static void
fill(struct wb_handle *h, uint64_t bytes)
{
	CU_ASSERT_FATAL(bench_write(&b, h, 0, (uint32_t)bytes, 'a'));
	ask(CHUNK);
}

static unsigned
calls_for(unsigned file_nr, enum wb_call_kind kind)
{
	unsigned i, nr = 0, of;

	for (i = 0; i < b.call_nr; i++) {
		memcpy(&of, b.call[i]->fh->data, sizeof of);
		nr += of == file_nr && b.call[i]->kind == kind;
	}
	return nr;
}

static const struct wb_stats *
stats(void)
{
	return &b.wb->stats;
}

static void
grants_out_of_free_or_clean_chunks_are_fast_and_free_what_they_say(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	struct wb_handle *h;

	start(&o);
	h = use(0);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, 4 * CHUNK, 'a'));
	CU_ASSERT_EQUAL(stats()->reclaim.fast, 4);
	CU_ASSERT_EQUAL(stats()->reclaim.reclaims, 0);
	handle_fsync(h, b.now, NULL, NULL);
	bench_serve(&b, 1);
	CU_ASSERT_FATAL(bench_write(&b, h, 4 * CHUNK, 2 * CHUNK, 'a'));
	CU_ASSERT_EQUAL(stats()->reclaim.fast,
			stats()->reclaim.fast_us.count);
	CU_ASSERT(stats()->reclaim.fast >= 6);
	CU_ASSERT_EQUAL(stats()->reclaim.slow, 0);
	CU_ASSERT(stats()->reclaim.reclaims >= 2);
	CU_ASSERT_EQUAL(stats()->reclaim.freed_bytes,
			stats()->reclaim.reclaims * CHUNK);
	bench_serve(&b, 1);
	stop();
}

static void
slow_path_wakes_the_flusher_and_ends_with_the_completion_that_makes_room(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	struct wb_handle *h;
	unsigned rooms;

	start(&o);
	h = use(0);
	fill(h, 4 * CHUNK);
	CU_ASSERT_EQUAL(stats()->reclaim.slow, 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.count, 0);
	CU_ASSERT_EQUAL(b.server->stats.flush_causes[FLUSH_MEMORY], 1);
	CU_ASSERT_EQUAL(b.call_nr, 1);
	rooms = b.rooms;
	bench_advance(&b, 7 * MSEC);
	CU_ASSERT_EQUAL(b.rooms, rooms);
	bench_answer(&b, bench_take(&b, 0), 0, WB_FILE_SYNC, 1);
	CU_ASSERT_EQUAL(b.rooms, rooms + 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.count, 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.sum, 7 * MSEC);
	CU_ASSERT(bench_write(&b, h, 4 * CHUNK, CHUNK, 'a'));
	bench_serve(&b, 1);
	stop();
}

static void
waiting_at_the_limit_is_not_reclaims_slow_path(void)
{
	static const struct bench_options o = { .dirty_bytes = 2 * CHUNK,
						.background_bytes = CHUNK };
	struct wb_handle *h;

	start(&o);
	h = use(0);
	CU_ASSERT(bench_write_some(&b, h, 0, 4 * CHUNK, 'a') <= 2 * CHUNK);
	CU_ASSERT_EQUAL(stats()->throttle.limit_waits, 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow, 0);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.count, 0);
	stop();
}

static void
memory_writes_the_oldest_file_of_the_session_that_waits_and_no_others(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	struct wb_handle *h;

	start(&o);
	/* older, and nobody waits for its room */
	CU_ASSERT_FATAL(bench_write(&b, use(0), 0, 2 * CHUNK, 'a'));
	b.now += MSEC;
	h = use(1);
	CU_ASSERT_FATAL(bench_write(&b, use(1), 0, CHUNK, 'a'));
	fill(h, 4 * CHUNK);
	CU_ASSERT_EQUAL(calls_for(1, WB_CALL_WRITE), 0);
	CU_ASSERT(calls_for(2, WB_CALL_WRITE) > 0);
	CU_ASSERT_EQUAL(b.server->stats.flush_causes[FLUSH_MEMORY], 1);
	bench_serve(&b, 1);
	CU_ASSERT(bench_write(&b, h, 4 * CHUNK, CHUNK, 'a'));
	CU_ASSERT_EQUAL(calls_for(1, WB_CALL_WRITE), 0);
	bench_serve(&b, 1);
	stop();
}

/* Files of one session each with less than a WRITE: they wait for their rest, but
   not while their room is what is waited for. */
static void
tails_go_when_they_are_all_that_a_full_slab_holds(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	struct wb_handle *h;
	unsigned i;

	start(&o);
	(void)use(1);
	CU_ASSERT_FATAL(bench_write(&b, use(1), 0, 4 * CHUNK, 'a'));
	h = use(0);
	for (i = 0; i < 4; i++) {
		struct wb_handle *t = bench_open(&b, 10 + i, 10, O_RDWR);

		CU_ASSERT_FATAL(bench_write(&b, t, 0, CHUNK, 'a'));
	}
	ask(CHUNK);
	CU_ASSERT(b.call_nr > 0);
	bench_serve(&b, 1);
	CU_ASSERT(bench_write(&b, h, 0, CHUNK, 'a'));
	bench_serve(&b, 1);
	stop();
}

/* CASES D9 (juicedata/juicefs#6161): a cleaner that ran before the uploader. */
static void
room_is_taken_from_what_is_on_stable_storage_and_from_nothing_else(void)
{
	static const struct bench_options o = { .slab_bytes = 8 * CHUNK };
	struct bench_done d = { 0, 1 };
	unsigned char back;
	struct wb_handle *h;
	unsigned i;

	start(&o);
	h = use(0);
	CU_ASSERT_FATAL(bench_write(&b, h, 0, 4 * CHUNK, 'a'));
	handle_fsync(h, b.now, bench_done, &d);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(d.err, 0);
	/* half is CLEAN; all but that is dirty or not committed */
	fill(h, 8 * CHUNK);
	CU_ASSERT(stats()->reclaim.freed_bytes <= 4 * CHUNK);
	for (i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(file_read_cached(h->file, h->cred,
						 (uint64_t)i * CHUNK, 1, &back),
				1);
		CU_ASSERT_EQUAL(back, 'a');
	}
	while (bench_count(&b, WB_CALL_WRITE))
		bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
	/* answered, and the server may forget it: still here */
	CU_ASSERT_FALSE(bench_write(&b, h, 8 * CHUNK, CHUNK, 'b'));
	CU_ASSERT_EQUAL(b.wb->bytes[EXTENT_UNSTABLE] +
			b.wb->bytes[EXTENT_DIRTY], 8 * CHUNK);
	/* it did forget: all of it goes again, and only then there is room */
	bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 2);
	CU_ASSERT(b.wb->bytes[EXTENT_DIRTY] > 0);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 8 * CHUNK);
	CU_ASSERT_FALSE(bench_write(&b, h, 8 * CHUNK, CHUNK, 'b'));
	bench_serve(&b, 2);
	CU_ASSERT(bench_write(&b, h, 8 * CHUNK, CHUNK, 'b'));
	bench_serve(&b, 2);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	stop();
}

/* Four chunks, made stable, sixteen times: how many have memory then. */
static unsigned
touched_by(int oflags)
{
	static const struct bench_options o = { .slab_bytes = 64 * CHUNK };
	struct bench_done d;
	struct wb_handle *h;
	unsigned i, nr = 0;

	start(&o);
	(void)use(0);
	h = bench_open(&b, 10, 10, oflags);
	for (i = 0; i < 16; i++) {
		d = (struct bench_done){ 0, 1 };
		CU_ASSERT_FATAL(bench_write(&b, h, (uint64_t)i * 4 * CHUNK,
					    4 * CHUNK, 'a'));
		handle_fsync(h, b.now, bench_done, &d);
		bench_serve(&b, 1);
		CU_ASSERT_EQUAL(d.err, 0);
	}
	for (i = 0; i < 64; i++)
		nr += b.slab->chunk[i].touched;
	stop();
	return nr;
}

static void
who_only_writes_takes_memory_for_what_is_not_stable_and_who_reads_for_all(void)
{
	CU_ASSERT(touched_by(O_WRONLY) < 32);
	CU_ASSERT_EQUAL(touched_by(O_RDWR), 64);
}

/* CASES D10 (juicedata/juicefs#7143): no cap on what is staged. */
static void
what_is_staged_never_exceeds_the_limit_however_many_write(void)
{
	static const struct bench_options o = {
		.slab_bytes = MIB, .dirty_bytes = 3 * MIB + 12288,
		.background_bytes = MIB };
	unsigned round, i;
	uint64_t at[20] = { 0 }, all = 0;

	start(&o);
	for (round = 0; round < 30; round++) {
		for (i = 0; i < 20; i++) {
			struct wb_handle *h = use(i);

			at[i] += bench_write_some(&b, h, at[i], 3 * CHUNK, 'a');
			CU_ASSERT(throttle_dirtied(b.wb) <= o.dirty_bytes);
		}
		for (i = 0; i < 4 && b.call_nr; i++)
			bench_answer(&b, bench_take(&b, 0), 0, WB_UNSTABLE, 1);
		CU_ASSERT(throttle_dirtied(b.wb) <= o.dirty_bytes);
	}
	for (i = 0; i < 20; i++)
		all += at[i];
	CU_ASSERT(all > 3 * o.dirty_bytes);	/* and they went on */
	b.queued = NULL;
	bench_serve(&b, 1);
	stop();
}

static void
reclaim_never_calls_the_server_whatever_the_pressure(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	unsigned i, j;
	uint64_t at[3] = { 0 };

	start(&o);
	for (i = 0; i < 200; i++)
		for (j = 0; j < 3; j++) {
			at[j] += bench_write_some(&b, use(j), at[j],
						  CHUNK + 4096 * (i % 7), 'a');
			if (i % 5 == j && b.call_nr)
				bench_answer(&b, bench_take(&b, 0), 0,
					     WB_UNSTABLE, 1);
		}
	CU_ASSERT(stats()->reclaim.slow > 20);
	CU_ASSERT_EQUAL(from_reclaim, 0);
	bench_serve(&b, 1);
	stop();
}

static void
policy_write_sends_the_oldest_piece_alone_stable_and_ahead(void)
{
	static const struct bench_options o = {
		.slab_bytes = 4 * CHUNK, .reclaim_policy = RECLAIM_WRITE };
	struct wb_handle *h;
	struct wb_call *c;
	uint64_t writes;

	start(&o);
	h = use(0);
	CU_ASSERT_FATAL(bench_write(&b, h, 3 * CHUNK, CHUNK, 'a'));
	CU_ASSERT_FATAL(bench_write(&b, h, 0, 3 * CHUNK, 'a'));
	ask(CHUNK);
	CU_ASSERT(from_reclaim > 0);
	writes = stats()->reclaim.reclaim_writes;
	CU_ASSERT_EQUAL(writes, from_reclaim);
	CU_ASSERT_EQUAL(stats()->reclaim.written_bytes, writes * CHUNK);
	c = bench_take(&b, 0);
	CU_ASSERT_FATAL(c != NULL);
	CU_ASSERT_EQUAL(c->offset, 3 * CHUNK);
	CU_ASSERT_EQUAL(c->count, CHUNK);
	CU_ASSERT_EQUAL(c->stable, WB_FILE_SYNC);
	CU_ASSERT_EQUAL(c->class, WB_FOREGROUND);
	bench_answer(&b, c, 0, WB_FILE_SYNC, 1);
	CU_ASSERT(bench_write(&b, h, 4 * CHUNK, CHUNK, 'a'));
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	stop();
}

static void
policy_timed_sleeps_through_the_completions_it_waits_for(void)
{
	static const struct bench_options o = {
		.slab_bytes = 4 * CHUNK, .reclaim_policy = RECLAIM_TIMED };
	struct wb_handle *h;
	unsigned rooms;

	start(&o);
	h = use(0);
	fill(h, 4 * CHUNK);
	rooms = b.rooms;
	bench_advance(&b, 10 * MSEC);
	bench_serve(&b, 1);		/* all is on stable storage */
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	CU_ASSERT_EQUAL(b.rooms, rooms);
	bench_advance(&b, 89 * MSEC);
	CU_ASSERT_EQUAL(b.rooms, rooms);
	CU_ASSERT_EQUAL(wb_deadline(b.wb), b.now + MSEC);
	bench_advance(&b, MSEC);
	CU_ASSERT_EQUAL(b.rooms, rooms + 1);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.sum, 100 * MSEC);
	CU_ASSERT_EQUAL(stats()->reclaim.reclaim_writes, 0);
	CU_ASSERT(bench_write(&b, h, 4 * CHUNK, CHUNK, 'a'));
	bench_serve(&b, 1);
	stop();
}

static void
hundred_writers_that_hold_a_little_never_stop_another(void)
{
	struct bench_options o = { .slab_bytes = MIB,
				   .dirty_bytes = 110 * CHUNK,
				   .background_bytes = 64 * CHUNK };
	struct wb_handle *h;
	unsigned i, n = 0;

	start(&o);
	b.check_every = 50;
	/* each writes a page, and has granted room that it does not fill */
	for (i = 0; i < 100; i++)
		if (!bench_write(&b, use(i), 0, 4096, 'a')) {
			bench_advance(&b, 10 * MSEC);
			CU_ASSERT(bench_write(&b, use(i), 0, 4096, 'a'));
		}
	CU_ASSERT(b.wb->granted_bytes > 10 * CHUNK);
	h = use(100);
	for (i = 0; i < 1000 && n < 200; i++) {
		if (bench_write(&b, h, (uint64_t)n * CHUNK, CHUNK, 'a')) {
			n++;
			continue;
		}
		bench_advance(&b, 10 * MSEC);
		bench_serve(&b, 1);
	}
	CU_ASSERT_EQUAL(n, 200);
	/* and they can go on */
	for (i = 0; i < 100; i++) {
		while (!bench_write(&b, use(i), 4096, 4096, 'a')) {
			bench_advance(&b, 10 * MSEC);
			bench_serve(&b, 1);
		}
	}
	bench_serve(&b, 1);
	stop();
}

static void
scattered_pieces_of_many_sessions_take_no_more_slots_than_there_are(void)
{
	static const struct bench_options o = { .slab_bytes = 8 * MIB,
						.background_bytes = 32 * MIB };
	unsigned i, j, round, slots, took[8] = { 0 };

	start(&o);
	b.wb->slots_max = 300;
	b.check_every = 1000;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 8; i++)
			for (j = 0; j < 2000; j++) {
				uint64_t at = (took[i] % 4000) * 8192;

				if (!bench_write(&b, use(i), at, 100, 'a'))
					break;
				took[i]++;
			}
		for (slots = i = 0; i < 8; i++)
			slots += (use(i), b.slab->fresh_nr);
		CU_ASSERT(slots <= 8 * 1024 + 300);
		CU_ASSERT(b.wb->slots_nr <= 300);
		bench_serve(&b, 1);
	}
	for (i = 0; i < 8; i++)
		CU_ASSERT(took[i] > 1500);	/* they go on */
	bench_advance(&b, 31000 * MSEC);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	stop();
}

static void
two_writers_at_a_limit_of_one_chunk_both_go_on(void)
{
	static const struct bench_options o = { .dirty_bytes = CHUNK,
						.background_bytes = CHUNK / 2 };
	uint64_t at[2] = { 0 };
	unsigned i, j;

	start(&o);
	for (i = 0; i < 400; i++)
		for (j = 0; j < 2; j++) {
			at[j] += bench_write_some(&b, use(j), at[j], 8192, 'a');
			CU_ASSERT(throttle_dirtied(b.wb) <= CHUNK);
			bench_advance(&b, 10 * MSEC);
			bench_serve(&b, 1);
		}
	CU_ASSERT(at[0] >= 20 * CHUNK);
	CU_ASSERT(at[1] >= 20 * CHUNK);
	stop();
}

/* The library's side of it is in lib_test: a caller is interrupted, or times
   out.  Here it is its session that ends. */
static void
a_writer_who_waits_for_room_can_go_and_its_data_stays(void)
{
	static const struct bench_options o = { .slab_bytes = 4 * CHUNK };
	struct wb_handle *h;

	start(&o);
	h = use(0);
	fill(h, 4 * CHUNK);
	CU_ASSERT(b.slab->waiting);
	handle_close(h, b.now, NULL, NULL);
	session[0].h = NULL;
	slab_release(b.slab, b.now);
	bench_advance(&b, 1800u * 1000000);
	CU_ASSERT_EQUAL(b.released, 0);
	CU_ASSERT_EQUAL(stats()->reclaim.slow_us.count, 1);
	bench_serve(&b, 1);
	CU_ASSERT_EQUAL(b.released, 1);
	CU_ASSERT_EQUAL(b.gave_up, 0);
	CU_ASSERT_EQUAL(wb_left_bytes(b.wb), 0);
	bench_free(&b);
}

UNIT_TESTS(reclaim,
	UNIT(grants_out_of_free_or_clean_chunks_are_fast_and_free_what_they_say),
	UNIT(slow_path_wakes_the_flusher_and_ends_with_the_completion_that_makes_room),
	UNIT(waiting_at_the_limit_is_not_reclaims_slow_path),
	UNIT(memory_writes_the_oldest_file_of_the_session_that_waits_and_no_others),
	UNIT(tails_go_when_they_are_all_that_a_full_slab_holds),
	UNIT(room_is_taken_from_what_is_on_stable_storage_and_from_nothing_else),
	UNIT(who_only_writes_takes_memory_for_what_is_not_stable_and_who_reads_for_all),
	UNIT(what_is_staged_never_exceeds_the_limit_however_many_write),
	UNIT(reclaim_never_calls_the_server_whatever_the_pressure),
	UNIT(policy_write_sends_the_oldest_piece_alone_stable_and_ahead),
	UNIT(policy_timed_sleeps_through_the_completions_it_waits_for),
	UNIT(hundred_writers_that_hold_a_little_never_stop_another),
	UNIT(scattered_pieces_of_many_sessions_take_no_more_slots_than_there_are),
	UNIT(two_writers_at_a_limit_of_one_chunk_both_go_on),
	UNIT(a_writer_who_waits_for_room_can_go_and_its_data_stays),
)
