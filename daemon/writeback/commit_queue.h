/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commit_queue.h - files with something UNSTABLE and no COMMIT out, by bytes
 *
 *	wanted	a COMMIT is due, and can't go yet, and nobody waits for it
 *	idle	none is due; one may become due since room is short
 *
 * A file's place is by its UNSTABLE bytes when it was last looked at, which is in
 * each turn in which something happened to it.  Cost: O(log n) for each look.
 */
#ifndef NFSWB_COMMIT_QUEUE_H
#define NFSWB_COMMIT_QUEUE_H

struct wb_file;
struct wb_server;

/* Puts it where it belongs. */
void commit_queue_look(struct wb_file *);
/* The largest that is wanted, of equals the one that came last; NULL: none. */
struct wb_file *commit_queue_largest(struct wb_server *);
/* The idle ones: the largest, and the next smaller. */
struct wb_file *commit_queue_idle(struct wb_server *);
struct wb_file *commit_queue_smaller(struct wb_file *);
/* ... the one that has been UNSTABLE the longest, and the next. */
struct wb_file *commit_queue_oldest(struct wb_server *);
struct wb_file *commit_queue_younger(struct wb_file *);

#endif
