/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * get.c - nfswb get: a file from NFS, as all writers of this machine left it
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
#include "cli/target.h"

#define BUFFER_BYTES (1u << 20)

const char get_help[] =
"Usage: nfswb get TARGET DST\n"
"Copies a file from NFS to the local file DST, into the local directory DST,\n"
"or to standard output (DST \"-\").\n"
"\n"
"  -h, --help   this text\n"
"\n"
"What programs on this machine wrote through nfswbd is in it, also what the\n"
"server does not have yet.  On a terminal a bar shows the progress.\n";

struct get {
	struct nfswb *wb;
	struct nfswb_file *file;
	const char *target, *dst;	/* dst as complaints name it */
	int fd;
};

static int
remote_failure(const struct get *get)
{
	cli_complain("get", get->target, cli_reason(get->wb));
	return -1;
}

static int
local_failure(const struct get *get)
{
	complain("get %s: %s: %s", get->target, get->dst, strerror(errno));
	return -1;
}

static int
write_all(const struct get *get, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(get->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return local_failure(get);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
copy(const struct get *get, char *buffer)
{
	off_t offset = 0;

	for (;;) {
		ssize_t n = nfswb_pread(get->file, buffer, BUFFER_BYTES,
					offset);

		if (n < 0)
			return remote_failure(get);
		if (n == 0)
			return 0;
		if (write_all(get, buffer, (size_t)n) < 0)
			return -1;
		offset += n;
		progress_add((uint64_t)n);
	}
}

/* DST, or the file's name in it if it is a directory; NULL: has complained. */
static char *
local_path(const struct get *get)
{
	struct stat st;
	char *base, *path = NULL;

	if (stat(get->dst, &st) < 0 || !S_ISDIR(st.st_mode)) {
		path = strdup(get->dst);
		if (path == NULL)
			complain("get: no memory");
		return path;
	}
	base = target_base(get->target);
	if (base == NULL)
		complain("get: no memory");
	else if (*base == '\0' || strchr(base, '/') != NULL ||
		 strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		complain("get %s: has no file name to use in directory %s",
			 get->target, get->dst);
	else if (asprintf(&path, "%s/%s", get->dst, base) < 0)
		path = NULL;
	free(base);
	return path;
}

static int
copy_to_fd(const struct get *get, const struct stat *st)
{
	char *buffer = malloc(BUFFER_BYTES);
	int ret;

	if (buffer == NULL) {
		complain("get %s: no memory", get->target);
		return -1;
	}
	if (!isatty(get->fd))
		progress_start((uint64_t)st->st_size);
	ret = copy(get, buffer);
	progress_stop();
	free(buffer);
	return ret;
}

static int
copy_to_file(struct get *get, const struct stat *st)
{
	char *path = local_path(get);
	int ret;

	if (path == NULL)
		return -1;
	get->dst = path;
	get->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		       st->st_mode & 0777);
	if (get->fd < 0) {
		ret = local_failure(get);
	} else {
		ret = copy_to_fd(get, st);
		if (close(get->fd) < 0 && ret == 0)
			ret = local_failure(get);
	}
	free(path);
	return ret;
}

/* The remote file is opened first: a DST is not cut for nothing. */
static int
get_file(struct get *get)
{
	struct stat st;
	int ret;

	get->file = nfswb_open(get->wb, get->target, O_RDONLY, 0);
	if (get->file == NULL)
		return remote_failure(get);
	if (nfswb_fstat(get->file, &st) < 0) {
		ret = remote_failure(get);
	} else if (S_ISDIR(st.st_mode)) {
		complain("get %s: is a directory", get->target);
		ret = -1;
	} else if (strcmp(get->dst, "-") == 0) {
		get->dst = "standard output";
		get->fd = STDOUT_FILENO;
		ret = copy_to_fd(get, &st);
	} else {
		ret = copy_to_file(get, &st);
	}
	nfswb_close(get->file);
	return ret;
}

int
get_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = { { NULL, 0, NULL, 0 } };
	struct get get = { 0 };
	int c, ret;

	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1)
		return cli_bad_option(argv, c);
	if (argc - optind != 2)
		return cli_usage(argv, "it takes TARGET and DST");
	get.target = argv[optind];
	get.dst = argv[optind + 1];
	get.wb = cli_connect(cli, 0);
	if (get.wb == NULL)
		return CLI_FAILED;
	ret = get_file(&get);
	nfswb_disconnect(get.wb);
	return ret < 0 ? CLI_FAILED : CLI_OK;
}
