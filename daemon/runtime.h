/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runtime.h - what the next instance must know: sessions, their open files, and
 * hidden names on servers
 *
 * A table in memory, and the same as lines of JSON in runtime_dir/sessions,
 * written before the client hears of what they say.  It outlives a SIGKILL.
 * One daemon per folder: runtime_dir/lock.
 */
#ifndef NFSWB_RUNTIME_H
#define NFSWB_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/cred.h"

#define RUNTIME_SECRET 16	/* NFSWB_TOKEN_SIZE */

struct runtime_file {
	LIST_ENTRY(runtime_file) link;
	uint32_t number;
	unsigned char token[RUNTIME_SECRET];
	int oflags;
	char *description;	/* namespace's, for ns_restore */
};

/* A name on the server that is to be removed when its file is closed. */
struct runtime_hidden {
	LIST_ENTRY(runtime_hidden) link;
	uint64_t id;
	char *description;	/* namespace's, for ns_restore_hidden */
};

struct runtime_session {
	LIST_ENTRY(runtime_session) link;
	uint64_t id;
	unsigned char secret[RUNTIME_SECRET];
	pid_t pid;
	uint64_t starttime;
	struct cred *cred;
	uint64_t data_bytes;	/* 0: no shared memory */
	LIST_HEAD(, runtime_file) files;
};

LIST_HEAD(runtime_sessions, runtime_session);
LIST_HEAD(runtime_hidden_list, runtime_hidden);

struct runtime;

/* Locks the folder and reads what an earlier instance left.  NULL: *error is
   one line, the caller frees. */
struct runtime *runtime_open(const char *dir, char **error);
/* Leaves the file as it is. */
void runtime_close(struct runtime *);
struct runtime_sessions *runtime_list(struct runtime *);
struct runtime_hidden_list *runtime_hidden_list(struct runtime *);

/* Are two secrets or tokens the same?  In constant time. */
bool runtime_same(const void *, const void *);

/* A session that never was before: its id is chosen here, secret at random.
   0 or -errno: it could not be written down. */
int runtime_born(struct runtime *, pid_t, uint64_t starttime, struct cred *,
		 uint64_t data_bytes, struct runtime_session **out);
/* An opened file: its token is chosen here. */
int runtime_opened(struct runtime *, struct runtime_session *,
		   uint32_t number, int oflags, const char *description,
		   struct runtime_file **out);
/* What is written of an open file is another now.  0 or -errno: it is as it
   was. */
int runtime_described(struct runtime *, struct runtime_session *,
		      struct runtime_file *, const char *description);
/* Struck from the table and freed. */
void runtime_closed(struct runtime *, struct runtime_session *,
		    struct runtime_file *);
void runtime_ended(struct runtime *, struct runtime_session *);
/* A late copy of a call may land until then; 0: none that was written down. */
int runtime_late(struct runtime *, uint64_t until_usec);
uint64_t runtime_late_until(const struct runtime *);
/* A hidden name, whoever has its file open; 0 or -errno. */
int runtime_hide(struct runtime *, const char *description, uint64_t *id);
void runtime_unhide(struct runtime *, uint64_t id);

#endif
