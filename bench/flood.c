/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flood.c - writers like dd, each a process with a session and a file
 *
 *	flood SOCKET TARGET WRITERS [BYTES STRIDE]
 *
 * Files TARGET/flood-0 and so on, 1 MiB after the other, or so many BYTES (1 MiB
 * at most), the next STRIDE further on.  Says "go" when all
 * have opened theirs and begin; goes on until it is ended or its input is closed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "include/nfswb.h"

#define MIB (1u << 20)

static char data[MIB];
static size_t bytes = MIB, stride = MIB;

static void
wait_for_eof(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

static int
flood(const char *socket, const char *target, unsigned nr, int ready, int go)
{
	struct nfswb *wb = nfswb_connect(socket, 0);
	struct nfswb_file *f = NULL;
	char path[512];
	off_t at = 0;

	snprintf(path, sizeof path, "%.*s/flood-%u%s",
		 (int)strcspn(target, "?"), target, nr,
		 target + strcspn(target, "?"));
	if (wb)
		f = nfswb_open(wb, path, O_WRONLY | O_CREAT, 0644);
	if (f) {
		close(ready);
		wait_for_eof(go);
		while (nfswb_pwrite(f, data, bytes, at) == (ssize_t)bytes)
			at += (off_t)stride;
	}
	fprintf(stderr, "flood: %s: %s\n", path, nfswb_strerror(wb));
	return 1;
}

int
main(int argc, char **argv)
{
	unsigned i, nr = argc == 4 || argc == 6 ? (unsigned)atoi(argv[3]) : 0;
	int ready[2], go[2];

	if (argc == 6) {
		bytes = (size_t)atol(argv[4]);
		stride = (size_t)atol(argv[5]);
	}
	if (!nr || !bytes || bytes > MIB) {
		fprintf(stderr, "flood SOCKET TARGET WRITERS [BYTES STRIDE]\n");
		return 2;
	}
	if (pipe(ready) < 0 || pipe(go) < 0) {
		perror("flood");
		return 1;
	}
	for (i = 0; i < nr; i++)
		switch (fork()) {
		case -1:
			perror("flood");
			return 1;
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(0);
			close(ready[0]);
			close(go[1]);
			_exit(flood(argv[1], argv[2], i, ready[1], go[0]));
		}
	close(ready[1]);
	wait_for_eof(ready[0]);
	printf("go\n");
	fflush(stdout);
	close(go[0]);
	close(go[1]);
	wait_for_eof(0);
	return 0;
}
