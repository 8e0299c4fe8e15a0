/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * listen.h - the socket that clients find the daemon at
 */
#ifndef NFSWB_LISTEN_H
#define NFSWB_LISTEN_H

#include <stdbool.h>

#include "daemon/config.h"
#include "daemon/inherit.h"

struct listening {
	int fd;
	char *path;
	char *runtime_dir;	/* of what outlives a restart */
	int lock_fd;		/* holds the path */
	bool ours;		/* bound by us: the file goes when we stop */
};

/*
 * Takes the socket that we were started with, else binds one: at path, else the
 * configuration's, else the default of DESIGN.  0, or -1 and *error, one line
 * that the caller frees.
 */
int listen_open(struct listening *, const struct config *, const char *path,
		struct inherit *, char **error);
/* For what is executed in our place; fd: the socket, wherever it is now. */
int listen_leave(const struct listening *, int fd, struct inherit *);
/* Sets all free; fd is left alone where its new owner put -1 there. */
void listen_close(struct listening *);

#endif
