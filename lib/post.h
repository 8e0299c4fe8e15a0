/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* post.h - the ring: entries out, bells as the daemon wants them; with the lock */
#ifndef NFSWB_LIB_POST_H
#define NFSWB_LIB_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/room.h"
#include "lib/source.h"

/* A slot besides those that claims under way have reserved. */
bool post_has_slot(struct nfswb *);

/* Copies what was claimed and posts it; gives the lock up meanwhile where the
   copy is long.  kind: enum nfswb_ring_kind. */
void post_claimed(struct nfswb *, struct nfswb_file *, const struct claim *,
		  struct source *, uint64_t offset, uint32_t kind);

/* After the last post of a call: where the file is open elsewhere, too, waits
   until all that was posted is taken.  0, or as wait_more, or -ESTALE. */
int post_wait_shared(struct nfswb *, struct nfswb_file *, uint64_t deadline);

#endif
