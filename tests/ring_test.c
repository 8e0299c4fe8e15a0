/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ring_test.c - the layout of shared memory and the grant queue */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/ring.h"
#include "tests/unit.h"

static struct shm_view v;

static void
setup(uint32_t chunk_nr)
{
	uint64_t bytes = (uint64_t)chunk_nr * NFSWB_CHUNK_BYTES;
	struct nfswb_layout l;
	void *control;

	CU_ASSERT_EQUAL_FATAL(nfswb_layout(&l, bytes), 0);
	control = aligned_alloc(4096, l.bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(control);
	memset(control, 0, l.bytes);
	CU_ASSERT_EQUAL_FATAL(shm_view_init(&v, control, NULL, bytes), 0);
	shm_view_format(&v, 42);
}

static void
teardown(void)
{
	free(v.control);
}

static void
parts_do_not_overlap_and_fit(void)
{
	static const uint32_t nr[] = { 1, 2, 3, 17, 1024, 4096, 32768 };
	struct nfswb_layout l = { 0 };
	unsigned i;

	for (i = 0; i < sizeof nr / sizeof *nr; i++) {
		CU_ASSERT_EQUAL(nfswb_layout(&l, (uint64_t)nr[i] *
					     NFSWB_CHUNK_BYTES), 0);
		CU_ASSERT_EQUAL(l.chunk_nr, nr[i]);
		CU_ASSERT(l.grant_nr >= nr[i]);
		CU_ASSERT(l.grant_off >= sizeof(struct nfswb_control));
		CU_ASSERT(l.shared_off >= l.grant_off + 4ull * l.grant_nr);
		CU_ASSERT(l.mark_off >= l.shared_off + NFSWB_FILES_MAX);
		CU_ASSERT(l.ring_off >= l.mark_off + 8ull * l.chunk_nr);
		CU_ASSERT(l.list_off >= l.ring_off + 32ull * l.ring_nr);
		CU_ASSERT(l.bytes >= l.list_off + 64ull * l.list_nr);
		CU_ASSERT(l.bytes <= NFSWB_CONTROL_MAX);
	}
}

static void
sizes_that_fit_no_layout_are_refused(void)
{
	static const uint64_t bad[] = { 0, 1, 65535, 65537,
					(1ull << 31) + 65536 };
	unsigned i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		CU_ASSERT_EQUAL(shm_view_init(&v, NULL, NULL, bad[i]), -1);
}

static void
fresh_area_has_all_marks_closed_and_no_grant(void)
{
	uint32_t i;

	setup(17);
	CU_ASSERT_EQUAL(v.control->magic, NFSWB_SHM_MAGIC);
	CU_ASSERT_EQUAL(v.control->session, 42);
	CU_ASSERT_EQUAL(v.control->chunk_nr, 17);
	CU_ASSERT_EQUAL(v.control->data_bytes, 17 * NFSWB_CHUNK_BYTES);
	for (i = 0; i < 17; i++)
		CU_ASSERT_EQUAL(v.mark[i], NFSWB_MARK_CLOSED);
	CU_ASSERT_EQUAL(ring_grant_pop(&v), NFSWB_NO_CHUNK);
	teardown();
}

static void
grants_come_out_in_order_and_wrap(void)
{
	uint32_t i, round;

	setup(20);	/* a queue of 32 */
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 20; i++)
			ring_grant(&v, (i + round) % 20);
		for (i = 0; i < 20; i++)
			CU_ASSERT_EQUAL(ring_grant_pop(&v), (i + round) % 20);
		CU_ASSERT_EQUAL(ring_grant_pop(&v), NFSWB_NO_CHUNK);
	}
	teardown();
}

static void
slots_repeat_after_ring_nr_positions(void)
{
	setup(1);
	CU_ASSERT_PTR_EQUAL(ring_slot(&v, 0), ring_slot(&v, NFSWB_RING_SLOTS));
	CU_ASSERT_PTR_EQUAL(ring_slot(&v, UINT64_MAX) + 1,
			    v.ring + v.layout.ring_nr);
	teardown();
}

/* Two threads take, the main one grants again what it is handed back. */
enum { CHUNKS = 8, ROUNDS = 20000 };
static _Atomic uint32_t taken_nr, back[CHUNKS];

static void *
taker(void *arg)
{
	uint32_t chunk;

	(void)arg;
	while (atomic_load(&taken_nr) < ROUNDS) {
		chunk = ring_grant_pop(&v);
		if (chunk == NFSWB_NO_CHUNK)
			continue;
		atomic_fetch_add(&taken_nr, 1);
		/* twice at once would be seen here */
		atomic_fetch_add(&back[chunk], 1);
	}
	return NULL;
}

static void
every_grant_is_taken_once_by_two_threads(void)
{
	uint32_t i, granted = CHUNKS, doubled = 0;
	pthread_t t[2];

	setup(CHUNKS);
	for (i = 0; i < CHUNKS; i++)
		ring_grant(&v, i);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, taker, NULL),
				      0);
	for (i = 0; granted < ROUNDS; i = (i + 1) % CHUNKS) {
		uint32_t n = atomic_exchange(&back[i], 0);

		doubled += n > 1;
		if (n) {
			ring_grant(&v, i);
			granted++;
		}
	}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CU_ASSERT_EQUAL(doubled, 0);
	CU_ASSERT_EQUAL(taken_nr, ROUNDS);
	CU_ASSERT_EQUAL(ring_grant_pop(&v), NFSWB_NO_CHUNK);
	teardown();
}

UNIT_TESTS(ring,
	UNIT(parts_do_not_overlap_and_fit),
	UNIT(sizes_that_fit_no_layout_are_refused),
	UNIT(fresh_area_has_all_marks_closed_and_no_grant),
	UNIT(grants_come_out_in_order_and_wrap),
	UNIT(slots_repeat_after_ring_nr_positions),
	UNIT(every_grant_is_taken_once_by_two_threads),
)
