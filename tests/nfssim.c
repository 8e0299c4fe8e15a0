/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim.c - the server as a whole: made, restarted, asked */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_int.h"

#define MIB (1u << 20)

static void
set_default(uint32_t *value, uint32_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

struct nfssim *
nfssim_new(struct loop *loop, const struct nfssim_options *opt)
{
	struct nfssim *sim = calloc(1, sizeof *sim);

	if (!sim)
		return NULL;
	sim->loop = loop;
	sim->opt = *opt;
	set_default(&sim->opt.wtmax, MIB);
	set_default(&sim->opt.wtpref, sim->opt.wtmax);
	set_default(&sim->opt.rtmax, MIB);
	set_default(&sim->opt.rtpref, sim->opt.rtmax);
	sim->verifier = opt->verifier ? opt->verifier : 1;
	TAILQ_INIT(&sim->conns);
	TAILQ_INIT(&sim->dead);
	TAILQ_INIT(&sim->late);
	TAILQ_INIT(&sim->flying);
	TAILQ_INIT(&sim->mounted);
	sim->export = strdup(opt->export ? opt->export : "/export");
	sim->bury = loop_deferred(loop, conn_bury_dead, sim);
	if (!sim->export || !sim->bury ||
	    store_init(&sim->store, opt->discard) < 0) {
		loop_deferred_free(loop, sim->bury);
		free(sim->export);
		free(sim);
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
	conn_bury_dead(sim);
	sim_forget_flying(sim);
	sim_forget_mounted(sim);
	loop_watch_free(sim->loop, sim->listener);
	loop_deferred_free(sim->loop, sim->bury);
	store_free(&sim->store);
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
	store_forget_volatile(&sim->store);
	sim->verifier = new_verifier;
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
