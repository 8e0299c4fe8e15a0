/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpc_hostile_test.c - replies that no server should send
 *
 * Whatever comes, a call is answered once: by what the reply says, as failed, or
 * by the good reply that follows on this connection or the next.  What a result
 * points to is read, so that a sanitizer sees where it leads.
 *
 * (sahlberg/libnfs README.security-scan, F-1 to F-4, names such replies.)
 *
 *	HOSTILE_SEED=N	of the random ones
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc/parts.h"
#include "tests/random.h"
#include "tests/rpcfake.h"

#define ROOM (256 * 1024)
#define RANDOM_NR 20000

static struct fake f;
static unsigned char reply[ROOM], good[ROOM];
static size_t good_len;

/* ---- good replies, by hand ---- */

/* f fattr3  a post_op_attr  w wcc_data  h nfs_fh3  H post_op_fh3  u 4 bytes
   q 8 bytes  S string  D data  e entries  E entries with all they may have */
static const struct proc {
	uint32_t proc;
	rpc_xdr_fn *decode;
	size_t res_bytes;
	const char *form;
} procs[] = {
#define P(NAME, form) { NFSPROC3_##NAME, (rpc_xdr_fn *)xdr_##NAME##3res, \
			sizeof(NAME##3res), form }
	P(GETATTR, "f"), P(SETATTR, "w"), P(LOOKUP, "haa"), P(ACCESS, "au"),
	P(READLINK, "aS"),
	{ NFSPROC3_READ, (rpc_xdr_fn *)nfs3_xdr_read_res, sizeof(READ3res),
	  "auuD" },
	/* its payload goes to where it is wanted */
	{ NFSPROC3_READ, (rpc_xdr_fn *)xdr_READ3res_head,
	  sizeof(READ3res_head), "auuD" },
	P(WRITE, "wuuq"), P(CREATE, "Haw"), P(MKDIR, "Haw"), P(SYMLINK, "Haw"),
	P(MKNOD, "Haw"), P(REMOVE, "w"), P(RMDIR, "w"), P(RENAME, "ww"),
	P(LINK, "aw"), P(READDIR, "aqe"), P(READDIRPLUS, "aqE"),
	P(FSSTAT, "aqqqqqqu"), P(FSINFO, "auuuuuuuqqu"), P(PATHCONF, "auuuuuu"),
	P(COMMIT, "wq"),
#undef P
};
#define PROC_NR (sizeof procs / sizeof *procs)

static unsigned char *
put(unsigned char *p, uint32_t word)
{
	word = htonl(word);
	memcpy(p, &word, 4);
	return p + 4;
}

static unsigned char *
put_bytes(unsigned char *p, uint32_t len)
{
	p = put(p, len);
	memset(p, 'x', len);
	memset(p + len, 0, -len & 3);
	return p + len + (-len & 3);
}

static unsigned char *
put_words(unsigned char *p, unsigned nr)
{
	while (nr--)
		p = put(p, 1);
	return p;
}

static unsigned char *put_form(unsigned char *, const char *);

static unsigned char *
put_item(unsigned char *p, char item)
{
	switch (item) {
	case 'f':
		return put_words(p, 21);
	case 'a':
		return put_words(p, 22);
	case 'w':
		return put_words(p, 1 + 6 + 22);
	case 'h':
		return put_bytes(p, 32);
	case 'H':
		return put_bytes(put(p, 1), 32);
	case 'u':
		return put(p, 1);
	case 'q':
		return put_words(p, 2);
	case 'S':
		return put_bytes(p, 7);
	case 'D':
		return put_bytes(p, 101);
	case 'e':
		return put(put(put_form(p, "uqSquqSq"), 0), 1);
	case 'E':
		return put(put(put_form(p, "uqSqaHuqSqaH"), 0), 1);
	}
	abort();
}

static unsigned char *
put_form(unsigned char *p, const char *form)
{
	while (*form)
		p = put_item(p, *form++);
	return p;
}

/* The record without its mark; its length. */
static size_t
make_good(unsigned char *buf, uint32_t xid, const struct proc *proc)
{
	unsigned char *p = put(put(put(buf, xid), 1), 0);

	p = put(put(put(p, 0), 0), 0);
	p = put_form(put(p, 0), proc->form);
	return (size_t)(p - buf);
}

/* ---- calls ---- */

struct asked {
	const struct proc *proc;
	unsigned done_nr;
	int err;
};

/* Reads all that the result consists of. */
static void
done(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	static char sink[ROOM];
	struct asked *a = arg;
	union {
		const void *in;
		void *out;
	} u = { res };
	XDR x;

	(void)t;
	a->done_nr++;
	a->err = err;
	CU_ASSERT_EQUAL(!err, res != NULL);
	if (err)
		return;
	xdrmem_create(&x, sink, sizeof sink, XDR_ENCODE);
	(void)((xdrproc_t)a->proc->decode)(&x, u.out);
}

/* Shorter than what the good reply brings, between bytes that stay. */
static unsigned char wanted[3 * 64];
static const struct iovec into = { wanted + 64, 64 };

static bool
nothing_beside_it(void)
{
	size_t i;

	for (i = 0; i < 64; i++)
		if (wanted[i] || wanted[128 + i])
			return false;
	return true;
}

static uint32_t
ask(struct asked *a, const struct proc *proc)
{
	GETATTR3args args = { .object = { .data = { 4, (char *)"root" } } };
	struct rpc_request r = {
		.proc = proc->proc, .class = RPC_FOREGROUND,
		.encode = xdr_GETATTR3args, .args = &args,
		.decode = proc->decode, .res_bytes = proc->res_bytes,
		.done = done, .arg = a,
	};

	if (proc->decode == (rpc_xdr_fn *)xdr_READ3res_head) {
		r.into = &into;
		r.into_nr = 1;
		r.payload = nfs3_read_payload;
	}
	while (f.seen_nr)
		free(f.seen[--f.seen_nr].record);
	memset(a, 0, sizeof *a);
	a->proc = proc;
	CU_ASSERT_EQUAL_FATAL(rpc_client_call(f.client, &r, NULL), 0);
	while (!f.seen_nr)
		fake_pass(&f, SECOND);
	return f.seen[f.seen_nr - 1].info.xid;
}

/* As much as the client takes; it may have hung up. */
static void
send_bytes(const void *data, size_t len)
{
	const unsigned char *p = data;
	ssize_t n;

	while (len && f.fd >= 0) {
		n = send(f.fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
		fake_run(&f);
	}
}

static void
send_record(const void *record, size_t len)
{
	unsigned char mark[4];

	record_mark(mark, len);
	send_bytes(mark, 4);
	send_bytes(record, len);
	fake_run(&f);
}

/* Answers well until it is done. */
static void
make_good_of(struct asked *a)
{
	int i;

	for (i = 0; i < 5 && !a->done_nr; i++) {
		good_len = make_good(good, f.seen[f.seen_nr - 1].info.xid,
				     a->proc);
		send_record(good, good_len);
		if (!a->done_nr)
			fake_pass(&f, 25 * SECOND);
	}
	CU_ASSERT_EQUAL(a->done_nr, 1);
}

static void
begin(void)
{
	fake_init(&f);
	fake_start(&f);
}

static void
end(void)
{
	CU_ASSERT(nothing_beside_it());
	fake_stop(&f);
}

/* ---- the table ---- */

enum fate { ANSWERED, FAILED, DROPPED, IGNORED };

#define XID 0xabad1deau		/* the call's */
#define OTHER 0xabad1debu	/* none's */
#define OK XID, 1, 0, 0, 0, 0	/* a header that promises results */

static const struct hostile {
	const char *what;
	uint32_t words[12];
	unsigned word_nr, less, more;	/* bytes cut off, zeros behind */
	uint32_t mark;			/* 0: the right one */
	enum fate fate;
	int err;
} table[] = {
#define R(...) { __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4
	{ "a record of nothing", { 0 }, 0, 0, 0, 0, DROPPED, 0 },
	{ "half an xid", R(XID), 2, 0, 0, DROPPED, 0 },
	{ "an xid alone", R(XID), 0, 0, 0, DROPPED, 0 },
	{ "half a direction", R(XID, 1), 1, 0, 0, DROPPED, 0 },
	{ "a call", R(XID, 0, 2, 100003, 3, 1, 0, 0, 0, 0), 0, 0, 0, DROPPED,
	  0 },
	{ "a direction that is none", R(XID, 2, 0, 0, 0, 0), 0, 0, 0, DROPPED,
	  0 },
	{ "no status", R(XID, 1), 0, 0, 0, DROPPED, 0 },
	{ "a status that is none", R(XID, 1, 2, 0, 0, 0), 0, 0, 0, DROPPED,
	  0 },
	{ "a negative status", R(XID, 1, -1u, 0, 0, 0), 0, 0, 0, DROPPED, 0 },
	{ "a verifier of -1 bytes", R(XID, 1, 0, 0, -1u, 0), 0, 0, 0, DROPPED,
	  0 },
	{ "a verifier of 2^31 bytes", R(XID, 1, 0, 0, 1u << 31, 0), 0, 0, 0,
	  DROPPED, 0 },
	{ "a verifier longer than may be", R(XID, 1, 0, 0, 404), 0, 600, 0,
	  DROPPED, 0 },
	{ "a verifier longer than the record", R(XID, 1, 0, 0, 400, 0), 0, 0,
	  0, DROPPED, 0 },
	{ "no acceptance", R(XID, 1, 0, 0, 0), 0, 0, 0, DROPPED, 0 },
	{ "an acceptance that is none", R(XID, 1, 0, 0, 0, 6), 0, 0, 0, FAILED,
	  -EIO },
	{ "a negative acceptance", R(XID, 1, 0, 0, 0, -1u), 0, 0, 0, FAILED,
	  -EIO },
	{ "no such program", R(XID, 1, 0, 0, 0, 1), 0, 0, 0, FAILED, -EIO },
	{ "another version", R(XID, 1, 0, 0, 0, 2, 4, 4), 0, 0, 0, FAILED,
	  -EIO },
	{ "another version, cut", R(XID, 1, 0, 0, 0, 2, 4), 0, 0, 0, DROPPED,
	  0 },
	{ "no such procedure", R(XID, 1, 0, 0, 0, 3), 0, 0, 0, FAILED, -EIO },
	{ "garbage arguments", R(XID, 1, 0, 0, 0, 4), 0, 0, 0, FAILED, -EIO },
	{ "a system error", R(XID, 1, 0, 0, 0, 5), 0, 0, 0, FAILED, -EIO },
	{ "denied: RPC version", R(XID, 1, 1, 0, 2, 2), 0, 0, 0, FAILED,
	  -EIO },
	{ "denied: too weak", R(XID, 1, 1, 1, 5), 0, 0, 0, FAILED, -EACCES },
	{ "denied: a reason that is none", R(XID, 1, 1, 1, -1u), 0, 0, 0,
	  FAILED, -EACCES },
	{ "denied, no reason", R(XID, 1, 1, 1), 0, 0, 0, DROPPED, 0 },
	{ "denied in a way that is none", R(XID, 1, 1, 2, 0), 0, 0, 0, DROPPED,
	  0 },
	{ "denied, nothing more", R(XID, 1, 1), 0, 0, 0, DROPPED, 0 },
	{ "no results", R(OK), 0, 0, 0, FAILED, -EIO },
	{ "half a result", R(OK, 0), 0, 40, 0, FAILED, -EIO },
	{ "all but the last byte", R(OK, 0), 0, 83, 0, FAILED, -EIO },
	{ "a whole result", R(OK, 0), 0, 84, 0, ANSWERED, 0 },
	{ "64 KiB behind the result", R(OK, 0), 0, 84 + 65536, 0, ANSWERED,
	  0 },
	{ "a status that NFS has not", R(OK, -1u), 0, 0, 0, ANSWERED, 0 },
	{ "an xid that is none's", R(OTHER, 1, 0, 0, 0, 0, 0), 0, 84, 0,
	  IGNORED, 0 },
	{ "garbage for an xid that is none's", R(OTHER, 1, 7, 7, 7), 0, 0, 0,
	  IGNORED, 0 },
	{ "a fragment of 2 GiB - 1, the last", R(OK, 0), 0, 84, 0xffffffff,
	  DROPPED, 0 },
	{ "a fragment of 2 GiB - 1, more to come", R(OK, 0), 0, 84, 0x7fffffff,
	  DROPPED, 0 },
	{ "a record just too long", R(OK, 0), 0, 84, 0x80110001, DROPPED, 0 },
	{ "a reply cut by the end of the connection", R(OK, 0), 0, 20,
	  0x80000070, IGNORED, 0 },
#undef R
};

static void
send_hostile(const struct hostile *h, uint32_t xid)
{
	unsigned char *p = reply;
	size_t len;
	unsigned i;

	for (i = 0; i < h->word_nr; i++)
		p = put(p, h->words[i] == XID ? xid :
			   h->words[i] == OTHER ? xid + 77 : h->words[i]);
	memset(p, 0, h->more);
	len = (size_t)(p - reply) - h->less + h->more;
	if (!h->mark) {
		send_record(reply, len);
		return;
	}
	memmove(reply + 4, reply, len);
	put(reply, h->mark);
	send_bytes(reply, len + 4);
	fake_run(&f);
	if (h->fate == IGNORED)		/* it waits for the rest */
		fake_cut(&f);
}

static void
one_of_table(const struct hostile *h)
{
	unsigned before;
	struct asked a;
	uint32_t xid;
	bool right;

	begin();
	xid = ask(&a, &procs[0]);
	before = f.connection_nr;
	send_hostile(h, xid);
	right = a.done_nr == (h->fate == ANSWERED || h->fate == FAILED) &&
		a.err == h->err;
	fake_pass(&f, SECOND);
	right &= (f.connection_nr > before) ==
		 (h->fate == DROPPED || (h->fate == IGNORED && h->mark));
	if (!right)
		printf("# %s: done %u, error %d, %u connections\n", h->what,
		       a.done_nr, a.err, f.connection_nr);
	CU_ASSERT(right);
	make_good_of(&a);
	ask(&a, &procs[0]);		/* and all is well again */
	make_good_of(&a);
	CU_ASSERT_EQUAL(a.err, 0);
	end();
}

static void
each_hostile_reply_fails_the_call_or_drops_the_connection(void)
{
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		one_of_table(&table[i]);
}

/* ---- all of a kind ---- */

static void
the_good_reply_of_each_procedure_is_decoded_whole(void)
{
	struct asked a;
	size_t i;

	begin();
	for (i = 0; i < PROC_NR; i++) {
		ask(&a, &procs[i]);
		make_good_of(&a);
		if (a.err)
			printf("# %s\n", nfs3_proc_name(procs[i].proc));
		CU_ASSERT_EQUAL(a.err, 0);
	}
	CU_ASSERT_EQUAL(f.connection_nr, 1);
	end();
}

static void
a_reply_cut_anywhere_is_no_reply(void)
{
	struct asked a;
	size_t i, n;

	begin();
	for (i = 0; i < PROC_NR; i++) {
		good_len = make_good(good, 0, &procs[i]);
		for (n = 0; n < good_len; n++) {
			good_len = make_good(reply, ask(&a, &procs[i]),
					     &procs[i]);
			send_record(reply, n);
			if (a.done_nr)
				CU_ASSERT_EQUAL(a.err, -EIO);
			if (!a.done_nr)
				fake_pass(&f, 25 * SECOND);
			make_good_of(&a);
		}
	}
	end();
}

static const uint32_t evil[] = {
	0, 2, 0xffffffff, 0x80000000, 0x80000004, 0x7fffffff, 0x7ffffffd,
	0xfffffffc, 65, 1048577,
};

static void
no_word_of_a_reply_is_trusted(void)
{
	size_t i, n, k, len;
	struct asked a;

	begin();
	for (i = 0; i < PROC_NR; i++) {
		len = make_good(reply, 0, &procs[i]);
		for (n = 4; n < len; n += 4)
			for (k = 0; k < sizeof evil / sizeof *evil; k++) {
				make_good(reply, ask(&a, &procs[i]),
					  &procs[i]);
				put(reply + n, evil[k]);
				send_record(reply, len);
				if (!a.done_nr)
					fake_pass(&f, 25 * SECOND);
				make_good_of(&a);
			}
	}
	end();
}

/* ---- at random ---- */

static uint64_t state;

static size_t
any(size_t below)
{
	return (size_t)random_next(&state, below);
}

static size_t
mutate(size_t len)
{
	size_t at = any(len), n;

	switch (any(8)) {
	case 0:
		reply[at] ^= (unsigned char)(1u << any(8));
		return len;
	case 1:
		put(reply + (at & ~(size_t)3), evil[any(10)]);
		return len;
	case 2:
		put(reply + (at & ~(size_t)3), (uint32_t)any(300));
		return len;
	case 3:				/* cut */
		return at;
	case 4:				/* a piece left out */
		n = any(len - at);
		memmove(reply + at, reply + at + n, len - at - n);
		return len - n;
	case 5:				/* a piece twice */
		n = any(len - at);
		memmove(reply + at + n, reply + at, len - at);
		return len + n;
	case 6:				/* more behind */
		n = any(any(20) ? 100 : 70000);
		memset(reply + len, (int)any(256), n);
		return len + n;
	default:			/* noise */
		for (n = any(40); n && at < len; n--)
			reply[at++] = (unsigned char)any(256);
		return len;
	}
}

/* In fragments as it comes, the marks wrong now and then. */
static void
send_in_pieces(size_t len)
{
	unsigned char mark[4];
	size_t at = 0, n;

	do {
		n = any(3) ? len - at : any(len - at + 1);
		record_mark(mark, n);
		if (at + n < len)
			mark[0] &= 0x7f;
		if (!any(30))
			mark[any(4)] ^= (unsigned char)(1u << any(8));
		send_bytes(mark, 4);
		send_bytes(reply + at, n);
		at += n;
	} while (at < len);
	fake_run(&f);
}

static void
random_changes_to_good_replies_crash_nothing(void)
{
	const char *given_seed = getenv("HOSTILE_SEED");
	unsigned long seed = given_seed ? strtoul(given_seed, NULL, 0) :
			     (unsigned long)getpid() * 7919u + 1;
	unsigned i, n, failed_nr = 0;
	struct asked a;
	uint32_t xid;
	size_t len;

	printf("# HOSTILE_SEED=%lu\n", seed);
	state = seed ? seed : 1;
	begin();
	for (i = 0; i < RANDOM_NR; i++) {
		const struct proc *p = &procs[any(PROC_NR)];

		xid = ask(&a, p);
		len = make_good(reply, xid, p);
		for (n = 1 + (unsigned)any(3); n && len > 4; n--)
			len = mutate(len);
		if (any(4) && len >= 4)
			put(reply, xid);
		send_in_pieces(len);
		if (!any(10))
			send_in_pieces(len);	/* a second time */
		if (!a.done_nr)
			fake_pass(&f, 25 * SECOND);
		make_good_of(&a);
		failed_nr += a.err != 0;
	}
	printf("# %u of %u calls failed, %u connections\n", failed_nr, RANDOM_NR,
	       f.connection_nr);
	CU_ASSERT(failed_nr > 0);
	CU_ASSERT_EQUAL(rpc_client_outstanding(f.client), 0);
	end();
}

/* A server that says nothing of use for ever is not asked faster and faster. */
static void
a_server_that_talks_nonsense_is_asked_ever_more_slowly(void)
{
	struct asked a;
	unsigned i, before;

	begin();
	ask(&a, &procs[0]);
	for (i = 0; i < 400; i++) {
		if (f.fd >= 0)
			send_bytes("\x80\0\0\0", 4);
		fake_pass(&f, SECOND / 10);
	}
	before = f.connection_nr;
	CU_ASSERT(before < 20);
	CU_ASSERT_EQUAL(a.done_nr, 0);
	fake_pass(&f, 25 * SECOND);
	make_good_of(&a);
	CU_ASSERT_EQUAL(a.err, 0);
	end();
}

UNIT_TESTS(rpc_hostile,
	UNIT(the_good_reply_of_each_procedure_is_decoded_whole),
	UNIT(each_hostile_reply_fails_the_call_or_drops_the_connection),
	UNIT(a_reply_cut_anywhere_is_no_reply),
	UNIT(no_word_of_a_reply_is_trusted),
	UNIT(random_changes_to_good_replies_crash_nothing),
	UNIT(a_server_that_talks_nonsense_is_asked_ever_more_slowly),
)
