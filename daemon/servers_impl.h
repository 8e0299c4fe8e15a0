/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * servers_impl.h - what servers.c (tables) and reach.c (the way there) share
 *
 * A place is where users say a server is: host and ports as written, and the
 * named mount if there is one.  Several places may turn out to be one server.
 */
#ifndef NFSWB_SERVERS_IMPL_H
#define NFSWB_SERVERS_IMPL_H

#include "daemon/servers.h"
#include "daemon/sizes.h"

/* Somebody who waits for a mount. */
struct waiter {
	TAILQ_ENTRY(waiter) entry;
	struct cred *cred;
	servers_fn *done;
	void *arg;
	char path[];
};

struct place {
	UT_hash_handle hh;		/* by key */
	struct servers *servers;
	char *key;
	char *host;
	unsigned nfsport, mountport;
	const struct config_mount *named;
	/* what is known of it */
	struct server *server;		/* NULL: nothing */
	bool asked;			/* the EXPORT list, in this life */
	char **exports;
	unsigned export_nr;
	/* one attempt at a time */
	TAILQ_HEAD(, waiter) waiters;
	bool busy;
	struct loop_deferred *go;
	struct loop_timer *deadline;
	struct loop_timer *again;	/* FSINFO, after JUKEBOX */
	struct resolve *resolve;
	struct resolved addr[RESOLVE_MAX];
	unsigned addr_nr, addr_i;
	char *path, *export;
	struct cred *cred;
	struct fh root;
	struct server *found;
	int err;			/* of the first address that failed */
	char *text;
};

struct servers {
	struct loop *loop;
	const struct config *config;
	struct wb *wb;
	struct mounter *mounter;
	unsigned mount_ms;		/* mounting may take, each part */
	struct place *places;
	LIST_HEAD(, server) servers;
	LIST_HEAD(, mount) mounts;
	unsigned server_nr;
	bool stopping;
};

/* servers.c */
const struct config_server *place_config(const struct place *);
struct place *place_get(struct servers *, const struct target *);
void place_free(struct place *);
/* For a path on that place; stale ones only if so asked. */
struct mount *place_mount(const struct place *, const char *path, bool stale);
/* Finds or makes it; NULL: no memory, or too many. */
struct server *server_get(struct place *, const struct resolved *,
			  unsigned port);
struct mount *mount_get(struct place *, struct server *, const char *export,
			const struct fh *root, const struct fsinfo *);

/* reach.c */
bool reach_init(struct place *);
/* Everybody who waits is answered; the place may be gone after it. */
void reach_cancel(struct place *);
int reach_wait(struct place *, const char *path, struct cred *, servers_fn *,
	       void *arg);

#endif
