/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* target_test.c - targets taken apart, exports chosen, sizes made of FSINFO */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fh.h"
#include "daemon/sizes.h"
#include "daemon/target.h"
#include "tests/unit.h"

static struct config_mount mounts[] = {
	{ .name = (char *)"data", .target = (char *)
	  "nfs://nas:2049/export/data%20x?mountport=20048" },
	{ .name = (char *)"root", .target = (char *)"nfs://[::1]/" },
	{ .name = (char *)"broken", .target = (char *)"nfs:/oops" },
};

static struct config
config(enum config_switch allow_urls)
{
	struct config c = { .allow_urls = allow_urls, .mount = mounts,
			    .mount_nr = 3 };

	return c;
}

struct expected {
	const char *text;
	const char *host, *path, *base;
	unsigned nfsport, mountport;
};

static void
check(const struct expected *e)
{
	struct config c = config(CONFIG_YES);
	struct target t;
	char *error;

	CU_ASSERT_EQUAL_FATAL(target_parse(&c, e->text, &t, &error), 0);
	CU_ASSERT_STRING_EQUAL(t.text, e->text);
	CU_ASSERT_STRING_EQUAL(t.host, e->host);
	CU_ASSERT_STRING_EQUAL(t.path, e->path);
	CU_ASSERT_STRING_EQUAL(t.base, e->base);
	CU_ASSERT_EQUAL(t.nfsport, e->nfsport);
	CU_ASSERT_EQUAL(t.mountport, e->mountport);
	target_clear(&t);
}

static void
targets_are_taken_apart(void)
{
	static const struct expected table[] = {
		{ "nfs://nas/a", "nas", "/a", "", 0, 0 },
		{ "nfs://nas/", "nas", "/", "", 0, 0 },
		{ "nfs://nas//a/./b//", "nas", "/a/b", "", 0, 0 },
		{ "nfs://nas:20490/a", "nas", "/a", "", 20490, 0 },
		{ "nfs://nas/a?nfsport=1&mountport=65535", "nas", "/a", "", 1,
		  65535 },
		{ "nfs://nas:5/a?nfsport=6", "nas", "/a", "", 6, 0 },
		{ "nfs://[fe80::1%25eth0]:7/a?", "fe80::1%25eth0", "/a", "",
		  7, 0 },
		{ "nfs://[::1]/a:b", "::1", "/a:b", "", 0, 0 },
		{ "nfs://nas/a%20b%3fc%2F%c3%A4", "nas", "/a b?c/\xc3\xa4",
		  "", 0, 0 },
		{ "nfs://nas/..a/b..", "nas", "/..a/b..", "", 0, 0 },
		{ "data:/", "nas", "/export/data x", "/export/data x", 2049,
		  20048 },
		{ "data:/a%20b?c", "nas", "/export/data x/a%20b?c",
		  "/export/data x", 2049, 20048 },
		{ "root:/a", "::1", "/a", "/", 0, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		check(&table[i]);
}

static void
refused(enum config_switch urls, const char *text, int err, const char *words)
{
	struct config c = config(urls);
	struct target t;
	char *error;

	CU_ASSERT_EQUAL_FATAL(target_parse(&c, text, &t, &error), err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(error, words));
	CU_ASSERT_PTR_NULL(strchr(error, '\n'));
	CU_ASSERT_PTR_NULL(t.text);
	free(error);
}

static void
malformed_targets_are_refused_in_words(void)
{
	static const struct {
		const char *text, *words;
	} table[] = {
		{ "nfs:/x", "malformed target 'nfs:/x': a target is "
			    "nfs://server/export/path or NAME:/path" },
		{ "", "a target is" },
		{ "/a/b", "a target is" },
		{ "a", "a target is" },
		{ "a:b", "a target is" },
		{ ":/a", "a target is" },
		{ "http://nas/a", "a target is" },
		{ "nfs://nas", "a target is" },
		{ "nfs:///a", "a target is" },
		{ "nfs://::1/a", "stands in brackets" },
		{ "nfs://[::1/a", "ends with ']'" },
		{ "nfs://[::1]x/a", "ends with ']'" },
		{ "nfs://nas:/a", "a port from 1 to 65535" },
		{ "nfs://nas:65536/a", "a port from 1 to 65535" },
		{ "nfs://nas:0/a", "a port from 1 to 65535" },
		{ "nfs://nas/a?nfsport=x", "nfsport needs a port" },
		{ "nfs://nas/a?mountport", "mountport needs a port" },
		{ "nfs://nas/a?uid=0", "unknown option 'uid'" },
		{ "nfs://nas/a%2", "two hex digits" },
		{ "nfs://nas/a%zz", "two hex digits" },
		{ "nfs://nas/a%00b", "two hex digits" },
		{ "nfs://nas/a/../b", "may not hold '..'" },
		{ "nfs://nas/a/%2e%2e", "may not hold '..'" },
		{ "data:/..", "may not hold '..'" },
		{ "broken:/a", "[mount broken]: its target must be" },
	};
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		refused(CONFIG_YES, table[i].text, -EINVAL, table[i].words);
}

static void
an_unknown_mount_is_named(void)
{
	refused(CONFIG_YES, "foo:/x", -ENODEV, "unknown mount 'foo': not in "
		"the [mount] sections of the configuration");
}

static void
urls_are_refused_where_the_configuration_says_so(void)
{
	struct config c = config(CONFIG_NO);
	struct target t;
	char *error;

	refused(CONFIG_NO, "nfs://nas/a", -EACCES, "takes only NAME:/path");
	CU_ASSERT_EQUAL(target_parse(&c, "data:/a", &t, &error), 0);
	target_clear(&t);
	/* what was taken before is not refused now */
	CU_ASSERT_EQUAL(target_parse_again(&c, "nfs://nas/a", &t), 0);
	target_clear(&t);
}

static void
below_counts_whole_components(void)
{
	CU_ASSERT_STRING_EQUAL(target_below("/a/b", "/a"), "b");
	CU_ASSERT_STRING_EQUAL(target_below("/a/b/", "/a/"), "b/");
	CU_ASSERT_STRING_EQUAL(target_below("/a", "/a"), "");
	CU_ASSERT_STRING_EQUAL(target_below("/a/b", "/"), "a/b");
	CU_ASSERT_PTR_NULL(target_below("/ab", "/a"));
	CU_ASSERT_PTR_NULL(target_below("/a", "/a/b"));
}

static void
the_longest_export_above_a_path_is_chosen(void)
{
	char *exports[] = { (char *)"/a", (char *)"/a/b/c", (char *)"/a/b",
			    (char *)"/z" };

	CU_ASSERT_STRING_EQUAL(exports_longest(exports, 4, "/a/b/x"), "/a/b");
	CU_ASSERT_STRING_EQUAL(exports_longest(exports, 4, "/a/bc"), "/a");
	CU_ASSERT_PTR_NULL(exports_longest(exports, 4, "/y"));
}

static void
handles_become_hex_and_back(void)
{
	struct fh fh, back;
	char hex[2 * FH_MAX + 1];

	fh_set(&fh, "\x00\xff\x1a", 3);
	fh_to_hex(&fh, hex);
	CU_ASSERT_STRING_EQUAL(hex, "00ff1a");
	CU_ASSERT_EQUAL(fh_from_hex(&back, hex), 0);
	CU_ASSERT(fh_equal(&fh, &back));
	CU_ASSERT(fh_from_hex(&back, "0") < 0);
	CU_ASSERT(fh_from_hex(&back, "0x") < 0);
	CU_ASSERT(fh_from_hex(&back, "") < 0);
}

/* ---- sizes ---- */

static void
wsize_is_the_servers_preference(void)
{
	struct fsinfo f = { .wtmax = 1048576, .wtpref = 65536, .wtmult = 512 };

	CU_ASSERT_EQUAL(sizes_wsize(&f, 0, "t"), 65536);
	CU_ASSERT_EQUAL(sizes_wsize(&f, 262144, "t"), 262144);
	CU_ASSERT_EQUAL(sizes_wsize(&f, 4 << 20, "t"), 1048576);
	CU_ASSERT_EQUAL(sizes_wsize(&f, 1000, "t"), 4096);
	CU_ASSERT_EQUAL(sizes_wsize(&f, 70000, "t"), 69632);
}

static void
a_servers_nonsense_is_clamped(void)
{
	struct fsinfo f = { .wtmax = 0, .wtpref = 0, .rtmax = 4 << 20,
			    .rtpref = 8 << 20 };

	CU_ASSERT_EQUAL(sizes_wsize(&f, 0, "t"), 32768);
	CU_ASSERT_EQUAL(sizes_rsize(&f, 0, "t"), 1048576);
	f.wtmax = 512;
	CU_ASSERT_EQUAL(sizes_wsize(&f, 0, "t"), 4096);
	f.wtmax = 65536;
	f.wtpref = 1 << 20;
	CU_ASSERT_EQUAL(sizes_wsize(&f, 0, "t"), 65536);
	f.wtmult = 24576;
	CU_ASSERT_EQUAL(sizes_wsize(&f, 0, "t"), 49152);
	CU_ASSERT_EQUAL(sizes_max_file(&f), (uint64_t)INT64_MAX);
}

static void
the_congestion_limit_is_the_kernels(void)
{
	/* 16 * sqrt(4194304 pages) pages of 4 KiB for 16 GiB */
	CU_ASSERT_EQUAL(sizes_congestion_bytes(0, 4194304, 4096),
			131072ull * 1024);
	CU_ASSERT_EQUAL(sizes_congestion_bytes(0, 1ull << 30, 4096),
			256ull << 20);
	CU_ASSERT_EQUAL(sizes_congestion_bytes(0, 16, 4096), 512 * 1024);
	CU_ASSERT_EQUAL(sizes_congestion_bytes(64, 4194304, 4096), 65536);
}

UNIT_TESTS(target,
	UNIT(targets_are_taken_apart),
	UNIT(malformed_targets_are_refused_in_words),
	UNIT(an_unknown_mount_is_named),
	UNIT(urls_are_refused_where_the_configuration_says_so),
	UNIT(below_counts_whole_components),
	UNIT(the_longest_export_above_a_path_is_chosen),
	UNIT(handles_become_hex_and_back),
	UNIT(wsize_is_the_servers_preference),
	UNIT(a_servers_nonsense_is_clamped),
	UNIT(the_congestion_limit_is_the_kernels),
)
