/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * error.h - at the library's edge: -1, errno, and the reason in words
 *
 * Inside, a function that fails returns -errno and may say more by
 * error_cause().  The public call it happened in makes both the caller's.
 */
#ifndef NFSWB_LIB_ERROR_H
#define NFSWB_LIB_ERROR_H

#include <sys/types.h>

struct nfswb;

/* What went wrong, for this thread's public call that is under way. */
void error_cause(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A public call begins: -ESTALE in a forked child, -EINVAL without wb. */
int error_enter(const struct nfswb *);
/* It ends: ret if not negative, else -1, errno and "call: reason".  wb NULL is
   nfswb_connect. */
ssize_t error_leave(const struct nfswb *, const char *call, ssize_t ret);

#endif
