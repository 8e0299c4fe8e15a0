/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session_impl.h - what the files of the session part share: one session, its
 * open files, its requests
 *
 *	sessions.c	all of them; the listening socket
 *	session.c	life: turns, end
 *	hello.c		its beginning, as far as its user may have one
 *	session_io.c	the socket: records in, records and bells out
 *	drain.c		the ring; napping and sleeping
 *	stuck.c		a message, and a list without slots
 *	opens.c		which sessions have a file open; the shared flags
 *	request.c	a message from its arrival to its reply
 *	session_file.c	its open files by number
 *	api.c, api_file.c, api_read.c, api_write.c	what messages mean
 *	resume.c	sessions of an instance that died come back
 *	takeover.c	what it left of them becomes ours
 *	memory.c, peer.c, runtime.c, users.c	stand alone, each with its header
 */
#ifndef NFSWB_SESSION_IMPL_H
#define NFSWB_SESSION_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/record.h"
#include "daemon/memory.h"
#include "daemon/peer.h"
#include "daemon/runtime.h"
#include "daemon/session.h"
#include "daemon/users.h"

struct nfswb_resume_args;
struct open_file;
struct request;
struct resume;

struct session_file {
	struct session *session;
	uint32_t number;
	struct wb_handle *handle;	/* NULL: being closed */
	int oflags;
	struct wb_file *file;		/* a reference */
	struct runtime_file *record;
	struct open_file *open;		/* opens.c; NULL: being closed */
	LIST_ENTRY(session_file) link;	/* of those that have it open */
	bool claimed;			/* a RESUME named it */
};

enum session_state {
	SESSION_NEW,		/* connected; HELLO or RESUME is due */
	SESSION_RESUMING,	/* RESUME taken; the import is not over */
	SESSION_LIVE,
	SESSION_ENDING,		/* no socket; the ring is being drained */
	SESSION_RELEASED,	/* files closed; the last extents are on the way */
};

struct out;			/* session_io.c: a record on its way out */
TAILQ_HEAD(request_list, request);

struct session {
	TAILQ_ENTRY(session) link;
	struct sessions *owner;
	unsigned refs;		/* its life until the slab is gone, requests */
	enum session_state state;
	struct peer peer;
	struct cred *cred;	/* of its calls to servers */
	struct user *user;
	enum { COUNT_NONE, COUNT_NEW, COUNT_SESSION } counted;	/* in user */
	struct user_wait rest;	/* until it may send another message */
	struct runtime_session *record;	/* NULL: none, or struck */
	uint64_t id;

	/* the socket */
	int fd, pidfd;		/* -1: none */
	struct loop_watch *watch, *death;
	struct record_reader reader;
	int passed[2];		/* descriptors that came before the first call */
	int passed_nr;
	bool passed_cut;	/* we had no room for some of them */
	TAILQ_HEAD(out_list, out) out;
	uint64_t out_bytes;
	bool hangup;		/* to be ended at its next turn */

	/* messages */
	struct request_list todo;	/* in order, not begun */
	uint64_t todo_bytes, todo_nr;
	struct request_list parked;	/* wait for other sessions' rings */
	struct request_list under_way;
	unsigned under_way_nr;
	uint64_t read_bytes;	/* of READ replies to come */
	struct request *writing;	/* an inline WRITE without room */
	bool retrying;		/* failed data, for that WRITE */
	struct request *resuming;	/* its RESUME, not answered */
	unsigned looks;		/* sizes asked for, without which no append */

	/* memory and ring */
	struct memory memory;
	struct slab *slab;
	uint64_t tail;		/* our own, behind the last entry taken */
	uint64_t last_head;	/* ENDING: where draining ends */
	bool blocked;		/* no list slot: room() tells */
	struct session_file *halted;	/* stuck.c: no drain while it has no
				   handle */
	int close_err;		/* what stuck.c's closing came to */
	bool broken;		/* what the ring holds is garbage */
	bool active;		/* something happened since the last nap */
	bool in_turn;
	uint64_t tail_told;	/* the tail when a bell was last considered */
	unsigned empty_naps;
	struct loop_timer *nap;
	struct loop_deferred *turn;

	struct session_file **file;	/* by number; NULL: free */
	uint32_t file_room, file_nr, file_free;	/* none free below file_free */
};

struct sessions {
	struct sessions_env env;
	unsigned refs;		/* the wiring, each session */
	int listen_fd;
	struct loop_watch *listen;
	struct loop_timer *rest;	/* after accept ran out of something */
	struct runtime *runtime;
	struct resume *resume;
	struct users *users;
	bool importing, stopping;
	struct open_file *opens;	/* by file */
	TAILQ_HEAD(, session) list;
};

#define SESSION_FMT "session %llu (pid %d %s, uid %u)"
#define SESSION_ARG(s) \
	(unsigned long long)(s)->id, \
	(int)(s)->peer.pid, (s)->peer.comm, \
	(unsigned)((s)->peer.cred ? (s)->peer.cred->uid : 0)

static inline uint64_t
session_now(const struct session *s)
{
	return loop_now(s->owner->env.loop);
}

/* --- session.c --- */
void sessions_put(struct sessions *);
/* A client connected; fd is taken over. */
void session_come(struct sessions *, int fd);
/* One whose client is dead comes back: RESUMING, and to be ended after that; its
   memory is still to be had.  NULL: no memory. */
struct session *session_come_back(struct sessions *, struct runtime_session *);
/* takeover_begin was in vain for now: it ends, and nothing of what another session
   needs to try again is touched. */
void session_give_back(struct session *);
/* At sessions_free: leaves the loop; lives until its slab and requests end. */
void session_let_go(struct session *);
struct session *session_ref(struct session *);
void session_put(struct session *);
/* Ends it soon, from the loop; why (NULL: it left) goes to the log. */
void session_hangup(struct session *, const char *why);
/* Nobody is there to reply to; after sessions_free also no loop, no clock. */
bool session_is_gone(const struct session *);
/* Asks for a turn. */
void session_poke(struct session *);
/* Turns for all whose messages wait for other sessions. */
void session_poke_waiting(struct sessions *);
/* Makes the slab over its memory.  0 or -ENOMEM. */
int session_make_slab(struct session *);
/* May messages that need the files be acted on? */
bool session_may_act(const struct session *);

/* --- hello.c --- */
void session_hello(struct request *);
/* Of a HELLO or RESUME that went well. */
void session_hello_reply(struct request *);
/* Finds its credential and user, of its peer's.  0 or -ENOMEM. */
int session_own(struct session *);
/* The same of one that has come; has he not too many connections? */
int session_admit(struct session *);
/* Says why one that came is not wanted. */
void session_refused(struct session *, int err);
/* What it counts as among its user's, from now on. */
void session_count(struct session *, int as);

/* --- session_file.c --- */
/* The open file of this number; NULL: none, or being closed. */
struct session_file *session_file(const struct session *, uint32_t number);
/* number UINT32_MAX: the lowest free.  NULL and *err. */
struct session_file *session_file_new(struct session *, uint32_t number,
				      struct wb_file *, int oflags, int *err);
/* No more entries of it are taken, its number stays taken.  The handle is the
   caller's to close. */
struct wb_handle *session_file_shut(struct session_file *);
/* The number is free again; the table of tokens forgets it. */
void session_file_free(struct session_file *);

/* --- session_io.c --- */
void io_start(struct session *);
/* Closes the socket, drops what was to go out. */
void io_close(struct session *);
void io_close_passed(struct session *);
/* Room for a record of len bytes; fill in out_data, then io_send or io_drop. */
struct out *io_out(size_t len);
void *io_out_data(struct out *);
void io_send(struct session *, struct out *, const int fd[2]);
void io_drop(struct out *);
void io_bell(struct session *);
/* Reading on or off, as its queues are. */
void io_update(struct session *);

/* --- drain.c --- */
enum drained { DRAIN_DONE, DRAIN_MORE, DRAIN_BLOCKED };
uint64_t drain_head(struct session *);
/* Takes entries up to the position, budget of them at most. */
enum drained drain_to(struct session *, uint64_t until, unsigned budget);
/* All that is there now; true: done. */
bool drain_all(struct session *);
/* Decides when the next turn is due: a nap, a sleep or at once. */
void drain_rest(struct session *);

/* --- stuck.c --- */
/* Does what can be done where a message waits for a ring that is blocked. */
void stuck_check(struct session *);

/* --- opens.c --- */
int opens_add(struct session_file *);
void opens_remove(struct session_file *);
/* Has this session the file open? */
bool opens_has(struct session *, struct wb_file *);
/* Drains every session that has the file open; true: all done. */
bool opens_drain(struct sessions *, struct wb_file *);
/* Drains all sessions. */
bool opens_drain_every(struct sessions *);

/* --- resume.c --- */
int resume_new(struct sessions *);
void resume_free(struct sessions *);
/* Waits for nobody any longer. */
void resume_now(struct sessions *);
void resume_request(struct request *);
/* Goes on with the import as far as it can. */
void resume_check(struct sessions *);

/* --- takeover.c --- */
/* Its files are opened again, its list is checked; args NULL: nobody is there
   who could tell what of them he knows.  0 or -errno; after -ENOMEM, when all
   of it can be tried again, session_give_back. */
int takeover_begin(struct session *, const struct nfswb_resume_args *);
/* The entries of all who are RESUMING join, in sequence; -ENOBUFS: none can be
   cut now, try again when some have been written back. */
int takeover_lists(struct sessions *);
/* Its ring goes on behind the last entry. */
void takeover_tail(struct session *);
/* Closes files that the client knows nothing of: their CLOSE was answered, or
   their OPEN never was. */
void takeover_unclaimed(struct session *);

#endif
