/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_main.c - nfssim as a program on TCP
 *
 * Prints "port N" when it is ready.  SIGUSR1: crashes and is back at once, with
 * unstable data forgotten and another verifier.  SIGTERM, SIGINT: ends, and
 * prints what was called how often.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "tests/nfssim.h"

static const char usage[] =
"Usage: nfssim [OPTION]...\n"
"An NFSv3 and MOUNT server in memory, on 127.0.0.1, for tests.\n"
"\n"
"  -p, --port N         listen there (default: any free port)\n"
"  -e, --export PATH    the export's name (default: /export)\n"
"  -w, --wtmax BYTES    largest WRITE (default and at most: 1048576)\n"
"  -r, --rtmax BYTES    largest READ (default and at most: 1048576)\n"
"  -d, --discard        keep sizes, not contents\n"
"  -D, --delay USEC     of every reply\n"
"  -k, --die-with-parent\n"
"  -h, --help\n"
"\n"
"NFS and MOUNT are on one port: nfs://127.0.0.1/export/?nfsport=N&mountport=N\n"
"SIGUSR1 forgets unstable data and changes the verifier.\n";

static const struct option options[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "export", required_argument, NULL, 'e' },
	{ "wtmax", required_argument, NULL, 'w' },
	{ "rtmax", required_argument, NULL, 'r' },
	{ "discard", no_argument, NULL, 'd' },
	{ "delay", required_argument, NULL, 'D' },
	{ "die-with-parent", no_argument, NULL, 'k' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct program {
	struct loop *loop;
	struct nfssim *sim;
	uint64_t verifier;
};

static uint64_t
number(const char *name, const char *text, uint64_t max)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > max) {
		fprintf(stderr, "nfssim: --%s %s: a number up to %" PRIu64
			" is wanted\n", name, text, max);
		exit(2);
	}
	return n;
}

static void
parse(int argc, char **argv, struct nfssim_options *opt, uint16_t *port)
{
	int c;

	while ((c = getopt_long(argc, argv, "p:e:w:r:dD:kh", options, NULL)) >=
	       0)
		switch (c) {
		case 'p':
			*port = (uint16_t)number("port", optarg, 65535);
			break;
		case 'e':
			opt->export = optarg;
			break;
		case 'w':
			opt->wtmax = (uint32_t)number("wtmax", optarg, 1 << 20);
			break;
		case 'r':
			opt->rtmax = (uint32_t)number("rtmax", optarg, 1 << 20);
			break;
		case 'd':
			opt->discard = true;
			break;
		case 'D':
			opt->delay_usec = number("delay", optarg, 1ull << 40);
			break;
		case 'k':
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (optind < argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* A listening socket on loopback; says the port. */
static int
open_port(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int on = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(port);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
	    listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0) {
		fprintf(stderr, "nfssim: port %u: %s\n", port,
			strerror(errno));
		exit(1);
	}
	printf("port %u\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

static uint64_t
clock_usec(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
end(void *arg)
{
	struct program *p = arg;

	loop_stop(p->loop);
}

static void
crash(void *arg)
{
	struct program *p = arg;

	nfssim_restart(p->sim, ++p->verifier);
}

static void
say_stats(const struct nfssim_stats *s)
{
	uint32_t i;

	for (i = 0; i < NFSSIM_PROCS; i++)
		if (s->calls[i])
			printf("%s %" PRIu64 "\n", nfssim_proc_name(i),
			       s->calls[i]);
	printf("unstable_writes %" PRIu64 "\n", s->unstable_writes);
	printf("stable_writes %" PRIu64 "\n", s->stable_writes);
	printf("written_bytes %" PRIu64 "\n", s->written_bytes);
	printf("overlapping_writes %" PRIu64 "\n", s->overlapping_writes);
	printf("connections %" PRIu64 "\n", s->connections);
}

int
main(int argc, char **argv)
{
	struct nfssim_options opt = { 0 };
	struct loop_signal *sig[3];
	struct program p;
	uint16_t port = 0;
	int fd, i;

	parse(argc, argv, &opt, &port);
	/* as a server's boot time does, it differs from one run to the next */
	opt.verifier = p.verifier = clock_usec(CLOCK_REALTIME);
	p.loop = evloop_new();
	if (!p.loop)
		return 1;
	opt.wall_usec = (int64_t)(p.verifier - loop_now(p.loop));
	p.sim = nfssim_new(p.loop, &opt);
	sig[0] = evloop_signal(p.loop, SIGTERM, end, &p);
	sig[1] = evloop_signal(p.loop, SIGINT, end, &p);
	sig[2] = evloop_signal(p.loop, SIGUSR1, crash, &p);
	if (!p.sim || !sig[0] || !sig[1] || !sig[2])
		return 1;
	fd = open_port(port);
	if (nfssim_listen(p.sim, fd) < 0)
		return 1;
	loop_run(p.loop);
	say_stats(nfssim_stats(p.sim));
	nfssim_free(p.sim);
	for (i = 0; i < 3; i++)
		evloop_signal_free(sig[i]);
	loop_free(p.loop);
	close(fd);
	return 0;
}
