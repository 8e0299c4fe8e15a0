/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * closer.h - closes descriptors whose close may take as long as a client likes
 *
 * What a client passed may be a file of its own FUSE filesystem, whose close
 * waits for it, or a TCP socket that lingers.  The loop must not wait for that.
 */
#ifndef NFSWB_CLOSER_H
#define NFSWB_CLOSER_H

/* Takes the descriptor over. */
void closer_close(int fd);
/* A connection of a client: closed at once where nothing unread can come with
   it, else as above.  The other side sees the end of it at once. */
void closer_hang_up(int fd);

#endif
