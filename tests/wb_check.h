/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wb_check.h - are the pipeline's books right?
 *
 * Recounts every sum, tree and list of the pipeline against the others, and the
 * shared list against the extents; then asks of each that waits whether anything
 * will ever wake it.  Says what is wrong and aborts.
 */
#ifndef NFSWB_TESTS_WB_CHECK_H
#define NFSWB_TESTS_WB_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct wb;

/* hostile: the client may have written to the list. */
void wb_check(struct wb *, bool hostile);

#endif
