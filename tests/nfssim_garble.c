/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_garble.c - replies that no server should send
 *
 * Works on the bytes of a whole reply:
 *
 *	 0 mark   4 xid   8 REPLY   12 MSG_ACCEPTED   16 verifier: flavor, length
 *	24 accept_stat   28 results, which begin with their status
 */
#include <stdlib.h>
#include <string.h>

#include "common/record.h"
#include "tests/nfssim_int.h"

enum { AT_XID = 4, AT_DIRECTION = 8, AT_REPLY_STAT = 12, AT_VERF = 16,
       AT_VERF_LENGTH = 20, AT_ACCEPT_STAT = 24, AT_RESULTS = 28 };

#define BEHIND 65536u		/* bytes more than there should be */

static const char *const names[NFSSIM_GARBAGE_NR] = {
	[NFSSIM_SANE] = "sane",
	[NFSSIM_TRUNCATED] = "truncated",
	[NFSSIM_OVERSIZED] = "oversized",
	[NFSSIM_NEGATIVE] = "negative",
	[NFSSIM_TOP_BIT] = "top-bit",
	[NFSSIM_XID] = "xid",
	[NFSSIM_PROG] = "program",
	[NFSSIM_VERSION] = "version",
	[NFSSIM_PROC] = "procedure",
	[NFSSIM_ARGS] = "arguments",
	[NFSSIM_SYSTEM] = "system",
	[NFSSIM_DENIED] = "denied",
	[NFSSIM_AUTH] = "auth",
	[NFSSIM_NO_ATTRIBUTES] = "no-attributes",
	[NFSSIM_NO_HANDLE] = "no-handle",
	[NFSSIM_FRAGMENTS] = "fragments",
	[NFSSIM_HUGE] = "huge",
	[NFSSIM_EMPTY] = "empty",
	[NFSSIM_CALL] = "call",
	[NFSSIM_JUNK] = "junk",
};

const char *
nfssim_garbage_name(enum nfssim_garbage g)
{
	return g < NFSSIM_GARBAGE_NR ? names[g] : NULL;
}

static uint32_t
get(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static void
put(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)(v >> 24);
	p[1] = (unsigned char)(v >> 16);
	p[2] = (unsigned char)(v >> 8);
	p[3] = (unsigned char)v;
}

/* Behind a post_op_attr or post_op_fh3 that begins at at. */
static size_t
skip_optional(const unsigned char *r, size_t at, size_t bytes)
{
	return at + 4 + (get(r + at) ? bytes : 0);
}

/* Where a length stands; the verifier's where the results have none. */
static size_t
length_at(uint32_t prog, uint32_t proc, const unsigned char *r, size_t len)
{
	const size_t attr = 84;
	size_t at = AT_RESULTS + 4;

	if (len < at + 8 || get(r + AT_RESULTS))
		return AT_VERF_LENGTH;
	if (prog == NFSSIM_MOUNT)
		return proc == 1 ? at : AT_VERF_LENGTH;
	switch (proc) {
	case NFSPROC3_LOOKUP:
		break;
	case NFSPROC3_READ:
		at = skip_optional(r, at, attr) + 8;
		break;
	case NFSPROC3_READLINK:
		at = skip_optional(r, at, attr);
		break;
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		at = skip_optional(r, at, attr) + 8 + 4 + 8;
		break;
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
		at += 4;
		break;
	default:
		return AT_VERF_LENGTH;
	}
	return at + 4 <= len ? at : AT_VERF_LENGTH;
}

static void
cut_to(unsigned char *r, size_t *len, size_t to)
{
	if (*len > to)
		*len = to;
	record_mark(r, *len - 4);
}

static void
say_accept_stat(unsigned char *r, size_t *len, uint32_t stat)
{
	put(r + AT_ACCEPT_STAT, stat);
	if (stat == PROG_MISMATCH) {
		put(r + AT_RESULTS, 4);
		put(r + AT_RESULTS + 4, 4);
	}
	cut_to(r, len, stat == PROG_MISMATCH ? AT_RESULTS + 8 : AT_RESULTS);
}

static void
deny(unsigned char *r, size_t *len, uint32_t why, uint32_t a, uint32_t b)
{
	put(r + AT_REPLY_STAT, MSG_DENIED);
	put(r + AT_VERF, why);
	put(r + AT_VERF + 4, a);
	put(r + AT_VERF + 8, b);
	*len = why == AUTH_ERROR ? AT_VERF + 8 : AT_VERF + 12;
	record_mark(r, *len - 4);
}

/* Each byte behind a mark of its own. */
static size_t
fragment(unsigned char *out, const unsigned char *reply, size_t len)
{
	size_t i, at = 0;

	for (i = 4; i < len; i++) {
		put(out + at, 1u | (i + 1 == len ? RECORD_LAST : 0));
		out[at + 4] = reply[i];
		at += 5;
	}
	return at;
}

static void
scramble(unsigned char *p, size_t len)
{
	uint32_t x = 2463534242u;

	for (; len--; p++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		*p = (unsigned char)x;
	}
}

unsigned char *
sim_garble(enum nfssim_garbage how, uint32_t prog, uint32_t proc,
	   const void *reply, size_t len, size_t *out_len)
{
	size_t room = len * 5 + BEHIND + 64;
	unsigned char *r = calloc(1, room);
	bool payload = prog == NFSSIM_NFS && (proc == NFSPROC3_READ ||
					      proc == NFSPROC3_WRITE);

	if (!r)
		return NULL;
	memcpy(r, reply, len);
	*out_len = len;
	switch (how) {
	case NFSSIM_SANE:
	case NFSSIM_NO_ATTRIBUTES:
	case NFSSIM_NO_HANDLE:
	case NFSSIM_GARBAGE_NR:
		break;
	case NFSSIM_TRUNCATED:
		cut_to(r, out_len, AT_RESULTS + (len - AT_RESULTS) / 2 / 4 *
		       4);
		break;
	case NFSSIM_OVERSIZED:
		if (payload)
			break;		/* the results are themselves */
		*out_len = len + BEHIND;
		record_mark(r, *out_len - 4);
		break;
	case NFSSIM_NEGATIVE:
		put(r + length_at(prog, proc, r, len), UINT32_MAX);
		break;
	case NFSSIM_TOP_BIT:
		put(r + length_at(prog, proc, r, len), 0x80000010);
		break;
	case NFSSIM_XID:
		put(r + AT_XID, ~get(r + AT_XID));
		break;
	case NFSSIM_PROG:
		say_accept_stat(r, out_len, PROG_UNAVAIL);
		break;
	case NFSSIM_VERSION:
		say_accept_stat(r, out_len, PROG_MISMATCH);
		break;
	case NFSSIM_PROC:
		say_accept_stat(r, out_len, PROC_UNAVAIL);
		break;
	case NFSSIM_ARGS:
		say_accept_stat(r, out_len, GARBAGE_ARGS);
		break;
	case NFSSIM_SYSTEM:
		say_accept_stat(r, out_len, SYSTEM_ERR);
		break;
	case NFSSIM_DENIED:
		deny(r, out_len, RPC_MISMATCH, 3, 3);
		break;
	case NFSSIM_AUTH:
		deny(r, out_len, AUTH_ERROR, AUTH_TOOWEAK, 0);
		break;
	case NFSSIM_FRAGMENTS:
		*out_len = fragment(r, reply, len);
		break;
	case NFSSIM_HUGE:
		put(r, RECORD_LAST | 0x7fffffff);
		break;
	case NFSSIM_EMPTY:
		put(r, RECORD_LAST);
		*out_len = 4;
		break;
	case NFSSIM_CALL:
		put(r + AT_DIRECTION, CALL);
		break;
	case NFSSIM_JUNK:
		scramble(r + 4, len - 4);
		break;
	}
	return r;
}
