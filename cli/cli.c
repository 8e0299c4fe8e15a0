/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cli.c - what every command needs: a connection, and words for what went wrong
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"

const char *
cli_reason(struct nfswb *wb)
{
	const char *text = nfswb_strerror(wb);
	const char *colon;

	if (text == NULL || *text == '\0')
		return strerror(errno);
	if (strncmp(text, "nfswb_", 6) != 0)
		return text;
	colon = strstr(text, ": ");
	if (colon == NULL || strcspn(text, " ") < (size_t)(colon - text))
		return text;
	return colon + 2;
}

void
cli_complain(const char *what, const char *target, const char *reason)
{
	if (strstr(reason, target) != NULL)
		complain("%s: %s", what, reason);
	else
		complain("%s: %s: %s", what, target, reason);
}

/* What to do about it, where the library does not say so itself. */
static const char *
connect_hint(int err, const char *reason)
{
	if (strstr(reason, "is nfswbd running") != NULL)
		return "";
	if (err == ENOENT || err == ECONNREFUSED)
		return "; is nfswbd running?";
	if (err == EACCES)
		return "; may this user use the daemon's socket?";
	return "";
}

struct nfswb *
cli_connect(const struct cli *cli, unsigned flags)
{
	struct nfswb *wb = nfswb_connect(cli->socket, flags);
	int err = errno;
	const char *reason;

	if (wb != NULL)
		return wb;
	reason = cli_reason(NULL);
	complain("cannot connect to nfswbd: %s%s", reason,
		 connect_hint(err, reason));
	return NULL;
}

int
cli_usage(char **argv, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", argv[0]);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; try '%s --help'\n", argv[0]);
	return CLI_USAGE;
}

int
cli_bad_option(char **argv, int c)
{
	const char *arg = argv[optind - 1];

	if (c == ':')
		return cli_usage(argv, "option '%s' needs a value", arg);
	if (optopt != 0 && strncmp(arg, "--", 2) != 0)
		return cli_usage(argv, "unknown option '-%c'", optopt);
	return cli_usage(argv, "unknown option '%s'", arg);
}
