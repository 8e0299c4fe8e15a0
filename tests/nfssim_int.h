/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_int.h - what nfssim's own files share
 *
 *	nfssim_conn.c	bytes <-> records; replies that come later
 *	nfssim_call.c	record -> call -> verdict -> procedure -> reply
 *	nfssim_job.c	the same with the model's time in between
 *	nfssim_script.c, nfssim_rule.c	verdicts by rules
 *	nfssim_garble.c	replies that no server should send
 *	nfssim_drc.c	calls that come twice
 *	nfssim_access.c	who may do what, and how much of it
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
#include "tests/nfssim_model.h"
#include "tests/nfssim_store.h"

struct conn;
struct late;
struct flying;
struct mounted;
struct job;
struct drc_entry;
struct quota;
struct script;

TAILQ_HEAD(job_list, job);
TAILQ_HEAD(drc_list, drc_entry);
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
	struct backing *backing;
	struct model *model;
	struct nfssim_fsinfo fsinfo;
	uint64_t full_bytes;
	struct quota *quotas;
	unsigned port;		/* 0: the connections' own */
	bool bare;		/* the reply made now has no attributes */
	struct script *script;
	uint64_t start_usec;
	uint64_t early;		/* WRITEs to answer before they are here */
	struct job_list jobs;
	struct drc_entry *drc;
	struct drc_list drc_order;
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
	uint32_t uid, gid;	/* that it counts as */
	const struct snapshot *snapshot;	/* COMMIT: of when it began */
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

/* A record as it came; discarding, data is the first len bytes of it only. */
struct sim_record {
	const void *data;
	size_t len, wire_len;
};

/* nfssim_job.c */
void sim_record(struct nfssim *, struct conn *, const struct sim_record *);
void sim_job_run(struct nfssim *, struct job *, const struct sim_call *,
		 uint64_t when);
void sim_jobs_leave(struct nfssim *, const struct conn *);
void sim_jobs_drop(struct nfssim *);

/* nfssim_call.c */
/* One that came just now; true: the job is kept for later. */
bool sim_handle(struct nfssim *, struct conn *, const struct sim_record *,
		struct job *, uint64_t when);
/* One that was judged before; conn NULL: its connection is gone. */
void sim_perform(struct nfssim *, struct conn *, const struct sim_record *,
		 const struct nfssim_verdict *, const struct snapshot *);
bool sim_early(struct nfssim *, struct conn *, const void *head, size_t len);
/* The reply under this xid leaves now. */
void sim_answered(struct nfssim *, uint32_t xid);
void sim_forget_flying(struct nfssim *);
/* WRITE: is it stable once it is done? */
bool sim_is_stable(const struct sim_call *);

/* nfssim_conn.c */
void conn_reply(struct conn *, const void *reply, size_t len,
		const struct nfssim_verdict *);
void conn_hold(struct conn *, const struct sim_record *,
	       const struct nfssim_verdict *);
bool conn_is_open(const struct conn *);
bool conn_is_secure(const struct conn *);
void conn_close(struct conn *);
void conn_bury_dead(void *sim);
void conn_drop_late(struct nfssim *, bool held_too);

/* nfssim_drc.c */
enum drc_answer { DRC_NEW, DRC_DROP, DRC_REPLAY };
enum drc_answer drc_ask(struct nfssim *, const struct nfssim_call *,
			const struct sim_record *, const void **reply,
			size_t *len);
void drc_answered(struct nfssim *, const struct nfssim_call *,
		  const struct sim_record *, const void *reply, size_t len,
		  bool keep);
void drc_forget(struct nfssim *);

/* nfssim_garble.c: a whole reply, mark and all, becomes another one; the new
   one is the caller's.  NULL: no memory. */
unsigned char *sim_garble(enum nfssim_garbage, uint32_t prog, uint32_t proc,
			  const void *reply, size_t len, size_t *out_len);

/* nfssim_script.c */
void script_judge(struct nfssim *, const struct nfssim_call *,
		  struct nfssim_verdict *);
void script_free(struct nfssim *);

/* nfssim_access.c */
void access_who(const struct nfssim *, struct sim_call *);
/* May it be done at all? */
nfsstat3 access_check(struct nfssim *, const struct sim_call *,
		      const void *args);
uint32_t access_bits(const struct nfssim *, const struct sim_call *,
		     const struct node *, uint32_t want);
bool access_may_write(const struct nfssim *, const struct sim_call *,
		      const struct node *);
/* Of len bytes at offset, how many fit; st: why not all. */
uint64_t access_room(struct nfssim *, const struct node *, uint64_t offset,
		     uint64_t len, nfsstat3 *st);
uint64_t access_free_bytes(const struct nfssim *);
void access_free(struct nfssim *);

/* nfssim_file.c, nfssim_names.c: NULL for a procedure that is not theirs */
const struct sim_proc *sim_file_proc(uint32_t proc);
const struct sim_proc *sim_names_proc(uint32_t proc);
nfsstat3 sim_node(struct nfssim *, const nfs_fh3 *, struct node **);
void sim_attr(const struct nfssim *, const struct node *, fattr3 *);
/* n NULL: says nothing */
void sim_post_attr(const struct nfssim *, const struct node *n,
		   post_op_attr *);
void sim_pre_attr(const struct nfssim *, const struct node *n, pre_op_attr *);
nfsstat3 sim_set_attr(struct nfssim *, struct node *, const sattr3 *);

/* nfssim_mount.c */
const struct sim_proc *sim_mount_proc(uint32_t proc);
void sim_forget_mounted(struct nfssim *);

#endif
