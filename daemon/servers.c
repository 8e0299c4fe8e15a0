/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * servers.c - the tables: places, servers, mounts
 *
 *	place "nas", no ports ──┐
 *	place "10.0.0.7:2049" ──┴─▶ server 10.0.0.7 2049 ◀── mount /home
 *	                                              ◀── mount /data
 *
 * reach.c fills them in; nothing here waits for anything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/servers_impl.h"
#include "rpc/nfs3_prot.h"

#define SERVERS_MAX 256
#define MOUNT_MIN_MS 1000
#define MOUNT_MAX_MS 10000

/* ---- places ---- */

const struct config_server *
place_config(const struct place *p)
{
	return p->named ? &p->named->server : &p->servers->config->server;
}

/* The folder of a named mount is what is to be mounted. */
static const char *
target_mount_path(const struct target *t)
{
	return t->mount ? t->base : t->path;
}

static char *
place_key(const struct target *t)
{
	char *key = NULL;

	if (asprintf(&key, "%s %u %u %s", t->host, t->nfsport, t->mountport,
		     t->mount ? t->mount->name : "") < 0)
		return NULL;
	return key;
}

static struct place *
place_find(struct servers *s, const char *key)
{
	struct place *p;

	HASH_FIND_STR(s->places, key, p);
	return p;
}

static struct place *
place_new(struct servers *s, const struct target *t, const char *key)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->servers = s;
	TAILQ_INIT(&p->waiters);
	p->key = strdup(key);
	p->host = strdup(t->host);
	p->nfsport = t->nfsport;
	p->mountport = t->mountport;
	p->named = t->mount;
	if (!p->key || !p->host || !reach_init(p)) {
		free(p->key);
		p->key = NULL;
		place_free(p);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, s->places, p->key, strlen(p->key), p);
	if (!p->hh.tbl) {
		free(p->key);
		p->key = NULL;
		place_free(p);
		return NULL;
	}
	return p;
}

struct place *
place_get(struct servers *s, const struct target *t)
{
	char *key = place_key(t);
	struct place *p = NULL;

	if (key)
		p = place_find(s, key);
	if (key && !p)
		p = place_new(s, t, key);
	free(key);
	return p;
}

void
place_free(struct place *p)
{
	if (p->key)
		HASH_DEL(p->servers->places, p);
	loop_deferred_free(p->servers->loop, p->go);
	loop_timer_free(p->servers->loop, p->deadline);
	loop_timer_free(p->servers->loop, p->again);
	while (p->export_nr)
		free(p->exports[--p->export_nr]);
	free(p->exports);
	free(p->path);
	free(p->export);
	free(p->text);
	cred_put(p->cred);
	free(p->host);
	free(p->key);
	free(p);
}

/* ---- servers ---- */

static struct server *
server_find(struct servers *s, const char *address, unsigned port)
{
	struct server *v;

	LIST_FOREACH(v, &s->servers, entry)
		if (v->port == port && !strcmp(v->address, address))
			return v;
	return NULL;
}

static void
server_free(struct server *v)
{
	/* Frees after it what it calls back into. */
	if (v->rpc)
		rpc_client_free(v->rpc);
	if (v->transport)
		transport_free(v->transport);
	free(v->name);
	free(v);
}

static bool
server_start(struct server *v, const struct resolved *r,
	     const struct config_server *c)
{
	struct servers *s = v->servers;
	struct rpc_params rpc = {
		.name = v->name, .addr = r->addr, .addr_len = r->addr_len,
		.prog = NFS_PROGRAM, .vers = NFS_V3,
		.connection_nr = c->nconnect,
		.slot_nr = c->slot_table_entries, .timeo_ds = c->timeo,
		.retrans = c->retrans, .soft = c->soft,
		.resvport = c->resvport,
	};
	struct wb_server_params wb = {
		.name = v->name,
		.congestion_bytes = sizes_congestion_bytes(c->congestion_kb,
			(uint64_t)sysconf(_SC_PHYS_PAGES),
			(uint64_t)sysconf(_SC_PAGESIZE)),
		.congestion_policy = c->congestion_policy,
		.commit_priority = c->commit_priority,
		.commit_rule = c->commit_rule,
		.bounds = c->writeback_bounds,
		.wbt_lat_usec = c->wbt_lat_usec,
		.slot_nr = c->slot_table_entries,
	};

	rpc.essential_nr = wb_server_call_nr(s->wb, &wb);
	resolve_set_port(&rpc.addr, v->port);
	v->soft = c->soft;
	v->config = c;
	v->rpc = rpc_client_new(s->loop, &rpc);
	v->transport = v->rpc ? transport_new(s->loop, v->rpc) : NULL;
	v->wb = v->transport ? wb_server_new(s->wb, &wb, &transport_calls,
					     v->transport, loop_now(s->loop))
			     : NULL;
	if (v->wb)
		transport_watch(v->transport, v->wb);
	return v->wb;
}

static struct server *
server_new(struct place *p, const struct resolved *r, unsigned port)
{
	struct servers *s = p->servers;
	struct server *v = calloc(1, sizeof *v);
	bool ipv6 = strchr(p->host, ':');

	if (!v)
		return NULL;
	v->servers = s;
	v->port = port;
	strcpy(v->address, r->literal);
	if (asprintf(&v->name, ipv6 ? "[%s]:%u" : "%s:%u", p->host, port) < 0)
		v->name = NULL;
	if (!v->name || !server_start(v, r, place_config(p))) {
		server_free(v);
		return NULL;
	}
	LIST_INSERT_HEAD(&s->servers, v, entry);
	s->server_nr++;
	return v;
}

/* A server has its connections and one set of queues, whatever its mounts say. */
static void
check_keys(struct server *v, const struct config_server *c)
{
	const struct config_server *o = v->config;

	if (v->told_keys || c == o ||
	    (c->timeo == o->timeo && c->retrans == o->retrans &&
	     c->soft == o->soft && c->resvport == o->resvport &&
	     c->nconnect == o->nconnect &&
	     c->slot_table_entries == o->slot_table_entries &&
	     c->congestion_kb == o->congestion_kb &&
	     c->congestion_policy == o->congestion_policy &&
	     c->commit_priority == o->commit_priority &&
	     c->commit_rule == o->commit_rule &&
	     c->writeback_bounds == o->writeback_bounds &&
	     c->wbt_lat_usec == o->wbt_lat_usec))
		return;
	v->told_keys = true;
	log_warning("server %s has several mounts, with different values of "
		    "timeo, retrans, soft, resvport, nconnect, "
		    "slot_table_entries, congestion_*, commit_*, "
		    "writeback_bounds or wbt_lat_usec; those of the first one "
		    "used count for all: give them the same", v->name);
}

struct server *
server_get(struct place *p, const struct resolved *r, unsigned port)
{
	struct servers *s = p->servers;
	struct server *v = server_find(s, r->literal, port);

	if (v) {
		check_keys(v, place_config(p));
		return v;
	}
	if (s->server_nr == SERVERS_MAX) {
		log_error("%s: not more than %d servers at once; restart "
			  "nfswbd to forget those no longer used", p->host,
			  SERVERS_MAX);
		return NULL;
	}
	return server_new(p, r, port);
}

/* They are few, and none has to be put into a table, for which there may be no
   memory when all else of it is there already. */
struct server *
servers_of(struct servers *s, const struct wb_server *wb)
{
	struct server *v;

	LIST_FOREACH(v, &s->servers, entry)
		if (v->wb == wb)
			return v;
	return NULL;
}

/* ---- mounts ---- */

static struct mount *
mount_find(const struct servers *s, const struct server *v,
	   const struct config_server *c, const char *export)
{
	struct mount *m;

	LIST_FOREACH(m, &s->mounts, entry)
		if (m->server == v && m->config == c &&
		    !strcmp(m->export, export))
			return m;
	return NULL;
}

static struct mount *
mount_longest(const struct place *p, const char *path)
{
	const struct config_server *c = place_config(p);
	struct mount *m, *best = NULL;

	LIST_FOREACH(m, &p->servers->mounts, entry)
		if (m->server == p->server && m->config == c &&
		    target_below(path, m->export) &&
		    (!best || strlen(m->export) > strlen(best->export)))
			best = m;
	return best;
}

struct mount *
place_mount(const struct place *p, const char *path, bool stale)
{
	const char *export;
	struct mount *m;

	if (!p->server)
		return NULL;
	export = exports_longest(p->exports, p->export_nr, path);
	m = export ? mount_find(p->servers, p->server, place_config(p), export)
		   : mount_longest(p, path);
	return m && (stale || !m->stale) ? m : NULL;
}

static struct mount *
mount_new(struct server *v, const struct config_server *c, const char *export)
{
	struct mount *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->server = v;
	m->config = c;
	m->export = strdup(export);
	if (!m->export) {
		free(m);
		return NULL;
	}
	LIST_INSERT_HEAD(&v->servers->mounts, m, entry);
	return m;
}

struct mount *
mount_get(struct place *p, struct server *v, const char *export,
	  const struct fh *root, const struct fsinfo *info)
{
	const struct config_server *c = place_config(p);
	struct mount *m = mount_find(p->servers, v, c, export);

	if (!m)
		m = mount_new(v, c, export);
	if (!m)
		return NULL;
	m->root = *root;
	m->stale = false;
	m->params.wsize = sizes_wsize(info, c->wsize, v->name);
	m->params.stable = c->stable;
	m->params.max_size = sizes_max_file(info);
	m->rsize = sizes_rsize(info, c->rsize, v->name);
	m->params.rsize = m->rsize;
	m->params.read_ahead = (uint64_t)c->read_ahead_kb << 10;
	return m;
}

struct mount *
servers_known(struct servers *s, const struct target *t)
{
	char *key = place_key(t);
	struct place *p = key ? place_find(s, key) : NULL;

	free(key);
	return p ? place_mount(p, target_mount_path(t), true) : NULL;
}

struct mount *
servers_mount(struct servers *s, const struct target *t, struct cred *cred,
	      servers_fn *done, void *arg)
{
	struct place *p = place_get(s, t);
	const char *path = target_mount_path(t);
	struct mount *m;

	m = p && p->asked ? place_mount(p, path, false) : NULL;
	if (m)
		return m;
	if (!p || reach_wait(p, path, cred, done, arg))
		done(arg, -ENOMEM, "out of memory", NULL);
	return NULL;
}

/* ---- for another instance ---- */

json_t *
mount_describe(const struct mount *m)
{
	char root[2 * FH_MAX + 1];

	fh_to_hex(&m->root, root);
	return json_pack("{s:s, s:i, s:s, s:s, s:i, s:i, s:I}",
			 "address", m->server->address,
			 "port", (int)m->server->port,
			 "export", m->export, "root", root,
			 "wsize", (int)m->params.wsize,
			 "rsize", (int)m->rsize,
			 "max_size", (json_int_t)m->params.max_size);
}

int
description_errno(const json_error_t *why)
{
	return json_error_code(why) == json_error_out_of_memory ? -ENOMEM :
								  -EINVAL;
}

struct mount *
mount_restore(struct servers *s, const struct target *t, const json_t *j,
	      int *err)
{
	const char *address, *export, *hex;
	struct place *p = place_get(s, t);
	int port, wsize, rsize;
	json_int_t max_size;
	struct resolved r;
	struct fsinfo info;
	struct mount *m;
	struct fh root;
	json_error_t why;

	*err = -ENOMEM;
	if (!p)
		return NULL;
	if (json_unpack_ex((json_t *)j, &why, 0,
			   "{s:s, s:i, s:s, s:s, s:i, s:i, s:I}",
			   "address", &address, "port", &port, "export",
			   &export, "root", &hex, "wsize", &wsize, "rsize",
			   &rsize, "max_size", &max_size)) {
		*err = description_errno(&why);
		return NULL;
	}
	*err = -EINVAL;
	if (port < 1 || port > 65535 || wsize < 1 || rsize < 1 ||
	    max_size < 1 || fh_from_hex(&root, hex) ||
	    (*err = resolve_literal(address, &r)))
		return NULL;
	info = (struct fsinfo){
		.rtmax = (uint32_t)rsize, .rtpref = (uint32_t)rsize,
		.wtmax = (uint32_t)wsize, .wtpref = (uint32_t)wsize,
		.wtmult = 1, .maxfilesize = (uint64_t)max_size };
	*err = -ENOMEM;
	if (!p->server)
		p->server = server_get(p, &r, (unsigned)port);
	if (!p->server)
		return NULL;
	m = mount_find(s, p->server, place_config(p), export);
	return m ? m : mount_get(p, p->server, export, &root, &info);
}

/* ---- all of them ---- */

struct mounter *
servers_mounter(struct servers *s)
{
	return s->mounter;
}

void
servers_each(struct servers *s, void (*fn)(void *arg, struct wb_server *,
	     struct rpc_client *), void *arg)
{
	struct server *v;

	LIST_FOREACH(v, &s->servers, entry)
		fn(arg, v->wb, v->rpc);
}

/* Somebody waits for a mount: not for ever, and soft not beyond the major
   timeout. */
static unsigned
mount_ms(const struct config *config)
{
	uint64_t ms = (uint64_t)config->server.timeo * 100 *
		      config->server.retrans;

	if (!config->server.soft)
		return MOUNT_MAX_MS;
	return ms < MOUNT_MIN_MS ? MOUNT_MIN_MS :
	       ms > MOUNT_MAX_MS ? MOUNT_MAX_MS : (unsigned)ms;
}

struct servers *
servers_new(struct loop *loop, const struct config *config, struct wb *wb)
{
	struct servers *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->loop = loop;
	s->config = config;
	s->wb = wb;
	s->mount_ms = mount_ms(config);
	s->mounter = mounter_new(loop, s->mount_ms);
	if (!s->mounter) {
		free(s);
		return NULL;
	}
	return s;
}

/* The pipeline's servers go with the pipeline, their files may still be
   there. */
void
servers_free(struct servers *s)
{
	struct place *p, *next;
	struct server *v;
	struct mount *m;

	s->stopping = true;
	HASH_ITER(hh, s->places, p, next)
		reach_cancel(p);
	mounter_free(s->mounter);
	while ((v = LIST_FIRST(&s->servers))) {
		LIST_REMOVE(v, entry);
		server_free(v);
	}
	HASH_ITER(hh, s->places, p, next)
		place_free(p);
	while ((m = LIST_FIRST(&s->mounts))) {
		LIST_REMOVE(m, entry);
		free(m->export);
		free(m);
	}
	free(s);
}
