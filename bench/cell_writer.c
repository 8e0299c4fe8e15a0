/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell_writer.c - a session with one file, as an application fills it
 *
 *	dd	1 MiB, and the next as soon as the copy is done, for ever
 *	sync	4 KiB, fsync, and the next 100 ms after the one before (at once
 *		where that took longer)
 *	bulk	like dd, and an fsync after every so many bytes
 *	file	like dd until its file is long enough, and an fsync
 *	files	so, and the next file without an fsync
 *	group	so much at a time, at such a rate at most
 *
 * Room is claimed as libnfswb claims it, and entries are posted as the session
 * posts them; a writer without room sleeps until it is told.  What differs from
 * seed to seed: when a writer starts, within START_USEC, and how long each copy
 * takes, within a twentieth.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

#include "bench/cell_impl.h"

#define MIB (1u << 20)
#define START_USEC 5000
#define SYNC_BYTES 4096
#define SYNC_USEC 100000

static uint64_t
next_random(struct writer *w)		/* splitmix64 */
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t
copy_usec(struct writer *w, uint64_t bytes)
{
	uint64_t usec = bytes * 1000000 / w->cell->params.copy_bytes_per_sec;

	return usec * (950 + next_random(w) % 101) / 1000 + 1;
}

/* A claim, as the library makes it; 0: no room. */
static uint32_t
claim(struct writer *w, uint64_t want, uint64_t *place)
{
	uint32_t fill, limit, n;
	uint64_t m;

	for (;;) {
		if (w->chunk == NFSWB_NO_CHUNK)
			w->chunk = ring_grant_pop(&w->view);
		if (w->chunk == NFSWB_NO_CHUNK)
			return 0;
		m = atomic_load(&w->view.mark[w->chunk]);
		fill = nfswb_mark_fill(m);
		limit = nfswb_mark_limit(m);
		if (m & NFSWB_MARK_CLOSED || fill == NFSWB_CHUNK_BYTES) {
			w->chunk = NFSWB_NO_CHUNK;
			continue;
		}
		if (fill >= limit)
			return 0;	/* may be raised */
		n = limit - fill < want ? limit - fill : (uint32_t)want;
		atomic_fetch_add(&w->view.mark[w->chunk], n);
		*place = (uint64_t)w->chunk * NFSWB_CHUNK_BYTES + fill;
		return n;
	}
}

static void
ask_for_room(struct writer *w)
{
	struct nfswb_control *c = w->view.control;

	w->waits = true;
	atomic_store(&c->want, (uint32_t)w->left);
	atomic_store(&c->want_chunk, w->chunk);
	atomic_store(&c->c_waits, 1);
	slab_serve(w->slab, loop_now(w->cell->loop));
	cell_look(w->cell);
}

/* As much of this write as there is room for; false: it waits. */
static bool
write_some(struct writer *w)
{
	uint64_t now = loop_now(w->cell->loop);
	struct nfswb_ring_entry e = { .kind = NFSWB_RING_WRITE, .file = 1 };
	int err;

	while (w->left) {
		if (!w->kept)
			w->kept = claim(w, w->left, &w->kept_place);
		if (!w->kept) {
			ask_for_room(w);
			return false;
		}
		e.offset = w->offset;
		e.place = w->kept_place;
		e.length = w->kept;
		err = slab_post(w->slab, w->handle, &e, w->head + 1, now);
		if (err == -ENOBUFS) {
			w->waits = true;
			return false;
		}
		if (err) {
			fprintf(stderr, "post: %s\n", strerror(-err));
			exit(1);
		}
		w->head++;
		w->offset += w->kept;
		w->left -= w->kept;
		w->cell->result->written_bytes += w->sync ? 0 : w->kept;
		if (now >= w->cell->measure_usec)
			w->measured_bytes += w->kept;
		w->kept = 0;
	}
	slab_serve(w->slab, now);
	cell_look(w->cell);
	return true;
}

static void
fsync_ended(void *arg, int err)
{
	struct writer *w = arg;
	struct cell_result *r = w->cell->result;
	uint64_t now = loop_now(w->cell->loop), next;

	if (err) {
		fprintf(stderr, "fsync: %s\n", strerror(-err));
		exit(1);
	}
	hist_add(&r->fsync_us, now - w->fsync_usec);
	if (w->cell->params.times)
		cell_time_add(&r->fsync_each, now - w->fsync_usec);
	w->cell->sample.fsync_usec = MAX(w->cell->sample.fsync_usec,
					 now - w->fsync_usec);
	hist_add(&r->sync_write_us, now - w->began_usec);
	r->fsyncs++;
	w->fsync_usec = 0;
	next = w->began_usec + SYNC_USEC;
	loop_timer_set(w->cell->loop, w->timer, next > now ? next - now : 0);
}

static void
bulk_ended(void *arg, int err)
{
	struct writer *w = arg;
	uint64_t now = loop_now(w->cell->loop);

	if (err) {
		fprintf(stderr, "fsync: %s\n", strerror(-err));
		exit(1);
	}
	hist_add(&w->cell->result->bulk_us, now - w->fsync_usec);
	w->fsync_usec = 0;
	loop_timer_set(w->cell->loop, w->timer, 0);
}

/* Until the next write: that of the copy, or what is left of its time at its
   rate. */
static uint64_t
next_usec(struct writer *w, uint64_t now)
{
	const struct cell_group *g = w->group;
	uint64_t bytes = g->write_bytes ? g->write_bytes : MIB, next;

	if (!g->bytes_per_sec)
		return copy_usec(w, bytes);
	next = w->began_usec + bytes * 1000000 / g->bytes_per_sec;
	return next > now ? next - now : 0;
}

static void
wrote(struct writer *w, uint64_t now)
{
	const struct cell *c = w->cell;

	if (w->group && w->began_usec >= c->measure_usec)
		hist_add(&c->result->group[w->group - c->params.group].write_us,
			 now - w->began_usec);
}

/* Is this writer to fsync now? */
static bool
bulk_is_due(const struct writer *w)
{
	uint64_t bulk = w->cell->params.bulk_bytes;

	return bulk && w->nr == 0 && w->offset % bulk == 0;
}

static void
file_ended(void *arg, int err)
{
	struct writer *w = arg;

	if (err) {
		fprintf(stderr, "fsync: %s\n", strerror(-err));
		exit(1);
	}
	w->fsync_usec = 0;
	w->ended = true;
	w->cell->result->ended++;
}

static bool
file_is_whole(const struct writer *w)
{
	uint64_t all = w->cell->params.file_bytes;

	return all && w->offset >= all;
}

static int open_file(struct writer *);

/* The handle before stays: nobody waits for what it wrote. */
static bool
has_next_file(struct writer *w)
{
	if (w->file + 1 >= w->cell->params.files)
		return false;
	w->file++;
	w->offset = 0;
	if (open_file(w) < 0)
		exit(1);
	return true;
}

static void
go_on(void *arg)
{
	struct writer *w = arg;
	struct loop *loop = w->cell->loop;

	if (!write_some(w))
		return;
	wrote(w, loop_now(loop));
	if (w->sync) {
		w->fsync_usec = loop_now(loop);
		handle_fsync(w->handle, w->fsync_usec, fsync_ended, w);
	} else if (file_is_whole(w) && has_next_file(w)) {
		loop_timer_set(loop, w->timer, next_usec(w, loop_now(loop)));
	} else if (file_is_whole(w) && w->cell->params.files > 1) {
		w->ended = true;
		w->cell->result->ended++;
	} else if (file_is_whole(w)) {
		w->fsync_usec = loop_now(loop);
		handle_fsync(w->handle, w->fsync_usec, file_ended, w);
	} else if (bulk_is_due(w)) {
		w->fsync_usec = loop_now(loop);
		handle_fsync(w->handle, w->fsync_usec, bulk_ended, w);
	} else {
		loop_timer_set(loop, w->timer, next_usec(w, loop_now(loop)));
	}
}

static bool
is_over(const struct writer *w, uint64_t now)
{
	return w->group && w->group->stop_usec &&
	       now >= w->start_usec + w->group->stop_usec;
}

/* A new write begins. */
static void
begin(void *arg)
{
	struct writer *w = arg;

	if (is_over(w, loop_now(w->cell->loop)))
		return;
	w->began_usec = loop_now(w->cell->loop);
	w->left = w->sync ? SYNC_BYTES :
		  w->group->write_bytes ? w->group->write_bytes : MIB;
	go_on(w);
}

static void
room(void *arg)
{
	struct writer *w = arg;

	if (!w->waits)
		return;
	w->waits = false;
	loop_defer(w->cell->loop, w->go_on);
}

static int
open_file(struct writer *w)
{
	struct cell *c = w->cell;
	struct wb_file_params params = { .wsize = c->params.wsize,
		.stable = WB_UNSTABLE, .max_size = INT64_MAX };
	unsigned nr = w->nr + 1 + w->file * c->writer_nr;
	struct wb_file *f;
	struct fh fh;
	char name[32];

	fh_set(&fh, &nr, sizeof nr);
	snprintf(name, sizeof name, "file %u", nr);
	f = file_get(c->server[w->group ? w->group->server : 0], &fh, &params, name);
	if (!f)
		return -ENOMEM;
	w->handle = handle_open(f, c->cred, O_WRONLY);
	file_put(f);
	if (!w->handle)
		return -ENOMEM;
	slab_expect(w->slab, w->handle);
	return 0;
}

static int
make_slab(struct writer *w)
{
	static const struct slab_hooks hooks = { .room = room };
	struct cell *c = w->cell;
	struct nfswb_layout l = { 0 };
	void *p;

	if (nfswb_layout(&l, c->slab_bytes))
		return -EINVAL;
	p = mmap(NULL, l.bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	w->control = p;
	w->control_bytes = l.bytes;
	if (shm_view_init(&w->view, p, c->data, c->slab_bytes))
		return -EINVAL;
	shm_view_format(&w->view, w->nr + 1);
	w->slab = slab_new(c->wb, &w->view, &hooks, w);
	if (!w->slab)
		return -ENOMEM;
	if (w->group && w->group->weight)
		slab_set_user(w->slab, w->group->uid, w->group->weight);
	return 0;
}

int
writer_start(struct cell *c, struct writer *w, unsigned nr,
	     const struct cell_group *group)
{
	int err;

	w->cell = c;
	w->nr = nr;
	w->group = group;
	w->sync = !group;
	w->chunk = NFSWB_NO_CHUNK;
	w->start_usec = loop_now(c->loop);
	w->random = c->params.seed * 1000003 + nr;
	w->timer = loop_timer(c->loop, begin, w);
	w->go_on = loop_deferred(c->loop, go_on, w);
	if (!w->timer || !w->go_on)
		return -ENOMEM;
	err = make_slab(w);
	if (!err)
		err = open_file(w);
	if (!err)
		loop_timer_set(c->loop, w->timer, next_random(w) % START_USEC +
			       (group ? group->start_usec : 0));
	return err;
}

/* An fsync that is still out has taken that long at least. */
void
writer_stop(struct writer *w)
{
	struct cell_result *r = w->cell->result;
	uint64_t now = loop_now(w->cell->loop);

	if (w->sync && (w->fsync_usec || w->waits)) {
		if (w->fsync_usec)
			hist_add(&r->fsync_us, now - w->fsync_usec);
		hist_add(&r->sync_write_us, now - w->began_usec);
	}
	if (w->handle && w->fsync_usec)
		handle_abandon(handle_file(w->handle), w);
}

void
writer_free(struct writer *w)
{
	loop_timer_free(w->cell->loop, w->timer);
	loop_deferred_free(w->cell->loop, w->go_on);
	if (w->control)
		munmap(w->control, w->control_bytes);
}
