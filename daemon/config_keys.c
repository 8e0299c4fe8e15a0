/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_keys.c - the table of keys
 */
#include <string.h>

#include "daemon/config.h"
#include "daemon/config_keys.h"

static const struct key_choice no_yes[] = {
	{ "no", 0, false }, { "yes", 1, false }, { NULL, 0, false },
};
static const struct key_choice no_yes_auto[] = {
	{ "no", CONFIG_NO, false }, { "yes", CONFIG_YES, false },
	{ "auto", CONFIG_AUTO, false }, { NULL, 0, false },
};
static const struct key_choice resvports[] = {
	{ "no", RPC_RESVPORT_NO, false }, { "yes", RPC_RESVPORT_YES, false },
	{ "auto", RPC_RESVPORT_AUTO, false }, { NULL, 0, false },
};
static const struct key_choice policies[] = {
	{ "split", CONGESTION_SPLIT, false },
	{ "single", CONGESTION_SINGLE, false },
	{ "none", CONGESTION_NONE, true },
	{ NULL, 0, false },
};
static const struct key_choice priorities[] = {
	{ "ahead", COMMIT_AHEAD, false }, { "fifo", COMMIT_FIFO, true },
	{ NULL, 0, false },
};
static const struct key_choice rules[] = {
	{ "bandwidth", COMMIT_BY_BANDWIDTH, false },
	{ "kernel", COMMIT_BY_KERNEL, true },
	{ NULL, 0, false },
};
static const struct key_choice bounds[] = {
	{ "all", BOUND_ALL, false }, { "none", BOUND_NONE, true },
	{ "pass", BOUND_PASS, true }, { "tails", BOUND_TAILS, true },
	{ "commits", BOUND_COMMITS, true }, { "grants", BOUND_GRANTS, true },
	{ NULL, 0, false },
};
static const struct key_choice throttlings[] = {
	{ "ioless", THROTTLE_IOLESS, false },
	{ "foreground", THROTTLE_FOREGROUND, true },
	{ "none", THROTTLE_NONE, true },
	{ NULL, 0, false },
};
static const struct key_choice reclaims[] = {
	{ "wait", RECLAIM_WAIT, false }, { "write", RECLAIM_WRITE, true },
	{ "timed", RECLAIM_TIMED, true }, { NULL, 0, false },
};
static const struct key_choice autos[] = {
	{ "auto", WBT_AUTO, false }, { NULL, 0, false },
};
static const struct key_choice stables[] = {
	{ "unstable", WB_UNSTABLE, false }, { "datasync", WB_DATA_SYNC, false },
	{ "filesync", WB_FILE_SYNC, false }, { NULL, 0, false },
};
static const struct key_choice levels[] = {
	{ "error", LOG_LEVEL_ERROR, false },
	{ "warning", LOG_LEVEL_WARNING, false },
	{ "info", LOG_LEVEL_INFO, false }, { "debug", LOG_LEVEL_DEBUG, false },
	{ NULL, 0, false },
};

#define AT(type, member) offsetof(struct type, member), \
			 sizeof(((struct type *)NULL)->member)
#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

const struct key config_keys[] = {
/* the socket and who may use it */
{ "socket", KEY_GLOBAL, KEY_PATH, AT(config, socket), 0, 0, 0, NULL, NULL,
  "The socket that nfswbd listens on." },
{ "socket_mode", KEY_GLOBAL, KEY_OCTAL, AT(config, socket_mode), 0, 0777, 0,
  NULL, NULL, "The socket's permissions, octal." },
{ "socket_group", KEY_GLOBAL, KEY_GROUP, AT(config, socket_group), 0, 0, 0,
  NULL, NULL, "The group that owns the socket." },
{ "runtime_dir", KEY_GLOBAL, KEY_PATH, AT(config, runtime_dir), 0, 0, 0, NULL,
  NULL, "The folder of what outlives a restart of the daemon." },
{ "allow_urls", KEY_GLOBAL, KEY_CHOICE, AT(config, allow_urls), 0, 0, 0,
  no_yes_auto, "auto",
  "Whether targets may be any nfs:// URL, or only mounts named in this file." },
{ "admin_group", KEY_GLOBAL, KEY_GROUP, AT(config, admin_group), 0, 0, 0, NULL,
  NULL,
  "A group whose members may control the daemon, and see all sessions." },
{ "map_root", KEY_GLOBAL, KEY_ACCOUNT, AT(config, map_root), 0, 0, 0, NULL,
  "no", "Whose user and group local root's calls have; no: its own." },

/* memory and time */
{ "slab_bytes", KEY_GLOBAL, KEY_SIZE, AT(config, slab_bytes), MIB(1), GIB(2),
  0, NULL, "256M", "The most memory one session may hold data in." },
{ "dirty_bytes", KEY_GLOBAL, KEY_SIZE, AT(config, dirty_bytes), KIB(64),
  GIB(4096), 0, NULL, NULL,
  "The most bytes, of all sessions, that are not on stable storage yet." },
{ "dirty_background_bytes", KEY_GLOBAL, KEY_SIZE,
  AT(config, dirty_background_bytes), KIB(4), GIB(4096), 0, NULL, NULL,
  "From this many dirty bytes on they are written back without waiting." },
{ "dirty_throttling", KEY_GLOBAL, KEY_CHOICE, AT(config, dirty_throttling),
  0, 0, 0, throttlings, "ioless",
  "How writers are held up: by room granted later, by writing, at the limit only." },
{ "reclaim_policy", KEY_GLOBAL, KEY_CHOICE, AT(config, reclaim_policy),
  0, 0, 0, reclaims, "wait",
  "What a writer does whose session has no room: wait, write itself, sleep." },
{ "dirty_expire_centisecs", KEY_GLOBAL, KEY_NUMBER,
  AT(config, dirty_expire_centisecs), 1, 8640000, 0, NULL, "3000",
  "Dirty data older than this is written back, hundredths of a second." },
{ "clean_expire_sec", KEY_GLOBAL, KEY_NUMBER, AT(config, clean_expire_sec), 1,
  86400, 0, NULL, "60",
  "Data on stable storage that nobody used for so long leaves the memory." },
{ "late_duplicate_sec", KEY_GLOBAL, KEY_NUMBER, AT(config, late_duplicate_sec),
  1, 3600, 0, NULL, "10",
  "How long a range whose WRITE was sent twice stays closed to newer data." },
{ "grace_sec", KEY_GLOBAL, KEY_NUMBER, AT(config, grace_sec), 1, 3600, 0, NULL,
  "30", "How long a new daemon waits for the sessions of its forerunner." },
{ "stop_timeout_sec", KEY_GLOBAL, KEY_NUMBER, AT(config, stop_timeout_sec), 1,
  86400, 0, NULL, "90",
  "How long a stop waits for data to reach stable storage." },
{ "log_level", KEY_GLOBAL, KEY_CHOICE, AT(config, log_level), 0, 0, 0, levels,
  "info", "The least important message that is logged." },
{ "experiments", KEY_GLOBAL, KEY_CHOICE, AT(config, experiments), 0, 0, 0,
  no_yes, "no",
  "Allows values that bring back known bad behaviour, for measuring only." },

/* per server */
{ "congestion_kb", KEY_SERVER, KEY_NUMBER, AT(config_server, congestion_kb),
  64, 16 << 20, 1, NULL, "0",
  "Async WRITEs under way at once to a server, in KiB; 0: by the memory." },
{ "congestion_policy", KEY_SERVER, KEY_CHOICE,
  AT(config_server, congestion_policy), 0, 0, 0, policies, "split",
  "Who waits for whom when too much is under way." },
{ "commit_priority", KEY_SERVER, KEY_CHOICE,
  AT(config_server, commit_priority), 0, 0, 0, priorities, "ahead",
  "Whether COMMITs and WRITEs that are waited for go before queued WRITEs." },
{ "commit_rule", KEY_SERVER, KEY_CHOICE, AT(config_server, commit_rule), 0, 0,
  0, rules, "bandwidth", "When a COMMIT is due that nobody waits for." },
{ "writeback_bounds", KEY_SERVER, KEY_CHOICE,
  AT(config_server, writeback_bounds), 0, 0, 0, bounds, "all",
  "What background writeback denies itself so that a server keeps up." },
{ "wbt_lat_usec", KEY_SERVER, KEY_NUMBER, AT(config_server, wbt_lat_usec), 100,
  10000000, 1, autos, "auto",
  "Foreground round trip above which background writeback yields; 0: never." },
{ "timeo", KEY_SERVER, KEY_NUMBER, AT(config_server, timeo), 1, 6000, 0, NULL,
  "600", "A call unanswered for so long is sent again, tenths of a second." },
{ "retrans", KEY_SERVER, KEY_NUMBER, AT(config_server, retrans), 1, 100, 0,
  NULL, "2", "retrans times timeo is the major timeout." },
{ "soft", KEY_SERVER, KEY_CHOICE, AT(config_server, soft), 0, 0, 0, no_yes,
  "no", "Gives up after the major timeout instead of retrying for ever." },
{ "wsize", KEY_SERVER, KEY_SIZE, AT(config_server, wsize), KIB(4), MIB(1), 1,
  NULL, "0", "The most bytes in one WRITE; 0: as the server prefers." },
{ "rsize", KEY_SERVER, KEY_SIZE, AT(config_server, rsize), KIB(4), MIB(1), 1,
  NULL, "0", "The most bytes in one READ; 0: as the server prefers." },
{ "read_ahead_kb", KEY_SERVER, KEY_NUMBER, AT(config_server, read_ahead_kb),
  128, 1048576, 1, NULL, "8192",
  "The most KiB read ahead of who reads in sequence; 0: none." },
{ "stable", KEY_SERVER, KEY_CHOICE, AT(config_server, stable), 0, 0, 0,
  stables, "unstable", "How WRITEs are sent: unstable with COMMIT, or stable." },
{ "resvport", KEY_SERVER, KEY_CHOICE, AT(config_server, resvport), 0, 0, 0,
  resvports, "auto",
  "Whether calls come from a port below 1024; auto: where it may bind one." },
{ "slot_table_entries", KEY_SERVER, KEY_NUMBER,
  AT(config_server, slot_table_entries), 2, 1024, 0, NULL, "64",
  "Calls in flight at once to a server." },
{ "nconnect", KEY_SERVER, KEY_NUMBER, AT(config_server, nconnect), 1, 16, 0,
  NULL, "1", "TCP connections to a server." },

/* mounts */
{ "target", KEY_MOUNT, KEY_TARGET, AT(config_mount, target), 0, 0, 0, NULL,
  NULL, "The mount's nfs://server[:port]/export[/path] URL; always needed." },
{ "allow_users", KEY_MOUNT, KEY_USERS, AT(config_mount, allow_users), 0, 0, 0,
  NULL, NULL, "The users who may use the mount, by name or number." },
{ "allow_groups", KEY_MOUNT, KEY_GROUPS, AT(config_mount, allow_groups), 0, 0,
  0, NULL, NULL, "The groups whose members may use the mount." },

/* each user */
{ "weight", KEY_UID, KEY_NUMBER, AT(config_limits, weight), 1, 10000, 0, NULL,
  "100", "A user's share of the bandwidth against other users'." },
{ "max_sessions", KEY_UID, KEY_NUMBER, AT(config_limits, max_sessions), 1,
  1000000, 1, NULL, "1024", "Sessions a user may have at once; 0: no limit." },
{ "max_files", KEY_UID, KEY_NUMBER, AT(config_limits, max_files), 1, 10000000,
  1, NULL, "65536", "Files a user may have open at once; 0: no limit." },
{ "max_slab_bytes", KEY_UID, KEY_SIZE, AT(config_limits, max_slab_bytes),
  MIB(1), GIB(4096), 1, NULL, "0",
  "The most memory a user's sessions may hold data in; 0: no limit." },
{ "max_messages_per_sec", KEY_UID, KEY_NUMBER,
  AT(config_limits, max_messages_per_sec), 1, 10000000, 1, NULL, "50000",
  "Messages a user's sessions may send, a second; 0: no limit." },
};

const unsigned config_key_nr = sizeof config_keys / sizeof *config_keys;
_Static_assert(sizeof config_keys / sizeof *config_keys <= CONFIG_KEYS_MAX,
	       "CONFIG_KEYS_MAX");

const struct key *
key_find(const char *name)
{
	unsigned i;

	for (i = 0; i < config_key_nr; i++)
		if (!strcmp(config_keys[i].name, name))
			return &config_keys[i];
	return NULL;
}

unsigned
key_index(const struct key *k)
{
	return (unsigned)(k - config_keys);
}
