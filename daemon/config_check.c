/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_check.c - defaults that depend on others, what mounts and users
 * inherit, and what must hold between keys
 */
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/config_read.h"

#define USERS_MIN 1000		/* accounts below are the system's */

bool
config_is_system(uid_t uid)
{
	return uid < USERS_MIN;
}

void
config_set_defaults(enum key_scope scope, void *base)
{
	const struct key *k;
	char why[1];

	for (k = config_keys; k < config_keys + config_key_nr; k++)
		if (k->scope == scope && k->fallback)
			key_set(k, base, k->fallback, why, sizeof why);
}

static uint64_t
default_dirty_bytes(void)
{
	const uint64_t most = 1ull << 30, least = 16ull << 20;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
	uint64_t bytes;

	if (pages <= 0 || page <= 0)
		return least;
	bytes = (uint64_t)pages * (uint64_t)page / 5;
	return bytes > most ? most : bytes < least ? least : bytes;
}

/* What depends on other keys or on the machine, where the file doesn't say. */
static void
settle_global(struct config *c, const struct section *s)
{
	if (!s || !config_line(s, "socket_mode"))
		c->socket_mode = config_is_system(geteuid()) ? 0666 : 0600;
	if (!s || !config_line(s, "dirty_bytes"))
		c->dirty_bytes = default_dirty_bytes();
	if (!s || !config_line(s, "dirty_background_bytes"))
		c->dirty_background_bytes = c->dirty_bytes / 2;
}

/* Is a mount for some users only? */
static bool
has_closed_mount(const struct config *c)
{
	unsigned i;

	for (i = 0; i < c->mount_nr; i++)
		if (c->mount[i].allow_users.nr || c->mount[i].allow_groups.nr)
			return true;
	return false;
}

static void
settle_access(struct config *c)
{
	const struct group *gr = c->admin_group ? getgrnam(c->admin_group)
						: NULL;

	c->admin_gid = gr ? gr->gr_gid : (gid_t)-1;
	if (c->allow_urls == CONFIG_AUTO)
		c->allow_urls = config_is_system(geteuid()) ||
				has_closed_mount(c) ? CONFIG_NO : CONFIG_YES;
}

/* A mount inherits what it does not override, wherever [nfswbd] stands. */
static void
settle_mount(struct config *c, const struct section *s)
{
	unsigned i;

	for (i = 0; i < config_key_nr; i++)
		if (config_keys[i].scope == KEY_SERVER && !s->seen[i])
			key_copy(&config_keys[i], &c->mount[s->index].server,
				 &c->server);
}

/* A user has the limits of all where his section has no other. */
static void
settle_uid(struct config *c, const struct section *s)
{
	unsigned i;

	for (i = 0; i < config_key_nr; i++)
		if (config_keys[i].scope == KEY_UID && !s->seen[i])
			key_copy(&config_keys[i], &c->uid[s->index].limits,
				 &c->limits);
}

void
config_settle(struct config *c, const struct reading *r)
{
	unsigned i;

	settle_global(c, r ? &r->section[0] : NULL);
	settle_access(c);
	for (i = 1; r && i < r->section_nr; i++)
		if (r->section[i].kind == SECTION_MOUNT)
			settle_mount(c, &r->section[i]);
		else if (r->section[i].kind == SECTION_UID)
			settle_uid(c, &r->section[i]);
}

static void
check_unsafe(struct reading *r, const struct section *s)
{
	const struct key *k;
	const char *value;
	unsigned i;

	for (i = 0; i < config_key_nr; i++) {
		k = &config_keys[i];
		if (!s->seen[i])
			continue;
		value = key_unsafe(k, config_base(r->config, s, k));
		if (value)
			config_fault(r, s->seen[i], "%s = %s brings back known "
				     "bad behaviour; take another value, or "
				     "set experiments = yes", k->name, value);
	}
}

void
config_check(struct reading *r)
{
	const struct config *c = r->config;
	const struct section *s = &r->section[0];
	unsigned line = config_line(s, "dirty_background_bytes");

	if (!line)
		line = config_line(s, "dirty_bytes");
	if (c->dirty_background_bytes >= c->dirty_bytes)
		config_fault(r, line, "dirty_background_bytes is not below "
			     "dirty_bytes; make it half of that");
	if (c->allow_urls == CONFIG_YES && has_closed_mount(c))
		config_fault(r, config_line(&r->section[0], "allow_urls"),
			     "allow_urls = yes lets everybody name the server "
			     "of a mount that has allow_users or allow_groups; "
			     "take no");
	for (s = r->section; s < r->section + r->section_nr; s++) {
		if (s->kind == SECTION_MOUNT && !config_line(s, "target"))
			config_fault(r, s->line, "mount \"%s\" has no target; "
				     "add target = nfs://server/export",
				     c->mount[s->index].name);
		if (!c->experiments)
			check_unsafe(r, s);
	}
}
