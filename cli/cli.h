/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cli.h - what main.c and the commands agree on
 *
 * A command reads its own options, connects, works, and returns one of the
 * exit codes.  It complains in one line for each failure (progress.h).
 */
#ifndef NFSWB_CLI_H
#define NFSWB_CLI_H

#include <getopt.h>
#include <stdbool.h>

struct nfswb;

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli {
	const char *socket;		/* NULL: the library's default */
};

/* argv[0] is "nfswb put" and so on. */
typedef int command_fn(const struct cli *, int argc, char **argv);
command_fn put_command, get_command, sync_command, stat_command, who_command,
	top_command;
extern const char put_help[], get_help[], sync_help[], stat_help[],
	who_help[], top_help[];

/* Flags as nfswb_connect's.  NULL: has complained. */
struct nfswb *cli_connect(const struct cli *, unsigned flags);

/* nfswb_strerror without the name of the library's call in front. */
const char *cli_reason(struct nfswb *);
/* "WHAT: TARGET: reason"; a reason that names the target is left alone. */
void cli_complain(const char *what, const char *target, const char *reason);

/* Says what is wrong with the command line and returns CLI_USAGE. */
int cli_usage(char **argv, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for what getopt_long answered with ':' or '?' (opterr is 0 and the
   option string starts with ':'). */
int cli_bad_option(char **argv, int c);

#endif
