/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session_io.c - a session's socket: records in, records and bells out
 *
 * Every call on the socket has MSG_DONTWAIT: its flags are the daemon's own,
 * but nothing here hangs on that.  A client that doesn't read its replies, or
 * has much under way, is not read from until that has changed; nor is one whose
 * user has sent as many messages as it may; no session takes more than its share
 * of a turn.
 *
 * Two descriptors may come with the very first call (RESUME); all others end the
 * session.  Room for as many as one message can carry is offered each time: what
 * the kernel has to throw away it closes here and now, and that may wait
 * (closer.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/closer.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

#define TURN_READS	16
#define PASSED_MAX	253	/* in one message: SCM_MAX_FD */
#define OUT_MAX		(4u << 20)	/* bytes of replies not taken */
#define TODO_MAX	(2u << 20)	/* bytes of messages not begun */
#define TODO_NR_MAX	256
#define UNDER_WAY_MAX	1024
#define READ_MAX	(16u << 20)	/* bytes of READs under way */

struct out {
	TAILQ_ENTRY(out) link;
	size_t len, sent;
	int fd[2];
	bool with_fds, bell;
	unsigned char bytes[];		/* the mark, the record */
};

/* --- out --- */

struct out *
io_out(size_t len)
{
	struct out *o = malloc(sizeof *o + 4 + len);

	if (!o)
		return NULL;
	memset(o, 0, sizeof *o);
	o->len = 4 + len;
	record_mark(o->bytes, len);
	return o;
}

void *
io_out_data(struct out *o)
{
	return o->bytes + 4;
}

void
io_drop(struct out *o)
{
	free(o);
}

/* One sendmsg of what is left of o; bytes or -errno. */
static ssize_t
send_some(int fd, const struct out *o)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof o->fd)];
	} control;
	struct iovec iov = { (void *)(uintptr_t)(o->bytes + o->sent),
			     o->len - o->sent };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (o->with_fds && !o->sent) {
		memset(&control, 0, sizeof control);
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof o->fd);
		memcpy(CMSG_DATA(c), o->fd, sizeof o->fd);
	}
	n = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

/* The socket said so.  A client that left has not much of a reason. */
static void
failed(struct session *s, ssize_t err)
{
	session_hangup(s, err == -EPIPE || err == -ECONNRESET ? NULL :
			  strerror((int)-err));
}

static void
flush(struct session *s)
{
	struct out *o;
	ssize_t n;

	while ((o = TAILQ_FIRST(&s->out))) {
		n = send_some(s->fd, o);
		if (n == -EINTR)
			continue;
		if (n == -EAGAIN || n == -EWOULDBLOCK)
			break;
		if (n < 0) {
			failed(s, n);
			break;
		}
		o->sent += (size_t)n;
		s->out_bytes -= (size_t)n;
		if (o->sent < o->len)
			continue;
		TAILQ_REMOVE(&s->out, o, link);
		free(o);
	}
	io_update(s);
}

static void
queue(struct session *s, struct out *o)
{
	bool idle = TAILQ_EMPTY(&s->out);

	TAILQ_INSERT_TAIL(&s->out, o, link);
	s->out_bytes += o->len - o->sent;
	if (idle)
		flush(s);
}

void
io_send(struct session *s, struct out *o, const int fd[2])
{
	if (s->fd < 0 || s->hangup) {
		free(o);
		return;
	}
	if (fd) {
		memcpy(o->fd, fd, sizeof o->fd);
		o->with_fds = true;
	}
	queue(s, o);
}

/* With nothing before it, so without memory.  How much of it is out. */
static size_t
ring_at_once(struct session *s)
{
	unsigned char mark[4];
	ssize_t n;

	record_mark(mark, 0);
	do
		n = send(s->fd, mark, sizeof mark,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return (size_t)n;
	/* A full socket wakes the client as well as a bell does. */
	if (errno != EAGAIN)
		failed(s, -errno);
	return sizeof mark;
}

void
io_bell(struct session *s)
{
	struct out *last, *o;
	size_t sent = 0;

	if (s->fd < 0 || s->hangup)
		return;
	last = TAILQ_LAST(&s->out, out_list);
	if (last && last->bell && !last->sent)
		return;
	if (!last)
		sent = ring_at_once(s);
	if (sent == 4)
		return;
	o = io_out(0);
	if (o) {
		o->bell = true;
		o->sent = sent;
		queue(s, o);
	} else if (sent) {		/* else what is queued wakes it */
		session_hangup(s, "no memory for a bell");
	}
}

/* --- in --- */

static bool
may_read(const struct session *s)
{
	return s->fd >= 0 && !s->hangup && !s->owner->stopping &&
	       !s->rest.waits &&
	       !s->writing && s->out_bytes < OUT_MAX &&
	       s->todo_bytes < TODO_MAX && s->todo_nr < TODO_NR_MAX &&
	       s->under_way_nr < UNDER_WAY_MAX && s->read_bytes < READ_MAX;
}

void
io_update(struct session *s)
{
	unsigned events = 0;

	if (!s->watch)
		return;
	if (may_read(s))
		events |= LOOP_READ;
	if (!TAILQ_EMPTY(&s->out) && !s->hangup)
		events |= LOOP_WRITE;
	loop_watch_set(s->owner->env.loop, s->watch, events);
}

/* Two that come before the first message are kept for it, which may be RESUME;
   any other has no business here.  False: such a one came. */
static bool
take_passed(struct session *s, struct msghdr *m)
{
	struct cmsghdr *c;
	bool good = true;
	size_t i, nr;
	int fd;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof fd;
		for (i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (s->state == SESSION_NEW && s->passed_nr < 2) {
				s->passed[s->passed_nr++] = fd;
				continue;
			}
			closer_close(fd);
			good = false;
		}
	}
	return good;
}

void
io_close_passed(struct session *s)
{
	while (s->passed_nr)
		closer_close(s->passed[--s->passed_nr]);
}

static ssize_t
receive(struct session *s, void *buf, size_t room)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} control;
	struct iovec iov = { buf, room };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t n;

	do
		n = recvmsg(s->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (m.msg_flags & MSG_CTRUNC)	/* no descriptors are left to us */
		s->passed_cut = true;
	if (m.msg_controllen && !take_passed(s, &m))
		session_hangup(s, "descriptors where none belong");
	return n;
}

static void
whole_record(struct session *s)
{
	const char *why;

	s->active = true;
	if (!s->reader.length) {	/* a bell */
		user_charge(s->user, USER_COST_BELL);
		session_poke(s);
		return;
	}
	if (request_come(s, s->reader.data, s->reader.length, &why))
		session_hangup(s, why);
}

static void
feed(struct session *s, const unsigned char *buf, size_t len)
{
	size_t used;
	int r;

	while (len && !s->hangup) {
		r = record_feed(&s->reader, buf, len, &used);
		if (r == 1)
			whole_record(s);
		else if (r < 0)
			session_hangup(s, r == -EMSGSIZE ?
					  "a record that is too long" :
					  "no memory for its record");
		else
			return;
		buf += used;
		len -= used;
	}
}

static void
read_some(struct session *s, int turns)
{
	static unsigned char buf[65536];
	ssize_t n;
	size_t room;
	void *direct;

	while (turns-- && may_read(s) && user_may_read(s->user, &s->rest)) {
		room = record_room(&s->reader, &direct);
		n = receive(s, room ? direct : buf, room ? room : sizeof buf);
		if (n == -EAGAIN || n == -EWOULDBLOCK)
			break;
		if (n <= 0) {
			failed(s, n ? n : -ECONNRESET);
			break;
		}
		if (!room)
			feed(s, buf, (size_t)n);
		else if (record_took(&s->reader, (size_t)n))
			whole_record(s);
	}
}

static void
ready(void *arg, int fd, unsigned events)
{
	struct session *s = session_ref(arg);

	(void)fd;
	if ((events & LOOP_WRITE) && !s->hangup)
		flush(s);
	if (events & LOOP_READ)
		read_some(s, TURN_READS);
	io_update(s);
	session_put(s);
}

/* It waited until its user may send more messages. */
static void
rested(void *arg)
{
	struct session *s = session_ref(arg);

	read_some(s, 1);
	io_update(s);
	session_put(s);
}

void
io_start(struct session *s)
{
	TAILQ_INIT(&s->out);
	s->rest.go = rested;
	s->rest.arg = s;
	record_reader_init(&s->reader, NFSWB_RECORD_MAX);
	s->watch = loop_watch(s->owner->env.loop, s->fd, LOOP_READ, ready, s);
}

void
io_close(struct session *s)
{
	struct out *o;

	loop_watch_free(s->owner->env.loop, s->watch);
	s->watch = NULL;
	if (s->fd >= 0)
		closer_hang_up(s->fd);
	s->fd = -1;
	while ((o = TAILQ_FIRST(&s->out))) {
		TAILQ_REMOVE(&s->out, o, link);
		free(o);
	}
	s->out_bytes = 0;
	io_close_passed(s);
	record_reader_free(&s->reader);
}
