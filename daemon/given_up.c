/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * given_up.c - the list of what was accepted and given up
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/given_up.h"

#define FILE_MAX_BYTES 512	/* of a name that is shown */

struct given_up {
	uint64_t id, offset, length;
	uid_t writer;
	int err;
	STAILQ_ENTRY(given_up) link;
	char file[];
};

struct given_up_list {
	STAILQ_HEAD(, given_up) entries;
	unsigned entry_nr;
	uint64_t last_id;
};

struct given_up_list *
given_up_new(void)
{
	struct given_up_list *l = calloc(1, sizeof *l);

	if (l)
		STAILQ_INIT(&l->entries);
	return l;
}

static void
drop_oldest(struct given_up_list *l)
{
	struct given_up *g = STAILQ_FIRST(&l->entries);

	STAILQ_REMOVE_HEAD(&l->entries, link);
	l->entry_nr--;
	free(g);
}

void
given_up_free(struct given_up_list *l)
{
	if (!l)
		return;
	while (l->entry_nr)
		drop_oldest(l);
	free(l);
}

void
given_up_add(struct given_up_list *l, const char *file, uid_t writer,
	     uint64_t offset, uint64_t length, int err)
{
	size_t len = strnlen(file, FILE_MAX_BYTES);
	struct given_up *g = calloc(1, sizeof *g + len + 1);

	l->last_id++;
	if (!g)
		return;
	g->id = l->last_id;
	g->writer = writer;
	g->offset = offset;
	g->length = length;
	g->err = err;
	memcpy(g->file, file, len);
	STAILQ_INSERT_TAIL(&l->entries, g, link);
	if (++l->entry_nr > GIVEN_UP_MAX)
		drop_oldest(l);
}

/* A name need not be UTF-8; JSON must be. */
static json_t *
text_json(const char *text)
{
	json_t *j = json_string(text);
	char clean[FILE_MAX_BYTES + 1];
	size_t i;

	if (j)
		return j;
	for (i = 0; text[i] && i < FILE_MAX_BYTES; i++)
		clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	clean[i] = '\0';
	return json_string(clean);
}

json_t *
given_up_json(const struct given_up_list *l, const struct asker *who)
{
	json_t *array = json_array();
	const struct given_up *g;

	STAILQ_FOREACH(g, &l->entries, link)
		if (access_sees(who, g->writer))
			json_array_append_new(array, json_pack(
				"{s:I, s:I, s:o, s:I, s:I, s:s}",
				"id", (json_int_t)g->id,
				"uid", (json_int_t)g->writer,
				"file", text_json(g->file),
				"offset", (json_int_t)g->offset,
				"length", (json_int_t)g->length,
				"reason", strerror(-g->err)));
	return array;
}

int
given_up_acknowledge(struct given_up_list *l, uint64_t id,
		     const struct asker *who)
{
	struct given_up *g;

	STAILQ_FOREACH(g, &l->entries, link)
		if (g->id == id)
			break;
	if (!g)
		return -ENOENT;
	if (!access_sees(who, g->writer))
		return -EPERM;
	STAILQ_REMOVE(&l->entries, g, given_up, link);
	l->entry_nr--;
	free(g);
	return 0;
}
