/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * target.h - names made from a TARGET, which is nfs://server/path[?query] or
 * NAME:/path
 *
 * Strings returned are the caller's to free; NULL: no memory.
 */
#ifndef NFSWB_CLI_TARGET_H
#define NFSWB_CLI_TARGET_H

#include <stdbool.h>

bool target_is_url(const char *target);
bool target_ends_in_slash(const char *target);	/* its path does */

/* target's path with "/name" behind it, in front of the query.  In a URL the
   name is percent-encoded; slashes in it stay. */
char *target_join(const char *target, const char *name);

/* The last name of the path, decoded; "" if there is none. */
char *target_base(const char *target);

/* The last name of a local path; "" for ".", ".." and "/". */
char *path_base(const char *path);

#endif
