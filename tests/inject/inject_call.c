/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_call.c - system calls, as libc offers them, which fail when they are
 * told to
 *
 * One line a call: result, name, what it takes, what it returns when it fails,
 * and the ways to fail.  Left out is what can fail only by a mistake of the
 * caller's (epoll_wait but for EINTR, timerfd_settime, clock_gettime, …).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/inject/inject.h"

#define NR(a) ((unsigned)(sizeof(a) / sizeof (a)[0]))
#define CALLER __builtin_return_address(0)
#define REAL(name) ((__typeof__(&name))below(&real_##name, #name))
#define HAS_REAL(name) static void *real_##name

static void *
below(void **real, const char *name)
{
	if (!*real)
		*real = dlsym(RTLD_NEXT, name);
	return *real;
}

#define WAYS(...) static const int ways[] = { __VA_ARGS__ }
#define FAILS(name, err) \
	inject_fails(INJECT_CALL, #name, ways, NR(ways), CALLER, &err)

#define CALL_FIRST(first, type, name, params, args, bad, ...) \
	HAS_REAL(name); \
	type \
	name params \
	{ \
		WAYS(__VA_ARGS__); \
		int err; \
		if (FAILS(name, err)) { \
			first; \
			errno = err; \
			return bad; \
		} \
		return REAL(name) args; \
	}

/* A call that fails in place of what it would do. */
#define CALL(type, name, params, args, bad, ...) \
	CALL_FIRST((void)0, type, name, params, args, bad, __VA_ARGS__)

/* One that does it, and says that it failed. */
#define CALL_DONE(type, name, params, args, bad, ...) \
	CALL_FIRST((void)REAL(name) args, type, name, params, args, bad, \
		   __VA_ARGS__)

/* One that moves bytes, `len` of them: also fewer. */
#define MOVE(name, params, args, ...) \
	HAS_REAL(name); \
	ssize_t \
	name params \
	{ \
		WAYS(__VA_ARGS__); \
		int err; \
		if (FAILS(name, err)) { \
			if (err != INJECT_SHORT) { \
				errno = err; \
				return -1; \
			} \
			len = len > 1 ? len / 2 : len; \
		} \
		return REAL(name) args; \
	}

/* sockets */
CALL(int, socket, (int domain, int type, int protocol),
     (domain, type, protocol), -1, EMFILE, ENOBUFS)
CALL(int, socketpair, (int domain, int type, int protocol, int fd[2]),
     (domain, type, protocol, fd), -1, EMFILE, ENOBUFS)
CALL(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n),
     -1, EADDRINUSE, EACCES)
CALL(int, listen, (int fd, int n), (fd, n), -1, EADDRINUSE)
CALL(int, connect, (int fd, const struct sockaddr *a, socklen_t n),
     (fd, a, n), -1, ECONNREFUSED, ETIMEDOUT, EADDRNOTAVAIL, EINTR)
CALL(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags),
     (fd, a, n, flags), -1, EMFILE, ECONNABORTED, EINTR, EAGAIN, ENOMEM, EPERM)
CALL(int, getsockopt, (int fd, int level, int name, void *v, socklen_t *n),
     (fd, level, name, v, n), -1, ENOBUFS)
CALL(int, setsockopt,
     (int fd, int level, int name, const void *v, socklen_t n),
     (fd, level, name, v, n), -1, ENOMEM)
CALL(int, getsockname, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n),
     -1, ENOBUFS)
CALL(int, getpeername, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n),
     -1, ENOTCONN)
CALL(int, shutdown, (int fd, int how), (fd, how), -1, ENOTCONN)
MOVE(send, (int fd, const void *p, size_t len, int flags),
     (fd, p, len, flags), EPIPE, EAGAIN, EINTR, ENOBUFS, INJECT_SHORT)
MOVE(recv, (int fd, void *p, size_t len, int flags), (fd, p, len, flags),
     ECONNRESET, EAGAIN, EINTR, ENOMEM, INJECT_SHORT)

static size_t
total(const struct msghdr *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->msg_iovlen; i++)
		n += m->msg_iov[i].iov_len;
	return n;
}

/* The same with half of its room, in iov. */
static struct msghdr
half_of(const struct msghdr *m, struct iovec *iov, size_t room)
{
	size_t left = total(m), i;
	struct msghdr h = *m;

	left = left > 1 ? left / 2 : left;
	for (i = 0; i < m->msg_iovlen && i < room && left; i++) {
		iov[i] = m->msg_iov[i];
		if (iov[i].iov_len > left)
			iov[i].iov_len = left;
		left -= iov[i].iov_len;
	}
	h.msg_iov = iov;
	h.msg_iovlen = i;
	return h;
}

HAS_REAL(sendmsg);
ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	WAYS(EPIPE, EAGAIN, EINTR, ENOBUFS, INJECT_SHORT, ETOOMANYREFS);
	struct iovec iov[64];
	struct msghdr half;
	int err;

	if (!FAILS(sendmsg, err))
		return REAL(sendmsg)(fd, m, flags);
	if (err == INJECT_SHORT) {
		half = half_of(m, iov, NR(iov));
		return REAL(sendmsg)(fd, &half, flags);
	}
	errno = err;
	return -1;
}

HAS_REAL(recvmsg);
ssize_t
recvmsg(int fd, struct msghdr *m, int flags)
{
	WAYS(ECONNRESET, EAGAIN, EINTR, ENOMEM, INJECT_SHORT, INJECT_CUT);
	struct iovec iov[64];
	struct msghdr half;
	ssize_t n;
	int err;

	if (!FAILS(recvmsg, err))
		return REAL(recvmsg)(fd, m, flags);
	if (err == INJECT_CUT) {
		m->msg_controllen = 0;
		return REAL(recvmsg)(fd, m, flags);
	}
	if (err == INJECT_SHORT) {
		half = half_of(m, iov, NR(iov));
		n = REAL(recvmsg)(fd, &half, flags);
		m->msg_controllen = half.msg_controllen;
		m->msg_flags = half.msg_flags;
		return n;
	}
	errno = err;
	return -1;
}

/* files */
MOVE(read, (int fd, void *p, size_t len), (fd, p, len), EIO, EINTR, ENOMEM,
     INJECT_SHORT)
MOVE(write, (int fd, const void *p, size_t len), (fd, p, len), ENOSPC, EIO,
     EINTR, INJECT_SHORT)
CALL_DONE(int, close, (int fd), (fd), -1, EIO, EINTR)
CALL(int, stat, (const char *path, struct stat *st), (path, st), -1, EACCES)
CALL(int, lstat, (const char *path, struct stat *st), (path, st), -1, EACCES)
CALL(int, ftruncate, (int fd, off_t n), (fd, n), -1, ENOSPC, EINTR)
CALL(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n),
     -1, ENOMEM, EINTR)
CALL(int, rename, (const char *from, const char *to), (from, to), -1, ENOSPC,
     EACCES)
CALL(int, unlink, (const char *path), (path), -1, EACCES)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
CALL(int, chmod, (const char *path, mode_t mode), (path, mode), -1, EPERM)
CALL(int, flock, (int fd, int how), (fd, how), -1, ENOLCK, EINTR)
CALL(off_t, lseek, (int fd, off_t at, int how), (fd, at, how), -1, ESPIPE)
CALL(ssize_t, readlink, (const char *path, char *p, size_t n), (path, p, n),
     -1, EACCES)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL,
     EMFILE, EACCES, ENOMEM)
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode),
     NULL, EMFILE, EACCES, ENOMEM)

HAS_REAL(open);
int
open(const char *path, int flags, ...)
{
	WAYS(EMFILE, EACCES, ENOMEM, ENOSPC);
	va_list ap;
	mode_t mode;
	int err;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (FAILS(open, err)) {
		errno = err;
		return -1;
	}
	return REAL(open)(path, flags, mode);
}

HAS_REAL(fcntl);
int
fcntl(int fd, int cmd, ...)
{
	WAYS(EMFILE);
	va_list ap;
	void *arg;
	int err;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if ((cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) && FAILS(fcntl, err)) {
		errno = err;
		return -1;
	}
	return REAL(fcntl)(fd, cmd, arg);
}

CALL(int, dup3, (int from, int to, int flags), (from, to, flags), -1, EMFILE,
     EBUSY, EINTR)
CALL(int, pipe2, (int fd[2], int flags), (fd, flags), -1, EMFILE)

/* memory */
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1,
     EMFILE, ENOMEM)
CALL(void *, mmap,
     (void *at, size_t n, int prot, int flags, int fd, off_t off),
     (at, n, prot, flags, fd, off), MAP_FAILED, ENOMEM)
CALL_DONE(int, munmap, (void *at, size_t n), (at, n), -1, ENOMEM)
CALL(int, madvise, (void *at, size_t n, int how), (at, n, how), -1, EAGAIN)

/* waiting */
CALL(int, poll, (struct pollfd *p, nfds_t nr, int ms), (p, nr, ms), -1, EINTR,
     ENOMEM)
CALL(int, epoll_create1, (int flags), (flags), -1, EMFILE)
CALL(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e),
     (ep, op, fd, e), -1, ENOMEM, ENOSPC)
CALL(int, epoll_wait, (int ep, struct epoll_event *e, int nr, int ms),
     (ep, e, nr, ms), -1, EINTR)
CALL(int, eventfd, (unsigned v, int flags), (v, flags), -1, EMFILE)
CALL(int, timerfd_create, (int clock, int flags), (clock, flags), -1, EMFILE)

/* the rest */
CALL(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags),
     -1, EAGAIN, EINTR)

HAS_REAL(syscall);
long
syscall(long nr, ...)
{
	WAYS(EMFILE, ENOMEM, ESRCH);
	long a[6];
	va_list ap;
	int err, i;

	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_pidfd_open && FAILS(pidfd_open, err)) {
		errno = err;
		return -1;
	}
	return REAL(syscall)(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define THREADS_MAX 256

bool inject_joins;
static pthread_t threads[THREADS_MAX];
static unsigned thread_nr;

void
inject_join(void)
{
	while (thread_nr)
		pthread_join(threads[--thread_nr], NULL);
}

struct start {
	void *(*fn)(void *);
	void *arg;
};

static void *
started(void *arg)
{
	struct start s = *(struct start *)arg;

	inject_here = true;
	arg = s.fn(s.arg);
	inject_here = false;
	return arg;
}

/* What a thread has is libc's, which may keep it for the next one. */
HAS_REAL(pthread_create);
int
pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *),
	       void *arg)
{
	WAYS(EAGAIN);
	bool joins = inject_joins && thread_nr < THREADS_MAX;
	pthread_attr_t small;		/* or few of them are kept */
	static struct start room[1024];
	static atomic_uint at;
	struct start *s = &room[atomic_fetch_add(&at, 1) % NR(room)];
	int err;

	if (FAILS(pthread_create, err))
		return err;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	*s = (struct start){ fn, arg };
	inject_uncounted = true;
	err = REAL(pthread_create)(t, joins ? &small : a, started, s);
	inject_uncounted = false;
	pthread_attr_destroy(&small);
	if (joins && !err)
		threads[thread_nr++] = *t;
	return err;
}

HAS_REAL(posix_spawn);
int
posix_spawn(pid_t *pid, const char *path,
	    const posix_spawn_file_actions_t *actions,
	    const posix_spawnattr_t *attr, char *const argv[],
	    char *const env[])
{
	WAYS(EAGAIN, ENOMEM);
	int err;

	if (FAILS(posix_spawn, err))
		return err;
	return REAL(posix_spawn)(pid, path, actions, attr, argv, env);
}

HAS_REAL(getaddrinfo);
int
getaddrinfo(const char *name, const char *service,
	    const struct addrinfo *hints, struct addrinfo **out)
{
	WAYS(EAI_MEMORY, EAI_AGAIN);
	int err;

	if (FAILS(getaddrinfo, err))
		return err;
	return REAL(getaddrinfo)(name, service, hints, out);
}
