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
 * Faults: a function is asked about each call, see struct nfssim_verdict.
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

/* What becomes of it; all 0: it is done and answered. */
struct nfssim_verdict {
	uint64_t hold_usec;	/* is done only after that, whatever becomes of
				   the connection */
	bool lose_call;		/* as if it had never come */
	uint32_t status;	/* is not done, this is the answer */
	uint32_t short_count;	/* WRITE: no more than that is written */
	bool sync;		/* WRITE: is answered FILE_SYNC, and is */
	bool lose_reply;	/* is done, not answered */
	uint64_t delay_usec;	/* the reply comes that much later */
	unsigned copies;	/* of the reply, beyond the first */
	bool cut;		/* the connection ends before the reply */
};

typedef void nfssim_fault_fn(void *arg, const struct nfssim_call *,
			     struct nfssim_verdict *);

struct nfssim_options {		/* zeroed: what is said here */
	const char *export;		/* NULL: "/export" */
	uint32_t wtmax, wtpref;		/* 0: 1 MiB */
	uint32_t rtmax, rtpref;
	bool discard;			/* contents read as zeros */
	uint64_t delay_usec;		/* of every reply */
	uint64_t verifier;		/* 0: 1 */
	int64_t wall_usec;		/* the loop's clock + this: time of day */
	nfssim_fault_fn *fault;
	void *fault_arg;
};

/* NULL: no memory. */
struct nfssim *nfssim_new(struct loop *, const struct nfssim_options *);
void nfssim_free(struct nfssim *);
void nfssim_set_fault(struct nfssim *, nfssim_fault_fn *, void *arg);
void nfssim_set_delay(struct nfssim *, uint64_t usec);

/* For rpc_params.connect_hook: a connected socket, -ECONNREFUSED when down. */
int nfssim_connect(void *sim);
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
	uint64_t overlapping_writes;	/* came while another WRITE (no copy of
					   it) to some of the bytes was not
					   answered */
};
const struct nfssim_stats *nfssim_stats(const struct nfssim *);

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
