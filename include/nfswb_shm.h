/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfswb_shm.h - the memory that an application and nfswbd share
 *
 * Per session two memfds, made and sealed by the daemon: control, whose head
 * is struct nfswb_control, and data, cut into chunks.
 *
 *	control:  nfswb_control | grant queue | shared flags | marks | ring | list
 *
 * The library writes head, c_waits, want, want_chunk, g_tail and ring; the
 * daemon writes tail, d_sleeps, g_head, the grant queue, the shared flags and
 * the list; both change marks, atomically.  The daemon keeps its own books and
 * believes what the library writes only after comparing.
 *
 * All words that both sides touch are atomics; plain members belong to one
 * writer and are published by a later release store.
 */
#ifndef NFSWB_SHM_H
#define NFSWB_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define NFSWB_SHM_MAGIC		0x6e667377622e7331ull	/* "nfswb.s1" */
#define NFSWB_CHUNK_BYTES	65536u
#define NFSWB_RING_SLOTS	16384u		/* a power of two */
#define NFSWB_FILES_MAX		16384u		/* open files a session */
#define NFSWB_CONTROL_MAX	(16u << 20)
#define NFSWB_NO_CHUNK		0xffffffffu
#define NFSWB_LINE		64

/* What a ring entry says.  place is the byte offset in the data memfd; the
   bytes lie within one chunk. */
enum nfswb_ring_kind {
	NFSWB_RING_WRITE = 1,	/* length bytes at place go to offset */
	NFSWB_RING_APPEND = 2,	/* the same, to the end of file; offset is 0 */
};

struct nfswb_ring_entry {	/* 32 bytes, written by the library */
	uint64_t offset;
	uint64_t place;
	uint32_t length;
	uint32_t file;		/* the session's number of the open file */
	uint32_t kind;		/* enum nfswb_ring_kind */
	uint32_t spare;
};

enum nfswb_list_state {
	NFSWB_LIST_DIRTY = 0,
	NFSWB_LIST_SENT = 1,	/* may have left for the server */
	NFSWB_LIST_ANSWERED = 2,/* the server has it, perhaps in memory only */
};

/* What was posted and is not on stable storage: written by the daemon, read by
   its next instance.  64 bytes. */
struct nfswb_list_entry {
	_Atomic uint64_t seq;	/* 0: free; stored last when filled */
	_Atomic uint64_t length_ringpos; /* length in the low 32 bits, the low
				   32 bits of the ring position behind the last
				   entry merged into it in the high ones */
	uint64_t offset;	/* in the file */
	uint64_t place;		/* in the data memfd */
	uint32_t file;
	_Atomic uint32_t state;	/* enum nfswb_list_state */
	uint64_t spare[3];
};

/* A chunk's mark: fill in bits 0..31, limit in bits 32..62, closed in bit 63.
   The library claims room by compare-and-swap on fill while open and fill +
   length <= limit.  The daemon raises limit by fetch-and-add and closes by
   fetch-and-or. */
#define NFSWB_MARK_CLOSED	(1ull << 63)
#define NFSWB_MARK_LIMIT_1	(1ull << 32)

/*
 * A chunk that holds what was READ is closed, and has NFSWB_MARK_READ and a number
 * in the place of the limit: another one each time the chunk is used.  The daemon
 * tells that mark with the place.  It may use the chunk anew at any time, so the
 * library looks at the mark again when it has copied: if it is still the same, what
 * was copied is what was read.  It adds the bytes to fill, which lets the daemon
 * use the chunk anew without need.
 */
#define NFSWB_MARK_READ		(1ull << 62)
#define NFSWB_PLACE_ZEROS	UINT64_MAX	/* of a piece: nothing was written
						   there yet */

static inline uint32_t
nfswb_mark_fill(uint64_t mark)
{
	return (uint32_t)mark;
}

static inline uint32_t
nfswb_mark_limit(uint64_t mark)
{
	return (uint32_t)(mark >> 32) & 0x7fffffffu;
}

static inline uint64_t
nfswb_mark_read(uint32_t nr)
{
	return NFSWB_MARK_CLOSED | NFSWB_MARK_READ |
	       (uint64_t)(nr & 0x3fffffffu) << 32;
}

/* After copying bytes out of a chunk that had this mark (fill aside): 1, or 0: it
   was used anew meanwhile. */
static inline int
nfswb_mark_took(_Atomic uint64_t *mark, uint64_t was, uint32_t bytes)
{
	uint64_t m, more;

	atomic_thread_fence(memory_order_seq_cst);
	m = atomic_load(mark);
	do {
		if ((m ^ was) >> 32)
			return 0;
		more = (uint64_t)nfswb_mark_fill(m) + bytes;
		if (more > UINT32_MAX)
			more = UINT32_MAX;
	} while (!atomic_compare_exchange_weak(mark, &m,
					       (m & ~(uint64_t)UINT32_MAX) |
					       more));
	return 1;
}

/* d_sleeps: what the daemon wants to hear of.  A bell is an empty record. */
enum nfswb_sleep {
	NFSWB_AWAKE = 0,	/* ring for nothing */
	NFSWB_RING = 1,		/* asleep: ring for every post */
	NFSWB_NAP = 2,		/* back in a millisecond: ring when you wait, the
				   ring is half full or half your room is used */
};

#define NFSWB_WANT_ROOM (1u << 31)	/* in want, beside bytes */

struct nfswb_control {
	/* written once by the daemon, before the memfd is handed out */
	uint64_t magic;
	uint64_t session;
	uint64_t data_bytes;
	uint32_t chunk_nr;
	uint32_t ring_nr;	/* powers of two */
	uint32_t grant_nr;
	uint32_t list_nr;

	_Alignas(NFSWB_LINE) _Atomic uint64_t head;	/* ring, free running */
	_Alignas(NFSWB_LINE) _Atomic uint64_t tail;
	_Alignas(NFSWB_LINE) _Atomic uint32_t d_sleeps;	/* enum nfswb_sleep */
	/* The library waits for room: want bytes, in want_chunk if it has one
	   (else NFSWB_NO_CHUNK); want 0: for the tail only (ring full, or a
	   write to a shared file).  Both are stored before c_waits is set to 1;
	   the daemon exchanges c_waits to 0 before it serves.  Having taken
	   it, the daemon owes a bell when the tail has moved or room was
	   granted, whichever comes first; who still lacks something then sets
	   c_waits again.  With NFSWB_WANT_ROOM in want, nobody waits for the
	   tail, and no bell is owed for that. */
	_Alignas(NFSWB_LINE) _Atomic uint32_t c_waits;
	_Atomic uint32_t want;
	_Atomic uint32_t want_chunk;
	/* Grant queue; both are 0 again before a RESUME is answered. */
	_Alignas(NFSWB_LINE) _Atomic uint64_t g_head;
	_Alignas(NFSWB_LINE) _Atomic uint64_t g_tail;
};

/* Where the parts lie in control, and how long it is. */
struct nfswb_layout {
	uint32_t chunk_nr, ring_nr, grant_nr, list_nr;
	size_t grant_off;	/* _Atomic uint32_t[grant_nr]: chunk numbers */
	size_t shared_off;	/* _Atomic uint8_t[NFSWB_FILES_MAX]: open in a
				   second session: a write waits for the tail */
	size_t mark_off;	/* _Atomic uint64_t[chunk_nr] */
	size_t ring_off;	/* struct nfswb_ring_entry[ring_nr] */
	size_t list_off;	/* struct nfswb_list_entry[list_nr] */
	size_t bytes;		/* a multiple of 4096, NFSWB_CONTROL_MAX at most */
};

/*
 * Computes the layout for data_bytes (a multiple of NFSWB_CHUNK_BYTES, 1 chunk
 * to 2^31 bytes); returns 0, or -1 where data_bytes is not that.  Both sides
 * call this; neither reads sizes from the other.
 */
static inline int
nfswb_layout(struct nfswb_layout *l, uint64_t data_bytes)
{
	size_t at = sizeof(struct nfswb_control);
	uint64_t list;

	if (data_bytes < NFSWB_CHUNK_BYTES || data_bytes > (1ull << 31) ||
	    data_bytes % NFSWB_CHUNK_BYTES)
		return -1;
	l->chunk_nr = (uint32_t)(data_bytes / NFSWB_CHUNK_BYTES);
	l->ring_nr = NFSWB_RING_SLOTS;
	for (l->grant_nr = 16; l->grant_nr < l->chunk_nr;)
		l->grant_nr *= 2;
	l->grant_off = at;
	at += (size_t)l->grant_nr * 4;
	l->shared_off = at = (at + 63) & ~(size_t)63;
	at += NFSWB_FILES_MAX;
	l->mark_off = at = (at + 63) & ~(size_t)63;
	at += (size_t)l->chunk_nr * 8;
	l->ring_off = at = (at + 63) & ~(size_t)63;
	at += (size_t)l->ring_nr * sizeof(struct nfswb_ring_entry);
	l->list_off = at = (at + 63) & ~(size_t)63;
	/* two a 4 KiB: one for what is posted, one for what is cut; 1024 at
	   least */
	list = data_bytes / 2048;
	if (list < 1024)
		list = 1024;
	if (list > (NFSWB_CONTROL_MAX - at) / sizeof(struct nfswb_list_entry))
		list = (NFSWB_CONTROL_MAX - at) / sizeof(struct nfswb_list_entry);
	l->list_nr = (uint32_t)list;
	at += list * sizeof(struct nfswb_list_entry);
	l->bytes = (at + 4095) & ~(size_t)4095;
	return 0;
}

_Static_assert(sizeof(struct nfswb_ring_entry) == 32, "ring entry");
_Static_assert(sizeof(struct nfswb_list_entry) == 64, "list entry");

#endif /* NFSWB_SHM_H */
