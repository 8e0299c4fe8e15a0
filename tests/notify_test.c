/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify_test.c - what a service manager is told, on a socket of its kind, and
 * what a process takes that it started
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/inherit.h"
#include "daemon/notify.h"
#include "tests/unit.h"
#include "tests/vloop.h"

#define SECOND 1000000ull

struct manager {
	struct loop *loop;
	struct notify *notify;
	int fd, came;			/* the last descriptor */
	char text[512];
	bool alive;
};

static bool
is_alive(void *arg)
{
	return ((struct manager *)arg)->alive;
}

/* At a name in the abstract namespace, which is gone with us. */
static void
manager_open(struct manager *m, const char *watchdog_usec)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len;
	char name[64];

	snprintf(name, sizeof name, "@nfswb-notify-test-%d", (int)getpid());
	strcpy(un.sun_path, name);
	un.sun_path[0] = '\0';
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			  strlen(name));
	memset(m, 0, sizeof *m);
	m->came = -1;
	m->alive = true;
	m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CU_ASSERT_EQUAL_FATAL(bind(m->fd, (struct sockaddr *)&un, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	if (watchdog_usec)
		setenv("WATCHDOG_USEC", watchdog_usec, 1);
	m->loop = vloop_new(SECOND);
	m->notify = notify_new(m->loop, is_alive, m);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m->notify);
}

static void
manager_close(struct manager *m)
{
	notify_free(m->notify);
	loop_free(m->loop);
	if (m->came >= 0)
		close(m->came);
	close(m->fd);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
}

/* The next message in text, its descriptor in came; false: there is none. */
static bool
hear(struct manager *m)
{
	char room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { m->text, sizeof m->text - 1 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof room };
	struct cmsghdr *c;
	ssize_t n = recvmsg(m->fd, &h, MSG_CMSG_CLOEXEC);

	if (m->came >= 0)
		close(m->came);
	m->came = -1;
	m->text[n > 0 ? n : 0] = '\0';
	c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	if (c)
		memcpy(&m->came, CMSG_DATA(c), sizeof m->came);
	return n > 0;
}

static bool
hears(struct manager *m, const char *text)
{
	return hear(m) && !strcmp(m->text, text);
}

static bool
is_same(int a, int b)
{
	struct stat x, y;

	return a >= 0 && !fstat(a, &x) && !fstat(b, &y) &&
	       x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void
manager_hears_how_the_daemon_is(void)
{
	struct manager m;

	manager_open(&m, NULL);
	notify_status(m.notify, "Listening on %s", "x");
	notify_ready(m.notify);
	notify_reloading(m.notify);
	notify_stopping(m.notify, 7 * SECOND);
	CU_ASSERT(hears(&m, "STATUS=Listening on x"));
	CU_ASSERT(hears(&m, "READY=1"));
	CU_ASSERT(hear(&m));
	CU_ASSERT_EQUAL(strncmp(m.text, "RELOADING=1\nMONOTONIC_USEC=", 27),
			0);
	CU_ASSERT(hears(&m, "STOPPING=1\nEXTEND_TIMEOUT_USEC=7000000"));
	CU_ASSERT(!hear(&m));
	manager_close(&m);
}

static void
descriptor_is_stored_and_removed_by_name(void)
{
	struct manager m;
	int fd = memfd_create("x", MFD_CLOEXEC);

	manager_open(&m, NULL);
	notify_store(m.notify, "session-1-data", fd);
	notify_unstore(m.notify, "session-1-data");
	CU_ASSERT(hears(&m, "FDSTORE=1\nFDNAME=session-1-data\nFDPOLL=0"));
	CU_ASSERT(is_same(m.came, fd));
	CU_ASSERT(hears(&m, "FDSTOREREMOVE=1\nFDNAME=session-1-data"));
	CU_ASSERT_EQUAL(m.came, -1);
	close(fd);
	manager_close(&m);
}

/* So many that the manager's queue is full; the number told. */
static unsigned
fill(struct manager *m)
{
	unsigned i;

	for (i = 0; i < 5000; i++)
		notify_status(m->notify, "%u", i);
	return i;
}

static void
busy_manager_holds_nobody_up_and_hears_all_in_order(void)
{
	struct manager m;
	int fd = memfd_create("x", MFD_CLOEXEC);
	unsigned told, i, wrong = 0;
	char text[64];

	manager_open(&m, NULL);
	told = fill(&m);
	notify_store(m.notify, "a", fd);
	close(fd);			/* the queue has its own */
	notify_ready(m.notify);
	for (i = 0; i < told; i++) {
		snprintf(text, sizeof text, "STATUS=%u", i);
		if (!hears(&m, text)) {
			vloop_pass(m.loop, 1000);
			wrong += strcmp(m.text, text) && !hears(&m, text);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	vloop_pass(m.loop, 1000);
	CU_ASSERT(hears(&m, "FDSTORE=1\nFDNAME=a\nFDPOLL=0"));
	CU_ASSERT(m.came >= 0);
	CU_ASSERT(hears(&m, "READY=1"));
	manager_close(&m);
}

static void
what_a_busy_manager_was_never_given_is_not_taken_back(void)
{
	struct manager m;
	int fd = memfd_create("x", MFD_CLOEXEC);
	unsigned told, i;

	manager_open(&m, NULL);
	told = fill(&m);
	notify_store(m.notify, "aa", fd);
	notify_store(m.notify, "a", fd);
	notify_unstore(m.notify, "a");
	close(fd);
	for (i = 0; i < told; i++)
		if (!hear(&m)) {
			vloop_pass(m.loop, 1000);
			hear(&m);
		}
	vloop_pass(m.loop, 1000);
	CU_ASSERT(hears(&m, "FDSTORE=1\nFDNAME=aa\nFDPOLL=0"));
	CU_ASSERT(!hear(&m));
	manager_close(&m);
}

static void
watchdog_is_fed_twice_an_interval_and_only_by_who_is_alive(void)
{
	struct manager m;
	unsigned nr;

	manager_open(&m, "30000000");
	vloop_pass(m.loop, 60 * SECOND);
	for (nr = 0; hears(&m, "WATCHDOG=1"); nr++)
		;
	CU_ASSERT_EQUAL(nr, 5);		/* at once, then every 15 s */
	m.alive = false;
	vloop_pass(m.loop, 60 * SECOND);
	CU_ASSERT(!hear(&m));
	m.alive = true;
	vloop_pass(m.loop, 15 * SECOND);
	CU_ASSERT(hears(&m, "WATCHDOG=1"));
	manager_close(&m);
}

static void
nothing_is_fed_that_is_not_wanted_or_meant_for_another_process(void)
{
	struct manager m;

	manager_open(&m, NULL);
	vloop_pass(m.loop, 60 * SECOND);
	CU_ASSERT(!hear(&m));
	manager_close(&m);
	manager_open(&m, NULL);
	notify_free(m.notify);
	setenv("WATCHDOG_PID", "1", 1);
	setenv("WATCHDOG_USEC", "1000000", 1);
	m.notify = notify_new(m.loop, is_alive, &m);
	vloop_pass(m.loop, 60 * SECOND);
	CU_ASSERT(!hear(&m));
	manager_close(&m);
	unsetenv("WATCHDOG_PID");
}

static void
without_a_manager_nothing_is_told(void)
{
	struct loop *l = vloop_new(SECOND);
	struct notify *n;

	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	n = notify_new(l, is_alive, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(n);
	notify_ready(n);
	notify_store(n, "a", 0);
	notify_unstore(n, "a");
	notify_free(n);
	unsetenv("NOTIFY_SOCKET");
	n = notify_new(l, is_alive, NULL);
	notify_ready(n);
	notify_free(n);
	notify_ready(NULL);
	loop_free(l);
}

/* --- what a process was started with --- */

static int
find(const struct inherit *in, const char *name)
{
	unsigned i;

	for (i = 0; i < in->nr; i++)
		if (!strcmp(in->each[i].name, name))
			return in->each[i].fd;
	return -1;
}

/* In a process of its own, since the numbers start at 3; its exit status. */
static int
apart(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(what());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void
set_pid(const char *name, const char *more)
{
	char text[64];

	snprintf(text, sizeof text, "%ld%s", (long)getpid(), more);
	setenv(name, text, 1);
}

static int
listen_fds(void)
{
	struct inherit in;
	int bad = 0;

	close_range(3, ~0u, 0);
	if (memfd_create("a", 0) != 3 || memfd_create("b", 0) != 4)
		return 99;
	set_pid("LISTEN_PID", "");
	setenv("LISTEN_FDS", "3", 1);	/* the last isn't open */
	setenv("LISTEN_FDNAMES", "one:session-1-data:gone", 1);
	bad |= inherit_take(&in) != 0;
	bad |= (in.nr != 2) << 1 | in.again << 2;
	bad |= (find(&in, "one") != 3) << 3;
	bad |= (find(&in, "session-1-data") != 4) << 4;
	bad |= !(fcntl(3, F_GETFD) & FD_CLOEXEC) << 5;
	bad |= (getenv("LISTEN_FDS") || getenv("LISTEN_PID")) << 6;
	in.each[0].fd = -1;		/* somebody's now */
	inherit_free(&in);
	bad |= (fcntl(4, F_GETFD) >= 0 || fcntl(3, F_GETFD) < 0) << 7;
	return bad;
}

static int
not_ours(void)
{
	struct inherit in;

	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("NFSWB_HANDOVER", "1:0", 1);
	return inherit_take(&in) || in.nr || in.again ||
	       getenv("NFSWB_HANDOVER");
}

static int
handed_over(void)
{
	struct inherit in = { .nr = 0 }, out;
	int a = memfd_create("a", MFD_CLOEXEC), bad = 0;
	int b = memfd_create("b", MFD_CLOEXEC);

	bad |= inherit_add(&in, "a name", a) || inherit_add(&in, "b", b);
	bad |= (inherit_leave(&in) != 0) << 1;
	bad |= (fcntl(a, F_GETFD) & FD_CLOEXEC || !getenv("NFSWB_HANDOVER"))
	       << 2;
	bad |= (inherit_take(&out) || !out.again || out.nr != 2) << 3;
	bad |= (find(&out, "a name") != a || find(&out, "b") != b) << 4;
	bad |= !(fcntl(b, F_GETFD) & FD_CLOEXEC) << 5;
	return bad;
}

static int
handed_over_in_vain(void)
{
	struct inherit in = { .nr = 0 };
	int a = memfd_create("a", MFD_CLOEXEC), bad, next;

	bad = inherit_add(&in, "a", a) || inherit_leave(&in);
	inherit_stay(&in);
	bad |= !(fcntl(a, F_GETFD) & FD_CLOEXEC) << 1;
	bad |= (getenv("NFSWB_HANDOVER") || in.nr) << 2;
	next = memfd_create("b", 0);	/* the table itself is closed */
	return bad | (next != a + 1) << 3;
}

static void
descriptors_of_the_manager_are_taken_by_name_and_what_is_not_wanted_closed(void)
{
	CU_ASSERT_EQUAL(apart(listen_fds), 0);
}

static void
descriptors_meant_for_another_process_are_left_alone(void)
{
	CU_ASSERT_EQUAL(apart(not_ours), 0);
}

static void
what_is_executed_in_our_place_gets_descriptors_by_name(void)
{
	CU_ASSERT_EQUAL(apart(handed_over), 0);
}

static void
handing_over_in_vain_leaves_all_as_it_was(void)
{
	CU_ASSERT_EQUAL(apart(handed_over_in_vain), 0);
}

UNIT_TESTS(notify,
	UNIT(manager_hears_how_the_daemon_is),
	UNIT(descriptor_is_stored_and_removed_by_name),
	UNIT(busy_manager_holds_nobody_up_and_hears_all_in_order),
	UNIT(what_a_busy_manager_was_never_given_is_not_taken_back),
	UNIT(watchdog_is_fed_twice_an_interval_and_only_by_who_is_alive),
	UNIT(nothing_is_fed_that_is_not_wanted_or_meant_for_another_process),
	UNIT(without_a_manager_nothing_is_told),
	UNIT(descriptors_of_the_manager_are_taken_by_name_and_what_is_not_wanted_closed),
	UNIT(descriptors_meant_for_another_process_are_left_alone),
	UNIT(what_is_executed_in_our_place_gets_descriptors_by_name),
	UNIT(handing_over_in_vain_leaves_all_as_it_was),
)
