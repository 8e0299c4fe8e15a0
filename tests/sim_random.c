/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_random.c - random writers on a random network, against plain memory
 *
 * Each seed is a run of its own: a few files, writes, fsyncs, truncates and
 * closes at random, while the server loses, delays, holds, repeats and refuses
 * calls, cuts connections, restarts and forgets.  Whenever fsync answers 0, what
 * is on the server's stable storage must be what plain memory says; no two
 * WRITEs in flight may overlap; at the end all must be there and nothing left
 * behind.
 *
 *	SIM_SEED=N	this one only; its log with SIM_VERBOSE=1
 *	SIM_SEEDS=N	so many, from 1 on
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/nfs3_prot.h"
#include "tests/random.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"

#define FILES 3
#define FILE_BYTES 300000u
#define STEPS 200
#define SEEDS 40

struct model {
	char path[4];
	struct wb_handle *h;
	unsigned char data[FILE_BYTES];
	uint64_t size;
};

static struct rig *r;
static struct model file[FILES];
static uint64_t state;		/* of the random numbers */
static bool calm;		/* no more faults */
static uint64_t trace;		/* a sum over all calls that came */

static uint64_t
any(uint64_t below)
{
	return random_next(&state, below);
}

static bool
in_1000(unsigned permille)
{
	return any(1000) < permille;
}

/* the server's moods */

static void
data_fault(const struct nfssim_call *c, struct nfssim_verdict *v)
{
	if (in_1000(15))
		v->status = NFS3ERR_JUKEBOX;
	else if (in_1000(4))
		v->status = NFS3ERR_NOSPC;
	if (c->proc != NFSPROC3_WRITE)
		return;
	if (in_1000(30))
		v->short_count = 1 + (uint32_t)any(c->count);
	if (in_1000(30))
		v->sync = true;
	if (in_1000(8))
		v->hold_usec = any(8 * RIG_SECOND);
}

static void
fault(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	trace = (trace ^ c->xid ^ c->proc ^ c->offset ^ c->count ^
		 loop_now(r->loop)) * 1099511628211ull;
	if (calm)
		return;
	if (c->proc == NFSPROC3_WRITE || c->proc == NFSPROC3_COMMIT)
		data_fault(c, v);
	v->lose_call = in_1000(10);
	v->lose_reply = in_1000(10);
	v->copies = in_1000(5);
	v->cut = in_1000(6);
	if (in_1000(50))
		v->delay_usec = any(3 * RIG_SECOND);
	if (in_1000(5))
		nfssim_cut_after(r->sim, 1 + any(100000));
	if (in_1000(6))
		nfssim_restart(r->sim, 1 + any(1 << 30));
}

/* the application's */

static void
step_write(struct model *m)
{
	static unsigned char data[70000];
	uint64_t offset = any(FILE_BYTES - sizeof data);
	size_t len = 1 + any(any(3) ? 2000 : sizeof data), i;
	int64_t n = 0;

	if (any(3) == 0 && m->size + len <= FILE_BYTES)
		offset = m->size;
	for (i = 0; i < len; i++)
		data[i] = (unsigned char)any(256);
	if (any(4)) {
		rig_write(r, m->h, offset, data, len);
		n = (int64_t)len;
	} else {
		n = rig_write_inline(r, m->h, offset, data, len);
		CU_ASSERT_FATAL(n >= 0);
	}
	memcpy(m->data + offset, data, (size_t)n);
	if (n > 0 && offset + (uint64_t)n > m->size)
		m->size = offset + (uint64_t)n;
}

static void
check_stable(struct model *m)
{
	CU_ASSERT_FATAL(rig_is(r, m->path, NFSSIM_STABLE, m->data,
			       (size_t)m->size));
}

static void
step_fsync(struct model *m)
{
	int err = rig_fsync(r, m->h);

	CU_ASSERT_FATAL(err == 0 || err == -ENOSPC);
	if (!err)
		check_stable(m);
}

/* Each byte of stable storage is what it was at the fsync, or what one of the
   writes since has made of it. */
static void
check_stable_since(struct model *m, unsigned char since[][FILE_BYTES],
		   unsigned nr, uint64_t size)
{
	static unsigned char there[FILE_BYTES];
	int64_t n = nfssim_read(r->sim, m->path, NFSSIM_STABLE, 0, there,
				sizeof there);
	uint64_t i;
	unsigned k;

	CU_ASSERT_FATAL(n >= (int64_t)size);
	for (i = 0; i < (uint64_t)n; i++) {
		for (k = 0; k < nr && since[k][i] != there[i]; k++)
			;
		if (k == nr)
			CU_FAIL_FATAL("fsync was a lie");
	}
}

/* fsync asked, more written before it answers. */
static void
step_fsync_beside(struct model *m)
{
	enum { NR = 5 };
	static unsigned char since[NR + 1][FILE_BYTES];
	uint64_t size = m->size;
	struct rig_wait w;
	unsigned i;
	int err;

	memcpy(since[0], m->data, FILE_BYTES);
	rig_fsync_start(r, m->h, &w);
	for (i = 1; i <= NR && !w.done; i++) {
		rig_pass(r, any(1000));
		if (w.done)
			break;
		step_write(m);
		memcpy(since[i], m->data, FILE_BYTES);
	}
	err = rig_finish(r, &w);
	CU_ASSERT_FATAL(err == 0 || err == -ENOSPC);
	if (!err)
		check_stable_since(m, since, i, size);
}

static void
step_truncate(struct model *m)
{
	uint64_t size = any(FILE_BYTES);
	struct rig_wait w;

	rig_truncate_start(r, m->h, size, &w);
	if (size < m->size)
		memset(m->data + size, 0, FILE_BYTES - size);
	m->size = size;
	while (any(2))
		step_write(m);
	CU_ASSERT_EQUAL_FATAL(rig_finish(r, &w), 0);
}

/* Closes only what an fsync has just brought home: a close that fails gives
   its data up, and plain memory does not know which. */
static void
step_reopen(struct model *m)
{
	if (rig_fsync(r, m->h))
		return;
	CU_ASSERT_EQUAL_FATAL(rig_close(r, m->h), 0);
	check_stable(m);
	m->h = rig_open(r, m->path);
}

static void
step(void)
{
	struct model *m = &file[any(FILES)];
	uint64_t what = any(100);

	if (what < 70)
		step_write(m);
	else if (what < 78)
		step_fsync(m);
	else if (what < 82)
		step_fsync_beside(m);
	else if (what < 86)
		step_truncate(m);
	else if (what < 89)
		step_reopen(m);
	else if (what < 91)
		nfssim_restart(r->sim, 1 + any(1 << 30));
	else
		rig_pass(r, any(any(2) ? 1000 : 5 * RIG_SECOND));
}

static void
bring_home(struct model *m)
{
	unsigned tries = 0;
	int err;

	do
		err = rig_fsync(r, m->h);
	while (err == -ENOSPC && ++tries < 3);
	CU_ASSERT_EQUAL_FATAL(err, 0);
	check_stable(m);
	CU_ASSERT_EQUAL(rig_close(r, m->h), 0);
}

static void
run_seed(uint64_t seed, unsigned connection_nr)
{
	struct rig_options opt = {
		.slab_bytes = 1 << 20, .dirty_bytes = 700000,
		.congestion_bytes = 1 << 19, .wsize = 16384, .slot_nr = 16,
		.timeo_ds = 10, .seed = seed, .connection_nr = connection_nr,
	};
	unsigned i;

	printf("# seed %" PRIu64 ", %u connection%s\n", seed, connection_nr,
	       connection_nr == 1 ? "" : "s");
	state = random_start(seed);
	calm = false;
	trace = 0;
	memset(file, 0, sizeof file);
	r = rig_new(&opt);
	for (i = 0; i < FILES; i++) {
		snprintf(file[i].path, sizeof file[i].path, "f%u", i);
		file[i].h = rig_open(r, file[i].path);
	}
	nfssim_set_fault(r->sim, fault, NULL);
	for (i = 0; i < STEPS; i++)
		step();
	calm = true;
	for (i = 0; i < FILES; i++)
		bring_home(&file[i]);
	CU_ASSERT_EQUAL(wb_left_bytes(r->wb), 0);
	CU_ASSERT_EQUAL(r->given_up_bytes, 0);
	CU_ASSERT_EQUAL(nfssim_stats(r->sim)->overlapping_writes, 0);
	CU_ASSERT_EQUAL(wb_stats(r->wb, 0)->reclaim.reclaim_writes, 0);
	CU_ASSERT(r->most_dirtied <= r->opt.dirty_bytes);
	/* what was held, late or repeated must not change that */
	rig_pass(r, 60 * RIG_SECOND);
	for (i = 0; i < FILES; i++) {
		check_stable(&file[i]);
		CU_ASSERT(rig_is(r, file[i].path, NFSSIM_VOLATILE,
				 file[i].data, (size_t)file[i].size));
	}
	rig_free(r);
}

static uint64_t
from_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static unsigned
one(uint64_t seed)
{
	(void)seed;
	return 1;
}

static unsigned
several(uint64_t seed)
{
	return 2 + (unsigned)(seed % 15);
}

static void
run_seeds(unsigned (*connection_nr)(uint64_t seed))
{
	uint64_t seed = from_env("SIM_SEED", 0), to;

	if (seed) {
		run_seed(seed, connection_nr(seed));
		return;
	}
	to = from_env("SIM_SEEDS", SEEDS);
	for (seed = 1; seed <= to; seed++)
		run_seed(seed, connection_nr(seed));
}

static void
stable_storage_agrees_with_plain_memory(void)
{
	run_seeds(one);
}

static void
so_it_does_over_2_to_16_connections(void)
{
	run_seeds(several);
}

static void
same_seed_does_the_same_again(void)
{
	uint64_t first;

	run_seed(7, 4);
	first = trace;
	run_seed(7, 4);
	CU_ASSERT_EQUAL(trace, first);
	run_seed(8, 4);
	CU_ASSERT_NOT_EQUAL(trace, first);
}

UNIT_TESTS(sim_random,
	UNIT(stable_storage_agrees_with_plain_memory),
	UNIT(so_it_does_over_2_to_16_connections),
	UNIT(same_seed_does_the_same_again),
)
