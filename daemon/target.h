/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * target.h - what a user calls a file: nfs://server/export/path or NAME:/path
 *
 * Only text is looked at: no name is resolved and no server asked.
 */
#ifndef NFSWB_TARGET_H
#define NFSWB_TARGET_H

#include <stdbool.h>

#include "daemon/config.h"

struct target {
	const struct config_mount *mount;	/* NULL: a URL */
	char *text;			/* as the user wrote it */
	char *host;			/* without brackets */
	unsigned nfsport, mountport;	/* 0: ask the portmapper */
	char *path;			/* on the server: "/" or "/a/b", no empty
					   component, no "." and ".." */
	char *base;			/* the named mount's own path; else "" */
};

/*
 * Takes text apart.  0, or -errno and *error is one line: what, where, what to
 * do; the caller frees it (NULL: no memory).  -EACCES: this daemon takes no
 * URLs.  -ENODEV: no such mount.  -EINVAL: malformed.
 */
int target_parse(const struct config *, const char *text, struct target *,
		 char **error);
/* One that was accepted before: by whom, and what was allowed, is past. */
int target_parse_again(const struct config *, const char *text,
		       struct target *);
/* Of zeroed memory too. */
void target_clear(struct target *);

/* Is path below (or the same as) folder, component by component?  Returns
   what is left of path ("" or "a/b"), else NULL. */
const char *target_below(const char *path, const char *folder);

/* The longest of the exports that path lies below; NULL: none. */
const char *exports_longest(char *const *exports, unsigned nr,
			    const char *path);

#endif
