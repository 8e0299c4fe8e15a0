/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tails.h - a server's dirty files, in the order of their turns
 *
 * Those of which nothing is DIRTY but the unfinished tail stand apart: a background
 * pass leaves that where it is until it is a whole WRITE.  With many writers most
 * dirty files are like this, most of the time, and a pass would go through all of
 * them to find nothing.  Each keeps its place among the others all the same: where a
 * round of passes (the hand) has come to its turn, it is told a turn of one round
 * later, but only when it is looked at.
 *
 * Cost: O(log n) in the dirty files for each move.
 */
#ifndef NFSWB_TAILS_H
#define NFSWB_TAILS_H

#include "daemon/writeback/file.h"

struct extent;
struct turn;

/* The file is dirty now, the last in turn; no more. */
void dirty_add(struct wb_file *);
void dirty_remove(struct wb_file *);
/* It has had its turn. */
void dirty_to_the_back(struct wb_file *);
/* A round of passes comes to it, the first that is left; all tails before it are
   passed. */
void dirty_has_turn(struct wb_file *);
/* One that came to all there were has passed all tails. */
struct turn dirty_round_begins(struct wb_server *);
void dirty_round_ends(struct wb_server *, struct turn began);
/* The first and the last that a pass looks at. */
struct wb_file *dirty_head(struct wb_server *);
struct wb_file *dirty_last(struct wb_server *);
/* All of them, tails at the end. */
struct wb_file *dirty_first(struct wb_server *);
struct wb_file *dirty_next(struct wb_file *);

/* A pass found nothing else in it. */
void tails_found(struct wb_file *);
/* Something else may be in it now: it is for a pass to see. */
void tails_over(struct wb_file *);
/* The same of all of the server's. */
void tails_over_all(struct wb_server *);
/* The extent is DIRTY now; the file's size is not told yet. */
void tails_joined(const struct extent *);
/* The file's size is told. */
void tails_grew(struct wb_file *);
/* Its turn is set right. */
void tails_turn(struct wb_file *);

#endif
