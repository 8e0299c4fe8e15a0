/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_screen.h - stands between a server and libnfs
 *
 * libnfs 4.0 believes the lengths in a reply, and follows its lists by
 * recursion: a server's nonsense would end the daemon.  So libnfs gets a
 * socketpair in the place of its connected socket, and only replies that are
 * well formed come out of it.
 */
#ifndef NFSWB_MOUNT_SCREEN_H
#define NFSWB_MOUNT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/loop.h"

struct screen;

/* The server sent nonsense, and nothing more will come; from the loop. */
typedef void screen_bad_fn(void *arg, const char *why);

/* fd, which must be connected and not watched, is the socketpair's end from
   here on, and stays its owner's.  NULL: no memory or descriptors; then fd is
   what it was. */
struct screen *screen_new(struct loop *, int fd, screen_bad_fn *, void *arg);
void screen_free(struct screen *);

/* Is this record a reply to such a call that libnfs can read?  The bytes of it
   that are, 0: it is not. */
size_t screen_check(const unsigned char *record, size_t len, uint32_t prog,
		    uint32_t vers, uint32_t proc);

#endif
