/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * servers.h - which server and which of its exports a target lies on
 *
 * A server is one address and port: its connections, one slot table, one set of
 * writeback queues.  A mount is an export of it, with the root's handle and the
 * sizes that hold there.  Both stay until the end.
 */
#ifndef NFSWB_SERVERS_H
#define NFSWB_SERVERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#define HASH_NONFATAL_OOM 1	/* see hh.tbl where one joins */
#include <uthash.h>

#include "common/cred.h"
#include "common/fh.h"
#include "common/loop.h"
#include "daemon/config.h"
#include "daemon/mount.h"
#include "daemon/resolve.h"
#include "daemon/target.h"
#include "daemon/transport.h"
#include "daemon/writeback/file.h"

struct servers;

struct server {
	LIST_ENTRY(server) entry;
	struct servers *servers;
	char *name;			/* host:port, for people */
	char address[RESOLVE_LITERAL_MAX];
	unsigned port;
	bool soft;
	const struct config_server *config;	/* of the mount that came first */
	bool told_keys;		/* warned: another mount wants other keys */
	struct rpc_client *rpc;
	struct transport *transport;
	struct wb_server *wb;
};

struct mount {
	LIST_ENTRY(mount) entry;
	struct server *server;
	const struct config_server *config;	/* a mount's own, or the default */
	char *export;
	struct fh root;
	bool stale;			/* root is gone: to be mounted anew */
	uint32_t rsize;
	struct wb_file_params params;
};

struct servers *servers_new(struct loop *, const struct config *,
			    struct wb *);
/* What waits is answered -ECANCELED. */
void servers_free(struct servers *);

typedef void servers_fn(void *arg, int err, const char *text, struct mount *);
/*
 * The mount that target lies on, mounting it if need be.  Answers from the loop,
 * or, where it is known already, returns it and does not answer.
 */
struct mount *servers_mount(struct servers *, const struct target *,
			    struct cred *, servers_fn *, void *arg);
/* The one it was found on before, stale or not; NULL: none. */
struct mount *servers_known(struct servers *, const struct target *);

struct server *servers_of(struct servers *, const struct wb_server *);
struct mounter *servers_mounter(struct servers *);
void servers_each(struct servers *, void (*fn)(void *arg, struct wb_server *,
		  struct rpc_client *), void *arg);

/* What another instance needs to have the same mount without asking anybody:
   JSON, NULL: no memory. */
json_t *mount_describe(const struct mount *);
/* Why one could not be read: -ENOMEM (it can be tried again), or -EINVAL. */
int description_errno(const json_error_t *);
/* For a target of that mount.  NULL, err: -ENOMEM, or -EINVAL: not ours. */
struct mount *mount_restore(struct servers *, const struct target *,
			    const json_t *, int *err);

#endif
