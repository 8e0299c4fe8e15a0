/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * target.c - takes a target apart
 *
 *	nfs://[::1]:2049/export/a%20b?mountport=20048
 *	      host  port path         query
 *	data:/a b		a path below the target of [mount data]
 *
 * Escapes (%20) and a query belong to URLs; the path behind NAME: stands for
 * itself.  libnfs can read neither a port nor brackets, so it never sees this.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/target.h"

#define SCHEME "nfs://"
#define FORMS "a target is nfs://server/export/path or NAME:/path"

static int
refuse(char **error, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
refuse(char **error, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(error, fmt, ap) < 0)
		*error = NULL;
	va_end(ap);
	return err;
}

static int
no_memory(char **error)
{
	return refuse(error, -ENOMEM, "out of memory");
}

static int
malformed(char **error, const char *text, const char *why)
{
	return refuse(error, -EINVAL, "malformed target '%s': %s", text, why);
}

/* "/a//b/./c/" becomes "/a/b/c", in place.  False: it holds "..". */
static bool
normalise(char *path)
{
	char *in = path, *out = path;

	while (*in) {
		size_t len;

		in += strspn(in, "/");
		len = strcspn(in, "/");
		if (len == 2 && !memcmp(in, "..", 2))
			return false;
		if (len && !(len == 1 && *in == '.')) {
			*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		in += len;
	}
	if (out == path)
		*out++ = '/';
	*out = 0;
	return true;
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Resolves %XX in place.  False: not two digits, or a zero byte. */
static bool
unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int high, low;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		high = hex(s[1]);
		low = high < 0 ? -1 : hex(s[2]);
		if (low < 0 || !(high | low))
			return false;
		*out++ = (char)(high << 4 | low);
		s += 2;
	}
	*out = 0;
	return true;
}

/* A port in decimal; 0: it is none. */
static unsigned
port_number(const char *s)
{
	size_t digits = strspn(s, "0123456789");
	unsigned long n;

	if (!digits || digits > 5 || s[digits])
		return 0;
	n = strtoul(s, NULL, 10);
	return n <= 65535 ? (unsigned)n : 0;
}

static int
parse_option(struct target *t, char *option, char **error)
{
	char *value = strchr(option, '=');
	unsigned *port = NULL;

	if (value)
		*value++ = 0;
	if (!strcmp(option, "nfsport"))
		port = &t->nfsport;
	else if (!strcmp(option, "mountport"))
		port = &t->mountport;
	else
		return refuse(error, -EINVAL, "malformed target '%s': unknown "
			      "option '%s'; known are nfsport and mountport",
			      t->text, option);
	*port = value ? port_number(value) : 0;
	if (!*port)
		return refuse(error, -EINVAL, "malformed target '%s': %s needs "
			      "a port from 1 to 65535", t->text, option);
	return 0;
}

static int
parse_query(struct target *t, char *query, char **error)
{
	char *option;
	int err;

	while ((option = strsep(&query, "&"))) {
		if (!*option)
			continue;
		err = parse_option(t, option, error);
		if (err)
			return err;
	}
	return 0;
}

/* "host", "host:port", "[v6]" or "[v6]:port", in place. */
static int
parse_server(struct target *t, char *server, char **error)
{
	char *end, *host = server;

	if (*server == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return malformed(error, t->text,
					 "an IPv6 address ends with ']'");
		*end++ = 0;
	} else {
		end = server + strcspn(server, ":");
		if (*end && strchr(end + 1, ':'))
			return malformed(error, t->text, "an IPv6 address "
					 "stands in brackets: nfs://[::1]/…");
	}
	if (*end == ':') {
		*end++ = 0;
		t->nfsport = port_number(end);
		if (!t->nfsport)
			return malformed(error, t->text, "behind the server's "
					 "':' stands a port from 1 to 65535");
	}
	if (!*host)
		return malformed(error, t->text, FORMS);
	t->host = strdup(host);
	return t->host ? 0 : no_memory(error);
}

/* copy is url behind "nfs://", to be cut up. */
static int
parse_url_parts(struct target *t, char *copy, char **error)
{
	char *query = strchr(copy, '?'), *path;
	int err;

	if (query)
		*query++ = 0;
	path = strchr(copy, '/');
	if (!path)
		return malformed(error, t->text, FORMS);
	t->path = strdup(path);
	if (!t->path)
		return no_memory(error);
	*path = 0;
	err = parse_server(t, copy, error);
	if (!err && query)
		err = parse_query(t, query, error);
	if (err)
		return err;
	if (!unescape(t->path))
		return malformed(error, t->text, "'%' is followed by two hex "
				 "digits that are not 00 ('%25' stands for "
				 "'%')");
	if (!normalise(t->path))
		return malformed(error, t->text, "its path may not hold '..'");
	return 0;
}

static int
parse_url(struct target *t, const char *url, char **error)
{
	char *copy = strdup(url + strlen(SCHEME));
	int err;

	if (!copy)
		return no_memory(error);
	err = parse_url_parts(t, copy, error);
	free(copy);
	return err;
}

/* The path below the mount's own. */
static int
join(struct target *t, const char *below, char **error)
{
	char *path = NULL;

	t->base = t->path;
	t->path = NULL;
	if (asprintf(&path, "%s/%s", t->base, below) < 0)
		return no_memory(error);
	t->path = path;
	if (!normalise(path))
		return malformed(error, t->text, "its path may not hold '..'");
	return 0;
}

static int
parse_named(const struct config *config, struct target *t, size_t name_len,
	    char **error)
{
	char *why = NULL;
	int err;

	t->mount = config_find_mount(config, t->text, name_len);
	if (!t->mount)
		return refuse(error, -ENODEV, "unknown mount '%.*s': not in "
			      "the [mount] sections of the configuration",
			      (int)name_len, t->text);
	if (!t->mount->target ||
	    strncmp(t->mount->target, SCHEME, strlen(SCHEME)))
		return refuse(error, -EINVAL, "[mount %s]: its target must be "
			      "nfs://server/export", t->mount->name);
	err = parse_url(t, t->mount->target, &why);
	if (err) {
		refuse(error, err, "[mount %s]: %s", t->mount->name,
		       why ? why : "out of memory");
		free(why);
		return err;
	}
	return join(t, t->text + name_len + 1, error);
}

static int
parse(const struct config *config, struct target *t, bool urls, char **error)
{
	size_t name_len;
	int err;

	if (!strncmp(t->text, SCHEME, strlen(SCHEME))) {
		if (!urls)
			return refuse(error, -EACCES, "target '%s' refused: "
				      "this nfswbd takes only NAME:/path of its "
				      "[mount] sections; allow_urls = yes "
				      "permits URLs", t->text);
		err = parse_url(t, t->text, error);
		if (!err && !(t->base = strdup("")))
			err = no_memory(error);
		return err;
	}
	name_len = strcspn(t->text, ":/");
	if (!name_len || strncmp(t->text + name_len, ":/", 2) ||
	    !strncmp(t->text + name_len, "://", 3) ||
	    (name_len == 3 && !memcmp(t->text, "nfs", 3)))
		return malformed(error, t->text, FORMS);
	return parse_named(config, t, name_len, error);
}

static int
parse_text(const struct config *config, const char *text, struct target *t,
	   bool urls, char **error)
{
	int err;

	memset(t, 0, sizeof *t);
	*error = NULL;
	t->text = strdup(text);
	err = t->text ? parse(config, t, urls, error) : no_memory(error);
	if (err)
		target_clear(t);
	return err;
}

int
target_parse(const struct config *config, const char *text, struct target *t,
	     char **error)
{
	return parse_text(config, text, t, config->allow_urls != CONFIG_NO,
			  error);
}

int
target_parse_again(const struct config *config, const char *text,
		   struct target *t)
{
	char *error;
	int err = parse_text(config, text, t, true, &error);

	free(error);
	return err;
}

void
target_clear(struct target *t)
{
	free(t->text);
	free(t->host);
	free(t->path);
	free(t->base);
	memset(t, 0, sizeof *t);
}

const char *
target_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	while (len && folder[len - 1] == '/')
		len--;
	if (strncmp(path, folder, len))
		return NULL;
	if (path[len] && path[len] != '/')
		return NULL;
	return path + len + strspn(path + len, "/");
}

const char *
exports_longest(char *const *exports, unsigned nr, const char *path)
{
	const char *best = NULL;
	unsigned i;

	for (i = 0; i < nr; i++)
		if (target_below(path, exports[i]) &&
		    (!best || strlen(exports[i]) > strlen(best)))
			best = exports[i];
	return best;
}
