/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_job.c - calls on their way through the model
 *
 *	link -> judged (nfssim_call.c) -> a thread, memory, disk -> performed
 *
 * A job outlives its connection, and not a restart.  While it is worked on here
 * it is on no list, so that whatever its call causes can't free it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_int.h"

struct job {
	struct nfssim *sim;
	struct conn *conn;		/* NULL: gone */
	struct nfssim_verdict verdict;
	struct model_op op;
	struct snapshot *snapshot;
	TAILQ_ENTRY(job) link;
	size_t len, wire_len;
	unsigned char data[];
};

static void
free_job(struct job *job)
{
	snapshot_free(job->snapshot);
	free(job);
}

static void
list(struct job *job)
{
	if (job->conn && !conn_is_open(job->conn))
		job->conn = NULL;
	TAILQ_INSERT_TAIL(&job->sim->jobs, job, link);
}

static void
unlist(struct job *job)
{
	TAILQ_REMOVE(&job->sim->jobs, job, link);
}

void
sim_jobs_leave(struct nfssim *sim, const struct conn *conn)
{
	struct job *job;

	TAILQ_FOREACH(job, &sim->jobs, link)
		if (job->conn == conn)
			job->conn = NULL;
}

void
sim_jobs_drop(struct nfssim *sim)
{
	struct job *job;

	if (sim->model)
		model_crash(sim->model);
	while ((job = TAILQ_FIRST(&sim->jobs))) {
		unlist(job);
		free_job(job);
	}
}

static struct sim_record
record_of(const struct job *job)
{
	return (struct sim_record){ job->data, job->len, job->wire_len };
}

static void
arrived(void *arg, uint64_t when)
{
	struct job *job = arg;
	struct sim_record rec = record_of(job);

	unlist(job);
	if (!sim_handle(job->sim, job->conn, &rec, job, when))
		free_job(job);
}

static struct job *
new_job(struct nfssim *sim, struct conn *conn, const struct sim_record *rec)
{
	struct job *job = calloc(1, sizeof *job + rec->len);

	if (!job) {
		conn_close(conn);
		return NULL;
	}
	job->sim = sim;
	job->conn = conn;
	job->len = rec->len;
	job->wire_len = rec->wire_len;
	memcpy(job->data, rec->data, rec->len);
	job->op.arg = job;
	return job;
}

/* How many bytes of the call were on the wire, and the mark. */
#define MARK 4

void
sim_record(struct nfssim *sim, struct conn *conn, const struct sim_record *rec)
{
	struct job *job;

	if (!sim->model) {
		sim_handle(sim, conn, rec, NULL, 0);
		return;
	}
	job = new_job(sim, conn, rec);
	if (!job)
		return;
	list(job);
	model_carry(sim->model, &job->op, LINK_IN, rec->wire_len + MARK,
		    arrived);
}

/* in a thread */

static struct node *
node_of(const struct job *job)
{
	struct node *n;

	HASH_FIND(hh, job->sim->store.nodes, &job->op.file,
		  sizeof job->op.file, n);
	return n;
}

static void
started(void *arg, uint64_t when)
{
	struct job *job = arg;
	struct node *n = node_of(job);

	(void)when;
	if (n && job->op.kind == MODEL_COMMIT)
		job->snapshot = contents_snapshot(&n->contents,
						  job->op.offset,
						  job->op.length);
}

static void
done(void *arg, uint64_t when)
{
	struct job *job = arg;
	struct sim_record rec = record_of(job);

	(void)when;
	unlist(job);
	sim_perform(job->sim, job->conn, &rec, &job->verdict, job->snapshot);
	free_job(job);
}

/* What the model has to know of it. */
static void
say_op(struct job *job, const struct sim_call *c)
{
	const struct nfssim_call *pub = &c->pub;
	struct model_op *op = &job->op;
	struct node *n = NULL;

	op->kind = MODEL_OTHER;
	op->hold_usec = c->verdict.hold_usec;
	op->started = started;
	op->done = done;
	if (pub->prog != NFSSIM_NFS || c->verdict.status ||
	    store_find(&job->sim->store, pub->fh.data, pub->fh.len, &n) !=
	    NFS3_OK || n->type != NF3REG)
		return;
	op->file = n->id;
	op->offset = pub->offset;
	op->length = pub->count;
	switch (pub->proc) {
	case NFSPROC3_WRITE:
		op->kind = MODEL_WRITE;
		op->stable = sim_is_stable(c);
		if (op->length > UINT64_MAX - op->offset)
			op->length = 0;
		break;
	case NFSPROC3_COMMIT:
		op->kind = MODEL_COMMIT;
		break;
	case NFSPROC3_READ:
		op->kind = MODEL_READ;
		if (op->offset >= n->contents.size)
			op->length = 0;
		else if (op->length > n->contents.size - op->offset)
			op->length = n->contents.size - op->offset;
		break;
	}
}

void
sim_job_run(struct nfssim *sim, struct job *job, const struct sim_call *c,
	    uint64_t when)
{
	job->verdict = c->verdict;
	say_op(job, c);
	list(job);
	model_run(sim->model, &job->op, when);
}
