/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.c - a configuration: loaded from a file, or the built-in one
 *
 * Reading goes on past a fault, so that one look shows them all:
 *
 *	config_read.c	lines, sections, keys
 *	config_check.c	defaults that depend on others; what must hold between keys
 *	config_keys.c	the table of keys
 *	config_value.c	one value: read, shown, copied
 *
 * For each section the line of every key is kept, so that a fault found at the
 * end still names its place.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/config_ids.h"
#include "daemon/config_keys.h"
#include "daemon/config_read.h"

static void
read_all(struct reading *r)
{
	config_read(r);
	if (r->no_memory)
		return;
	config_settle(r->config, r);
	config_check(r);
	if (config_faults_untold(r))
		fprintf(r->faults, "\n%s: %u more faults; mend these first",
			r->path, config_faults_untold(r));
}

static char *
say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *
say(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

static struct config *
load_stream(const char *path, FILE *file, char **error)
{
	struct reading r = { .path = path, .file = file };
	size_t size;

	*error = NULL;
	r.config = config_default();
	r.faults = open_memstream(error, &size);
	if (r.config && r.faults)
		read_all(&r);
	if (r.faults)
		fclose(r.faults);
	free(r.section);
	if (r.config && r.faults && !r.no_memory && !r.fault_nr) {
		free(*error);
		*error = NULL;
		return r.config;
	}
	if (!r.fault_nr) {
		free(*error);
		*error = say("%s: out of memory; try again", path);
	}
	config_free(r.config);
	return NULL;
}

struct config *
config_load(const char *path, char **error)
{
	static const char standard[] = SYSCONFDIR "/nfswb.conf";
	const char *name = path ? path : standard;
	struct config *c;
	FILE *file = fopen(name, "re");

	*error = NULL;
	if (!file && !path && errno == ENOENT) {
		c = config_default();
		if (!c)
			*error = say("%s: out of memory; try again", name);
		return c;
	}
	if (!file) {
		*error = say("%s: can't be read: %s; name another file with -c",
			     name, strerror(errno));
		return NULL;
	}
	c = load_stream(name, file, error);
	fclose(file);
	return c;
}

struct config *
config_default(void)
{
	struct config *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	config_set_defaults(KEY_GLOBAL, c);
	config_set_defaults(KEY_SERVER, &c->server);
	config_set_defaults(KEY_UID, &c->limits);
	config_settle(c, NULL);
	return c;
}

void
config_free(struct config *c)
{
	unsigned i;

	if (!c)
		return;
	for (i = 0; i < c->mount_nr; i++) {
		free(c->mount[i].name);
		free(c->mount[i].target);
		ids_clear(&c->mount[i].allow_users);
		ids_clear(&c->mount[i].allow_groups);
	}
	free(c->mount);
	free(c->uid);
	free(c->socket);
	free(c->socket_group);
	free(c->runtime_dir);
	free(c->admin_group);
	free(c);
}

const struct config_mount *
config_find_mount(const struct config *c, const char *name, size_t len)
{
	unsigned i;

	for (i = 0; i < c->mount_nr; i++)
		if (c->mount[i].name && strlen(c->mount[i].name) == len &&
		    !memcmp(c->mount[i].name, name, len))
			return &c->mount[i];
	return NULL;
}

const struct config_limits *
config_limits_of(const struct config *c, uid_t uid)
{
	unsigned i;

	for (i = 0; i < c->uid_nr; i++)
		if (c->uid[i].uid == uid)
			return &c->uid[i].limits;
	return &c->limits;
}

struct wb_limits
config_pipeline(const struct config *c)
{
	return (struct wb_limits){
		.dirty_bytes = c->dirty_bytes,
		.dirty_background_bytes = c->dirty_background_bytes,
		.dirty_throttling = c->dirty_throttling,
		.reclaim_policy = c->reclaim_policy,
		.whole_grants = c->server.writeback_bounds & BOUND_GRANTS,
		.dirty_expire_usec = c->dirty_expire_centisecs * 10000ull,
		.clean_expire_usec = c->clean_expire_sec * 1000000ull,
		.late_duplicate_usec = c->late_duplicate_sec * 1000000ull,
	};
}

void
config_each(const struct config *c, void (*fn)(void *arg, const char *key,
	    const char *value, const char *sentence), void *arg)
{
	const struct key *k;
	char value[512];

	for (k = config_keys; k < config_keys + config_key_nr; k++) {
		if (k->scope == KEY_MOUNT)
			continue;
		key_format(k, k->scope == KEY_SERVER ? (const void *)&c->server
			   : k->scope == KEY_UID ? (const void *)&c->limits
			   : c, value, sizeof value);
		fn(arg, k->name, value, k->sentence);
	}
}
