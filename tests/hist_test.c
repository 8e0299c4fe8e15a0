/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hist_test.c - percentiles from buckets */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist.h"
#include "tests/unit.h"

static void
empty_histogram_answers_0(void)
{
	struct hist h = { 0 };

	CU_ASSERT_EQUAL(hist_percentile(&h, 500), 0);
	CU_ASSERT_EQUAL(hist_percentile(&h, 1000), 0);
}

static void
small_values_are_exact(void)
{
	struct hist h = { 0 };
	unsigned i;

	for (i = 0; i < 8; i++)
		hist_add(&h, i);
	CU_ASSERT_EQUAL(h.count, 8);
	CU_ASSERT_EQUAL(h.sum, 28);
	CU_ASSERT_EQUAL(hist_percentile(&h, 0), 0);
	CU_ASSERT_EQUAL(hist_percentile(&h, 500), 3);
	CU_ASSERT_EQUAL(hist_percentile(&h, 1000), 7);
}

static void
percentile_never_passes_the_greatest_value(void)
{
	struct hist h = { 0 };

	hist_add(&h, 1000001);
	CU_ASSERT_EQUAL(hist_percentile(&h, 500), 1000001);
	CU_ASSERT_EQUAL(h.max, 1000001);
}

static void
values_beyond_the_last_bucket_are_kept_as_max(void)
{
	struct hist h = { 0 };

	hist_add(&h, 5);
	hist_add(&h, UINT64_MAX / 4);
	CU_ASSERT_EQUAL(hist_percentile(&h, 500), 5);
	CU_ASSERT_EQUAL(hist_percentile(&h, 1000), UINT64_MAX / 4);
}

static int
cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
percentiles_are_right_within_an_eighth(void)
{
	enum { NR = 5000 };
	static const unsigned permille[] = { 1, 10, 500, 900, 990, 999, 1000 };
	static uint64_t v[NR];
	unsigned seed, i, p;
	struct hist h;

	for (seed = 1; seed <= 20; seed++) {
		printf("# seed %u\n", seed);
		srand(seed);
		memset(&h, 0, sizeof h);
		for (i = 0; i < NR; i++) {
			v[i] = (uint64_t)rand() << (rand() % 10) >>
			       (rand() % 31);
			hist_add(&h, v[i]);
		}
		qsort(v, NR, sizeof *v, cmp_u64);
		for (p = 0; p < sizeof permille / sizeof *permille; p++) {
			uint64_t real = v[(NR * permille[p] + 999) / 1000 - 1];
			uint64_t said = hist_percentile(&h, permille[p]);

			CU_ASSERT(said >= real);
			CU_ASSERT(said <= real + real / 8);
		}
	}
}

UNIT_TESTS(hist,
	UNIT(empty_histogram_answers_0),
	UNIT(small_values_are_exact),
	UNIT(percentile_never_passes_the_greatest_value),
	UNIT(values_beyond_the_last_bucket_are_kept_as_max),
	UNIT(percentiles_are_right_within_an_eighth),
)
