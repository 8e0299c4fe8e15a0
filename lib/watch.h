/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * watch.h - the one thread a process, which sees the daemon go
 *
 * So that what an idle application wrote is handed to the next instance, too.
 */
#ifndef NFSWB_LIB_WATCH_H
#define NFSWB_LIB_WATCH_H

struct nfswb;

/* 0, or -errno where there can be no thread. */
int watch_add(struct nfswb *);
/* The session's last words: freed here, or by the thread where its memory is
   yet to be handed over. */
void watch_remove(struct nfswb *);
/* Some session has steps to take. */
void watch_kick(void);

/* Forks are counted from the first connection on. */
int watch_prepare(void);

#endif
