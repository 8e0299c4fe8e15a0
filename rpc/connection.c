/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * connection.c - the connection's life
 *
 *	DOWN --want--> CONNECTING --> UP --reset, peer closed--> DOWN, waiting
 *	                    '-------- failed, too long ------------^    |
 *	                    ^------------- pause over ------------------'
 *
 * The first attempt after a connection that worked comes at once; each further
 * one after twice the pause, up to 10 s, half of it at random, so that many
 * clients of a server that comes back don't come at the same moment.  A
 * connection that is given up is aborted: what its socket still holds must not
 * reach the server after newer data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "rpc/connection.h"
#include "rpc/socket.h"

#define CONNECT_USEC 10000000u
#define PAUSE_USEC 100000u
#define PAUSE_DOUBLED_MAX 7
#define PAUSE_MAX_USEC 10000000u
#define REPLY_MAX (1048576u + 65536u)
#define READS_MAX 32		/* at one event, then it is others' turn */
#define ROOM_MIN 4096		/* else several small replies at a time */
#define HEAD_MIN 28u		/* of a reply: up to its status */
#define HEAD_USUAL 128u		/* READ's, with attributes */
#define HEAD_STEP 32u		/* it was longer */
#define HEAD_MAX 2048u		/* what has no end then is no head */
#define PAYLOAD_IOV 64

static void attempt(struct connection *);

uint64_t
connection_random(struct connection *c)
{
	uint64_t z = c->random += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void
forget_record(struct connection *c)
{
	record_reader_reset(&c->reader);
	memset(&c->payload, 0, sizeof c->payload);
}

static void
drop_socket(struct connection *c)
{
	loop_timer_clear(c->loop, c->timer);
	loop_watch_free(c->loop, c->watch);
	c->watch = NULL;
	if (c->fd >= 0)
		socket_abort(c->fd);
	c->fd = -1;
	c->state = RPC_DOWN;
	c->waiting = false;
	forget_record(c);
}

static uint64_t
pause_usec(struct connection *c)
{
	unsigned n = c->failure_nr;
	uint64_t pause;

	if (!n)
		return 0;
	pause = (uint64_t)PAUSE_USEC
		<< (n - 1 < PAUSE_DOUBLED_MAX ? n - 1 : PAUSE_DOUBLED_MAX);
	if (pause > PAUSE_MAX_USEC)
		pause = PAUSE_MAX_USEC;
	return pause / 2 + connection_random(c) % (pause / 2);
}

static void
schedule(struct connection *c)
{
	uint64_t pause = pause_usec(c);

	if (!c->wanted)
		return;
	c->failure_nr++;
	c->vain_nr++;
	c->waiting = true;
	loop_timer_set(c->loop, c->timer, pause);
}

static void
failed(struct connection *c, int err)
{
	const char *why = strerror(-err);

	if (err == -EACCES && c->resvport == RPC_RESVPORT_YES)
		why = "no source port below 1024 may be bound (resvport = yes "
		      "needs CAP_NET_BIND_SERVICE; or set resvport = auto)";
	drop_socket(c);
	if (!c->said && (c->lost_said || c->events->is_news(c->arg))) {
		log_warning("%s: can't connect: %s; trying on", c->name, why);
		c->said = true;
	}
	if (!c->failure_nr)
		c->failure_nr = 1;	/* a pause before the next attempt */
	schedule(c);
}

void
connection_reset(struct connection *c, const char *why)
{
	bool was_up = c->state == RPC_UP;

	c->lost_said = c->wanted && c->events->is_news(c->arg);
	if (c->lost_said)
		log_warning("%s: connection lost: %s; connecting again",
			    c->name, why);
	else
		log_debug("%s: connection ended: %s", c->name, why);
	drop_socket(c);
	schedule(c);
	if (was_up)
		c->events->lost(c->arg, why);
}

static void
watch_for(struct connection *c, unsigned events)
{
	if (c->watched != events)
		loop_watch_set(c->loop, c->watch, events);
	c->watched = events;
}

static void
established(struct connection *c)
{
	loop_timer_clear(c->loop, c->timer);
	c->state = RPC_UP;
	c->port = socket_port(c->fd);
	c->rx_usec = loop_now(c->loop);
	if (c->little)
		socket_keep_little(c->fd, true);
	watch_for(c, LOOP_READ);
	if (connection_told(c))
		log_info("%s: connected again", c->name);
	c->said = c->lost_said = false;
	c->events->ready(c->arg);
}

/* A whole record: false where reading must not go on. */
static bool
deliver(struct connection *c)
{
	int err = -EBADMSG;

	if (c->reader.length) {
		err = c->events->record(c->arg, c->reader.data,
					c->reader.length);
		if (c->state != RPC_UP)
			return false;
	}
	if (!err) {
		c->failure_nr = c->vain_nr = 0;
		forget_record(c);
		return true;
	}
	connection_reset(c, err == -ENOMEM ? "out of memory" :
			    "the server sent what is no reply");
	return false;
}

/* ---- heads and payloads ---- */

/* Bytes of the payload that stand next on the wire; 0: others do. */
static size_t
payload_due(const struct connection *c)
{
	size_t left = record_left(&c->reader);

	return payload_left(&c->payload) < left ?
	       (size_t)payload_left(&c->payload) : left;
}

/* How much may be taken before the head is looked at (again), or the payload goes
   on in another fragment. */
static size_t
head_due(const struct connection *c)
{
	size_t have = c->reader.length;

	if (payload_left(&c->payload))
		return 4 - c->reader.mark_got;
	if (!c->payload_nr || c->payload.known)
		return SIZE_MAX;
	return 4 - c->reader.mark_got +
	       (have < c->head_len ? c->head_len - have : HEAD_STEP);
}

/* More of the record is here. */
static void
look_at_head(struct connection *c)
{
	struct payload *p = &c->payload;
	size_t have = c->reader.length, head, n;

	if (!c->payload_nr || p->known || have < HEAD_MIN)
		return;
	head = c->events->head(c->arg, c->reader.data, have, p);
	if (!p->known)
		p->known = have > HEAD_MAX;
	if (!head)
		return;
	c->head_len = head;
	n = have - head;
	if (n > p->bytes)
		n = (size_t)p->bytes;
	payload_copy(p, c->reader.data + head, n);
	record_cut(&c->reader, head, n);
}

/* Some bytes that came in the buffer: 1 a record is whole, 0, or -errno. */
static int
feed_step(struct connection *c, const unsigned char *buf, size_t len,
	  size_t *used)
{
	size_t n = payload_due(c);
	int ret;

	if (n) {
		*used = n < len ? n : len;
		payload_copy(&c->payload, buf, *used);
		return record_elsewhere(&c->reader, *used);
	}
	n = head_due(c);
	ret = record_feed(&c->reader, buf, n < len ? n : len, used);
	if (!ret)
		look_at_head(c);
	return ret;
}

static bool
feed(struct connection *c, size_t len)
{
	size_t at = 0, used;
	int ret;

	while (at < len) {
		ret = feed_step(c, c->buffer + at, len - at, &used);
		at += used;
		if (ret == 1 && !deliver(c))
			return false;
		if (ret < 0) {
			connection_reset(c, ret == -EMSGSIZE ?
				"the server sent a reply that is too long" :
				strerror(-ret));
			return false;
		}
	}
	return true;
}

/* ---- reading ---- */

/* Of a recv: false where nothing more is to be read now. */
static bool
got(struct connection *c, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (n <= 0) {
		connection_reset(c, n ? strerror(errno) :
					"the server closed it");
		return false;
	}
	c->heard_usec = c->rx_usec = loop_now(c->loop);
	return true;
}

/* What may stand behind this much of the payload: the rest of its record, the
   next one's head. */
static size_t
behind(const struct connection *c, uint64_t bytes)
{
	size_t rest = record_left(&c->reader) - (size_t)bytes;

	if (bytes < payload_due(c))
		return 0;
	if (bytes < payload_left(&c->payload))
		return 4;		/* it goes on in another fragment */
	rest += 4 + c->head_len;
	return rest < sizeof c->buffer ? rest : sizeof c->buffer;
}

/* One recv straight to where the payload is wanted; what is to be dropped, to
   the buffer. */
static bool
read_payload(struct connection *c)
{
	struct iovec iov[PAYLOAD_IOV + 1];
	struct msghdr m = { .msg_iov = iov };
	size_t due = payload_due(c), tail;
	uint64_t bytes;
	ssize_t n;
	int nr;

	nr = payload_gather(&c->payload, due, iov, PAYLOAD_IOV, &bytes);
	tail = nr ? behind(c, bytes) :
		    due < sizeof c->buffer ? due : sizeof c->buffer;
	if (tail)
		iov[nr++] = (struct iovec){ c->buffer, tail };
	m.msg_iovlen = (size_t)nr;
	n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EFAULT) {
		c->payload.faulted = true;
		payload_drop(&c->payload);
		return true;
	}
	if (!got(c, n))
		return false;
	if ((uint64_t)n < bytes)
		bytes = (uint64_t)n;
	c->payload.at += bytes;
	if (bytes && record_elsewhere(&c->reader, bytes) && !deliver(c))
		return false;
	return feed(c, (size_t)n - bytes);
}

/* One recv; false where nothing more is to be read now. */
static bool
read_once(struct connection *c)
{
	void *room;
	size_t due = head_due(c), room_len;
	bool direct;
	ssize_t n;

	if (payload_due(c))
		return read_payload(c);
	room_len = due == SIZE_MAX ? record_room(&c->reader, &room) : 0;
	direct = room_len >= ROOM_MIN;
	if (!direct)
		room_len = due < sizeof c->buffer ? due : sizeof c->buffer;
	n = recv(c->fd, direct ? room : c->buffer, room_len, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return true;
	if (!got(c, n))
		return false;
	if (!direct)
		return feed(c, (size_t)n);
	return !record_took(&c->reader, (size_t)n) || deliver(c);
}

static void
on_event(void *arg, int fd, unsigned events)
{
	struct connection *c = arg;
	int i, err;

	(void)fd;
	if (c->state == RPC_CONNECTING) {
		err = socket_result(c->fd);
		if (err)
			failed(c, err);
		else
			established(c);
		return;
	}
	if (events & LOOP_READ)
		for (i = 0; i < READS_MAX && read_once(c); i++)
			;
	if (c->state == RPC_UP && events & LOOP_WRITE)
		c->events->writable(c->arg);
}

static void
on_timer(void *arg)
{
	struct connection *c = arg;

	if (c->state == RPC_CONNECTING)
		failed(c, -ETIMEDOUT);
	else if (c->waiting)
		attempt(c);
}

static int
open_socket(struct connection *c)
{
	struct socket_params p = {
		.addr = &c->addr,
		.addr_len = c->addr_len,
		.resvport = c->resvport,
		.port = c->port,
		.keepalive_sec = c->timeo_sec,
		.random = connection_random(c),
	};

	return c->connect_hook ? c->connect_hook(c->connect_arg) :
				 socket_connect(&p);
}

static void
attempt(struct connection *c)
{
	c->waiting = false;
	c->fd = open_socket(c);
	if (c->fd < 0) {
		failed(c, c->fd);
		return;
	}
	c->watched = LOOP_WRITE;
	c->watch = loop_watch(c->loop, c->fd, c->watched, on_event, c);
	if (!c->watch) {
		failed(c, -ENOMEM);
		return;
	}
	c->state = RPC_CONNECTING;
	if (c->connect_hook)
		established(c);
	else
		loop_timer_set(c->loop, c->timer, c->connect_usec);
}

void
connection_want(struct connection *c, bool wanted)
{
	c->wanted = wanted;
	if (!wanted && c->waiting) {
		c->waiting = false;
		loop_timer_clear(c->loop, c->timer);
	}
	if (wanted && c->state == RPC_DOWN && !c->waiting)
		attempt(c);
}

bool
connection_told(const struct connection *c)
{
	return c->said || c->lost_said;
}

void
connection_hurry(struct connection *c)
{
	c->vain_nr = 0;
	if (c->waiting)
		loop_timer_set(c->loop, c->timer, 0);
}

void
connection_keep_little(struct connection *c, bool little)
{
	c->little = little;
	if (c->state == RPC_UP)
		socket_keep_little(c->fd, little);
}

void
connection_want_write(struct connection *c, bool write)
{
	if (c->state == RPC_UP)
		watch_for(c, write ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

int
connection_init(struct connection *c, struct loop *loop,
		const struct rpc_params *p, uint64_t random,
		const struct connection_events *events, void *arg)
{
	uint64_t timeo_usec = (uint64_t)p->timeo_ds * 100000;

	memset(c, 0, offsetof(struct connection, buffer));
	c->loop = loop;
	c->events = events;
	c->arg = arg;
	c->addr = p->addr;
	c->addr_len = p->addr_len;
	c->resvport = p->resvport;
	c->timeo_sec = p->timeo_ds / 10;
	c->connect_usec = timeo_usec && timeo_usec < CONNECT_USEC ?
			  timeo_usec : CONNECT_USEC;
	c->connect_hook = p->connect_hook;
	c->connect_arg = p->connect_arg;
	c->random = random;
	c->fd = -1;
	c->state = RPC_DOWN;
	c->head_len = HEAD_USUAL;
	record_reader_init(&c->reader, REPLY_MAX);
	c->name = strdup(p->name ? p->name : "server");
	c->timer = loop_timer(loop, on_timer, c);
	if (c->name && c->timer)
		return 0;
	connection_free(c);
	return -ENOMEM;
}

void
connection_close(struct connection *c)
{
	c->wanted = false;
	drop_socket(c);
}

void
connection_free(struct connection *c)
{
	loop_timer_free(c->loop, c->timer);
	record_reader_free(&c->reader);
	free(c->name);
}
