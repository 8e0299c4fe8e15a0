/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * main.c - nfswbd: options in, exit code out
 *
 * The parts are put together in wiring.c; this file knows none of them.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "autoconf.h"
#include "common/log.h"
#include "daemon/config.h"
#include "daemon/loop.h"
#include "daemon/wiring.h"

#define TABLE_BYTES (256 << 10)

enum {
	EXIT_STOPPED = 0,	/* and all is on stable storage */
	EXIT_START = 1,
	EXIT_USAGE = 2,
	EXIT_LEFT = 3,		/* something is not on stable storage */
};

struct options {
	const char *config, *socket;
	bool test, verbose;
};

static const char usage[] =
"Usage: nfswbd [-c FILE] [-s SOCKET] [-t] [-v]\n"
"\n"
"NFS client writeback daemon; stays in the foreground.\n"
"\n"
"  -c, --config FILE    configuration, instead of " SYSCONFDIR "/nfswb.conf\n"
"  -s, --socket SOCKET  where to listen\n"
"  -t, --test           check the configuration and exit\n"
"  -v, --verbose        log debug messages too\n"
"  -h, --help           print this and exit\n"
"      --version        print the version and exit\n"
"\n"
"See nfswbd(8) and nfswb.conf(5).\n";

/* -1: go on; else the exit code. */
static int
parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "socket", required_argument, NULL, 's' },
		{ "test", no_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:s:tvh", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 't':
			o->test = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_STOPPED;
		case 'V':
			puts("nfswbd " PACKAGE_VERSION);
			return EXIT_STOPPED;
		default:
			fputs("Try nfswbd --help\n", stderr);
			return EXIT_USAGE;
		}
	if (optind == argc)
		return -1;
	fprintf(stderr, "nfswbd: \"%s\" is no option; try nfswbd --help\n",
		argv[optind]);
	return EXIT_USAGE;
}

/* Delays are jittered by random(): not alike in every daemon. */
static void
seed_jitter(void)
{
	unsigned seed;

	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed = (unsigned)time(NULL) ^ (unsigned)getpid();
	srandom(seed);
}

/* A connection, two memfds and a pidfd for each session: as many as we may. */
static void
raise_nofile(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl))
		return;
	if (rl.rlim_cur == rl.rlim_max)
		return;
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl))
		log_warning("the limit of open files stays as it is: %s",
			    strerror(errno));
}

/* What a session's tables take is virtual memory until used, and goes back when it
   ends.  Left alone, malloc would keep the next ones in its heap, and clear them. */
static void
keep_tables_apart(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, TABLE_BYTES);
}

/* One log line for each line of text. */
static void
log_lines(const char *text)
{
	while (text && *text) {
		int len = (int)strcspn(text, "\n");

		log_error("%.*s", len, text);
		text += len + (text[len] == '\n');
	}
}

static int
run(const struct config *config, const char *socket, char **argv)
{
	struct loop *loop = evloop_new();
	struct daemon *d;
	char *error = NULL;
	bool clean;

	if (!loop) {
		log_error("no event loop can be made: %s", strerror(errno));
		return EXIT_START;
	}
	d = daemon_start(loop, config, socket, argv, &error);
	if (!d) {
		log_lines(error);
		free(error);
		loop_free(loop);
		return EXIT_START;
	}
	loop_run(loop);
	clean = daemon_stop(d);
	loop_free(loop);
	return clean ? EXIT_STOPPED : EXIT_LEFT;
}

static int
check_only(const struct config *config, const char *error)
{
	if (!config) {
		fprintf(stderr, "%s\n", error ? error : "out of memory");
		return EXIT_START;
	}
	printf("the configuration is good: %u mounts, %u users\n",
	       config->mount_nr, config->uid_nr);
	return EXIT_STOPPED;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct config *config;
	char *error = NULL;
	int code = parse_options(&o, argc, argv);

	if (code >= 0)
		return code;
	config = config_load(o.config, &error);
	if (o.test) {
		code = check_only(config, error);
	} else if (!config) {
		log_lines(error ? error : "out of memory; try again");
		code = EXIT_START;
	} else {
		log_set_level(o.verbose ? LOG_LEVEL_DEBUG : config->log_level);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		daemon_block_signals();
		raise_nofile();
		keep_tables_apart();
		seed_jitter();
		code = run(config, o.socket, argv);
	}
	free(error);
	config_free(config);
	return code;
}
