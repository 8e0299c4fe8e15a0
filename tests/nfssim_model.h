/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_model.h - how long a server takes: link, threads, memory, disk
 *
 *	call -> link -> a thread is free -> memory, disk -> done -> link -> reply
 *
 * Knows no RPC and keeps no data, only counts: nfssim puts its calls through
 * it, and so can a benchmark that needs no bytes at all.  Deterministic: the same
 * calls at the same times end at the same times.
 *
 *	model_carry(m, &op, LINK_IN, bytes, arrived);
 *	    arrived:  model_run(m, &op, when)		by op.kind, op.file …
 *	    op.done:  model_carry(m, &op, LINK_OUT, bytes, answered);
 */
#ifndef NFSWB_TESTS_NFSSIM_MODEL_H
#define NFSWB_TESTS_NFSSIM_MODEL_H

#include <stddef.h>

#include "tests/nfssim_cache.h"
#include "tests/nfssim_link.h"

struct model_params {		/* 0: takes no time, has no limit */
	uint64_t link_bits_per_sec, rtt_usec;
	uint64_t window_bytes;	/* of a link that is behind; 0: 2 MiB */
	uint64_t threads;
	uint64_t write_usec, copy_bytes_per_sec;	/* of a WRITE */
	uint64_t other_usec;	/* of a READ or anything else but COMMIT */
	uint64_t memory_bytes, background_percent, hard_percent;
	uint64_t disk_bytes_per_sec, seek_usec;
	uint64_t request_bytes, turn_bytes;	/* 0: 1 MiB, 8 MiB */
	uint64_t commit_all, journal_usec;	/* S2 */
};

/*
 * "disk", "ext3,rtt=20ms", "ssd,disk=200MB,threads=2", "link=1G,rtt=1ms": a
 * preset (ssd, disk, ext3, long, 10g), then what differs.  NULL, or what is
 * wrong with it.
 */
const char *model_params_parse(struct model_params *, const char *text);
/* All names and presets in words, a line each. */
const char *model_params_help(void);

enum model_kind { MODEL_OTHER, MODEL_WRITE, MODEL_COMMIT, MODEL_READ };

struct model_op {
	enum model_kind kind;
	uint64_t file, offset, length;	/* COMMIT: length 0: to the end */
	bool stable;			/* WRITE: and a COMMIT of it */
	uint64_t hold_usec;		/* keeps its thread that much longer */
	sim_event_fn *started;		/* a thread has it; may be NULL */
	sim_event_fn *done;
	void *arg;			/* of both, and of model_carry's fn */

	/* the model's */
	struct model *model;
	struct sim_event event;
	struct cache_wait wait;
	bool listed, in_thread;
	sim_event_fn *carried, *next;
	TAILQ_ENTRY(model_op) link;
};

struct model_stats {
	uint64_t disk_written_bytes, disk_read_bytes, disk_requests, seeks;
	uint64_t disk_busy_usec;
	uint64_t dirty_bytes;		/* now */
	uint64_t commits, journals;	/* that had to wait; of S2's journal */
	uint64_t held_writes;		/* by the hard share */
	uint64_t queued;		/* now, for a thread */
	uint64_t most_queued;
	uint64_t link_bytes[2];
};

/* NULL: no memory. */
struct model *model_new(struct loop *, const struct model_params *);
/* Ops that are under way are forgotten, and their functions not called. */
void model_free(struct model *);
void model_crash(struct model *);
struct model_stats model_stats(const struct model *);

/* fn, or a crash, is the end of it. */
void model_carry(struct model *, struct model_op *, enum link_way,
		 uint64_t bytes, sim_event_fn *fn);
/* Waits for a thread; op->done, or a crash, is the end of it. */
void model_run(struct model *, struct model_op *, uint64_t when_nsec);
/* The op is as if it had never been; not while a thread has it. */
void model_cancel(struct model *, struct model_op *);
/* Is more handed over than a socket's buffers would take?  Then, in how many
   microseconds it is half of that; else 0. */
uint64_t model_congested(const struct model *, enum link_way);
/* As this, of a socket that keeps so many bytes ahead of the link. */
uint64_t model_ahead(const struct model *, enum link_way, uint64_t bytes);
void model_truncate(struct model *, uint64_t file, uint64_t size);

#endif
