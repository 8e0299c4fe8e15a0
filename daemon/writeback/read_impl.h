/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * read_impl.h - one READ and what it brought
 *
 *	READ_OUT       asked; who wants its bytes waits for it
 *	READ_DELAYED   JUKEBOX: to be asked again at a time
 *	READ_HERE      answered; its chunks hold the bytes from offset on
 *
 *	read.c        finding, waiting, telling
 *	read_call.c   the call and its answer
 *	read_room.c   chunks for it, and giving them back
 *	readahead.c   how far ahead of whom
 *
 * A block is found only while no byte of its range was changed since it was asked
 * (known); who waits for it already gets it all the same.  It is gone when as many
 * bytes as it has were told.
 */
#ifndef NFSWB_READ_IMPL_H
#define NFSWB_READ_IMPL_H

#include "daemon/writeback/read.h"
#include "daemon/writeback/slab_impl.h"

#define READ_CHUNKS 16			/* 1 MiB, the most that NFSv3 is asked */
#define READ_KEEP_USEC 5000000		/* then nobody will want it */
#define RSIZE_WHEN_UNKNOWN 32768u

enum read_state { READ_OUT, READ_DELAYED, READ_HERE };

struct read_wait {
	TAILQ_ENTRY(read_wait) link;
	uint64_t offset, size;
	uint32_t length;
	slab_read_fn *fn;
	void *arg;
};
TAILQ_HEAD(read_waits, read_wait);

struct read_block {
	struct wb_call call;		/* first */
	enum read_state state;
	struct slab *slab;		/* NULL: the data is not wanted any more */
	struct wb_file *file;		/* a reference */
	bool known;
	uint64_t offset;
	uint32_t asked, got, told;
	bool ended;			/* the file ended behind what it got */
	uint64_t local_end;		/* file_local_end when it was asked */
	uint64_t changes;		/* the file's, then */
	uint64_t ctime_nsec;		/* by its reply; 0: not told */
	uint64_t due_usec;		/* DELAYED: again; HERE: expires */
	unsigned jukebox_nr;
	struct read_waits waits;
	uint32_t chunk[READ_CHUNKS], chunk_nr;
	struct iovec iov[READ_CHUNKS];
	LIST_ENTRY(read_block) file_link;	/* file->reads */
	TAILQ_ENTRY(read_block) link;		/* slab->reads, while it has one */
};

static inline uint64_t
read_end(const struct read_block *b)
{
	return b->offset + (b->state == READ_HERE ? b->got : b->asked);
}

/* --- read.c --- */
/* The block that has this byte, or will. */
struct read_block *read_find(struct slab *, struct wb_file *, uint64_t offset);
/* Where the next one begins; UINT64_MAX: there is none. */
uint64_t read_next(struct slab *, struct wb_file *, uint64_t offset);
/* It is HERE: tells who waits. */
void read_tell(struct read_block *);
/* It failed: tells them, and it is gone. */
void read_failed(struct read_block *, int err);
/* It goes, and not all of it was told: counted. */
void read_wasted(const struct read_block *);
/* Gone, as what it is in. */
void read_free(struct read_block *);
/* Bytes of the file were changed: what was read of them is history. */
void reads_drop(struct wb_file *, uint64_t from, uint64_t end);
/* The file's ctime is this: what was read under another one is history. */
void reads_drop_older(struct wb_file *, uint64_t ctime_nsec);
/* The session has ended: its memory is not touched any more. */
void reads_end(struct slab *);
/* The pipeline ends. */
void reads_free(struct wb_file *);

/* --- read_call.c --- */
/* Asks for at most so many bytes; NULL: no room, or no memory. */
struct read_block *read_ask(struct slab *, struct wb_handle *, uint64_t offset,
			    uint32_t length, bool ahead);
/* Asks again; it may be gone then. */
void read_again(struct read_block *);
/* Its answer finds nobody: not for its memory, nor for its waits. */
void read_forget(struct read_block *);

/* --- read_room.c --- */
/* A chunk for the block, READ and with a fresh mark; false: none. */
bool read_room_get(struct read_block *, bool ahead);
/* Those of the block are free; those that were told only when they are wanted. */
void read_room_put(struct read_block *);
/* The same for all that were told. */
void read_room_end(struct slab *);
/* Somebody wants to write: frees something that nobody waits for.  false: there
   is nothing. */
bool reads_give(struct slab *);
/* What is due. */
void reads_run(struct wb *, uint64_t now);
void reads_due(struct wb *, uint64_t at_usec);

/* --- readahead.c --- */
/* Somebody reads there; the bytes to ask for at once where nothing is here. */
uint32_t readahead_note(struct wb_handle *, uint64_t offset, uint32_t length);
/* Asks for the rest of what is wanted, and what is to be ahead of that. */
void readahead_go(struct slab *, struct wb_handle *, uint64_t from,
		  uint64_t wanted);

#endif
