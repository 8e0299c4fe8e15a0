/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_value.c - the value of a key: read from text, shown as text, copied
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "daemon/config_ids.h"
#include "daemon/config_keys.h"

static void
store(const struct key *k, void *base, uint64_t value)
{
	void *at = (char *)base + k->offset;
	uint32_t word = (uint32_t)value;
	unsigned char byte = (unsigned char)value;

	if (k->width == 8)
		memcpy(at, &value, 8);
	else if (k->width == 4)
		memcpy(at, &word, 4);
	else
		memcpy(at, &byte, 1);
}

static uint64_t
load(const struct key *k, const void *base)
{
	const void *at = (const char *)base + k->offset;
	uint64_t value;
	uint32_t word;
	unsigned char byte;

	if (k->width == 8)
		return memcpy(&value, at, 8), value;
	if (k->width == 4)
		return memcpy(&word, at, 4), word;
	return memcpy(&byte, at, 1), byte;
}

static bool
is_text(const struct key *k)
{
	return k->type == KEY_PATH || k->type == KEY_GROUP ||
	       k->type == KEY_TARGET;
}

/* Powers of 1024 by suffix; -1: not one. */
static int
suffix_shift(const char *s)
{
	static const char letters[] = "KMGT";
	const char *at;

	if (!*s)
		return 0;
	at = strchr(letters, toupper((unsigned char)*s));
	if (!at || s[1])
		return -1;
	return 10 * (int)(at - letters + 1);
}

static int
parse_number(const char *text, int base, bool suffixes, uint64_t *out)
{
	unsigned long long n;
	char *end;
	int shift;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, base);
	if (errno)
		return -ERANGE;
	shift = suffixes ? suffix_shift(end) : *end ? -1 : 0;
	if (shift < 0)
		return -EINVAL;
	if (n > UINT64_MAX >> shift)
		return -ERANGE;
	*out = (uint64_t)n << shift;
	return 0;
}

static void
format_number(const struct key *k, uint64_t n, char *out, size_t size)
{
	static const char letters[] = "TGMK";
	unsigned i;

	if (k->type == KEY_OCTAL) {
		snprintf(out, size, "%04" PRIo64, n);
		return;
	}
	for (i = 0; n && k->type == KEY_SIZE && i < 4; i++) {
		unsigned shift = 10 * (4 - i);

		if (n & ((1ull << shift) - 1))
			continue;
		snprintf(out, size, "%" PRIu64 "%c", n >> shift, letters[i]);
		return;
	}
	snprintf(out, size, "%" PRIu64, n);
}

/* NULL: it is none of the key's words. */
static const struct key_choice *
named(const struct key *k, const char *text)
{
	const struct key_choice *c;

	for (c = k->choice; c->name; c++)
		if (!strcmp(c->name, text))
			return c;
	return NULL;
}

static int
set_number(const struct key *k, void *base, const char *text, char *why,
	   size_t why_size)
{
	char min[32], max[32];
	const struct key_choice *word = k->choice ? named(k, text) : NULL;
	uint64_t n = 0;
	int rc = parse_number(text, k->type == KEY_OCTAL ? 8 : 10,
			      k->type == KEY_SIZE, &n);

	if (word) {
		store(k, base, word->value);
		return 0;
	}
	if (!rc && ((n >= k->min && n <= k->max) || (!n && k->or_zero))) {
		store(k, base, n);
		return 0;
	}
	format_number(k, k->min, min, sizeof min);
	format_number(k, k->max, max, sizeof max);
	snprintf(why, why_size, "\"%s\" is %s; give %s from %s to %s%s%s%s",
		 text, rc == -EINVAL ? "not a number" : "out of range",
		 k->type == KEY_SIZE ? "bytes (K, M, G allowed)" :
		 k->type == KEY_OCTAL ? "an octal number" : "a number",
		 min, max, k->or_zero ? ", or 0" : "",
		 k->choice ? ", or " : "",
		 k->choice ? k->choice->name : "");
	return -EINVAL;
}

static int
set_choice(const struct key *k, void *base, const char *text, char *why,
	   size_t why_size)
{
	const struct key_choice *c;
	size_t at;

	c = named(k, text);
	if (c) {
		store(k, base, c->value);
		return 0;
	}
	at = (size_t)snprintf(why, why_size, "\"%.100s\" is none of its values; "
			      "give ", text);
	for (c = k->choice; c->name && at < why_size; c++)
		at += (size_t)snprintf(why + at, why_size - at, "%s%s", c->name,
				       !c[1].name ? "" :
				       !c[2].name ? " or " : ", ");
	return -EINVAL;
}

/* What is wrong with a text; NULL: nothing. */
static const char *
text_fault(const struct key *k, const char *text)
{
	const size_t path_max = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	const char *host = text + strlen("nfs://");

	if (!*text)
		return "has no value; write one, or leave the key out";
	switch (k->type) {
	case KEY_PATH:
		if (*text != '/')
			return "is not an absolute path; let it begin with /";
		if (strlen(text) >= path_max)
			return "is too long; 107 bytes at most";
		break;
	case KEY_GROUP:
		if (!getgrnam(text))
			return "is no group of this system; name one that is";
		break;
	case KEY_TARGET:
		if (strncmp(text, "nfs://", strlen("nfs://")) ||
		    *host == '/' || !*host || !strchr(host, '/'))
			return "is not a target; write "
			       "nfs://server[:port]/export[/path]";
		break;
	default:
		break;
	}
	return NULL;
}

static int
set_text(const struct key *k, void *base, const char *text, char *why,
	 size_t why_size)
{
	char **at = (char **)(void *)((char *)base + k->offset);
	const char *fault = text_fault(k, text);
	char *copy;

	if (fault) {
		snprintf(why, why_size, "\"%s\" %s", text, fault);
		return -EINVAL;
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

int
key_set(const struct key *k, void *base, const char *text, char *why,
	size_t why_size)
{
	void *at = (char *)base + k->offset;

	if (k->type == KEY_ACCOUNT)
		return account_parse(text, at, why, why_size);
	if (k->type == KEY_USERS)
		return ids_parse(IDS_USERS, text, at, why, why_size);
	if (k->type == KEY_GROUPS)
		return ids_parse(IDS_GROUPS, text, at, why, why_size);
	if (is_text(k))
		return set_text(k, base, text, why, why_size);
	if (k->type == KEY_CHOICE)
		return set_choice(k, base, text, why, why_size);
	return set_number(k, base, text, why, why_size);
}

static const struct key_choice *
choice_of(const struct key *k, const void *base)
{
	const struct key_choice *c;
	uint64_t value = load(k, base);

	for (c = k->choice; c->name; c++)
		if (c->value == value)
			return c;
	return NULL;
}

void
key_format(const struct key *k, const void *base, char *out, size_t size)
{
	const void *at = (const char *)base + k->offset;
	const struct key_choice *c = k->choice ? choice_of(k, base) : NULL;
	const char *text;

	if (is_text(k)) {
		text = *(char *const *)at;
		snprintf(out, size, "%s", text ? text : "");
	} else if (k->type == KEY_ACCOUNT) {
		account_format(at, out, size);
	} else if (k->type == KEY_CHOICE || c) {
		snprintf(out, size, "%s", c ? c->name : "");
	} else {
		format_number(k, load(k, base), out, size);
	}
}

const char *
key_unsafe(const struct key *k, const void *base)
{
	const struct key_choice *c;

	if (k->type != KEY_CHOICE)
		return NULL;
	c = choice_of(k, base);
	return c && c->unsafe ? c->name : NULL;
}

void
key_copy(const struct key *k, void *to, const void *from)
{
	store(k, to, load(k, from));
}
