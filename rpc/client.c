/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * client.c - calls in, calls out: the client's public face
 *
 *	rpc_client_call -> slots -> a connection's lane -> done
 *
 * Nothing is sent from inside a call: that asks the loop for the pump, which
 * gives slots, sends what the socket takes, and calls done for what failed.  So
 * calls that are queued together leave together, in one sendmsg.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <unistd.h>

#include "rpc/nfs3.h"
#include "rpc/parts.h"

#define POOL_SPARE 32		/* calls set aside beyond one for each slot */

void
client_tell(struct rpc_client *c, struct rpc_call *call, enum rpc_event event)
{
	if (event == RPC_SENT ? call->watched ||
				call->class != RPC_FOREGROUND :
				!call->watched)
		return;
	call->watched = event == RPC_SENT;
	if (c->watch)
		c->watch(c->watch_arg, event, call->proc,
			 MAX(call->payload_bytes, call->reply_bytes),
			 &call->timing);
}

static void
destroy(struct rpc_client *c)
{
	lanes_free(c);
	loop_timer_free(c->loop, c->timer);
	loop_timer_free(c->loop, c->gate_timer);
	loop_deferred_free(c->loop, c->pump);
	call_table_free(&c->table);
	free(c->name);
	free(c);
}

static void
pump(void *arg)
{
	struct rpc_client *c = arg;

	if (c->freed) {
		destroy(c);
		return;
	}
	c->depth++;
	answer_ready(c);
	if (!c->freed) {
		lanes_want(c, c->outstanding > 0);
		lanes_send(c);
	}
	c->depth--;
}

static void
on_timer(void *arg)
{
	retry_on_timer(arg);
}

static void
on_gate(void *arg)
{
	struct rpc_client *c = arg;

	loop_defer(c->loop, c->pump);
}

/* The kernel's random numbers, or seed's. */
static uint64_t
first_random(uint64_t seed)
{
	if (!seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) !=
		     sizeof seed)
		seed = (uint64_t)getpid() << 32 ^ (uintptr_t)&seed;
	return seed;
}

struct rpc_client *
rpc_client_new(struct loop *loop, const struct rpc_params *p)
{
	struct rpc_client *c = calloc(1, sizeof *c);
	unsigned slot_nr = p->slot_nr ? p->slot_nr : 1;
	unsigned retrans = p->retrans ? p->retrans : 1, reserve_nr;

	if (!c)
		return NULL;
	c->loop = loop;
	c->prog = p->prog;
	c->vers = p->vers;
	c->soft = p->soft;
	c->timeo_usec = (p->timeo_ds ? p->timeo_ds : 1) * UINT64_C(100000);
	c->major_usec = c->timeo_usec * retrans;
	if (gethostname(c->machine, sizeof c->machine - 1) < 0)
		strcpy(c->machine, "nfswb");
	slots_init(&c->slots, slot_nr);
	TAILQ_INIT(&c->ready);
	c->name = strdup(p->name ? p->name : "server");
	c->timer = loop_timer(loop, on_timer, c);
	c->gate_timer = loop_timer(loop, on_gate, c);
	c->pump = loop_deferred(loop, pump, c);
	reserve_nr = MAX(p->essential_nr, slot_nr + POOL_SPARE);
	if (!c->name || !c->timer || !c->gate_timer || !c->pump ||
	    lanes_init(c, p, first_random(p->seed)) < 0 ||
	    call_table_init(&c->table, reserve_nr + slot_nr + POOL_SPARE,
			    reserve_nr, (uint32_t)connection_random(
				    &c->lanes->connection)) < 0) {
		destroy(c);
		return NULL;
	}
	return c;
}

static void
cancel_list(struct rpc_client *c, struct call_list *list)
{
	struct rpc_call *call;

	while ((call = TAILQ_FIRST(list)))
		answer_later(c, call, -ECANCELED);
}

void
rpc_client_free(struct rpc_client *c)
{
	struct rpc_call *call;
	struct lane *l;
	int i;

	if (!c || c->freed)
		return;
	c->freed = true;
	c->watch = NULL;
	lanes_close(c);
	loop_timer_clear(c->loop, c->timer);
	loop_timer_clear(c->loop, c->gate_timer);
	TAILQ_FOREACH(call, &c->ready, link)
		call->err = -ECANCELED;
	LANES_FOREACH(l, c) {
		cancel_list(c, &l->in_flight);
		cancel_list(c, &l->send.calls);
	}
	for (i = 0; i < 2 * RPC_CLASS_NR; i++)
		cancel_list(c, &c->slots.waiting[i / 2][i % 2]);
	answer_ready(c);
	/* From one of our own callbacks: the memory goes when that is over. */
	if (c->depth)
		loop_defer(c->loop, c->pump);
	else
		destroy(c);
}

static int
encode(struct rpc_client *c, struct rpc_call *call,
       const struct rpc_request *r)
{
	struct rpc_call_header h = {
		.prog = c->prog,
		.vers = c->vers,
		.proc = r->proc,
		.cred = r->cred,
		.machine = c->machine,
	};
	ssize_t len;
	size_t room;

	len = rpc_encode_call(call->header, sizeof call->header_room, &h,
			      r->encode, r->args, r->payload_bytes);
	if (len == -ENOSPC) {
		room = rpc_call_room(r->encode, r->args);
		call->header = malloc(room);
		if (!call->header)
			return -ENOMEM;
		len = rpc_encode_call(call->header, room, &h, r->encode,
				      r->args, r->payload_bytes);
	}
	if (len < 0)
		return -EINVAL;
	call->header_len = (size_t)len;
	return 0;
}

static void
check_request(const struct rpc_request *r)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < r->iov_nr; i++)
		bytes += r->iov[i].iov_len;
	assert(bytes == r->payload_bytes);
	assert(r->proc < RPC_PROC_MAX);
	assert(r->res_bytes <= RPC_RESULT_ROOM);
	assert(r->class < RPC_CLASS_NR);
	assert(!r->into_nr || (r->payload && r->decode));
}

/* Memory is freed by these, so they must not fail for memory. */
static bool
is_essential(const struct rpc_client *c, uint32_t proc)
{
	return rpc_is_nfs(c) && (proc == NFSPROC3_WRITE ||
				 proc == NFSPROC3_COMMIT);
}

static uint64_t
into_bytes(const struct rpc_request *r)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < r->into_nr; i++)
		bytes += r->into[i].iov_len;
	return bytes;
}

int
rpc_client_call(struct rpc_client *c, const struct rpc_request *r,
		struct rpc_call **out)
{
	struct rpc_call *call;
	int err;

	check_request(r);
	if (c->freed)
		return -ECANCELED;
	call = call_new(&c->table, is_essential(c, r->proc));
	if (!call)
		return -ENOMEM;
	err = encode(c, call, r);
	if (err) {
		call_free(&c->table, call);
		return err;
	}
	call->client = c;
	call->class = r->class;
	call->urgent = r->ahead;
	call->proc = r->proc;
	call->iov = r->iov;
	call->iov_nr = r->iov_nr;
	call->payload_bytes = r->payload_bytes;
	call->reply_bytes = r->reply_bytes ? r->reply_bytes : into_bytes(r);
	call->apart = r->apart;
	call->asked_small = r->class == RPC_FOREGROUND && !r->apart &&
			    r->payload_bytes <= GATE_SMALL &&
			    call->reply_bytes <= GATE_SMALL;
	call->total = call->header_len + r->payload_bytes +
		      rpc_pad(r->payload_bytes);
	call->cred = r->cred ? cred_ref(r->cred) : NULL;
	call->decode = r->decode;
	call->res_bytes = r->res_bytes;
	call->into = r->into;
	call->into_nr = r->into_nr;
	call->payload = r->payload;
	call->done = r->done;
	call->arg = r->arg;
	call->timing.queued = loop_now(c->loop);
	slots_add(&c->slots, call);
	gate_queued(&c->gate, call);
	c->outstanding++;
	retry_arm(c);
	loop_defer(c->loop, c->pump);
	if (out)
		*out = call;
	return 0;
}

void
rpc_call_raise(struct rpc_call *call, enum rpc_class class)
{
	struct rpc_client *c = call->client;

	if (class > call->class || (class == call->class && call->urgent))
		return;
	if (call->state == CALL_WAITING) {
		slots_raise(&c->slots, call, class);
		loop_defer(c->loop, c->pump);
	} else if (call->state == CALL_SENDING && !call->sent) {
		lanes_raise(call, class);
	}
}

void
rpc_call_drop_payload(struct rpc_call *call)
{
	answer_drop(call);
	call->into = NULL;
}

void
rpc_client_set_background_depth(struct rpc_client *c, unsigned depth)
{
	c->slots.background_depth = depth ? depth : 1;
	loop_defer(c->loop, c->pump);
}

void
rpc_client_yield(struct rpc_client *c, bool yield)
{
	struct lane *l;

	c->gate.on = yield;
	LANES_FOREACH(l, c)
		connection_keep_little(&l->connection, yield);
	loop_defer(c->loop, c->pump);
}

void
rpc_client_watch(struct rpc_client *c, rpc_watch_fn *fn, void *arg)
{
	c->watch = fn;
	c->watch_arg = arg;
}

enum rpc_state
rpc_client_state(const struct rpc_client *c)
{
	return lanes_state(c);
}

unsigned
rpc_client_connections(const struct rpc_client *c, unsigned *up)
{
	*up = lanes_up_nr(c);
	return c->lane_nr;
}

const char *
rpc_state_name(enum rpc_state state)
{
	switch (state) {
	case RPC_UP:
		return "up";
	case RPC_CONNECTING:
		return "connecting";
	case RPC_DOWN:
		return "down";
	}
	return "?";
}

const struct rpc_op_stats *
rpc_client_op_stats(const struct rpc_client *c, uint32_t proc)
{
	return &c->ops[proc < RPC_PROC_MAX ? proc : 0];
}

unsigned
rpc_client_outstanding(const struct rpc_client *c)
{
	return c->outstanding;
}
