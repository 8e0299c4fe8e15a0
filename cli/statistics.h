/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statistics.h - the daemon's statistics, asked for and looked up
 *
 * The keys are in nfswb(1).  A key that is missing reads as 0, "" or an empty
 * list, so that an older daemon's statistics can be shown too.
 */
#ifndef NFSWB_CLI_STATISTICS_H
#define NFSWB_CLI_STATISTICS_H

#include <jansson.h>
#include <stdint.h>

struct nfswb;

/* NULL: has complained, but for EINTR.  The caller owns it. */
json_t *statistics_fetch(struct nfswb *, const char *command);

/* path: keys with dots between them, "wait_us.p99" */
uint64_t stat_int(const json_t *, const char *path);
const char *stat_text(const json_t *, const char *path);
const json_t *stat_node(const json_t *, const char *path);

/* A hist's mean in microseconds; 0: nothing was counted. */
uint64_t stat_mean(const json_t *, const char *path);

/* The server of that name in older statistics; NULL: none. */
const json_t *stat_server(const json_t *statistics, const char *name);

/* How writers are paced, in words; the next call overwrites it. */
const char *stat_pace(const json_t *throttle);

#endif
