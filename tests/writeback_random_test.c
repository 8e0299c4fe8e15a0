/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * writeback_random_test.c - the pipeline against a model and a bad server
 *
 * Two sessions write, append, cut and sync three files at random.  The server
 * keeps stable and volatile contents apart, carries out and answers calls in any
 * order, briefly, twice, late, later again, not at all, and forgets.  The daemon
 * dies and another takes its memory.  After each fsync that says 0, every byte
 * that was written before it and not changed since must be stable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/writeback/throttle.h"
#include "daemon/writeback/truncate.h"
#include "tests/unit.h"
#include "tests/wb_bench.h"

#define MAX	150000u
#define FILES	3u
#define LATE_NR	512u
#define CHANGES	6u			/* remembered of each byte */
#define LATE_USEC 9900000u

struct contents {
	unsigned char byte[MAX];
	uint32_t size;
};

static struct model {
	struct contents want, now, stable;	/* now: in the server's memory */
	struct change {				/* of a byte, newest first */
		unsigned step;
		bool cut;
		unsigned char value, session;
	} change[MAX][CHANGES];
	unsigned failures;			/* the server's, so far */
	uint64_t ctime;
} model[FILES];

/* A call that the server has carried out, to be answered. */
static struct executed {
	struct wb_call *call;
	int err;
	uint32_t written;
	enum wb_stable committed;
	unsigned verf;
	uint64_t size, ctime;
} executed[BENCH_CALLS];
static unsigned executed_nr;

/* A copy of a call that will arrive after its answer. */
static struct late {
	unsigned file;
	bool setsize;
	uint64_t offset, deadline;
	uint32_t length;
	unsigned char *data;
} late[LATE_NR];
static unsigned late_nr;

static struct opened {
	struct wb_handle *h;
	unsigned file;
	bool waiting;
	unsigned since;			/* the step of its fsync */
	unsigned failures;		/* seen before it */
} opened[2][FILES];
static bool cut_waits[FILES];

static struct bench b;
static unsigned char fill;
static unsigned verf, step, active;	/* active: the session that writes */
static bool kind;			/* the server refuses nothing now */
static bool ok;

static unsigned
any(unsigned below)
{
	return (unsigned)random() % below;
}

static bool
chance(unsigned percent)
{
	return any(100) < percent;
}

static void
wrong(const char *what, unsigned file)
{
	if (ok)
		printf("# step %u, file %u: %s\n", step, file, what);
	ok = false;
}

/* ---- contents ---- */

static void
put(struct contents *c, uint64_t offset, const void *data, uint32_t length)
{
	if (offset + length > MAX)
		return;			/* a hostile client's */
	memcpy(c->byte + offset, data, length);
	if (offset + length > c->size)
		c->size = (uint32_t)(offset + length);
}

static void
resize(struct contents *c, uint64_t size)
{
	if (size < c->size)
		memset(c->byte + size, 0, c->size - size);
	c->size = (uint32_t)size;
}

/* ---- late copies ---- */

static void
copy_kept(const struct wb_call *c, uint64_t now)
{
	struct late *l = &late[late_nr];
	uint32_t at = 0;
	int i;

	if (late_nr == LATE_NR || c->kind == WB_CALL_COMMIT)
		return;
	memcpy(&l->file, c->fh->data, sizeof l->file);
	l->setsize = c->kind == WB_CALL_SETSIZE;
	l->offset = c->offset;
	l->length = l->setsize ? 0 : c->count;
	l->deadline = now + LATE_USEC;
	l->data = malloc(l->length + 1);
	for (i = 0; !l->setsize && i < c->iov_nr; i++) {
		memcpy(l->data + at, c->iov[i].iov_base, c->iov[i].iov_len);
		at += (uint32_t)c->iov[i].iov_len;
	}
	late_nr++;
}

static void
late_land(unsigned i)
{
	struct late *l = &late[i];
	struct model *m = &model[l->file];

	if (l->setsize) {
		resize(&m->now, l->offset);
		resize(&m->stable, l->offset);
	} else {
		put(&m->now, l->offset, l->data, l->length);
	}
	free(l->data);
	*l = late[--late_nr];
}

static void
late_until(uint64_t now)
{
	unsigned i = 0;

	while (i < late_nr)
		if (late[i].deadline <= now)
			late_land(i);
		else
			i++;
}

/* ---- the server ---- */

static void
execute_write(struct model *m, struct executed *x)
{
	const struct wb_call *c = x->call;
	uint32_t left, n;
	uint64_t at = c->offset;
	int i;

	x->written = c->count;
	x->committed = c->stable;
	if (!kind) {
		if (chance(4))
			x->written = any(c->count);
		if (chance(5))
			x->committed = WB_FILE_SYNC;
	}
	left = x->written;
	for (i = 0; i < c->iov_nr && left; i++) {
		n = (uint32_t)c->iov[i].iov_len;
		n = n < left ? n : left;
		put(&m->now, at, c->iov[i].iov_base, n);
		if (x->committed != WB_UNSTABLE)
			put(&m->stable, at, c->iov[i].iov_base, n);
		at += n;
		left -= n;
	}
}

static int
refusal(enum wb_call_kind k)
{
	if (kind)
		return 0;
	if (chance(4))
		return -EAGAIN;
	if (k == WB_CALL_SETSIZE || !chance(1))
		return 0;
	return k == WB_CALL_WRITE ? -ENOSPC : -EIO;
}

static void
execute(struct wb_call *c)
{
	struct executed *x = &executed[executed_nr++];
	unsigned file;
	struct model *m;

	memcpy(&file, c->fh->data, sizeof file);
	m = &model[file];
	*x = (struct executed) { .call = c, .verf = verf,
				 .err = refusal(c->kind) };
	if (x->err == 0 && c->kind == WB_CALL_COMMIT) {
		m->stable = m->now;
	} else if (!x->err && c->kind == WB_CALL_WRITE) {
		execute_write(m, x);
	} else if (!x->err) {
		resize(&m->now, c->offset);
		resize(&m->stable, c->offset);
	}
	x->size = m->now.size;
	x->ctime = ++m->ctime;
}

static void
answer(unsigned i)
{
	struct executed x = executed[i];
	struct wb_call *c = x.call;

	unsigned file;

	executed[i] = executed[--executed_nr];
	memcpy(&file, c->fh->data, sizeof file);
	model[file].failures += x.err && x.err != -EAGAIN;
	c->err = x.err;
	c->nfs_status = (uint32_t)-x.err;
	c->written = x.written;
	c->committed = x.committed;
	c->have_size = 1;
	c->size_after = x.size;
	c->ctime_nsec = x.ctime;
	c->transmissions = 1;
	memset(c->verf, 0, WB_VERF);
	memcpy(c->verf, &x.verf, sizeof x.verf);
	if (!kind && chance(3)) {
		c->transmissions = 2;
		copy_kept(c, b.now);
	}
	c->done(c, b.now);
	bench_turn(&b);
}

static void
restart(void)
{
	unsigned i;

	for (i = 0; i < FILES; i++)
		model[i].now = model[i].stable;
	verf++;
}

static void
serve_all(void)
{
	while (b.call_nr || executed_nr) {
		while (b.call_nr)
			execute(bench_take(&b, 0));
		while (executed_nr)
			answer(executed_nr - 1);
	}
}

/* ---- the applications ---- */

static void
use_session(unsigned s)
{
	if (s != active)
		bench_swap(&b);
	active = s;
}

static void
open_all(void)
{
	unsigned s, f;

	for (s = 0; s < 2; s++)
		for (f = 0; f < FILES; f++)
			opened[s][f] = (struct opened) {
				.file = f,
				.h = bench_open(&b, f, 10 + s, O_RDWR |
						(f == 2 && s ? O_APPEND : 0)),
			};
}

/* Time passes until there is room; what is short comes back. */
static void
make_room(unsigned tries)
{
	static struct bench_done retried;

	serve_all();
	if (b.slab->bytes[EXTENT_FAILED] && tries % 4 == 3)
		slab_retry_failed(b.slab, b.now, bench_done, &retried);
	late_until(b.now + 2000000);
	bench_advance(&b, 2000000);
}

static void
changed(struct model *m, uint32_t i, bool cut, unsigned session)
{
	struct change *c = m->change[i];

	memmove(c + 1, c, (CHANGES - 1) * sizeof *c);
	*c = (struct change) { step, cut, cut ? 0 : fill,
			       (unsigned char)session };
}

static void
wants(struct model *m, uint32_t off, uint32_t len, unsigned session)
{
	uint32_t i;

	fill = (unsigned char)(fill % 255 + 1);
	memset(m->want.byte + off, fill, len);
	if (off + len > m->want.size)
		m->want.size = off + len;
	for (i = off; i < off + len; i++)
		changed(m, i, false, session);
}

static void
write_some(unsigned s, unsigned file)
{
	struct model *m = &model[file];
	struct wb_handle *h = opened[s][file].h;
	uint32_t len = any(20) ? any(9000) + 1 : any(60000) + 1;
	uint32_t done = 0, off = any(MAX - len);
	unsigned tries = 0;
	bool was = kind;

	if (!any(3))
		len = any(5) + 1;
	if (h->oflags & O_APPEND) {
		if (m->want.size + len > MAX)
			return;
		off = m->want.size;
	}
	wants(m, off, len, s);
	use_session(s);
	while (ok && (done += bench_write_some(&b, h, off + done, len - done,
					       fill)) < len) {
		kind = true;
		make_room(tries);
		if (++tries > 2000)
			wrong("no room comes", file);
	}
	kind = was;
}

/* Is this value what was there at that step, or newer? */
static bool
stable_since(const struct change *c, unsigned since, unsigned char value)
{
	bool found = false;
	unsigned i;

	for (i = 0; i < CHANGES; i++, c++) {
		if (!c->step || c->cut)
			return true;	/* nothing was promised */
		found |= c->value == value;
		if (c->step <= since)
			return found;
	}
	return true;			/* too long ago to tell */
}

static void
check_stable(unsigned file, unsigned since)
{
	const struct model *m = &model[file];
	uint32_t i;

	for (i = 0; i < MAX && ok; i++)
		if (!stable_since(m->change[i], since, m->stable.byte[i]))
			wrong("fsync said 0 of what is not stable", file);
}

static void
synced(void *arg, int err)
{
	struct opened *o = arg;

	o->waiting = false;
	if (!err)
		check_stable(o->file, o->since);
	else if (o->failures == model[o->file].failures)
		wrong("fsync fails, the server did not", o->file);
	o->failures = model[o->file].failures;
}

static void
sync_some(unsigned s, unsigned file)
{
	struct opened *o = &opened[s][file];

	if (o->waiting)
		return;
	o->waiting = true;
	o->since = step;
	handle_fsync(o->h, b.now, synced, o);
	bench_turn(&b);
}

static void
cut(void *arg, int err)
{
	unsigned file = (unsigned)((bool *)arg - cut_waits);

	cut_waits[file] = false;
	if (err)
		wrong("truncate failed", file);
}

static void
truncate_some(unsigned s, unsigned file)
{
	struct model *m = &model[file];
	uint32_t size = any(MAX), i;

	if (cut_waits[file])
		return;
	cut_waits[file] = true;
	handle_truncate(opened[s][file].h, size, b.now, cut,
			&cut_waits[file]);
	resize(&m->want, size);
	for (i = size; i < MAX; i++)
		changed(m, i, true, s);
	bench_turn(&b);
}

static void
read_some(unsigned s, unsigned file)
{
	static unsigned char buf[MAX];
	struct model *m = &model[file];
	uint32_t off, len, i;

	if (cut_waits[file])
		return;
	if (file_size(handle_file(opened[s][file].h)) != m->want.size)
		wrong("the size is not what it was made", file);
	if (!m->want.size)
		return;
	off = any(m->want.size);
	len = any(m->want.size - off) + 1;
	if (any(2))
		len = len % 500 + 1 < m->want.size - off ? len % 500 + 1 : 1;
	if (!file_read_cached(handle_file(opened[s][file].h),
			      opened[s][file].h->cred, off, len, buf))
		return;
	if (memcmp(buf, m->want.byte + off, len))
		wrong("what is cached is not what was written", file);
	for (i = off; i < off + len; i++)
		if (m->change[i][0].session != s)
			wrong("another user's bytes were read", file);
}

/* ---- the daemon's death ---- */

static struct wb_handle *
file_of(void *arg, uint32_t file)
{
	struct opened *o = arg;

	return file < FILES ? o[file].h : NULL;
}

static void
import(struct slab *mine, struct slab *other)
{
	struct slab *s[2] = { active ? other : mine, active ? mine : other };
	uint64_t next[2];
	unsigned i, which, tries = 0;

	for (i = 0; i < 2; i++)
		if (slab_import_begin(s[i], file_of, opened[i], UINT64_MAX))
			wrong("the list is refused", 0);
	while (ok) {
		next[0] = slab_import_next(s[0]);
		next[1] = slab_import_next(s[1]);
		if (!next[0] && !next[1])
			break;
		which = !next[0] || (next[1] && next[1] < next[0]);
		if (!slab_import_one(s[which], b.now))
			continue;
		if (++tries > 1000)
			wrong("the import gets no slot", 0);
		make_room(tries);
	}
	for (i = 0; i < 2; i++)
		slab_serve(s[i], b.now);
}

static void
die(void)
{
	unsigned i, f;
	bool was = kind;

	for (f = 0; f < FILES; f++)
		if (cut_waits[f])
			return;		/* the library would ask again */
	late_until(UINT64_MAX);
	for (i = 0; i < b.call_nr; i++)
		if (chance(70))
			copy_kept(b.call[i], b.now);
	executed_nr = 0;
	bench_crash(&b);
	open_all();
	for (f = 0; f < FILES; f++) {
		opened[0][f].failures = opened[1][f].failures =
		    model[f].failures;
		file_server_attr(handle_file(opened[0][f].h),
				 model[f].now.size, ++model[f].ctime, true);
	}
	kind = true;
	import(b.slab, b.other.slab);
	kind = was;
	bench_turn(&b);
}

/* ---- all of it ---- */

static void
pass_time(void)
{
	uint64_t usec = any(40) ? any(30000) : 11000000;

	late_until(b.now + usec);
	bench_advance(&b, usec);
}

static void
one_step(void)
{
	unsigned s = any(2), file = any(FILES);

	switch (any(24)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		write_some(s, file);
		break;
	case 6: case 7: case 8: case 9: case 10:
		if (b.call_nr)
			execute(bench_take(&b, any(b.call_nr)));
		break;
	case 11: case 12: case 13: case 14: case 15:
		if (executed_nr)
			answer(any(executed_nr));
		break;
	case 16: case 17:
		sync_some(s, file);
		break;
	case 18:
		if (!any(4))
			truncate_some(s, file);
		break;
	case 19:
		if (!any(16))
			restart();
		break;
	case 20:
		pass_time();
		break;
	case 21:
		if (!any(60))
			die();
		break;
	case 22:
		if (late_nr)
			late_land(any(late_nr));
		break;
	case 23:
		read_some(s, file);
		break;
	}
}

static void
settle(void)
{
	unsigned i, f, s;

	kind = true;
	for (i = 0; i < 60 && ok; i++) {
		for (f = 0; f < FILES; f++)
			for (s = 0; s < 2; s++)
				sync_some(s, f);
		make_room(0);
		}
	for (f = 0; f < FILES && ok; f++) {
		for (s = 0; s < 2; s++)
			if (opened[s][f].waiting)
				wrong("a fsync never ends", f);
		if (cut_waits[f])
			wrong("a truncation never ends", f);
		if (model[f].stable.size != model[f].want.size ||
		    memcmp(model[f].stable.byte, model[f].want.byte, MAX))
			wrong("not what was written in the end", f);
	}
	if (wb_left_bytes(b.wb))
		wrong("bytes are left", 0);
}

static void
start_with(struct bench_options o)
{
	unsigned seed = (unsigned)time(NULL);
	const char *given = getenv("SEED");

	if (given)
		seed = (unsigned)atoi(given);
	printf("# SEED=%u\n", seed);
	srandom(seed);
	memset(model, 0, sizeof model);
	memset(cut_waits, 0, sizeof cut_waits);
	executed_nr = late_nr = active = 0;
	verf = step = fill = 1;
	kind = false;
	ok = true;
	o.dirty_bytes = 20 * 65536;
	o.background_bytes = 200000;
	bench_init(&b, &o);
	b.check_every = 7;
	bench_swap(&b);
	bench_swap(&b);
	open_all();
}

static void
start_all(unsigned slab_chunks, unsigned wsize)
{
	start_with((struct bench_options) { .slab_bytes = slab_chunks * 65536,
					    .wsize = wsize });
}

static void
run(unsigned steps)
{
	for (; step < steps && ok; step++)
		one_step();
	if (ok)
		settle();
	CU_ASSERT(ok);
	late_until(UINT64_MAX);
	bench_free(&b);
}

static void
bad_server_and_deaths_of_the_daemon_break_no_fsync(void)
{
	start_all(16, 65536);
	run(40000);
}

static void
the_same_with_hardly_any_memory_and_small_writes(void)
{
	start_all(4, 4096);
	run(40000);
}

static void
the_same_with_a_congestion_limit_of_one_byte_and_few_writes(void)
{
	start_with((struct bench_options) {
		   .slab_bytes = 16 * 65536, .wsize = 8192,
		   .congestion_bytes = 1, .write_nr = 3 });
	run(20000);
}

static void
the_same_as_linux_3_without_queues_priorities_and_bounds(void)
{
	start_with((struct bench_options) {
		   .slab_bytes = 16 * 65536, .wsize = 16384,
		   .congestion_policy = CONGESTION_NONE,
		   .commit_priority = COMMIT_FIFO,
		   .commit_rule = COMMIT_BY_KERNEL,
		   .dirty_throttling = THROTTLE_NONE, .unbound = true });
	run(20000);
}

/* ---- a client that writes what it likes where it likes ---- */

static void
scribble(struct shm_view *v)
{
	static const uint64_t nice[] = { 0, 1, 4096, 65536, 65537, INT32_MAX,
		UINT32_MAX, INT64_MAX, UINT64_MAX, NFSWB_MARK_CLOSED };
	uint64_t value = chance(70) ? nice[any(10)] : (uint64_t)random() << 32 |
						      (uint64_t)random();
	struct nfswb_control *c = v->control;

	switch (any(6)) {
	case 0: case 1:
		atomic_store(&v->mark[any(v->layout.chunk_nr)], value);
		break;
	case 2:
		atomic_store(chance(50) ? &c->g_tail : &c->g_head, value);
		break;
	case 3:
		atomic_store(&c->want, (uint32_t)value);
		atomic_store(&c->want_chunk, chance(50) ? any(20)
							: (uint32_t)value);
		atomic_store(&c->c_waits, 1);
		break;
	case 4: case 5: {
		struct nfswb_list_entry *l =
		    &v->list[any(chance(80) ? 50 : v->layout.list_nr)];

		atomic_store(chance(50) ? &l->seq : &l->length_ringpos, value);
		l->offset = l->place = value;
		l->file = (uint32_t)value;
		break;
	}
	}
}

static void
post_garbage(unsigned file)
{
	struct nfswb_ring_entry r = {
		.offset = chance(80) ? any(MAX) : (uint64_t)random() << 33,
		.place = chance(90) ? any(16) * 65536 + any(65536)
				    : (uint64_t)random() << 32,
		.length = chance(90) ? any(9000) : (uint32_t)random(),
		.kind = chance(95) ? any(2) + 1 : (uint32_t)random(),
	};

	(void)slab_post(b.slab, opened[1][file].h, &r, ++b.head, b.now);
}

/* The good one has file 0 for itself. */
static void
a_hostile_client_harms_itself_only(void)
{
	unsigned i;

	start_all(16, 65536);
	b.hostile = true;
	kind = true;
	for (; step < 25000 && ok; step++) {
		switch (any(8)) {
		case 0: case 1:
			write_some(0, 0);
			break;
		case 2:
			sync_some(0, 0);
			break;
		case 3: case 4:
			use_session(1);
			for (i = any(20); i; i--)
				scribble(&b.view);
			for (i = any(20); i; i--)
				post_garbage(1 + any(2));
			slab_serve(b.slab, b.now);
			bench_turn(&b);
			break;
		case 5:
			if (b.call_nr)
				execute(bench_take(&b, 0));
			break;
		case 6:
			if (executed_nr)
				answer(any(executed_nr));
			break;
		case 7:
			bench_advance(&b, any(30000));
			break;
		}
	}
	CU_ASSERT(ok);
	sync_some(0, 0);
	for (i = 0; i < 100 && opened[0][0].waiting; i++)
		make_room(i);
	CU_ASSERT(!opened[0][0].waiting);
	CU_ASSERT_EQUAL(memcmp(model[0].stable.byte, model[0].want.byte, MAX),
			0);
	bench_free(&b);
}

UNIT_TESTS(writeback_random,
	UNIT(bad_server_and_deaths_of_the_daemon_break_no_fsync),
	UNIT(the_same_with_hardly_any_memory_and_small_writes),
	UNIT(the_same_with_a_congestion_limit_of_one_byte_and_few_writes),
	UNIT(the_same_as_linux_3_without_queues_priorities_and_bounds),
	UNIT(a_hostile_client_harms_itself_only),
)
