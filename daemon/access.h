/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * access.h - who may do what
 *
 * A peer is what the kernel says it is; what it may, and as whom its calls go to
 * a server, is decided here.
 */
#ifndef NFSWB_ACCESS_H
#define NFSWB_ACCESS_H

#include <stdbool.h>

#include "common/cred.h"
#include "daemon/config.h"

/* Who asks for what is not his own alone. */
struct asker {
	uid_t uid;
	bool admin;		/* uid 0, the daemon's, or in admin_group */
};

struct asker access_asker(const struct config *, const struct cred *peer);
/* Is what belongs to uid to be shown? */
bool access_sees(const struct asker *, uid_t);
/* The credential of a peer's calls: its own, or what map_root makes of local
   root's.  A reference; NULL: no memory. */
struct cred *access_cred(const struct config *, struct cred *peer);
/* May it use the mount (NULL: a URL)?  0, or -EACCES and *error in words. */
int access_mount(const struct config_mount *, const struct cred *,
		 char **error);

#endif
