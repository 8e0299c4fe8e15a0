/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim.h - an NFSv3 and MOUNT server for tests
 *
 * Event-driven over common/loop.h, so the same code serves one end of a
 * socketpair under virtual time and TCP as a program (tests/nfssim).
 *
 * What a WRITE UNSTABLE brought is volatile: nfssim_restart forgets it, a
 * COMMIT or a stable WRITE moves it over.  Names and attributes are stable at
 * once, as the protocol asks.  A test can read both contents.
 *
 *	sim = nfssim_new(loop, &options);
 *	params.connect_hook = nfssim_connect;
 *	params.connect_arg = sim;
 *
 * Faults: a function is asked about each call, see struct nfssim_verdict; or a
 * script says it, see nfssim_script.  With a model (nfssim_model.h) all of it
 * takes the time a real server would take.
 */
#ifndef NFSWB_TESTS_NFSSIM_H
#define NFSWB_TESTS_NFSSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fh.h"
#include "common/loop.h"

#define NFSSIM_NFS	100003u
#define NFSSIM_MOUNT	100005u
#define NFSSIM_PROCS	22

struct nfssim;
struct model;
struct model_params;

/* A call that came in, as far as it was decoded. */
struct nfssim_call {
	uint32_t xid, prog, proc;
	uint32_t flavor;		/* of the credential: 0 none, 1 sys */
	uint32_t uid, gid;
	unsigned group_nr;
	uint32_t group[16];
	struct fh fh;			/* of the file or directory */
	const char *name;		/* in that directory, or NULL */
	uint64_t offset;		/* READ, WRITE, COMMIT */
	uint32_t count;
	uint32_t stable;		/* WRITE: stable_how */
	uint64_t nr;			/* calls that came before it */
};

/* Replies that no server should send. */
enum nfssim_garbage {
	NFSSIM_SANE,
	NFSSIM_TRUNCATED,	/* half of the results */
	NFSSIM_OVERSIZED,	/* 64 KiB behind them; READ: more than asked
				   for, WRITE: more than was sent */
	NFSSIM_NEGATIVE,	/* a length in it is -1 */
	NFSSIM_TOP_BIT,		/* … is 2^31 and something */
	NFSSIM_XID,		/* another call's, which never was */
	NFSSIM_PROG,		/* PROG_UNAVAIL */
	NFSSIM_VERSION,		/* PROG_MISMATCH */
	NFSSIM_PROC,		/* PROC_UNAVAIL */
	NFSSIM_ARGS,		/* GARBAGE_ARGS */
	NFSSIM_SYSTEM,		/* SYSTEM_ERR */
	NFSSIM_DENIED,		/* MSG_DENIED: RPC_MISMATCH */
	NFSSIM_AUTH,		/* MSG_DENIED: AUTH_TOOWEAK */
	NFSSIM_NO_ATTRIBUTES,	/* where they are optional */
	NFSSIM_NO_HANDLE,	/* of what was made */
	NFSSIM_FRAGMENTS,	/* sane, in fragments of one byte */
	NFSSIM_HUGE,		/* a fragment of 2 GiB - 1 */
	NFSSIM_EMPTY,		/* a record of no bytes */
	NFSSIM_CALL,		/* a call instead of a reply */
	NFSSIM_JUNK,		/* bytes without sense */
	NFSSIM_GARBAGE_NR
};
/* "truncated" …; NULL for a number that is none. */
const char *nfssim_garbage_name(enum nfssim_garbage);

enum nfssim_when { NFSSIM_NEVER, NFSSIM_DONE, NFSSIM_REPLIED };

/* What becomes of it; all 0: it is done and answered. */
struct nfssim_verdict {
	uint64_t hold_usec;	/* is done only after that, whatever becomes of
				   the connection; keeps a thread (model) */
	bool lose_call;		/* as if it had never come */
	uint32_t status;	/* is not done, this is the answer */
	bool lie;		/* is not done, and answered as if */
	uint32_t short_count;	/* WRITE: no more than that is written */
	bool count_0;		/* WRITE: nothing is written, and that said */
	bool sync;		/* WRITE: is answered FILE_SYNC, and is */
	bool set_committed;	/* WRITE: is answered and is … */
	uint32_t committed;	/* … this stable_how */
	uint64_t verifier;	/* of this reply alone; 0: the server's */
	bool lose_reply;	/* is done, not answered */
	uint64_t delay_usec;	/* the reply comes that much later */
	unsigned reorder;	/* it leaves after so many later replies */
	unsigned copies;	/* of the reply, beyond the first */
	enum nfssim_garbage garbage;
	bool cut;		/* the connection ends before the reply */
	bool cut_half;		/* … after half of it */
	bool cut_after;		/* … after it */
	enum nfssim_when restart;	/* a crash, once it was done (no reply),
					   or once the reply has left */
	uint64_t restart_verifier;
};

typedef void nfssim_fault_fn(void *arg, const struct nfssim_call *,
			     struct nfssim_verdict *);

/* A cache of replies, for calls that come twice. */
enum nfssim_drc {
	NFSSIM_DRC_OFF,		/* each copy is done again */
	NFSSIM_DRC_ON,		/* is answered as the first was */
	NFSSIM_DRC_CUT,		/* is dropped, answered or not */
	NFSSIM_DRC_BLIND,	/* answers by the xid alone */
};

struct nfssim_options {		/* zeroed: what is said here */
	const char *export;		/* NULL: "/export" */
	uint32_t wtmax, wtpref;		/* 0: 1 MiB */
	uint32_t rtmax, rtpref;
	bool discard;			/* contents read as zeros */
	const char *store;		/* a folder for stable contents */
	const struct model_params *model;	/* NULL: no time passes */
	uint64_t delay_usec;		/* of every reply */
	uint64_t verifier;		/* 0: 1 */
	int64_t wall_usec;		/* the loop's clock + this: time of day */
	uint64_t seed;			/* of the script's chance; 0: 1 */
	enum nfssim_drc drc;
	bool check_access;		/* modes count; else all may do all */
	bool root_squash;		/* uid 0 is nobody (65534) */
	bool secure_port;		/* only clients from ports below 1024 */
	nfssim_fault_fn *fault;
	void *fault_arg;
};

/* NULL: no memory. */
struct nfssim *nfssim_new(struct loop *, const struct nfssim_options *);
void nfssim_free(struct nfssim *);
void nfssim_set_fault(struct nfssim *, nfssim_fault_fn *, void *arg);
void nfssim_set_delay(struct nfssim *, uint64_t usec);
void nfssim_set_drc(struct nfssim *, enum nfssim_drc);

/*
 * Adds rules, in the language that "tests/nfssim --help" shows.  NULL, or the
 * line and what is wrong with it; then none of them is added.  They are asked
 * in order, after the function.
 */
const char *nfssim_script(struct nfssim *, const char *text);
void nfssim_script_clear(struct nfssim *);

/* What FSINFO says, and nothing else heeds but maxfilesize. */
struct nfssim_fsinfo {
	uint32_t rtmax, rtpref, rtmult, wtmax, wtpref, wtmult, dtpref;
	uint64_t maxfilesize;
	uint32_t properties;
};
struct nfssim_fsinfo *nfssim_fsinfo(struct nfssim *);

/* NFS3ERR_NOSPC beyond so many bytes (the sum of all files' sizes). */
void nfssim_set_full(struct nfssim *, uint64_t bytes);	/* UINT64_MAX: never */
/* NFS3ERR_DQUOT beyond so many bytes of files that this uid owns. */
int nfssim_set_quota(struct nfssim *, uint32_t uid, uint64_t bytes);

/* For rpc_params.connect_hook: a connected socket, -ECONNREFUSED when down. */
int nfssim_connect(void *sim);
/* Which source port its connections seem to have; 0: their own. */
void nfssim_set_port(struct nfssim *, unsigned port);
/* Serves this connected socket, and closes it. */
int nfssim_attach(struct nfssim *, int fd);
/* Accepts from this listening socket; it stays the caller's. */
int nfssim_listen(struct nfssim *, int fd);

/* Ends every connection; replies not sent are lost, calls on hold are not. */
void nfssim_cut(struct nfssim *);
/* The same after so many more bytes have come in: in the middle of a call. */
void nfssim_cut_after(struct nfssim *, uint64_t bytes);
/* A crash: unstable data is forgotten, and so is what is on hold; connections
   end, the verifier is new. */
void nfssim_restart(struct nfssim *, uint64_t new_verifier);
/* Answers with another verifier from now on, and forgets nothing. */
void nfssim_set_verifier(struct nfssim *, uint64_t verifier);
/* false: connections end, new ones are refused until it is up again. */
void nfssim_set_up(struct nfssim *, bool up);

struct nfssim_stats {
	uint64_t calls[NFSSIM_PROCS];	/* NFS, by procedure; as they came */
	uint64_t mount_calls;
	uint64_t connections;
	uint64_t unstable_writes, stable_writes;	/* as they were asked */
	uint64_t written_bytes;
	uint64_t stable_bytes;		/* that became stable, by COMMIT or as
					   they were written */
	uint64_t read_bytes;
	uint64_t faults;		/* calls that a rule or the function
					   did something to */
	uint64_t restarts;
	uint64_t drc_hits, drc_drops;
	uint64_t overlapping_writes;	/* came while another WRITE (no copy of
					   it) to some of the bytes was not
					   answered */
};
const struct nfssim_stats *nfssim_stats(const struct nfssim *);
/* NULL: there is none. */
struct model *nfssim_model(struct nfssim *);
/* Volatile bytes that a restart would forget now; -errno. */
int64_t nfssim_unstable_bytes(struct nfssim *, const char *path);

/* Queries and preparations, by path from the export's root ("a/b"). */
enum nfssim_which { NFSSIM_STABLE, NFSSIM_VOLATILE };

int nfssim_lookup(struct nfssim *, const char *path, struct fh *);
/* An empty file (or what is there already); its directory must exist. */
int nfssim_create(struct nfssim *, const char *path, struct fh *);
int nfssim_mkdir(struct nfssim *, const char *path, struct fh *);
/* The size, or -errno. */
int64_t nfssim_size(struct nfssim *, const char *path, enum nfssim_which);
/* Bytes read (fewer at the end of file), or -errno. */
int64_t nfssim_read(struct nfssim *, const char *path, enum nfssim_which,
		    uint64_t offset, void *buf, size_t len);

const char *nfssim_proc_name(uint32_t nfs_proc);

#endif
