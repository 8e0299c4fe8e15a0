/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cli_test.c - what nfswb makes of names, sizes and times */
#include <stdlib.h>
#include <string.h>

#include "cli/every.h"
#include "cli/progress.h"
#include "cli/statistics.h"
#include "cli/target.h"
#include "cli/units.h"
#include "tests/unit.h"

static void
sizes_have_two_or_three_digits_and_a_unit(void)
{
	CU_ASSERT_STRING_EQUAL(units_bytes(0).s, "0 B");
	CU_ASSERT_STRING_EQUAL(units_bytes(1023).s, "1023 B");
	CU_ASSERT_STRING_EQUAL(units_bytes(1024).s, "1.0 KiB");
	CU_ASSERT_STRING_EQUAL(units_bytes(1536).s, "1.5 KiB");
	CU_ASSERT_STRING_EQUAL(units_bytes(100 * 1024).s, "100 KiB");
	CU_ASSERT_STRING_EQUAL(units_bytes(1u << 30).s, "1.0 GiB");
	CU_ASSERT_STRING_EQUAL(units_bytes(UINT64_MAX).s, "16.0 EiB");
}

static void
a_size_just_below_a_unit_is_one_of_that_unit(void)
{
	CU_ASSERT_STRING_EQUAL(units_bytes((1u << 20) - 1).s, "1.0 MiB");
	CU_ASSERT_STRING_EQUAL(units_bytes(1023 * 1024).s, "1023 KiB");
}

static void
rates_survive_what_is_no_number(void)
{
	CU_ASSERT_STRING_EQUAL(units_rate(0).s, "0 B/s");
	CU_ASSERT_STRING_EQUAL(units_rate(0.0 / 0.0).s, "0 B/s");
	CU_ASSERT_STRING_EQUAL(units_rate(-5).s, "0 B/s");
	CU_ASSERT_STRING_EQUAL(units_rate(450.0 * 1024 * 1024).s, "450 MiB/s");
	CU_ASSERT(strlen(units_rate(1.0 / 0.0).s) < 20);
}

static void
times_name_their_two_largest_parts(void)
{
	CU_ASSERT_STRING_EQUAL(units_usec(0).s, "0");
	CU_ASSERT_STRING_EQUAL(units_usec(999).s, "999 us");
	CU_ASSERT_STRING_EQUAL(units_usec(1500).s, "1.5 ms");
	CU_ASSERT_STRING_EQUAL(units_usec(999999).s, "1.0 s");
	CU_ASSERT_STRING_EQUAL(units_usec(59900000).s, "59.9 s");
	CU_ASSERT_STRING_EQUAL(units_usec(59999999).s, "1 min 0 s");
	CU_ASSERT_STRING_EQUAL(units_usec(125000000).s, "2 min 5 s");
	CU_ASSERT_STRING_EQUAL(units_usec(3600000000).s, "1 h 0 min");
	CU_ASSERT_STRING_EQUAL(units_usec(90000000000).s, "1 d 1 h");
}

static void
counts_are_whole_until_they_are_long(void)
{
	CU_ASSERT_STRING_EQUAL(units_count(99999).s, "99999");
	CU_ASSERT_STRING_EQUAL(units_count(100000).s, "100 k");
	CU_ASSERT_STRING_EQUAL(units_count(1234567).s, "1.2 M");
}

static void
seconds_are_a_number_above_0(void)
{
	CU_ASSERT_EQUAL(units_parse_seconds("2"), 2000);
	CU_ASSERT_EQUAL(units_parse_seconds("0.5"), 500);
	CU_ASSERT_EQUAL(units_parse_seconds("0"), -1);
	CU_ASSERT_EQUAL(units_parse_seconds("-1"), -1);
	CU_ASSERT_EQUAL(units_parse_seconds("1s"), -1);
	CU_ASSERT_EQUAL(units_parse_seconds(""), -1);
	CU_ASSERT_EQUAL(units_parse_seconds("nan"), -1);
	CU_ASSERT_EQUAL(units_parse_seconds("1e9"), -1);
	CU_ASSERT_EQUAL(units_parse_count("7"), 7);
	CU_ASSERT_EQUAL(units_parse_count("0"), -1);
	CU_ASSERT_EQUAL(units_parse_count("99999999999"), -1);
}

static void
is(char *got, const char *want)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_STRING_EQUAL(got, want);
	free(got);
}

static void
a_name_joins_a_url_in_front_of_its_query(void)
{
	is(target_join("nfs://s/x", "a"), "nfs://s/x/a");
	is(target_join("nfs://s/x/", "a"), "nfs://s/x/a");
	is(target_join("nfs://s/x//?nfsport=1&mountport=2", "a/b"),
	   "nfs://s/x/a/b?nfsport=1&mountport=2");
	is(target_join("nfs://[::1]:20049/x?nfsport=1", "a"),
	   "nfs://[::1]:20049/x/a?nfsport=1");
}

static void
a_name_is_encoded_in_a_url_only(void)
{
	is(target_join("nfs://s/x", "a b?c%d#e"), "nfs://s/x/a%20b%3Fc%25d%23e");
	is(target_join("nfs://s/x", "\xc3\xa4"), "nfs://s/x/%C3%A4");
	is(target_join("backup:/x", "a b?c%d"), "backup:/x/a b?c%d");
	is(target_join("backup:/x?y", "a"), "backup:/x?y/a");
	is(target_join("backup:/", "a"), "backup:/a");
}

static void
a_trailing_slash_is_the_paths_not_the_querys(void)
{
	CU_ASSERT(target_ends_in_slash("nfs://s/x/"));
	CU_ASSERT(target_ends_in_slash("nfs://s/x/?nfsport=1"));
	CU_ASSERT_FALSE(target_ends_in_slash("nfs://s/x?a=b/"));
	CU_ASSERT(target_ends_in_slash("backup:/"));
	CU_ASSERT_FALSE(target_ends_in_slash(""));
}

static void
the_last_name_of_a_target_is_decoded(void)
{
	is(target_base("nfs://s/x/a%20b?nfsport=1"), "a b");
	is(target_base("nfs://s/x/a%2"), "a%2");
	is(target_base("nfs://s/x/dir/"), "dir");
	is(target_base("nfs://s"), "");
	is(target_base("nfs://s?nfsport=1"), "");
	is(target_base("backup:/a%20b"), "a%20b");
	is(target_base("backup:/"), "");
}

static void
dots_and_the_root_have_no_name(void)
{
	is(path_base("/a/b"), "b");
	is(path_base("b//"), "b");
	is(path_base("."), "");
	is(path_base("a/.."), "");
	is(path_base("/"), "");
}

static void
the_bar_fits_its_width(void)
{
	char line[200];

	for (unsigned width = 0; width < 250; width++) {
		progress_line(line, sizeof(line), width, 460u << 20, 1u << 30,
			      430.0 * (1 << 20));
		CU_ASSERT(strlen(line) <= width);
	}
}

static void
the_bar_says_how_far_and_how_long(void)
{
	char line[200];

	progress_line(line, sizeof(line), 100, 512u << 20, 1u << 30,
		      128.0 * (1 << 20));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " 50%"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "512 MiB of 1.0 GiB"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "128 MiB/s"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "5.0 s left"));
	progress_line(line, sizeof(line), 100, 5, 0, 0);
	CU_ASSERT_STRING_EQUAL(line, "5 B  0 B/s");
	progress_line(line, sizeof(line), 100, 7, 5, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "100%"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "storing"));
}

static void
a_missing_key_reads_as_nothing(void)
{
	json_t *root = json_pack("{s:{s:I}}", "a", "b", (json_int_t)7);

	CU_ASSERT_EQUAL(stat_int(root, "a.b"), 7);
	CU_ASSERT_EQUAL(stat_int(root, "a.c"), 0);
	CU_ASSERT_EQUAL(stat_int(root, "x.y.z"), 0);
	CU_ASSERT_STRING_EQUAL(stat_text(root, "a.b"), "");
	CU_ASSERT_EQUAL(stat_mean(root, "a"), 0);
	CU_ASSERT_PTR_NULL(stat_server(root, "s"));
	CU_ASSERT_EQUAL(stat_int(NULL, "a"), 0);
	json_decref(root);
}

static void
reports_end_by_count(void)
{
	struct every once = { 0, 0, 0 }, thrice = { 1, 3, 0 };

	CU_ASSERT_FALSE(every_wait(&once));
	CU_ASSERT(every_wait(&thrice));
	CU_ASSERT(every_wait(&thrice));
	CU_ASSERT_FALSE(every_wait(&thrice));
}

UNIT_TESTS(cli,
	UNIT(sizes_have_two_or_three_digits_and_a_unit),
	UNIT(a_size_just_below_a_unit_is_one_of_that_unit),
	UNIT(rates_survive_what_is_no_number),
	UNIT(times_name_their_two_largest_parts),
	UNIT(counts_are_whole_until_they_are_long),
	UNIT(seconds_are_a_number_above_0),
	UNIT(a_name_joins_a_url_in_front_of_its_query),
	UNIT(a_name_is_encoded_in_a_url_only),
	UNIT(a_trailing_slash_is_the_paths_not_the_querys),
	UNIT(the_last_name_of_a_target_is_decoded),
	UNIT(dots_and_the_root_have_no_name),
	UNIT(the_bar_fits_its_width),
	UNIT(the_bar_says_how_far_and_how_long),
	UNIT(a_missing_key_reads_as_nothing),
	UNIT(reports_end_by_count),
)
