/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * raw.c - how fast bytes can go to an NFS server, with nothing around it
 *
 *	raw limit|libnfs ADDRESS MOUNTPORT NFSPORT EXPORT NAME BYTES
 *
 * One file, WRITEs of 1 MiB (UNSTABLE), 16 of them out, and a COMMIT at the end.
 * limit: a header that is filled in and the payload, out of a memory file, by
 * one sendmsg; whole replies are counted and looked at.  What nobody that calls
 * the kernel for each WRITE can do with less.  libnfs: rpc_nfs3_write_async and
 * poll.  Mounting and creating the file is libnfs' part in both.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#define MIB (1u << 20)
#define OUT 16u			/* WRITEs at once */
#define DATA (64 * MIB)		/* the memory file; its pieces by turns */

static struct rpc_context *rpc;
static struct nfs_fh3 file;
static char file_bytes[NFS3_FHSIZE];
static char *data;
static uint64_t bytes;
static int pending;		/* calls by libnfs */

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "raw: %s: %s\n", what, why);
	exit(1);
}

/* ---- libnfs ---- */

static void
service(void)
{
	struct pollfd p = { rpc_get_fd(rpc), (short)rpc_which_events(rpc), 0 };

	if (poll(&p, 1, -1) < 0 || rpc_service(rpc, p.revents) < 0)
		die("service", rpc_get_error(rpc));
}

static void
finish(void)
{
	while (pending)
		service();
}

static void
check(const char *what, int status, int nfs_status)
{
	pending--;
	if (status != RPC_STATUS_SUCCESS || nfs_status)
		die(what, status ? "no answer" : nfsstat3_to_str(nfs_status));
}

static void
queued(const char *what, int ret)
{
	if (ret < 0)
		die(what, rpc_get_error(rpc));
	pending++;
}

static void
connected(struct rpc_context *r, int status, void *res, void *arg)
{
	(void)r, (void)res, (void)arg;
	check("connect", status, 0);
}

static void
connect_to(const char *address, int port, int program)
{
	rpc = rpc_init_context();
	if (!rpc)
		die("context", strerror(ENOMEM));
	queued("connect", rpc_connect_port_async(rpc, address, port, program, 3,
						 connected, NULL));
	finish();
}

static void
keep_handle(const void *fh, unsigned len)
{
	memcpy(file_bytes, fh, len);
	file.data.data_val = file_bytes;
	file.data.data_len = len;
}

static void
mounted(struct rpc_context *r, int status, void *res, void *arg)
{
	const struct mountres3 *m = res;

	(void)r, (void)arg;
	check("mount", status, status ? 0 : (int)m->fhs_status);
	keep_handle(m->mountres3_u.mountinfo.fhandle.fhandle3_val,
		    m->mountres3_u.mountinfo.fhandle.fhandle3_len);
}

static void
created(struct rpc_context *r, int status, void *res, void *arg)
{
	const struct CREATE3res *c = res;
	const struct post_op_fh3 *fh = &c->CREATE3res_u.resok.obj;

	(void)r, (void)arg;
	check("create", status, status ? 0 : (int)c->status);
	if (!fh->handle_follows)
		die("create", "no handle");
	keep_handle(fh->post_op_fh3_u.handle.data.data_val,
		    fh->post_op_fh3_u.handle.data.data_len);
}

static void
create(char *name)
{
	struct CREATE3args a = { 0 };

	a.where.dir = file;
	a.where.name = name;
	a.how.mode = UNCHECKED;
	a.how.createhow3_u.obj_attributes.mode.set_it = 1;
	a.how.createhow3_u.obj_attributes.mode.set_mode3_u.mode = 0644;
	a.how.createhow3_u.obj_attributes.size.set_it = 1;
	queued("create", rpc_nfs3_create_async(rpc, created, &a, NULL));
	finish();
}

static void
written(struct rpc_context *r, int status, void *res, void *arg)
{
	const struct WRITE3res *w = res;

	(void)r, (void)arg;
	check("write", status, status ? 0 : (int)w->status);
	if (w->WRITE3res_u.resok.count != MIB)
		die("write", "short");
}

static void
committed(struct rpc_context *r, int status, void *res, void *arg)
{
	const struct COMMIT3res *c = res;

	(void)r, (void)arg;
	check("commit", status, status ? 0 : (int)c->status);
}

static void
commit(void)
{
	struct COMMIT3args a = { .file = file };

	queued("commit", rpc_nfs3_commit_async(rpc, committed, &a, NULL));
	finish();
}

static void
by_libnfs(void)
{
	struct WRITE3args a = { .file = file, .count = MIB, .stable = UNSTABLE };
	uint64_t at;

	a.data.data_len = MIB;
	for (at = 0; at < bytes; at += MIB) {
		while (pending == OUT)
			service();
		a.offset = at;
		a.data.data_val = data + at % DATA;
		queued("write", rpc_nfs3_write_async(rpc, written, &a, NULL));
	}
	finish();
}

/* ---- the bare loop ---- */

struct head {			/* of a call, as it goes out */
	uint32_t word[64];
	unsigned nr;
	unsigned xid, offset;	/* which words these are */
};

static void
put(struct head *h, uint32_t v)
{
	h->word[h->nr++] = htonl(v);
}

static void
make_head(struct head *h)
{
	unsigned padded = (file.data.data_len + 3) / 4;

	h->nr = 1;
	h->xid = h->nr;
	put(h, 0);
	put(h, 0);		/* a call */
	put(h, 2);
	put(h, NFS_PROGRAM);
	put(h, NFS_V3);
	put(h, NFS3_WRITE);
	put(h, 1);		/* AUTH_SYS */
	put(h, 20);
	put(h, 0);
	put(h, 0);		/* no machine's name */
	put(h, geteuid());
	put(h, getegid());
	put(h, 0);
	put(h, 0);		/* no verifier */
	put(h, 0);
	put(h, file.data.data_len);
	memcpy(h->word + h->nr, file.data.data_val, file.data.data_len);
	h->nr += padded;
	h->offset = h->nr;
	put(h, 0);
	put(h, 0);
	put(h, MIB);
	put(h, UNSTABLE);
	put(h, MIB);
	h->word[0] = htonl(0x80000000u | (h->nr * 4 - 4 + MIB));
}

static int
open_socket(const char *address, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	const int room = 512 << 10;

	a.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		die(address, "no IPv4 address");
	/* where the server asks for a port below 1024 */
	if (fd >= 0 && geteuid() == 0)
		(void)bindresvport(fd, NULL);
	/* as nfswbd has it to a server on this host */
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		die("connect", strerror(errno));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void
send_all(int fd, struct iovec *v, size_t nr)
{
	struct msghdr m = { .msg_iov = v, .msg_iovlen = nr };
	ssize_t n;

	while (m.msg_iovlen) {
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (n < 0)
			die("sendmsg", strerror(errno));
		while (m.msg_iovlen && (size_t)n >= m.msg_iov->iov_len) {
			n -= (ssize_t)m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + n;
			m.msg_iov->iov_len -= (size_t)n;
		}
	}
}

static void
send_write(int fd, struct head *h, uint64_t at)
{
	struct iovec v[2] = { { h->word, h->nr * 4 },
			      { data + at % DATA, MIB } };

	h->word[h->xid] = htonl((uint32_t)(at / MIB));
	h->word[h->offset] = htonl((uint32_t)(at >> 32));
	h->word[h->offset + 1] = htonl((uint32_t)at);
	send_all(fd, v, 2);
}

/* Accepted, done, and NFS3_OK. */
static void
check_reply(const uint32_t *word, size_t len)
{
	unsigned verf = len >= 20 ? ntohl(word[4]) / 4 : 0;

	if (len < (7 + verf) * 4 || ntohl(word[1]) != 1 || word[2] ||
	    word[5 + verf] || word[6 + verf])
		die("write", "refused");
}

/* How many whole replies came; the beginning of the next is kept. */
static unsigned
take_replies(int fd)
{
	static uint32_t buf[16384];
	static size_t have;
	char *p = (char *)buf;
	size_t len;
	unsigned nr = 0;
	ssize_t n = recv(fd, p + have, sizeof buf - have, 0);

	if (n <= 0)
		die("recv", n ? strerror(errno) : "closed");
	have += (size_t)n;
	while (have >= 4 &&
	       (len = ntohl(buf[0]) & 0x7fffffff) + 4 <= have) {
		check_reply(buf + 1, len);
		have -= len + 4;
		memmove(p, p + len + 4, have);
		nr++;
	}
	return nr;
}

static void
bare(const char *address, int port)
{
	struct head h;
	int fd = open_socket(address, port);
	unsigned out = 0;
	uint64_t at;

	make_head(&h);
	for (at = 0; at < bytes; at += MIB) {
		while (out == OUT)
			out -= take_replies(fd);
		send_write(fd, &h, at);
		out++;
	}
	while (out)
		out -= take_replies(fd);
	close(fd);
}

/* ---- */

static void
make_data(void)
{
	int fd = memfd_create("data", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, DATA) < 0)
		die("memory", strerror(errno));
	data = mmap(NULL, DATA, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED)
		die("memory", strerror(errno));
	close(fd);
}

int
main(int argc, char **argv)
{
	if (argc != 8 || (strcmp(argv[1], "limit") && strcmp(argv[1], "libnfs"))) {
		fprintf(stderr, "raw limit|libnfs ADDRESS MOUNTPORT NFSPORT "
				"EXPORT NAME BYTES\n");
		return 2;
	}
	bytes = strtoull(argv[7], NULL, 10) / MIB * MIB;
	make_data();
	connect_to(argv[2], atoi(argv[3]), MOUNT_PROGRAM);
	queued("mount", rpc_mount3_mnt_async(rpc, mounted, argv[5], NULL));
	finish();
	rpc_destroy_context(rpc);
	connect_to(argv[2], atoi(argv[4]), NFS_PROGRAM);
	create(argv[6]);
	if (*argv[1] == 'l' && argv[1][2] == 'b')
		by_libnfs();
	else
		bare(argv[2], atoi(argv[4]));
	commit();
	rpc_destroy_context(rpc);
	return 0;
}
