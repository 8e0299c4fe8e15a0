/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * statistics.h - everything that is counted, as one tree of JSON for the CLI,
 * the library and the metrics
 */
#ifndef NFSWB_STATISTICS_H
#define NFSWB_STATISTICS_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/access.h"

struct wb;
struct namespace;
struct sessions;

struct given_up_list;

struct statistics_env {
	struct wb *wb;
	struct namespace *ns;
	struct sessions *sessions;
	struct given_up_list *given_up;
	uint64_t instance, started_usec;
	struct asker asker;
};
/* Servers and the daemon as a whole are everybody's; sessions and what was given
   up are their user's and the administrators'.  NFSWB_JSON_MAX bytes at most: lists are cut to that, and "cut" is true then.
   The caller frees; NULL: no memory. */
char *statistics_json(const struct statistics_env *, uint64_t now);

#endif
