/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_ids.c - users and groups in the configuration, by name or by number
 */
#include "daemon/config_ids.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX	/* (uid_t)-1: no id at all */

static int
number(const char *text, uint32_t *id)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -ENOENT;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (*end || errno || n >= NOBODY)
		return -ENOENT;
	*id = (uint32_t)n;
	return 0;
}

int
ids_find(enum ids_kind kind, const char *name, uint32_t *id)
{
	const struct passwd *pw;
	const struct group *gr;

	if (!number(name, id))
		return 0;
	if (kind == IDS_USERS) {
		pw = getpwnam(name);
		if (pw)
			*id = pw->pw_uid;
		return pw ? 0 : -ENOENT;
	}
	gr = getgrnam(name);
	if (gr)
		*id = gr->gr_gid;
	return gr ? 0 : -ENOENT;
}

static int
add(struct config_ids *ids, uint32_t id)
{
	uint32_t *more = realloc(ids->id, (ids->nr + 1) * sizeof *more);

	if (!more)
		return -ENOMEM;
	ids->id = more;
	ids->id[ids->nr++] = id;
	return 0;
}

static int
parse_words(enum ids_kind kind, char *words, struct config_ids *ids,
	    char *why, size_t why_size)
{
	char *word, *rest = NULL;
	uint32_t id = 0;

	for (word = strtok_r(words, " \t,", &rest); word;
	     word = strtok_r(NULL, " \t,", &rest)) {
		if (ids_find(kind, word, &id)) {
			snprintf(why, why_size, "\"%.100s\" is no %s of this "
				 "system; give names or numbers", word,
				 kind == IDS_USERS ? "user" : "group");
			return -EINVAL;
		}
		if (add(ids, id))
			return -ENOMEM;
	}
	if (ids->nr)
		return 0;
	snprintf(why, why_size, "has no value; write one, or leave the key out");
	return -EINVAL;
}

int
ids_parse(enum ids_kind kind, const char *text, struct config_ids *ids,
	  char *why, size_t why_size)
{
	struct config_ids found = { 0, NULL };
	char *words = strdup(text);
	int err = -ENOMEM;

	if (words)
		err = parse_words(kind, words, &found, why, why_size);
	free(words);
	if (err) {
		ids_clear(&found);
		return err;
	}
	ids_clear(ids);
	*ids = found;
	return 0;
}

bool
ids_has(const struct config_ids *ids, uint32_t id)
{
	unsigned i;

	for (i = 0; i < ids->nr; i++)
		if (ids->id[i] == id)
			return true;
	return false;
}

void
ids_clear(struct config_ids *ids)
{
	free(ids->id);
	ids->id = NULL;
	ids->nr = 0;
}

/* "65534:65534" */
static int
pair(const char *text, struct config_account *a)
{
	const char *colon = strchr(text, ':');
	uint32_t uid = 0, gid = 0;
	char first[16];

	if (!colon || (size_t)(colon - text) >= sizeof first)
		return -ENOENT;
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = '\0';
	if (number(first, &uid) || number(colon + 1, &gid))
		return -ENOENT;
	*a = (struct config_account){ true, uid, gid };
	return 0;
}

int
account_parse(const char *text, struct config_account *a, char *why,
	      size_t why_size)
{
	const struct passwd *pw;

	if (!strcmp(text, "no")) {
		*a = (struct config_account){ false, 0, 0 };
		return 0;
	}
	if (!pair(text, a))
		return 0;
	pw = *text ? getpwnam(text) : NULL;
	if (pw) {
		*a = (struct config_account){ true, pw->pw_uid, pw->pw_gid };
		return 0;
	}
	snprintf(why, why_size, "\"%.100s\" is no user of this system; give "
		 "a user's name, UID:GID in numbers, or no", text);
	return -EINVAL;
}

void
account_format(const struct config_account *a, char *out, size_t size)
{
	if (a->set)
		snprintf(out, size, "%u:%u", (unsigned)a->uid,
			 (unsigned)a->gid);
	else
		snprintf(out, size, "no");
}
