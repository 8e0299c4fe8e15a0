/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* play_op.c - the operations, and what they may answer */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/play_impl.h"
#include "tests/random.h"

static struct nfswb *
nfs_of(const struct op *o)
{
	return st->client[o->client].nfs;
}

static struct slot *
slot_of(const struct op *o)
{
	return &st->client[o->client].slot[o->slot];
}

static const char *
target(unsigned name)
{
	char text[8];

	snprintf(text, sizeof text, "f%u", name);
	return world_target(text);
}

static struct flight *
my_flight(void)
{
	struct flight **f = &st->flight[st->depth];

	if (!*f)
		*f = malloc(sizeof **f);
	if (!*f)
		world_fail("no memory");
	return *f;
}

/* 0, or the errno of a call that failed. */
static int
errno_of(bool failed)
{
	return failed ? errno : 0;
}

static void
expect(const char *call, int is, int should, const struct op *o)
{
	if (is != should)
		world_fail("%s: %s (%s), not %s", call, strerrorname_np(is),
			   is ? nfswb_strerror(nfs_of(o)) : "",
			   strerrorname_np(should));
}

/* A server that can't be reached at first is told to be so after a while; that
   is as it should be.  True: then nothing was done. */
static bool
not_reached(int err)
{
	if (err != ETIMEDOUT)
		st->reached = true;
	return !st->reached;
}

/* ---- open ---- */

static struct image *
new_image(unsigned name)
{
	struct image *m = calloc(1, sizeof *m);
	char text[8];

	snprintf(text, sizeof text, "f%u", name);
	if (!m || nfssim_lookup(st->world->sim, text, &m->fh) < 0)
		world_fail("%s was opened, and is not there", text);
	m->linked = true;
	m->next = st->images;
	st->images = m;
	return m;
}

/* After something was given up: only the server knows. */
static void
learn_size(const struct op *o, struct slot *s)
{
	struct flight *f = my_flight();
	struct stat sb;

	flight_begin(f, o, s->image, false);
	f->mutates = true;
	if (nfswb_fstat(s->file, &sb) < 0)
		world_fail("fstat fails");
	flight_end(f);
	if (sb.st_size > IMAGE_MAX)
		world_fail("a file of %lld bytes", (long long)sb.st_size);
	s->image->size = (uint32_t)sb.st_size;
	s->image->vague_size = false;
	memset(s->image->data + sb.st_size, 0, IMAGE_MAX - sb.st_size);
	memset(s->image->vague + sb.st_size, 0, IMAGE_MAX - sb.st_size);
}

static int
oflags_of(const struct op *o)
{
	int oflags = O_RDWR;

	if (!(o->flags & OPEN_PLAIN))
		oflags |= O_CREAT;
	if (o->flags & OPEN_EXCL)
		oflags |= O_CREAT | O_EXCL;
	if (o->flags & OPEN_TRUNC)
		oflags |= O_TRUNC;
	if (o->flags & OPEN_APPEND)
		oflags |= O_APPEND;
	return oflags;
}

static void
opened(const struct op *o, struct slot *s, struct image *m, unsigned seen_nr)
{
	if (!m)
		m = st->name[o->name] = new_image(o->name);
	else if (o->flags & OPEN_TRUNC) {
		image_cut(m, 0);
		flights_see(m);
	}
	*s = (struct slot){ .file = s->file, .image = m,
			    .append = o->flags & OPEN_APPEND,
			    .begun_nr = seen_nr, .ended_nr = m->err_nr };
}

static void
op_open(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct image *m = st->name[o->name];
	struct flight *f = my_flight();
	unsigned seen_nr = m ? m->seen_nr : 0;
	int oflags = oflags_of(o), should = 0, err;

	if (s->file)
		return;
	if (!m && !(oflags & O_CREAT))
		should = ENOENT;
	if (m && oflags & O_EXCL)
		should = EEXIST;
	flight_begin(f, o, m, false);
	if (m && !should && oflags & O_TRUNC)
		image_touch_cut(m, 0);
	s->file = nfswb_open(nfs_of(o), target(o->name), oflags, 0666);
	err = errno_of(!s->file);
	flight_end(f);
	if (not_reached(err))
		return;
	expect("open", err, should, o);
	if (!s->file)
		return;
	opened(o, s, m, seen_nr);
	if (s->image->vague_size)
		learn_size(o, s);
}

/* ---- fsync, close ---- */

/* A failure was told by one handle: which others must tell it, too? */
static void
others_must(const struct slot *teller, unsigned from)
{
	struct client *c;
	struct slot *s;

	for (c = st->client; c < st->client + CLIENTS; c++)
		for (s = c->slot; s < c->slot + SLOTS; s++)
			if (s != teller && s->file && !s->busy &&
			    s->image == teller->image && s->ended_nr <= from)
				s->must = true;
}

static void
collect_begin(struct slot *s)
{
	struct image *m = s->image;
	uint64_t now = loop_now(st->world->loop);

	s->busy = true;
	if (m->sure_nr && s->ended_nr < m->sure_nr && !st->cut_any_time &&
	    now > m->sure_usec + DELIVERY_USEC && m->linked)
		s->must = true;
}

static void
collect_end(const char *call, const struct op *o, struct slot *s, int err,
	    struct flight *f, unsigned err_nr)
{
	struct image *m = s->image;
	unsigned before = s->begun_nr;

	s->busy = false;
	if (!err && s->must)
		world_fail("%s answered 0, a failure is not told", call);
	if (err && !image_err_since(m, before, err))
		world_fail("%s: %s (%s) is told, and was before or never was",
			   call, strerrorname_np(err),
			   nfswb_strerror(nfs_of(o)));
	s->must = false;
	s->begun_nr = err_nr;
	s->ended_nr = m->err_nr;
	if (err) {
		others_must(s, before);
		m->seen_nr = err_nr;
	} else {
		stage_promise(m, f->state, f->state_nr, call);
	}
}

static void
op_fsync(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct flight *f = my_flight();
	unsigned err_nr = s->image->err_nr;
	int err;

	flight_begin(f, o, s->image, true);
	collect_begin(s);
	err = errno_of(nfswb_fsync(s->file) < 0);
	flight_end(f);
	collect_end("fsync", o, s, err, f, err_nr);
}

static void
op_close(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct flight *f = my_flight();
	unsigned err_nr = s->image->err_nr;
	int err;

	flight_begin(f, o, s->image, true);
	collect_begin(s);
	err = errno_of(nfswb_close(s->file) < 0);
	flight_end(f);
	collect_end("close", o, s, err, f, err_nr);
	s->file = NULL;
}

/* ---- data ---- */

/* Was a truncation of it under way? */
static void
crossed(const struct image *m, uint32_t offset, uint32_t len)
{
	struct flight *f;

	for (f = st->flights; f; f = f->next)
		if (f->cuts && f->image == m) {
			f->crossed_offset = offset;
			f->crossed_len = len;
		}
}

static void
op_write(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct image *m = s->image;
	struct flight *f = my_flight();
	uint32_t offset = s->append ? m->size : o->offset, i;
	uint32_t len = o->length;
	unsigned char *data;
	ssize_t n;

	if (offset + len > IMAGE_MAX)
		return;
	data = malloc(len);		/* others write meanwhile */
	if (!data)
		world_fail("no memory");
	for (i = 0; i < len; i++)
		data[i] = (unsigned char)random_next(&st->random, 256);
	flight_begin(f, o, m, false);
	image_touch(m, offset, offset + len);
	n = nfswb_pwrite(s->file, data, len, s->append ? 0 : offset);
	flight_end(f);
	if (n < 0 && !m->err_nr && !st->played->errors)
		world_fail("pwrite: %s", nfswb_strerror(nfs_of(o)));
	if (n > 0) {
		image_write(m, offset, data, (uint32_t)n);
		flights_see(m);
		crossed(m, offset, (uint32_t)n);
	}
	free(data);
	if (n < (ssize_t)len && s->append)
		learn_size(o, s);
}

static void
cut_state(struct state *s, uint32_t size)
{
	if (size < s->size)
		memset(s->data + size, 0, IMAGE_MAX - size);
	s->size = size;
}

/* The write first, or the truncation first, or between the write's pieces: the
   file is asked.  (Others cross others meanwhile: nothing here is static.) */
static void
learn_crossing(const struct op *o, struct flight *f)
{
	struct state *either = malloc(3 * sizeof *either), *is = either + 2;
	struct slot *s = slot_of(o);
	struct image *m = s->image;
	uint32_t offset = f->crossed_offset, len = f->crossed_len;
	ssize_t n;

	if (!either)
		world_fail("no memory");
	image_state(m, &either[0]);
	cut_state(&either[0], o->offset);
	either[1] = f->state[0];
	cut_state(&either[1], o->offset);
	memcpy(either[1].data + offset, m->data + offset, len);
	if (offset + len > either[1].size)
		either[1].size = offset + len;
	flight_begin(f, o, m, false);
	n = nfswb_pread(s->file, is->data, IMAGE_MAX, 0);
	flight_end(f);
	if (n < 0 && !m->err_nr)
		world_fail("read: %s", nfswb_strerror(nfs_of(o)));
	if (n >= 0 && !image_read_is(m, either, 2, 0, IMAGE_MAX, is->data, n))
		world_fail("neither a write nor a truncation came first");
	if (n < 0) {		/* what failed is not readable */
		image_give_up(m, 0, IMAGE_MAX);
		learn_size(o, s);
	} else {
		image_cut(m, (uint32_t)n);
		memcpy(m->data, is->data, (size_t)n);
	}
	free(either);
}

static void
op_truncate(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct image *m = s->image;
	struct flight *f = my_flight();

	flight_begin(f, o, m, true);
	image_touch_cut(m, o->offset);
	expect("truncate", errno_of(nfswb_ftruncate(s->file, o->offset) < 0),
	       0, o);
	flight_end(f);
	if (f->crossed_len)
		learn_crossing(o, f);
	else
		image_cut(m, o->offset);
	flights_see(m);
}

static void
op_read(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct image *m = s->image;
	struct flight *f = my_flight();
	unsigned char *data = malloc(o->length);
	ssize_t n;

	if (!data)
		world_fail("no memory");
	flight_begin(f, o, m, true);
	n = nfswb_pread(s->file, data, o->length, o->offset);
	flight_end(f);
	if (n < 0 && !m->err_nr)
		world_fail("read: %s", nfswb_strerror(nfs_of(o)));
	if (n >= 0 && !image_read_is(m, f->state, f->state_nr, o->offset,
				     o->length, data, n))
		world_fail("a read does not see what was written");
	free(data);
}

static void
op_stat(const struct op *o)
{
	struct slot *s = slot_of(o);
	struct flight *f = my_flight();
	struct stat sb;
	unsigned i;

	flight_begin(f, o, s->image, true);
	expect("fstat", errno_of(nfswb_fstat(s->file, &sb) < 0), 0, o);
	flight_end(f);
	for (i = 0; i < f->state_nr; i++)
		if (sb.st_size == f->state[i].size)
			return;
	world_fail("fstat: %lld bytes, not %u", (long long)sb.st_size,
		   s->image->size);
}

/* ---- names ---- */

static void
op_rename(const struct op *o)
{
	struct image *m = st->name[o->name];
	struct flight *f = my_flight();
	int err;

	flight_begin(f, o, NULL, false);
	err = errno_of(nfswb_rename(nfs_of(o), target(o->name),
				    target(o->to)) < 0);
	flight_end(f);
	if (not_reached(err))
		return;
	expect("rename", err, m ? 0 : ENOENT, o);
	if (!m || o->name == o->to)
		return;
	if (st->name[o->to])
		st->name[o->to]->linked = false;
	st->name[o->to] = m;
	st->name[o->name] = NULL;
}

static void
op_unlink(const struct op *o)
{
	struct image *m = st->name[o->name];
	struct flight *f = my_flight();
	int err;

	flight_begin(f, o, NULL, false);
	err = errno_of(nfswb_unlink(nfs_of(o), target(o->name)) < 0);
	flight_end(f);
	if (not_reached(err))
		return;
	expect("unlink", err, m ? 0 : ENOENT, o);
	if (m)
		m->linked = false;
	st->name[o->name] = NULL;
}

/* ---- all at once ---- */

static void
op_sync(const struct op *o)
{
	static struct state whole;
	struct flight *f = my_flight();
	struct image *m;
	int err;

	flight_begin(f, o, NULL, false);
	err = errno_of(nfswb_sync(nfs_of(o), NULL) < 0);
	flight_end(f);
	if (err && !st->played->errors)
		world_fail("sync: %s", nfswb_strerror(nfs_of(o)));
	for (m = st->images; m && !err; m = m->next) {
		if (!m->linked)
			continue;
		image_state(m, &whole);
		stage_promise(m, &whole, 1, "sync");
	}
}

/* The application dies; its daemon writes on. */
static void
op_vanish(const struct op *o)
{
	struct client *c = &st->client[o->client];
	struct flight *f = my_flight();
	unsigned i;

	flight_begin(f, o, NULL, false);
	nfswb_disconnect(c->nfs);
	for (i = 0; i < SLOTS; i++)
		c->slot[i] = (struct slot){ 0 };
	c->nfs = world_connect(st->world, o->client == 2 ? 1001 : 1000);
	flight_end(f);
}

/* ---- */

static const struct {
	void (*run)(const struct op *);
	bool on_slot;
} ops[OP_KINDS] = {
	[OP_OPEN] = { op_open, false },
	[OP_CLOSE] = { op_close, true },
	[OP_WRITE] = { op_write, true },
	[OP_TRUNCATE] = { op_truncate, true },
	[OP_READ] = { op_read, true },
	[OP_STAT] = { op_stat, true },
	[OP_FSYNC] = { op_fsync, true },
	[OP_RENAME] = { op_rename, false },
	[OP_UNLINK] = { op_unlink, false },
	[OP_SYNC] = { op_sync, false },
	[OP_VANISH] = { op_vanish, false },
};

void
op_run(const struct op *o)
{
	if (o->kind == OP_PASS) {
		world_pass(st->world, o->length);
	} else if (o->kind == OP_RESTART) {
		stage_trouble((enum trouble)(o->flags % TROUBLES));
	} else {
		if (ops[o->kind].on_slot && !slot_of(o)->file)
			op_open(o);
		if (!ops[o->kind].on_slot || slot_of(o)->file)
			ops[o->kind].run(o);
	}
}
