/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * given_up.h - the list of what was accepted and given up
 *
 * The last GIVEN_UP_MAX are kept; each has a number, so that a reader sees
 * whether older ones are missing.  The log has them all.
 */
#ifndef NFSWB_GIVEN_UP_H
#define NFSWB_GIVEN_UP_H

#include <jansson.h>
#include <stdint.h>

#include "daemon/access.h"

#define GIVEN_UP_MAX 1000

struct given_up_list;
struct given_up_list *given_up_new(void);
void given_up_free(struct given_up_list *);
/* err: -errno.  Without memory the entry is only counted. */
void given_up_add(struct given_up_list *, const char *file, uid_t writer,
		  uint64_t offset, uint64_t length, int err);
/* An array, oldest first, of what the asker may see: [{id, uid, file, offset,
   length, reason}]. */
json_t *given_up_json(const struct given_up_list *, const struct asker *);
/* Somebody has read it: it is listed no more.  0, -ENOENT, or -EPERM: it is
   another's. */
int given_up_acknowledge(struct given_up_list *, uint64_t id,
			 const struct asker *);

#endif
