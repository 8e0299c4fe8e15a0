/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_read.c - the configuration file, line by line and section by section
 *
 * libinih takes the lines apart; the keys are config_keys.c's table.
 *
 *	lines ── reader (counts, opens sections) ── libinih ── handler (sets keys)
 */
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_ids.h"
#include "daemon/config_read.h"

#define FAULTS_MAX 20		/* reported at once */
#define NAME_MAX_BYTES 255	/* of a mount */

void
config_fault(struct reading *r, unsigned line, const char *fmt, ...)
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

unsigned
config_faults_untold(const struct reading *r)
{
	return r->fault_nr > FAULTS_MAX ? r->fault_nr - FAULTS_MAX : 0;
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
open_mount(struct reading *r, const char *name)
{
	struct config *c = r->config;
	const struct config_mount *twin;
	struct config_mount *m;
	struct section *s;

	if (strpbrk(name, ":/") || strlen(name) > NAME_MAX_BYTES) {
		config_fault(r, r->line, "\"%s\" can't be a mount's name; "
			     "leave out ':' and '/'", name);
		section_add(r, SECTION_SKIP);
		return;
	}
	twin = config_find_mount(c, name, strlen(name));
	if (twin) {
		config_fault(r, r->line, "mount \"%s\" was defined in line %u; "
			     "give this one another name", name,
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

static void
open_uid(struct reading *r, const char *name)
{
	struct config *c = r->config;
	struct config_uid *u;
	struct section *s;
	uint32_t uid = 0;
	unsigned i;

	if (ids_find(IDS_USERS, name, &uid)) {
		config_fault(r, r->line, "\"%s\" is no user of this system; "
			     "give a user's name or number", name);
		section_add(r, SECTION_SKIP);
		return;
	}
	for (i = 0; i < c->uid_nr; i++)
		if (c->uid[i].uid == uid) {
			config_fault(r, r->line, "user \"%s\" has a section in "
				     "line %u; put the keys there", name,
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
		config_fault(r, r->line, "section [%s] has no name; write [%s "
			     "NAME]", text, text);
		section_add(r, SECTION_SKIP);
	} else {
		config_fault(r, r->line, "unknown section [%s%s%s]; there are "
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
		config_fault(r, r->line, "the line is longer than %d bytes or "
			     "holds a NUL byte; shorten it", size - 2);
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
			config_fault(r, r->line, "the section has no ']'; "
				     "write [NAME]");
			section_add(r, SECTION_SKIP);
		}
		*buf = '\0';
	} else if (*buf && !strchr(";#", *buf) && !strpbrk(buf, "=:")) {
		config_fault(r, r->line, "\"%s\" is neither a section nor a "
			     "key; write KEY = VALUE", buf);
		*buf = '\0';
	}
	return buf;
}

void *
config_base(struct config *c, const struct section *s, const struct key *k)
{
	if (s->kind == SECTION_UID)
		return &c->uid[s->index].limits;
	if (s->kind == SECTION_MOUNT && k->scope == KEY_MOUNT)
		return &c->mount[s->index];
	if (s->kind == SECTION_MOUNT)
		return &c->mount[s->index].server;
	if (k->scope == KEY_UID)
		return &c->limits;
	return k->scope == KEY_SERVER ? (void *)&c->server : c;
}

static bool
belongs(const struct section *s, const struct key *k)
{
	switch (s->kind) {
	case SECTION_NFSWBD:
		return k->scope != KEY_MOUNT;
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
		return "[nfswbd] or [uid NAME]";
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
		config_fault(r, r->line, "%s stands outside a section; put "
			     "[nfswbd] above it", name);
		return 1;
	}
	if (!k) {
		config_fault(r, r->line, "unknown key \"%s\"; see "
			     "nfswb.conf(5)", name);
		return 1;
	}
	if (!belongs(s, k)) {
		config_fault(r, r->line, "%s does not belong here; move it to "
			     "%s", name, home_of(k));
		return 1;
	}
	seen = &s->seen[key_index(k)];
	if (*seen) {
		config_fault(r, r->line, "%s was given in line %u; remove one "
			     "of them", name, *seen);
		return 1;
	}
	*seen = r->line;
	rc = key_set(k, config_base(r->config, s, k), value, why, sizeof why);
	if (rc == -ENOMEM)
		r->no_memory = true;
	else if (rc)
		config_fault(r, r->line, "%s: %s", name, why);
	return 1;
}

unsigned
config_line(const struct section *s, const char *key)
{
	return s->seen[key_index(key_find(key))];
}

void
config_read(struct reading *r)
{
	if (!section_add(r, SECTION_NFSWBD))
		return;
	if (ini_parse_stream(reader, r, handler, r) && !r->fault_nr)
		config_fault(r, r->line, "the file can't be understood; write "
			     "KEY = VALUE lines under [nfswbd]");
	if (ferror(r->file))
		config_fault(r, 0, "can't be read: %s; name another file with "
			     "-c", strerror(errno));
}
