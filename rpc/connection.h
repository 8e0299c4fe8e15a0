/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * connection.h - one TCP connection to one server, made again when it is lost
 *
 *	ready    it is up: everything that is out has to be sent (again)
 *	writable there is room in the socket (asked for by connection_want_write)
 *	record   a whole record came; data is good during the call
 *	lost     it was up and is no more; why in words
 *	head     a record that may have a payload has begun, see payload.h
 *	is_news  would the administrator want to know of trouble with it?
 *
 * All come from the loop.  connection_want makes it when there is none; while it
 * is wanted it is made again and again, with growing pauses.  Any of these may
 * call connection_reset or connection_close.
 */
#ifndef NFSWB_RPC_CONNECTION_H
#define NFSWB_RPC_CONNECTION_H

#include "common/record.h"
#include "rpc/client.h"
#include "rpc/payload.h"

struct connection_events {
	void (*ready)(void *arg);
	void (*writable)(void *arg);
	int (*record)(void *arg, const void *data, size_t len);	/* -errno:
						   garbage, reset */
	void (*lost)(void *arg, const char *why);
	bool (*is_news)(void *arg);
	/* Fills in known, owner, iov and bytes where the head is whole; the
	   payload begins there, and owner is NULL where there is none.  Returns
	   the head's length, 0: not known yet, or plain. */
	size_t (*head)(void *arg, const void *data, size_t len,
		       struct payload *);
};

#define CONNECTION_BUFFER 65536	/* a recv of small replies */

struct connection {
	struct loop *loop;
	const struct connection_events *events;
	void *arg;

	/* what it is made with */
	char *name;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	enum rpc_resvport resvport;
	unsigned timeo_sec;		/* of keepalive */
	uint64_t connect_usec;		/* an attempt may take so long */
	int (*connect_hook)(void *arg);
	void *connect_arg;

	/* how it stands */
	enum rpc_state state;
	bool wanted, waiting;		/* waiting: between two attempts */
	int fd;
	bool little;			/* see socket_keep_little */
	unsigned watched;
	unsigned port;			/* ours, to be used again; 0: any */
	unsigned failure_nr;		/* since the server last said something */
	unsigned vain_nr;		/* the same, on any: connection_hurry */
	bool said, lost_said;		/* the administrator knows that it is
					   down, was lost */
	uint64_t random;
	uint64_t heard_usec;		/* the last byte came, on any of them */
	uint64_t rx_usec;		/* the last byte came, or this one up */
	struct loop_watch *watch;
	struct loop_timer *timer;
	struct record_reader reader;
	unsigned payload_nr;		/* replies with one are to come: heads
					   are read apart */
	struct payload payload;		/* of the record under way */
	size_t head_len;		/* of the last with a payload */
	unsigned char buffer[CONNECTION_BUFFER];
};

/* It is in trouble, and that was said. */
bool connection_told(const struct connection *);

/* 0 or -ENOMEM. */
int connection_init(struct connection *, struct loop *,
		    const struct rpc_params *, uint64_t random,
		    const struct connection_events *, void *arg);
void connection_close(struct connection *);	/* at once, without lost */
void connection_free(struct connection *);	/* after connection_close */

void connection_want(struct connection *, bool wanted);
void connection_want_write(struct connection *, bool);
/* The server has come back: no further pause before the next attempt. */
void connection_hurry(struct connection *);
/* Gives the connection up: lost, then as wanted. */
void connection_reset(struct connection *, const char *why);

/* Of this connection, and those to come. */
void connection_keep_little(struct connection *, bool little);

/* A pseudo-random number: first xid, jitter. */
uint64_t connection_random(struct connection *);

#endif
