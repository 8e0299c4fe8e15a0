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
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/record.h"
#include "tests/nfssim_int.h"
#include "tests/nfssim_sink.h"

#define RECORD_MAX (NFS3_DATA_MAX + 65536u)
#define READ_AT_ONCE (4u << 20)		/* then it is another's turn */
#define EARLY_BYTES 1024	/* of a call: header and arguments */
#define REORDER_USEC 1000000		/* then it leaves all the same */

/* What happens once it has been sent. */
enum then { THEN_NOTHING, THEN_CLOSE, THEN_RESTART };

struct out {
	size_t len, sent;
	enum then then;
	uint64_t verifier;		/* THEN_RESTART */
	TAILQ_ENTRY(out) link;
	unsigned char data[];
};

TAILQ_HEAD(out_list, out);

struct conn {
	struct nfssim *sim;
	int fd;			/* -1: closed */
	unsigned port;		/* the other end's; 0: none */
	struct loop_watch *watch;
	struct loop_timer *resume;
	bool paused;		/* reads nothing: the link is behind */
	struct record_reader reader;
	struct sink sink;
	bool is_early;		/* the record that comes is answered */
	struct out_list out;
	TAILQ_ENTRY(conn) link;
};

/* A reply on its way, or a call on hold. */
struct late {
	struct nfssim *sim;
	struct conn *conn;	/* NULL: gone (a call on hold outlives it) */
	struct loop_timer *timer;
	bool held;
	unsigned reorder;	/* leaves after so many others */
	struct model_op op;	/* in the model's link */
	struct nfssim_verdict verdict;
	TAILQ_ENTRY(late) link;
	size_t len, wire_len;
	unsigned char data[];
};

static void
late_free(struct late *late)
{
	TAILQ_REMOVE(&late->sim->late, late, link);
	if (late->sim->model)
		model_cancel(late->sim->model, &late->op);
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
	sim_jobs_leave(c->sim, c);
	loop_watch_free(c->sim->loop, c->watch);
	loop_timer_free(c->sim->loop, c->resume);
	c->resume = NULL;
	close(c->fd);
	c->fd = -1;
	TAILQ_REMOVE(&c->sim->conns, c, link);
	TAILQ_INSERT_TAIL(&c->sim->dead, c, link);
	loop_defer(c->sim->loop, c->sim->bury);
}

bool
conn_is_open(const struct conn *c)
{
	return c->fd >= 0;
}

bool
conn_is_secure(const struct conn *c)
{
	unsigned port = c->sim->port ? c->sim->port : c->port;

	return port && port < 1024;
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

/* Of a reply behind its mark; a garbled one may be too short to have one. */
static uint32_t
xid_of(const struct out *o)
{
	const unsigned char *p = o->data + 4;

	return o->len < 8 ? 0 : (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
				(uint32_t)p[2] << 8 | p[3];
}

static void
wait_for_more(struct conn *c)
{
	loop_watch_set(c->sim->loop, c->watch,
		       (c->paused ? 0 : LOOP_READ) |
		       (TAILQ_EMPTY(&c->out) ? 0 : LOOP_WRITE));
}

/* It has been sent; true: the connection goes on. */
static bool
sent(struct conn *c, struct out *o)
{
	enum then then = o->then;
	uint64_t verifier = o->verifier;

	TAILQ_REMOVE(&c->out, o, link);
	free(o);
	if (then == THEN_CLOSE)
		conn_close(c);
	if (then == THEN_RESTART)
		nfssim_restart(c->sim, verifier);
	return c->fd >= 0;
}

static void
write_out(struct conn *c)
{
	struct out *o;
	ssize_t n;

	while ((o = TAILQ_FIRST(&c->out))) {
		if (!o->sent)
			sim_answered(c->sim, xid_of(o));
		n = send(c->fd, o->data + o->sent, o->len - o->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0) {
			conn_close(c);
			return;
		}
		o->sent += (size_t)n;
		if (o->sent == o->len && !sent(c, o))
			return;
	}
	wait_for_more(c);
}

static void late_due(void *arg);

/* Another reply has left: those that wait for that. */
static void
let_by(struct conn *c)
{
	struct late *late, *next;

	for (late = TAILQ_FIRST(&c->sim->late); late; late = next) {
		next = TAILQ_NEXT(late, link);
		if (late->conn == c && late->reorder && !--late->reorder)
			loop_timer_set(c->sim->loop, late->timer, 0);
	}
}

static void
reply_now(struct conn *c, const void *reply, size_t len,
	  const struct nfssim_verdict *v)
{
	struct out *o = malloc(sizeof *o + len);

	if (!o) {
		conn_close(c);
		return;
	}
	memcpy(o->data, reply, len);
	o->len = v->cut_half ? len / 2 : len;
	o->sent = 0;
	o->then = v->cut_half || v->cut_after ? THEN_CLOSE :
		  v->restart == NFSSIM_REPLIED ? THEN_RESTART : THEN_NOTHING;
	o->verifier = v->restart_verifier;
	TAILQ_INSERT_TAIL(&c->out, o, link);
	let_by(c);
	write_out(c);
}

/* Keeps data for later; NULL: no memory, the connection ends. */
static struct late *
keep(struct conn *c, const void *data, size_t len,
     const struct nfssim_verdict *verdict)
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
	late->verdict = *verdict;
	late->len = late->wire_len = len;
	memcpy(late->data, data, len);
	TAILQ_INSERT_TAIL(&c->sim->late, late, link);
	return late;
}

static void
crossed_link(void *arg, uint64_t when)
{
	struct late *late = arg;

	(void)when;
	TAILQ_REMOVE(&late->sim->late, late, link);
	reply_now(late->conn, late->data, late->len, &late->verdict);
	loop_timer_free(late->sim->loop, late->timer);
	free(late);
}

static void
leave(struct conn *c, const void *reply, size_t len,
      const struct nfssim_verdict *v)
{
	struct late *late;

	if (!c->sim->model) {
		reply_now(c, reply, len, v);
		return;
	}
	late = keep(c, reply, len, v);
	if (!late)
		return;
	late->op.arg = late;
	model_carry(c->sim->model, &late->op, LINK_OUT, len, crossed_link);
}

static void
late_due(void *arg)
{
	struct late *late = arg;
	struct nfssim *sim = late->sim;
	struct sim_record rec = { late->data, late->len, late->wire_len };

	/* off the list, so that nobody frees it meanwhile */
	TAILQ_REMOVE(&sim->late, late, link);
	if (late->held)
		sim_perform(sim, late->conn, &rec, &late->verdict, NULL);
	else
		leave(late->conn, late->data, late->len, &late->verdict);
	loop_timer_free(sim->loop, late->timer);
	free(late);
}

void
conn_reply(struct conn *c, const void *reply, size_t len,
	   const struct nfssim_verdict *v)
{
	uint64_t usec = c->sim->opt.delay_usec + v->delay_usec;
	struct late *late;

	if (c->fd < 0)
		return;
	if (!usec && !v->reorder) {
		leave(c, reply, len, v);
		return;
	}
	late = keep(c, reply, len, v);
	if (!late)
		return;
	late->reorder = v->reorder;
	loop_timer_set(c->sim->loop, late->timer,
		       usec + (v->reorder ? REORDER_USEC : 0));
}

void
conn_hold(struct conn *c, const struct sim_record *rec,
	  const struct nfssim_verdict *verdict)
{
	struct late *late = keep(c, rec->data, rec->len, verdict);

	if (!late)
		return;
	late->wire_len = rec->wire_len;
	late->held = true;
	loop_timer_set(c->sim->loop, late->timer, verdict->hold_usec);
}

/* in */

static void
resume(void *arg)
{
	struct conn *c = arg;

	c->paused = false;
	wait_for_more(c);
}

/* Of more than sockets would hold, the rest stays with the client. */
static void
pause_for_link(struct conn *c)
{
	uint64_t usec;

	if (c->fd < 0 || !c->resume || c->paused)
		return;
	usec = model_congested(c->sim->model, LINK_IN);
	if (!usec)
		return;
	c->paused = true;
	loop_timer_set(c->sim->loop, c->resume, usec);
	wait_for_more(c);
}

static void
record_came(struct conn *c, const void *data, size_t len, size_t wire_len)
{
	struct sim_record rec = { data, len, wire_len };

	if (c->is_early) {
		c->is_early = false;
		return;
	}
	sim_record(c->sim, c, &rec);
	pause_for_link(c);
}

/* Part of a record is here, in the reader. */
static void
part_came(struct conn *c)
{
	if (c->sim->early && !c->is_early && c->fd >= 0 &&
	    c->reader.length >= EARLY_BYTES)
		c->is_early = sim_early(c->sim, c, c->reader.data,
					c->reader.length);
}

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
			record_came(c, c->reader.data, c->reader.length,
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

/* Into buf, or nowhere; 0: no more now, or closed. */
static size_t
receive(struct conn *c, void *buf, size_t len)
{
	static unsigned char nowhere[262144];
	ssize_t n;

	if (!buf && len > sizeof nowhere)
		len = sizeof nowhere;
	/* TCP does not even copy what is truncated */
	n = recv(c->fd, buf ? buf : nowhere, before_cut(c->sim, len),
		 MSG_DONTWAIT | (buf ? 0 : MSG_TRUNC));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || is_cut(c->sim, (size_t)n)) {
		conn_close(c);
		return 0;
	}
	return (size_t)n;
}

static size_t
read_some(struct conn *c)
{
	unsigned char buf[65536];
	void *room = buf;
	size_t len = record_room(&c->reader, &room), n;
	bool in_place = len > 0;

	n = receive(c, room, in_place ? len : sizeof buf);
	if (!n)
		return 0;
	if (!in_place)
		return take_bytes(c, buf, n) ? n : 0;
	if (record_took(&c->reader, n))
		record_came(c, c->reader.data, c->reader.length,
			    c->reader.length);
	else
		part_came(c);
	return c->fd < 0 ? 0 : n;
}

/* The same for the store that discards. */
static size_t
sink_some(struct conn *c)
{
	void *room;
	size_t len = sink_room(&c->sink, &room), n = receive(c, room, len);
	int ret;

	if (!n)
		return 0;
	ret = sink_took(&c->sink, n, RECORD_MAX);
	if (ret > 0)
		record_came(c, c->sink.head,
			    c->sink.length < SINK_HEAD ? c->sink.length :
							 SINK_HEAD,
			    c->sink.length);
	if (ret < 0)
		conn_close(c);
	return c->fd < 0 ? 0 : n;
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
	while (c->fd >= 0 && !c->paused && sum < READ_AT_ONCE &&
	       (n = c->sim->opt.discard ? sink_some(c) : read_some(c)))
		sum += n;
}

/* new ones */

static unsigned
port_of(int fd)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof a;

	if (getpeername(fd, (struct sockaddr *)&a, &len) < 0 ||
	    a.sin_family != AF_INET)
		return 0;
	return ntohs(a.sin_port);
}

int
nfssim_attach(struct nfssim *sim, int fd)
{
	struct conn *c = calloc(1, sizeof *c);

	if (c)
		c->watch = loop_watch(sim->loop, fd, LOOP_READ, conn_ready, c);
	if (c && c->watch && sim->model) {
		c->resume = loop_timer(sim->loop, resume, c);
		if (!c->resume) {
			loop_watch_free(sim->loop, c->watch);
			c->watch = NULL;
		}
	}
	if (!c || !c->watch) {
		free(c);
		close(fd);
		return -ENOMEM;
	}
	c->sim = sim;
	c->fd = fd;
	c->port = port_of(fd);
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
	int conn, on = 1;

	(void)events;
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0)
		return;
	/* As the kernel's server: a reply is not to wait for the last one's ACK,
	   which may take 40 ms. */
	(void)setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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
