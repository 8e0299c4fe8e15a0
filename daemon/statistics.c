/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statistics.c - everything that is counted, as one tree of JSON
 *
 * Sizes in bytes, times in microseconds.  A time that varies is a histogram:
 * {count, sum, p50, p90, p99, p999, max}.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "autoconf.h"
#include "daemon/given_up.h"
#include "daemon/namespace.h"
#include "daemon/session.h"
#include "daemon/statistics.h"
#include "daemon/writeback/stats.h"
#include "include/nfswb_prot.h"
#include "rpc/client.h"

/* RFC 1813, section 3.3, by number */
static const char *const procedures[RPC_PROC_MAX] = {
	"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ",
	"WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR",
	"RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO",
	"PATHCONF", "COMMIT",
};

static void
put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void
put_text(json_t *object, const char *key, const char *value)
{
	json_t *j = json_string(value ? value : "");

	json_object_set_new(object, key, j ? j : json_string("?"));
}

static void
put_hist(json_t *object, const char *key, const struct hist *h)
{
	json_t *j = json_object();

	put(j, "count", h->count);
	put(j, "sum", h->sum);
	put(j, "p50", hist_percentile(h, 500));
	put(j, "p90", hist_percentile(h, 900));
	put(j, "p99", hist_percentile(h, 990));
	put(j, "p999", hist_percentile(h, 999));
	put(j, "max", h->max);
	json_object_set_new(object, key, j);
}

static json_t *
op_json(const struct rpc_op_stats *op)
{
	json_t *j = json_object();

	put(j, "ops", op->ops);
	put(j, "transmissions", op->transmissions);
	put(j, "timeouts", op->timeouts);
	put(j, "errors", op->errors);
	put(j, "bytes_sent", op->bytes_sent);
	put(j, "bytes_recv", op->bytes_recv);
	put_hist(j, "queue_us", &op->queue_us);
	put_hist(j, "rtt_us", &op->rtt_us);
	put_hist(j, "execute_us", &op->execute_us);
	return j;
}

/* Only those that were used. */
static json_t *
ops_json(const struct rpc_client *client)
{
	json_t *j = json_object();
	const struct rpc_op_stats *op;
	uint32_t proc;

	for (proc = 0; client && proc < RPC_PROC_MAX; proc++) {
		op = rpc_client_op_stats(client, proc);
		if (op && (op->ops || op->transmissions || op->errors))
			json_object_set_new(j, procedures[proc], op_json(op));
	}
	return j;
}

static json_t *
causes_json(const struct server_stats *s)
{
	json_t *j = json_object();
	unsigned i;

	for (i = 0; i < FLUSH_CAUSE_NR; i++)
		put(j, flush_cause_name((enum flush_cause)i),
		    s->flush_causes[i]);
	return j;
}

static json_t *
queue_json(const struct congestion_stats *c)
{
	json_t *j = json_object();

	put(j, "limit", c->limit);
	put(j, "wake", c->wake);
	put(j, "congested", c->congested);
	put(j, "waiters", c->waiters);
	put(j, "waits", c->waits);
	put(j, "wakeups", c->wakeups);
	put_hist(j, "wait_us", &c->wait_us);
	return j;
}

static json_t *
congestion_json(const struct server_stats *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "async", queue_json(&s->async));
	json_object_set_new(j, "sync", queue_json(&s->sync));
	return j;
}

static json_t *
read_json(const struct server_stats *s)
{
	json_t *j = json_object();

	put(j, "hits", s->read.hits);
	put(j, "waits", s->read.waits);
	put(j, "misses", s->read.misses);
	put(j, "ahead_bytes", s->read.ahead_bytes);
	put(j, "wasted_bytes", s->read.wasted_bytes);
	return j;
}

static json_t *
wbt_json(const struct server_stats *s)
{
	json_t *j = json_object();

	put(j, "depth", s->wbt.depth);
	put(j, "max_depth", s->wbt.max_depth);
	put(j, "windows", s->wbt.windows);
	put(j, "steps_down", s->wbt.steps_down);
	put(j, "steps_up", s->wbt.steps_up);
	put_hist(j, "foreground_us", &s->wbt.foreground_us);
	return j;
}

struct listing {
	json_t *array;
	const struct asker *asker;
	uint64_t now;
};

static void
put_connections(json_t *j, const struct rpc_client *client)
{
	unsigned up = 0;

	put(j, "connections", client ? rpc_client_connections(client, &up) : 0);
	put(j, "connections_up", up);
}

static void
add_server(void *arg, struct wb_server *server, struct rpc_client *client)
{
	struct listing *l = arg;
	const struct server_stats *s = wb_server_stats(server, l->now);
	json_t *j = json_object();

	put_text(j, "name", wb_server_name(server));
	put_text(j, "state", client ? rpc_state_name(rpc_client_state(client))
				    : "down");
	put_connections(j, client);
	json_object_set_new(j, "ops", ops_json(client));
	put(j, "write_bw", s->write_bw);
	put(j, "drain_bw", s->drain_bw);
	put(j, "nfs_nr_writes", s->nfs_nr_writes);
	put(j, "nfs_nr_commits", s->nfs_nr_commits);
	put(j, "nfs_write_size", s->nfs_write_size);
	put(j, "nfs_commit_size", s->nfs_commit_size);
	put(j, "dirty_bytes", s->dirty_bytes);
	put(j, "writeback_bytes", s->writeback_bytes);
	put(j, "unstable_bytes", s->unstable_bytes);
	put(j, "verifier_changes", s->verifier_changes);
	put(j, "replayed_bytes", s->replayed_bytes);
	put(j, "delays", s->delays);
	json_object_set_new(j, "flush_causes", causes_json(s));
	put(j, "oldest_dirty_us", s->oldest_dirty_us);
	json_object_set_new(j, "congestion", congestion_json(s));
	json_object_set_new(j, "read_ahead", read_json(s));
	json_object_set_new(j, "wbt", wbt_json(s));
	json_array_append_new(l->array, j);
}

static json_t *
servers_json(const struct statistics_env *env, uint64_t now)
{
	struct listing l = { .array = json_array(), .now = now };

	ns_each_server(env->ns, add_server, &l);
	return l.array;
}

static json_t *
throttle_json(const struct wb_stats *s)
{
	json_t *j = json_object();

	put(j, "dirtied", s->throttle.dirtied);
	put(j, "background", s->throttle.background);
	put(j, "limit", s->throttle.limit);
	put(j, "balanced_rate", s->throttle.balanced_rate);
	put(j, "pauses", s->throttle.pauses);
	put_hist(j, "pause_us", &s->throttle.pause_us);
	put(j, "limit_waits", s->throttle.limit_waits);
	put_hist(j, "limit_wait_us", &s->throttle.limit_wait_us);
	return j;
}

static json_t *
reclaim_json(const struct wb_stats *s)
{
	json_t *j = json_object();

	put(j, "fast", s->reclaim.fast);
	put(j, "slow", s->reclaim.slow);
	put_hist(j, "fast_us", &s->reclaim.fast_us);
	put_hist(j, "slow_us", &s->reclaim.slow_us);
	put(j, "reclaims", s->reclaim.reclaims);
	put(j, "freed_bytes", s->reclaim.freed_bytes);
	put(j, "reclaim_writes", s->reclaim.reclaim_writes);
	return j;
}

static void
add_session(void *arg, const struct session_info *s)
{
	const struct listing *l = arg;
	json_t *j;

	if (!access_sees(l->asker, s->uid))
		return;
	j = json_object();
	put(j, "id", s->id);
	put(j, "pid", (uint64_t)s->pid);
	put(j, "uid", s->uid);
	put_text(j, "comm", s->comm);
	put(j, "files", s->files);
	put(j, "dirty_bytes", s->usage.dirty + s->usage.writeback);
	put(j, "unstable_bytes", s->usage.unstable);
	put_text(j, "waiting_for", waiting_for_name(s->waiting));
	put(j, "waiting_us", s->waiting_usec);
	put_text(j, "file", s->file);
	json_array_append_new(l->array, j);
}

static json_t *
sessions_json(const struct statistics_env *env)
{
	struct listing l = { .array = json_array(), .asker = &env->asker };

	if (env->sessions)
		sessions_each(env->sessions, add_session, &l);
	return l.array;
}

/* Halves the longer list of the two that can be long, from the front: the
   newest stay. */
static bool
cut_lists(json_t *root)
{
	json_t *a = json_object_get(root, "sessions");
	json_t *b = json_object_get(root, "given_up");
	size_t i, n;

	if (json_array_size(b) > json_array_size(a))
		a = b;
	n = (json_array_size(a) + 1) / 2;
	for (i = 0; i < n; i++)
		json_array_remove(a, 0);
	json_object_set_new(root, "cut", json_true());
	return n > 0;
}

static char *
dump_bounded(json_t *root)
{
	char *text = json_dumps(root, JSON_COMPACT);

	while (text && strlen(text) > NFSWB_JSON_MAX && cut_lists(root)) {
		free(text);
		text = json_dumps(root, JSON_COMPACT);
	}
	return text;
}

char *
statistics_json(const struct statistics_env *env, uint64_t now)
{
	const struct wb_stats *s = wb_stats(env->wb, now);
	json_t *root = json_object();
	char *text;

	put_text(root, "version", PACKAGE_VERSION);
	put(root, "instance", env->instance);
	put(root, "uptime_us", now - env->started_usec);
	json_object_set_new(root, "all_users",
			    json_boolean(env->asker.admin));
	json_object_set_new(root, "servers", servers_json(env, now));
	json_object_set_new(root, "throttle", throttle_json(s));
	json_object_set_new(root, "reclaim", reclaim_json(s));
	json_object_set_new(root, "sessions", sessions_json(env));
	json_object_set_new(root, "given_up", given_up_json(env->given_up,
							   &env->asker));
	text = dump_bounded(root);
	json_decref(root);
	return text;
}
