/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify.c - what the service manager is told, and given to keep
 *
 * The protocol of sd_notify(3): a datagram of lines to $NOTIFY_SOCKET, with a
 * descriptor where one is to be kept.  It is spoken here because that call may
 * wait for a manager that is busy, and nothing on the loop may: what can't be
 * sent now is queued, in order, until it can.
 *
 * The watchdog is fed by a timer of the loop, and only while the write path
 * says that it is alive: so it shows both.
 */
#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

#define STORE "FDSTORE=1\nFDNAME="
#define UNSTORE "FDSTOREREMOVE=1\nFDNAME="

struct message {
	STAILQ_ENTRY(message) link;
	int fd;				/* our own copy; -1: none */
	char text[];
};

struct notify {
	struct loop *loop;
	int fd;				/* -1: there is no manager */
	struct loop_watch *room;
	STAILQ_HEAD(, message) queue;
	bool deaf;			/* it was logged that nobody hears */
	struct loop_timer *timer;
	uint64_t interval_usec;		/* 0: no watchdog */
	bool (*alive)(void *arg);
	void *arg;
	bool dead;			/* it was logged */
};

/* --- one message --- */

/* 0 or -errno. */
static int
send_one(int to, const char *text, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control;
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (fd >= 0) {
		memset(&control, 0, sizeof control);
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	do
		n = sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static bool
is_full(int err)
{
	return err == -EAGAIN || err == -ENOBUFS || err == -ETOOMANYREFS;
}

static void
deaf(struct notify *n, int err)
{
	if (!n->deaf)
		log_warning("the service manager can't be told how nfswbd is: "
			    "%s", strerror(-err));
	n->deaf = true;
}

/* --- those that have to wait --- */

static void
message_free(struct message *m)
{
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

static void
has_room(void *arg, int fd, unsigned events)
{
	struct notify *n = arg;
	struct message *m;
	int err;

	(void)events;
	while ((m = STAILQ_FIRST(&n->queue))) {
		err = send_one(fd, m->text, m->fd);
		if (is_full(err))
			return;
		if (err)
			deaf(n, err);
		STAILQ_REMOVE_HEAD(&n->queue, link);
		message_free(m);
	}
	loop_watch_set(n->loop, n->room, 0);
}

static int
queue(struct notify *n, const char *text, int fd)
{
	size_t len = strlen(text) + 1;
	struct message *m = malloc(sizeof *m + len);

	if (!m)
		return -ENOMEM;
	memcpy(m->text, text, len);
	m->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && m->fd < 0) {
		free(m);
		return -EMFILE;
	}
	STAILQ_INSERT_TAIL(&n->queue, m, link);
	loop_watch_set(n->loop, n->room, LOOP_WRITE);
	return 0;
}

static void
tell(struct notify *n, const char *text, int fd)
{
	int err = -EAGAIN;

	if (!n || n->fd < 0)
		return;
	if (STAILQ_EMPTY(&n->queue))
		err = send_one(n->fd, text, fd);
	if (is_full(err))
		err = queue(n, text, fd);
	if (err)
		deaf(n, err);
}

/* --- the watchdog --- */

static void
feed(void *arg)
{
	struct notify *n = arg;
	bool alive = n->alive(n->arg);

	if (alive)
		tell(n, "WATCHDOG=1", -1);
	else if (!n->dead)
		log_error("nothing is written back though something should "
			  "be: the watchdog is not fed any more");
	n->dead = !alive;
	loop_timer_set(n->loop, n->timer, n->interval_usec);
}

static uint64_t
watchdog_usec(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(usec, NULL, 10);
}

/* --- beginning and end --- */

/* -1: no manager, or one of a kind that we know nothing of. */
static int
connect_manager(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof un.sun_path ||
	    (*path != '/' && *path != '@'))
		return -1;
	memcpy(un.sun_path, path, len);
	if (*path == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	len += offsetof(struct sockaddr_un, sun_path) + (*path == '/');
	if (!connect(fd, (struct sockaddr *)&un, (socklen_t)len))
		return fd;
	log_warning("%s: %s; the service manager can't be told how nfswbd is",
		    path, strerror(errno));
	close(fd);
	return -1;
}

struct notify *
notify_new(struct loop *loop, bool (*alive)(void *arg), void *arg)
{
	struct notify *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->loop = loop;
	n->alive = alive;
	n->arg = arg;
	STAILQ_INIT(&n->queue);
	n->fd = connect_manager();
	if (n->fd >= 0)
		n->room = loop_watch(loop, n->fd, 0, has_room, n);
	n->interval_usec = watchdog_usec() / 2;
	n->timer = loop_timer(loop, feed, n);
	if (!n->timer || (n->fd >= 0 && !n->room)) {
		notify_free(n);
		return NULL;
	}
	if (n->interval_usec && n->fd >= 0)
		loop_timer_set(loop, n->timer, 0);
	return n;
}

void
notify_free(struct notify *n)
{
	struct message *m;

	if (!n)
		return;
	while ((m = STAILQ_FIRST(&n->queue))) {
		STAILQ_REMOVE_HEAD(&n->queue, link);
		message_free(m);
	}
	loop_watch_free(n->loop, n->room);
	loop_timer_free(n->loop, n->timer);
	if (n->fd >= 0)
		close(n->fd);
	free(n);
}

/* --- what is said --- */

void
notify_ready(struct notify *n)
{
	tell(n, "READY=1", -1);
}

void
notify_reloading(struct notify *n)
{
	struct timespec ts;
	char text[80];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
	tell(n, text, -1);
}

void
notify_stopping(struct notify *n, uint64_t timeout_usec)
{
	char text[80];

	snprintf(text, sizeof text, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%"
		 PRIu64, timeout_usec);
	tell(n, text, -1);
}

void
notify_status(struct notify *n, const char *fmt, ...)
{
	char text[512] = "STATUS=";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + 7, sizeof text - 7, fmt, ap);
	va_end(ap);
	tell(n, text, -1);
}

void
notify_store(struct notify *n, const char *name, int fd)
{
	char text[512];

	/* FDPOLL: ours can't be polled, so a hang-up would be no news */
	snprintf(text, sizeof text, STORE "%s\nFDPOLL=0", name);
	tell(n, text, fd);
}

/* What was not even sent need not be taken back: so a manager that is busy does
   not have us queue without end. */
static bool
take_back(struct notify *n, const char *name)
{
	size_t len = strlen(name);
	struct message *m, *next;
	bool found = false;

	for (m = STAILQ_FIRST(&n->queue); m; m = next) {
		next = STAILQ_NEXT(m, link);
		if (m->fd < 0 ||
		    strncmp(m->text + strlen(STORE), name, len) ||
		    m->text[strlen(STORE) + len] != '\n')
			continue;
		STAILQ_REMOVE(&n->queue, m, message, link);
		message_free(m);
		found = true;
	}
	return found;
}

void
notify_unstore(struct notify *n, const char *name)
{
	char text[512];

	if (!n || take_back(n, name))
		return;
	snprintf(text, sizeof text, UNSTORE "%s", name);
	tell(n, text, -1);
}
