/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.c - fuzz target: a configuration file
 *
 * It is refused with lines that name it, or it is taken; what was taken, written
 * down as `nfswb config` tells it, is taken again and says the same.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "config";

static struct config *
load(const void *data, size_t size, char *path, size_t room, char **error)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);
	struct config *c;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, room, "/proc/self/fd/%d", fd);
	c = config_load(path, error);
	close(fd);
	FUZZ_CHECK(!c == !!*error);
	return c;
}

/* A line for each fault, each with its place. */
static void
check_error(const char *error, const char *path)
{
	const char *line = error;

	for (;;) {
		FUZZ_CHECK(!strncmp(line, path, strlen(path)));
		line = strchr(line, '\n');
		if (!line)
			break;
		line++;
	}
}

static void
write_key(void *arg, const char *key, const char *value, const char *sentence)
{
	(void)sentence;
	if (*value)
		fprintf(arg, "%s = %s\n", key, value);
}

static char *
written(const struct config *c, size_t *size)
{
	char *text;
	FILE *f = open_memstream(&text, size);

	FUZZ_CHECK(f);
	fputs("[nfswbd]\n", f);
	config_each(c, write_key, f);
	fclose(f);
	return text;
}

static void
check_again(const struct config *c)
{
	size_t size, size_again;
	char *text = written(c, &size), *again, *error, path[64];
	struct config *d = load(text, size, path, sizeof path, &error);

	if (!d)
		fprintf(stderr, "%s\n", error);
	FUZZ_CHECK(d);
	again = written(d, &size_again);
	FUZZ_CHECK(size == size_again && !memcmp(text, again, size));
	config_free(d);
	free(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], *error;
	struct config *c;
	unsigned i;

	c = load(data, size, path, sizeof path, &error);
	if (!c) {
		check_error(error, path);
		free(error);
		return 0;
	}
	for (i = 0; i < c->mount_nr; i++)
		FUZZ_CHECK(config_find_mount(c, c->mount[i].name,
					     strlen(c->mount[i].name)) ==
			   &c->mount[i]);
	for (i = 0; i < c->uid_nr; i++)
		FUZZ_CHECK(config_limits_of(c, c->uid[i].uid) ==
			   &c->uid[i].limits);
	check_again(c);
	config_free(c);
	return 0;
}
