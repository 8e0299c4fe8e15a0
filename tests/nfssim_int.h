/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_int.h - what nfssim's own files share
 *
 *	nfssim_conn.c	bytes <-> records; replies that come later
 *	nfssim_call.c	record -> call -> verdict -> procedure -> reply
 *	nfssim_file.c	procedures on a file
 *	nfssim_names.c	procedures on names
 *	nfssim_mount.c	the MOUNT program
 *	nfssim_store.c, nfssim_contents.c	the files
 */
#ifndef NFSWB_TESTS_NFSSIM_INT_H
#define NFSWB_TESTS_NFSSIM_INT_H

#include <sys/queue.h>

#include "rpc/message.h"
#include "rpc/nfs3.h"
#include "tests/nfssim.h"
#include "tests/nfssim_store.h"

struct conn;
struct late;
struct flying;
struct mounted;

TAILQ_HEAD(conn_list, conn);
TAILQ_HEAD(late_list, late);
TAILQ_HEAD(flying_list, flying);
TAILQ_HEAD(mounted_list, mounted);

struct nfssim {
	struct loop *loop;
	struct nfssim_options opt;
	char *export;
	bool down;
	uint64_t cut_after;	/* bytes that may still come; 0: no end */
	uint64_t verifier;
	struct store store;
	struct nfssim_stats stats;
	struct conn_list conns, dead;
	struct late_list late;
	struct flying_list flying;
	struct mounted_list mounted;
	struct loop_deferred *bury;
	struct loop_watch *listener;
};

/* A call while it is worked on. */
struct sim_call {
	struct nfssim_call pub;
	struct nfssim_verdict verdict;
	SLIST_HEAD(, sim_alloc) allocs;
};

/* Memory that lives until the reply is encoded; NULL: none. */
void *call_alloc(struct sim_call *, size_t bytes);

/* args and res: of the procedure's types, res zeroed. */
typedef void sim_proc_fn(struct nfssim *, struct sim_call *, const void *args,
			 void *res);

struct sim_proc {
	const char *name;
	sim_proc_fn *run;
	rpc_xdr_fn *xdr_args;
	size_t args_bytes;
	rpc_xdr_fn *xdr_res;
	size_t res_bytes;
	bool has_name;		/* args begin with a diropargs3 */
};

#define SIM_PROC(proc, fn, has_name) { \
	#proc, fn, (rpc_xdr_fn *)xdr_##proc##3args, sizeof(proc##3args), \
	(rpc_xdr_fn *)xdr_##proc##3res, sizeof(proc##3res), has_name }

/* nfssim_call.c */
void sim_record(struct nfssim *, struct conn *, const void *record,
		size_t len);
/* One that was on hold; conn NULL: its connection is gone. */
void sim_held(struct nfssim *, struct conn *, const void *record, size_t len,
	      const struct nfssim_verdict *);
/* The reply under this xid leaves now. */
void sim_answered(struct nfssim *, uint32_t xid);
void sim_forget_flying(struct nfssim *);

/* nfssim_conn.c */
void conn_reply(struct conn *, const void *reply, size_t len,
		uint64_t delay_usec);
void conn_hold(struct conn *, const void *record, size_t len,
	       const struct nfssim_verdict *);
void conn_close(struct conn *);
void conn_bury_dead(void *sim);
void conn_drop_late(struct nfssim *, bool held_too);

/* nfssim_file.c, nfssim_names.c: NULL for a procedure that is not theirs */
const struct sim_proc *sim_file_proc(uint32_t proc);
const struct sim_proc *sim_names_proc(uint32_t proc);
nfsstat3 sim_node(struct nfssim *, const nfs_fh3 *, struct node **);
void sim_attr(const struct nfssim *, const struct node *, fattr3 *);
/* n NULL: says nothing */
void sim_post_attr(const struct nfssim *, const struct node *n,
		   post_op_attr *);
void sim_pre_attr(const struct node *n, pre_op_attr *);
nfsstat3 sim_set_attr(struct nfssim *, struct node *, const sattr3 *);

/* nfssim_mount.c */
const struct sim_proc *sim_mount_proc(uint32_t proc);
void sim_forget_mounted(struct nfssim *);

#endif
