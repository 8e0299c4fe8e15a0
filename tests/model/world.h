/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * world.h - application, library, daemon and server in one thread, under
 * virtual time
 *
 *	libnfswb -> ring and socket -> session, api -> namespace -> pipeline
 *		-> transport -> rpc client -> socketpair -> nfssim
 *
 * All of it is the real code, but for the loop, who is said to be at the other
 * end of a socket, and MOUNT.  Where the library would sleep in poll, the loop
 * runs; what another application does meanwhile, the beside hook does, from
 * inside that poll.
 */
#ifndef NFSWB_TESTS_MODEL_WORLD_H
#define NFSWB_TESTS_MODEL_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/writeback/nfs_calls.h"
#include "daemon/writeback/pipeline.h"
#include "include/nfswb.h"
#include "tests/nfssim.h"
#include "tests/vloop.h"

#define SECOND 1000000ull

struct world_options {		/* 0: what is said here */
	uint64_t seed;			/* 1 */
	uint64_t slab_bytes;		/* 1 MiB */
	uint64_t dirty_bytes;		/* 2 MiB */
	uint32_t wsize;			/* 8 KiB */
	unsigned timeo_ds;		/* 10 */
	unsigned delay_usec;		/* of replies: 200 */
	enum wb_stable stable;
	uint64_t congestion_kb;		/* 512 */
	bool as_linux_3;		/* no queues, priorities, bounds */
};

struct world {
	struct loop *loop;
	struct nfssim *sim;
	struct wb *wb;
	/* Asked before each round while an application waits; rounds: since it
	   began to. */
	void (*beside)(void *arg, unsigned rounds);
	void (*gave_up)(void *arg, const struct fh *, uint64_t offset,
			uint64_t length);
	void *arg;
	uint64_t given_up_bytes;
};

/* There is one at a time.  Never fails: ends the program. */
struct world *world_new(const struct world_options *);
/* Ends the daemon with all that it holds; applications must be disconnected. */
void world_free(struct world *);

/* A session of its own, for that uid. */
struct nfswb *world_connect(struct world *, unsigned uid);
/* "nfs://..." of a name in the export. */
const char *world_target(const char *name);

/* Runs a function soon, from the top of the loop. */
void world_soon(struct world *, void (*)(void *arg), void *arg);

static inline void
world_pass(struct world *w, uint64_t usec)
{
	vloop_pass(w->loop, usec);
}

/* Says what is wrong and ends the process with status 1, after the hook. */
void world_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void world_on_fail(void (*)(void));

#endif
