/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree.h - a change of an extent's state, as its file's trees see it
 *
 * What they answer is in extent.h.
 */
#ifndef NFSWB_EXTENT_TREE_H
#define NFSWB_EXTENT_TREE_H

#include "daemon/writeback/extent.h"

/* Out of those it is in, but not in as "to"; its state is still the old one. */
void extent_tree_leave(struct extent *, enum extent_state to);
/* Into those it was not in as "from"; its state is the new one. */
void extent_tree_enter(struct extent *, enum extent_state from);

#endif
