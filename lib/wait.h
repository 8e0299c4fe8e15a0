/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wait.h - waiting on a session: for replies, room, the tail, each other
 *
 *	wait_begin(wb, &w, WAKE_ROOM);
 *	while (!condition && !(err = wait_more(wb, &w, deadline)))
 *		;
 *	wait_end(wb, &w);
 *
 * All under the session's lock, which wait_more gives up while it sleeps.
 */
#ifndef NFSWB_LIB_WAIT_H
#define NFSWB_LIB_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct nfswb;

#define WAKE_BELL	0x1u	/* the daemon: room was granted, the tail moved */
#define WAKE_TURN	0x2u	/* another call is through with a file */
#define WAKE_LINK	0x4u	/* the connection changed: everybody looks */

struct waiter {
	TAILQ_ENTRY(waiter) link;
	unsigned mask;
	bool woken;
	int fd;			/* an eventfd where signals count, else -1 */
	pthread_cond_t cond;
};

#define NEVER UINT64_MAX

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_now(void);
/* When a call that begins now must end; NEVER where there is no limit. */
uint64_t deadline_of(struct nfswb *);

void wait_begin(struct nfswb *, struct waiter *, unsigned mask);
/* Until woken (0; look again), -ETIMEDOUT, or -EINTR under NFSWB_INTR. */
int wait_more(struct nfswb *, struct waiter *, uint64_t deadline);
void wait_end(struct nfswb *, struct waiter *);

void wake(struct nfswb *, unsigned mask);
void wake_waiter(struct nfswb *, struct waiter *);

/* Waits until *taken is false and sets it: 0, or as wait_more. */
int turn_take(struct nfswb *, bool *taken, uint64_t deadline);
void turn_end(struct nfswb *, bool *taken);

#endif
