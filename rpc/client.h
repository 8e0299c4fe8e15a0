/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * client.h - calls to one NFS server: slot table, connections, timing
 *
 * A call waits in one of three classes until the slot table has room, is sent
 * by sendmsg straight from where the payload lies, and is answered, resent or
 * given up as rpc/'s parts decide (see parts.h).
 * The client never blocks; done is always called from the loop, never from
 * inside the call that queued it, exactly once.
 *
 * Knows nothing of files: a procedure, its encoded arguments, a payload.
 */
#ifndef NFSWB_RPC_CLIENT_H
#define NFSWB_RPC_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/cred.h"
#include "common/hist.h"
#include "common/loop.h"

#define RPC_PROC_MAX 22		/* NFSv3 has 0 to 21 */

enum rpc_class { RPC_FOREGROUND, RPC_NORMAL, RPC_BACKGROUND, RPC_CLASS_NR };

enum rpc_state { RPC_UP, RPC_CONNECTING, RPC_DOWN };

enum rpc_resvport { RPC_RESVPORT_NO, RPC_RESVPORT_YES, RPC_RESVPORT_AUTO };

struct rpc_params {
	const char *name;		/* for the log; copied */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	uint32_t prog, vers;		/* 100003, 3 */
	unsigned connection_nr;		/* 1 to 16; 0: 1 */
	unsigned slot_nr;		/* calls in flight, all classes */
	unsigned essential_nr;		/* WRITEs and COMMITs out at most, for a slot
					   too: set aside */
	unsigned timeo_ds;		/* tenths of a second */
	unsigned retrans;
	bool soft;			/* give up after retrans * timeo */
	enum rpc_resvport resvport;
	/* Tests put an in-process server here: returns a connected stream
	   socket, or -errno.  NULL: TCP to addr. */
	int (*connect_hook)(void *arg);
	void *connect_arg;
	uint64_t seed;			/* first xid, jitter; 0: the kernel's
					   random numbers */
};

/* Of one call; microseconds. */
struct rpc_timing {
	uint64_t queued, first_byte, last_byte, replied;
	unsigned transmissions;
};

/* Of one procedure; as /proc/self/mountstats has them. */
struct rpc_op_stats {
	uint64_t ops, transmissions, timeouts, errors, bytes_sent, bytes_recv;
	struct hist queue_us, rtt_us, execute_us;
};

struct rpc_client;
struct rpc_call;

/*
 * The answer.  err 0: res is the decoded result (the xdr_ function's type, valid
 * during the call only).  Else -errno: -ETIMEDOUT (soft), -EIO (the server
 * denied or garbled it, text in the log), -EACCES (AUTH error), -EFAULT (the
 * payload's memory could not be read, or written), -ECANCELED (rpc_client_free).
 */
typedef void rpc_done_fn(void *arg, int err, const void *res,
			 const struct rpc_timing *);

/* An xdrproc of libtirpc, without naming its header here: that and libnfs'
   cannot meet in one file. */
typedef int rpc_xdr_fn();

struct rpc_request {
	uint32_t proc;
	enum rpc_class class;
	bool ahead;			/* of others in its class */
	struct cred *cred;		/* NULL: AUTH_NONE; a reference is taken */
	rpc_xdr_fn *encode;		/* arguments up to the payload; run at once */
	const void *args;
	/* The payload: iov and the memory it points to must stay until done.
	   Padding to four bytes is added. */
	const struct iovec *iov;
	int iov_nr;
	uint64_t payload_bytes;
	rpc_xdr_fn *decode;
	size_t res_bytes;		/* sizeof the decoded result */
	/*
	 * Where the payload of the reply goes, an opaque at its end; into_nr 0: it
	 * has none.  decode is of what stands before it, its length included, and
	 * payload tells that length (-1: none follows).  It is received straight
	 * into into, which must stay until done, as the memory must, or until
	 * rpc_call_drop_payload; what of it has no room there is dropped.
	 */
	const struct iovec *into;
	int into_nr;
	int64_t (*payload)(const void *res);
	uint64_t reply_bytes;		/* a READ's count; 0: of into, or little */
	bool apart;			/* the background's depth is not for it, nor
					   is it small: a COMMIT */
	rpc_done_fn *done;
	void *arg;
};

struct rpc_client *rpc_client_new(struct loop *, const struct rpc_params *);
/* Every call still out is answered -ECANCELED first, from inside. */
void rpc_client_free(struct rpc_client *);

/*
 * Queues a call; 0 or -ENOMEM (-EINVAL: the arguments can't be encoded,
 * -ECANCELED: from a done function while the client is being freed).  *out (may
 * be NULL) lives until done.  Not named rpc_call: libtirpc has one.
 */
int rpc_client_call(struct rpc_client *, const struct rpc_request *,
		    struct rpc_call **out);
/* Raises a call's class while it still waits for its slot. */
void rpc_call_raise(struct rpc_call *, enum rpc_class);

/* Its reply's payload is not wanted any more: from now on nothing is received
   into its memory.  The call goes on. */
void rpc_call_drop_payload(struct rpc_call *);

/* The most calls of classes NORMAL and BACKGROUND in flight at once, of which
   NORMAL has at least half; slot_nr at first. */
void rpc_client_set_background_depth(struct rpc_client *, unsigned depth);

/*
 * Foreground work is to be let through: little is kept in the socket, and large
 * calls of the other classes wait for small ones (gate.h).
 */
void rpc_client_yield(struct rpc_client *, bool);

/* What becomes of foreground calls: each has left once, and then has ended once;
   others, and those raised after they had left, are not told of. */
enum rpc_event { RPC_SENT, RPC_ANSWERED, RPC_LOST };
typedef void rpc_watch_fn(void *arg, enum rpc_event, uint32_t proc,
			  uint64_t bytes, const struct rpc_timing *);
void rpc_client_watch(struct rpc_client *, rpc_watch_fn *, void *arg);

/* Of the connection that is best off. */
enum rpc_state rpc_client_state(const struct rpc_client *);
/* How many it may have, and has. */
unsigned rpc_client_connections(const struct rpc_client *, unsigned *up);
const char *rpc_state_name(enum rpc_state);
const struct rpc_op_stats *rpc_client_op_stats(const struct rpc_client *,
					       uint32_t proc);
/* Calls queued and in flight. */
unsigned rpc_client_outstanding(const struct rpc_client *);

#endif
