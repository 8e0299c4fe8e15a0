/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rpc_message_test.c - ONC RPC messages and NFSv3's tables */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "rpc/message.h"
#include "rpc/nfs3.h"
#include "tests/unit.h"

static void
a_call_decodes_to_what_was_encoded(void)
{
	struct cred *cred = cred_get(1, 2, (gid_t[]){ 3, 4 }, 2);
	struct rpc_call_header h = { .xid = 0x12345678, .prog = 100003,
				     .vers = 3, .proc = 1, .cred = cred,
				     .machine = "host" };
	GETATTR3args args = { .object = { .data = { 3, "abc" } } }, back;
	unsigned char buf[RPC_HEADER_ROOM];
	struct rpc_call_info info;
	ssize_t len;
	XDR x;

	len = rpc_encode_call(buf, sizeof buf, &h, xdr_GETATTR3args, &args, 0);
	CU_ASSERT_FATAL(len > 4);
	CU_ASSERT_EQUAL(buf[0], 0x80);
	CU_ASSERT_EQUAL(buf[2] << 8 | buf[3], len - 4);
	rpc_set_xid(buf, 99);
	xdrmem_create(&x, (char *)buf + 4, (u_int)len - 4, XDR_DECODE);
	CU_ASSERT_EQUAL_FATAL(rpc_decode_call(&x, &info), 0);
	CU_ASSERT_EQUAL(info.xid, 99);
	CU_ASSERT_EQUAL(info.proc, 1);
	CU_ASSERT(info.auth_sys);
	CU_ASSERT_EQUAL(info.uid, 1);
	CU_ASSERT_EQUAL(info.group[1], 4);
	CU_ASSERT_STRING_EQUAL(info.machine, "host");
	memset(&back, 0, sizeof back);
	CU_ASSERT(xdr_GETATTR3args(&x, &back));
	CU_ASSERT_EQUAL(back.object.data.data_len, 3);
	xdr_free((xdrproc_t)xdr_GETATTR3args, &back);
	cred_put(cred);
}

static void
the_mark_counts_payload_and_padding(void)
{
	struct rpc_call_header h = { .machine = "" };
	unsigned char buf[RPC_HEADER_ROOM];
	ssize_t len, with;
	unsigned pad;

	len = rpc_encode_call(buf, sizeof buf, &h, NULL, NULL, 0);
	for (pad = 0; pad < 4; pad++) {
		with = rpc_encode_call(buf, sizeof buf, &h, NULL, NULL,
				       1000 - pad);
		CU_ASSERT_EQUAL(with, len);
		CU_ASSERT_EQUAL(rpc_pad(1000 - pad), pad);
		CU_ASSERT_EQUAL(buf[2] << 8 | buf[3], len - 4 + 1000);
	}
}

static void
a_write_head_and_its_payload_are_a_write(void)
{
	WRITE3args_head head = { .file = { .data = { 4, "file" } },
				 .offset = 1ull << 40, .count = 5,
				 .stable = DATA_SYNC, .data_length = 5 };
	WRITE3args whole, in_place;
	char buf[256] = "";
	u_int head_len;
	XDR x;

	xdrmem_create(&x, buf, sizeof buf, XDR_ENCODE);
	CU_ASSERT(xdr_WRITE3args_head(&x, &head));
	head_len = xdr_getpos(&x);
	memcpy(buf + head_len, "12345", 5);
	xdrmem_create(&x, buf, head_len + 8, XDR_DECODE);
	memset(&whole, 0, sizeof whole);
	CU_ASSERT(xdr_WRITE3args(&x, &whole));
	CU_ASSERT_EQUAL(xdr_getpos(&x), head_len + 8);
	CU_ASSERT_EQUAL(whole.offset, 1ull << 40);
	CU_ASSERT_EQUAL(whole.data.data_len, 5);
	CU_ASSERT(!memcmp(whole.data.data_val, "12345", 5));
	xdr_free((xdrproc_t)xdr_WRITE3args, &whole);
	xdrmem_create(&x, buf, head_len + 8, XDR_DECODE);
	memset(&in_place, 0, sizeof in_place);
	CU_ASSERT(nfs3_xdr_write_args(&x, &in_place));
	CU_ASSERT_PTR_EQUAL(in_place.data.data_val, buf + head_len);
	xdr_free((xdrproc_t)nfs3_xdr_write_args, &in_place);
}

/* Truncated, flipped: never more than an error. */
static void
random_garbage_is_an_error_at_most(void)
{
	struct rpc_call_header h = { .machine = "host" };
	unsigned char good[2][RPC_HEADER_ROOM], buf[RPC_HEADER_ROOM];
	GETATTR3res res;
	READ3res read_res;
	ssize_t len[2];
	struct rpc_call_info info;
	struct rpc_reply reply;
	unsigned seed = (unsigned)getpid(), i, flips;
	struct cred *cred;
	uint32_t xid;
	u_int n;
	XDR x;

	printf("# seed %u\n", seed);
	srand(seed);
	memset(&res, 0, sizeof res);
	cred = cred_get(1, 2, (gid_t[]){ 3, 4 }, 2);
	h.cred = cred;
	len[0] = rpc_encode_call(good[0], sizeof good[0], &h, NULL, NULL, 0);
	len[1] = rpc_encode_accepted(good[1], sizeof good[1], 1, SUCCESS,
				     xdr_GETATTR3res, &res, 0);
	for (i = 0; i < 200000; i++) {
		memcpy(buf, good[i & 1], sizeof buf);
		n = (u_int)(rand() % len[i & 1]);
		for (flips = (unsigned)rand() % 4; flips; flips--)
			buf[rand() % len[i & 1]] = (unsigned char)rand();
		xdrmem_create(&x, (char *)buf + 4, n, XDR_DECODE);
		(void)rpc_decode_call(&x, &info);
		(void)rpc_peek_reply(buf + 4, n, &xid);
		xdrmem_create(&x, (char *)buf + 4, n, XDR_DECODE);
		if (rpc_decode_reply(&x, &reply))
			continue;
		memset(&res, 0, sizeof res);
		(void)xdr_GETATTR3res(&x, &res);
		xdr_free((xdrproc_t)xdr_GETATTR3res, &res);
		xdrmem_create(&x, (char *)buf + 4, n, XDR_DECODE);
		memset(&read_res, 0, sizeof read_res);
		(void)nfs3_xdr_read_res(&x, &read_res);
		xdr_free((xdrproc_t)nfs3_xdr_read_res, &read_res);
	}
	cred_put(cred);
}

static void
a_header_that_does_not_fit_says_so(void)
{
	struct rpc_call_header h = { .machine = "host" };
	GETATTR3args args = { .object = { .data = { 3, "abc" } } };
	unsigned char buf[RPC_HEADER_ROOM];
	size_t room, need = rpc_call_room(xdr_GETATTR3args, &args);
	ssize_t len;

	len = rpc_encode_call(buf, sizeof buf, &h, xdr_GETATTR3args, &args, 0);
	CU_ASSERT((size_t)len <= need);
	for (room = 0; room < (size_t)len; room++)
		CU_ASSERT_EQUAL(rpc_encode_call(buf, room, &h,
						xdr_GETATTR3args, &args, 0),
				-ENOSPC);
}

static void
every_status_has_an_errno_and_unknown_ones_are_eio(void)
{
	unsigned i;

	log_set_level(LOG_LEVEL_ERROR);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3_OK), 0);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3ERR_NOSPC), -ENOSPC);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3ERR_DQUOT), -EDQUOT);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3ERR_STALE), -ESTALE);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3ERR_BADHANDLE), -ESTALE);
	CU_ASSERT_EQUAL(nfs3_errno(NFS3ERR_NAMETOOLONG), -ENAMETOOLONG);
	CU_ASSERT_EQUAL(nfs3_errno((nfsstat3)4711), -EIO);
	/* Only JUKEBOX means "again". */
	for (i = 0; i < 11000; i++)
		CU_ASSERT_EQUAL(nfs3_errno((nfsstat3)i) == -EAGAIN,
				i == NFS3ERR_JUKEBOX);
	CU_ASSERT_STRING_EQUAL(nfs3_status_name(NFS3ERR_JUKEBOX),
			       "NFS3ERR_JUKEBOX");
	CU_ASSERT_PTR_NULL(nfs3_status_name((nfsstat3)4711));
	CU_ASSERT_STRING_EQUAL(nfs3_proc_name(NFSPROC3_COMMIT), "COMMIT");
	CU_ASSERT_STRING_EQUAL(nfs3_proc_name(22), "?");
	CU_ASSERT(nfs3_is_idempotent(NFSPROC3_WRITE));
	CU_ASSERT(!nfs3_is_idempotent(NFSPROC3_RENAME));
	CU_ASSERT(!nfs3_is_idempotent(NFSPROC3_SETATTR));
}

/* "|[ NFS3ERR_…", then ":[ errno": the row's errno by name, or NULL. */
static const char *
manual_says(const char *status)
{
	static char line[256];
	const char *top = getenv("top_srcdir"), *says = NULL;
	bool row = false;
	FILE *f;

	snprintf(line, sizeof line, "%s/man/nfswb.3.scd", top ? top : ".");
	f = fopen(line, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (!says && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (row && !strncmp(line, ":[ ", 3))
			says = line + 3;
		row = !strncmp(line, "|[ ", 3) && !strcmp(line + 3, status);
	}
	fclose(f);
	return says;
}

static void
the_manual_has_the_errno_of_every_status(void)
{
	const char *name, *says;
	nfsstat3 i;
	unsigned nr = 0;
	int err;

	for (i = 1; i < 20000; i++) {
		name = nfs3_status_name(i);
		if (!name)
			continue;
		nr++;
		says = manual_says(name);
		CU_ASSERT_PTR_NOT_NULL_FATAL(says);
		err = -nfs3_errno(i);
		if (strcmp(says, err == EAGAIN ? "none" :
					strerrorname_np(err))) {
			printf("# %s is %s, not %s\n", name,
			       strerrorname_np(err), says);
			CU_ASSERT(false);
		}
	}
	CU_ASSERT_EQUAL(nr, 28);
	says = manual_says("any other");
	CU_ASSERT_PTR_NOT_NULL_FATAL(says);
	CU_ASSERT_STRING_EQUAL(says, "EIO");
}

static void
a_status_that_is_none_is_logged_with_its_number(void)
{
	char text[512] = "";
	int saved = dup(2), pipes[2];
	ssize_t n;

	CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
	dup2(pipes[1], 2);
	log_set_level(LOG_LEVEL_WARNING);
	CU_ASSERT_EQUAL(nfs3_errno((nfsstat3)4711), -EIO);
	dup2(saved, 2);
	close(pipes[1]);
	n = read(pipes[0], text, sizeof text - 1);
	CU_ASSERT(n > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "4711"));
	close(pipes[0]);
	close(saved);
}

UNIT_TESTS(rpc_message,
	UNIT(a_call_decodes_to_what_was_encoded),
	UNIT(the_mark_counts_payload_and_padding),
	UNIT(a_write_head_and_its_payload_are_a_write),
	UNIT(random_garbage_is_an_error_at_most),
	UNIT(a_header_that_does_not_fit_says_so),
	UNIT(every_status_has_an_errno_and_unknown_ones_are_eio),
	UNIT(the_manual_has_the_errno_of_every_status),
	UNIT(a_status_that_is_none_is_logged_with_its_number),
)
