/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * foreground.h - writers that write: how it was before IO-less throttling
 *
 * For measuring only: dirty_throttling = foreground.
 */
#ifndef NFSWB_FOREGROUND_H
#define NFSWB_FOREGROUND_H

#include <stdbool.h>
#include <stdint.h>

struct slab;

/* The slab's writer, which asks for room above the middle, drives a writepages
   pass; it is to wait for its end.  false: there is nothing that it could
   write or wait for. */
bool foreground_begins(struct slab *, uint64_t now);
bool foreground_ended(const struct slab *);

#endif
