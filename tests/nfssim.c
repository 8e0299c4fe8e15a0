/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim.c - the server as a whole: made, restarted, asked */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_backing.h"
#include "tests/nfssim_int.h"

#define MIB (1u << 20)

static void
set_default(uint32_t *value, uint32_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

/* What a file's end was is no matter for the model any more. */
static void
node_gone(void *arg, uint64_t id)
{
	struct nfssim *sim = arg;

	if (sim->model)
		model_truncate(sim->model, id, 0);
}

static void
set_defaults(struct nfssim *sim)
{
	struct nfssim_options *o = &sim->opt;

	set_default(&o->wtmax, MIB);
	set_default(&o->wtpref, o->wtmax);
	set_default(&o->rtmax, MIB);
	set_default(&o->rtpref, o->rtmax);
	sim->fsinfo = (struct nfssim_fsinfo){
		.rtmax = o->rtmax, .rtpref = o->rtpref, .rtmult = 4096,
		.wtmax = o->wtmax, .wtpref = o->wtpref, .wtmult = 4096,
		.dtpref = 65536, .maxfilesize = INT64_MAX,
		.properties = FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS |
			      FSF3_CANSETTIME,
	};
	sim->verifier = o->verifier ? o->verifier : 1;
	sim->full_bytes = UINT64_MAX;
}

static int
make_parts(struct nfssim *sim)
{
	const struct nfssim_options *o = &sim->opt;

	sim->export = strdup(o->export ? o->export : "/export");
	sim->bury = loop_deferred(sim->loop, conn_bury_dead, sim);
	if (!sim->export || !sim->bury)
		return -1;
	if (o->store && !(sim->backing = backing_open(o->store)))
		return -1;
	if (store_init(&sim->store, o->discard, sim->backing) < 0)
		return -1;
	sim->store.gone = node_gone;
	sim->store.gone_arg = sim;
	if (o->model && !(sim->model = model_new(sim->loop, o->model)))
		return -1;
	return 0;
}

struct nfssim *
nfssim_new(struct loop *loop, const struct nfssim_options *opt)
{
	struct nfssim *sim = calloc(1, sizeof *sim);

	if (!sim)
		return NULL;
	sim->loop = loop;
	sim->opt = *opt;
	sim->start_usec = loop_now(loop);
	set_defaults(sim);
	TAILQ_INIT(&sim->conns);
	TAILQ_INIT(&sim->dead);
	TAILQ_INIT(&sim->late);
	TAILQ_INIT(&sim->flying);
	TAILQ_INIT(&sim->mounted);
	TAILQ_INIT(&sim->jobs);
	TAILQ_INIT(&sim->drc_order);
	if (make_parts(sim) < 0) {
		nfssim_free(sim);
		return NULL;
	}
	return sim;
}

void
nfssim_free(struct nfssim *sim)
{
	if (!sim)
		return;
	nfssim_cut(sim);
	conn_drop_late(sim, true);
	sim_jobs_drop(sim);
	conn_bury_dead(sim);
	sim_forget_flying(sim);
	sim_forget_mounted(sim);
	drc_forget(sim);
	script_free(sim);
	access_free(sim);
	loop_watch_free(sim->loop, sim->listener);
	loop_deferred_free(sim->loop, sim->bury);
	store_free(&sim->store);
	model_free(sim->model);
	backing_free(sim->backing);
	free(sim->export);
	free(sim);
}

void
nfssim_set_fault(struct nfssim *sim, nfssim_fault_fn *fn, void *arg)
{
	sim->opt.fault = fn;
	sim->opt.fault_arg = arg;
}

void
nfssim_set_delay(struct nfssim *sim, uint64_t usec)
{
	sim->opt.delay_usec = usec;
}

void
nfssim_cut(struct nfssim *sim)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&sim->conns)))
		conn_close(c);
}

void
nfssim_cut_after(struct nfssim *sim, uint64_t bytes)
{
	sim->cut_after = bytes;
}

void
nfssim_restart(struct nfssim *sim, uint64_t new_verifier)
{
	nfssim_cut(sim);
	conn_drop_late(sim, true);
	sim_jobs_drop(sim);
	drc_forget(sim);
	store_forget_volatile(&sim->store);
	sim->verifier = new_verifier;
	sim->stats.restarts++;
}

void
nfssim_set_verifier(struct nfssim *sim, uint64_t verifier)
{
	sim->verifier = verifier;
}

void
nfssim_set_up(struct nfssim *sim, bool up)
{
	sim->down = !up;
	if (sim->down)
		nfssim_cut(sim);
}

void
nfssim_set_port(struct nfssim *sim, unsigned port)
{
	sim->port = port;
}

void
nfssim_set_full(struct nfssim *sim, uint64_t bytes)
{
	sim->full_bytes = bytes;
}

struct nfssim_fsinfo *
nfssim_fsinfo(struct nfssim *sim)
{
	return &sim->fsinfo;
}

struct model *
nfssim_model(struct nfssim *sim)
{
	return sim->model;
}

const struct nfssim_stats *
nfssim_stats(const struct nfssim *sim)
{
	return &sim->stats;
}

const char *
nfssim_proc_name(uint32_t proc)
{
	return nfs3_proc_name(proc);
}

/* queries */

static int
find(struct nfssim *sim, const char *path, struct node **out)
{
	nfsstat3 st = store_walk(&sim->store, path, out);

	return st == NFS3_OK ? 0 : nfs3_errno(st);
}

int
nfssim_lookup(struct nfssim *sim, const char *path, struct fh *fh)
{
	struct node *n;
	int err = find(sim, path, &n);

	if (!err)
		store_fh(&sim->store, n, fh);
	return err;
}

static int
make(struct nfssim *sim, const char *path, ftype3 type, struct fh *fh)
{
	const char *slash = strrchr(path, '/');
	char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	struct node *parent, *n;
	nfsstat3 st;

	if (!dir)
		return -ENOMEM;
	st = store_walk(&sim->store, dir, &parent);
	free(dir);
	path = slash ? slash + 1 : path;
	if (st == NFS3_OK)
		st = store_make(&sim->store, parent, path, type, NULL, &n);
	if (st == NFS3ERR_EXIST)
		st = store_lookup(&sim->store, parent, path, &n);
	if (st != NFS3_OK)
		return nfs3_errno(st);
	n->mode |= 0666;
	store_fh(&sim->store, n, fh);
	return 0;
}

int
nfssim_create(struct nfssim *sim, const char *path, struct fh *fh)
{
	return make(sim, path, NF3REG, fh);
}

int
nfssim_mkdir(struct nfssim *sim, const char *path, struct fh *fh)
{
	return make(sim, path, NF3DIR, fh);
}

int64_t
nfssim_size(struct nfssim *sim, const char *path, enum nfssim_which which)
{
	struct node *n;
	int err = find(sim, path, &n);

	if (err)
		return err;
	return (int64_t)(which == NFSSIM_STABLE ? n->contents.stable_size :
						  n->contents.size);
}

int64_t
nfssim_read(struct nfssim *sim, const char *path, enum nfssim_which which,
	    uint64_t offset, void *buf, size_t len)
{
	struct node *n;
	int err = find(sim, path, &n);

	if (err)
		return err;
	return (int64_t)contents_read(&n->contents, which == NFSSIM_STABLE,
				      offset, buf, len);
}

int64_t
nfssim_unstable_bytes(struct nfssim *sim, const char *path)
{
	struct node *n;
	int err = find(sim, path, &n);

	return err ? err : (int64_t)n->contents.unstable.bytes;
}
