/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * users.h - what each user has, and how much of it he may have
 *
 * Counted per uid, over all its sessions: sessions, open files, memory, and the
 * messages of a second.  A user over a limit is told so, or is read from later;
 * nobody else notices.
 */
#ifndef NFSWB_USERS_H
#define NFSWB_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/loop.h"
#include "daemon/config.h"

/* What a message costs, in sixteenths of a plain one. */
#define USER_COST_BELL		1
#define USER_COST_MESSAGE	16
#define USER_COST_CONNECT	(16 * USER_COST_MESSAGE)

struct users;

/* One who waits until he may be read from again. */
struct user_wait {
	TAILQ_ENTRY(user_wait) link;
	bool waits;
	void (*go)(void *arg);
	void *arg;
};

struct user {
	LIST_ENTRY(user) link;
	struct users *owner;
	uid_t uid;
	const struct config_limits *limits;
	unsigned refs;			/* connections and sessions */
	/* counted by whoever has them */
	unsigned new_nr;		/* connections before HELLO */
	unsigned session_nr, file_nr;
	uint64_t slab_bytes;
	bool told;			/* that it connects too often */
	/* messages */
	int64_t credit;			/* sixteenths, times a million */
	uint64_t credit_usec;		/* when that was so */
	TAILQ_HEAD(, user_wait) waiting;
	struct loop_timer *timer;
};

struct users *users_new(struct loop *, const struct config *);
/* Every user must be gone, or go before the loop. */
void users_free(struct users *);
/* A reference; NULL: no memory. */
struct user *user_get(struct users *, uid_t);
void user_put(struct user *);

/* May it have one more connection, session, file?  0 or -errno. */
int user_may_connect(const struct user *);
int user_may_begin(const struct user *);
int user_may_open(const struct user *);
/* What of wanted bytes of memory it may have; 0: less than least. */
uint64_t user_slab_room(const struct user *, uint64_t wanted, uint64_t least);

/* A message came. */
void user_charge(struct user *, unsigned cost);
/* May another be read?  No: go is called when it may, in the order in which they
   came to wait. */
bool user_may_read(struct user *, struct user_wait *);
void user_wait_drop(struct user *, struct user_wait *);

#endif
