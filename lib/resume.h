/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * resume.h - the connection's life: up, lost, handed to the next instance
 *
 * With the lock, but for none of these waiting.
 */
#ifndef NFSWB_LIB_RESUME_H
#define NFSWB_LIB_RESUME_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct nfswb;

/* The daemon has gone, or talks nonsense. */
void link_lost(struct nfswb *);
/* The last piece that was claimed when the connection was lost is posted. */
void link_drained(struct nfswb *);

/* Must one of the waiting threads poll?  Not while the watching thread does. */
bool link_needs_reader(const struct nfswb *);
/* What to poll for, and until when at most. */
void link_poll(struct nfswb *, struct pollfd *, uint64_t *until);
/* Does what can be done now. */
void link_step(struct nfswb *);

/* watch.c, for a session that is down: the same steps in its thread. */
void link_resume(struct nfswb *);

#endif
