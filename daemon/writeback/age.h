/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * age.h - which dirty file has data that is too old
 *
 * Each server's dirty files by when that is to be looked at next (a tree, whose
 * keys may be too early and are set right when their time comes), then by turns.
 *
 * Cost: O(log n) in the dirty files for each that becomes dirty, is clean again, or
 * turns out too old.
 */
#ifndef NFSWB_AGE_H
#define NFSWB_AGE_H

#include "daemon/writeback/file.h"

struct extent;
struct turn;

/* The extent is DIRTY now. */
void age_joined(const struct extent *);
/* Nothing of the file is DIRTY any more. */
void age_left(struct wb_file *);
/* It was passed over since it could not be written, and that may have changed. */
void age_look(struct wb_file *);
/* Gives it that turn; it may be in no other tree by turns. */
void age_turn(struct wb_file *, struct turn);
/* The first in turn that is too old and may be written; NULL: none, and the clockwork
   knows when one can be. */
struct wb_file *age_first(struct wb_server *, uint64_t now);

#endif
