/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * do.c - an application on libnfswb that does what it is told, line by line
 *
 *	open TARGET FLAGS	FLAGS of r w c t a (O_RDWR is rw)
 *	write LENGTH SEED	the pattern's bytes, where the last ended
 *	pwrite OFFSET LENGTH SEED	at an offset
 *	line TEXT		TEXT and a newline, one write
 *	read OFFSET LENGTH	prints how many bytes, and the first as text
 *	truncate LENGTH
 *	fsync
 *	close
 *	unlink TARGET
 *	rename TARGET TARGET
 *	control REQUEST		prints the answer
 *	quit
 *
 * Each but quit is answered by one line: "ok RESULT TIME" (TIME: of the
 * call's return, in seconds since 1970) or "error ERRNO TEXT".
 * A script that runs several of these decides what comes before what.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/nfswb.h"
#include "tests/pattern.h"

#define BLOCK_BYTES (1u << 20)

static struct nfswb *wb;
static struct nfswb_file *file;

static void
say(long long result)
{
	struct timespec now;

	if (result < 0) {
		int err = errno;

		printf("error %d %s\n", err, nfswb_strerror(wb));
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		printf("ok %lld %lld.%09ld\n", result, (long long)now.tv_sec,
		       now.tv_nsec);
	}
	fflush(stdout);
}

static int
flags_of(const char *s)
{
	int flags = strchr(s, 'w') == NULL ? O_RDONLY :
		strchr(s, 'r') == NULL ? O_WRONLY : O_RDWR;

	if (strchr(s, 'c') != NULL)
		flags |= O_CREAT;
	if (strchr(s, 't') != NULL)
		flags |= O_TRUNC;
	if (strchr(s, 'a') != NULL)
		flags |= O_APPEND;
	return flags;
}

static long long
do_open(const char *target, const char *flags)
{
	file = nfswb_open(wb, target, flags_of(flags), 0644);
	return file == NULL ? -1 : 0;
}

/* offset -1: where the last write ended; the pattern then starts at 0 of what
   this call writes. */
static long long
do_write(long long offset, size_t len, uint64_t seed)
{
	static uint8_t block[BLOCK_BYTES];
	size_t n, done;
	ssize_t r;

	for (done = 0; done < len; done += (size_t)r) {
		n = len - done < sizeof(block) ? len - done : sizeof(block);
		if (offset < 0) {
			pattern_fill(block, n, seed, done);
			r = nfswb_write(file, block, n);
		} else {
			off_t at = offset + (off_t)done;

			pattern_fill(block, n, seed, (uint64_t)at);
			r = nfswb_pwrite(file, block, n, at);
		}
		if (r < 0)
			return -1;
	}
	return (long long)done;
}

static long long
do_line(char *text)
{
	size_t len = strlen(text);

	text[len] = '\n';	/* the caller's buffer has room: its newline */
	return nfswb_write(file, text, len + 1);
}

static void
do_read(long long offset, size_t len)
{
	static char block[BLOCK_BYTES + 1];
	ssize_t n;

	n = nfswb_pread(file, block, len < BLOCK_BYTES ? len : BLOCK_BYTES,
			offset);
	if (n < 0) {
		say(-1);
		return;
	}
	block[n < 60 ? n : 60] = '\0';
	block[strcspn(block, "\n")] = '\0';
	printf("ok %zd %s\n", n, block);
	fflush(stdout);
}

static void
do_control(const char *request)
{
	char *answer = nfswb_control(wb, request);

	if (answer == NULL)
		say(-1);
	else
		printf("ok %s\n", answer);
	fflush(stdout);
	free(answer);
}

static void
do_command(char *line)
{
	char a[4096], b[4096];
	long long x, y;
	unsigned long long seed;

	if (sscanf(line, "open %4095s %15s", a, b) == 2) {
		say(do_open(a, b));
	} else if (sscanf(line, "unlink %4095s", a) == 1) {
		say(nfswb_unlink(wb, a));
	} else if (sscanf(line, "rename %4095s %4095s", a, b) == 2) {
		say(nfswb_rename(wb, a, b));
	} else if (strncmp(line, "control ", 8) == 0) {
		do_control(line + 8);
	} else if (file == NULL) {
		printf("error %d no file is open\n", EBADF);
		fflush(stdout);
	} else if (sscanf(line, "write %lld %llu", &x, &seed) == 2) {
		say(do_write(-1, (size_t)x, seed));
	} else if (sscanf(line, "pwrite %lld %lld %llu", &x, &y, &seed) == 3) {
		say(do_write(x, (size_t)y, seed));
	} else if (strncmp(line, "line ", 5) == 0) {
		say(do_line(line + 5));
	} else if (sscanf(line, "read %lld %lld", &x, &y) == 2) {
		do_read(x, (size_t)y);
	} else if (sscanf(line, "truncate %lld", &x) == 1) {
		say(nfswb_ftruncate(file, x));
	} else if (strcmp(line, "fsync") == 0) {
		say(nfswb_fsync(file));
	} else if (strcmp(line, "close") == 0) {
		struct nfswb_file *f = file;

		file = NULL;
		say(nfswb_close(f));
	} else {
		printf("error %d what is \"%s\"?\n", EINVAL, line);
		fflush(stdout);
	}
}

int
main(void)
{
	static char line[8192];

	wb = nfswb_connect(NULL, 0);
	if (wb == NULL) {
		printf("error %d %s\n", errno, nfswb_strerror(NULL));
		return 1;
	}
	while (fgets(line, sizeof(line) - 1, stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "quit") == 0)
			break;
		do_command(line);
	}
	if (file != NULL)
		nfswb_close(file);
	nfswb_disconnect(wb);
	return 0;
}
