/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slab_impl.h - struct slab and chunk, for the pipeline's own parts */
#ifndef NFSWB_SLAB_IMPL_H
#define NFSWB_SLAB_IMPL_H

#include "daemon/writeback/extent.h"
#include "daemon/writeback/pace.h"
#include "daemon/writeback/slab.h"

LIST_HEAD(chunk_extents, extent);
TAILQ_HEAD(slab_dirty_list, extent);

enum chunk_state {
	CHUNK_FREE,		/* nothing in it */
	CHUNK_OPEN,		/* the library may fill it */
	CHUNK_CLOSED,		/* no more claims; live extents, or posts to come */
	CHUNK_CLEAN,		/* CLEAN extents only: may be taken, oldest first */
	CHUNK_READ,		/* belongs to a READ, see read_impl.h */
	CHUNK_HANDED,		/* its data was told to the library, which may
				   still copy */
};

struct chunk {
	enum chunk_state state;
	uint32_t granted;	/* the mark's limit by our books */
	uint32_t posted;	/* bytes */
	uint32_t live_nr;	/* extents with data that are not CLEAN */
	uint32_t handed;	/* READ, HANDED: bytes told to the library */
	bool touched;		/* has memory of its own */
	struct chunk_extents extents;	/* those with data in it */
	TAILQ_ENTRY(chunk) link;	/* in the list of its state */
	uint64_t used_usec;	/* OPEN: last post; CLEAN: since when */
};
TAILQ_HEAD(chunk_list, chunk);
TAILQ_HEAD(slab_reads, read_block);

/* In wb->waiting, the first first. */
enum wait_rank { WAIT_RANK_LIGHT, WAIT_RANK_PARTLY, WAIT_RANK_REST };

struct import_entry {
	uint32_t slot;
	uint32_t ringpos;		/* as it was found */
};

struct slab {
	struct wb *wb;
	struct shm_view view;
	struct slab_hooks hooks;
	void *hooks_arg;
	LIST_ENTRY(slab) link;		/* wb->slabs */
	LIST_ENTRY(slab) ending_link;	/* wb->ending_slabs, once released */

	struct chunk *chunk;
	struct chunk_list free, open, closed, clean, read, handed;
	uint64_t granted_bytes;		/* granted and not posted */
	unsigned ahead_nr;		/* chunks to keep granted ahead */
	struct wb_server *server;	/* of its last post; NULL: none yet */
	struct pace_writer pace;

	struct extent *extent;		/* one a list slot */
	struct extent_list free_extents;
	struct extent_list clean_extents;	/* oldest first */
	struct slab_dirty_list dirty;	/* DIRTY ones, oldest first */
	uint32_t free_nr;
	uint32_t fresh_nr;		/* the first never used */

	uint64_t bytes[EXTENT_STATE_NR];
	uint32_t live_nr;		/* extents but CLEAN ones */

	struct slab_reads reads;	/* the oldest first */
	uint32_t read_nr;		/* chunks that are READ or HANDED */
	uint32_t read_mark;		/* number of the last one's mark */

	bool waiting;			/* for room, in one of the lists of wb */
	struct wb_server *held_by;	/* waits for this one's share */
	uint64_t due_usec;		/* in wb->paced: until then */
	uint64_t answered_wanted;	/* in wb->driving: by the server */
	bool partly;			/* got a part of what it asked for */
	uint32_t turn_nr;		/* chunks it got in its turn so far */
	enum wait_rank wait_rank;
	TAILQ_ENTRY(slab) wait_link;
	enum waiting_for waiting_for;
	uint64_t waiting_since;
	bool short_of_room;		/* reclaim's slow path, */
	uint64_t short_since, look_usec;	/* since, asleep until */
	uint32_t want;
	bool wants_room;		/* and nobody waits for the tail */
	uint32_t want_chunk;
	bool want_inline;		/* slab_write waits */
	bool starved;			/* slab_post lacked a slot */
	bool stalled;			/* ... has to wait for a truncation */
	uint32_t inline_chunk;		/* slab_write's own */

	bool released;
	bool importing;
	struct import_entry *import;	/* by sequence */
	uint32_t import_nr, import_at;
	struct wb_handle *(*import_file_of)(void *arg, uint32_t file);
	void *import_arg;
};

static inline struct chunk *
slab_chunk(struct slab *s, uint64_t place)
{
	return &s->chunk[place / NFSWB_CHUNK_BYTES];
}

static inline _Atomic uint64_t *
slab_mark(struct slab *s, const struct chunk *c)
{
	return &s->view.mark[c - s->chunk];
}

static inline uint32_t
slab_slot(const struct slab *s, const struct extent *e)
{
	return (uint32_t)(e - s->extent);
}

/* Of all slabs together, beyond what each has anyway. */
uint32_t slots_max(uint64_t dirty_bytes);
/* A slot; with reserve also from what is kept for cuts.  CLEAN ones are given
   up for it.  NULL: none. */
struct extent *slab_extent_get(struct slab *, bool reserve);
bool slab_has_slots(struct slab *, uint32_t nr);
/* Of its slots, so many are kept for cuts. */
uint32_t slab_reserve(const struct slab *);
/* So many have been used, or (0, at the end) none: their memory is counted. */
void slab_set_fresh(struct slab *, uint32_t nr);
void slab_extent_put(struct extent *);
/* The same for one that was got in vain: nobody who lacks slots is woken. */
void slab_extent_unget(struct extent *);

/* Granted bytes, more or fewer, in all the sums. */
void slab_account_grant(struct slab *, int64_t bytes);
/* Its grants are this server's from now on. */
void slab_aim(struct slab *, struct wb_server *);

/* The list's entry of an extent, in the order of SHARED-MEMORY. */
void slab_publish(struct extent *, enum nfswb_list_state);
/* Its length, after it was set. */
void slab_relength(struct extent *);
void slab_list_state(struct extent *, enum nfswb_list_state);
void slab_strike(struct extent *);

/* Which list a chunk belongs to, after something in it changed. */
void slab_chunk_check(struct slab *, struct chunk *);
/* Takes back what the library closed, or (force) closes it. */
uint64_t slab_take_back(struct slab *, struct chunk *, bool force);
void slab_check_closed(struct slab *);
void slab_chunk_move(struct slab *, struct chunk *, enum chunk_state);
/* A FREE one's memory goes back, where the session can do that. */
void slab_chunk_idle(struct slab *, struct chunk *);
void slab_wake(struct slab *);
/* slab_post found no slot, that is no room: woken when some came free. */
void slab_starve(struct slab *);
/* It has to wait for a truncation: the same. */
void slab_stall(struct slab *);
/* The list is taken and the ring drained: room may be granted. */
void slab_import_end(struct slab *);
/* Ends a released slab without live extents: true, and it is freed. */
bool slab_reap(struct slab *);

#endif
