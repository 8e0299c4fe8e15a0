/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cell_calls.c - the pipeline's table of NFS calls, without bytes
 *
 *	queue -> slot table -> send order -> socket -> link -> thread, memory,
 *	disk -> link -> done
 *
 * What rpc/client.c does, with its own slot table and send order; the socket
 * takes what the model's window says.  A call leaves as a whole.  Messages are
 * as long as they are on the wire.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "bench/cell_impl.h"
#include "rpc/nfs3.h"
#include "rpc/timing.h"

/* Record mark, header, AUTH_SYS of a name of 8 bytes and no groups, a handle
   of 32 bytes, arguments; and what comes back, attributes of both kinds. */
#define LITTLE_BYTES	(128 << 10)	/* see rpc/socket.c */

#define CALL_BYTES	(4 + 24 + 8 + 28 + 8 + 36)
#define REPLY_BYTES	(4 + 24 + 4 + 28 + 88)
#define WRITE_BYTES	(CALL_BYTES + 20)
#define WRITE_REPLY	(REPLY_BYTES + 16)
#define COMMIT_BYTES	(CALL_BYTES + 12)
#define COMMIT_REPLY	(REPLY_BYTES + 8)

struct cell_call {
	struct rpc_call rpc;
	struct model_op op;
	struct wb_call *call;		/* NULL: somebody else's */
	struct cell_ask ask;
	struct cell_net *net;
	struct cell_call *next;		/* spare */
};

static const enum rpc_class class_of[] = {
	[WB_FOREGROUND] = RPC_FOREGROUND,
	[WB_NORMAL] = RPC_NORMAL,
	[WB_BACKGROUND] = RPC_BACKGROUND,
};

/* As daemon/transport.c does it. */
static void
watch(struct cell_call *c, bool ended)
{
	struct cell_net *n = c->net;
	const struct rpc_timing *t = &c->rpc.timing;
	uint64_t bytes = MAX(c->rpc.payload_bytes, c->rpc.reply_bytes);

	if (ended ? !c->rpc.watched : c->rpc.class != RPC_FOREGROUND)
		return;
	c->rpc.watched = !ended;
	if (ended)
		wb_server_foreground_ended(n->server, c->rpc.proc, bytes,
					   t->replied - t->last_byte, true,
					   t->replied);
	else
		wb_server_foreground_sent(n->server, c->rpc.proc, bytes,
					  t->last_byte);
}

static void
tell(const struct cell_call *c, struct wb_call *call)
{
	call->err = 0;
	call->nfs_status = 0;
	call->written = call->count;
	call->committed = call->stable;
	call->have_size = 0;
	call->transmissions = 1;
	call->sent_usec = c->rpc.timing.first_byte;
	call->transport = NULL;
	call->done(call, c->rpc.timing.replied);
}

static void
answer(void *arg, uint64_t when)
{
	struct cell_call *c = arg;
	struct cell_net *n = c->net;
	struct rpc_timing *t = &c->rpc.timing;

	(void)when;
	if (n->stalls && loop_now(n->loop) - n->began_usec >=
			 n->params->stall_usec)
		return;			/* for ever */
	t->replied = loop_now(n->loop);
	slots_remove(&n->slots, &c->rpc);
	gate_ended(&n->gate, &c->rpc, t->replied);
	watch(c, true);
	timing_count(&n->ops[c->rpc.proc], &c->rpc, 0);
	if (c->call)
		tell(c, c->call);
	else
		c->ask.done(c->ask.arg, t->replied - t->queued);
	c->next = n->spare;
	n->spare = c;
	loop_defer(n->loop, n->pump);
}

static void
served(void *arg, uint64_t when)
{
	struct cell_call *c = arg;

	(void)when;
	model_carry(c->net->model, &c->op, LINK_OUT,
		    !c->call ? REPLY_BYTES + c->ask.reply_bytes :
		    c->op.kind == MODEL_WRITE ? WRITE_REPLY : COMMIT_REPLY,
		    answer);
}

/* How long a COMMIT that comes now has to wait for the server's bad time to
   end. */
static uint64_t
bump(const struct cell_net *n)
{
	const struct cell_params *p = n->params;
	uint64_t at;

	if (!p->bump_usec)
		return 0;
	at = (loop_now(n->loop) - n->began_usec) % p->bump_every_usec;
	return at < p->bump_usec ? p->bump_usec - at : 0;
}

static void
arrived(void *arg, uint64_t when)
{
	struct cell_call *c = arg;

	if (c->op.kind == MODEL_COMMIT)
		c->op.hold_usec = bump(c->net);
	model_run(c->net->model, &c->op, when);
}

static uint64_t
link_usec(const struct cell_net *n, uint64_t bytes)
{
	uint64_t bits = n->params->model.link_bits_per_sec;

	return bits ? bytes * 8000000 / bits : 0;
}

/* How long until the first may leave: the socket is full, or the gate shut.  A
   socket that keeps little has no more than one call ahead of the link. */
static uint64_t
wait_usec(const struct cell_net *n, const struct rpc_call *rpc)
{
	uint64_t usec = n->gate.on ? model_ahead(n->model, LINK_IN, LITTLE_BYTES)
				   : model_congested(n->model, LINK_IN);

	return usec ? usec : gate_wait_usec(&n->gate, rpc, loop_now(n->loop));
}

static void
leave(struct cell_net *n, struct rpc_call *rpc)
{
	struct cell_call *c = (struct cell_call *)rpc;

	send_remove(&n->send, rpc);
	rpc->state = CALL_IN_FLIGHT;
	rpc->timing.transmissions = 1;
	rpc->timing.first_byte = rpc->timing.last_byte = loop_now(n->loop);
	n->ops[rpc->proc].transmissions++;
	n->ops[rpc->proc].bytes_sent += rpc->total;
	gate_sent(&n->gate, rpc, link_usec(n, rpc->total), loop_now(n->loop) +
		  link_usec(n, rpc->total));
	watch(c, false);
	model_carry(n->model, &c->op, LINK_IN, rpc->total, arrived);
}

static void
pump(void *arg)
{
	struct cell_net *n = arg;
	struct rpc_call *rpc;
	uint64_t usec;

	while ((rpc = slots_take(&n->slots)))
		send_add(&n->send, rpc);
	n->queued = n->slots.waiting_nr;
	while ((rpc = TAILQ_FIRST(&n->send.calls))) {
		usec = wait_usec(n, rpc);
		if (usec) {
			loop_timer_set(n->loop, n->window, usec);
			return;
		}
		leave(n, rpc);
	}
}

static struct cell_call *
new_call(struct cell_net *n)
{
	struct cell_call *c = n->spare;

	if (c)
		n->spare = c->next;
	else
		c = malloc(sizeof *c);
	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	c->net = n;
	return c;
}

static uint64_t
file_of(const struct wb_call *call)
{
	unsigned nr;

	memcpy(&nr, call->fh->data, sizeof nr);
	return nr;
}

static int
queue(void *arg, struct wb_call *call)
{
	struct cell_net *n = arg;
	bool write = call->kind == WB_CALL_WRITE;
	struct cell_call *c = new_call(n);

	if (!c)
		return -ENOMEM;
	c->call = call;
	c->op.kind = write ? MODEL_WRITE : MODEL_COMMIT;
	c->op.file = file_of(call);
	c->op.offset = call->offset;
	c->op.length = call->count;
	c->op.stable = write && call->stable != WB_UNSTABLE;
	c->op.done = served;
	c->op.arg = c;
	c->rpc.class = class_of[call->class];
	c->rpc.urgent = call->ahead;
	c->rpc.proc = write ? NFSPROC3_WRITE : NFSPROC3_COMMIT;
	c->rpc.total = write ? WRITE_BYTES + (call->count + 3) / 4 * 4 :
			       COMMIT_BYTES;
	c->rpc.payload_bytes = write ? call->count : 0;
	c->rpc.apart = !write;
	c->rpc.asked_small = write && call->class == WB_FOREGROUND &&
			     call->count <= GATE_SMALL;
	gate_queued(&n->gate, &c->rpc);
	c->rpc.timing.queued = loop_now(n->loop);
	call->transport = c;
	slots_add(&n->slots, &c->rpc);
	if (n->slots.waiting_nr > n->most_queued)
		n->most_queued = n->slots.waiting_nr;
	loop_defer(n->loop, n->pump);
	return 0;
}

void
cell_ask(struct cell_net *n, const struct cell_ask *ask)
{
	struct cell_call *c = new_call(n);

	if (!c)
		exit(1);
	c->ask = *ask;
	c->op.kind = ask->kind;
	c->op.file = ask->file;
	c->op.offset = ask->offset;
	c->op.length = ask->length;
	c->op.done = served;
	c->op.arg = c;
	c->rpc.class = RPC_FOREGROUND;
	c->rpc.urgent = true;
	c->rpc.proc = ask->proc;
	c->rpc.total = CALL_BYTES;
	c->rpc.reply_bytes = ask->reply_bytes;
	c->rpc.asked_small = ask->reply_bytes <= GATE_SMALL;
	gate_queued(&n->gate, &c->rpc);
	c->rpc.timing.queued = loop_now(n->loop);
	slots_add(&n->slots, &c->rpc);
	loop_defer(n->loop, n->pump);
}

static void
raise_class(void *arg, struct wb_call *call, enum wb_class to)
{
	struct cell_net *n = arg;
	struct cell_call *c = call->transport;
	enum rpc_class class = class_of[to];

	if (!c || class > c->rpc.class ||
	    (class == c->rpc.class && c->rpc.urgent))
		return;
	if (c->rpc.state == CALL_WAITING) {
		slots_raise(&n->slots, &c->rpc, class);
	} else if (c->rpc.state == CALL_SENDING) {
		send_remove(&n->send, &c->rpc);
		slots_raise(&n->slots, &c->rpc, class);
		send_add(&n->send, &c->rpc);
	}
	loop_defer(n->loop, n->pump);
}

static void
background_depth(void *arg, unsigned depth)
{
	struct cell_net *n = arg;

	n->slots.background_depth = depth ? depth : 1;
	loop_defer(n->loop, n->pump);
}

/* Nothing is READ here. */
static void
drop_data(void *arg, struct wb_call *call)
{
	(void)arg;
	(void)call;
}

static void
yield(void *arg, bool on)
{
	struct cell_net *n = arg;

	n->gate.on = on;
}

const struct wb_calls cell_calls = { queue, raise_class, background_depth,
				     drop_data, yield };

int
cell_net_init(struct cell_net *n, struct loop *loop,
	      const struct cell_params *params, unsigned server)
{
	n->loop = loop;
	n->params = params;
	n->began_usec = loop_now(loop);
	n->stalls = server == 1 && params->stall_usec;
	slots_init(&n->slots, params->server.slot_nr);
	send_init(&n->send);
	n->model = model_new(loop, server ? &params->second : &params->model);
	n->pump = loop_deferred(loop, pump, n);
	n->window = loop_timer(loop, pump, n);
	return n->model && n->pump && n->window ? 0 : -ENOMEM;
}

void
cell_net_free(struct cell_net *n)
{
	struct cell_call *c;
	struct rpc_call *rpc;

	if (!n->loop)
		return;
	model_free(n->model);		/* it lists what is under way */
	while ((rpc = TAILQ_FIRST(&n->slots.out))) {
		slots_remove(&n->slots, rpc);
		free(rpc);
	}
	n->slots.nr = UINT32_MAX;
	n->slots.background_depth = UINT32_MAX;
	while ((rpc = slots_take(&n->slots))) {
		slots_remove(&n->slots, rpc);
		free(rpc);
	}
	while ((c = n->spare)) {
		n->spare = c->next;
		free(c);
	}
	loop_deferred_free(n->loop, n->pump);
	loop_timer_free(n->loop, n->window);
}
