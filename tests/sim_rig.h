/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sim_rig.h - the whole way of a write under virtual time
 *
 *	slab -> pipeline -> transport -> rpc client -> socketpair -> nfssim
 *
 * All of it is the real code; only the loop and the server are the tests'.  The
 * calls that wait let virtual time pass until what they wait for has happened,
 * ten minutes at most.  $SIM_VERBOSE: the log is shown.
 */
#ifndef NFSWB_TESTS_SIM_RIG_H
#define NFSWB_TESTS_SIM_RIG_H

#include "daemon/transport.h"
#include "daemon/writeback/slab.h"
#include "daemon/writeback/stats.h"
#include "tests/nfssim.h"
#include "tests/vloop.h"

#define RIG_SECOND 1000000ull
#define RIG_PATIENCE (600 * RIG_SECOND)

struct rig_options {		/* 0: what is said here */
	uint64_t slab_bytes;		/* 16 MiB */
	uint64_t dirty_bytes;		/* 8 MiB */
	uint64_t dirty_background_bytes;/* half of that */
	uint64_t dirty_expire_usec;	/* 30 s */
	uint64_t late_duplicate_usec;	/* 10 s */
	uint64_t congestion_bytes;	/* 4 MiB */
	uint32_t wsize;			/* 64 KiB */
	enum wb_stable stable;
	unsigned slot_nr;		/* 64 */
	unsigned connection_nr;		/* 1 */
	unsigned timeo_ds;		/* 600 */
	bool soft;
	uint64_t delay_usec;		/* of replies: 200, or the model's */
	const struct model_params *model;
	bool apart;			/* the server has a loop of its own, which
					   the test turns: sim_loop */
	bool discard;			/* the server keeps no contents */
	uint64_t seed;			/* 1 */
};

struct rig {
	struct rig_options opt;
	struct loop *loop, *sim_loop;	/* one and the same, or apart */
	struct nfssim *sim;
	struct rpc_client *client;
	struct transport *transport;
	struct wb *wb;
	struct wb_server *server;
	struct slab *slab;
	struct shm_view view;
	void *control, *data;
	struct loop_deferred *turn;
	struct loop_timer *next_turn;
	struct cred *cred;
	uint32_t chunk;			/* the writer's */
	bool room;			/* the slab's hook was called */
	bool slab_gone;
	uint64_t given_up_bytes;
	uint64_t most_dirtied;		/* seen after any turn */
};

struct rig_wait {
	bool done;
	int err;
};

/* Never fails: ends the program without memory. */
struct rig *rig_new(const struct rig_options *);
void rig_free(struct rig *);

/* Makes the file on the server where it is not there, and opens it. */
struct wb_handle *rig_open(struct rig *, const char *path);
/* As the library does: claims granted room, copies, posts; waits for room. */
void rig_write(struct rig *, struct wb_handle *, uint64_t offset,
	       const void *data, size_t len);
/* As a message does, without waiting: the bytes taken. */
int64_t rig_write_inline(struct rig *, struct wb_handle *, uint64_t offset,
			 const void *data, size_t len);

void rig_fsync_start(struct rig *, struct wb_handle *, struct rig_wait *);
/* What it said; -ETIME: nothing within ten minutes. */
int rig_finish(struct rig *, struct rig_wait *);
int rig_fsync(struct rig *, struct wb_handle *);
int rig_close(struct rig *, struct wb_handle *);
void rig_truncate_start(struct rig *, struct wb_handle *, uint64_t size,
			struct rig_wait *);
int rig_truncate(struct rig *, struct wb_handle *, uint64_t size);
int rig_sync(struct rig *);

static inline void
rig_pass(struct rig *r, uint64_t usec)
{
	vloop_pass(r->loop, usec);
}

/* Are the file's contents on the server these, and nothing more? */
bool rig_is(struct rig *, const char *path, enum nfssim_which,
	    const void *data, size_t len);

const struct server_stats *rig_stats(struct rig *);

#endif
