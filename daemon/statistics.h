/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* statistics.h - everything that is counted, as the JSON of DESIGN: one tree
   for the CLI, the library and the metrics */
#ifndef NFSWB_STATISTICS_H
#define NFSWB_STATISTICS_H

#include <stdint.h>
#include <sys/types.h>

struct wb;
struct wb_file;
struct namespace;
struct sessions;

/* What was given up, to be listed until it is acknowledged. */
struct given_up_list;
struct given_up_list *given_up_new(void);
void given_up_free(struct given_up_list *);
void given_up_add(struct given_up_list *, const char *file, uint64_t offset,
		  uint64_t length, int err);

struct statistics_env {
	struct wb *wb;
	struct namespace *ns;
	struct sessions *sessions;
	struct given_up_list *given_up;
	uint64_t instance, started_usec;
};
/* The caller frees; NULL: no memory. */
char *statistics_json(const struct statistics_env *, uint64_t now);

#endif
