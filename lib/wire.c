/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wire.c - records out, records in */
#include <errno.h>
#include <sys/socket.h>

#include "lib/resume.h"
#include "lib/session.h"
#include "lib/wire.h"

/* What the daemon said before it went is still to be read. */
static void
send_failed(struct nfswb *wb)
{
	if (wb->receiving)
		return;		/* it comes to the end by itself */
	wire_receive(wb);
	link_lost(wb);
}

/* Bytes taken, 0 when the socket is full, -errno. */
static ssize_t
send_some(struct nfswb *wb, const void *buf, size_t len)
{
	ssize_t n;

	do
		n = send(wb->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

void
wire_send(struct nfswb *wb)
{
	struct call *c;
	ssize_t n;

	while (wb->link == LINK_UP && (c = TAILQ_FIRST(&wb->out))) {
		n = send_some(wb, c->record + c->sent, c->length - c->sent);
		if (n == 0)
			return;
		if (n < 0) {
			send_failed(wb);
			return;
		}
		c->sent += (size_t)n;
		if (c->sent == c->length)
			call_sent(wb, c);
	}
}

void
wire_bell(struct nfswb *wb)
{
	static const unsigned char bell[4] = { 0x80, 0, 0, 0 };

	wire_send(wb);
	if (wb->link != LINK_UP || !TAILQ_EMPTY(&wb->out))
		return;
	/* four bytes go whole or not at all; a full socket needs no bell */
	if (send_some(wb, bell, sizeof bell) < 0)
		send_failed(wb);
}

static void
handle_record(struct nfswb *wb)
{
	size_t length = wb->in.length;

	if (length == 0)
		wake(wb, WAKE_BELL);
	else if (length < 8)
		link_lost(wb);
	else
		call_answer(wb, record_take(&wb->in), length);
}

static ssize_t
receive(struct nfswb *wb, void *buf, size_t len)
{
	ssize_t n;

	do
		n = recv(wb->fd, buf, len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		link_lost(wb);
		return -1;
	}
	return n;
}

/* Feeds bytes that hold marks; false: the connection is of no more use. */
static bool
feed(struct nfswb *wb, const unsigned char *buf, size_t len)
{
	size_t used;
	int rc;

	while (len && wb->link == LINK_UP) {
		rc = record_feed(&wb->in, buf, len, &used);
		if (rc < 0) {
			link_lost(wb);
			return false;
		}
		buf += used;
		len -= used;
		if (rc == 1)
			handle_record(wb);
	}
	return wb->link == LINK_UP;
}

static void
receive_all(struct nfswb *wb)
{
	unsigned char buf[4096];
	void *into;
	size_t room;
	ssize_t n;

	while (wb->link == LINK_UP) {
		room = record_room(&wb->in, &into);
		n = receive(wb, room ? into : buf, room ? room : sizeof buf);
		if (n < 0)
			return;
		if (!room && !feed(wb, buf, (size_t)n))
			return;
		if (room && record_took(&wb->in, (size_t)n))
			handle_record(wb);
	}
}

void
wire_receive(struct nfswb *wb)
{
	wb->receiving = true;
	receive_all(wb);
	wb->receiving = false;
}
