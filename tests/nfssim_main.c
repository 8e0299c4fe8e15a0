/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_main.c - nfssim as a program on TCP
 *
 * Prints "port N" when it is ready.  SIGUSR1: crashes and is back at once, with
 * unstable data forgotten and another verifier.  SIGUSR2: prints what was
 * called how often; SIGTERM, SIGINT: the same, and ends.
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
#include "tests/nfssim_model.h"
#include "tests/nfssim_parse.h"

static const char usage[] =
"Usage: nfssim [OPTION]...\n"
"An NFSv3 and MOUNT server on 127.0.0.1 that misbehaves on request, for tests.\n"
"\n"
"  -p, --port N         listen there (default: any free port)\n"
"  -e, --export PATH    the export's name (default: /export)\n"
"  -w, --wtmax BYTES    largest WRITE (default and at most: 1M)\n"
"  -r, --rtmax BYTES    largest READ (default and at most: 1M)\n"
"  -D, --delay TIME     of every reply (default: 0; no unit: microseconds)\n"
"  -k, --die-with-parent\n"
"  -h, --help\n"
"\n"
"Contents (default: in memory):\n"
"  -d, --discard        keep sizes and counts, not contents; read as zeros\n"
"  -s, --store DIR      stable contents in files below DIR, which is made or\n"
"                       served as it is; volatile ones in memory until COMMIT\n"
"\n"
"Who may do what (default: everybody everything):\n"
"  -a, --access         modes and owners count\n"
"  -R, --root-squash    uid 0 is nobody (65534)\n"
"  -S, --secure-port    only clients from ports below 1024\n"
"  -F, --full BYTES     NFS3ERR_NOSPC beyond so many bytes in all\n"
"  -q, --quota UID:BYTES  NFS3ERR_DQUOT beyond so many of this uid's\n"
"\n"
"How it fares:\n"
"  -m, --model MODEL    takes the time a server would: presets and values,\n"
"                       by commas: disk; ext3,rtt=20ms; link=1G,threads=2\n"
"  -c, --drc MODE       calls that come twice: off (done again, the default),\n"
"                       on (answered as the first was), cut (dropped), blind\n"
"                       (answered by the xid alone)\n"
"  -f, --faults FILE    a script of faults\n"
"  -x, --fault RULES    the same, here; by \";\" where there are several\n"
"      --seed N         of its chance (default: 1)\n"
"\n"
"What it says: \"port N\" when it is ready, and its counters at the end:\n"
"  -j, --json           as one JSON object\n"
"\n"
"NFS and MOUNT are on one port: nfs://127.0.0.1/export/?nfsport=N&mountport=N\n"
"SIGUSR1 restarts it: forgets unstable data, drops connections, changes the\n"
"verifier.  SIGUSR2 prints the counters.  SIGTERM, SIGINT end it.\n";

static const char script_help[] =
"\n"
"Faults: a rule a line, WHEN : WHAT, \"#\" begins a comment.\n"
"When (all must hold; none: each call):\n"
"  WRITE, READ|COMMIT, MNT, any   the procedure\n"
"  file=PATTERN     its name, or path from the export's root\n"
"  offset=A-B size=A-B   where its bytes begin, how many they are\n"
"  reach=N          its bytes reach beyond byte N of the file\n"
"  total=N          all WRITEs so far have brought more than N bytes\n"
"  stable=unstable|datasync|filesync   what a WRITE asks for\n"
"  uid=N            of the credential\n"
"  call=A-B         the number of the call, of all that came\n"
"  nth=A-B, once, every=N   of the calls for which all else holds\n"
"  time=A-B         since the start\n"
"  copy             its xid came before\n"
"  chance=P%        by the seed\n"
"  at=TIME          instead of all these: once, without a call\n"
"  set              now\n"
"What happens to a call (all that is said):\n"
"  status=NOSPC     any NFS3ERR_… or number; the call is not done\n"
"  short=N, count-0 a WRITE writes so much, and says so\n"
"  lie              WRITE, COMMIT: answered as done, and not done\n"
"  sync, committed=unstable|datasync|filesync   what a WRITE grants and does\n"
"  own-verifier     one that no other reply has\n"
"  delay=A-B        of the reply\n"
"  hold=A-B         a thread has it that long before it is done\n"
"  lose-call, lose-reply, copies=N, reorder=N (after N later replies)\n"
"  cut, cut-half, cut-after   the connection, before, in, behind the reply\n"
"  restart-done, restart-replied   a crash before, after the reply (=same: the\n"
"                   verifier stays)\n";

static const char server_help[] =
"What happens to the server (also with at= and set):\n"
"  restart          a crash; the call is lost (=same: the verifier stays)\n"
"  down=TIME        connections end, new ones are refused\n"
"  cut-all, cut-in=N  connections end; after N more bytes have come in\n"
"  verifier, verifier=N   a new one, and nothing forgotten\n"
"  full=N, quota=UID:N, drc=MODE, slow=TIME   as by the options; never: no limit\n"
"  fsinfo=wtmax:N   what FSINFO says: rtmax rtpref rtmult wtmax wtpref wtmult\n"
"                   dtpref maxfilesize properties\n"
"  early=N          N WRITEs are answered before they are here\n"
"Numbers may end in k M G T (2^10 …) or kB MB GB TB, times in us ms s min h\n"
"(none: seconds); ranges are A, A-B or A-.\n"
"\n"
"  WRITE nth=3- time=2s-5s : status=JUKEBOX\n"
"  COMMIT every=2 : restart-done; at=10s : down=3s; set full=10M drc=cut\n";

static const struct option options[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "export", required_argument, NULL, 'e' },
	{ "wtmax", required_argument, NULL, 'w' },
	{ "rtmax", required_argument, NULL, 'r' },
	{ "discard", no_argument, NULL, 'd' },
	{ "store", required_argument, NULL, 's' },
	{ "delay", required_argument, NULL, 'D' },
	{ "access", no_argument, NULL, 'a' },
	{ "root-squash", no_argument, NULL, 'R' },
	{ "secure-port", no_argument, NULL, 'S' },
	{ "full", required_argument, NULL, 'F' },
	{ "quota", required_argument, NULL, 'q' },
	{ "model", required_argument, NULL, 'm' },
	{ "drc", required_argument, NULL, 'c' },
	{ "faults", required_argument, NULL, 'f' },
	{ "fault", required_argument, NULL, 'x' },
	{ "seed", required_argument, NULL, 'E' },
	{ "json", no_argument, NULL, 'j' },
	{ "die-with-parent", no_argument, NULL, 'k' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct program {
	struct loop *loop;
	struct nfssim *sim;
	struct nfssim_options opt;
	struct model_params model;
	uint16_t port;
	char *script;			/* what is to be said to it at first */
	uint64_t verifier;
	bool json;
};

static void
die(const char *option, const char *text, const char *why)
{
	fprintf(stderr, "nfssim: --%s %s: %s\n", option, text, why);
	exit(2);
}

static uint64_t
number(const char *name, const char *text, uint64_t max)
{
	uint64_t n;

	if (!parse_size(text, &n) || n > max)
		die(name, text, "this is no number, or too large");
	return n;
}

static void
help(void)
{
	fputs(usage, stdout);
	printf("\nModels:\n%s", model_params_help());
	fputs(script_help, stdout);
	printf("  garbage=KIND     instead of the reply:");
	for (int i = 1; nfssim_garbage_name((enum nfssim_garbage)i); i++)
		printf("%s%s", i % 7 == 1 ? "\n                   " : " ",
		       nfssim_garbage_name((enum nfssim_garbage)i));
	printf("\n");
	fputs(server_help, stdout);
	exit(0);
}

/* One script out of several pieces, a line each. */
static void
add_script(struct program *p, const char *before, const char *text)
{
	char *all;

	if (asprintf(&all, "%s%s%s\n", p->script ? p->script : "", before,
		     text) < 0)
		exit(1);
	free(p->script);
	p->script = all;
}

static void
add_script_file(struct program *p, const char *path)
{
	char *text = NULL;
	size_t room = 0;
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;

	if (!f)
		die("faults", path, strerror(errno));
	if (getdelim(&text, &room, 0, f) > 0)
		add_script(p, "", text);
	free(text);
	if (f != stdin)
		fclose(f);
}

static void
parse_one(struct program *p, int c)
{
	struct nfssim_options *opt = &p->opt;
	const char *why;

	switch (c) {
	case 'p':
		p->port = (uint16_t)number("port", optarg, 65535);
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
	case 's':
		opt->store = optarg;
		break;
	case 'D':
		if (optarg[strspn(optarg, "0123456789")] == 0)
			opt->delay_usec = number("delay", optarg, 1ull << 40);
		else if (!parse_time(optarg, &opt->delay_usec))
			die("delay", optarg, "this is no time");
		break;
	case 'a':
		opt->check_access = true;
		break;
	case 'R':
		opt->root_squash = true;
		break;
	case 'S':
		opt->secure_port = true;
		break;
	case 'F':
		add_script(p, "set full=", optarg);
		break;
	case 'q':
		add_script(p, "set quota=", optarg);
		break;
	case 'c':
		add_script(p, "set drc=", optarg);
		break;
	case 'm':
		why = model_params_parse(&p->model, optarg);
		if (why)
			die("model", optarg, why);
		opt->model = &p->model;
		break;
	case 'f':
		add_script_file(p, optarg);
		break;
	case 'x':
		add_script(p, "", optarg);
		break;
	case 'E':
		opt->seed = number("seed", optarg, UINT64_MAX);
		break;
	case 'j':
		p->json = true;
		break;
	case 'k':
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		break;
	case 'h':
		help();
		break;
	default:
		fputs("Try 'nfssim --help'.\n", stderr);
		exit(2);
	}
}

static void
parse(int argc, char **argv, struct program *p)
{
	int c;

	while ((c = getopt_long(argc, argv, "p:e:w:r:ds:D:aRSF:q:m:c:f:x:jkh",
				options, NULL)) >= 0)
		parse_one(p, c);
	if (optind < argc) {
		fprintf(stderr, "nfssim: '%s' is too much\n", argv[optind]);
		exit(2);
	}
	if (p->opt.discard && p->opt.store)
		die("store", p->opt.store, "not with --discard");
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

	nfssim_restart(p->sim, clock_usec(CLOCK_REALTIME));
}

/* A counter, in either form. */
static void
say(struct program *p, const char *name, uint64_t v, bool *first)
{
	if (p->json)
		printf("%s\"%s\": %" PRIu64, *first ? "{" : ", ", name, v);
	else
		printf("%s %" PRIu64 "\n", name, v);
	*first = false;
}

static void
say_model(struct program *p, bool *first)
{
	struct model_stats m;

	if (!nfssim_model(p->sim))
		return;
	m = model_stats(nfssim_model(p->sim));
	say(p, "disk_written_bytes", m.disk_written_bytes, first);
	say(p, "disk_read_bytes", m.disk_read_bytes, first);
	say(p, "disk_requests", m.disk_requests, first);
	say(p, "seeks", m.seeks, first);
	say(p, "disk_busy_usec", m.disk_busy_usec, first);
	say(p, "dirty_bytes", m.dirty_bytes, first);
	say(p, "waiting_commits", m.commits, first);
	say(p, "journals", m.journals, first);
	say(p, "held_writes", m.held_writes, first);
	say(p, "most_queued", m.most_queued, first);
	say(p, "link_in_bytes", m.link_bytes[LINK_IN], first);
	say(p, "link_out_bytes", m.link_bytes[LINK_OUT], first);
}

static void
say_stats(void *arg)
{
	struct program *p = arg;
	const struct nfssim_stats *s = nfssim_stats(p->sim);
	bool first = true;
	uint32_t i;

	for (i = 0; i < NFSSIM_PROCS; i++)
		if (s->calls[i] || p->json)
			say(p, nfssim_proc_name(i), s->calls[i], &first);
	say(p, "unstable_writes", s->unstable_writes, &first);
	say(p, "stable_writes", s->stable_writes, &first);
	say(p, "written_bytes", s->written_bytes, &first);
	say(p, "stable_bytes", s->stable_bytes, &first);
	say(p, "read_bytes", s->read_bytes, &first);
	say(p, "overlapping_writes", s->overlapping_writes, &first);
	say(p, "connections", s->connections, &first);
	say(p, "faults", s->faults, &first);
	say(p, "restarts", s->restarts, &first);
	say(p, "drc_hits", s->drc_hits, &first);
	say(p, "drc_drops", s->drc_drops, &first);
	say_model(p, &first);
	if (p->json)
		printf("}\n");
	fflush(stdout);
}

static void
make_server(struct program *p)
{
	const char *why;

	/* as a server's boot time does, it differs from one run to the next */
	p->opt.verifier = p->verifier = clock_usec(CLOCK_REALTIME);
	p->opt.wall_usec = (int64_t)(p->verifier - loop_now(p->loop));
	errno = 0;
	p->sim = nfssim_new(p->loop, &p->opt);
	if (!p->sim) {
		fprintf(stderr, "nfssim: %s: %s\n",
			p->opt.store ? p->opt.store : "no server",
			strerror(errno ? errno : ENOMEM));
		exit(1);
	}
	why = p->script ? nfssim_script(p->sim, p->script) : NULL;
	if (why) {
		fprintf(stderr, "nfssim: faults: %s\n", why);
		exit(2);
	}
	free(p->script);
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct loop_signal *sig[4];
	int fd, i;

	parse(argc, argv, &p);
	p.loop = evloop_new();
	if (!p.loop)
		return 1;
	make_server(&p);
	sig[0] = evloop_signal(p.loop, SIGTERM, end, &p);
	sig[1] = evloop_signal(p.loop, SIGINT, end, &p);
	sig[2] = evloop_signal(p.loop, SIGUSR1, crash, &p);
	sig[3] = evloop_signal(p.loop, SIGUSR2, say_stats, &p);
	if (!sig[0] || !sig[1] || !sig[2] || !sig[3])
		return 1;
	fd = open_port(p.port);
	if (nfssim_listen(p.sim, fd) < 0)
		return 1;
	loop_run(p.loop);
	say_stats(&p);
	nfssim_free(p.sim);
	for (i = 0; i < 4; i++)
		evloop_signal_free(sig[i]);
	loop_free(p.loop);
	close(fd);
	return 0;
}
