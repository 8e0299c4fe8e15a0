/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session.h - one connection to the daemon, as the library's parts share it
 *
 * Everything below "lock" is touched under it.  It is held for moments only:
 * never across a system call that can wait, and for copies of 4 KiB at most.
 */
#ifndef NFSWB_LIB_SESSION_H
#define NFSWB_LIB_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/un.h>

#include "common/record.h"
#include "common/ring.h"
#include "include/nfswb.h"
#include "include/nfswb_prot.h"
#include "lib/call.h"
#include "lib/handshake.h"
#include "lib/wait.h"

/* The connection's state; resume.c moves it. */
enum link {
	LINK_UP,
	LINK_DRAIN,	/* lost; claimed bytes are still to be posted */
	LINK_DOWN,	/* all is posted; waiting to try again */
	LINK_ASKED,	/* connected again, RESUME not answered yet */
	LINK_DEAD,	/* the daemon refused: ESTALE for ever */
};

/* A chunk that is being filled. */
struct chunk {
	uint32_t nr;		/* NFSWB_NO_CHUNK: none */
	uint32_t limit;		/* as last seen */
	uint32_t half;		/* the fill at which half that room is used */
};

struct nfswb_file {
	struct nfswb *wb;
	LIST_ENTRY(nfswb_file) link;	/* wb->files, once it is open */
	uint32_t number;		/* the session's number of it */
	char token[NFSWB_TOKEN_SIZE];
	int oflags;
	uint64_t max_size;		/* no byte may lie behind it */
	struct chunk chunk;		/* its own, when written sequentially */
	uint64_t next;			/* where the last write ended */
	uint64_t run;			/* bytes written in sequence so far */
	unsigned hold_nr;		/* calls on the way that writes must not
					   overtake */
	bool appending;			/* a reserved append is under way */
	bool moving;			/* a call uses the position */
	int64_t position;		/* or POSITION_AT_END */
	uint64_t reserved_end;		/* of that append; 0: none */
};

LIST_HEAD(file_list, nfswb_file);
TAILQ_HEAD(call_list, call);
TAILQ_HEAD(waiter_list, waiter);

struct nfswb {
	/* fixed from nfswb_connect on */
	unsigned flags;
	unsigned born;			/* the process that may use it: fork.c */
	uint64_t serial;		/* never used twice in a process */
	struct sockaddr_un address;
	uint64_t session;
	char secret[NFSWB_TOKEN_SIZE];
	int memory_fd[2];		/* control, data */
	void *memory[2];
	struct shm_view shm;
	int wake_fd;			/* wakes the thread that reads */

	_Atomic int timeout_msec;

	pthread_mutex_t lock;
	LIST_ENTRY(nfswb) watched;	/* watch.c's, under its lock */
	bool gone;			/* disconnected, but its memory is to be
					   handed over first */
	struct file_list files;

	/* the connection */
	enum link link;
	int fd;				/* -1: none */
	struct record_reader in;
	bool receiving;			/* wire_receive is at work */
	struct handshake handshake;	/* LINK_ASKED */
	uint64_t retry_at;		/* LINK_DOWN */
	unsigned retry_msec;
	char dead[256];			/* why, in words */

	/* calls without an answer by id; those of them not wholly sent */
	struct call_list calls, out;
	uint64_t next_id;

	struct waiter_list waiters;
	struct waiter *reader;		/* the one that polls the socket */

	/* writing */
	uint64_t head;			/* as in shm */
	uint64_t tail;			/* as last seen */
	uint64_t bell_head;		/* head when a bell was last sent */
	unsigned claim_nr;		/* pieces between claim and post */
	bool half_used;			/* of the room, not told yet */
	uint64_t queued_most;		/* chunks in the queue, before */
	struct chunk shared;		/* for files without one of their own */
	struct chunk **filler;		/* by chunk number: who fills it */
	unsigned own_nr;		/* files with a chunk of their own */
	uint32_t touched;		/* chunks from there on never were */
	uint64_t want_bytes;		/* of all that wait for room */
	unsigned tail_waiter_nr;	/* for the tail, see room_ask */
	unsigned chunkless_nr;		/* of them without a chunk to fill */
};

static inline void
session_lock(struct nfswb *wb)
{
	pthread_mutex_lock(&wb->lock);
}

static inline void
session_unlock(struct nfswb *wb)
{
	pthread_mutex_unlock(&wb->lock);
}

/* Unmaps, closes and frees; nobody may know of it any more. */
void session_free(struct nfswb *);

#endif
