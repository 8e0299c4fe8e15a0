/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session_rig.h - sessions on the real pipeline under virtual time, over a
 * namespace and a server that are tables in memory; and clients that speak the
 * protocol on bare sockets
 */
#ifndef NFSWB_TESTS_SESSION_RIG_H
#define NFSWB_TESTS_SESSION_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"
#include "common/ring.h"
#include "daemon/session.h"
#include "include/nfswb_prot.h"

#define RIG_CHUNK NFSWB_CHUNK_BYTES

struct rig;

/* A daemon in a folder of its own (rig_again: in the same folder and clock, over
   the same server, after rig_kill). */
struct rig *rig_new(void);
struct rig *rig_again(struct rig *killed);
/* As SIGKILL leaves it: nothing more is done, its lock and socket are gone.  To
   be freed after the one that came again. */
void rig_kill(struct rig *);
void rig_free(struct rig *);
/* The WRITEs that the killed one had under way reach the server so much later, if
   one came again by then. */
void rig_late(struct rig *killed, uint64_t usec);
struct config *rig_config(struct rig *);
struct sessions *rig_sessions(struct rig *);
struct wb *rig_wb(struct rig *);
const char *rig_dir(const struct rig *);
/* Descriptors that whoever started the daemon keeps for it, now; rig_again hands
   copies of them over.  NULL: all, else those of this name. */
unsigned rig_kept(struct rig *, const char *name);
/* Another one, in place of those of this name; fd is copied, -1: none. */
void rig_keep(struct rig *, const char *name, int fd);
/* Lets virtual time pass. */
void rig_pass(struct rig *, uint64_t usec);
/* How often the loop came round. */
uint64_t rig_rounds(struct rig *);
/* The server holds its answers to WRITEs. */
void rig_hold(struct rig *, bool hold);
/* It answers nothing from its first COMMIT on. */
void rig_hold_commits(struct rig *, bool hold);
/* It answers nothing about names and attributes. */
void rig_mute(struct rig *, bool mute);
/* Its WRITEs fail with this from now on; 0: no more. */
void rig_fail(struct rig *, int err);
/* A file has another name now, and the sessions are told. */
void rig_renamed(struct rig *, const char *from, const char *to);
/* What changing names is answered from now on; 0 at first. */
void rig_names(struct rig *, int err);
/* Hidden names that the namespace was given back. */
unsigned rig_hidden(struct rig *);
/* Its files may be so long; to be called before they are opened. */
void rig_max_size(struct rig *, uint64_t);
/* Who asked it last to open a file. */
uid_t rig_opened_by(struct rig *);
/* Bytes that were accepted and given up. */
uint64_t rig_gave_up(const struct rig *);
/* What is on the server; NULL: no such file. */
const unsigned char *rig_data(struct rig *, const char *target,
			      uint64_t *size);

struct client {
	struct rig *rig;
	int fd;
	struct record_reader in;
	struct nfswb_reply reply;	/* the last */
	int passed[2], passed_nr;
	unsigned bells;
	uint64_t next_id;
	unsigned flags;			/* of its calls: NFSWB_AGAIN */
	/* after client_hello with shared memory */
	struct nfswb_hello_res hello;
	struct shm_view view;
	uint32_t chunk;			/* the one it fills */
	uint64_t head;
};

void client_connect(struct rig *, struct client *);
/* As another user; false: only root can. */
bool client_connect_as(struct rig *, struct client *, uid_t);
/* As a process of its own, which does nothing more and can be killed. */
pid_t client_connect_apart(struct rig *, struct client *);
void client_process_dies(pid_t);
void client_close(struct client *);
/* Without the other side learning of it before the rig's next turn. */
void client_send_raw(struct client *, const void *, size_t);
void client_send_record(struct client *, const void *, size_t);
void client_bell(struct client *);
uint64_t client_send(struct client *, nfswb_args *);
/* Runs until a reply is here; false: the socket was closed, or nothing came in
   20 seconds. */
bool client_reply(struct client *);
/* Both; 0, the reply's error, or -1: no reply. */
int client_call(struct client *, nfswb_args *);
/* Is the socket closed by the other side? */
bool client_is_closed(struct client *);

int client_hello(struct client *, unsigned flags, uint64_t slab_bytes);
/* The file's number, or -error. */
int client_open(struct client *, const char *target, int oflags);
int client_fsync(struct client *, uint32_t file);
int client_close_file(struct client *, uint32_t file);
int client_write(struct client *, uint32_t file, uint64_t offset,
		 const void *, size_t);
int client_resume(struct client *, const struct client *old, uint32_t file,
		  const nfswb_token token);
/* By shared memory: claims room (false: none), copies, posts; no bell. */
bool client_post(struct client *, uint32_t file, uint64_t offset,
		 const void *, uint32_t length);
/* The same, to the end of file. */
bool client_append(struct client *, uint32_t file, const void *,
		   uint32_t length);
/* Says that it waits for so much room. */
void client_wants(struct client *, uint32_t bytes);
/* An entry as it stands. */
void client_post_raw(struct client *, const struct nfswb_ring_entry *);

#endif
