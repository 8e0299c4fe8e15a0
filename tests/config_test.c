/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* config_test.c - the configuration file: what is taken, what is refused and
   where, and that the example and the manual know every key */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "tests/unit.h"

static char path[64];

static void
file_write(const char *text)
{
	int fd;

	strcpy(path, "/tmp/config_test.XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct config *
load(const char *text, char **error)
{
	struct config *c;

	file_write(text);
	c = config_load(path, error);
	unlink(path);
	return c;
}

static struct config *
load_good(const char *text)
{
	char *error;
	struct config *c = load(text, &error);

	if (error)
		printf("# %s\n", error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_PTR_NULL(error);
	return c;
}

static void
empty_file_means_the_defaults(void)
{
	struct config *c = load_good("");

	CU_ASSERT_EQUAL(c->slab_bytes, 256u << 20);
	CU_ASSERT(c->dirty_bytes <= 1u << 30);
	CU_ASSERT_EQUAL(c->dirty_background_bytes, c->dirty_bytes / 2);
	CU_ASSERT_EQUAL(c->dirty_expire_centisecs, 3000);
	CU_ASSERT_EQUAL(c->clean_expire_sec, 60);
	CU_ASSERT_EQUAL(c->late_duplicate_sec, 10);
	CU_ASSERT_EQUAL(c->grace_sec, 30);
	CU_ASSERT_EQUAL(c->stop_timeout_sec, 90);
	CU_ASSERT_EQUAL(c->allow_urls, geteuid() < 1000 ? CONFIG_NO : CONFIG_YES);
	CU_ASSERT_EQUAL(c->admin_gid, (gid_t)-1);
	CU_ASSERT(!c->map_root.set);
	CU_ASSERT_EQUAL(c->limits.max_sessions, 1024);
	CU_ASSERT_EQUAL(c->limits.max_files, 65536);
	CU_ASSERT_EQUAL(c->limits.max_slab_bytes, 0);
	CU_ASSERT_EQUAL(c->limits.max_messages_per_sec, 50000);
	CU_ASSERT_EQUAL(c->log_level, LOG_LEVEL_INFO);
	CU_ASSERT_EQUAL(c->socket_mode, geteuid() < 1000 ? 0666 : 0600);
	CU_ASSERT_EQUAL(c->experiments, false);
	CU_ASSERT_EQUAL(c->server.timeo, 600);
	CU_ASSERT_EQUAL(c->server.retrans, 2);
	CU_ASSERT_EQUAL(c->server.slot_table_entries, 64);
	CU_ASSERT_EQUAL(c->server.nconnect, 1);
	CU_ASSERT_EQUAL(c->server.resvport, RPC_RESVPORT_AUTO);
	CU_ASSERT_EQUAL(c->server.wbt_lat_usec, WBT_AUTO);
	CU_ASSERT_EQUAL(c->server.congestion_policy, CONGESTION_SPLIT);
	config_free(c);
}

static void
sizes_take_suffixes(void)
{
	struct config *c = load_good("[nfswbd]\nslab_bytes = 4M\n"
				     "dirty_bytes=2G\n"
				     "dirty_background_bytes = 131072\n"
				     "wsize = 64k\n");

	CU_ASSERT_EQUAL(c->slab_bytes, 4u << 20);
	CU_ASSERT_EQUAL(c->dirty_bytes, 2ull << 30);
	CU_ASSERT_EQUAL(c->dirty_background_bytes, 131072);
	CU_ASSERT_EQUAL(c->server.wsize, 65536);
	config_free(c);
}

static void
background_follows_a_dirty_bytes_that_is_given(void)
{
	struct config *c = load_good("[nfswbd]\ndirty_bytes = 64M\n");

	CU_ASSERT_EQUAL(c->dirty_background_bytes, 32u << 20);
	config_free(c);
}

/* Whether [nfswbd] stands before or behind it. */
static void
mount_inherits_what_it_does_not_override(void)
{
	struct config *c = load_good(
		"[mount home]\ntarget = nfs://h/home\nwsize = 8K\n"
		"[nfswbd]\nwsize = 32K\ntimeo = 50\nsoft = yes\n");
	const struct config_mount *m = config_find_mount(c, "home/x", 4);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_STRING_EQUAL(m->target, "nfs://h/home");
	CU_ASSERT_EQUAL(m->server.wsize, 8192);
	CU_ASSERT_EQUAL(m->server.timeo, 50);
	CU_ASSERT_EQUAL(m->server.soft, true);
	CU_ASSERT_EQUAL(c->server.wsize, 32768);
	CU_ASSERT_PTR_NULL(config_find_mount(c, "hom", 3));
	config_free(c);
}

static void
uid_section_takes_names_and_numbers(void)
{
	struct config *c = load_good("[uid root]\nweight = 5\n"
				     "[uid 12345]\nmax_files = 7\n");

	CU_ASSERT_EQUAL_FATAL(c->uid_nr, 2);
	CU_ASSERT_EQUAL(c->uid[0].uid, 0);
	CU_ASSERT_EQUAL(c->uid[0].limits.weight, 5);
	CU_ASSERT_EQUAL(c->uid[1].uid, 12345);
	CU_ASSERT_EQUAL(c->uid[1].limits.weight, 100);
	CU_ASSERT_EQUAL(c->uid[1].limits.max_files, 7);
	config_free(c);
}

static void
users_have_the_limits_of_all_where_their_section_has_no_other(void)
{
	struct config *c = load_good(
		"[uid 12345]\nmax_files = 7\n[uid 12346]\n"
		"[nfswbd]\nmax_sessions = 3\nmax_files = 5\n"
		"max_slab_bytes = 8M\nmax_messages_per_sec = 0\n");

	CU_ASSERT_EQUAL(config_limits_of(c, 12345)->max_files, 7);
	CU_ASSERT_EQUAL(config_limits_of(c, 12345)->max_sessions, 3);
	CU_ASSERT_EQUAL(config_limits_of(c, 12346)->max_files, 5);
	CU_ASSERT_EQUAL(config_limits_of(c, 1)->max_files, 5);
	CU_ASSERT_EQUAL(config_limits_of(c, 1)->max_slab_bytes, 8u << 20);
	CU_ASSERT_EQUAL(config_limits_of(c, 1)->max_messages_per_sec, 0);
	CU_ASSERT_EQUAL(config_limits_of(c, 1)->weight, 100);
	config_free(c);
}

static void
lists_take_names_and_numbers_by_blanks_and_commas(void)
{
	struct config *c = load_good(
		"[mount m]\ntarget = nfs://h/e\n"
		"allow_users = root, 12345 7\nallow_groups=root,8\n"
		"[mount n]\ntarget = nfs://h/e\n");

	CU_ASSERT_EQUAL_FATAL(c->mount[0].allow_users.nr, 3);
	CU_ASSERT_EQUAL(c->mount[0].allow_users.id[0], 0);
	CU_ASSERT_EQUAL(c->mount[0].allow_users.id[1], 12345);
	CU_ASSERT_EQUAL(c->mount[0].allow_users.id[2], 7);
	CU_ASSERT_EQUAL_FATAL(c->mount[0].allow_groups.nr, 2);
	CU_ASSERT_EQUAL(c->mount[0].allow_groups.id[1], 8);
	CU_ASSERT_EQUAL(c->mount[1].allow_users.nr, 0);
	config_free(c);
}

static void
a_mount_for_some_only_allows_no_urls_by_itself(void)
{
	struct config *c = load_good("[mount m]\ntarget = nfs://h/e\n"
				     "allow_groups = root\n");

	CU_ASSERT_EQUAL(c->allow_urls, CONFIG_NO);
	config_free(c);
	CU_ASSERT(config_is_system(0));
	CU_ASSERT(config_is_system(999));
	CU_ASSERT_FALSE(config_is_system(1000));
}

static void
root_is_mapped_to_a_user_by_name_or_numbers(void)
{
	struct config *c = load_good("[nfswbd]\nmap_root = 65534:7\n");

	CU_ASSERT(c->map_root.set);
	CU_ASSERT_EQUAL(c->map_root.uid, 65534);
	CU_ASSERT_EQUAL(c->map_root.gid, 7);
	config_free(c);
	c = load_good("[nfswbd]\nmap_root = root\nadmin_group = root\n");
	CU_ASSERT(c->map_root.set);
	CU_ASSERT_EQUAL(c->map_root.uid, 0);
	CU_ASSERT_EQUAL(c->admin_gid, 0);
	config_free(c);
}

static void
keys_of_memory_and_time_reach_the_pipeline_in_its_units(void)
{
	struct config *c = load_good(
		"[nfswbd]\ndirty_bytes = 64M\ndirty_background_bytes = 8M\n"
		"dirty_expire_centisecs = 123\nclean_expire_sec = 7\n"
		"late_duplicate_sec = 5\ndirty_throttling = none\n"
		"reclaim_policy = timed\nexperiments = yes\n");
	struct wb_limits l = config_pipeline(c);

	CU_ASSERT_EQUAL(l.dirty_bytes, 64u << 20);
	CU_ASSERT_EQUAL(l.dirty_background_bytes, 8u << 20);
	CU_ASSERT_EQUAL(l.dirty_expire_usec, 1230000);
	CU_ASSERT_EQUAL(l.clean_expire_usec, 7000000);
	CU_ASSERT_EQUAL(l.late_duplicate_usec, 5000000);
	CU_ASSERT_EQUAL(l.dirty_throttling, THROTTLE_NONE);
	CU_ASSERT_EQUAL(l.reclaim_policy, RECLAIM_TIMED);
	CU_ASSERT(l.whole_grants);
	config_free(c);
}

static void
unsafe_value_is_taken_under_experiments(void)
{
	struct config *c = load_good("[mount m]\ntarget = nfs://h/e\n"
				     "congestion_policy = none\n"
				     "[nfswbd]\nexperiments = yes\n");

	CU_ASSERT_EQUAL(c->mount[0].server.congestion_policy, CONGESTION_NONE);
	config_free(c);
}

static void
indented_lines_and_comments_are_fine(void)
{
	struct config *c = load_good("# a\n; b\n\n  [nfswbd]\r\n"
				     "\tgrace_sec = 5\n\tretrans = 3 ; why\n");

	CU_ASSERT_EQUAL(c->grace_sec, 5);
	CU_ASSERT_EQUAL(c->server.retrans, 3);
	config_free(c);
}

static const struct {
	const char *text;
	unsigned line;
	const char *says;
} faulty[] = {
	{ "[nfswbd]\n\nslab_byte = 4M\n", 3, "unknown key \"slab_byte\"" },
	{ "[nfswbd]\nslab_bytes = 4X\n", 2, "not a number" },
	{ "[nfswbd]\nslab_bytes = -4\n", 2, "not a number" },
	{ "[nfswbd]\nslab_bytes =\n", 2, "not a number" },
	{ "[nfswbd]\nslab_bytes = 8G\n", 2, "out of range" },
	{ "[nfswbd]\nslab_bytes = 99999999999999999999\n", 2, "out of range" },
	{ "[nfswbd]\ndirty_bytes = 99999999999T\n", 2, "out of range" },
	{ "[nfswbd]\nwsize = 1\n", 2, "from 4K to 1M, or 0" },
	{ "[nfswbd]\nsocket_mode = 0888\n", 2, "octal" },
	{ "[nfswbd]\nsoft = maybe\n", 2, "give no or yes" },
	{ "[nfswbd]\nresvport = 1\n", 2, "no, yes or auto" },
	{ "[nfswbd]\nnconnect = 17\n", 2, "from 1 to 16" },
	{ "[nfswbd]\nnconnect = 0\n", 2, "from 1 to 16" },
	{ "[nfswbd]\nsocket = here\n", 2, "absolute path" },
	{ "[nfswbd]\nadmin_group = no-such-group\n", 2, "no group" },
	{ "[nfswbd]\ngrace_sec = 1\ngrace_sec = 2\n", 3, "given in line 2" },
	{ "[nfswbd]\ngrace_sec = 1 # one\n", 2, "not a number" },
	{ "[nfswbd]\ntarget = nfs://h/e\n", 2, "move it to [mount NAME]" },
	{ "[mount m]\ntarget = nfs://h/e\ngrace_sec = 1\n", 3,
	  "move it to [nfswbd]" },
	{ "[mount m]\ntarget = http://h/e\n", 2, "nfs://server" },
	{ "[mount m]\ntarget = nfs://h\n", 2, "nfs://server" },
	{ "[mount m]\ntarget = nfs:///e\n", 2, "nfs://server" },
	{ "[nfswbd]\n[mount m]\nwsize = 8K\n", 2, "no target" },
	{ "[mount]\ntarget = nfs://h/e\n", 1, "has no name" },
	{ "[mount a:b]\ntarget = nfs://h/e\n", 1, "leave out" },
	{ "[mount m]\ntarget = nfs://h/e\n[mount m]\ntarget = nfs://h/f\n", 3,
	  "was defined in line 1" },
	{ "[uid no-such-user]\n", 1, "no user" },
	{ "[uid 4294967295]\n", 1, "no user" },
	{ "[uid 7]\nslab_bytes = 4M\n", 2, "move it to [nfswbd]" },
	{ "[mount m]\ntarget = nfs://h/e\nweight = 4\n", 3,
	  "[nfswbd] or [uid NAME]" },
	{ "[nfswbd]\nallow_users = root\n", 2, "move it to [mount NAME]" },
	{ "[mount m]\ntarget = nfs://h/e\nallow_users = root no-such\n", 3,
	  "\"no-such\" is no user" },
	{ "[mount m]\ntarget = nfs://h/e\nallow_groups = no-such\n", 3,
	  "is no group" },
	{ "[mount m]\ntarget = nfs://h/e\nallow_groups = ,\n", 3, "no value" },
	{ "[nfswbd]\nallow_urls = yes\n[mount m]\ntarget = nfs://h/e\n"
	  "allow_users = root\n", 2, "take no" },
	{ "[nfswbd]\nmap_root = no-such\n", 2, "UID:GID" },
	{ "[nfswbd]\nmap_root = 5\n", 2, "UID:GID" },
	{ "[nfswbd]\nmap_root = 5:-1\n", 2, "UID:GID" },
	{ "[nfswbd]\nmax_messages_per_sec = x\n", 2, "or 0" },
	{ "[uid 7]\n[uid 7]\n", 2, "section in line 1" },
	{ "[nfswb]\ngrace_sec = 1\n", 1, "unknown section [nfswb]" },
	{ "[nfswbd\ngrace_sec = 1\n", 1, "no ']'" },
	{ "grace_sec = 1\n", 1, "outside a section" },
	{ "[nfswbd]\nhello\n", 2, "neither a section nor a key" },
	{ "[nfswbd]\ndirty_bytes = 4M\ndirty_background_bytes = 4M\n", 3,
	  "not below dirty_bytes" },
	{ "[nfswbd]\ndirty_background_bytes = 2T\n", 2,
	  "not below dirty_bytes" },
	{ "[nfswbd]\ncongestion_policy = none\n", 2, "experiments = yes" },
	{ "[mount m]\ntarget = nfs://h/e\ncongestion_policy = none\n", 3,
	  "experiments = yes" },
};

static void
each_fault_names_file_and_line_and_what_to_do(void)
{
	char where[100], *error;
	struct config *c;
	unsigned i;

	for (i = 0; i < sizeof faulty / sizeof *faulty; i++) {
		c = load(faulty[i].text, &error);
		CU_ASSERT_PTR_NULL(c);
		CU_ASSERT_PTR_NOT_NULL_FATAL(error);
		snprintf(where, sizeof where, "%s:%u: ", path, faulty[i].line);
		if (strncmp(error, where, strlen(where)) ||
		    !strstr(error, faulty[i].says) || !strchr(error, ';') ||
		    strchr(error, '\n')) {
			CU_FAIL("another message");
			printf("# case %u: %s\n", i, error);
		}
		free(error);
		config_free(c);
	}
}

static void
faults_are_all_reported_one_a_line(void)
{
	char *error, *second, *third;
	struct config *c = load("[nfswbd]\nfoo = 1\nsoft = 7\n[bar]\nx = 1\n",
				&error);

	CU_ASSERT_PTR_NULL(c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second = strchr(error, '\n'));
	CU_ASSERT_PTR_NOT_NULL_FATAL(third = strchr(second + 1, '\n'));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, ":2: unknown key \"foo\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(second, ":3: soft: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(third, ":4: unknown section [bar]"));
	CU_ASSERT_PTR_NULL(strchr(third + 1, '\n'));
	free(error);
}

static void
overlong_line_is_one_fault_and_the_next_line_is_read(void)
{
	char text[4096] = "[nfswbd]\n#", *error;
	struct config *c;

	memset(text + 10, 'x', 3000);
	strcpy(text + 3010, "\nsoft = 7\n");
	c = load(text, &error);
	CU_ASSERT_PTR_NULL(c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, ":2: the line is longer"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, ":3: soft: "));
	free(error);
}

static void
file_that_is_not_there_is_refused(void)
{
	char *error;

	CU_ASSERT_PTR_NULL(config_load("/nonexistent/nfswb.conf", &error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "/nonexistent/nfswb.conf: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "-c"));
	free(error);
}

static void
folder_is_refused(void)
{
	char *error;

	CU_ASSERT_PTR_NULL(config_load("/tmp", &error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "directory"));
	free(error);
}

static void
many_faults_are_cut(void)
{
	char text[4096] = "[nfswbd]\n", *error, *at;
	unsigned i, lines = 1;

	for (i = 0; i < 100; i++)
		strcat(text, "foo = 1\n");
	CU_ASSERT_PTR_NULL(load(text, &error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	for (at = error; (at = strchr(at, '\n')); at++)
		lines++;
	CU_ASSERT_EQUAL(lines, 21);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "80 more"));
	free(error);
}

/* -- documents -- */

static char *
slurp(const char *name)
{
	const char *top = getenv("top_srcdir");
	char full[512], *text = calloc(1, 65536);
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", top ? top : ".", name);
	f = fopen(full, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static void
example_is_taken(void)
{
	char *text = slurp("conf/nfswb.conf");

	config_free(load_good(text));
	free(text);
}

/* Every "#key = value" line of the example with its "#" taken away. */
static void
example_holds_every_key_with_a_good_value(void)
{
	char *text = slurp("conf/nfswb.conf"), line[512], *at, *key, *all;
	struct config *c;
	unsigned i;

	for (i = 0; i < config_key_nr; i++) {
		snprintf(line, sizeof line, "\n#%s = ", config_keys[i].name);
		if (!strstr(text, line)) {
			CU_FAIL("a key is missing");
			printf("# %s\n", config_keys[i].name);
		}
	}
	all = strdup(text);
	for (at = all; (at = strstr(at, "\n#")); at++) {
		key = at + 2;
		if (*key != ' ' && (strchr("[", *key) || strchr(key, '=')))
			at[1] = ' ';
	}
	c = load_good(all);
	CU_ASSERT_EQUAL(c->mount_nr, 1);
	CU_ASSERT_EQUAL(c->uid_nr, 1);
	config_free(c);
	free(all);
	free(text);
}

static void
example_shows_the_defaults(void)
{
	char *text = slurp("conf/nfswb.conf"), line[512];
	const struct key *k;

	for (k = config_keys; k < config_keys + config_key_nr; k++) {
		snprintf(line, sizeof line, "\n#%s = %s\n", k->name,
			 k->fallback ? k->fallback : "");
		if (k->fallback && !strstr(text, line)) {
			CU_FAIL("not the default");
			printf("#%s", line);
		}
	}
	free(text);
}

static void
manual_describes_every_key(void)
{
	char *text = slurp("man/nfswb.conf.5.scd"), line[512];
	unsigned i;

	for (i = 0; i < config_key_nr; i++) {
		snprintf(line, sizeof line, "\n*%s* = ", config_keys[i].name);
		if (!strstr(text, line)) {
			CU_FAIL("a key is missing");
			printf("# %s\n", config_keys[i].name);
		}
	}
	free(text);
}

static void
every_key_has_a_sentence_and_a_default_that_is_taken(void)
{
	union { struct config c; struct config_limits u; } base;
	const struct key *k;
	char why[256];

	memset(&base, 0, sizeof base);
	for (k = config_keys; k < config_keys + config_key_nr; k++) {
		CU_ASSERT(k->sentence && k->sentence[strlen(k->sentence) - 1]
			  == '.');
		CU_ASSERT_PTR_EQUAL(key_find(k->name), k);
		if (k->fallback && k->scope != KEY_MOUNT)
			CU_ASSERT_EQUAL(key_set(k, &base, k->fallback, why,
						sizeof why), 0);
	}
}

static void
put_value(void *arg, const char *key, const char *value, const char *sentence)
{
	(void)sentence;
	if (!strcmp(key, "slab_bytes"))
		CU_ASSERT_STRING_EQUAL(value, "256M");
	if (!strcmp(key, "socket_mode"))
		CU_ASSERT_STRING_EQUAL(value, "0640");
	if (!strcmp(key, "congestion_policy"))
		CU_ASSERT_STRING_EQUAL(value, "single");
	if (!strcmp(key, "socket"))
		CU_ASSERT_STRING_EQUAL(value, "");
	CU_ASSERT(strcmp(key, "target") && strcmp(key, "allow_users"));
	++*(unsigned *)arg;
}

static void
values_are_shown_as_they_are_written(void)
{
	struct config *c = load_good("[nfswbd]\nsocket_mode = 640\n"
				     "congestion_policy = single\n");
	unsigned n = 0;

	config_each(c, put_value, &n);
	CU_ASSERT_EQUAL(n, config_key_nr - 3);
	config_free(c);
}

UNIT_TESTS(config,
	UNIT(empty_file_means_the_defaults),
	UNIT(sizes_take_suffixes),
	UNIT(background_follows_a_dirty_bytes_that_is_given),
	UNIT(mount_inherits_what_it_does_not_override),
	UNIT(uid_section_takes_names_and_numbers),
	UNIT(users_have_the_limits_of_all_where_their_section_has_no_other),
	UNIT(lists_take_names_and_numbers_by_blanks_and_commas),
	UNIT(a_mount_for_some_only_allows_no_urls_by_itself),
	UNIT(root_is_mapped_to_a_user_by_name_or_numbers),
	UNIT(keys_of_memory_and_time_reach_the_pipeline_in_its_units),
	UNIT(unsafe_value_is_taken_under_experiments),
	UNIT(indented_lines_and_comments_are_fine),
	UNIT(each_fault_names_file_and_line_and_what_to_do),
	UNIT(faults_are_all_reported_one_a_line),
	UNIT(overlong_line_is_one_fault_and_the_next_line_is_read),
	UNIT(many_faults_are_cut),
	UNIT(file_that_is_not_there_is_refused),
	UNIT(folder_is_refused),
	UNIT(example_is_taken),
	UNIT(example_holds_every_key_with_a_good_value),
	UNIT(example_shows_the_defaults),
	UNIT(manual_describes_every_key),
	UNIT(every_key_has_a_sentence_and_a_default_that_is_taken),
	UNIT(values_are_shown_as_they_are_written),
)
