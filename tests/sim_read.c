/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_read.c - READs over the whole way, under virtual time
 *
 *	READ_SEED=N	of the random one; READ_OPS=N: how many
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/writeback/read.h"
#include "rpc/nfs3_prot.h"
#include "tests/sim_rig.h"
#include "tests/unit.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define CHUNK NFSWB_CHUNK_BYTES
#define PARALLEL 4

static struct rig *r;
static struct wb_handle *h;

struct reading {
	bool busy, done;
	int err;
	uint64_t offset;
	uint32_t length;
	struct read_result out;
};

static struct wb_handle *
open_it(const char *path, uint64_t read_ahead)
{
	struct wb_file_params params = { .wsize = 64 * KIB, .rsize = 64 * KIB,
					 .read_ahead = read_ahead,
					 .max_size = INT64_MAX };
	struct wb_file *f;
	struct wb_handle *handle;
	struct fh fh;

	CU_ASSERT_FATAL(nfssim_create(r->sim, path, &fh) >= 0);
	f = file_get(r->server, &fh, &params, path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	handle = handle_open(f, r->cred, O_RDWR);
	file_put(f);
	return handle;
}

static void
told(void *arg, int err, const struct read_result *out)
{
	struct reading *q = arg;

	q->done = true;
	q->err = err;
	if (out)
		q->out = *out;
}

static bool
is_done(void *arg)
{
	return ((struct reading *)arg)->done;
}

static void
flushed(void *arg, int err)
{
	(void)err;
	((struct rig_wait *)arg)->done = true;
}

/* As the daemon does: what is not at the server goes there first. */
static void
settle(uint64_t offset, uint32_t length)
{
	struct wb_file *f = handle_file(h);
	struct rig_wait w = { 0 };

	if (file_is_settled(f, offset, offset + length))
		return;
	file_flush_range(f, offset, length, loop_now(r->loop), flushed, &w);
	CU_ASSERT_EQUAL(rig_finish(r, &w), 0);
}

static void
start(struct reading *q, uint64_t offset, uint32_t length)
{
	int rc;

	memset(q, 0, sizeof *q);
	q->busy = true;
	q->offset = offset;
	q->length = length;
	rc = slab_read(r->slab, h, offset, length, file_size(handle_file(h)),
		       loop_now(r->loop), &q->out, told, q);
	if (rc) {
		q->done = true;
		q->err = rc < 0 ? rc : 0;
	}
}

/* Copies as the library does; -1: used anew meanwhile. */
static int64_t
copy(struct reading *q, unsigned char *to)
{
	uint32_t at = 0;
	unsigned i;

	for (i = 0; i < q->out.nr; i++) {
		const struct read_piece *p = &q->out.piece[i];

		if (p->place == NFSWB_PLACE_ZEROS)
			memset(to + at, 0, p->length);
		else
			memcpy(to + at, r->view.data + p->place, p->length);
		if (p->place != NFSWB_PLACE_ZEROS &&
		    !nfswb_mark_took(&r->view.mark[p->place / CHUNK], p->mark,
				     p->length))
			return -1;
		at += p->length;
	}
	return at;
}

static void
finish(struct reading *q)
{
	if (!vloop_run_until(r->loop, is_done, q, RIG_PATIENCE))
		q->err = -ETIME;
	q->busy = false;
}

/* ---- how fast ---- */

/* Microseconds to read all of a file of 32 MiB, 20 ms away. */
static uint64_t
time_to_read(uint64_t read_ahead, unsigned char *data)
{
	struct rig_options opt = { .slab_bytes = 64 * MIB,
				   .dirty_bytes = 64 * MIB,
				   .delay_usec = 20000 };
	static unsigned char got[MIB];
	struct reading q;
	uint64_t at, began;
	int64_t n;

	r = rig_new(&opt);
	h = open_it("f", read_ahead);
	rig_write(r, h, 0, data, 32 * MIB);
	CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	h = open_it("f", read_ahead);
	/* another client's change: nothing of it is cached here */
	file_server_attr(handle_file(h), 32 * MIB, 1, true);
	began = loop_now(r->loop);
	for (at = 0; at < 32 * MIB; at += (uint64_t)n) {
		start(&q, at, MIB);
		finish(&q);
		n = q.err ? -1 : copy(&q, got);
		CU_ASSERT_FATAL(n > 0 && !memcmp(got, data + at, (size_t)n));
	}
	began = loop_now(r->loop) - began;
	rig_free(r);
	return began;
}

static void
file_far_away_is_read_with_many_calls_in_flight(void)
{
	unsigned char *data = malloc(32 * MIB);
	uint64_t with, without;
	size_t i;

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	for (i = 0; i < 32 * MIB; i++)
		data[i] = (unsigned char)(i * 31 + (i >> 16));
	with = time_to_read(4 * MIB, data);
	without = time_to_read(0, data);
	printf("# 32 MiB, 20 ms away: %.2f s, %.2f s without read-ahead\n",
	       (double)with / 1e6, (double)without / 1e6);
	CU_ASSERT(with < 10 * 20000 + 32 / 4 * 20000 * 2);
	CU_ASSERT(with * 3 < without);
	free(data);
}

/* ---- beside writes, on a bad day ---- */

#define FILE_MAX (3 * MIB)

static unsigned char model[FILE_MAX];
static uint64_t model_size;
static bool bad_day;
static uint64_t verifier = 1000;

static void
on_call(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	static const enum nfssim_garbage garbage[] = {
		NFSSIM_NO_ATTRIBUTES, NFSSIM_FRAGMENTS, NFSSIM_OVERSIZED,
		NFSSIM_TRUNCATED, NFSSIM_NEGATIVE, NFSSIM_TOP_BIT, NFSSIM_HUGE,
		NFSSIM_EMPTY, NFSSIM_JUNK, NFSSIM_CALL };

	(void)arg;
	if (!bad_day)
		return;
	if (c->proc == NFSPROC3_WRITE && rand() % 60 == 0) {
		v->restart = NFSSIM_REPLIED;
		v->restart_verifier = ++verifier;
		return;
	}
	if (c->proc != NFSPROC3_READ)
		return;
	switch (rand() % 40) {
	case 0:
		v->copies = 1;
		break;
	case 1:
		v->reorder = 2;
		break;
	case 2:
		v->delay_usec = 90 * RIG_SECOND;	/* and sent again */
		break;
	case 3:
		v->cut = true;
		break;
	case 4:
		v->cut_half = true;
		break;
	case 5:
		v->cut_after = true;
		break;
	case 6:
		v->status = NFS3ERR_JUKEBOX;
		break;
	case 7:
		v->lose_reply = true;
		break;
	case 8:
	case 9:
		v->garbage = garbage[(size_t)rand() %
				     (sizeof garbage / sizeof *garbage)];
		break;
	default:
		break;
	}
}

static uint64_t
somewhere(void)
{
	return (uint64_t)rand() % (rand() % 3 ? model_size + 1 : FILE_MAX);
}

static void
do_write(void)
{
	static unsigned char buf[200 * KIB];
	uint64_t at = somewhere();
	size_t len = (size_t)rand() % (rand() % 2 ? 5000 : sizeof buf) + 1, i;

	if (at >= FILE_MAX)
		at = FILE_MAX - 1;
	if (len > FILE_MAX - at)
		len = FILE_MAX - at;
	for (i = 0; i < len; i++)
		buf[i] = (unsigned char)rand();
	rig_write(r, h, at, buf, len);
	memcpy(model + at, buf, len);
	if (at + len > model_size)
		model_size = at + len;
}

static void
do_truncate(void)
{
	uint64_t size = somewhere();

	CU_ASSERT_EQUAL(rig_truncate(r, h, size), 0);
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

/* What one READ says; false: ask again. */
static bool
check(struct reading *q, bool *right)
{
	static unsigned char got[FILE_MAX];
	uint64_t there = q->offset < model_size ? model_size - q->offset : 0;
	int64_t n, i;

	finish(q);
	if (q->err == -EIO || q->err == -ENOBUFS)
		return false;		/* garbage; no room */
	n = q->err ? -2 : copy(q, got);
	if (n == -1)
		return false;
	for (i = 0; i < n && i < FILE_MAX - (int64_t)q->offset; i++)
		if (got[i] != model[q->offset + (uint64_t)i])
			break;
	if (n >= 0 && (uint64_t)n <= there && i == n &&
	    (n > 0 || !there || !q->length))
		return true;
	printf("# READ %u at %llu of %llu: %lld, error %d, right up to %lld\n",
	       q->length, (unsigned long long)q->offset,
	       (unsigned long long)model_size, (long long)n, q->err,
	       (long long)i);
	*right = false;
	return true;
}

/* Some at a time; in sequence or anywhere. */
static bool
do_reads(uint64_t *next)
{
	struct reading q[PARALLEL];
	unsigned nr = (unsigned)rand() % PARALLEL + 1, i, tries;
	bool right = true, in_order = rand() % 2;

	if (in_order && *next >= model_size)
		*next = 0;
	for (i = 0; i < nr; i++) {
		uint32_t len = (uint32_t)rand() % (rand() % 2 ? 5000 :
						   300 * KIB) + 1;
		uint64_t at = in_order ? *next : somewhere();

		settle(at, len);
		start(&q[i], at, len);
		*next = at + len;
	}
	for (i = 0; i < nr; i++)
		for (tries = 0; !check(&q[i], &right) && tries < 50; tries++) {
			settle(q[i].offset, q[i].length);
			start(&q[i], q[i].offset, q[i].length);
		}
	return right;
}

static void
what_is_read_is_what_was_written_whatever_the_server_does(void)
{
	struct rig_options opt = { .slab_bytes = MIB, .dirty_bytes = 2 * MIB,
				   .late_duplicate_usec = RIG_SECOND };
	const char *env = getenv("READ_SEED"), *ops = getenv("READ_OPS");
	unsigned seed = env ? (unsigned)atoi(env) : (unsigned)getpid();
	unsigned nr = ops ? (unsigned)atoi(ops) : 3000, i;
	const struct server_stats *st;
	uint64_t next = 0;
	bool right = true;

	printf("# READ_SEED=%u\n", seed);
	srand(seed);
	opt.seed = seed + 1;
	memset(model, 0, sizeof model);
	model_size = 0;
	r = rig_new(&opt);
	h = open_it("f", 256 * KIB);
	file_server_attr(handle_file(h), 0, 1, true);
	nfssim_set_fault(r->sim, on_call, NULL);
	for (i = 0; i < nr && right; i++) {
		bad_day = rand() % 4;
		switch (rand() % 16) {
		case 0:
		case 1:
		case 2:
		case 3:
			do_write();
			break;
		case 4:
			if (rand() % 4 == 0)
				do_truncate();
			break;
		case 5:
			CU_ASSERT_EQUAL(rig_fsync(r, h), 0);
			break;
		case 6:
			rig_pass(r, (uint64_t)rand() % (7 * RIG_SECOND));
			break;
		default:
			right = do_reads(&next);
		}
	}
	CU_ASSERT(right);
	if (!right)
		printf("# at operation %u\n", i);
	bad_day = false;
	CU_ASSERT_EQUAL(rig_close(r, h), 0);
	CU_ASSERT(rig_is(r, "f", NFSSIM_STABLE, model, model_size));
	st = rig_stats(r);
	printf("# hits %llu, waits %llu, misses %llu, wasted %llu of %llu\n",
	       (unsigned long long)st->read.hits,
	       (unsigned long long)st->read.waits,
	       (unsigned long long)st->read.misses,
	       (unsigned long long)st->read.wasted_bytes,
	       (unsigned long long)st->read.ahead_bytes);
	CU_ASSERT(st->read.hits > 0 && st->read.misses > 0);
	rig_free(r);
}

UNIT_TESTS(sim_read,
	UNIT(file_far_away_is_read_with_many_calls_in_flight),
	UNIT(what_is_read_is_what_was_written_whatever_the_server_does),
)
