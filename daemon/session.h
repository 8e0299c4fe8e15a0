/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session.h - the clients: who they are, their memory, their rings
 *
 * One session per connection on the socket.  It reads records, drains the ring
 * before it acts on a message, serves bells, naps and sleeps, and outlives its
 * connection until resumed, dead or past grace.  What messages mean is api.c's.
 */
#ifndef NFSWB_SESSION_H
#define NFSWB_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#include "common/loop.h"
#include "daemon/access.h"
#include "daemon/config.h"
#include "daemon/namespace.h"
#include "daemon/writeback/slab.h"

struct inherit;
struct keep;
struct sessions;
struct session;

struct sessions_env {
	struct loop *loop;
	const struct config *config;
	struct wb *wb;
	struct namespace *ns;
	uint64_t instance;
	struct keep *keep;		/* NULL: nobody keeps anything */
	/* JSON, the callee's caller frees; made by statistics.c, control.c */
	char *(*statistics)(void *arg, const struct asker *);
	char *(*control)(void *arg, const char *request,
			 const struct asker *, int *err);
	void *arg;
};

/* listen_fd is taken over; runtime_dir holds the table of tokens. */
struct sessions *sessions_new(const struct sessions_env *, int listen_fd,
			      const char *runtime_dir, char **error);
void sessions_free(struct sessions *);
/* For what is executed in our place: the listening socket, and all memory.  0 or
   -ENOMEM. */
int sessions_socket(const struct sessions *);
int sessions_leave(const struct sessions *, struct inherit *);
/* Shutdown: accepts no more, drains all rings. */
void sessions_stop(struct sessions *);
/* Those that nobody can bring back, and whose data has not all been taken over;
   after sessions_stop. */
unsigned sessions_left(const struct sessions *);

/* Drains the rings of the sessions that have the file open; NULL: of all. */
void sessions_drain(struct sessions *, struct wb_file *);

/* What is told to the next instance, as namespace.h has it: an open file by every
   session that has it open; hidden names by whoever had it open last. */
void sessions_described(struct sessions *, struct wb_file *);
int sessions_hide(struct sessions *, const char *text, uint64_t *id);
void sessions_unhide(struct sessions *, uint64_t id);
/* The pipeline's late hook. */
void sessions_late(struct sessions *, uint64_t until_usec);

struct session_info {
	uint64_t id;
	pid_t pid;
	uid_t uid;
	const char *comm;
	unsigned files;
	struct slab_usage usage;
	enum waiting_for waiting;
	uint64_t waiting_usec;
	const char *file;		/* that it waits for, else one of those it
					   writes; may be NULL */
};
void sessions_each(struct sessions *, void (*fn)(void *arg,
		   const struct session_info *), void *arg);

#endif
