/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inherit.h - the descriptors this process was started with, by their names
 */
#ifndef NFSWB_INHERIT_H
#define NFSWB_INHERIT_H

#include <stdbool.h>

struct inherited {
	char *name;
	int fd;			/* -1: somebody took it over */
};

struct inherit {
	struct inherited *each;
	unsigned nr;
	bool again;		/* from ourselves, by inherit_leave */
};

/* What the service manager passes, or the program that executed us in its place;
   the environment tells, and is cleared.  0, or -ENOMEM. */
int inherit_take(struct inherit *);
/* Closes, and logs, what nobody took over. */
void inherit_free(struct inherit *);

/* For what is executed next in this process: adds a descriptor. */
int inherit_add(struct inherit *, const char *name, int fd);
/* All of it stays open over execve, and the environment tells.  0 or -errno. */
int inherit_leave(struct inherit *);
/* It came to nothing: as before inherit_add; the descriptors stay open. */
void inherit_stay(struct inherit *);

#endif
