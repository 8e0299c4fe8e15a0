/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names_rig.h - namespace and pipeline against nfssim, over TCP on loopback
 *
 * Server, pipeline and namespace share one real loop, as libnfs needs real
 * sockets.  A test asks, and the loop runs until the answer is there; a guard
 * ends it where none comes.
 */
#ifndef NFSWB_TESTS_NAMES_RIG_H
#define NFSWB_TESTS_NAMES_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/config.h"
#include "daemon/namespace.h"
#include "daemon/writeback/slab.h"
#include "tests/nfssim.h"

struct world {
	struct loop *loop;
	struct loop_deferred *turn;
	struct loop_timer *next, *guard;
	struct config *config;
	struct config_mount mount;
	struct nfssim *sim;
	int listen_fd;
	unsigned port;
	struct wb *wb;
	struct namespace *ns;
	struct cred *cred;
	struct slab *slab;
	struct shm_view view;
	unsigned drains;
	struct {			/* what is to outlive us */
		char text[4096];	/* the last */
		uint64_t id;
		unsigned hide, unhide, described;
		uint64_t renames;	/* seen by the server before it */
		bool full;
	} memory;
	/* the last answer */
	unsigned answers;
	bool late;
	int err;
	char text[1024];
	struct nfswb_attr attr;
	struct wb_file *file;
	char content[256];
	unsigned char data[8192];
	uint32_t length;
	bool eof;
	char (*names)[64];
	unsigned name_nr;
	uint64_t cookie, verifier;
};
extern struct world w;

/* What the server does to the next so many calls of a kind. */
struct world_fault {
	uint32_t proc;
	struct nfssim_verdict verdict;
	unsigned times;			/* that are left */
};
extern struct world_fault fault;

/* NULL: as nfssim is by itself. */
void world_start(const struct nfssim_options *options);
void world_end(void);
void world_turn(void *arg);
void start_pipeline(void);
void start_namespace(void);
int listen_on_loopback(unsigned *port);
/* Until somebody stops the loop. */
void run(void);
/* For the ns_ calls, and for those on a file; both end run(). */
void answered(void *arg, int err, const char *text,
	const struct ns_answer *a);
void file_answered(void *arg, int err);
/* The answer's error; it never comes from inside the call. */
int answer(void);
/* Two at a time. */
const char *url(const char *path);
int do_open(const char *path, int oflags, unsigned mode);
int do_stat(const char *path, bool follow);
int do_unlink(const char *path);
int do_rename(const char *from, const char *to);
int do_mkdir(const char *path);
int do_symlink(const char *content, const char *path);
struct wb_handle *open_file(const char *path, int oflags);
/* All of it; waits for room. */
void write_text(struct wb_handle *h, const char *text, uint64_t offset);
int do_close(struct wb_handle *h);
/* Waits for it. */
bool comes_true(bool (*condition)(void));
void break_next(uint32_t proc, struct nfssim_verdict v, unsigned times);
uint64_t calls(uint32_t proc);

#endif
