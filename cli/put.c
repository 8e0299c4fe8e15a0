/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * put.c - nfswb put: which SRC goes where, as cp does it
 *
 *	SRC... TARGET/		into the directory TARGET
 *	SRC TARGET		into TARGET if that is a directory,
 *				else it becomes TARGET
 *
 * A failure of one file is told in one line; the others go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/put.h"
#include "cli/target.h"

const char put_help[] =
"Usage: nfswb put [-r] SRC... TARGET\n"
"Copies files onto NFS.  TARGET is nfs://server[:port]/export/path[?options]\n"
"or NAME:/path; if it is a directory, SRC goes into it under its own name.\n"
"\n"
"  -r, --recursive   directories with all that is in them, 32 files at once;\n"
"                    modes, times and symbolic links are kept\n"
"  -h, --help        this text\n"
"\n"
"SRC \"-\" is standard input.  On a terminal a bar shows the progress.\n"
"Exit code 0 only when all is on stable storage on the server; each file that\n"
"failed has a line on standard error, and the others are there.\n";

/* A SRC, and where it goes. */
struct item {
	const char *src;
	char *target;
	struct stat st;
	bool is_stdin, found, merges;
};

void
put_failed(struct put *put, const char *src, const char *target,
	   const char *reason)
{
	char *what;

	put->failed = true;
	if (target == NULL || asprintf(&what, "put %s", src) < 0) {
		complain("put %s: %s", src, reason);
		return;
	}
	cli_complain(what, target, reason);
	free(what);
}

/* The mask can only be read by setting it; no thread runs yet. */
static mode_t
current_umask(void)
{
	mode_t mask = umask(077);

	umask(mask);
	return mask;
}

static void
look_at_source(struct put *put, struct item *item)
{
	int err;

	item->is_stdin = strcmp(item->src, "-") == 0;
	if (item->is_stdin)
		err = fstat(STDIN_FILENO, &item->st);
	else if (put->recursive)
		err = lstat(item->src, &item->st);
	else
		err = stat(item->src, &item->st);
	item->found = err == 0;
	if (err < 0) {
		put_failed(put, item->src, NULL, strerror(errno));
	} else if (S_ISDIR(item->st.st_mode) &&
		   (item->is_stdin || !put->recursive)) {
		put_failed(put, item->src, NULL, put->recursive ?
			   "is a directory" : "is a directory; try put -r");
		item->found = false;
	} else if (put->recursive && !item->is_stdin &&
		   !S_ISREG(item->st.st_mode) && !S_ISDIR(item->st.st_mode) &&
		   !S_ISLNK(item->st.st_mode)) {
		complain("put %s: skipped, since it is no file, directory or "
			 "symlink", item->src);
		item->found = false;
	}
}

/* 1: a directory; 0: something else or nothing; -1: has complained. */
static int
target_is_dir(struct put *put, const char *target, bool many, bool tree)
{
	struct stat st;
	bool must = many || target_ends_in_slash(target);

	if (nfswb_stat(put->wb, target, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 1;
		if (!must && !tree)
			return 0;
		complain("put: %s: is no directory", target);
		return -1;
	}
	if (errno == ENOENT && (!must || (tree && !many)))
		return 0;
	cli_complain("put", target, cli_reason(put->wb));
	return -1;
}

/* Says what item's target is; -1: has complained. */
static int
place(struct put *put, struct item *item, const char *target, bool inside)
{
	char *base = path_base(item->src);

	if (base == NULL)
		goto no_memory;
	if (inside && item->is_stdin) {
		put_failed(put, "-", target, "is a directory; name a file in "
			   "it");
		free(base);
		return -1;
	}
	item->merges = inside && *base == '\0';
	item->target = inside && *base != '\0' ? target_join(target, base) :
		strdup(target);
	free(base);
	if (item->target != NULL)
		return 0;
no_memory:
	put_failed(put, item->src, NULL, "no memory");
	return -1;
}

static int
compare_targets(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	return strcmp((*x)->target, (*y)->target);
}

/* Two SRC of one name would be written into one file at once. */
static int
refuse_same_names(struct item *items, size_t nr)
{
	struct item **sorted = malloc(nr * sizeof(*sorted));
	size_t n = 0;
	int ret = 0;

	if (sorted == NULL) {
		complain("put: no memory");
		return -1;
	}
	for (size_t i = 0; i < nr; i++)
		if (items[i].target != NULL && !items[i].merges)
			sorted[n++] = &items[i];
	qsort(sorted, n, sizeof(*sorted), compare_targets);
	for (size_t i = 1; i < n && ret == 0; i++) {
		if (compare_targets(&sorted[i - 1], &sorted[i]) != 0)
			continue;
		complain("put: %s and %s both would become %s",
			 sorted[i - 1]->src, sorted[i]->src, sorted[i]->target);
		ret = -1;
	}
	free(sorted);
	return ret;
}

static unsigned long long
bytes_of(const struct item *items, size_t nr)
{
	unsigned long long bytes = 0;

	for (size_t i = 0; i < nr; i++) {
		if (items[i].target == NULL)
			continue;
		if (S_ISDIR(items[i].st.st_mode))
			bytes += tree_bytes(items[i].src);
		else if (S_ISREG(items[i].st.st_mode))
			bytes += (unsigned long long)items[i].st.st_size;
		else if (!S_ISLNK(items[i].st.st_mode))
			return 0;		/* a pipe: nobody knows */
	}
	return bytes;
}

static void
put_item(struct put *put, struct pool *pool, struct tree_dirs *dirs,
	 struct item *item)
{
	char *target;

	if (item->target == NULL)
		return;
	if (S_ISDIR(item->st.st_mode)) {
		/* what two trees have in common is written in turn */
		if (item->merges)
			pool_drain(pool);
		tree_put(put, pool, dirs, item->src, item->target);
		if (item->merges)
			pool_drain(pool);
		return;
	}
	target = item->target;
	item->target = NULL;
	pool_add(pool, S_ISLNK(item->st.st_mode) ? POOL_SYMLINK : POOL_FILE,
		 item->src, target);
}

static void
put_all(struct put *put, struct item *items, size_t nr)
{
	struct pool *pool = pool_new(put);
	struct tree_dirs *dirs = tree_dirs_new();

	if (pool == NULL || dirs == NULL) {
		put_failed(put, items[0].src, NULL, "no memory");
		free(pool);
		free(dirs);
		return;
	}
	progress_start(progress_wanted() ? bytes_of(items, nr) : 0);
	for (size_t i = 0; i < nr; i++)
		put_item(put, pool, dirs, &items[i]);
	pool_free(pool);
	tree_dirs_finish(put, dirs);
	progress_stop();
}

/* Everything that can be refused is refused before the first byte is sent. */
static void
put_sources(struct put *put, char **srcs, size_t nr, const char *target)
{
	struct item *items = calloc(nr, sizeof(*items));
	bool tree = false, any = false;
	int inside;

	if (items == NULL) {
		put_failed(put, srcs[0], NULL, "no memory");
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		items[i].src = srcs[i];
		look_at_source(put, &items[i]);
		any |= items[i].found;
		tree |= items[i].found && S_ISDIR(items[i].st.st_mode);
	}
	inside = any ? target_is_dir(put, target, nr > 1, tree) : -1;
	for (size_t i = 0; i < nr && inside >= 0; i++)
		if (items[i].found)
			place(put, &items[i], target, inside);
	if (any && (inside < 0 || refuse_same_names(items, nr) < 0))
		put->failed = true;
	else if (any)
		put_all(put, items, nr);
	for (size_t i = 0; i < nr; i++)
		free(items[i].target);
	free(items);
}

int
put_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "recursive", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 }
	};
	struct put put = { .umask = current_umask() };
	int c;

	while ((c = getopt_long(argc, argv, ":rR", options, NULL)) != -1) {
		if (c != 'r' && c != 'R')
			return cli_bad_option(argv, c);
		put.recursive = true;
	}
	if (argc - optind < 2)
		return cli_usage(argv, argc == optind ? "no SRC given" :
				 "SRC or TARGET is missing");
	put.wb = cli_connect(cli, 0);
	if (put.wb == NULL)
		return CLI_FAILED;
	put_sources(&put, argv + optind, (size_t)(argc - optind - 1),
		    argv[argc - 1]);
	nfswb_disconnect(put.wb);
	return put.failed ? CLI_FAILED : CLI_OK;
}
