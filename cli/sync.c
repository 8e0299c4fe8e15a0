/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sync.c - nfswb sync: the exit code says whether all is on stable storage
 */
#include <errno.h>

#include "include/nfswb.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/units.h"

const char sync_help[] =
"Usage: nfswb sync [--timeout SEC] [TARGET]\n"
"Waits until all that anybody on this machine wrote through nfswbd at or below\n"
"TARGET (without it: everything) is on stable storage on the server.\n"
"\n"
"  -t, --timeout SEC   give up after so many seconds (writeback goes on)\n"
"  -h, --help          this text\n"
"\n"
"Exit code 0 only when all is on stable storage.\n";

static int
sync_and_tell(struct nfswb *wb, const char *target, const char *timeout)
{
	const char *what = target ? target : "everything";

	if (nfswb_sync(wb, target) == 0)
		return CLI_OK;
	if (errno == ETIMEDOUT && timeout != NULL)
		complain("sync %s: not all is on stable storage after %s s; "
			 "'nfswb who' and 'nfswb stat' say why", what, timeout);
	else
		cli_complain("sync", what, cli_reason(wb));
	return CLI_FAILED;
}

int
sync_command(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "timeout", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	const char *timeout = NULL;
	struct nfswb *wb;
	int c, code;

	while ((c = getopt_long(argc, argv, ":t:", options, NULL)) != -1) {
		if (c != 't')
			return cli_bad_option(argv, c);
		timeout = optarg;
		if (units_parse_seconds(timeout) < 0)
			return cli_usage(argv, "--timeout %s: no number of "
					 "seconds", timeout);
	}
	if (argc - optind > 1)
		return cli_usage(argv, "it takes one TARGET at most");
	wb = cli_connect(cli, 0);
	if (wb == NULL)
		return CLI_FAILED;
	if (timeout != NULL)
		nfswb_set_timeout(wb, units_parse_seconds(timeout));
	code = sync_and_tell(wb, argv[optind], timeout);
	nfswb_disconnect(wb);
	return code;
}
