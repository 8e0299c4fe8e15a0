/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * send.c - calls into the socket, the payload straight from where it lies
 *
 *	call 1            call 2            call 3
 *	header|payload|pad header|payload|pad header|payload|pad
 *	        ^ sent: where the next sendmsg goes on
 *
 * One sendmsg gathers what is left of the first call and as many of the next
 * ones as have room in IOV_MAX and BATCH_BYTES.  A half-sent call must be
 * finished before any other, so the first stays first until it is out.
 *
 * The kernel answers EFAULT for the whole sendmsg and does not say where; so
 * the calls go alone from then on, until the one that faults is found.
 */
#include <errno.h>
#include <string.h>

#include "rpc/gate.h"
#include "rpc/send.h"

#define BATCH_BYTES (2u << 20)

void
send_init(struct send_queue *q)
{
	memset(q, 0, sizeof *q);
	TAILQ_INIT(&q->calls);
}

static unsigned
rank(const struct rpc_call *call)
{
	return 2 * (unsigned)call->class + !call->urgent;
}

void
send_add(struct send_queue *q, struct rpc_call *call)
{
	struct rpc_call *before;

	call->state = CALL_SENDING;
	call->sent = 0;
	TAILQ_FOREACH_REVERSE(before, &q->calls, call_list, link)
		if (call_is_half_sent(before) || rank(before) <= rank(call))
			break;
	if (before)
		TAILQ_INSERT_AFTER(&q->calls, before, call, link);
	else
		TAILQ_INSERT_HEAD(&q->calls, call, link);
}

void
send_append(struct send_queue *q, struct rpc_call *call)
{
	call->state = CALL_SENDING;
	call->sent = 0;
	TAILQ_INSERT_TAIL(&q->calls, call, link);
}

void
send_remove(struct send_queue *q, struct rpc_call *call)
{
	TAILQ_REMOVE(&q->calls, call, link);
	if (TAILQ_EMPTY(&q->calls))
		q->alone = false;
}

struct gather {
	struct iovec *iov;
	int nr;
	uint64_t skip;		/* of the call's bytes, already sent */
	uint64_t bytes;
};

/* Adds what is left of one piece; false: no room. */
static bool
gather_piece(struct gather *g, void *base, size_t len)
{
	if (g->skip >= len) {
		g->skip -= len;
		return true;
	}
	if (g->nr == IOV_MAX)
		return false;
	g->iov[g->nr].iov_base = (char *)base + g->skip;
	g->iov[g->nr].iov_len = len - g->skip;
	g->bytes += len - g->skip;
	g->skip = 0;
	g->nr++;
	return true;
}

/* Adds what is left of a call; false: not all of it had room. */
static bool
gather_call(struct gather *g, struct rpc_call *call)
{
	static unsigned char zeros[4];
	int i;

	g->skip = call->sent;
	if (!gather_piece(g, call->header, call->header_len))
		return false;
	for (i = 0; i < call->iov_nr; i++)
		if (!gather_piece(g, call->iov[i].iov_base,
				  call->iov[i].iov_len))
			return false;
	return gather_piece(g, zeros, rpc_pad(call->payload_bytes));
}

ssize_t
send_some(struct send_queue *q, int fd, bool gated)
{
	struct gather g = { .iov = q->iov };
	struct msghdr msg = { .msg_iov = q->iov };
	struct rpc_call *call;
	unsigned call_nr = 0;
	ssize_t n;

	TAILQ_FOREACH(call, &q->calls, link) {
		if (gated && call_nr && gate_is_for(call))
			break;
		call_nr++;
		if (!gather_call(&g, call) || q->alone ||
		    g.bytes >= BATCH_BYTES)
			break;
	}
	msg.msg_iovlen = (size_t)g.nr;
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EFAULT && call_nr > 1) {
		q->alone = true;
		return send_some(q, fd, gated);
	}
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

struct rpc_call *
send_book(struct send_queue *q, uint64_t *bytes, uint64_t now,
	  struct rpc_op_stats *ops)
{
	struct rpc_call *call = TAILQ_FIRST(&q->calls);
	struct rpc_op_stats *s = &ops[call->proc];
	uint64_t take = call->total - call->sent;

	if (take > *bytes)
		take = *bytes;
	if (!call->sent) {
		call->timing.transmissions++;
		s->transmissions++;
		if (!call->timing.first_byte)
			call->timing.first_byte = now;
		if (!call->xid_usec)
			call->xid_usec = now;
		call->copy_usec = now;
	}
	call->sent += take;
	*bytes -= take;
	s->bytes_sent += take;
	if (call->sent < call->total)
		return NULL;
	call->timing.last_byte = now;
	send_remove(q, call);
	return call;
}
