/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* example.c - the smallest use of libnfswb; README shows it */
#include <fcntl.h>
#include <stdio.h>
#include <nfswb.h>

int
main(int argc, char **argv)
{
	const char *target = argc > 1 ? argv[1] : "nfs://server/export/hello";
	struct nfswb *wb = nfswb_connect(NULL, 0);
	struct nfswb_file *f = NULL;
	int ok;

	if (wb != NULL)
		f = nfswb_open(wb, target, O_WRONLY | O_CREAT, 0644);
	ok = f != NULL &&
	     nfswb_pwrite(f, "hello\n", 6, 0) == 6 &&	/* survives our exit */
	     nfswb_fsync(f) == 0;			/* on stable storage */
	if (!ok)
		fprintf(stderr, "%s: %s\n", target, nfswb_strerror(wb));
	if (f != NULL && nfswb_close(f) < 0)
		ok = 0;
	if (wb != NULL)
		nfswb_disconnect(wb);
	return ok ? 0 : 1;
}
