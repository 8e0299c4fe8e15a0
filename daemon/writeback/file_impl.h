/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_impl.h - struct wb_file and wb_handle, for the pipeline's own parts */
#ifndef NFSWB_FILE_IMPL_H
#define NFSWB_FILE_IMPL_H

#define HASH_NONFATAL_OOM 1	/* see hh.tbl where one joins */
#include <uthash.h>

#include "daemon/writeback/congestion.h"
#include "daemon/writeback/errseq.h"
#include "daemon/writeback/extent.h"
#include "daemon/writeback/file.h"
#include "daemon/writeback/late.h"

struct commit;
struct read_block;
struct truncation;
struct sync_wait;
struct write_op;

TAILQ_HEAD(sync_list, sync_wait);
TAILQ_HEAD(truncation_list, truncation);
LIST_HEAD(handle_list, wb_handle);
LIST_HEAD(file_reads, read_block);
TAILQ_HEAD(write_op_list, write_op);

/* Smaller ones come first. */
struct turn {
	uint64_t at, nr;
};

static inline int
turn_cmp(const struct turn *a, const struct turn *b)
{
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

struct wb_file {
	struct wb_server *server;
	struct fh fh;
	struct wb_file_params params;
	char *name;
	unsigned refs;
	bool forgotten;			/* removed on the server */
	unsigned paused;		/* nothing is sent */
	bool imported;			/* has had was_sent extents */
	UT_hash_handle hh;		/* in server->files, by fh */

	/* extents */
	struct extent_offset_tree extents;	/* all but HELD and GHOST */
	struct extent_dirty_tree dirty;
	struct extent_seq_tree to_write;	/* DIRTY */
	struct extent_seq_tree under_way;	/* HELD, WRITEBACK */
	struct extent_seq_tree uncommitted;	/* UNSTABLE, GHOST */
	struct extent_seq_tree failed;
	struct extent_list held;
	struct extent_list unstable;	/* UNSTABLE, GHOST, in no COMMIT */
	struct late_list late;
	unsigned late_nr;
	uint64_t late_all_usec;		/* all of it, until then */
	uint64_t bytes[EXTENT_STATE_NR];
	unsigned nr[EXTENT_STATE_NR];

	/* writeback */
	uint64_t cursor;		/* where an async pass goes on */
	uint64_t portion_used;		/* by async passes of this turn */
	struct write_op_list ops;	/* WRITEs queued or on the wire, in
					   the order they were queued */
	enum wb_class ops_class;	/* none of them is below */
	unsigned ops_nr;
	struct commit *commit;		/* the COMMIT that is out */
	bool commit_soon;		/* the server's verifier changed */
	RB_ENTRY(wb_file) by_turn;	/* server->dirty_files, */
	TAILQ_ENTRY(wb_file) tail_link;	/* or tail_files */
	bool on_dirty;			/* in either */
	struct turn turn;		/* its place in them */
	bool only_tail;			/* in tail_files; see tails.h */
	uint64_t tail_end;		/* where that is a whole WRITE */
	RB_ENTRY(wb_file) by_age;	/* server->ages, or aged */
	uint64_t age_usec;		/* looked at then; see age.h */
	enum { AGE_NONE, AGE_WAITS, AGE_OVER } on_age;
	TAILQ_ENTRY(wb_file) unstable_link;	/* server->unstable_files */
	bool on_unstable;
	bool is_live;			/* not all of it is stable */
	TAILQ_ENTRY(wb_file) sync_link;	/* server->sync_files */
	struct congestion_pass sync_pass;	/* it is there unless this waits */
	bool on_sync;			/* in either */
	TAILQ_ENTRY(wb_file) kick_link;	/* wb->kicked */
	bool on_kick;
	TAILQ_ENTRY(wb_file) short_link;	/* wb->short_files */
	bool on_short;
	TAILQ_ENTRY(wb_file) timed_link;	/* wb->timed */
	bool on_timed;
	uint64_t wake_usec;		/* kicked then */
	TAILQ_ENTRY(wb_file) want_link;	/* server->want_commit */
	bool wants_commit;
	bool commit_waited;		/* ... want_waited instead */
	/* see commit_queue.h */
	enum commit_queue { QUEUE_NONE, QUEUE_WANTED, QUEUE_IDLE } queue;
	RB_ENTRY(wb_file) by_bytes, by_unstable;
	uint64_t queued_bytes, queued_nr, unstable_nr;
	uint64_t not_before_usec;	/* JUKEBOX */
	unsigned jukebox_nr;		/* in a row */
	unsigned window;		/* WRITEs out at most; 0: any */
	unsigned odd_nr;		/* WRITEs in a row that wrote nothing */
	unsigned mismatch_nr;		/* COMMITs in a row with a new verifier */
	bool force_stable;
	uint32_t wsize_try;		/* the server refused more; 0: no */

	/* size */
	uint64_t size;			/* as its users see it */
	bool size_known;		/* the server has told its own since this
					   file was made */
	uint64_t reply_size, reply_ctime;	/* by our last reply */
	uint64_t cut_ctime;		/* after our last truncation */

	/* what was READ */
	struct file_reads reads;
	uint64_t changes;		/* to contents and size, counted */
	unsigned read_wasted;		/* blocks read ahead that nobody wanted */

	struct errseq errors;
	uint64_t failures;		/* counted, seen or not */
	uint64_t error_until_usec;	/* an unseen one waits for an open */
	struct handle_list handles;
	unsigned handle_nr;
	unsigned reader_nr;		/* of them, may read */
	struct sync_list waits;
	struct truncation_list truncations;
	void (*when_closed)(void *arg, struct wb_file *);
	void *when_closed_arg;
};

/* How its owner reads; see readahead.c. */
struct readahead {
	uint64_t next;			/* where it would go on */
	uint64_t run;			/* bytes read in sequence */
	uint64_t window;		/* bytes to have ahead of next */
	unsigned wasted;		/* of the file's, seen */
};

struct wb_handle {
	struct wb_file *file;
	struct cred *cred;
	int oflags;
	uint64_t since;			/* errseq */
	struct extent *last;		/* the last write's, to be continued */
	uint64_t last_seq;		/* ... as long as it is this one */
	uint64_t reserved_end;		/* of an append's range that is not
					   written yet; 0: none */
	uint64_t cut_from;		/* what lies there was truncated */
	struct readahead ahead;
	struct sync_wait *closing;	/* set aside: a close can't fail */
	LIST_ENTRY(wb_handle) link;
};

/* Its waits are looked at in this turn. */
void file_kick(struct wb_file *);
/* So they are when list slots have come free. */
void file_short(struct wb_file *);
/* So they are at this time. */
void file_wake_at(struct wb_file *, uint64_t at_usec);
/* Frees it if nothing needs it any more. */
void file_check_unused(struct wb_file *);
/* A failure for every handle to see. */
void file_error(struct wb_file *, int err);
void handle_free(struct wb_handle *);
/* The file was cut: of an append under way what lies behind is gone, too. */
void handle_cut(struct wb_handle *, uint64_t size);

/* Is anything of it not stable, or its size on the way? */
bool file_has_local(const struct wb_file *);
/* What a READ's reply says of the file. */
void file_read_attr(struct wb_file *, uint64_t size, uint64_t ctime_nsec);
/* A READ found its end: nothing of ours lay behind that when it was asked. */
void file_read_end(struct wb_file *, uint64_t end, uint64_t changes);

/* The most that one WRITE of it may hold. */
uint32_t file_wsize(const struct wb_file *);

static inline int
file_turn_cmp(const struct wb_file *a, const struct wb_file *b)
{
	return turn_cmp(&a->turn, &b->turn);
}

/* Is nothing left to write?  Then what is accepted is at the server. */
static inline bool
file_all_written(const struct wb_file *f)
{
	return !f->to_write.last && !f->under_way.last;
}

#endif
