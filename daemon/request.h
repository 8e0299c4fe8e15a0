/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * request.h - a message from its arrival to its reply
 *
 * Each is replied to exactly once, and is gone then.  It keeps its session,
 * which may end meanwhile (the reply then goes nowhere), so that whoever is
 * asked on its behalf may answer as late as it likes.
 */
#ifndef NFSWB_REQUEST_H
#define NFSWB_REQUEST_H

#include "daemon/session_impl.h"
#include "include/nfswb_prot.h"

struct request;

/* What a kind of message is: api.c's table. */
struct api_entry {
	nfswb_type type;
	const char *name;
	size_t max;		/* bytes of the whole call */
	unsigned flags;
	unsigned cost;		/* in plain messages */
	void (*act)(struct request *);
};

#define API_ANYTIME	0x1u	/* needs no ring drained, waits for nothing */
#define API_FIRST	0x2u	/* opens the session */
#define API_FILE	0x4u	/* names an open file */
#define API_EVERY	0x8u	/* drains all sessions first */

const struct api_entry *api_find(nfswb_type);

struct request {
	TAILQ_ENTRY(request) link;
	struct session *session;	/* a reference */
	const struct api_entry *api;
	struct nfswb_call call;
	size_t bytes;			/* as it came */
	uint64_t came_usec;
	uint64_t until;			/* ring position to drain to first */
	bool begun;			/* counted among those under way */
	bool in_file;			/* waits in the pipeline for r->file */
	bool in_slab;			/* ... for a READ into the slab */
	void (*go)(struct request *);	/* parked: what to do when drained */
	struct session_file *sf;
	struct wb_file *file;		/* a reference, or NULL */
	uint64_t offset, done;		/* WRITE, READ */
	uint32_t length, charged;
	unsigned char *data;		/* READ: so far, or NULL */
	uint64_t size;			/* READ: the file's when it came */
	struct nfswb_attr attr;		/* OPEN, on its way to the reply */
	int close_err;			/* of data given up before (stuck.c) */
};

/* Takes a whole record: decodes it and puts it where it waits or is acted on.
   -errno and *why: the session is to be ended. */
int request_come(struct session *, const void *data, size_t len,
		 const char **why);
/* Begins what may begin. */
void request_pump(struct session *);
/* Parks it until other sessions' rings have been drained of r->file's entries,
   then calls go; at once where nothing is to wait for. */
void request_park(struct request *, void (*go)(struct request *));
/* Fails one that has not begun. */
void request_withdraw(struct request *, int err);
/* The number of the open file it is about; UINT32_MAX: none. */
uint32_t request_file(const struct request *);
/* The session ends: what is not begun is forgotten. */
void request_forget(struct session *);
/* The daemon ends: so is what waits for a file. */
void request_abandon(struct session *);

/* The pipeline is done with it, with err; -ECANCELED where that was 0 but the
   session has gone meanwhile, so that going on is in vain. */
int request_back(struct request *, int err);

/* Exactly one of these each request; it must not be used after. */
void request_reply(struct request *, nfswb_res *);
void request_reply_fds(struct request *, nfswb_res *, const int fd[2]);
void request_ok(struct request *);	/* a result without contents */
/* text NULL: made of the call's name, its target and the error's text. */
void request_fail(struct request *, int err, const char *text);
/* 0: request_ok. */
void request_end(struct request *, int err);

/* The target or the open file's name it is about; NULL: none. */
const char *request_subject(const struct request *);

/* What is done with an open file: api_file.c. */
void api_open(struct request *);
void api_close(struct request *);
void api_fsync(struct request *);
void api_truncate(struct request *);
void api_fstat(struct request *);
void api_reserve(struct request *);
/* READ, READ_PLACE: api_read.c. */
void api_read(struct request *);
/* WRITE, and going on with one that had no room: api_write.c. */
void api_write(struct request *);
void api_write_more(struct session *);

#endif
