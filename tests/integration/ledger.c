/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ledger.c - an application on libnfswb that may be killed at any moment, and
 * whose ledger says what must become of its file all the same
 *
 *	ledger write TARGET LEDGER SEED SESSIONS KINDS
 *	ledger check FILE LEDGER
 *
 * The ledger is a shared mapping of a local file, so it outlives SIGKILL.  It
 * holds what the file must hold by all calls that returned, and the one call
 * that may be under way: of that, any part may have been accepted.
 *
 *	w	writes up to 64 KiB anywhere in the first MiB
 *	a	appends up to 64 KiB
 *	t	truncates
 *	s	fsync
 *
 * Calls are made by turns in several sessions.  write runs until it is killed, or
 * a call fails; check compares, and says how many calls returned, and after how
 * long the slowest did.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "tests/pattern.h"

#define SESSIONS_MAX 8
#define SPACE_BYTES (64u << 20)
#define MAX_BYTES (1u << 20)
#define BLOCK_BYTES (64u << 10)

struct ledger {
	uint64_t calls, size;
	uint64_t longest_usec;		/* call that returned */
	/* under way, while kind is not 0 */
	volatile char kind;
	uint64_t offset, length;	/* of the new bytes; the size, for t */
	uint8_t block[BLOCK_BYTES];
	uint8_t space[SPACE_BYTES];	/* zeros behind size */
};

static struct ledger *ledger;
static struct nfswb *wb[SESSIONS_MAX];
static struct nfswb_file *file[SESSIONS_MAX];
static uint64_t seed, turn;

/* Stores before it are done before those behind it: we may be killed between. */
static void
fence(void)
{
	__asm__ volatile("" : : : "memory");
}

static uint64_t
min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
dice(uint64_t n)
{
	return pattern_word(seed, turn++) % n;
}

static void
open_ledger(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0 || (flags & O_CREAT &&
		       ftruncate(fd, sizeof *ledger))) {
		perror(path);
		exit(2);
	}
	ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	close(fd);
	if (ledger == MAP_FAILED) {
		perror(path);
		exit(2);
	}
}

/* --- write --- */

static void
begin(char kind, uint64_t offset, uint64_t length)
{
	ledger->offset = offset;
	ledger->length = length;
	fence();
	ledger->kind = kind;
	fence();
}

static void
end(void)
{
	uint64_t to = ledger->offset + ledger->length;

	fence();
	if (ledger->kind == 't') {
		if (ledger->offset < ledger->size)
			memset(ledger->space + ledger->offset, 0,
			       ledger->size - ledger->offset);
		ledger->size = ledger->offset;
	} else if (ledger->kind) {
		memcpy(ledger->space + ledger->offset, ledger->block,
		       ledger->length);
		if (to > ledger->size)
			ledger->size = to;
	}
	ledger->calls++;
	fence();
	ledger->kind = 0;
	fence();
}

static int
do_write(unsigned s, char kind)
{
	size_t length = dice(4) ? 1 + dice(BLOCK_BYTES) : 1 + dice(100);
	uint64_t offset = kind == 'a' ? ledger->size
				      : dice(MAX_BYTES - length);
	ssize_t n;

	if (offset + length > SPACE_BYTES)
		return nfswb_fsync(file[s]);
	pattern_fill(ledger->block, length, seed + turn, offset);
	begin(kind, offset, length);
	n = kind == 'a' ? nfswb_write(file[s], ledger->block, length)
			: nfswb_pwrite(file[s], ledger->block, length,
				       (off_t)offset);
	return n == (ssize_t)length ? 0 : -1;
}

static uint64_t
now_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int
step(unsigned s, char kind)
{
	uint64_t start = now_usec();
	int rc = -1;

	switch (kind) {
	case 'w':
	case 'a':
		rc = do_write(s, kind);
		break;
	case 't':
		begin('t', dice(MAX_BYTES), 0);
		rc = nfswb_ftruncate(file[s], (off_t)ledger->offset);
		break;
	case 's':
		rc = nfswb_fsync(file[s]);
		break;
	}
	if (rc)
		return rc;
	end();
	ledger->longest_usec = max(ledger->longest_usec, now_usec() - start);
	return 0;
}

static int
run(const char *target, unsigned sessions, const char *kinds)
{
	int flags = O_RDWR | O_CREAT | (strchr(kinds, 'a') ? O_APPEND : 0);
	size_t nr = strlen(kinds);
	unsigned s;

	for (s = 0; s < sessions; s++) {
		wb[s] = nfswb_connect(NULL, 0);
		if (wb[s])
			file[s] = nfswb_open(wb[s], target, flags, 0644);
		if (!file[s]) {
			fprintf(stderr, "ledger: %s\n",
				nfswb_strerror(wb[s]));
			return 1;
		}
	}
	puts("open");
	fflush(stdout);
	do
		s = (unsigned)dice(sessions);
	while (step(s, kinds[dice(nr)]) == 0);
	fprintf(stderr, "ledger: seed %llu: %s\n", (unsigned long long)seed,
		nfswb_strerror(wb[s]));
	return 1;
}

/* --- check --- */

static int
size_is_right(uint64_t size)
{
	uint64_t to = ledger->offset + ledger->length;

	if (!ledger->kind || size == ledger->size)
		return size == ledger->size;
	/* cut, and what was written behind the cut before it sent once more */
	if (ledger->kind == 't')
		return size >= min(ledger->offset, ledger->size) &&
		       size <= max(ledger->offset, ledger->size);
	return size > ledger->size && size <= max(to, ledger->size);
}

static int
byte_is_right(uint64_t at, uint8_t byte)
{
	if (byte == ledger->space[at])
		return 1;
	if (ledger->kind == 't')	/* cut, and grown again */
		return at >= ledger->offset && byte == 0;
	return ledger->kind && at >= ledger->offset &&
	       at - ledger->offset < ledger->length &&
	       byte == ledger->block[at - ledger->offset];
}

static int
check(const char *path)
{
	static uint8_t data[SPACE_BYTES + 1];
	FILE *f = fopen(path, "re");
	uint64_t size, at;

	if (!f) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof data, f);
	fclose(f);
	printf("%llu calls returned, the longest took %llu usec; size %llu, "
	       "under way '%c' at %llu, %llu bytes\n",
	       (unsigned long long)ledger->calls,
	       (unsigned long long)ledger->longest_usec,
	       (unsigned long long)ledger->size,
	       ledger->kind ? ledger->kind : '-',
	       (unsigned long long)ledger->offset,
	       (unsigned long long)ledger->length);
	if (!size_is_right(size)) {
		printf("the file has %llu bytes\n", (unsigned long long)size);
		return 1;
	}
	for (at = 0; at < min(size, SPACE_BYTES); at++)
		if (!byte_is_right(at, data[at])) {
			printf("the byte at %llu is wrong\n",
			       (unsigned long long)at);
			return 1;
		}
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned sessions;

	if (argc == 4 && !strcmp(argv[1], "check")) {
		open_ledger(argv[3], O_RDWR);
		return check(argv[2]);
	}
	sessions = argc == 7 ? (unsigned)atoi(argv[5]) : 0;
	if (!sessions || sessions > SESSIONS_MAX) {
		fprintf(stderr, "ledger: read its head\n");
		return 2;
	}
	open_ledger(argv[3], O_RDWR | O_CREAT | O_TRUNC);
	seed = strtoull(argv[4], NULL, 10);
	return run(argv[2], sessions, argv[6]);
}
