/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * storm.c - an application on libnfswb that does all kinds of things to one
 * file, by turns in several sessions, and knows what must become of it
 *
 *	storm TARGET EXPECTED SEED SESSIONS KINDS [MAX [MIRROR]]
 *
 * KINDS: w writes anywhere in the file's first MAX bytes (1 MiB), over each
 * other; a appends; t truncates; r reads and compares; s fsyncs; c closes and
 * opens again.  Each step is done by one of the sessions, so order between
 * sessions is tried too.  A line is printed for each step that is done; the pipe
 * holds few of them, so whoever reads it keeps in step.  The line of an fsync or
 * close that returned 0 has a capital letter.
 *
 * MIRROR: the same file where the server keeps it.  It is compared whenever such
 * a call has returned 0: nothing was accepted meanwhile, so it must be equal.
 *
 * When the pipe's reader is gone all is closed, and EXPECTED, a local file,
 * holds what the file must hold.  Exit code 0: no call failed and every read
 * saw the right bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "tests/pattern.h"

#define SESSIONS_MAX 8
#define SPACE_BYTES (8u << 20)
#define LINE_BYTES 128

static struct nfswb *wb[SESSIONS_MAX];
static struct nfswb_file *file[SESSIONS_MAX];
static unsigned session_nr;
static const char *target, *mirror;
static int oflags = O_RDWR;
static uint8_t space[SPACE_BYTES];	/* what the file must hold */
static size_t size, max = 1u << 20;
static uint64_t seed, turn;

static uint64_t
dice(uint64_t n)
{
	return pattern_word(seed, turn++) % n;
}

static void
die(const char *what, unsigned s)
{
	fprintf(stderr, "storm: seed %llu, session %u: %s: %s\n",
		(unsigned long long)seed, s, what, nfswb_strerror(wb[s]));
	exit(1);
}

static void
wrong(const char *what, size_t at)
{
	fprintf(stderr, "storm: seed %llu: %s at %zu\n",
		(unsigned long long)seed, what, at);
	exit(1);
}

static size_t
some_length(void)
{
	static const size_t most[] = { 16, 512, 4096, 40000, 300000 };

	return 1 + dice(most[dice(5)]);
}

static void
do_write(unsigned s)
{
	static uint8_t buf[300001];
	size_t len = some_length(), at = dice(max), done;
	ssize_t n;

	if (at + len > SPACE_BYTES)
		return;
	pattern_fill(buf, len, seed + turn, at);
	for (done = 0; done < len; done += (size_t)n) {
		n = nfswb_pwrite(file[s], buf + done, len - done,
				 (off_t)(at + done));
		if (n <= 0)
			die("pwrite", s);
	}
	memcpy(space + at, buf, len);
	if (at + len > size)
		size = at + len;
}

static void
do_append(unsigned s)
{
	size_t len = some_length();
	ssize_t n;

	if (size + len > SPACE_BYTES)
		return;
	pattern_fill(space + size, len, seed + turn, size);
	n = nfswb_write(file[s], space + size, len);
	if (n != (ssize_t)len)
		die("append", s);
	size += len;
}

static void
do_truncate(unsigned s)
{
	size_t to = dice(max);

	if (nfswb_ftruncate(file[s], (off_t)to))
		die("ftruncate", s);
	memset(space + to, 0, SPACE_BYTES - to);
	size = to;
}

static void
do_read(unsigned s)
{
	static uint8_t buf[300001];
	size_t len = some_length(), at = dice(max), i;
	ssize_t n = nfswb_pread(file[s], buf, len, (off_t)at);

	if (n < 0)
		die("pread", s);
	for (i = 0; i < (size_t)n; i++)
		if (at + i >= size || buf[i] != space[at + i])
			wrong("a read saw other bytes than were written",
			      at + i);
	if (n == 0 && at < size)
		wrong("a read saw the end of the file too early", at);
}

/* The call returned 0: all that was accepted must be there. */
static void
acknowledged(const char *what)
{
	static uint8_t there[SPACE_BYTES + 1];
	size_t n, i;
	FILE *f;

	if (!mirror)
		return;
	f = fopen(mirror, "re");
	if (!f) {
		perror(mirror);
		exit(1);
	}
	n = fread(there, 1, sizeof there, f);
	fclose(f);
	for (i = 0; i < n && i < size && there[i] == space[i]; i++)
		;
	if (n != size || i < size)
		wrong(what, i);
}

static void
do_fsync(unsigned s)
{
	if (nfswb_fsync(file[s]))
		die("fsync", s);
	acknowledged("after an fsync the server holds other bytes");
}

static void
do_open(unsigned s, int more)
{
	file[s] = nfswb_open(wb[s], target, oflags | more, 0644);
	if (!file[s])
		die("open", s);
}

static void
do_close(unsigned s)
{
	if (nfswb_close(file[s]))
		die("close", s);
	acknowledged("after a close the server holds other bytes");
	do_open(s, 0);
}

/* False: nobody wants more. */
static bool
step(const char *kinds)
{
	char line[LINE_BYTES];
	unsigned s = (unsigned)dice(session_nr);
	char kind = kinds[dice(strlen(kinds))], done = kind;

	switch (kind) {
	case 'w':
		do_write(s);
		break;
	case 'a':
		do_append(s);
		break;
	case 't':
		if (dice(4) == 0)
			do_truncate(s);
		break;
	case 'r':
		do_read(s);
		break;
	case 's':
		if (dice(4) == 0) {
			do_fsync(s);
			done = 'S';
		}
		break;
	case 'c':
		if (dice(4) == 0) {
			do_close(s);
			done = 'C';
		}
		break;
	}
	snprintf(line, sizeof line, "%*c", LINE_BYTES - 1, done);
	line[LINE_BYTES - 1] = '\n';
	return write(STDOUT_FILENO, line, LINE_BYTES) == LINE_BYTES;
}

static void
save(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(space, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	unsigned s;

	if (argc < 6)
		return 2;
	target = argv[1];
	seed = strtoull(argv[3], NULL, 0);
	session_nr = (unsigned)atoi(argv[4]);
	if (session_nr < 1 || session_nr > SESSIONS_MAX)
		return 2;
	if (argc > 6)
		max = strtoull(argv[6], NULL, 0);
	if (argc > 7)
		mirror = argv[7];
	if (strchr(argv[5], 'a'))
		oflags |= O_APPEND;
	for (s = 0; s < session_nr; s++) {
		wb[s] = nfswb_connect(NULL, 0);
		if (!wb[s]) {
			fprintf(stderr, "storm: %s\n", nfswb_strerror(NULL));
			return 1;
		}
		do_open(s, s ? 0 : O_CREAT | O_TRUNC);
	}
	signal(SIGPIPE, SIG_IGN);
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 4096);
	while (step(argv[5]))
		;
	for (s = 0; s < session_nr; s++) {
		if (nfswb_close(file[s]))
			die("close", s);
		nfswb_disconnect(wb[s]);
	}
	save(argv[2]);
	return 0;
}
