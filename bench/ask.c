/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ask.c - one who asks the server while others write, on libnfswb
 *
 *	ask SOCKET FOLDER stat SECONDS	a stat of FOLDER/big each 100 ms
 *	ask SOCKET FOLDER sync SECONDS	4 KiB to the end of FOLDER/log and fsync,
 *					each 100 ms
 *	ask SOCKET FOLDER read BYTES	so much of FOLDER/big, 1 MiB after the other
 *	ask SOCKET FOLDER program FILES	opens and reads FOLDER/small-0 ...
 *
 * Says how long each took in microseconds, a line each; read and program one
 * line for all.  FOLDER is a target; what is after its "?" stays at the end.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/clock.h"
#include "include/nfswb.h"

#define MIB (1u << 20)
#define EVERY_USEC 100000

static struct nfswb *wb;
static const char *folder;
static char data[MIB];

static void
fail(const char *what)
{
	fprintf(stderr, "ask: %s: %s\n", what, nfswb_strerror(wb));
	exit(1);
}

static const char *
target(const char *name)
{
	static char path[512];
	size_t n = strcspn(folder, "?");

	snprintf(path, sizeof path, "%.*s/%s%s", (int)n, folder, name,
		 folder + n);
	return path;
}

static struct nfswb_file *
open_file(const char *name, int oflags)
{
	struct nfswb_file *f = nfswb_open(wb, target(name), oflags, 0644);

	if (!f)
		fail(name);
	return f;
}

static void
one_stat(struct nfswb_file *f)
{
	struct stat st;

	(void)f;
	if (nfswb_stat(wb, target("big"), &st) < 0)
		fail("stat");
}

static void
one_sync(struct nfswb_file *f)
{
	if (nfswb_write(f, data, 4096) != 4096 || nfswb_fsync(f) < 0)
		fail("sync");
}

/* Now and then for so many seconds. */
static void
repeat(void (*one)(struct nfswb_file *), struct nfswb_file *f, unsigned sec)
{
	uint64_t at = now_usec(), end = at + sec * UINT64_C(1000000), began;

	while (at < end) {
		began = now_usec();
		one(f);
		printf("%" PRIu64 "\n", now_usec() - began);
		at += EVERY_USEC;
		if (at < now_usec())
			at = now_usec();
		sleep_until(at);
	}
}

static void
read_big(uint64_t bytes)
{
	struct nfswb_file *f = open_file("big", O_RDONLY);
	ssize_t n = 1;
	uint64_t got;

	for (got = 0; got < bytes && n > 0; got += (uint64_t)n)
		n = nfswb_read(f, data, MIB);
	if (got < bytes)
		fail("read");
	nfswb_close(f);
}

static void
program(unsigned files)
{
	char name[32];
	unsigned i;

	for (i = 0; i < files; i++) {
		struct nfswb_file *f;

		snprintf(name, sizeof name, "small-%u", i);
		f = open_file(name, O_RDONLY);
		if (nfswb_read(f, data, MIB) < 0)
			fail(name);
		nfswb_close(f);
	}
}

int
main(int argc, char **argv)
{
	uint64_t n, began;

	if (argc != 5) {
		fprintf(stderr, "ask SOCKET FOLDER stat|sync|read|program N\n");
		return 2;
	}
	folder = argv[2];
	n = strtoull(argv[4], NULL, 10);
	wb = nfswb_connect(argv[1], 0);
	if (!wb)
		fail(argv[1]);
	began = now_usec();
	if (!strcmp(argv[3], "stat"))
		repeat(one_stat, NULL, (unsigned)n);
	else if (!strcmp(argv[3], "sync"))
		repeat(one_sync, open_file("log", O_WRONLY | O_CREAT |
					   O_APPEND), (unsigned)n);
	else if (!strcmp(argv[3], "read"))
		read_big(n);
	else
		program((unsigned)n);
	if (*argv[3] == 'r' || *argv[3] == 'p')
		printf("%" PRIu64 "\n", now_usec() - began);
	nfswb_disconnect(wb);
	return 0;
}
