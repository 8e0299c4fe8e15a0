/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* handshake.c - one call out, one answer in, descriptors along with either */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/codec.h"
#include "lib/handshake.h"

union fd_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

int
handshake_begin(struct handshake *h, const struct sockaddr_un *address,
		const nfswb_call *call, const int pass[2])
{
	int err;

	memset(h, 0, sizeof *h);
	record_reader_init(&h->in, NFSWB_RECORD_MAX);
	h->pass[0] = pass ? pass[0] : -1;
	h->pass[1] = pass ? pass[1] : -1;
	h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		return -errno;
	err = codec_encode(call, &h->out, &h->length);
	if (err == 0 && connect(h->fd, (const struct sockaddr *)address,
				sizeof *address) < 0)
		err = -errno;
	if (err < 0)
		handshake_end(h);
	return err;
}

void
handshake_end(struct handshake *h)
{
	while (h->got_nr)
		close(h->got[--h->got_nr]);
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	free(h->out);
	h->out = NULL;
	record_reader_free(&h->in);
}

short
handshake_events(const struct handshake *h)
{
	return h->sent < h->length ? POLLOUT : POLLIN;
}

static int
send_rest(struct handshake *h)
{
	union fd_control control;
	struct iovec iov;
	struct msghdr msg;
	ssize_t n;

	while (h->sent < h->length) {
		memset(&msg, 0, sizeof msg);
		memset(&control, 0, sizeof control);
		iov.iov_base = h->out + h->sent;
		iov.iov_len = h->length - h->sent;
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		if (h->sent == 0 && h->pass[0] >= 0) {
			msg.msg_control = &control;
			msg.msg_controllen = sizeof control;
			control.header.cmsg_level = SOL_SOCKET;
			control.header.cmsg_type = SCM_RIGHTS;
			control.header.cmsg_len = CMSG_LEN(sizeof h->pass);
			memcpy(CMSG_DATA(&control.header), h->pass,
			       sizeof h->pass);
		}
		n = sendmsg(h->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		h->sent += (size_t)n;
	}
	return 1;
}

static void
keep_descriptors(struct handshake *h, struct msghdr *msg)
{
	struct cmsghdr *c;
	size_t i, nr;
	int fd;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof fd;
		for (i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (h->got_nr < 2)
				h->got[h->got_nr++] = fd;
			else
				close(fd);
		}
	}
}

/* One recvmsg; bytes, 0 when none are there yet, -errno. */
static ssize_t
receive(struct handshake *h, void *buf, size_t len)
{
	union fd_control control;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	ssize_t n;

	do
		n = recvmsg(h->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	keep_descriptors(h, &msg);
	return n ? n : -ECONNRESET;
}

/* 1 when the record is whole. */
static int
receive_some(struct handshake *h, ssize_t *got)
{
	unsigned char mark[4];
	void *buf;
	size_t room = record_room(&h->in, &buf), used;

	if (room) {
		*got = receive(h, buf, room);
		return *got > 0 ? record_took(&h->in, (size_t)*got) : 0;
	}
	*got = receive(h, mark, 4 - h->in.mark_got);
	return *got > 0 ? record_feed(&h->in, mark, (size_t)*got, &used) : 0;
}

int
handshake_step(struct handshake *h, nfswb_reply *reply)
{
	ssize_t got;
	int rc = send_rest(h);

	if (rc <= 0)
		return rc;
	do {
		rc = receive_some(h, &got);
		if (rc == 0 && got <= 0)
			return (int)got;
		/* a bell before the answer says nothing yet */
	} while (rc == 0 || (rc == 1 && h->in.length == 0));
	if (rc < 0)
		return rc == -EMSGSIZE ? -EPROTO : rc;
	rc = codec_decode(h->in.data, h->in.length, reply);
	return rc < 0 ? rc : 1;
}
