/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replay.c - the main of a fuzz target without a fuzzer: replays files
 *
 *	tests/fuzz/NAME			the seeds in the tree
 *	tests/fuzz/NAME FILE|FOLDER...	these (what a fuzzer found; AFL++'s @@)
 *
 * Speaks TAP, a test a file.  Each runs twice: what the first run leaves behind
 * the second one may stumble over, and no descriptor stays open.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define PATH_BYTES 4096

static unsigned done_nr, failed_nr;

static void
result(bool good, const char *path, const char *why)
{
	failed_nr += !good;
	printf("%sok %u - %s%s%s\n", good ? "" : "not ", ++done_nr, path,
	       good ? "" : ": ", good ? "" : why);
	fflush(stdout);
}

static unsigned
open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr;
}

/* All of it; NULL: it can't be read. */
static uint8_t *
contents(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	uint8_t *data = NULL;

	if (f && !fstat(fileno(f), &st))
		data = malloc((size_t)st.st_size + 1);
	if (data)
		*size = fread(data, 1, (size_t)st.st_size, f);
	if (f)
		fclose(f);
	return data;
}

/* In memory of just its size, so that a byte too far is seen. */
static void
run_once(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size);

	FUZZ_CHECK(exact || !size);
	if (size)
		memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void
replay_file(const char *path)
{
	size_t size = 0;
	uint8_t *data = contents(path, &size);
	unsigned before;

	if (!data) {
		result(false, path, strerror(errno));
		return;
	}
	printf("# %s\n", path);		/* should it end here */
	fflush(stdout);
	run_once(data, size);
	before = open_descriptors();
	run_once(data, size);
	free(data);
	result(open_descriptors() == before, path, "a descriptor stayed open");
}

static void replay(const char *path);

static void
replay_folder(const char *path)
{
	struct dirent **name;
	char below[PATH_BYTES];
	int nr = scandir(path, &name, NULL, alphasort), i;

	if (nr < 0)
		result(false, path, strerror(errno));
	for (i = 0; i < nr; i++) {
		if (name[i]->d_name[0] != '.' &&
		    snprintf(below, sizeof below, "%s/%s", path,
			     name[i]->d_name) < (int)sizeof below)
			replay(below);
		free(name[i]);
	}
	if (nr >= 0)
		free(name);
}

static void
replay(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		replay_folder(path);
	else
		replay_file(path);
}

int
main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	char seeds[PATH_BYTES];
	int i;

	if (argc < 2) {
		snprintf(seeds, sizeof seeds, "%s/tests/fuzz/seeds/%s",
			 top ? top : ".", fuzz_name);
		replay(seeds);
	}
	for (i = 1; i < argc; i++)
		replay(argv[i]);
	printf("1..%u\n", done_nr);
	return failed_nr || !done_nr;
}
