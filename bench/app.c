/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * app.c - applications that write files and say what that took
 *
 *	app [OPTION]... NAME
 *	-s SOCKET	NAME is a target, written by libnfswb; without, a local file
 *	-a APPS		so many processes, each a file of its own (1)
 *	-b BYTES	of a pwrite (1 MiB)
 *	-n WRITES	pwrites of each process, in each pass (1)
 *	-p PASSES	files written one after the other in one session (1)
 *	-r		at random places, each once
 *	-f		fsync after each pwrite
 *	-e USEC		begins one each so many microseconds, and spins until then
 *
 * Files are NAME-APP.PASS, new, fsynced and closed.  Says, a line for each pass
 * of each process, as JSON: accept_ns, what all pwrites took (with -f and their
 * fsyncs); sync_ns, what the last fsync took; and in KiB the process' own memory
 * and what it shares.  Without -e the clock is not asked for each pwrite.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/clock.h"
#include "include/nfswb.h"

#define MIB (1u << 20)

static const char *socket_path, *name;
static unsigned apps = 1, passes = 1;
static uint64_t nr = 1, each_usec;
static size_t bytes = MIB;
static bool at_random, with_fsync;
static char data[MIB];
static struct nfswb *wb;

struct file {			/* either of them */
	struct nfswb_file *f;
	int fd;
};

static void
die(const char *what)
{
	if (wb)
		fprintf(stderr, "app: %s: %s\n", what, nfswb_strerror(wb));
	else
		perror(what);
	exit(1);
}

static struct file
open_file(unsigned app, unsigned pass)
{
	size_t n = socket_path ? strcspn(name, "?") : strlen(name);
	const int how = O_WRONLY | O_CREAT | O_TRUNC;
	struct file file = { NULL, -1 };
	char path[512];

	snprintf(path, sizeof path, "%.*s-%u.%u%s", (int)n, name, app, pass,
		 name + n);
	if (wb)
		file.f = nfswb_open(wb, path, how, 0644);
	else
		file.fd = open(path, how, 0644);
	if (!file.f && file.fd < 0)
		die(path);
	return file;
}

static inline void
write_at(struct file *file, uint64_t at)
{
	ssize_t n = file->f ? nfswb_pwrite(file->f, data, bytes, (off_t)at) :
			      pwrite(file->fd, data, bytes, (off_t)at);

	if (n != (ssize_t)bytes)
		die("pwrite");
}

static void
sync_file(struct file *file)
{
	if ((file->f ? nfswb_fsync(file->f) : fsync(file->fd)) < 0)
		die("fsync");
}

static void
close_file(struct file *file)
{
	if ((file->f ? nfswb_close(file->f) : close(file->fd)) < 0)
		die("close");
}

/* The order of a walk that comes by each of nr places once: by steps of about
   0.62 nr that have no divisor in common with it. */
static uint64_t
step(void)
{
	uint64_t s = at_random ? nr * 618 / 1000 | 1 : 1, a, b, t;

	for (;; s += 2) {
		for (a = nr, b = s; b; t = a % b, a = b, b = t)
			;
		if (a == 1 || s == 1)
			return s;
	}
}

/* Nanoseconds that the pwrites took. */
static uint64_t
write_all(struct file *file)
{
	uint64_t i, place = 0, by = step(), began = now_nsec(), took = 0;
	uint64_t next = began;

	for (i = 0; i < nr; i++) {
		write_at(file, place * bytes);
		place = (place + by) % nr;
		if (with_fsync)
			sync_file(file);
		if (!each_usec)
			continue;
		took += now_nsec() - began;
		for (next += each_usec * 1000; (began = now_nsec()) < next; )
			;
	}
	return each_usec ? took : now_nsec() - began;
}

/* One of /proc/self/status, in KiB. */
static unsigned long
memory(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, what, strlen(what)))
			kib = strtoul(line + strlen(what), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static void
one_pass(unsigned app, unsigned pass)
{
	struct file file = open_file(app, pass);
	uint64_t accepted = write_all(&file), began = now_nsec();

	sync_file(&file);
	began = now_nsec() - began;
	close_file(&file);
	printf("{\"app\": %u, \"pass\": %u, \"writes\": %" PRIu64
	       ", \"accept_ns\": %" PRIu64 ", \"sync_ns\": %" PRIu64
	       ", \"anon_kib\": %lu, \"shared_kib\": %lu}\n", app, pass, nr,
	       accepted, began, memory("RssAnon:"), memory("RssShmem:"));
	fflush(stdout);
}

static int
run(unsigned app)
{
	unsigned pass;

	if (socket_path) {
		wb = nfswb_connect(socket_path, 0);
		if (!wb)
			die(socket_path);
	}
	for (pass = 0; pass < passes; pass++)
		one_pass(app, pass);
	if (wb)
		nfswb_disconnect(wb);
	return 0;
}

static int
run_all(void)
{
	int status, bad = 0;
	unsigned i;

	if (apps == 1)
		return run(0);
	for (i = 0; i < apps; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			_exit(run(i));
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

static int
usage(void)
{
	fprintf(stderr, "app [-s SOCKET] [-a APPS] [-b BYTES] [-n WRITES] "
			"[-p PASSES] [-r] [-f] [-e USEC] NAME\n");
	return 2;
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:a:b:n:p:rfe:")) != -1)
		switch (c) {
		case 's': socket_path = optarg; break;
		case 'a': apps = (unsigned)atoi(optarg); break;
		case 'b': bytes = strtoul(optarg, NULL, 10); break;
		case 'n': nr = strtoull(optarg, NULL, 10); break;
		case 'p': passes = (unsigned)atoi(optarg); break;
		case 'r': at_random = true; break;
		case 'f': with_fsync = true; break;
		case 'e': each_usec = strtoull(optarg, NULL, 10); break;
		default: return usage();
		}
	if (argc != optind + 1 || !nr || !bytes || bytes > MIB || !apps)
		return usage();
	name = argv[optind];
	/* not the zero page */
	memset(data, 'x', sizeof data);
	return run_all();
}
