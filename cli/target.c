/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * target.c - names made from a TARGET
 *
 *	nfs://server/export/dir?nfsport=2049  +  "a b"
 *		= nfs://server/export/dir/a%20b?nfsport=2049
 *	backup:/dir  +  "a b"  =  backup:/dir/a b
 */
#include <stdlib.h>
#include <string.h>

#include "cli/target.h"

bool
target_is_url(const char *target)
{
	return strncmp(target, "nfs://", 6) == 0;
}

/* The length of what stands in front of the query. */
static size_t
path_length(const char *target)
{
	return target_is_url(target) ? strcspn(target, "?") : strlen(target);
}

bool
target_ends_in_slash(const char *target)
{
	size_t len = path_length(target);

	return len > 0 && target[len - 1] == '/';
}

/* RFC 3986, 2.3: what needs no encoding; and the slash between names. */
static bool
stays_as_it_is(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		(c >= 'a' && c <= 'z') ||
		(c != '\0' && strchr("-._~/", c) != NULL);
}

static char *
encode(char *to, const char *name)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *name != '\0'; name++) {
		unsigned char c = (unsigned char)*name;

		if (stays_as_it_is(c)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	return to;
}

char *
target_join(const char *target, const char *name)
{
	size_t whole = path_length(target), len = whole;
	const char *query = target + whole;
	char *joined = malloc(strlen(target) + 3 * strlen(name) + 2), *end;

	if (joined == NULL)
		return NULL;
	while (len > 0 && target[len - 1] == '/')
		len--;
	memcpy(joined, target, len);
	end = joined + len;
	*end++ = '/';
	if (target_is_url(target))
		end = encode(end, name);
	else
		end = stpcpy(end, name);
	strcpy(end, query);
	return joined;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static void
decode(char *s)
{
	char *to = s;

	while (*s != '\0') {
		int high, low;

		if (*s == '%' && (high = hex_digit(s[1])) >= 0 &&
		    (low = hex_digit(s[2])) >= 0) {
			*to++ = (char)(high << 4 | low);
			s += 3;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Where the path begins: behind "nfs://server" or "NAME:". */
static const char *
path_start(const char *target)
{
	const char *p;

	if (target_is_url(target))
		return target + 6 + strcspn(target + 6, "/?");
	p = strchr(target, ':');
	return p == NULL ? target : p + 1;
}

/* The last name in start..end, without slashes behind it. */
static char *
last_name(const char *start, const char *end)
{
	const char *name;

	while (end > start && end[-1] == '/')
		end--;
	name = end;
	while (name > start && name[-1] != '/')
		name--;
	return strndup(name, end - name);
}

char *
target_base(const char *target)
{
	char *name = last_name(path_start(target),
			       target + path_length(target));

	if (name != NULL && target_is_url(target))
		decode(name);
	return name;
}

char *
path_base(const char *path)
{
	char *name = last_name(path, path + strlen(path));

	if (name != NULL && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		name[0] = '\0';
	return name;
}
