/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* session.c - see session.h */
#include "tests/fuzz/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/closer.h"
#include "tests/wb_check.h"

/* daemon/closer.c's, without its threads: no descriptor here is slow to close. */
void
closer_close(int fd)
{
	close(fd);
}

void
closer_hang_up(int fd)
{
	close(fd);
}

struct rig *
attack_rig(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	return rig_new();
}

void
attack_pass(struct rig *g, uint64_t usec)
{
	rig_pass(g, usec + 1);
	wb_check(rig_wb(g), true);
}

void
attack_server(struct rig *g, unsigned bits)
{
	rig_hold(g, bits & ATTACK_HOLD);
	rig_mute(g, bits & ATTACK_MUTE);
	rig_fail(g, bits & ATTACK_FAIL ? -EIO : 0);
	rig_hold_commits(g, bits & ATTACK_COMMITS);
}

void
attack_send(struct client *c, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n = 1;

	for (; len && n > 0; at += n, len -= (size_t)n) {
		n = send(c->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			break;
		attack_pass(c->rig, 0);
	}
}

void
attack_record(struct client *c, const void *data, size_t len)
{
	unsigned char mark[4];

	record_mark(mark, len);
	attack_send(c, mark, sizeof mark);
	attack_send(c, data, len);
}

void
attack_call(struct client *c, struct fuzz_input *in)
{
	static char buf[4096];
	static const unsigned char filling[700];
	nfswb_call call = { .id = c->next_id++ };
	nfswb_args *a = &call.args;
	unsigned kind = (unsigned)fuzz_take(in, 1) % 10;
	uint32_t file = (uint32_t)fuzz_take(in, 1);
	uint64_t offset = fuzz_take(in, 3), length = fuzz_take(in, 3);
	char name[2] = { (char)('a' + file % 20), '\0' };
	XDR x;

	a->type = NFSWB_CLOSE;
	switch (kind) {
	case 0:
		a->type = NFSWB_OPEN;
		a->nfswb_args_u.open.target = name;
		a->nfswb_args_u.open.oflags = O_RDWR | O_CREAT |
			(offset & 1 ? O_APPEND : 0) |
			(offset & 2 ? O_TRUNC : 0) | (offset & 4 ? O_SYNC : 0);
		break;
	case 1:
		a->nfswb_args_u.close_file = file;
		break;
	case 2:
		a->type = NFSWB_WRITE;
		a->nfswb_args_u.write.file = file;
		a->nfswb_args_u.write.offset = offset;
		a->nfswb_args_u.write.data.data_val = (char *)(uintptr_t)filling;
		a->nfswb_args_u.write.data.data_len =
			(u_int)(length % sizeof filling);
		break;
	case 9:
		a->type = NFSWB_FAILED_ROOM;
		break;
	case 3:
	case 4:
		a->type = NFSWB_FSYNC;
		a->nfswb_args_u.fsync_file = file;
		break;
	default:
		a->type = kind == 5 ? NFSWB_READ : kind == 6 ? NFSWB_READ_PLACE
			: kind == 7 ? NFSWB_TRUNCATE : NFSWB_RESERVE;
		a->nfswb_args_u.read.file = file;
		a->nfswb_args_u.read.offset = offset;
		a->nfswb_args_u.read.length = length;
		break;
	}
	xdrmem_create(&x, buf, sizeof buf, XDR_ENCODE);
	FUZZ_CHECK(xdr_nfswb_call(&x, &call));
	attack_record(c, buf, xdr_getpos(&x));
}

void
attack_honest(struct rig *g, struct client *honest)
{
	client_connect(g, honest);
	FUZZ_CHECK(!client_hello(honest, NFSWB_HELLO_INLINE, 0));
	FUZZ_CHECK(client_open(honest, "honest", O_RDWR | O_CREAT) == 0);
	FUZZ_CHECK(!client_close_file(honest, 0));
}

/* Its file is opened now: what the other one may have done to it by name is
   past. */
void
attack_over(struct rig *g, struct client *honest)
{
	const unsigned char *data;
	uint64_t size;
	int file;

	attack_server(g, 0);
	attack_pass(g, 1000000);
	file = client_open(honest, "honest", O_RDWR | O_CREAT);
	FUZZ_CHECK(file >= 0);
	FUZZ_CHECK(!client_write(honest, (uint32_t)file, 0, "all is well", 11));
	FUZZ_CHECK(!client_fsync(honest, (uint32_t)file));
	FUZZ_CHECK(!client_close_file(honest, (uint32_t)file));
	data = rig_data(g, "honest", &size);
	FUZZ_CHECK(size >= 11 && !memcmp(data, "all is well", 11));
	client_close(honest);
	attack_pass(g, 1000000);
}
