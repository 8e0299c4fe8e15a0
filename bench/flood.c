/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flood.c - writers like dd, each a process with a session and a file
 *
 *	flood [-r RATE] SOCKET TARGET WRITERS [BYTES STRIDE]
 *
 * Files TARGET/flood-0 and so on, 1 MiB after the other, or so many BYTES (1 MiB
 * at most), the next STRIDE further on; at RATE bytes a second each at most.  Says
 * "go" when all have opened theirs and begin; goes on until it is ended or its
 * input is closed.  For each line it reads it says, as JSON, what the writers did
 * since the line before: bytes of each, processor time of all, how long a write
 * took.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/clock.h"
#include "common/hist.h"
#include "include/nfswb.h"

#define MIB (1u << 20)

struct account {			/* of a writer: its own page or more */
	_Alignas(4096) struct hist write_us;
	unsigned turn;			/* what write_us is of */
	_Atomic uint64_t bytes;		/* from the beginning */
	_Atomic uint64_t began_usec;	/* the write that is under way; 0: none */
};

struct shared {
	_Atomic unsigned turn;		/* lines read */
	struct account of[];
};

static char data[MIB];
static size_t bytes = MIB, stride = MIB;
static uint64_t rate;			/* 0: as fast as it is let */
static unsigned nr;
static struct shared *shared;
static pid_t *pids;
static uint64_t *bytes_before, *cpu_before;

static void
wait_for_eof(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

/* One that wrote for the first time in this turn forgets the last one's. */
static void
account(struct account *a, uint64_t usec)
{
	unsigned turn = shared->turn;

	if (a->turn != turn) {
		memset(&a->write_us, 0, sizeof a->write_us);
		a->turn = turn;
	}
	hist_add(&a->write_us, usec);
	a->bytes += bytes;
}

/* Writers at a rate begin one after the other, not all at once. */
static void
write_for_ever(struct nfswb_file *f, unsigned i)
{
	uint64_t each = rate ? bytes * 1000000 / rate : 0, now, took;
	uint64_t next = now_usec() + each * i / nr;
	struct account *a = &shared->of[i];
	off_t at = 0;
	ssize_t n;

	do {
		if (rate)
			sleep_until(next);
		next += each;
		a->began_usec = now = now_usec();
		n = nfswb_pwrite(f, data, bytes, at);
		took = now_usec() - now;
		a->began_usec = 0;
		at += (off_t)stride;
		account(a, took);
	} while (n == (ssize_t)bytes);
}

static int
flood(const char *socket, const char *target, unsigned i, int ready, int go)
{
	struct nfswb *wb = nfswb_connect(socket, 0);
	struct nfswb_file *f = NULL;
	char path[512];

	snprintf(path, sizeof path, "%.*s/flood-%u%s",
		 (int)strcspn(target, "?"), target, i,
		 target + strcspn(target, "?"));
	if (wb)
		f = nfswb_open(wb, path, O_WRONLY | O_CREAT, 0644);
	if (f) {
		close(ready);
		wait_for_eof(go);
		write_for_ever(f, i);
	}
	fprintf(stderr, "flood: %s: %s\n", path, nfswb_strerror(wb));
	return 1;
}

/* ---- what they did ---- */

static uint64_t
cpu_usec(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
add_hist(struct hist *sum, const struct hist *h)
{
	unsigned i;

	sum->count += h->count;
	sum->sum += h->sum;
	if (sum->max < h->max)
		sum->max = h->max;
	for (i = 0; i < HIST_BUCKETS; i++)
		sum->bucket[i] += h->bucket[i];
}

/* What has not come back yet takes that long at least. */
static struct hist
times_of_all(uint64_t now)
{
	struct hist h = { 0 };
	unsigned i;

	for (i = 0; i < nr; i++) {
		const struct account *a = &shared->of[i];
		uint64_t began = a->began_usec;

		if (a->turn == shared->turn)
			add_hist(&h, &a->write_us);
		if (began && now > began && now - began > h.max)
			h.max = now - began;
	}
	return h;
}

static void
report(void)
{
	struct hist h = times_of_all(now_usec());
	uint64_t cpu = 0, n;
	unsigned i;

	printf("{\"bytes\": [");
	for (i = 0; i < nr; i++) {
		n = shared->of[i].bytes;
		printf("%s%" PRIu64, i ? ", " : "", n - bytes_before[i]);
		bytes_before[i] = n;
		n = cpu_usec(pids[i]);
		cpu += n - cpu_before[i];
		cpu_before[i] = n;
	}
	printf("], \"cpu_us\": %" PRIu64 ", \"writes\": %" PRIu64
	       ", \"p50\": %" PRIu64 ", \"p99\": %" PRIu64
	       ", \"max\": %" PRIu64 "}\n", cpu, h.count,
	       hist_percentile(&h, 500), hist_percentile(&h, 990), h.max);
	fflush(stdout);
	shared->turn++;
}

static void
serve(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		if (c == '\n')
			report();
}

/* ---- */

static void
end_all(void)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, 0);
}

static int
prepare(void)
{
	size_t room = sizeof *shared + nr * sizeof shared->of[0];

	shared = mmap(NULL, room, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pids = calloc(nr, sizeof *pids);
	bytes_before = calloc(nr, sizeof *bytes_before);
	cpu_before = calloc(nr, sizeof *cpu_before);
	return shared == MAP_FAILED || !pids || !bytes_before || !cpu_before
		       ? -1 : 0;
}

static int
start(const char *socket, const char *target)
{
	int ready[2], go[2];
	unsigned i;

	if (pipe(ready) < 0 || pipe(go) < 0)
		return -1;
	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return -1;
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(0);
		close(ready[0]);
		close(go[1]);
		_exit(flood(socket, target, i, ready[1], go[0]));
	}
	close(ready[1]);
	wait_for_eof(ready[0]);
	printf("go\n");
	fflush(stdout);
	close(go[0]);
	close(go[1]);
	return 0;
}

static int
usage(void)
{
	fprintf(stderr, "flood [-r RATE] SOCKET TARGET WRITERS "
			"[BYTES STRIDE]\n");
	return 2;
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:")) != -1) {
		if (c != 'r')
			return usage();
		rate = strtoull(optarg, NULL, 10);
	}
	argc -= optind;
	argv += optind;
	if (argc != 3 && argc != 5)
		return usage();
	nr = (unsigned)atoi(argv[2]);
	if (argc == 5) {
		bytes = (size_t)atol(argv[3]);
		stride = (size_t)atol(argv[4]);
	}
	if (!nr || !bytes || bytes > MIB)
		return usage();
	if (prepare() < 0 || start(argv[0], argv[1]) < 0) {
		perror("flood");
		return 1;
	}
	serve();
	end_all();
	return 0;
}
