/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.h - what the administrator decided
 *
 * INI: [nfswbd] holds every key, [mount NAME] a target, who may use it, and
 * overrides of the per-server keys, [uid NAME] overrides of the limits of a
 * user.  Each key is one entry of a table in config_keys.c, with a sentence for its reader.  A file that does not
 * parse is refused whole, with file:line.
 */
#ifndef NFSWB_CONFIG_H
#define NFSWB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/log.h"
#include "daemon/writeback/nfs_calls.h"
#include "daemon/writeback/pipeline.h"
#include "daemon/writeback/server.h"
#include "rpc/client.h"

/* Keys that a [mount] section may override; named as the keys. */
struct config_server {
	uint64_t congestion_kb;		/* KiB; 0: as the kernel computes it */
	enum congestion_policy congestion_policy;
	enum commit_priority commit_priority;
	enum commit_rule commit_rule;
	enum wb_bounds writeback_bounds;
	uint64_t wbt_lat_usec;
	unsigned timeo;			/* tenths of a second */
	unsigned retrans;
	bool soft;
	uint32_t wsize, rsize;		/* bytes; 0: the server's preference */
	uint64_t read_ahead_kb;		/* KiB; 0: nothing is read ahead */
	enum wb_stable stable;
	enum rpc_resvport resvport;
	unsigned slot_table_entries;
	unsigned nconnect;
};

/* Users or groups by number; none: nothing was said. */
struct config_ids {
	unsigned nr;
	uint32_t *id;
};

struct config_account {
	bool set;
	uid_t uid;
	gid_t gid;
};

struct config_mount {
	char *name;
	char *target;			/* nfs://… */
	struct config_ids allow_users, allow_groups;
	struct config_server server;
};

/* Keys that a [uid] section may override; 0: no limit. */
struct config_limits {
	unsigned weight;
	unsigned max_sessions, max_files;
	uint64_t max_slab_bytes;
	unsigned max_messages_per_sec;
};

struct config_uid {
	uid_t uid;
	struct config_limits limits;
};

enum config_switch { CONFIG_NO, CONFIG_YES, CONFIG_AUTO };

struct config {
	char *socket;			/* NULL: the default path */
	unsigned socket_mode;		/* octal in the file */
	char *socket_group;		/* NULL: the daemon's */
	char *runtime_dir;		/* NULL: the socket's folder */
	enum config_switch allow_urls;	/* never auto once it is loaded */
	char *admin_group;
	gid_t admin_gid;		/* (gid_t)-1: none */
	struct config_account map_root;	/* whose credential local root has */
	uint64_t slab_bytes;
	uint64_t dirty_bytes, dirty_background_bytes;
	enum dirty_throttling dirty_throttling;
	enum reclaim_policy reclaim_policy;
	unsigned dirty_expire_centisecs;
	unsigned clean_expire_sec;
	unsigned late_duplicate_sec;
	unsigned grace_sec;
	unsigned stop_timeout_sec;
	enum log_level log_level;
	bool experiments;
	struct config_server server;	/* the defaults for every server */
	struct config_limits limits;	/* of whoever has no section */
	struct config_mount *mount;
	unsigned mount_nr;
	struct config_uid *uid;
	unsigned uid_nr;
};

/* The built-in values.  NULL: no memory. */
struct config *config_default(void);
/* path NULL: SYSCONFDIR/nfswb.conf where it exists, else the built-in values.
   On failure NULL, and *error, which the caller frees, is one line for each
   fault, "file:line: what; what to do", without a newline at the end. */
struct config *config_load(const char *path, char **error);
void config_free(struct config *);
const struct config_mount *config_find_mount(const struct config *,
					     const char *name, size_t len);
/* The limits of a user. */
const struct config_limits *config_limits_of(const struct config *, uid_t);
/* What the pipeline is told of it, in its units. */
struct wb_limits config_pipeline(const struct config *);
/* Is this the daemon of the system, not one that a user runs for himself? */
bool config_is_system(uid_t);
/* Calls fn for each key of [nfswbd] with its name, its value as text and its
   sentence; for `nfswb config` and the manual. */
void config_each(const struct config *, void (*fn)(void *arg, const char *key,
		 const char *value, const char *sentence), void *arg);

#endif
