/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_rule.c - a rule from its words
 *
 *	WRITE file=big* nth=3- chance=10% : status=NOSPC delay=5ms
 *	at=2s : restart
 *	set fsinfo=wtmax:0 full=10M
 *
 * The words' names stand in tables; each has one function that reads its value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/nfs3.h"
#include "tests/nfssim_parse.h"
#include "tests/nfssim_rule.h"

/* values */

static bool
read_span(const char *text, bool (*read)(const char *, uint64_t *),
	  struct span *s)
{
	char word[64], *dash;

	snprintf(word, sizeof word, "%s", text);
	dash = strchr(word, '-');
	if (dash)
		*dash = 0;
	if (!read(word, &s->from))
		return false;
	if (!dash)
		s->to = s->from;
	else if (!dash[1])
		s->to = UINT64_MAX;
	else if (!read(dash + 1, &s->to))
		return false;
	return s->from <= s->to;
}

static bool
read_status(const char *text, uint64_t *status)
{
	const char *name;
	uint32_t i;

	for (i = 0; i <= NFS3ERR_JUKEBOX; i++) {
		name = nfs3_status_name((nfsstat3)i);
		if (name && !strncmp(name, "NFS3ERR_", 8) &&
		    !strcasecmp(name + 8, text)) {
			*status = i;
			return true;
		}
	}
	return parse_size(text, status) && *status <= UINT32_MAX;
}

static bool
read_word(const char *text, const char *const *words, uint64_t *nr)
{
	for (*nr = 0; words[*nr]; ++*nr)
		if (!strcasecmp(words[*nr], text))
			return true;
	return false;
}

static bool
read_stable(const char *text, uint64_t *how)
{
	static const char *const words[] = { "unstable", "datasync",
					     "filesync", NULL };

	return read_word(text, words, how);
}

static bool
read_drc(const char *text, uint64_t *drc)
{
	static const char *const words[] = { "off", "on", "cut", "blind",
					     NULL };

	return read_word(text, words, drc);
}

static bool
read_garbage(const char *text, uint64_t *garbage)
{
	const char *name;
	unsigned i;

	for (i = 1; (name = nfssim_garbage_name((enum nfssim_garbage)i)); i++)
		if (!strcasecmp(name, text)) {
			*garbage = i;
			return true;
		}
	return false;
}

/* "never" is no limit. */
static bool
read_limit(const char *text, uint64_t *bytes)
{
	if (strcmp(text, "never"))
		return parse_size(text, bytes);
	*bytes = UINT64_MAX;
	return true;
}

/* UID:BYTES, NAME:N */
static bool
read_pair(char *text, bool (*a)(const char *, uint64_t *),
	  bool (*b)(const char *, uint64_t *), struct span *s)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return false;
	*colon = 0;
	return a(text, &s->from) && b(colon + 1, &s->to);
}

static bool
read_fsinfo_name(const char *text, uint64_t *nr)
{
	static const char *const words[] = {
		"rtmax", "rtpref", "rtmult", "wtmax", "wtpref", "wtmult",
		"dtpref", "maxfilesize", "properties", NULL
	};

	return read_word(text, words, nr);
}

/* when */

static bool
read_procs(const char *text, uint32_t *procs)
{
	char word[256], *at = word, *name;
	uint32_t i, found;

	snprintf(word, sizeof word, "%s", text);
	*procs = 0;
	while ((name = strsep(&at, "|"))) {
		found = strcasecmp(name, "MNT") ? 0 : RULE_MNT;
		for (i = 0; i < NFSSIM_PROCS; i++)
			if (!strcasecmp(name, nfs3_proc_name(i)))
				found = 1u << i;
		if (!strcasecmp(name, "any"))
			found = RULE_ANY;
		if (!found)
			return false;
		*procs |= found;
	}
	return true;
}

static bool
read_stables(const char *text, unsigned *bits)
{
	char word[64], *at = word, *name;
	uint64_t how;

	snprintf(word, sizeof word, "%s", text);
	while ((name = strsep(&at, "|"))) {
		if (!read_stable(name, &how))
			return false;
		*bits |= 1u << how;
	}
	return true;
}

static bool
read_when_value(struct rule *r, const char *name, const char *value)
{
	static const struct {
		const char *name;
		size_t field;
	} spans[] = {
		{ "call", offsetof(struct rule, call) },
		{ "nth", offsetof(struct rule, nth) },
		{ "offset", offsetof(struct rule, offset) },
		{ "size", offsetof(struct rule, size) },
		{ "uid", offsetof(struct rule, uid) },
		{ NULL, 0 },
	};
	unsigned i;

	for (i = 0; spans[i].name; i++)
		if (!strcmp(name, spans[i].name))
			return read_span(value, parse_size, (struct span *)
					 ((char *)r + spans[i].field));
	if (!strcmp(name, "time"))
		return read_span(value, parse_time, &r->time);
	if (!strcmp(name, "every"))
		return parse_size(value, &r->every) && r->every;
	if (!strcmp(name, "reach"))
		return parse_size(value, &r->reach) && ++r->reach;
	if (!strcmp(name, "total"))
		return parse_size(value, &r->total) && ++r->total;
	if (!strcmp(name, "chance"))
		return parse_share(value, &r->chance);
	if (!strcmp(name, "stable"))
		return read_stables(value, &r->stable);
	if (!strcmp(name, "file"))
		return (r->file = strdup(value)) != NULL;
	if (!strcmp(name, "at"))
		return (r->has_at = parse_time(value, &r->at_usec));
	return false;
}

static bool
read_when(struct rule *r, char *word)
{
	char *equals = strchr(word, '=');
	bool ok;

	if (!strcmp(word, "copy"))
		return (r->copy = true);
	if (!strcmp(word, "set"))
		return (r->is_set = true);
	if (!strcmp(word, "once")) {
		r->nth = (struct span){ 1, 1 };
		return true;
	}
	if (!equals)
		return read_procs(word, &r->procs);
	*equals = 0;
	ok = read_when_value(r, word, equals + 1);
	*equals = '=';
	return ok;
}

/* what */

static bool
no_value(const char *value)
{
	return !value;
}

static bool
read_what_value(struct rule_action *a, char *v)
{
	static const char *const same[] = { "new", "same", NULL };

	switch (a->kind) {
	case RULE_STATUS:
		return v && read_status(v, &a->value.from);
	case RULE_SHORT:
	case RULE_CUT_IN:
		return v && parse_size(v, &a->value.from) && a->value.from;
	case RULE_COPIES:
	case RULE_REORDER:
	case RULE_EARLY:
		a->value.from = 1;
		return !v || parse_size(v, &a->value.from);
	case RULE_COMMITTED:
		return v && read_stable(v, &a->value.from);
	case RULE_DELAY:
	case RULE_HOLD:
		return v && read_span(v, parse_time, &a->value);
	case RULE_DOWN:
	case RULE_SLOW:
		return v && parse_time(v, &a->value.from);
	case RULE_GARBAGE:
		return v && read_garbage(v, &a->value.from);
	case RULE_RESTART:
	case RULE_RESTART_DONE:
	case RULE_RESTART_REPLIED:
		return !v || read_word(v, same, &a->value.from);
	case RULE_FULL:
		return v && read_limit(v, &a->value.from);
	case RULE_QUOTA:
		return v && read_pair(v, parse_size, read_limit, &a->value);
	case RULE_DRC:
		return v && read_drc(v, &a->value.from);
	case RULE_FSINFO:
		return v && read_pair(v, read_fsinfo_name, parse_size,
				      &a->value);
	case RULE_VERIFIER:
		return !v || parse_size(v, &a->value.from);
	case RULE_COUNT_0:
	case RULE_LIE:
	case RULE_SYNC:
	case RULE_OWN_VERIFIER:
	case RULE_LOSE_CALL:
	case RULE_LOSE_REPLY:
	case RULE_CUT:
	case RULE_CUT_HALF:
	case RULE_CUT_AFTER:
	case RULE_CUT_ALL:
		return no_value(v);
	case RULE_ACTION_NR:
		break;
	}
	return false;
}

static bool
read_what(struct rule *r, const char *text)
{
	static const char *const names[] = {
#define X(kind, name) name,
		RULE_ACTIONS(X)
#undef X
		NULL
	};
	struct rule_action *a = calloc(1, sizeof *a);
	char word[256], *equals;
	uint64_t kind;
	bool ok;

	if (!a)
		return false;
	snprintf(word, sizeof word, "%s", text);
	equals = strchr(word, '=');
	if (equals)
		*equals++ = 0;
	ok = read_word(word, names, &kind);
	a->kind = (enum rule_action_kind)kind;
	if (!ok || !read_what_value(a, equals)) {
		free(a);
		return false;
	}
	STAILQ_INSERT_TAIL(&r->actions, a, link);
	return true;
}

/* rules */

void
rule_free(struct rule *r, struct loop *loop)
{
	struct rule_action *a;

	while ((a = STAILQ_FIRST(&r->actions))) {
		STAILQ_REMOVE_HEAD(&r->actions, link);
		free(a);
	}
	loop_timer_free(loop, r->timer);
	free(r->file);
	free(r);
}

static const struct span any = { 0, UINT64_MAX };

static struct rule *
new_rule(void)
{
	struct rule *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->procs = RULE_ANY;
	r->call = r->nth = r->offset = r->size = r->time = r->uid = any;
	r->chance = 1;
	STAILQ_INIT(&r->actions);
	return r;
}

/* Does it make sense as a whole? */
static const char *
check(const struct rule *r)
{
	const struct rule_action *a;

	if (STAILQ_EMPTY(&r->actions))
		return "nothing is to be done (WHEN : WHAT)";
	if (r->is_set || r->has_at)
		STAILQ_FOREACH(a, &r->actions, link)
			if (a->kind < RULE_FIRST_OF_SERVER)
				return "there is no call to do that to";
	return NULL;
}

struct rule *
rule_parse(char *text, char *why, size_t room)
{
	struct rule *r = new_rule();
	bool when = true;
	const char *wrong;
	char *word;

	if (!r) {
		snprintf(why, room, "no memory");
		return NULL;
	}
	while ((word = strsep(&text, " \t\r"))) {
		if (!*word)
			continue;
		if (when && !strcmp(word, ":")) {
			when = false;
			continue;
		}
		if (when ? !read_when(r, word) : !read_what(r, word)) {
			snprintf(why, room, "'%s' is not understood", word);
			goto fail;
		}
		if (r->is_set)
			when = false;
	}
	wrong = check(r);
	if (!wrong)
		return r;
	snprintf(why, room, "%s", wrong);
fail:
	rule_free(r, NULL);
	return NULL;
}
