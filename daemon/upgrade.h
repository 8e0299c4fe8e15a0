/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * upgrade.h - executing the program anew in this process, which may be a newer
 * one, while the clients hold on
 */
#ifndef NFSWB_UPGRADE_H
#define NFSWB_UPGRADE_H

#include <stdbool.h>

#include "common/loop.h"

struct inherit;
struct notify;
struct upgrade;

struct upgrade_env {
	struct loop *loop;
	char **argv;			/* as we were started; outlives this */
	struct notify *notify;
	/* No call of the kind that must not be cut off is begun any more, or
	   again; are none out? */
	void (*hold)(void *arg, bool hold);
	bool (*is_quiet)(void *arg);
	/* The signals that we mind; they stay blocked over execve. */
	void (*block)(void *arg, bool block);
	/* Adds all descriptors that the new program needs.  0 or -errno. */
	int (*leave)(void *arg, struct inherit *);
	void *arg;
};

/* NULL: no memory.  The env is copied. */
struct upgrade *upgrade_new(const struct upgrade_env *);
void upgrade_free(struct upgrade *);	/* NULL is fine */

/* Begins; where it comes to nothing, that is logged and all goes on as it was. */
void upgrade_begin(struct upgrade *);
/* Something was answered: perhaps all is quiet. */
void upgrade_look(struct upgrade *);
/* We are to stop: no more of that. */
void upgrade_cancel(struct upgrade *);

#endif
