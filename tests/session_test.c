/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* session_test.c - clients good and bad on the session part */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/memory.h"
#include "tests/session_rig.h"
#include "tests/unit.h"

/* A client that must not be harmed by what another one does. */
static void
bystander(struct rig *g, struct client *c)
{
	client_connect(g, c);
	CU_ASSERT_EQUAL(client_hello(c, NFSWB_HELLO_INLINE, 0), 0);
}

static bool
is_well(struct client *c)
{
	nfswb_args a = { .type = NFSWB_STATISTICS };

	return client_call(c, &a) == 0;
}

static unsigned
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

static unsigned char pattern[1 << 20];

static void
fill_pattern(void)
{
	size_t i;

	for (i = 0; i < sizeof pattern; i++)
		pattern[i] = (unsigned char)(i * 7 + i / 253);
}

static bool
server_has(struct rig *g, const char *target, uint64_t offset,
	   const void *data, size_t len)
{
	uint64_t size;
	const unsigned char *p = rig_data(g, target, &size);

	return p && size >= offset + len && !memcmp(p + offset, data, len);
}

/* --- malformed --- */

static void
bad_record(void (*send_it)(struct client *), bool hello_first)
{
	struct rig *g = rig_new();
	struct client bad, good;

	bystander(g, &good);
	client_connect(g, &bad);
	if (hello_first)
		CU_ASSERT_EQUAL(client_hello(&bad, 0, 0), 0);
	CU_ASSERT_FALSE(client_is_closed(&bad));
	send_it(&bad);
	CU_ASSERT(client_is_closed(&bad));
	CU_ASSERT(is_well(&good));
	client_close(&bad);
	client_close(&good);
	rig_free(g);
}

static void
send_garbage(struct client *c)
{
	client_send_record(c, "this is not a message at all, is it?", 36);
}

static void
send_truncated(struct client *c)
{
	/* an OPEN whose target is announced longer than the record */
	static const unsigned char call[] = {
		0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, NFSWB_OPEN,
		0, 0, 16, 0, 'n', 'f', 's', ':',
	};

	client_send_record(c, call, sizeof call);
}

static void
send_trailing(struct client *c)
{
	/* an UNLINK of "x" and four bytes more */
	static const unsigned char call[28] = {
		0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, NFSWB_UNLINK,
		0, 0, 0, 1, 'x',
	};

	client_send_record(c, call, sizeof call);
}

static void
send_long(struct client *c)
{
	unsigned char mark[4];

	record_mark(mark, NFSWB_RECORD_MAX + 1);
	client_send_raw(c, mark, sizeof mark);
}

static void
send_long_for_kind(struct client *c)
{
	static unsigned char call[100000] = {
		0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, NFSWB_UNLINK,
		0, 0, 0x20, 0,
	};

	client_send_record(c, call, sizeof call);
}

static void
send_stat(struct client *c)
{
	nfswb_args a = { .type = NFSWB_STAT };

	a.nfswb_args_u.stat = (char *)"x";
	client_send(c, &a);
}

static void
send_hello(struct client *c)
{
	nfswb_args a = { .type = NFSWB_HELLO };

	a.nfswb_args_u.hello.protocol = NFSWB_PROTOCOL;
	client_send(c, &a);
	client_reply(c);
}

static void
malformed_record_closes_only_that_session(void)
{
	bad_record(send_garbage, true);
	bad_record(send_truncated, true);
	bad_record(send_trailing, true);
}

static void
too_long_record_closes_only_that_session(void)
{
	bad_record(send_long, true);
	bad_record(send_long, false);
	bad_record(send_long_for_kind, true);
}

static void
message_before_hello_closes_only_that_session(void)
{
	bad_record(send_stat, false);
}

static void
second_hello_closes_only_that_session(void)
{
	bad_record(send_hello, true);
}

static void
other_protocol_is_refused_in_words(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_HELLO };

	client_connect(g, &c);
	a.nfswb_args_u.hello.protocol = NFSWB_PROTOCOL + 1;
	CU_ASSERT_EQUAL(client_call(&c, &a), EPROTONOSUPPORT);
	CU_ASSERT_PTR_NOT_NULL(strstr(c.reply.answer.nfswb_answer_u.text,
				      "version"));
	client_close(&c);
	rig_free(g);
}

/* A record with descriptors. */
static void
send_with_fds(struct client *c, const void *record, size_t len, const int *fd,
	      int nr)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN((size_t)nr * sizeof *fd),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	unsigned char mark[4];
	struct iovec iov[2] = { { mark, 4 },
				{ (void *)(uintptr_t)record, len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2,
			    .msg_control = &control,
			    .msg_controllen = CMSG_SPACE((size_t)nr *
							 sizeof *fd) };

	record_mark(mark, len);
	memcpy(CMSG_DATA(&control.head), fd, (size_t)nr * sizeof *fd);
	CU_ASSERT_EQUAL(sendmsg(c->fd, &m, 0), (ssize_t)len + 4);
}

/* They are closed by a thread: within a bound that is never reached. */
static bool
fds_fall_to(unsigned nr)
{
	unsigned tries;

	for (tries = 0; tries < 1000000 && open_fds() > nr; tries++)
		sched_yield();
	return open_fds() <= nr;
}

static void
descriptors_where_none_belong_end_the_session(void)
{
	struct rig *g = rig_new();
	struct client c, other;
	unsigned before;
	int fd[4], i, when;

	bystander(g, &other);
	for (when = 0; when < 3; when++) {
		rig_pass(g, 1000000);
		before = open_fds();
		client_connect(g, &c);
		if (when)
			CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE,
						     0), 0);
		rig_pass(g, 100);
		for (i = 0; i < 4; i++)
			fd[i] = c.fd;
		send_with_fds(&c, "", 0, fd, when == 2 ? 1 : 4);
		CU_ASSERT(client_is_closed(&c));
		CU_ASSERT(is_well(&other));
		client_close(&c);
		rig_pass(g, 1000000);
		CU_ASSERT(fds_fall_to(before));
	}
	client_close(&other);
	rig_free(g);
}

/* A TCP socket whose last close waits for an hour: it has data to send, and the
   other side takes none. */
static int
socket_that_lingers(int *peer)
{
	struct linger hour = { 1, 3600 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len) ||
	    connect(fd, (struct sockaddr *)&a, sizeof a))
		abort();
	*peer = accept(l, NULL, NULL);
	close(l);
	while (send(fd, pattern, sizeof pattern, MSG_DONTWAIT) > 0)
		;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof hour))
		abort();
	return fd;
}

/* Received where it may be, where it may not, and not received at all.  Were the
   loop to close it, this test would take an hour. */
static void
a_descriptor_whose_close_waits_holds_up_nobody(void)
{
	struct rig *g = rig_new();
	struct client c, other;
	int fd, peer[3], when;

	fill_pattern();
	bystander(g, &other);
	for (when = 0; when < 2; when++) {
		fd = socket_that_lingers(&peer[when]);
		client_connect(g, &c);
		if (when)
			CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE,
						     0), 0);
		send_with_fds(&c, "xxxx", 4, &fd, 1);
		close(fd);
		CU_ASSERT(client_is_closed(&c));
		client_close(&c);
		rig_pass(g, 1000000);
		CU_ASSERT(is_well(&other));
	}
	/* never read: its user owes messages for hours */
	rig_config(g)->limits.max_messages_per_sec = 1;
	fd = socket_that_lingers(&peer[2]);
	client_connect(g, &c);
	rig_pass(g, 100);
	send_with_fds(&c, "xxxx", 4, &fd, 1);
	close(fd);
	client_close(&other);
	rig_free(g);
	client_close(&c);
	for (when = 0; when < 3; when++)
		close(peer[when]);
}

/* --- HELLO --- */

static void
hello_passes_two_sealed_memfds(void)
{
	struct rig *g = rig_new();
	struct client c;
	int i, seals;
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 300000), 0);
	CU_ASSERT_EQUAL(c.hello.data_bytes, 4 * RIG_CHUNK);
	CU_ASSERT_EQUAL(c.hello.instance, 77);
	CU_ASSERT_EQUAL(c.view.control->magic, NFSWB_SHM_MAGIC);
	CU_ASSERT_EQUAL(c.view.control->session, c.hello.session);
	for (i = 0; i < 2; i++) {
		seals = fcntl(c.passed[i], F_GET_SEALS);
		CU_ASSERT_EQUAL(seals & all, all);
	}
	client_close(&c);
	rig_free(g);
}

static void
slab_is_the_least_of_configured_and_wanted_in_whole_chunks(void)
{
	CU_ASSERT_EQUAL(memory_size(10 * RIG_CHUNK + 5, 0, 0),
			10 * RIG_CHUNK);
	CU_ASSERT_EQUAL(memory_size(10 * RIG_CHUNK, 8 * RIG_CHUNK + 1, 0),
			8 * RIG_CHUNK);
	CU_ASSERT_EQUAL(memory_size(10 * RIG_CHUNK, 1, 0), 4 * RIG_CHUNK);
	CU_ASSERT_EQUAL(memory_size(UINT64_MAX, 0, 0), 1ull << 31);
}

/* --- inline --- */

static void
inline_write_is_on_the_server_after_fsync(void)
{
	struct rig *g = rig_new();
	struct client c;
	int f;

	bystander(g, &c);
	f = client_open(&c, "nfs://s/x/a", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(f, 0);
	CU_ASSERT_EQUAL(client_write(&c, 0, 3, "hello", 5), 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "nfs://s/x/a", 3, "hello", 5));
	CU_ASSERT_EQUAL(client_close_file(&c, 0), 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), EBADF);
	client_close(&c);
	rig_free(g);
}

static void
inline_write_to_a_sync_file_is_on_the_server_when_it_is_answered(void)
{
	static const int how[] = { O_SYNC, O_DSYNC, O_SYNC | O_APPEND };
	struct rig *g = rig_new();
	struct client c;
	unsigned i;

	bystander(g, &c);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(client_open(&c, "f", O_RDWR | O_CREAT |
					    how[i]), (int)i);
		CU_ASSERT_EQUAL(client_write(&c, i, i, "x", 1), 0);
		CU_ASSERT(server_has(g, "f", i, "x", 1));
		rig_fail(g, -ENOSPC);
		CU_ASSERT_EQUAL(client_write(&c, i, i, "y", 1), ENOSPC);
		rig_fail(g, 0);
		CU_ASSERT_EQUAL(client_fsync(&c, i), 0);
		CU_ASSERT_EQUAL(client_close_file(&c, i), 0);
		client_open(&c, "keeps the number", O_RDONLY | O_CREAT);
	}
	client_close(&c);
	rig_free(g);
}

static void
inline_write_beyond_the_servers_largest_file_is_efbig(void)
{
	struct rig *g = rig_new();
	nfswb_args a = { .type = NFSWB_TRUNCATE };
	struct client c;

	rig_max_size(g, 1000);
	bystander(g, &c);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_RDWR | O_CREAT), 0);
	CU_ASSERT_EQUAL(c.reply.answer.nfswb_answer_u.res.nfswb_res_u.open
			.max_size, 1000);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_RDWR | O_APPEND), 1);
	CU_ASSERT_EQUAL(client_write(&c, 0, 996, "hello", 5), EFBIG);
	CU_ASSERT_EQUAL(client_write(&c, 0, INT64_MAX, "hello", 5), EFBIG);
	CU_ASSERT_EQUAL(client_write(&c, 0, UINT64_MAX, "hello", 5), EFBIG);
	CU_ASSERT_EQUAL(client_write(&c, 0, 993, "hello", 5), 0);
	CU_ASSERT_EQUAL(client_write(&c, 1, 0, "hello", 5), EFBIG);
	CU_ASSERT_EQUAL(client_write(&c, 1, 0, "he", 2), 0);
	a.nfswb_args_u.truncate.length = 1001;
	CU_ASSERT_EQUAL(client_call(&c, &a), EFBIG);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 993, "hellohe", 7));
	client_close(&c);
	rig_free(g);
}

static void
inline_write_beyond_room_waits_and_is_answered_whole(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_WRITE };

	fill_pattern();
	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE,
				     4 * RIG_CHUNK), 0);
	client_open(&c, "f", O_RDWR | O_CREAT);
	rig_hold(g, true);
	a.nfswb_args_u.write.data.data_val = (char *)pattern;
	a.nfswb_args_u.write.data.data_len = sizeof pattern;
	client_send(&c, &a);
	CU_ASSERT_FALSE(client_reply(&c));	/* 4 chunks are full */
	rig_hold(g, false);
	CU_ASSERT(client_reply(&c));
	CU_ASSERT_EQUAL(c.reply.answer.error, 0);
	CU_ASSERT_EQUAL(c.reply.answer.nfswb_answer_u.res.nfswb_res_u.written,
			sizeof pattern);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 0, pattern, sizeof pattern));
	client_close(&c);
	rig_free(g);
}

static void
inline_append_is_whole_across_a_wait(void)
{
	struct rig *g = rig_new();
	struct client c;
	uint64_t size;

	fill_pattern();
	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE,
				     4 * RIG_CHUNK), 0);
	client_open(&c, "f", O_RDWR | O_CREAT | O_APPEND);
	CU_ASSERT_EQUAL(client_write(&c, 0, 999, "head", 4), 0);
	CU_ASSERT_EQUAL(client_write(&c, 0, 0, pattern, sizeof pattern), 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 0, "head", 4));
	CU_ASSERT(server_has(g, "f", 4, pattern, sizeof pattern));
	rig_data(g, "f", &size);
	CU_ASSERT_EQUAL(size, 4 + sizeof pattern);
	client_close(&c);
	rig_free(g);
}

/* How many lines "client number xxx…" the file holds; 0: one is broken. */
static unsigned
whole_lines(const char *p, uint64_t size)
{
	unsigned next[8] = { 0 }, nr = 0, who, number, n;
	const char *end = p + size, *line;
	int used;

	for (line = p; line < end; line += used + n + 1, nr++) {
		if (sscanf(line, "%u %u%n", &who, &number, &used) != 2 ||
		    line[used++] != ' ' || who >= 8 || number != next[who]++)
			return 0;
		for (n = 0; line + used + n < end &&
			    line[used + n] == 'x'; n++)
			;
		if (n != number % 97 || line[used + n] != '\n')
			return 0;
	}
	return nr;
}

/* reframe-hpc/reframe#3521, ycrc/dSQ#20: mixed lines and NUL bytes */
static void
lines_appended_by_many_clients_at_once_are_each_whole(void)
{
	enum { CLIENTS = 8, LINES = 1250 };
	nfswb_args append = { .type = NFSWB_WRITE };
	struct client c[CLIENTS];
	struct rig *g = rig_new();
	char line[128], *copy;
	const unsigned char *data;
	uint64_t size;
	unsigned i, n;
	int len;

	for (i = 0; i < CLIENTS; i++) {
		bystander(g, &c[i]);
		client_open(&c[i], "f", O_WRONLY | O_CREAT | O_APPEND);
	}
	append.nfswb_args_u.write.data.data_val = line;
	for (n = 0; n < LINES; n++) {
		for (i = 0; i < CLIENTS; i++) {
			len = sprintf(line, "%u %u ", i, n);
			memset(line + len, 'x', n % 97);
			len += (int)(n % 97);
			line[len++] = '\n';
			append.nfswb_args_u.write.data.data_len = (u_int)len;
			client_send(&c[i], &append);
		}
		if (n % 7 == 0)
			rig_pass(g, 1000);
		for (i = 0; i < CLIENTS; i++)
			CU_ASSERT_FATAL(client_reply(&c[i]));
	}
	for (i = 0; i < CLIENTS; i++)
		CU_ASSERT_EQUAL(client_fsync(&c[i], 0), 0);
	data = rig_data(g, "f", &size);
	CU_ASSERT_FATAL(data != NULL);
	copy = calloc(1, size + 1);
	CU_ASSERT_FATAL(copy != NULL);
	memcpy(copy, data, size);
	CU_ASSERT_EQUAL(whole_lines(copy, size), CLIENTS * LINES);
	free(copy);
	for (i = 0; i < CLIENTS; i++)
		client_close(&c[i]);
	rig_free(g);
}

static void
append_beside_a_truncation_is_whole(void)
{
	struct rig *g = rig_new();
	nfswb_args cut = { .type = NFSWB_TRUNCATE };
	nfswb_args append = { .type = NFSWB_WRITE };
	nfswb_args reserve = { .type = NFSWB_RESERVE };
	struct client a, c, m;
	uint64_t size;

	bystander(g, &a);
	bystander(g, &c);
	client_connect(g, &m);
	CU_ASSERT_EQUAL(client_hello(&m, 0, 0), 0);
	client_open(&a, "f", O_RDWR | O_CREAT);
	client_open(&c, "f", O_RDWR | O_APPEND);
	client_open(&m, "f", O_RDWR | O_APPEND);
	CU_ASSERT_EQUAL(client_write(&a, 0, 0, "0123456789", 10), 0);
	rig_hold(g, true);
	cut.nfswb_args_u.truncate.length = 3;
	append.nfswb_args_u.write.data.data_val = (char *)"record";
	append.nfswb_args_u.write.data.data_len = 6;
	reserve.nfswb_args_u.reserve.length = 100;
	client_send(&a, &cut);
	rig_pass(g, 100);
	client_send(&c, &append);
	client_send(&m, &reserve);
	CU_ASSERT_FALSE(client_reply(&c));
	CU_ASSERT_FALSE(client_reply(&m));
	rig_hold(g, false);
	CU_ASSERT(client_reply(&a));
	CU_ASSERT(client_reply(&c));
	CU_ASSERT_EQUAL(c.reply.answer.error, 0);
	CU_ASSERT(client_reply(&m));
	CU_ASSERT_EQUAL(m.reply.answer.error, 0);
	CU_ASSERT_EQUAL(m.reply.answer.nfswb_answer_u.res.nfswb_res_u.reserved,
			9);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 0, "012record", 9));
	rig_data(g, "f", &size);
	CU_ASSERT_EQUAL(size, 9);
	/* who goes away while it waits for that does no harm */
	rig_hold(g, true);
	client_send(&a, &cut);
	rig_pass(g, 100);
	client_send(&c, &append);
	client_send(&m, &reserve);
	rig_pass(g, 100);
	client_close(&c);
	client_close(&m);
	rig_pass(g, 100);
	rig_hold(g, false);
	CU_ASSERT(client_reply(&a));
	client_close(&a);
	rig_free(g);
}

static void
inline_write_to_a_full_slab_of_failed_data_says_why(void)
{
	struct rig *g = rig_new();
	struct client c;

	fill_pattern();
	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, NFSWB_HELLO_INLINE,
				     4 * RIG_CHUNK), 0);
	client_open(&c, "f", O_RDWR | O_CREAT);
	rig_fail(g, -ENOSPC);
	CU_ASSERT_EQUAL(client_write(&c, 0, 0, pattern, 4 * RIG_CHUNK), 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), ENOSPC);
	CU_ASSERT_EQUAL(client_write(&c, 0, 4 * RIG_CHUNK, "x", 1), ENOSPC);
	rig_fail(g, 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), ENOSPC);	/* of the retry */
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 0, pattern, 4 * RIG_CHUNK));
	client_close(&c);
	rig_free(g);
}

static void
handles_keep_to_their_open_mode(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_READ };

	bystander(g, &c);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_WRONLY | O_CREAT), 0);
	CU_ASSERT_EQUAL(client_open(&c, "f", O_RDONLY), 1);
	CU_ASSERT_EQUAL(client_write(&c, 1, 0, "x", 1), EBADF);
	a.nfswb_args_u.read.file = 0;
	a.nfswb_args_u.read.length = 1;
	CU_ASSERT_EQUAL(client_call(&c, &a), EBADF);
	a.type = NFSWB_TRUNCATE;
	a.nfswb_args_u.truncate.file = 1;
	CU_ASSERT_EQUAL(client_call(&c, &a), EINVAL);
	client_close(&c);
	rig_free(g);
}

static void
read_sees_what_was_accepted_and_zeros_between(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_READ };
	nfswb_read_res *r;
	static const char want[12] = "ab\0\0\0\0\0\0\0\0yz";

	bystander(g, &c);
	client_open(&c, "f", O_RDWR | O_CREAT);
	client_open(&c, "other", O_RDWR | O_CREAT);
	client_write(&c, 1, 0, "01234567890123456789", 20);
	a.nfswb_args_u.read.file = 1;
	a.nfswb_args_u.read.length = 100;
	CU_ASSERT_EQUAL(client_call(&c, &a), 0);
	a.nfswb_args_u.read.file = 0;
	client_write(&c, 0, 0, "ab", 2);
	client_write(&c, 0, 10, "yz", 2);
	a.nfswb_args_u.read.length = 100;
	CU_ASSERT_EQUAL(client_call(&c, &a), 0);
	r = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	CU_ASSERT_EQUAL(r->data.data_len, 12);
	CU_ASSERT(!memcmp(r->data.data_val, want, 12));
	CU_ASSERT(r->eof);
	a.nfswb_args_u.read.offset = 12;
	CU_ASSERT_EQUAL(client_call(&c, &a), 0);
	r = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	CU_ASSERT_EQUAL(r->data.data_len, 0);
	CU_ASSERT(r->eof);
	/* as far out as there is an offset */
	a.nfswb_args_u.read.offset = INT64_MAX - 1;
	CU_ASSERT_EQUAL(client_call(&c, &a), 0);
	r = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
	CU_ASSERT_EQUAL(r->data.data_len, 0);
	a.nfswb_args_u.read.offset = (uint64_t)INT64_MAX + 1;
	CU_ASSERT_EQUAL(client_call(&c, &a), EINVAL);
	client_close(&c);
	rig_free(g);
}

/* On the server, and nothing of it here any more. */
#define STORED 300001u
static unsigned char stored_bytes[STORED];

static void
store_it(struct rig *g)
{
	struct client a;
	unsigned i;
	int f;

	for (i = 0; i < STORED; i++)
		stored_bytes[i] = (unsigned char)(i * 7 + (i >> 8));
	bystander(g, &a);
	f = client_open(&a, "stored", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(client_write(&a, (uint32_t)f, 0, stored_bytes, STORED),
			0);
	CU_ASSERT_EQUAL(client_fsync(&a, (uint32_t)f), 0);
	client_close(&a);
	rig_pass(g, 1000000);
}

static void
what_is_read_lies_where_the_reply_says(void)
{
	nfswb_args q = { .type = NFSWB_READ_PLACE };
	nfswb_range_args *a = &q.nfswb_args_u.read_place;
	struct rig *g = rig_new();
	const nfswb_read_place_res *r;
	struct client c;
	uint64_t at = 0;
	unsigned i;

	store_it(g);
	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 0), 0);
	a->file = (u_int)client_open(&c, "stored", O_RDONLY);
	while (at < STORED) {
		a->offset = at;
		a->length = 1u << 30;
		CU_ASSERT_EQUAL_FATAL(client_call(&c, &q), 0);
		r = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read_place;
		CU_ASSERT_EQUAL(r->data.data_len, 0);
		CU_ASSERT_FATAL(r->pieces.pieces_len > 0);
		for (i = 0; i < r->pieces.pieces_len; i++) {
			const nfswb_piece *p = &r->pieces.pieces_val[i];

			CU_ASSERT_FATAL(at + p->length <= STORED);
			CU_ASSERT_EQUAL(memcmp(c.view.data + p->place,
					       stored_bytes + at, p->length),
					0);
			CU_ASSERT(nfswb_mark_took(
				&c.view.mark[p->place / RIG_CHUNK], p->mark,
				p->length));
			at += p->length;
		}
		CU_ASSERT_EQUAL(r->eof, at == STORED);
	}
	/* by READ it comes in the message, all of it */
	q.type = NFSWB_READ;
	a->offset = 0;
	CU_ASSERT_EQUAL(client_call(&c, &q), 0);
	CU_ASSERT_EQUAL(c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read
			.data.data_len, STORED);
	client_close(&c);
	rig_free(g);
}

static void
session_without_memory_reads_all_in_one_message(void)
{
	nfswb_args q = { .type = NFSWB_READ };
	nfswb_range_args *a = &q.nfswb_args_u.read;
	struct rig *g = rig_new();
	const nfswb_read_res *r;
	struct client c;
	unsigned i;

	store_it(g);
	bystander(g, &c);
	a->file = (u_int)client_open(&c, "stored", O_RDONLY);
	for (i = 0; i < 3; i++) {
		a->offset = i * 1000;
		a->length = i == 2 ? 5000 : 1u << 30;
		CU_ASSERT_EQUAL_FATAL(client_call(&c, &q), 0);
		r = &c.reply.answer.nfswb_answer_u.res.nfswb_res_u.read;
		CU_ASSERT_EQUAL_FATAL(r->data.data_len,
				      i == 2 ? 5000 : STORED - i * 1000);
		CU_ASSERT_EQUAL(memcmp(r->data.data_val, stored_bytes +
				       i * 1000, r->data.data_len), 0);
		CU_ASSERT_EQUAL(r->eof, i < 2);
	}
	q.type = NFSWB_READ_PLACE;
	CU_ASSERT_EQUAL(client_call(&c, &q), EINVAL);
	client_close(&c);
	rig_free(g);
}

/* Whoever ends while a READ is out: no reply, no harm. */
static void
read_under_way_outlives_its_client_and_the_daemon(void)
{
	nfswb_args q = { .type = NFSWB_READ_PLACE };
	nfswb_range_args *a = &q.nfswb_args_u.read_place;
	struct client c[3];
	struct rig *g = rig_new();
	unsigned i;

	store_it(g);
	for (i = 0; i < 3; i++) {
		client_connect(g, &c[i]);
		CU_ASSERT_EQUAL(client_hello(&c[i], i == 2 ?
					     NFSWB_HELLO_INLINE : 0, 0), 0);
		CU_ASSERT(client_open(&c[i], "stored", O_RDONLY) >= 0);
	}
	rig_hold(g, true);
	a->length = STORED;
	for (i = 0; i < 3; i++) {
		q.type = i == 2 ? NFSWB_READ : NFSWB_READ_PLACE;
		client_send(&c[i], &q);
		rig_pass(g, 1000);
	}
	client_close(&c[0]);
	rig_pass(g, 1000);
	CU_ASSERT_FALSE(client_is_closed(&c[1]));
	rig_free(g);
	client_close(&c[1]);
	client_close(&c[2]);
}

static void
open_that_fails_says_why(void)
{
	struct rig *g = rig_new();
	struct client c;

	bystander(g, &c);
	CU_ASSERT_EQUAL(client_open(&c, "nowhere", O_RDWR), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(c.reply.answer.nfswb_answer_u.text,
				      "No such file"));
	CU_ASSERT_EQUAL(client_open(&c, "f", O_ACCMODE), -EINVAL);
	CU_ASSERT_STRING_EQUAL(c.reply.answer.nfswb_answer_u.text,
			       "open f: Invalid argument");
	client_close(&c);
	rig_free(g);
}

static int
asked(struct client *c, nfswb_type type, unsigned flags)
{
	nfswb_args a = { .type = type };
	int err;

	if (type == NFSWB_RENAME) {
		a.nfswb_args_u.rename.from = (char *)"f";
		a.nfswb_args_u.rename.to = (char *)"g";
	} else if (type == NFSWB_MKDIR || type == NFSWB_SYMLINK) {
		a.nfswb_args_u.mkdir.target = (char *)"f";
		a.nfswb_args_u.mkdir.content = (char *)"x";
	} else {
		a.nfswb_args_u.unlink = (char *)"f";
	}
	c->flags = flags;
	err = client_call(c, &a);
	c->flags = 0;
	return err;
}

static void
names_changed_for_an_instance_that_died_are_changed_once(void)
{
	static const nfswb_type gone[] = { NFSWB_UNLINK, NFSWB_RMDIR,
					   NFSWB_RENAME };
	static const nfswb_type made[] = { NFSWB_MKDIR, NFSWB_SYMLINK };
	struct rig *g = rig_new();
	struct client c;
	unsigned i;

	bystander(g, &c);
	for (i = 0; i < 3; i++) {
		rig_names(g, -ENOENT);
		CU_ASSERT_EQUAL(asked(&c, gone[i], 0), ENOENT);
		CU_ASSERT_EQUAL(asked(&c, gone[i], NFSWB_AGAIN), 0);
		rig_names(g, -EEXIST);
		CU_ASSERT_EQUAL(asked(&c, gone[i], NFSWB_AGAIN), EEXIST);
	}
	for (i = 0; i < 2; i++) {
		rig_names(g, -EEXIST);
		CU_ASSERT_EQUAL(asked(&c, made[i], 0), EEXIST);
		CU_ASSERT_EQUAL(asked(&c, made[i], NFSWB_AGAIN), 0);
		rig_names(g, -ENOENT);
		CU_ASSERT_EQUAL(asked(&c, made[i], NFSWB_AGAIN), ENOENT);
	}
	client_close(&c);
	rig_free(g);
}

static void
limits_of_a_uid_hold(void)
{
	struct rig *g = rig_new();
	struct config *cf = rig_config(g);
	struct client a, b;

	cf->uid = calloc(1, sizeof *cf->uid);
	cf->uid_nr = 1;
	cf->uid[0].uid = geteuid();
	cf->uid[0].limits.max_sessions = 1;
	cf->uid[0].limits.max_files = 1;
	cf->uid[0].limits.weight = 100;
	bystander(g, &a);
	client_connect(g, &b);
	CU_ASSERT_EQUAL(client_hello(&b, NFSWB_HELLO_INLINE, 0), EUSERS);
	CU_ASSERT_PTR_NOT_NULL(strstr(b.reply.answer.nfswb_answer_u.text,
				      "max_sessions"));
	CU_ASSERT_EQUAL(client_open(&a, "f", O_RDWR | O_CREAT), 0);
	CU_ASSERT_EQUAL(client_open(&a, "f", O_RDWR), -EMFILE);
	CU_ASSERT_PTR_NOT_NULL(strstr(a.reply.answer.nfswb_answer_u.text,
				      "max_files"));
	CU_ASSERT_EQUAL(client_close_file(&a, 0), 0);
	CU_ASSERT_EQUAL(client_open(&a, "f", O_RDWR), 0);
	client_close(&a);
	rig_pass(g, 1000000);
	CU_ASSERT_EQUAL(client_hello(&b, NFSWB_HELLO_INLINE, 0), 0);
	CU_ASSERT_EQUAL(client_open(&b, "f", O_RDWR), 0);
	client_close(&b);
	rig_free(g);
}

static void
memory_of_a_user_is_what_its_limit_leaves(void)
{
	struct rig *g = rig_new();
	struct client a, b, c;

	rig_config(g)->limits.max_slab_bytes = 6u << 20;
	client_connect(g, &a);
	CU_ASSERT_EQUAL(client_hello(&a, 0, 0), 0);
	CU_ASSERT_EQUAL(a.hello.data_bytes, 4u << 20);
	client_connect(g, &b);
	CU_ASSERT_EQUAL(client_hello(&b, 0, 0), 0);
	CU_ASSERT_EQUAL(b.hello.data_bytes, 2u << 20);
	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 0), EDQUOT);
	CU_ASSERT_PTR_NOT_NULL(strstr(c.reply.answer.nfswb_answer_u.text,
				      "max_slab_bytes"));
	client_close(&b);
	rig_pass(g, 1000000);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 1 << 20), 0);
	CU_ASSERT_EQUAL(c.hello.data_bytes, 1u << 20);
	client_close(&a);
	client_close(&c);
	rig_free(g);
}

static void
who_sends_too_much_is_read_later_and_others_are_not(void)
{
	struct rig *g = rig_new();
	nfswb_args stat = { .type = NFSWB_STAT };
	struct client a, b;
	unsigned i;

	rig_config(g)->limits.max_messages_per_sec = 100;
	stat.nfswb_args_u.stat = (char *)(uintptr_t)"f";
	bystander(g, &a);
	for (i = 0; i < 120; i++)	/* as many as its socket holds */
		client_send(&a, &stat);
	rig_pass(g, 1000);
	client_send(&a, &stat);
	for (i = 0; i < 120; i++)
		CU_ASSERT(client_reply(&a));
	rig_pass(g, 300000);		/* it owes 0.37 seconds' messages */
	CU_ASSERT_EQUAL(recv(a.fd, &i, 1, MSG_PEEK | MSG_DONTWAIT), -1);
	if (client_connect_as(g, &b, 4242)) {
		CU_ASSERT_EQUAL(client_hello(&b, NFSWB_HELLO_INLINE, 0), 0);
		CU_ASSERT(is_well(&b));
		client_close(&b);
	}
	CU_ASSERT(client_reply(&a));
	CU_ASSERT(is_well(&a));
	client_close(&a);
	rig_free(g);
}

static void
others_than_administrators_are_refused_with_eperm(void)
{
	struct rig *g = rig_new();
	nfswb_args a = { .type = NFSWB_CONTROL };
	struct client admin, other;

	a.nfswb_args_u.control = (char *)(uintptr_t)"{}";
	bystander(g, &admin);
	CU_ASSERT_EQUAL(client_call(&admin, &a), 0);
	if (client_connect_as(g, &other, 4242)) {
		CU_ASSERT_EQUAL(client_hello(&other, NFSWB_HELLO_INLINE, 0), 0);
		CU_ASSERT_EQUAL(client_call(&other, &a), EPERM);
		rig_config(g)->admin_gid = getegid();
		CU_ASSERT_EQUAL(client_call(&other, &a), 0);
		client_close(&other);
	}
	client_close(&admin);
	rig_free(g);
}

static void
too_many_that_say_nothing_are_refused_and_other_users_are_not(void)
{
	struct rig *g = rig_new();
	struct client c[70], other;
	unsigned i, closed = 0;

	rig_config(g)->limits.max_sessions = 10;
	for (i = 0; i < 70; i++) {
		client_connect(g, &c[i]);
		rig_pass(g, 1000);
	}
	for (i = 0; i < 70; i++)
		closed += client_is_closed(&c[i]);
	CU_ASSERT_EQUAL(closed, 6);
	if (client_connect_as(g, &other, 4242)) {
		CU_ASSERT_EQUAL(client_hello(&other, NFSWB_HELLO_INLINE, 0), 0);
		client_close(&other);
	}
	CU_ASSERT_EQUAL(client_hello(&c[0], NFSWB_HELLO_INLINE, 0), 0);
	for (i = 0; i < 70; i++)
		client_close(&c[i]);
	rig_free(g);
}

static void
local_root_acts_as_whom_it_is_mapped_to(void)
{
	struct rig *g = rig_new();
	struct client a;

	rig_config(g)->map_root = (struct config_account){ true, 65534, 65534 };
	bystander(g, &a);
	CU_ASSERT_EQUAL(client_open(&a, "f", O_RDWR | O_CREAT), 0);
	CU_ASSERT_EQUAL(rig_opened_by(g), geteuid() ? geteuid() : 65534);
	client_close(&a);
	rig_free(g);
}

static void
client_that_does_not_read_is_not_read_from(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_READ };
	unsigned i, nr = 60;

	fill_pattern();
	bystander(g, &c);
	client_open(&c, "f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(client_write(&c, 0, 0, pattern, sizeof pattern), 0);
	a.nfswb_args_u.read.length = sizeof pattern;
	for (i = 0; i < nr; i++)
		client_send(&c, &a);
	rig_pass(g, 1000000);
	for (i = 0; i < nr; i++)
		if (!client_reply(&c) || c.reply.answer.error)
			break;
	CU_ASSERT_EQUAL(i, nr);
	client_close(&c);
	rig_free(g);
}

/* --- the ring --- */

static int
with_memory(struct rig *g, struct client *c, const char *target)
{
	client_connect(g, c);
	CU_ASSERT_EQUAL(client_hello(c, 0, 0), 0);
	rig_pass(g, 1000);		/* room is granted ahead */
	return client_open(c, target, O_RDWR | O_CREAT);
}

static void
ring_is_drained_before_a_message_is_acted_on(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args q = { .type = NFSWB_LSTAT };
	int f = with_memory(g, &c, "f");

	CU_ASSERT(client_post(&c, (uint32_t)f, 0, "one", 3));
	CU_ASSERT(client_post(&c, (uint32_t)f, 3, "two", 3));
	CU_ASSERT_EQUAL(client_fsync(&c, (uint32_t)f), 0);
	CU_ASSERT(server_has(g, "f", 0, "onetwo", 6));
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 2);
	rig_pass(g, 1000000);			/* asleep, so no nap */
	CU_ASSERT(client_post(&c, (uint32_t)f, 6, "!", 1));
	q.nfswb_args_u.lstat = (char *)"other";
	CU_ASSERT_EQUAL(client_call(&c, &q), ENOENT);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 3);
	client_close(&c);
	rig_free(g);
}

static void
bell_drains_a_ring_that_sleeps(void)
{
	struct rig *g = rig_new();
	struct client c;
	int f = with_memory(g, &c, "f");

	rig_pass(g, 1000000);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->d_sleeps), NFSWB_RING);
	CU_ASSERT(client_post(&c, (uint32_t)f, 0, "x", 1));
	rig_pass(g, 1000000);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 0);
	client_bell(&c);
	rig_pass(g, 100);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 1);
	client_close(&c);
	rig_free(g);
}

static void
active_session_is_looked_at_without_a_bell(void)
{
	struct rig *g = rig_new();
	struct client c;
	int f = with_memory(g, &c, "f");
	int i;

	for (i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(atomic_load(&c.view.control->d_sleeps),
				NFSWB_NAP);
		CU_ASSERT(client_post(&c, (uint32_t)f, (uint64_t)i, "x", 1));
		rig_pass(g, 1100);
		CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail),
				(uint64_t)i + 1);
	}
	client_close(&c);
	rig_free(g);
}

/* A hundred paced writers would be a hundred timers of a millisecond. */
static void
session_without_room_is_not_looked_at_until_a_bell(void)
{
	static unsigned char data[RIG_CHUNK];
	struct rig *g = rig_new();
	struct client c;
	int f, i;

	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 1 << 20), 0);
	rig_pass(g, 1000);
	f = client_open(&c, "f", O_RDWR | O_CREAT);
	rig_hold(g, true);
	for (i = 0; i < 100 && client_post(&c, (uint32_t)f,
					   (uint64_t)i * RIG_CHUNK, data,
					   RIG_CHUNK); i++)
		rig_pass(g, 2000);
	CU_ASSERT(i > 0 && i < 100);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->d_sleeps), NFSWB_NAP);
	client_wants(&c, RIG_CHUNK);
	client_bell(&c);
	rig_pass(g, 100);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->d_sleeps), NFSWB_RING);
	rig_hold(g, false);
	rig_pass(g, 1000000);
	CU_ASSERT(client_post(&c, (uint32_t)f, 0, data, RIG_CHUNK));
	client_bell(&c);
	rig_pass(g, 100);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), (uint64_t)i + 1);
	client_close(&c);
	rig_free(g);
}

static void
who_waits_for_the_tail_gets_a_bell(void)
{
	struct rig *g = rig_new();
	struct client c;
	nfswb_args a = { .type = NFSWB_STATISTICS };
	int f = with_memory(g, &c, "f");
	unsigned before;

	client_call(&c, &a);
	before = c.bells;
	CU_ASSERT(client_post(&c, (uint32_t)f, 0, "x", 1));
	atomic_store(&c.view.control->want, 0);
	atomic_store(&c.view.control->c_waits, 1);
	client_bell(&c);
	rig_pass(g, 100);
	client_call(&c, &a);
	CU_ASSERT(c.bells > before);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->c_waits), 0);
	client_close(&c);
	rig_free(g);
}

/* The bells of a session that asks for so much while the ring has one entry more,
   until the server answers and until it has. */
static void
bells_of_who_asks(uint32_t want, unsigned *before, unsigned *after)
{
	static unsigned char data[RIG_CHUNK];
	nfswb_args a = { .type = NFSWB_STATISTICS };
	struct rig *g = rig_new();
	struct client c;
	unsigned bells;
	int f, i;

	client_connect(g, &c);
	CU_ASSERT_EQUAL(client_hello(&c, 0, 1 << 20), 0);
	f = client_open(&c, "f", O_RDWR | O_CREAT);
	rig_hold(g, true);
	for (i = 0; i < 15; i++) {	/* all chunks but one */
		CU_ASSERT(client_post(&c, (uint32_t)f,
				      (uint64_t)i * RIG_CHUNK, data,
				      RIG_CHUNK));
		rig_pass(g, 2000);
	}
	client_call(&c, &a);
	bells = c.bells;
	CU_ASSERT(client_post(&c, (uint32_t)f, 15 * RIG_CHUNK, data,
			      RIG_CHUNK));
	client_wants(&c, want);
	client_bell(&c);
	rig_pass(g, 2000);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), c.head);
	client_call(&c, &a);
	*before = c.bells - bells;
	rig_hold(g, false);
	rig_pass(g, 1000000);
	client_call(&c, &a);
	*after = c.bells - bells - *before;
	client_close(&c);
	rig_free(g);
}

static void
who_waits_for_room_alone_gets_no_bell_for_the_tail(void)
{
	unsigned before, after;

	bells_of_who_asks(RIG_CHUNK, &before, &after);
	CU_ASSERT(before == 1 && after >= 1);
	bells_of_who_asks(RIG_CHUNK | NFSWB_WANT_ROOM, &before, &after);
	CU_ASSERT(before == 0 && after >= 1);
}

static void
head_out_of_range_closes_only_that_session(void)
{
	static const uint64_t bad[] = {
		1 + NFSWB_RING_SLOTS + 1, 1ull << 40, 1ull << 63,
		0, UINT64_MAX,			/* before the tail */
	};
	struct rig *g = rig_new();
	struct client good, c;
	size_t i;

	bystander(g, &good);
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		CU_ASSERT_EQUAL(with_memory(g, &c, "f"), 0);
		CU_ASSERT(client_post(&c, 0, 0, "y", 1));
		rig_pass(g, 10000);
		CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 1);
		atomic_store(&c.view.control->head, bad[i]);
		client_bell(&c);
		CU_ASSERT(client_is_closed(&c));
		client_close(&c);
		CU_ASSERT(is_well(&good));
	}
	client_close(&good);
	rig_free(g);
}

/* A server that is away for hours, and a message that waits for it. */
static void
session_whose_list_is_full_is_looked_at_seldom(void)
{
	nfswb_args fsync = { .type = NFSWB_FSYNC };
	struct rig *g = rig_new();
	uint64_t before, n;
	struct client c;

	client_connect(g, &c);
	CU_ASSERT_FALSE(client_hello(&c, 0, 4 * RIG_CHUNK));
	CU_ASSERT_FALSE(client_open(&c, "f", O_RDWR | O_CREAT));
	rig_hold(g, true);
	for (n = 0; n < c.view.layout.list_nr + 200u; n++) {
		CU_ASSERT_FATAL(client_post(&c, 0, 2 * n, "x", 1));
		if (n % 100 == 0)
			rig_pass(g, 2000);
	}
	client_send(&c, &fsync);
	rig_pass(g, 10 * 1000000);
	before = rig_rounds(g);
	rig_pass(g, 10 * 1000000);
	CU_ASSERT(rig_rounds(g) - before < 500);
	CU_ASSERT(atomic_load(&c.view.control->tail) != c.head);
	rig_hold(g, false);
	CU_ASSERT(client_reply(&c));
	CU_ASSERT_EQUAL(c.reply.answer.error, 0);
	CU_ASSERT(server_has(g, "f", 2 * (n - 1), "x", 1));
	client_close(&c);
	rig_free(g);
}

static void
garbage_in_the_ring_closes_only_that_session(void)
{
	static const struct nfswb_ring_entry bad[] = {
		{ .kind = NFSWB_RING_WRITE, .length = 1, .file = 7 },
		{ .kind = NFSWB_RING_WRITE, .length = 1, .file = 0xffffffff },
		{ .kind = 9, .length = 1 },
		{ .kind = NFSWB_RING_WRITE, .length = 0 },
		{ .kind = NFSWB_RING_WRITE, .length = 0xffffffff },
		{ .kind = NFSWB_RING_WRITE, .length = 1,
		  .place = 0xffffffffffffffff },
		{ .kind = NFSWB_RING_WRITE, .length = 100,
		  .place = NFSWB_CHUNK_BYTES - 50 },
		{ .kind = NFSWB_RING_WRITE, .length = 1,
		  .place = 63ull * NFSWB_CHUNK_BYTES },	/* not granted */
	};
	struct rig *g = rig_new();
	struct client good, c;
	size_t i;

	bystander(g, &good);
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		CU_ASSERT_EQUAL(with_memory(g, &c, "f"), 0);
		CU_ASSERT(client_post(&c, 0, i, "y", 1));
		client_post_raw(&c, &bad[i]);
		client_bell(&c);
		CU_ASSERT(client_is_closed(&c));
		client_close(&c);
		CU_ASSERT(is_well(&good));
	}
	rig_pass(g, 60000000);	/* the good entries are not lost */
	CU_ASSERT(server_has(g, "f", 0, "yyyyyyyy", 8));
	client_close(&good);
	rig_free(g);
}

static void
second_open_sets_the_shared_flag_and_the_last_but_one_clears_it(void)
{
	struct rig *g = rig_new();
	struct client a, b;
	int fa = with_memory(g, &a, "f");
	int other = client_open(&a, "other", O_RDWR | O_CREAT), fb;

	CU_ASSERT_EQUAL(client_open(&a, "f", O_RDWR), 2);
	CU_ASSERT_FALSE(atomic_load(&a.view.shared[fa]));
	CU_ASSERT(client_post(&a, (uint32_t)fa, 0, "x", 1));
	fb = with_memory(g, &b, "f");
	CU_ASSERT(atomic_load(&a.view.shared[fa]));
	CU_ASSERT(atomic_load(&a.view.shared[2]));
	CU_ASSERT(atomic_load(&b.view.shared[fb]));
	CU_ASSERT_FALSE(atomic_load(&a.view.shared[other]));
	CU_ASSERT_EQUAL(atomic_load(&a.view.control->tail), 1);
	CU_ASSERT_EQUAL(client_close_file(&b, (uint32_t)fb), 0);
	CU_ASSERT_FALSE(atomic_load(&a.view.shared[fa]));
	CU_ASSERT_FALSE(atomic_load(&b.view.shared[fb]));
	client_close(&a);
	client_close(&b);
	rig_free(g);
}

static void
message_about_a_file_drains_all_who_have_it_open(void)
{
	struct rig *g = rig_new();
	struct client a, b;
	nfswb_args q = { .type = NFSWB_FSTAT };
	nfswb_attr *at;
	int fa = with_memory(g, &a, "f");
	int fb = with_memory(g, &b, "f");

	CU_ASSERT(client_post(&a, (uint32_t)fa, 99, "x", 1));
	q.nfswb_args_u.fstat_file = (u_int)fb;
	CU_ASSERT_EQUAL(client_call(&b, &q), 0);
	at = &b.reply.answer.nfswb_answer_u.res.nfswb_res_u.fstat;
	CU_ASSERT_EQUAL(at->size, 100);
	client_close(&a);
	client_close(&b);
	rig_free(g);
}

/* One session writes by its ring, the other by messages. */
static void
later_write_wins_whether_by_ring_or_by_message(void)
{
	struct rig *g = rig_new();
	struct client a, b;
	uint32_t fa = (uint32_t)with_memory(g, &a, "f"), fb;

	bystander(g, &b);
	fb = (uint32_t)client_open(&b, "f", O_RDWR);
	CU_ASSERT(client_post(&a, fa, 0, "ring", 4));
	CU_ASSERT_EQUAL(client_write(&b, fb, 2, "said", 4), 0);
	CU_ASSERT_EQUAL(client_fsync(&b, fb), 0);
	CU_ASSERT(server_has(g, "f", 0, "risaid", 6));
	CU_ASSERT_EQUAL(client_write(&b, fb, 0, "said", 4), 0);
	CU_ASSERT(client_post(&a, fa, 2, "ring", 4));
	CU_ASSERT_EQUAL(client_fsync(&b, fb), 0);
	CU_ASSERT(server_has(g, "f", 0, "saring", 6));
	client_close(&a);
	client_close(&b);
	rig_free(g);
}

static void
sync_covers_all_sessions_without_bells(void)
{
	struct rig *g = rig_new();
	struct client a, b;
	nfswb_args q = { .type = NFSWB_SYNC };
	int f = with_memory(g, &a, "f");

	bystander(g, &b);
	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	q.nfswb_args_u.sync = (char *)"";
	CU_ASSERT_EQUAL(client_call(&b, &q), 0);
	CU_ASSERT(server_has(g, "f", 0, "x", 1));
	CU_ASSERT(client_post(&a, (uint32_t)f, 1, "y", 1));
	q.nfswb_args_u.sync = (char *)"g";	/* nothing of f */
	CU_ASSERT_EQUAL(client_call(&b, &q), 0);
	CU_ASSERT_FALSE(server_has(g, "f", 1, "y", 1));
	client_close(&a);
	client_close(&b);
	rig_free(g);
}

static void
end_of_a_session_drains_its_ring_and_writes_back(void)
{
	struct rig *g = rig_new();
	struct client a;
	int f = with_memory(g, &a, "f");

	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "last words", 10));
	client_close(&a);
	rig_pass(g, 1000);
	CU_ASSERT(server_has(g, "f", 0, "last words", 10));
	rig_free(g);
}

static void
client_that_leaves_with_calls_out_does_no_harm(void)
{
	struct rig *g = rig_new();
	struct client a;
	nfswb_args q = { .type = NFSWB_FSYNC };
	int f = with_memory(g, &a, "f"), i;
	int h = client_open(&a, "h", O_RDWR | O_CREAT);

	rig_hold(g, true);
	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	CU_ASSERT(client_post(&a, (uint32_t)h, 0, "y", 1));
	q.nfswb_args_u.fsync_file = (uint32_t)h;
	for (i = 0; i < 64; i++)
		client_send(&a, &q);
	q.nfswb_args_u.fsync_file = (uint32_t)f;
	client_send(&a, &q);
	q.type = NFSWB_READ;
	q.nfswb_args_u.read.length = 5;
	client_send(&a, &q);
	q.type = NFSWB_OPEN;
	q.nfswb_args_u.open.target = (char *)"g";
	q.nfswb_args_u.open.oflags = O_CREAT | O_RDWR;
	client_send(&a, &q);
	q.type = NFSWB_CLOSE;
	q.nfswb_args_u.close_file = 0;
	client_send(&a, &q);
	rig_pass(g, 10);
	client_close(&a);
	rig_pass(g, 1000);
	rig_hold(g, false);
	rig_pass(g, 1000);
	CU_ASSERT(server_has(g, "f", 0, "x", 1));
	CU_ASSERT(server_has(g, "h", 0, "y", 1));
	rig_free(g);
}

static void
count_one(void *arg, const struct session_info *info)
{
	struct session_info *last = arg;

	*last = *info;
}

/* More single bytes with gaps than the list has slots, none of them taken by
   the server: it refuses them, or does not answer. */
static void
fill_list(struct rig *g, struct client *c, bool refuse)
{
	int i;

	client_connect(g, c);
	CU_ASSERT_EQUAL(client_hello(c, 0, 4 * RIG_CHUNK), 0);
	rig_pass(g, 1000);
	CU_ASSERT_EQUAL(client_open(c, "f", O_RDWR | O_CREAT), 0);
	if (refuse)
		rig_fail(g, -ENOSPC);
	else
		rig_hold(g, true);
	for (i = 0; i < 2000; i++)
		CU_ASSERT(client_post(c, 0, (uint64_t)i * 3, "x", 1));
	client_bell(c);
	rig_pass(g, 1000);
	CU_ASSERT(atomic_load(&c->view.control->tail) < 2000);
}

static void
more_small_writes_in_one_chunk_than_the_list_has_slots_go_through(void)
{
	struct rig *g = rig_new();
	struct client c;

	fill_list(g, &c, false);
	rig_hold(g, false);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 2000);
	CU_ASSERT(server_has(g, "f", 3 * 1999, "x", 1));
	client_close(&c);
	rig_free(g);
}

static void
ring_that_lacked_slots_is_drained_when_data_is_clean(void)
{
	struct rig *g = rig_new();
	struct client c;

	fill_list(g, &c, false);
	rig_hold(g, false);
	rig_pass(g, 200000);		/* long before it is old */
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 2000);
	client_close(&c);
	rig_free(g);
}

static void
failed_data_that_fills_the_list_fails_fsync_and_goes_on_later(void)
{
	struct rig *g = rig_new();
	struct client c;

	fill_list(g, &c, true);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), ENOSPC);
	CU_ASSERT(atomic_load(&c.view.control->tail) < 2000);
	rig_fail(g, 0);
	CU_ASSERT_EQUAL(client_fsync(&c, 0), ENOSPC);	/* not seen before */
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "f", 3 * 1999, "x", 1));
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 2000);
	client_close(&c);
	rig_free(g);
}

static void
failed_data_that_fills_the_list_does_not_keep_a_close(void)
{
	struct rig *g = rig_new();
	struct client c;

	fill_list(g, &c, true);
	CU_ASSERT_EQUAL(client_close_file(&c, 0), ENOSPC);
	CU_ASSERT_EQUAL(atomic_load(&c.view.control->tail), 2000);
	rig_fail(g, 0);
	CU_ASSERT_EQUAL(client_open(&c, "g", O_RDWR | O_CREAT), 0);
	rig_pass(g, 100000);
	c.chunk = NFSWB_NO_CHUNK;
	CU_ASSERT(client_post(&c, 0, 0, "y", 1));
	CU_ASSERT_EQUAL(client_fsync(&c, 0), 0);
	CU_ASSERT(server_has(g, "g", 0, "y", 1));
	client_close(&c);
	rig_free(g);
}

static void
failed_data_that_fills_the_list_does_not_keep_a_session(void)
{
	struct rig *g = rig_new();
	struct client c;
	struct session_info info = { 0 };

	fill_list(g, &c, true);
	client_close(&c);
	rig_pass(g, 10000000);
	sessions_each(rig_sessions(g), count_one, &info);
	CU_ASSERT_EQUAL(info.id, 0);
	rig_free(g);
}

static void
daemon_that_ends_with_calls_out_does_no_harm(void)
{
	struct rig *g = rig_new();
	struct client a;
	nfswb_args q = { .type = NFSWB_FSYNC };
	int f = with_memory(g, &a, "f");

	rig_hold(g, true);
	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	client_send(&a, &q);
	q.type = NFSWB_READ;
	q.nfswb_args_u.read.length = 5;
	client_send(&a, &q);
	q.type = NFSWB_CLOSE;
	q.nfswb_args_u.close_file = 0;
	client_send(&a, &q);
	rig_pass(g, 1000);
	rig_kill(g);
	client_close(&a);
	rig_free(g);
}

static void
session_tells_what_it_waits_for(void)
{
	struct rig *g = rig_new();
	struct client a;
	struct session_info info = { 0 };
	nfswb_args q = { .type = NFSWB_FSYNC };
	nfswb_args sync = { .type = NFSWB_SYNC };
	int f = with_memory(g, &a, "f");

	sync.nfswb_args_u.sync = (char *)"";
	rig_hold(g, true);
	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	client_send(&a, &sync);
	rig_pass(g, 1000);
	sessions_each(rig_sessions(g), count_one, &info);
	CU_ASSERT_EQUAL(info.waiting, WAIT_WRITE);
	rig_hold(g, false);
	CU_ASSERT(client_reply(&a));
	rig_hold(g, true);
	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	client_send(&a, &q);
	rig_pass(g, 5000);
	sessions_each(rig_sessions(g), count_one, &info);
	CU_ASSERT_EQUAL(info.pid, getpid());
	CU_ASSERT_EQUAL(info.files, 1);
	CU_ASSERT_EQUAL(info.waiting, WAIT_WRITE);
	CU_ASSERT(info.waiting_usec >= 4000);
	CU_ASSERT_STRING_EQUAL(info.file, "f");
	rig_hold(g, false);
	CU_ASSERT(client_reply(&a));
	client_close(&a);
	rig_free(g);
}

static void
stop_takes_what_was_posted_and_grants_no_more(void)
{
	struct rig *g = rig_new();
	struct client a;
	int f = with_memory(g, &a, "f");

	CU_ASSERT(client_post(&a, (uint32_t)f, 0, "x", 1));
	sessions_stop(rig_sessions(g));
	CU_ASSERT_EQUAL(atomic_load(&a.view.control->tail), 1);
	CU_ASSERT_FALSE(client_post(&a, (uint32_t)f, 1, "y", 1));
	client_close(&a);
	rig_free(g);
}

UNIT_TESTS(session,
	UNIT(malformed_record_closes_only_that_session),
	UNIT(too_long_record_closes_only_that_session),
	UNIT(message_before_hello_closes_only_that_session),
	UNIT(second_hello_closes_only_that_session),
	UNIT(other_protocol_is_refused_in_words),
	UNIT(descriptors_where_none_belong_end_the_session),
	UNIT(a_descriptor_whose_close_waits_holds_up_nobody),
	UNIT(hello_passes_two_sealed_memfds),
	UNIT(slab_is_the_least_of_configured_and_wanted_in_whole_chunks),
	UNIT(inline_write_is_on_the_server_after_fsync),
	UNIT(inline_write_to_a_sync_file_is_on_the_server_when_it_is_answered),
	UNIT(inline_write_beyond_the_servers_largest_file_is_efbig),
	UNIT(inline_write_beyond_room_waits_and_is_answered_whole),
	UNIT(inline_append_is_whole_across_a_wait),
	UNIT(lines_appended_by_many_clients_at_once_are_each_whole),
	UNIT(append_beside_a_truncation_is_whole),
	UNIT(inline_write_to_a_full_slab_of_failed_data_says_why),
	UNIT(handles_keep_to_their_open_mode),
	UNIT(read_sees_what_was_accepted_and_zeros_between),
	UNIT(what_is_read_lies_where_the_reply_says),
	UNIT(session_without_memory_reads_all_in_one_message),
	UNIT(read_under_way_outlives_its_client_and_the_daemon),
	UNIT(open_that_fails_says_why),
	UNIT(names_changed_for_an_instance_that_died_are_changed_once),
	UNIT(limits_of_a_uid_hold),
	UNIT(memory_of_a_user_is_what_its_limit_leaves),
	UNIT(who_sends_too_much_is_read_later_and_others_are_not),
	UNIT(others_than_administrators_are_refused_with_eperm),
	UNIT(too_many_that_say_nothing_are_refused_and_other_users_are_not),
	UNIT(local_root_acts_as_whom_it_is_mapped_to),
	UNIT(client_that_does_not_read_is_not_read_from),
	UNIT(ring_is_drained_before_a_message_is_acted_on),
	UNIT(bell_drains_a_ring_that_sleeps),
	UNIT(active_session_is_looked_at_without_a_bell),
	UNIT(session_without_room_is_not_looked_at_until_a_bell),
	UNIT(who_waits_for_the_tail_gets_a_bell),
	UNIT(who_waits_for_room_alone_gets_no_bell_for_the_tail),
	UNIT(head_out_of_range_closes_only_that_session),
	UNIT(session_whose_list_is_full_is_looked_at_seldom),
	UNIT(garbage_in_the_ring_closes_only_that_session),
	UNIT(second_open_sets_the_shared_flag_and_the_last_but_one_clears_it),
	UNIT(message_about_a_file_drains_all_who_have_it_open),
	UNIT(later_write_wins_whether_by_ring_or_by_message),
	UNIT(sync_covers_all_sessions_without_bells),
	UNIT(end_of_a_session_drains_its_ring_and_writes_back),
	UNIT(client_that_leaves_with_calls_out_does_no_harm),
	UNIT(more_small_writes_in_one_chunk_than_the_list_has_slots_go_through),
	UNIT(ring_that_lacked_slots_is_drained_when_data_is_clean),
	UNIT(failed_data_that_fills_the_list_fails_fsync_and_goes_on_later),
	UNIT(failed_data_that_fills_the_list_does_not_keep_a_close),
	UNIT(failed_data_that_fills_the_list_does_not_keep_a_session),
	UNIT(daemon_that_ends_with_calls_out_does_no_harm),
	UNIT(session_tells_what_it_waits_for),
	UNIT(stop_takes_what_was_posted_and_grants_no_more),
)
