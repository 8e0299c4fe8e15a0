/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fakewbd.h - a daemon for the library's tests: shared memory, no network
 *
 * A thread that serves one session at a time: it grants chunks, drains the ring
 * into files in memory, answers calls, and dies and comes back when told (or
 * now and then by itself).  Files outlive its deaths as if all were stable at
 * once.  What the library does wrong is counted in fault_nr and printed.
 */
#ifndef NFSWB_TESTS_FAKEWBD_H
#define NFSWB_TESTS_FAKEWBD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"
#include "common/ring.h"
#include "include/nfswb_prot.h"

#define FAKE_FILES 16
#define FAKE_PLACES 4096
#define FAKE_MUTED 4

struct fake_file {
	char name[64];
	unsigned char *data;
	size_t size, room;
	bool open;
	size_t reserved_left;	/* of an append's range, not written yet */
	int oflags;
};

struct fake_chunk {
	bool granted;
	uint32_t limit, posted;
};

struct fake {
	char dir[64], path[96];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int kick_fd;
	bool stop;

	/* what the test wants, set by fake_lock … fake_unlock */
	uint64_t data_bytes;
	uint32_t grant_bytes;	/* a grant; a chunk at most */
	bool hold_grants;	/* nobody gets room */
	bool paused;		/* looks at nothing */
	bool awake;		/* says that it is, though paused */
	bool shared;		/* every file is open elsewhere, too */
	bool away;		/* dead until this is false */
	bool nonsense;		/* answers HELLO with garbage */
	bool refuse;		/* every RESUME */
	uint64_t max_size;	/* of a file, told at open */
	int fsync_error;	/* the answer to FSYNC */
	int failed_room;	/* the answer to FAILED_ROOM */
	unsigned spoil_nr;	/* the places of so many READ_PLACEs are used anew
				   before the answer is there */
	bool spoil_second;	/* of each only its second piece */
	uint64_t odd_place;	/* an answer names this; 0: none */
	nfswb_type mute;	/* gets no answer until this is 0 */
	unsigned answer_nr;	/* but so many of them get one, all the same */
	unsigned die_in;	/* about so many steps; 0: never */
	unsigned seed;

	/* what it saw */
	unsigned fault_nr, bell_nr, entry_nr, append_nr, reserve_nr, again_nr,
		 resume_nr, close_nr, fsync_nr, died_nr;
	unsigned place_nr, inline_nr;	/* READs of either kind */
	bool waits;		/* somebody wants room and gets none */
	uint64_t muted_id, again_id;
	unsigned muted_nr;	/* calls without an answer */
	uint64_t place[FAKE_PLACES];	/* of the first entries */
	struct fake_file file[FAKE_FILES];

	/* its own */
	int listen_fd, fd;
	int memory_fd[2];
	void *memory[2];
	struct shm_view shm;
	struct fake_chunk *chunk;
	struct record_reader in;
	uint64_t tail;
	uint32_t read_mark;
	bool owes_bell, resumed;
	nfswb_call muted[FAKE_MUTED];
	uint64_t reserve_id, reserve_start;
};

/* Starts it on a socket in a folder of its own; data_bytes: of the slab. */
struct fake *fake_start(uint64_t data_bytes);
/* Ends it; the number of faults. */
unsigned fake_end(struct fake *);

void fake_lock(struct fake *);
void fake_unlock(struct fake *);	/* and has it look again */
/* With the lock: gives it up until something happened. */
void fake_wait(struct fake *);

/* The file of that name, or NULL. */
struct fake_file *fake_find(struct fake *, const char *name);

#endif
