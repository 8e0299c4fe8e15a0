/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.c - reading the configuration file, section by section
 *
 * libinih takes the lines apart; the keys are config_keys.c's table.  Reading
 * goes on past a fault, so that one look shows them all:
 *
 *	lines ── reader (counts, opens sections) ── libinih ── handler (sets keys)
 *	      ── settle: defaults that depend on others, what mounts inherit
 *	      ── check: what must hold between keys
 *
 * For each section the line of every key is kept, so that a fault found at the
 * end still names its place.
 */
#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/config_keys.h"

#define FAULTS_MAX 20		/* reported at once */
#define NAME_MAX_BYTES 255	/* of a mount */

/* A section as it was met; index: of the mount or uid it fills in. */
struct section {
	enum { SECTION_NFSWBD, SECTION_MOUNT, SECTION_UID, SECTION_SKIP } kind;
	unsigned index, line;
	unsigned seen[CONFIG_KEYS_MAX];	/* line of each key; 0: not there */
};

struct reading {
	const char *path;
	FILE *file;
	unsigned line;
	struct config *config;
	struct section *section;	/* [0] is [nfswbd] */
	unsigned section_nr, current;
	FILE *faults;			/* a memory stream */
	unsigned fault_nr;
	bool no_memory;
};

static void __attribute__((format(printf, 3, 4)))
fault(struct reading *r, unsigned line, const char *fmt, ...)
{
	va_list ap;

	if (++r->fault_nr > FAULTS_MAX)
		return;
	if (r->fault_nr > 1)
		fputc('\n', r->faults);
	fprintf(r->faults, "%s:", r->path);
	if (line)
		fprintf(r->faults, "%u:", line);
	fputc(' ', r->faults);
	va_start(ap, fmt);
	vfprintf(r->faults, fmt, ap);
	va_end(ap);
}

/* An array of nr elements with one more at the end, zeroed.  NULL: no memory,
   and the array stays. */
static void *
grow(void *array, unsigned nr, size_t size)
{
	char *more = realloc(array, (nr + 1) * size);

	if (more)
		memset(more + nr * size, 0, size);
	return more;
}

static struct section *
section_add(struct reading *r, int kind)
{
	struct section *s = grow(r->section, r->section_nr, sizeof *s);

	if (!s) {
		r->no_memory = true;
		return NULL;
	}
	r->section = s;
	s += r->section_nr;
	s->kind = kind;
	s->line = r->line;
	r->current = r->section_nr++;
	return s;
}

static unsigned
line_of(const struct reading *r, int kind, unsigned index)
{
	unsigned i;

	for (i = 0; i < r->section_nr; i++)
		if ((int)r->section[i].kind == kind &&
		    r->section[i].index == index)
			return r->section[i].line;
	return 0;
}

static void
set_defaults(enum key_scope scope, void *base)
{
	const struct key *k;
	char why[1];

	for (k = config_keys; k < config_keys + config_key_nr; k++)
		if (k->scope == scope && k->fallback)
			key_set(k, base, k->fallback, why, sizeof why);
}

static void
open_mount(struct reading *r, const char *name)
{
	struct config *c = r->config;
	const struct config_mount *twin;
	struct config_mount *m;
	struct section *s;

	if (strpbrk(name, ":/") || strlen(name) > NAME_MAX_BYTES) {
		fault(r, r->line, "\"%s\" can't be a mount's name; leave out "
		      "':' and '/'", name);
		section_add(r, SECTION_SKIP);
		return;
	}
	twin = config_find_mount(c, name, strlen(name));
	if (twin) {
		fault(r, r->line, "mount \"%s\" was defined in line %u; give "
		      "this one another name", name,
		      line_of(r, SECTION_MOUNT, (unsigned)(twin - c->mount)));
		section_add(r, SECTION_SKIP);
		return;
	}
	s = section_add(r, SECTION_MOUNT);
	m = grow(c->mount, c->mount_nr, sizeof *m);
	if (!s || !m) {
		c->mount = m ? m : c->mount;
		r->no_memory = true;
		return;
	}
	c->mount = m;
	s->index = c->mount_nr++;
	m[s->index].name = strdup(name);
	if (!m[s->index].name)
		r->no_memory = true;
}

static int
parse_uid(const char *name, uid_t *uid)
{
	struct passwd *pw;
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end && !errno &&
	    n < (uid_t)-1) {
		*uid = (uid_t)n;
		return 0;
	}
	pw = getpwnam(name);
	if (!pw)
		return -ENOENT;
	*uid = pw->pw_uid;
	return 0;
}

static void
open_uid(struct reading *r, const char *name)
{
	struct config *c = r->config;
	struct config_uid *u;
	struct section *s;
	uid_t uid = 0;
	unsigned i;

	if (parse_uid(name, &uid)) {
		fault(r, r->line, "\"%s\" is no user of this system; give a "
		      "user's name or number", name);
		section_add(r, SECTION_SKIP);
		return;
	}
	for (i = 0; i < c->uid_nr; i++)
		if (c->uid[i].uid == uid) {
			fault(r, r->line, "user \"%s\" has a section in line "
			      "%u; put the keys there", name,
			      line_of(r, SECTION_UID, i));
			section_add(r, SECTION_SKIP);
			return;
		}
	s = section_add(r, SECTION_UID);
	u = grow(c->uid, c->uid_nr, sizeof *u);
	if (!s || !u) {
		c->uid = u ? u : c->uid;
		r->no_memory = true;
		return;
	}
	c->uid = u;
	s->index = c->uid_nr++;
	set_defaults(KEY_UID, &u[s->index]);
	u[s->index].uid = uid;
}

/* text: what stands between the brackets. */
static void
open_section(struct reading *r, char *text)
{
	char *name = text + strcspn(text, " \t");

	if (*name)
		*name++ = '\0';
	name += strspn(name, " \t");
	if (!strcmp(text, "nfswbd") && !*name) {
		r->current = 0;
		r->section[0].line = r->line;
	} else if (!strcmp(text, "mount") && *name) {
		open_mount(r, name);
	} else if (!strcmp(text, "uid") && *name) {
		open_uid(r, name);
	} else if (!strcmp(text, "mount") || !strcmp(text, "uid")) {
		fault(r, r->line, "section [%s] has no name; write [%s NAME]",
		      text, text);
		section_add(r, SECTION_SKIP);
	} else {
		fault(r, r->line, "unknown section [%s%s%s]; there are "
		      "[nfswbd], [mount NAME] and [uid NAME]", text,
		      *name ? " " : "", name);
		section_add(r, SECTION_SKIP);
	}
}

/* A line into buf, without leading blanks, which mean nothing here.  -1: end
   of file. */
static int
read_line(struct reading *r, char *buf, int size)
{
	int c, n = 0;
	bool cut = false, any = false;

	while ((c = getc(r->file)) != EOF) {
		any = true;
		if (c == '\n')
			break;
		if (!n && (c == ' ' || c == '\t'))
			continue;
		if (n >= size - 2 || !c)
			cut = true;
		else
			buf[n++] = (char)c;
	}
	if (!any)
		return -1;
	r->line++;
	if (cut) {
		fault(r, r->line, "the line is longer than %d bytes or holds a "
		      "NUL byte; shorten it", size - 2);
		n = 0;
	}
	while (n && buf[n - 1] == '\r')
		n--;
	buf[n] = '\0';
	return n;
}

/* libinih's way to a line.  What is no key comes to it as an empty line. */
static char *
reader(char *buf, int size, void *arg)
{
	struct reading *r = arg;
	char *end;

	if (size < 3 || read_line(r, buf, size) < 0)
		return NULL;
	if (*buf == '[') {
		end = strchr(buf, ']');
		if (end) {
			*end = '\0';
			open_section(r, buf + 1);
		} else {
			fault(r, r->line, "the section has no ']'; write "
			      "[NAME]");
			section_add(r, SECTION_SKIP);
		}
		*buf = '\0';
	} else if (*buf && !strchr(";#", *buf) && !strpbrk(buf, "=:")) {
		fault(r, r->line, "\"%s\" is neither a section nor a key; "
		      "write KEY = VALUE", buf);
		*buf = '\0';
	}
	return buf;
}

static void *
base_of(struct reading *r, const struct section *s, const struct key *k)
{
	if (s->kind == SECTION_UID)
		return &r->config->uid[s->index];
	if (s->kind == SECTION_MOUNT && k->scope == KEY_MOUNT)
		return &r->config->mount[s->index];
	if (s->kind == SECTION_MOUNT)
		return &r->config->mount[s->index].server;
	return k->scope == KEY_SERVER ? (void *)&r->config->server : r->config;
}

static bool
belongs(const struct section *s, const struct key *k)
{
	switch (s->kind) {
	case SECTION_NFSWBD:
		return k->scope == KEY_GLOBAL || k->scope == KEY_SERVER;
	case SECTION_MOUNT:
		return k->scope == KEY_MOUNT || k->scope == KEY_SERVER;
	case SECTION_UID:
		return k->scope == KEY_UID;
	case SECTION_SKIP:
		break;
	}
	return false;
}

static const char *
home_of(const struct key *k)
{
	switch (k->scope) {
	case KEY_GLOBAL:
		return "[nfswbd]";
	case KEY_SERVER:
		return "[nfswbd] or [mount NAME]";
	case KEY_MOUNT:
		return "[mount NAME]";
	case KEY_UID:
		return "[uid NAME]";
	}
	return "";
}

static int
handler(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	struct section *s = &r->section[r->current];
	const struct key *k = key_find(name);
	unsigned *seen;
	char why[512];
	int rc;

	(void)section;			/* reader knows it */
	if (s->kind == SECTION_SKIP || r->no_memory)
		return 1;
	if (!s->line) {
		fault(r, r->line, "%s stands outside a section; put [nfswbd] "
		      "above it", name);
		return 1;
	}
	if (!k) {
		fault(r, r->line, "unknown key \"%s\"; see nfswb.conf(5)",
		      name);
		return 1;
	}
	if (!belongs(s, k)) {
		fault(r, r->line, "%s does not belong here; move it to %s",
		      name, home_of(k));
		return 1;
	}
	seen = &s->seen[key_index(k)];
	if (*seen) {
		fault(r, r->line, "%s was given in line %u; remove one of them",
		      name, *seen);
		return 1;
	}
	*seen = r->line;
	rc = key_set(k, base_of(r, s, k), value, why, sizeof why);
	if (rc == -ENOMEM)
		r->no_memory = true;
	else if (rc)
		fault(r, r->line, "%s: %s", name, why);
	return 1;
}

static unsigned
seen_line(const struct section *s, const char *name)
{
	return s->seen[key_index(key_find(name))];
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
	if (!s || !seen_line(s, "socket_mode"))
		c->socket_mode = geteuid() ? 0600 : 0666;
	if (!s || !seen_line(s, "dirty_bytes"))
		c->dirty_bytes = default_dirty_bytes();
	if (!s || !seen_line(s, "dirty_background_bytes"))
		c->dirty_background_bytes = c->dirty_bytes / 2;
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
		value = key_unsafe(k, base_of(r, s, k));
		if (value)
			fault(r, s->seen[i], "%s = %s brings back known bad "
			      "behaviour; take another value, or set "
			      "experiments = yes", k->name, value);
	}
}

static void
check(struct reading *r)
{
	const struct config *c = r->config;
	const struct section *s = &r->section[0];
	unsigned line = seen_line(s, "dirty_background_bytes");

	if (!line)
		line = seen_line(s, "dirty_bytes");
	if (c->dirty_background_bytes >= c->dirty_bytes)
		fault(r, line, "dirty_background_bytes is not below "
		      "dirty_bytes; make it half of that");
	for (s = r->section; s < r->section + r->section_nr; s++) {
		if (s->kind == SECTION_MOUNT && !seen_line(s, "target"))
			fault(r, s->line, "mount \"%s\" has no target; add "
			      "target = nfs://server/export",
			      c->mount[s->index].name);
		if (!c->experiments)
			check_unsafe(r, s);
	}
}

static void
read_all(struct reading *r)
{
	unsigned i;

	if (!section_add(r, SECTION_NFSWBD))
		return;
	if (ini_parse_stream(reader, r, handler, r) && !r->fault_nr)
		fault(r, r->line, "the file can't be understood; write KEY = "
		      "VALUE lines under [nfswbd]");
	if (ferror(r->file))
		fault(r, 0, "can't be read: %s; name another file with -c",
		      strerror(errno));
	if (r->no_memory)
		return;
	settle_global(r->config, &r->section[0]);
	for (i = 1; i < r->section_nr; i++)
		if (r->section[i].kind == SECTION_MOUNT)
			settle_mount(r->config, &r->section[i]);
	check(r);
	if (r->fault_nr > FAULTS_MAX)
		fprintf(r->faults, "\n%s: %u more faults; mend these first",
			r->path, r->fault_nr - FAULTS_MAX);
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
	set_defaults(KEY_GLOBAL, c);
	set_defaults(KEY_SERVER, &c->server);
	settle_global(c, NULL);
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

void
config_each(const struct config *c, void (*fn)(void *arg, const char *key,
	    const char *value, const char *sentence), void *arg)
{
	const struct key *k;
	char value[512];

	for (k = config_keys; k < config_keys + config_key_nr; k++) {
		if (k->scope != KEY_GLOBAL && k->scope != KEY_SERVER)
			continue;
		key_format(k, k->scope == KEY_SERVER ? (const void *)&c->server
						     : c, value, sizeof value);
		fn(arg, k->name, value, k->sentence);
	}
}
