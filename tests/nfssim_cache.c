/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_cache.c - see nfssim_cache.h
 *
 * A COMMIT counts up gen, and bytes carry the gen at which they became dirty;
 * so "what was dirty when it started" is all with a gen that is not above its
 * own.  A range is taken out of the dirty ones when the disk starts on it: what
 * is written to it meanwhile is dirty anew.
 */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "tests/nfssim_cache.h"

#define JOURNAL UINT64_MAX	/* the file of that number */

struct cached_file {
	uint64_t id;
	struct ranges dirty, cached;
	struct cache_wait_list commits;
	bool in_journal;	/* of the group that runs */
	bool has_turns;		/* is in dirty_files */
	TAILQ_ENTRY(cached_file) turns, used;
	UT_hash_handle hh;
};

static struct cached_file *
find_file(struct cache *c, uint64_t id)
{
	struct cached_file *f;

	HASH_FIND(hh, c->files, &id, sizeof id, f);
	return f;
}

/* Used just now. */
static struct cached_file *
get_file(struct cache *c, uint64_t id)
{
	struct cached_file *f = find_file(c, id);

	if (f) {
		TAILQ_REMOVE(&c->lru, f, used);
	} else {
		f = calloc(1, sizeof *f);
		if (!f)
			return NULL;
		f->id = id;
		ranges_init(&f->dirty);
		ranges_init(&f->cached);
		TAILQ_INIT(&f->commits);
		HASH_ADD(hh, c->files, id, sizeof f->id, f);
	}
	TAILQ_INSERT_TAIL(&c->lru, f, used);
	return f;
}

static void
free_file(struct cache *c, struct cached_file *f)
{
	HASH_DEL(c->files, f);
	TAILQ_REMOVE(&c->lru, f, used);
	if (f->has_turns)
		TAILQ_REMOVE(&c->dirty_files, f, turns);
	ranges_free(&f->dirty);
	ranges_free(&f->cached);
	free(f);
}

/* Is listed exactly while bytes are dirty. */
static void
update_turns(struct cache *c, struct cached_file *f)
{
	bool has = f->dirty.bytes > 0;

	if (has == f->has_turns)
		return;
	f->has_turns = has;
	if (has)
		TAILQ_INSERT_TAIL(&c->dirty_files, f, turns);
	else
		TAILQ_REMOVE(&c->dirty_files, f, turns);
}

/* memory */

/* All but the dirty bytes. */
static void
evict(struct cache *c, struct cached_file *f)
{
	const struct range *r;

	c->cached_bytes -= f->cached.bytes;
	ranges_free(&f->cached);
	TAILQ_FOREACH(r, &f->dirty.list, order)
		ranges_add(&f->cached, r->from, r->to, 0);
	c->cached_bytes += f->cached.bytes;
}

static void
keep(struct cache *c, struct cached_file *f, uint64_t from, uint64_t to)
{
	struct cached_file *old;

	c->cached_bytes += ranges_add(&f->cached, from, to, 0);
	if (!c->params.memory_bytes)
		return;
	TAILQ_FOREACH(old, &c->lru, used) {
		if (c->cached_bytes <= c->params.memory_bytes)
			break;
		if (old != f && old->cached.bytes > old->dirty.bytes)
			evict(c, old);
	}
}

static bool
is_full(const struct cache *c)
{
	return c->params.hard_bytes && c->dirty_bytes >= c->params.hard_bytes;
}

static void
soil(struct cache *c, struct cached_file *f, uint64_t from, uint64_t to)
{
	c->dirty_bytes += ranges_add(&f->dirty, from, to, c->gen);
	update_turns(c, f);
	keep(c, f, from, to);
}

static bool
flusher_works(const struct cache *c)
{
	return c->params.memory_bytes &&
	       (c->dirty_bytes > c->params.background_bytes ||
		!TAILQ_EMPTY(&c->writes));
}

static void
admit_writes(struct cache *c, uint64_t when)
{
	struct cache_wait *w;

	while (!is_full(c) && (w = TAILQ_FIRST(&c->writes))) {
		TAILQ_REMOVE(&c->writes, w, link);
		soil(c, w->file, w->from, w->to);
		w->fn(w->arg, when);
	}
}

/* COMMITs */

/* The next bytes of f that a COMMIT waits for. */
static bool
sync_bytes(const struct cache *c, const struct cached_file *f, uint64_t *a,
	   uint64_t *b)
{
	const struct cache_wait *w;

	if (c->params.commit_all)
		return c->group_runs && ranges_first(&f->dirty, 0, UINT64_MAX,
						     c->group_gen, a, b);
	TAILQ_FOREACH(w, &f->commits, link)
		if (ranges_first(&f->dirty, w->from, w->to, w->gen, a, b))
			return true;
	return false;
}

static bool
is_flying(const struct cache *c, const struct cached_file *f, uint64_t from,
	  uint64_t to)
{
	return c->flying.file == f && c->flying.from < to &&
	       c->flying.to > from;
}

static void
finish_commits(struct cache *c, struct cached_file *f, uint64_t when)
{
	struct cache_wait *w, *next;
	uint64_t a, b;

	for (w = TAILQ_FIRST(&f->commits); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (is_flying(c, f, w->from, w->to) ||
		    ranges_first(&f->dirty, w->from, w->to, w->gen, &a, &b))
			continue;
		TAILQ_REMOVE(&f->commits, w, link);
		w->fn(w->arg, when);
	}
}

static void
start_group(struct cache *c)
{
	struct cached_file *f;

	if (c->group_runs || TAILQ_EMPTY(&c->next_group))
		return;
	c->group_runs = true;
	c->group_gen = c->gen++;
	TAILQ_CONCAT(&c->group, &c->next_group, link);
	TAILQ_FOREACH(f, &c->dirty_files, turns)
		f->in_journal = true;
	if (c->flying.file)
		c->flying.file->in_journal = true;
}

static void
end_group(struct cache *c, uint64_t when)
{
	struct cache_wait_list done;
	struct cached_file *f, *tmp;
	struct cache_wait *w;

	c->group_runs = false;
	c->journals++;
	HASH_ITER(hh, c->files, f, tmp)
		f->in_journal = false;
	TAILQ_INIT(&done);
	TAILQ_CONCAT(&done, &c->group, link);
	start_group(c);
	while ((w = TAILQ_FIRST(&done))) {
		TAILQ_REMOVE(&done, w, link);
		w->fn(w->arg, when);
	}
}

/* what the disk does next */

static bool
flush_bytes(const struct cached_file *f, uint64_t *a, uint64_t *b)
{
	return ranges_first(&f->dirty, 0, UINT64_MAX, UINT64_MAX, a, b);
}

/* Whose turn it would be; NULL: there is nothing to write. */
static struct cached_file *
next_file(const struct cache *c, bool *sync)
{
	struct cached_file *f;
	uint64_t a, b;

	*sync = true;
	TAILQ_FOREACH(f, &c->dirty_files, turns)
		if (sync_bytes(c, f, &a, &b))
			return f;
	*sync = false;
	return flusher_works(c) ? TAILQ_FIRST(&c->dirty_files) : NULL;
}

static void
end_turn(struct cache *c)
{
	struct cached_file *f = c->turn.file;

	c->turn.file = NULL;
	c->turn.has_ticket = false;
	if (!f || !f->has_turns)
		return;
	TAILQ_REMOVE(&c->dirty_files, f, turns);
	TAILQ_INSERT_TAIL(&c->dirty_files, f, turns);
}

static bool
turn_goes_on(const struct cache *c, struct cached_file *next, bool sync)
{
	uint64_t a, b;

	if (!c->turn.file || !c->turn.left || !next || sync != c->turn.sync)
		return false;
	return sync ? sync_bytes(c, c->turn.file, &a, &b) :
		      c->turn.file->has_turns;
}

static bool
ask_write(struct cache *c, struct disk_request *r)
{
	struct cached_file *f = c->turn.file;
	uint64_t a, b, most = c->params.request_bytes;

	if (!(c->turn.sync ? sync_bytes(c, f, &a, &b) :
			     flush_bytes(f, &a, &b)))
		return false;
	if (most > c->turn.left)
		most = c->turn.left;
	if (b - a > most)
		b = a + most;
	ranges_remove(&f->dirty, a, b);
	c->turn.left -= b - a;
	c->flying.file = f;
	c->flying.from = a;
	c->flying.to = b;
	update_turns(c, f);
	r->file = f->id;
	r->bytes = b - a;
	r->what = NULL;
	return true;
}

static bool
ask_read(struct cache *c, struct cache_wait *w, struct disk_request *r)
{
	uint64_t a, b;

	if (!ranges_gap(&w->file->cached, w->from, w->to, &a, &b))
		a = b = w->to;		/* another READ brought it */
	if (b - a > c->params.request_bytes)
		b = a + c->params.request_bytes;
	c->flying.from = a;
	c->flying.to = b;
	r->file = a < b ? w->file->id : c->disk->at_file;
	r->bytes = b - a;
	r->what = w;
	return true;
}

static bool
disk_asks(void *arg, struct disk_request *r)
{
	struct cache *c = arg;
	struct cache_wait *read = TAILQ_FIRST(&c->reads);
	bool sync, writes;
	struct cached_file *next = next_file(c, &sync);

	if (turn_goes_on(c, next, sync))
		return ask_write(c, r);
	if (c->turn.file)
		end_turn(c);
	next = next_file(c, &sync);
	writes = next || c->group_runs;
	if (!writes)
		c->turn.has_ticket = false;
	else if (!c->turn.has_ticket)
		c->turn.ticket = c->seq++;
	c->turn.has_ticket = writes;
	if (read && (!writes || read->ticket < c->turn.ticket))
		return ask_read(c, read, r);
	if (c->group_runs && !(next && sync)) {
		r->file = JOURNAL;
		r->extra_nsec = c->params.journal_nsec;
		return true;
	}
	if (!next)
		return false;
	c->turn.file = next;
	c->turn.sync = sync;
	c->turn.left = c->params.turn_bytes;
	return ask_write(c, r);
}

static void
read_ended(struct cache *c, struct cache_wait *w, uint64_t when)
{
	uint64_t a, b;

	keep(c, w->file, c->flying.from, c->flying.to);
	c->read_bytes += c->flying.to - c->flying.from;
	c->flying.from = c->flying.to = 0;
	if (ranges_gap(&w->file->cached, w->from, w->to, &a, &b))
		return;
	TAILQ_REMOVE(&c->reads, w, link);
	w->fn(w->arg, when);
}

static void
disk_did(void *arg, const struct disk_request *r, uint64_t when)
{
	struct cache *c = arg;
	struct cached_file *f = c->flying.file;

	if (r->what) {
		read_ended(c, r->what, when);
	} else if (r->file == JOURNAL) {
		c->turn.has_ticket = false;
		end_group(c, when);
	} else if (f) {
		c->flying.file = NULL;
		c->dirty_bytes -= r->bytes;
		c->written_bytes += r->bytes;
		finish_commits(c, f, when);
		admit_writes(c, when);
	}
}

/* verbs */

void
cache_init(struct cache *c, const struct cache_params *params,
	   struct disk *disk)
{
	memset(c, 0, sizeof *c);
	c->params = *params;
	c->disk = disk;
	TAILQ_INIT(&c->dirty_files);
	TAILQ_INIT(&c->lru);
	TAILQ_INIT(&c->writes);
	TAILQ_INIT(&c->reads);
	TAILQ_INIT(&c->group);
	TAILQ_INIT(&c->next_group);
	disk->next = disk_asks;
	disk->done = disk_did;
	disk->arg = c;
}

void
cache_reset(struct cache *c)
{
	struct cached_file *f, *tmp;

	disk_reset(c->disk);
	HASH_ITER(hh, c->files, f, tmp)
		free_file(c, f);
	TAILQ_INIT(&c->writes);
	TAILQ_INIT(&c->reads);
	TAILQ_INIT(&c->group);
	TAILQ_INIT(&c->next_group);
	c->group_runs = false;
	c->dirty_bytes = c->cached_bytes = 0;
	c->flying.file = NULL;
	c->turn.file = NULL;
	c->turn.has_ticket = false;
}

void
cache_free(struct cache *c)
{
	cache_reset(c);
}

bool
cache_write(struct cache *c, struct cache_wait *w, uint64_t file,
	    uint64_t from, uint64_t to, uint64_t when)
{
	struct cached_file *f = get_file(c, file);

	if (!f || from >= to)
		return true;
	if (is_full(c) || !TAILQ_EMPTY(&c->writes)) {
		w->file = f;
		w->from = from;
		w->to = to;
		c->held_writes++;
		TAILQ_INSERT_TAIL(&c->writes, w, link);
		disk_kick(c->disk, when);
		return false;
	}
	soil(c, f, from, to);
	disk_kick(c->disk, when);
	return true;
}

static bool
has_unsynced(const struct cache *c, const struct cached_file *f,
	     uint64_t from, uint64_t to)
{
	uint64_t a, b;

	return is_flying(c, f, from, to) ||
	       ranges_next(&f->dirty, from, to, &a, &b);
}

bool
cache_commit(struct cache *c, struct cache_wait *w, uint64_t file,
	     uint64_t from, uint64_t to, uint64_t when)
{
	struct cached_file *f = get_file(c, file);
	bool dirty = f && has_unsynced(c, f, from, to);

	if (!f || (!dirty && !f->in_journal))
		return true;
	w->file = f;
	w->from = from;
	w->to = to;
	c->commits++;
	if (!c->params.commit_all) {
		w->gen = c->gen++;
		TAILQ_INSERT_TAIL(&f->commits, w, link);
	} else if (!dirty) {
		TAILQ_INSERT_TAIL(&c->group, w, link);
	} else {
		TAILQ_INSERT_TAIL(&c->next_group, w, link);
		start_group(c);
	}
	disk_kick(c->disk, when);
	return false;
}

bool
cache_read(struct cache *c, struct cache_wait *w, uint64_t file,
	   uint64_t from, uint64_t to, uint64_t when)
{
	struct cached_file *f = get_file(c, file);
	uint64_t a, b;

	if (!f || !ranges_gap(&f->cached, from, to, &a, &b))
		return true;
	w->file = f;
	w->from = from;
	w->to = to;
	w->ticket = c->seq++;
	TAILQ_INSERT_TAIL(&c->reads, w, link);
	disk_kick(c->disk, when);
	return false;
}

void
cache_truncate(struct cache *c, uint64_t file, uint64_t size, uint64_t when)
{
	struct cached_file *f = find_file(c, file);

	if (!f)
		return;
	c->dirty_bytes -= ranges_remove(&f->dirty, size, UINT64_MAX);
	c->cached_bytes -= ranges_remove(&f->cached, size, UINT64_MAX);
	update_turns(c, f);
	finish_commits(c, f, when);
	admit_writes(c, when);
	disk_kick(c->disk, when);
}
