/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scale_load.c - one process with many sessions, files and servers
 *
 *	scale_load SOCKET SESSIONS FILES ACTIVE BYTES WRITES TARGET...
 *
 * File i is opened in session i % SESSIONS, at TARGET i % their number.  Says
 * "open" when all are, and waits for a line; then the first ACTIVE files are
 * written by turns, so many BYTES each time, that many WRITES in all, everything is
 * synced, and it says how long that took: the writes, and with the sync, in
 * microseconds, and processor time.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/clock.h"
#include "include/nfswb.h"

static char data[1 << 20];

static int
failed(const char *what, struct nfswb *wb)
{
	fprintf(stderr, "scale_load: %s: %s\n", what, nfswb_strerror(wb));
	return 1;
}

static struct nfswb_file *
open_one(struct nfswb *wb, const char *target, unsigned i)
{
	char path[512];
	int n = (int)strcspn(target, "?");

	snprintf(path, sizeof path, "%.*s/scale-%u%s", n, target, i,
		 target + n);
	return nfswb_open(wb, path, O_WRONLY | O_CREAT, 0644);
}

static uint64_t
cpu_usec(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

int
main(int argc, char **argv)
{
	unsigned sessions, files, active, i, targets = (unsigned)argc - 7;
	uint64_t began, wrote, cpu, writes, k;
	struct nfswb_file **file;
	struct nfswb **wb;
	size_t bytes;

	if (argc < 8) {
		fprintf(stderr, "scale_load SOCKET SESSIONS FILES ACTIVE BYTES "
				"WRITES TARGET...\n");
		return 2;
	}
	sessions = (unsigned)atoi(argv[2]);
	files = (unsigned)atoi(argv[3]);
	active = (unsigned)atoi(argv[4]);
	bytes = (size_t)atol(argv[5]);
	writes = strtoull(argv[6], NULL, 10);
	wb = calloc(sessions, sizeof *wb);
	file = calloc(files, sizeof *file);
	if (!wb || !file || bytes > sizeof data || !active || active > files)
		return 2;
	for (i = 0; i < sessions; i++) {
		wb[i] = nfswb_connect(argv[1], NFSWB_NO_THREAD);
		if (!wb[i])
			return failed("connect", NULL);
	}
	for (i = 0; i < files; i++) {
		file[i] = open_one(wb[i % sessions], argv[7 + i % targets], i);
		if (!file[i])
			return failed("open", wb[i % sessions]);
	}
	printf("open\n");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	cpu = cpu_usec();
	began = now_usec();
	for (k = 0; k < writes; k++) {
		i = (unsigned)(k % active);
		if (nfswb_pwrite(file[i], data, bytes,
				 (off_t)(k / active * bytes)) != (ssize_t)bytes)
			return failed("pwrite", wb[i % sessions]);
	}
	wrote = now_usec();
	for (i = 0; i < sessions; i++)
		if (nfswb_sync(wb[i], NULL))
			return failed("sync", wb[i]);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", wrote - began,
	       now_usec() - began, cpu_usec() - cpu);
	fflush(stdout);
	(void)getchar();
	return 0;
}
