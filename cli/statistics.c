/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statistics.c - the daemon's statistics, asked for and looked up
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/statistics.h"
#include "cli/units.h"

json_t *
statistics_fetch(struct nfswb *wb, const char *command)
{
	char *text = nfswb_statistics(wb);
	json_error_t err;
	json_t *root;

	if (text == NULL) {
		if (errno != EINTR)
			complain("%s: %s", command, cli_reason(wb));
		return NULL;
	}
	root = json_loads(text, JSON_REJECT_DUPLICATES, &err);
	free(text);
	if (root == NULL)
		complain("%s: the daemon's statistics can't be read: %s",
			 command, err.text);
	return root;
}

const json_t *
stat_node(const json_t *node, const char *path)
{
	while (node != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		node = json_object_get(node, key);
		path += len + (path[len] == '.');
	}
	return node;
}

uint64_t
stat_int(const json_t *node, const char *path)
{
	const json_t *value = stat_node(node, path);

	if (json_is_real(value) && json_real_value(value) > 0)
		return (uint64_t)json_real_value(value);
	return (uint64_t)json_integer_value(value);
}

const char *
stat_text(const json_t *node, const char *path)
{
	const char *text = json_string_value(stat_node(node, path));

	return text ? text : "";
}

uint64_t
stat_mean(const json_t *node, const char *path)
{
	const json_t *hist = stat_node(node, path);
	uint64_t count = stat_int(hist, "count");

	return count ? stat_int(hist, "sum") / count : 0;
}

const json_t *
stat_server(const json_t *statistics, const char *name)
{
	const json_t *server;
	size_t i;

	json_array_foreach(json_object_get(statistics, "servers"), i, server)
		if (strcmp(stat_text(server, "name"), name) == 0)
			return server;
	return NULL;
}

const char *
stat_pace(const json_t *throttle)
{
	static char text[64];
	double rate = (double)stat_int(throttle, "balanced_rate");

	if (rate <= 0)
		return "writers run free";
	snprintf(text, sizeof text, "writers get %s", units_rate(rate).s);
	return text;
}
