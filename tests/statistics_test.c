/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statistics_test.c - the tree of statistics has exactly the keys of DESIGN
 *
 * The parts it asks are stand-ins here, that answer fixed figures.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/given_up.h"
#include "daemon/namespace.h"
#include "daemon/session.h"
#include "daemon/statistics.h"
#include "daemon/writeback/stats.h"
#include "tests/unit.h"

/* -- stand-ins -- */

static struct server_stats server_stats;
static struct wb_stats whole_stats;
static struct rpc_op_stats op_stats[RPC_PROC_MAX];
static unsigned session_nr;
static const char *comm = "app";

const struct wb_stats *
wb_stats(struct wb *wb, uint64_t now)
{
	(void)wb;
	(void)now;
	return &whole_stats;
}

const struct server_stats *
wb_server_stats(struct wb_server *s, uint64_t now)
{
	(void)s;
	(void)now;
	return &server_stats;
}

const char *
wb_server_name(const struct wb_server *s)
{
	(void)s;
	return "filer:2049";
}

const char *
flush_cause_name(enum flush_cause cause)
{
	static const char *const names[] = { "background", "age", "sync",
		"close", "memory", "shutdown" };

	return names[cause];
}

const char *
waiting_for_name(enum waiting_for w)
{
	return w == WAIT_PACE ? "pace" : "none";
}

const struct rpc_op_stats *
rpc_client_op_stats(const struct rpc_client *c, uint32_t proc)
{
	(void)c;
	return &op_stats[proc];
}

enum rpc_state
rpc_client_state(const struct rpc_client *c)
{
	(void)c;
	return RPC_UP;
}

unsigned
rpc_client_connections(const struct rpc_client *c, unsigned *up)
{
	(void)c;
	*up = 3;
	return 4;
}

const char *
rpc_state_name(enum rpc_state s)
{
	return s == RPC_UP ? "up" : "down";
}

void
ns_each_server(struct namespace *ns, void (*fn)(void *arg, struct wb_server *,
	       struct rpc_client *), void *arg)
{
	(void)ns;
	fn(arg, NULL, (struct rpc_client *)&server_stats);
}

void
sessions_each(struct sessions *s, void (*fn)(void *arg,
	      const struct session_info *), void *arg)
{
	struct session_info info = {
		.pid = 42, .uid = 1000, .comm = comm, .files = 3,
		.usage = { .dirty = 10, .writeback = 5, .unstable = 7 },
		.waiting = WAIT_PACE, .waiting_usec = 99,
	};

	(void)s;
	for (info.id = 1; info.id <= session_nr; info.id++)
		fn(arg, &info);
}

/* -- helpers -- */

static struct asker asker = { 0, true };

static json_t *
tree(struct given_up_list *given_up)
{
	struct statistics_env env = {
		.sessions = (struct sessions *)&session_nr,
		.given_up = given_up, .instance = 77, .started_usec = 100,
		.asker = asker,
	};
	char *text = statistics_json(&env, 1100);
	json_t *j;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(strlen(text) <= NFSWB_JSON_MAX);
	j = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	free(text);
	return j;
}

/* The keys, in any order, are these, divided by blanks. */
static void
has_keys(const json_t *object, const char *keys)
{
	char *copy = strdup(keys), *save = NULL, *key;
	size_t n = 0;

	for (key = strtok_r(copy, " ", &save); key;
	     key = strtok_r(NULL, " ", &save)) {
		n++;
		if (!json_object_get(object, key)) {
			CU_FAIL("a key is missing");
			printf("# %s\n", key);
		}
	}
	CU_ASSERT_EQUAL(json_object_size(object), n);
	free(copy);
}

static long long
number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "(none)";
}

/* -- tests -- */

#define HIST_KEYS "count sum p50 p90 p99 p999 max"

static void
keys_are_those_of_the_design(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *s, *c;

	session_nr = 1;
	given_up_add(l, "nfs://h/e/f", 1000, 10, 20, -28);
	op_stats[7].ops = 1;
	j = tree(l);
	has_keys(j, "version instance uptime_us all_users servers throttle "
		 "reclaim sessions given_up");
	CU_ASSERT_EQUAL(number(j, "instance"), 77);
	CU_ASSERT_EQUAL(number(j, "uptime_us"), 1000);
	s = json_array_get(json_object_get(j, "servers"), 0);
	has_keys(s, "name state connections connections_up ops write_bw drain_bw nfs_nr_writes "
		 "nfs_nr_commits "
		 "nfs_write_size nfs_commit_size dirty_bytes writeback_bytes "
		 "unstable_bytes verifier_changes replayed_bytes delays "
		 "flush_causes oldest_dirty_us congestion read_ahead wbt");
	CU_ASSERT_EQUAL(number(s, "connections"), 4);
	CU_ASSERT_EQUAL(number(s, "connections_up"), 3);
	has_keys(json_object_get(s, "read_ahead"),
		 "hits waits misses ahead_bytes wasted_bytes");
	has_keys(json_object_get(s, "flush_causes"),
		 "background age sync close memory shutdown");
	c = json_object_get(s, "congestion");
	has_keys(c, "async sync");
	has_keys(json_object_get(c, "async"),
		 "limit wake congested waiters waits wakeups wait_us");
	has_keys(json_object_get(json_object_get(c, "sync"), "wait_us"),
		 HIST_KEYS);
	has_keys(json_object_get(s, "wbt"),
		 "depth max_depth windows steps_down steps_up foreground_us");
	has_keys(json_object_get(json_object_get(s, "ops"), "WRITE"),
		 "ops transmissions timeouts errors bytes_sent bytes_recv "
		 "queue_us rtt_us execute_us");
	has_keys(json_object_get(j, "throttle"),
		 "dirtied background limit balanced_rate pauses pause_us "
		 "limit_waits limit_wait_us");
	has_keys(json_object_get(j, "reclaim"),
		 "fast slow fast_us slow_us reclaims freed_bytes "
		 "reclaim_writes");
	has_keys(json_array_get(json_object_get(j, "sessions"), 0),
		 "id pid uid comm files dirty_bytes unstable_bytes "
		 "waiting_for waiting_us file");
	has_keys(json_array_get(json_object_get(j, "given_up"), 0),
		 "id uid file offset length reason");
	json_decref(j);
	given_up_free(l);
}

static void
procedures_never_called_are_left_out(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *ops;

	memset(op_stats, 0, sizeof op_stats);
	op_stats[7].ops = 3;
	op_stats[21].transmissions = 1;
	j = tree(l);
	ops = json_object_get(json_array_get(json_object_get(j, "servers"), 0),
			      "ops");
	has_keys(ops, "WRITE COMMIT");
	CU_ASSERT_EQUAL(number(json_object_get(ops, "WRITE"), "ops"), 3);
	json_decref(j);
	given_up_free(l);
}

static void
times_are_histograms(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *h;
	unsigned i;

	memset(&whole_stats, 0, sizeof whole_stats);
	for (i = 0; i < 100; i++)
		hist_add(&whole_stats.throttle.pause_us, 50);
	j = tree(l);
	h = json_object_get(json_object_get(j, "throttle"), "pause_us");
	CU_ASSERT_EQUAL(number(h, "count"), 100);
	CU_ASSERT_EQUAL(number(h, "sum"), 5000);
	CU_ASSERT_EQUAL(number(h, "max"), 50);
	CU_ASSERT(number(h, "p50") >= 44 && number(h, "p50") <= 57);
	json_decref(j);
	given_up_free(l);
}

static void
session_tells_what_it_waits_for(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *s;

	session_nr = 1;
	j = tree(l);
	s = json_array_get(json_object_get(j, "sessions"), 0);
	CU_ASSERT_STRING_EQUAL(text_of(s, "waiting_for"), "pace");
	CU_ASSERT_EQUAL(number(s, "waiting_us"), 99);
	CU_ASSERT_EQUAL(number(s, "dirty_bytes"), 15);
	CU_ASSERT_EQUAL(number(s, "unstable_bytes"), 7);
	json_decref(j);
	given_up_free(l);
}

static void
one_sees_ones_own_sessions_and_losses_only(void)
{
	struct given_up_list *l = given_up_new();
	uid_t uid;
	json_t *j;

	session_nr = 1;			/* of user 1000 */
	given_up_add(l, "nfs://h/e/f", 1000, 10, 20, -28);
	for (uid = 1000; uid <= 1001; uid++) {
		asker = (struct asker){ uid, false };
		j = tree(l);
		CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "sessions")),
				1001 - uid);
		CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "given_up")),
				1001 - uid);
		CU_ASSERT(json_is_false(json_object_get(j, "all_users")));
		CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "servers")),
				1);
		json_decref(j);
	}
	asker = (struct asker){ 0, true };
	given_up_free(l);
}

static void
names_that_are_not_utf8_are_shown_all_the_same(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *g;

	comm = "\xff\xfe";
	given_up_add(l, "nfs://h/e/\xe4x", 1000, 0, 1, -5);
	j = tree(l);
	g = json_array_get(json_object_get(j, "given_up"), 0);
	CU_ASSERT_STRING_EQUAL(text_of(g, "file"), "nfs://h/e/?x");
	CU_ASSERT_STRING_EQUAL(text_of(g, "reason"), strerror(5));
	comm = "app";
	json_decref(j);
	given_up_free(l);
}

static void
given_up_list_keeps_the_newest_and_their_numbers(void)
{
	struct given_up_list *l = given_up_new();
	json_t *array;
	unsigned i;

	for (i = 0; i < GIVEN_UP_MAX + 5; i++)
		given_up_add(l, "f", 1000, i, 1, -5);
	array = given_up_json(l, &asker);
	CU_ASSERT_EQUAL(json_array_size(array), GIVEN_UP_MAX);
	CU_ASSERT_EQUAL(number(json_array_get(array, 0), "id"), 6);
	json_decref(array);
	given_up_free(l);
}

static void
answer_is_cut_to_what_a_message_may_hold(void)
{
	struct given_up_list *l = given_up_new();
	json_t *j, *last;
	size_t n;

	session_nr = 20000;
	j = tree(l);
	n = json_array_size(json_object_get(j, "sessions"));
	CU_ASSERT(n > 1000 && n < 20000);
	last = json_array_get(json_object_get(j, "sessions"), n - 1);
	CU_ASSERT_EQUAL(number(last, "id"), 20000);
	CU_ASSERT(json_is_true(json_object_get(j, "cut")));
	session_nr = 1;
	json_decref(j);
	given_up_free(l);
}

UNIT_TESTS(statistics,
	UNIT(keys_are_those_of_the_design),
	UNIT(procedures_never_called_are_left_out),
	UNIT(times_are_histograms),
	UNIT(session_tells_what_it_waits_for),
	UNIT(one_sees_ones_own_sessions_and_losses_only),
	UNIT(names_that_are_not_utf8_are_shown_all_the_same),
	UNIT(given_up_list_keeps_the_newest_and_their_numbers),
	UNIT(answer_is_cut_to_what_a_message_may_hold),
)
