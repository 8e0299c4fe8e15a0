/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_conn.c - connections: records in, replies out, some of them later
 *
 * A connection may be closed from anywhere (a fault function cuts it while its
 * bytes are being read), so it goes to a list of the dead and is freed from the
 * top of the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/nfssim_int.h"

#define RECORD_MAX (NFS3_DATA_MAX + 65536u)
#define READ_AT_ONCE (4u << 20)		/* then it is another's turn */

struct out {
	size_t len, sent;
	TAILQ_ENTRY(out) link;
	unsigned char data[];
};

TAILQ_HEAD(out_list, out);

struct conn {
	struct nfssim *sim;
	int fd;			/* -1: closed */
	struct loop_watch *watch;
	struct record_reader reader;
	struct out_list out;
	TAILQ_ENTRY(conn) link;
};

/* A reply on its way, or a call on hold. */
struct late {
	struct nfssim *sim;
	struct conn *conn;	/* NULL: gone (a call on hold outlives it) */
	struct loop_timer *timer;
	bool held;
	struct nfssim_verdict verdict;
	TAILQ_ENTRY(late) link;
	size_t len;
	unsigned char data[];
};

static void
late_free(struct late *late)
{
	TAILQ_REMOVE(&late->sim->late, late, link);
	loop_timer_free(late->sim->loop, late->timer);
	free(late);
}

void
conn_drop_late(struct nfssim *sim, bool held_too)
{
	struct late *late, *next;

	for (late = TAILQ_FIRST(&sim->late); late; late = next) {
		next = TAILQ_NEXT(late, link);
		if (!late->held || held_too)
			late_free(late);
	}
}

/* What was on its way to or from a connection that ends. */
static void
leave_late(struct conn *c)
{
	struct late *late, *next;

	for (late = TAILQ_FIRST(&c->sim->late); late; late = next) {
		next = TAILQ_NEXT(late, link);
		if (late->conn != c)
			continue;
		if (late->held)
			late->conn = NULL;
		else
			late_free(late);
	}
}

void
conn_close(struct conn *c)
{
	if (c->fd < 0)
		return;
	leave_late(c);
	loop_watch_free(c->sim->loop, c->watch);
	close(c->fd);
	c->fd = -1;
	TAILQ_REMOVE(&c->sim->conns, c, link);
	TAILQ_INSERT_TAIL(&c->sim->dead, c, link);
	loop_defer(c->sim->loop, c->sim->bury);
}

static void
conn_free(struct conn *c)
{
	struct out *o;

	while ((o = TAILQ_FIRST(&c->out))) {
		TAILQ_REMOVE(&c->out, o, link);
		free(o);
	}
	record_reader_free(&c->reader);
	free(c);
}

void
conn_bury_dead(void *arg)
{
	struct nfssim *sim = arg;
	struct conn *c;

	while ((c = TAILQ_FIRST(&sim->dead))) {
		TAILQ_REMOVE(&sim->dead, c, link);
		conn_free(c);
	}
}

/* out */

static uint32_t
xid_of(const unsigned char *reply)
{
	const unsigned char *p = reply + 4;	/* behind the mark */

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static void
write_out(struct conn *c)
{
	struct out *o;
	ssize_t n;

	while ((o = TAILQ_FIRST(&c->out))) {
		if (!o->sent)
			sim_answered(c->sim, xid_of(o->data));
		n = send(c->fd, o->data + o->sent, o->len - o->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0) {
			conn_close(c);
			return;
		}
		o->sent += (size_t)n;
		if (o->sent < o->len)
			continue;
		TAILQ_REMOVE(&c->out, o, link);
		free(o);
	}
	loop_watch_set(c->sim->loop, c->watch,
		       LOOP_READ | (o ? LOOP_WRITE : 0));
}

static void
reply_now(struct conn *c, const void *reply, size_t len)
{
	struct out *o = malloc(sizeof *o + len);

	if (!o) {
		conn_close(c);
		return;
	}
	o->len = len;
	o->sent = 0;
	memcpy(o->data, reply, len);
	TAILQ_INSERT_TAIL(&c->out, o, link);
	write_out(c);
}

static void
late_due(void *arg)
{
	struct late *late = arg;
	struct nfssim *sim = late->sim;

	/* off the list, so that nobody frees it meanwhile */
	TAILQ_REMOVE(&sim->late, late, link);
	if (late->held)
		sim_held(sim, late->conn, late->data, late->len,
			 &late->verdict);
	else
		reply_now(late->conn, late->data, late->len);
	loop_timer_free(sim->loop, late->timer);
	free(late);
}

/* Keeps data for later; NULL: no memory, the connection ends. */
static struct late *
put_off(struct conn *c, const void *data, size_t len, uint64_t usec)
{
	struct late *late = calloc(1, sizeof *late + len);

	if (late)
		late->timer = loop_timer(c->sim->loop, late_due, late);
	if (!late || !late->timer) {
		free(late);
		conn_close(c);
		return NULL;
	}
	late->sim = c->sim;
	late->conn = c;
	late->len = len;
	memcpy(late->data, data, len);
	TAILQ_INSERT_TAIL(&c->sim->late, late, link);
	loop_timer_set(c->sim->loop, late->timer, usec);
	return late;
}

void
conn_reply(struct conn *c, const void *reply, size_t len, uint64_t delay_usec)
{
	if (c->fd < 0)
		return;
	if (delay_usec)
		put_off(c, reply, len, delay_usec);
	else
		reply_now(c, reply, len);
}

void
conn_hold(struct conn *c, const void *record, size_t len,
	  const struct nfssim_verdict *verdict)
{
	struct late *late = put_off(c, record, len, verdict->hold_usec);

	if (!late)
		return;
	late->held = true;
	late->verdict = *verdict;
}

/* in */

/* Takes all records out of buf; false: the connection is closed. */
static bool
take_bytes(struct conn *c, const unsigned char *buf, size_t len)
{
	size_t used;
	int ret;

	while (len) {
		ret = record_feed(&c->reader, buf, len, &used);
		buf += used;
		len -= used;
		if (ret > 0)
			sim_record(c->sim, c, c->reader.data,
				   c->reader.length);
		if (ret < 0)
			conn_close(c);
		if (c->fd < 0)
			return false;
	}
	return true;
}

/* How many of len bytes may be received before the connection is to end. */
static size_t
before_cut(const struct nfssim *sim, size_t len)
{
	return sim->cut_after && len > sim->cut_after ?
	       (size_t)sim->cut_after : len;
}

/* Counts what came; true: that was the last of it. */
static bool
is_cut(struct nfssim *sim, size_t n)
{
	if (!sim->cut_after)
		return false;
	sim->cut_after -= n;
	return !sim->cut_after;
}

/* Bytes received; 0: no more now, or closed. */
static size_t
read_some(struct conn *c)
{
	unsigned char buf[65536];
	void *room = buf;
	size_t len = record_room(&c->reader, &room);
	bool in_place = len > 0;
	ssize_t n;

	n = recv(c->fd, room, before_cut(c->sim, in_place ? len : sizeof buf),
		 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || is_cut(c->sim, (size_t)n)) {
		conn_close(c);
		return 0;
	}
	if (!in_place)
		return take_bytes(c, buf, (size_t)n) ? (size_t)n : 0;
	if (record_took(&c->reader, (size_t)n))
		sim_record(c->sim, c, c->reader.data, c->reader.length);
	return c->fd < 0 ? 0 : (size_t)n;
}

static void
conn_ready(void *arg, int fd, unsigned events)
{
	struct conn *c = arg;
	size_t n, sum = 0;

	(void)fd;
	if (events & LOOP_WRITE)
		write_out(c);
	if (!(events & LOOP_READ))
		return;
	while (c->fd >= 0 && sum < READ_AT_ONCE && (n = read_some(c)))
		sum += n;
}

/* new ones */

int
nfssim_attach(struct nfssim *sim, int fd)
{
	struct conn *c = calloc(1, sizeof *c);

	if (c)
		c->watch = loop_watch(sim->loop, fd, LOOP_READ, conn_ready, c);
	if (!c || !c->watch) {
		free(c);
		close(fd);
		return -ENOMEM;
	}
	c->sim = sim;
	c->fd = fd;
	record_reader_init(&c->reader, RECORD_MAX);
	TAILQ_INIT(&c->out);
	TAILQ_INSERT_TAIL(&sim->conns, c, link);
	sim->stats.connections++;
	return 0;
}

int
nfssim_connect(void *arg)
{
	struct nfssim *sim = arg;
	int pair[2], err;

	if (sim->down)
		return -ECONNREFUSED;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return -errno;
	err = nfssim_attach(sim, pair[1]);
	if (err < 0) {
		close(pair[0]);
		return err;
	}
	return pair[0];
}

static void
listener_ready(void *arg, int fd, unsigned events)
{
	struct nfssim *sim = arg;
	int conn;

	(void)events;
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0)
		return;
	if (sim->down)
		close(conn);
	else
		nfssim_attach(sim, conn);
}

int
nfssim_listen(struct nfssim *sim, int fd)
{
	sim->listener = loop_watch(sim->loop, fd, LOOP_READ, listener_ready,
				   sim);
	return sim->listener ? 0 : -ENOMEM;
}
