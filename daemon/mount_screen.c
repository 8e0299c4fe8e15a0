/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_screen.c - what goes to and fro between libnfs and its server
 *
 *	libnfs -- fd [socketpair] near -- calls, noted   --> tcp -- server
 *	                               <- replies, checked --
 *
 * Both ways whole records, one fragment each.  A side is read only while all
 * that came from it has gone on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/record.h"
#include "daemon/mount_screen.h"

#define CALL_MAX 65536u
#define REPLY_MAX 524288u
#define OUT_MAX 256		/* calls that nothing was heard of */

struct call {
	TAILQ_ENTRY(call) entry;
	uint32_t xid, prog, vers, proc;
};

/* One way. */
struct way {
	struct record_reader in;
	unsigned char *out;
	size_t out_len, out_sent;
	bool (*record)(struct screen *, const unsigned char *, size_t);
};

struct screen {
	struct loop *loop;
	screen_bad_fn *bad;
	void *arg;
	int near, tcp;			/* -1: over */
	struct loop_watch *near_watch, *tcp_watch;
	struct way calls, replies;
	TAILQ_HEAD(, call) under_way;
	unsigned call_nr;
	bool server_gone;
};

static uint32_t
word_at(const unsigned char *p, unsigned n)
{
	p += 4 * n;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static void
end_watches(struct screen *s)
{
	loop_watch_free(s->loop, s->near_watch);
	loop_watch_free(s->loop, s->tcp_watch);
	s->near_watch = s->tcp_watch = NULL;
}

/* libnfs sees the end of the connection. */
static void
end(struct screen *s)
{
	end_watches(s);
	if (s->near >= 0)
		close(s->near);
	s->near = -1;
}

static void
say_bad(struct screen *s, const char *why)
{
	end_watches(s);
	s->bad(s->arg, why);
}

/* ---- records ---- */

static bool
put_out(struct way *w, const unsigned char *record, size_t len)
{
	unsigned char *p = realloc(w->out, w->out_len + 4 + len);

	if (!p)
		return false;
	w->out = p;
	record_mark(p + w->out_len, len);
	memcpy(p + w->out_len + 4, record, len);
	w->out_len += 4 + len;
	return true;
}

static void
call_end(struct screen *s, struct call *c)
{
	TAILQ_REMOVE(&s->under_way, c, entry);
	s->call_nr--;
	free(c);
}

/* Of libnfs: xid, CALL, 2, prog, vers, proc. */
static bool
call_came(struct screen *s, const unsigned char *p, size_t len)
{
	struct call *c = malloc(sizeof *c);

	if (!c || len < 24) {
		free(c);
		say_bad(s, "out of memory");
		return false;
	}
	c->xid = word_at(p, 0);
	c->prog = word_at(p, 3);
	c->vers = word_at(p, 4);
	c->proc = word_at(p, 5);
	TAILQ_INSERT_TAIL(&s->under_way, c, entry);
	if (++s->call_nr > OUT_MAX)
		call_end(s, TAILQ_FIRST(&s->under_way));
	if (put_out(&s->calls, p, len))
		return true;
	say_bad(s, "out of memory");
	return false;
}

static struct call *
find_call(struct screen *s, uint32_t xid)
{
	struct call *c;

	TAILQ_FOREACH(c, &s->under_way, entry)
		if (c->xid == xid)
			break;
	return c;
}

static bool
reply_came(struct screen *s, const unsigned char *p, size_t len)
{
	struct call *c = len >= 4 ? find_call(s, word_at(p, 0)) : NULL;

	if (len >= 8 && word_at(p, 1) == 1 && !c)
		return true;		/* nobody waits for it */
	if (c)
		len = screen_check(p, len, c->prog, c->vers, c->proc);
	if (!c || !len) {
		say_bad(s, "the server sent what is no reply");
		return false;
	}
	call_end(s, c);
	if (put_out(&s->replies, p, len))
		return true;
	say_bad(s, "out of memory");
	return false;
}

/* ---- bytes ---- */

/* false: the screen is over. */
static bool
read_way(struct screen *s, struct way *w, int fd)
{
	unsigned char buf[65536];
	ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
	size_t at = 0, used;
	int ret;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		s->server_gone = true;
		return true;
	}
	while (at < (size_t)n) {
		ret = record_feed(&w->in, buf + at, (size_t)n - at, &used);
		at += used;
		if (ret < 0) {
			say_bad(s, ret == -ENOMEM ? "out of memory" :
				"the server sent a reply that is too long");
			return false;
		}
		if (ret && !w->record(s, w->in.data, w->in.length))
			return false;
	}
	return true;
}

static void
write_way(struct screen *s, struct way *w, int fd)
{
	ssize_t n;

	while (w->out_sent < w->out_len) {
		n = send(fd, w->out + w->out_sent, w->out_len - w->out_sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			s->server_gone = true;
			w->out_sent = w->out_len;
			return;
		}
		w->out_sent += (size_t)n;
	}
	w->out_len = w->out_sent = 0;
}

static unsigned
events_for(const struct way *in, const struct way *out)
{
	return (in->out_len ? 0 : LOOP_READ) |
	       (out->out_len ? LOOP_WRITE : 0);
}

static void
go_on(struct screen *s)
{
	write_way(s, &s->calls, s->tcp);
	write_way(s, &s->replies, s->near);
	if (s->server_gone && !s->replies.out_len) {
		end(s);
		return;
	}
	loop_watch_set(s->loop, s->near_watch,
		       events_for(&s->calls, &s->replies));
	loop_watch_set(s->loop, s->tcp_watch, s->server_gone ? 0 :
		       events_for(&s->replies, &s->calls));
}

static void
near_ready(void *arg, int fd, unsigned events)
{
	struct screen *s = arg;

	if (events & LOOP_READ && !read_way(s, &s->calls, fd))
		return;
	go_on(s);
}

static void
tcp_ready(void *arg, int fd, unsigned events)
{
	struct screen *s = arg;

	if (events & LOOP_READ && !read_way(s, &s->replies, fd))
		return;
	go_on(s);
}

/* ---- made and freed ---- */

/* fd becomes one end of a socketpair; s->near the other, s->tcp what fd was. */
static bool
splice_in(struct screen *s, int fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return false;
	s->near = pair[0];
	s->tcp = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->tcp >= 0 && dup3(pair[1], fd, O_CLOEXEC) < 0) {
		close(s->tcp);
		s->tcp = -1;
	}
	close(pair[1]);
	return s->tcp >= 0;
}

struct screen *
screen_new(struct loop *loop, int fd, screen_bad_fn *bad, void *arg)
{
	struct screen *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->loop = loop;
	s->bad = bad;
	s->arg = arg;
	s->near = s->tcp = -1;
	record_reader_init(&s->calls.in, CALL_MAX);
	record_reader_init(&s->replies.in, REPLY_MAX);
	s->calls.record = call_came;
	s->replies.record = reply_came;
	TAILQ_INIT(&s->under_way);
	if (splice_in(s, fd)) {
		s->near_watch = loop_watch(loop, s->near, LOOP_READ,
					   near_ready, s);
		s->tcp_watch = loop_watch(loop, s->tcp, LOOP_READ, tcp_ready,
					  s);
	}
	if (s->near_watch && s->tcp_watch)
		return s;
	if (s->tcp >= 0)
		(void)dup3(s->tcp, fd, O_CLOEXEC);
	screen_free(s);
	return NULL;
}

void
screen_free(struct screen *s)
{
	struct call *c;

	if (!s)
		return;
	end(s);
	if (s->tcp >= 0)
		close(s->tcp);
	while ((c = TAILQ_FIRST(&s->under_way)))
		call_end(s, c);
	record_reader_free(&s->calls.in);
	record_reader_free(&s->replies.in);
	free(s->calls.out);
	free(s->replies.out);
	free(s);
}
