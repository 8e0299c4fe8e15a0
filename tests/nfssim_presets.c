/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_presets.c - the model's parameters and presets, as data and by name */
#include <stdio.h>
#include <string.h>

#include "tests/nfssim_model.h"
#include "tests/nfssim_parse.h"

enum unit { SIZE, TIME, BITS };

#define FIELD(name) offsetof(struct model_params, name)

static const struct {
	const char *name;
	enum unit unit;
	size_t field;
	const char *what;
} fields[] = {
	{ "link", BITS, FIELD(link_bits_per_sec), "bits a second, each way" },
	{ "rtt", TIME, FIELD(rtt_usec), "the round trip" },
	{ "window", SIZE, FIELD(window_bytes),
	  "bytes that sockets take ahead of the link" },
	{ "threads", SIZE, FIELD(threads), "calls worked on at a time" },
	{ "write", TIME, FIELD(write_usec), "a thread's for each WRITE" },
	{ "copy", SIZE, FIELD(copy_bytes_per_sec),
	  "bytes a second that a thread copies of a WRITE" },
	{ "other", TIME, FIELD(other_usec),
	  "a thread's for all but WRITE and COMMIT" },
	{ "memory", SIZE, FIELD(memory_bytes), "bytes of page cache" },
	{ "background", SIZE, FIELD(background_percent),
	  "percent of it dirty from which the flusher works" },
	{ "hard", SIZE, FIELD(hard_percent),
	  "percent of it dirty from which WRITEs wait" },
	{ "disk", SIZE, FIELD(disk_bytes_per_sec), "bytes a second" },
	{ "seek", TIME, FIELD(seek_usec), "before a request to another file" },
	{ "request", SIZE, FIELD(request_bytes), "bytes at a time" },
	{ "turn", SIZE, FIELD(turn_bytes),
	  "bytes of a file before it is the next one's turn" },
	{ "all", SIZE, FIELD(commit_all), "1: a COMMIT flushes all files" },
	{ "journal", TIME, FIELD(journal_usec), "after that, beside the seek" },
	{ NULL, SIZE, 0, NULL },
};

#define SERVER(link, rtt, disk, seek) \
	.link_bits_per_sec = link, .rtt_usec = rtt, .threads = 8, \
	.write_usec = 30, .copy_bytes_per_sec = 1500000000, .other_usec = 30, \
	.memory_bytes = 12000000000, .background_percent = 10, \
	.hard_percent = 20, .disk_bytes_per_sec = disk, .seek_usec = seek

static const struct preset {
	const char *name, *what;
	struct model_params params;
} presets[] = {
	{ "disk", "one disk: 80 MB/s, 8 ms a seek; 1 Gbit/s, 0.2 ms", {
		SERVER(1000000000, 200, 80000000, 8000) } },
	{ "ext3", "the same, and a COMMIT flushes all files and a journal", {
		SERVER(1000000000, 200, 80000000, 8000),
		.commit_all = 1, .journal_usec = 20000 } },
	{ "ssd", "500 MB/s, no seek; 1 Gbit/s, 0.2 ms", {
		SERVER(1000000000, 200, 500000000, 0) } },
	{ "long", "the disk at the end of a link of 20 ms", {
		SERVER(1000000000, 20000, 80000000, 8000) } },
	{ "10g", "10 Gbit/s, and a disk of 1 GB/s", {
		SERVER(10000000000, 200, 1000000000, 8000) } },
	{ NULL, NULL, { 0 } },
};

static const struct preset *
find_preset(const char *name)
{
	const struct preset *p;

	for (p = presets; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* A link's 1G is 10^9. */
static bool
parse_bits(const char *text, uint64_t *bits)
{
	size_t len = strlen(text);
	char word[64];

	snprintf(word, sizeof word, "%s%s", text,
		 len && strchr("kmgtKMGT", text[len - 1]) ? "B" : "");
	return parse_size(word, bits);
}

static bool
set_field(struct model_params *params, const char *name, const char *value)
{
	uint64_t *at;
	unsigned i;

	for (i = 0; fields[i].name; i++) {
		if (strcmp(fields[i].name, name))
			continue;
		at = (uint64_t *)((char *)params + fields[i].field);
		return fields[i].unit == TIME ? parse_time(value, at) :
		       fields[i].unit == BITS ? parse_bits(value, at) :
						parse_size(value, at);
	}
	return false;
}

static void
say_wrong(char *why, size_t room, const char *word)
{
	snprintf(why, room, "'%s' is no preset and sets nothing", word);
}

const char *
model_params_parse(struct model_params *params, const char *text)
{
	static char why[128];
	char word[64], *equals;
	const struct preset *p;
	size_t len;

	for (; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		snprintf(word, sizeof word, "%.*s", (int)len, text);
		equals = strchr(word, '=');
		if (!equals && (p = find_preset(word))) {
			*params = p->params;
			continue;
		}
		if (equals)
			*equals = 0;
		if (equals && set_field(params, word, equals + 1))
			continue;
		say_wrong(why, sizeof why, word);
		return why;
	}
	return NULL;
}

const char *
model_params_help(void)
{
	static char text[4096];
	size_t at = 0;
	unsigned i;

	for (i = 0; presets[i].name; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "  %-12s %s\n", presets[i].name,
				       presets[i].what);
	for (i = 0; fields[i].name; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "  %s=%-*s %s\n", fields[i].name,
				       (int)(11 - strlen(fields[i].name)),
				       fields[i].unit == TIME ? "TIME" : "N",
				       fields[i].what);
	return text;
}
