/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpcfake.h - an RPC client on a virtual loop, and a server that does as told
 *
 * The client's connections are socketpairs; the other end is here.  Every call
 * that came in whole is noted; it is answered only when the test says so (or at
 * once with auto_reply).  sendmsg is ours, too: it can take few bytes at a time,
 * and notes what it was given.
 */
#ifndef NFSWB_TESTS_RPCFAKE_H
#define NFSWB_TESTS_RPCFAKE_H

#include "common/record.h"
#include "rpc/client.h"
#include "rpc/message.h"
#include "rpc/nfs3.h"
#include "tests/unit.h"
#include "tests/vloop.h"

#define SEEN_MAX 512
#define SECOND UINT64_C(1000000)

struct seen {
	struct rpc_call_info info;
	unsigned connection;		/* 1, 2, … */
	unsigned char *record;		/* as it came, without the mark */
	size_t length, args_at;
};

/* What came of a call. */
struct outcome {
	unsigned done_nr;
	int err;
	nfsstat3 status;		/* the first word of every result */
	struct rpc_timing timing;
	uint64_t at_usec;
	struct fake *fake;
	void (*then)(struct outcome *);	/* called by done */
	unsigned order;			/* of all that were done */
};

struct fake {
	struct loop *loop;
	struct rpc_client *client;
	struct rpc_params params;

	/* the server */
	int fd;
	struct loop_watch *watch;
	struct record_reader reader;
	unsigned connection_nr;
	bool refuse;			/* connections */
	bool paused;			/* reads nothing */
	bool auto_reply;
	struct seen seen[SEEN_MAX];
	unsigned seen_nr, done_nr;
};

/* What sendmsg may take at once (0: all), and what it was given. */
extern size_t send_limit;
extern unsigned sendmsg_nr;
struct given {
	const void *region;
	size_t region_len;
	uint64_t in_region, elsewhere;
};
extern struct given given;

/* timeo 10 s, retrans 3, 16 slots. */
void fake_init(struct fake *);
void fake_start(struct fake *);
void fake_stop(struct fake *);
/* Everything that is ready. */
void fake_run(struct fake *);
void fake_pass(struct fake *, uint64_t usec);
void fake_cut(struct fake *);

/* Calls.  0 as rpc_client_call. */
int fake_getattr(struct fake *, struct outcome *);
int fake_call(struct fake *, uint32_t proc, enum rpc_class, struct outcome *,
	      struct rpc_call **);
int fake_write(struct fake *, enum rpc_class, const struct iovec *, int iov_nr,
	       struct outcome *);
void fake_done(void *arg, int err, const void *res, const struct rpc_timing *);

/* The server's side. */
void fake_send(struct fake *, const void *, size_t);
/* A reply with status 0 and an empty result to that call. */
void fake_reply(struct fake *, const struct seen *);
void fake_reply_xid(struct fake *, uint32_t xid, uint32_t proc);
ssize_t fake_encode_reply(void *buf, size_t room, uint32_t xid, uint32_t proc);
/* What came, in records, each for record(); false: it is closed. */
bool fake_receive(int fd, struct record_reader *, void (*record)(void *arg),
		  void *arg);
/* Reads some bytes itself, while paused. */
size_t fake_read(struct fake *, void *, size_t);

#endif
