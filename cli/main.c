/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * main.c - nfswb, the command line of the writeback daemon
 *
 * A table of commands; each lives in the file of its name.
 */
#include "autoconf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"

static const struct command {
	const char *name;
	command_fn *run;
	const char *help;
} commands[] = {
	{ "put", put_command, put_help },
	{ "get", get_command, get_help },
	{ "sync", sync_command, sync_help },
	{ "stat", stat_command, stat_help },
	{ "who", who_command, who_help },
	{ "top", top_command, top_help },
};
#define COMMANDS_NR (sizeof(commands) / sizeof(commands[0]))

static const char help[] =
"Usage: nfswb [-s SOCKET] COMMAND ...\n"
"Write to NFS through the writeback daemon nfswbd.\n"
"\n"
"  put [-r] SRC... TARGET        copy files (or \"-\": standard input) to NFS\n"
"  get TARGET DST                copy a file from NFS (DST \"-\": to standard\n"
"                                output)\n"
"  sync [--timeout SEC] [TARGET] wait until all is on stable storage\n"
"  stat [--json] [--interval SEC [--count N]]\n"
"                                what the daemon did, and where the time went\n"
"  who                           each writer, and what it is waiting for\n"
"  top [--interval SEC] [--count N]\n"
"                                the same, again and again\n"
"\n"
"  -s, --socket SOCKET           the daemon's socket; else $NFSWB_SOCKET,\n"
"                                $XDG_RUNTIME_DIR/nfswbd.sock or\n"
"                                /run/nfswbd/nfswbd.sock, the first that exists\n"
"  -h, --help                    this text; nfswb COMMAND --help: more\n"
"  -V, --version                 the version\n"
"\n"
"A TARGET is nfs://server[:port]/export/path[?nfsport=N&mountport=N] or\n"
"NAME:/path for a mount that the daemon's configuration names.\n"
"\n"
"Exit code: 0 done, and what was put or synced is on stable storage; 1 not all\n"
"of it; 2 the command line is wrong.\n";

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS_NR; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static bool
asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

/* What was printed must have arrived, or the exit code says so. */
static int
flush_stdout(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	complain("standard output: %s", strerror(errno));
	return code == CLI_OK ? CLI_FAILED : code;
}

static int
run_command(const struct cli *cli, int argc, char **argv)
{
	const struct command *cmd = find_command(argv[0]);
	char name[32], *program[] = { "nfswb", NULL };

	if (cmd == NULL)
		return cli_usage(program, "unknown command '%s'", argv[0]);
	if (asks_for_help(argc, argv)) {
		fputs(cmd->help, stdout);
		return CLI_OK;
	}
	snprintf(name, sizeof(name), "nfswb %s", cmd->name);
	argv[0] = name;
	optind = 0;
	return cmd->run(cli, argc, argv);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	struct cli cli = { NULL };
	int c;

	if (argc > 0)
		argv[0] = "nfswb";
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:s:hV", options, NULL)) != -1) {
		switch (c) {
		case 's':
			cli.socket = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return flush_stdout(CLI_OK);
		case 'V':
			puts("nfswb " PACKAGE_VERSION);
			return flush_stdout(CLI_OK);
		default:
			return cli_bad_option(argv, c);
		}
	}
	if (optind >= argc)
		return cli_usage(argv, "no command given");
	return flush_stdout(run_command(&cli, argc - optind, argv + optind));
}
