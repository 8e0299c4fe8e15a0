/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* listen_test.c - which socket is taken, what is replaced, what is left alone */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/listen.h"
#include "tests/unit.h"

static char dir[64];
static struct inherit nothing;

static void
dir_open(void)
{
	strcpy(dir, "/tmp/listen_test.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
}

static char *
in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void
dir_close(void)
{
	unlink(in_dir("s.lock"));
	unlink(in_dir("t.lock"));
	unlink(in_dir("nfswbd.sock.lock"));
	unlink(in_dir("s"));
	unlink(in_dir("t"));
	unlink(in_dir("nfswbd.sock"));
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static int
connect_to(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(un.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&un, sizeof un))
		return fd;
	close(fd);
	return -1;
}

static void
refused(const char *path, const struct config *c, const char *why)
{
	struct listening l;
	char *error = NULL;

	CU_ASSERT_EQUAL(listen_open(&l, c, path, &nothing, &error), -1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	if (!strstr(error, why) || strchr(error, '\n')) {
		CU_FAIL("another message");
		printf("# %s\n", error);
	}
	free(error);
}

static void
socket_is_made_with_its_rights_and_goes_at_the_end(void)
{
	struct config c = { .socket_mode = 0640 };
	struct listening l;
	struct stat st;
	char *error;
	int fd;

	dir_open();
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	CU_ASSERT_EQUAL(stat(in_dir("s"), &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 07777, 0640);
	CU_ASSERT(fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	CU_ASSERT(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
	CU_ASSERT_STRING_EQUAL(l.runtime_dir, dir);
	fd = connect_to(in_dir("s"));
	CU_ASSERT(fd >= 0);
	close(fd);
	listen_close(&l);
	CU_ASSERT_EQUAL(stat(in_dir("s"), &st), -1);
	dir_close();
}

static void
second_daemon_on_a_socket_is_refused(void)
{
	struct config c = { .socket_mode = 0600 };
	struct listening l;
	char *error;

	dir_open();
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	refused(in_dir("s"), &c, "a daemon already runs on");
	CU_ASSERT(connect_to(in_dir("s")) >= 0);
	listen_close(&l);
	dir_close();
}

/* Both found the path free, or stale; the second must not undo the first. */
static void
second_daemon_that_starts_at_the_same_time_is_refused(void)
{
	struct config c = { .socket_mode = 0600 };
	struct listening l;
	char *error;

	dir_open();
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	unlink(in_dir("s"));
	refused(in_dir("s"), &c, "or starts there");
	listen_close(&l);
	dir_close();
}

static void
stale_socket_is_replaced(void)
{
	struct config c = { .socket_mode = 0600 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct listening l;
	char *error;
	int fd;

	dir_open();
	strcpy(un.sun_path, in_dir("s"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	fd = connect_to(in_dir("s"));
	CU_ASSERT(fd >= 0);
	close(fd);
	listen_close(&l);
	dir_close();
}

static void
file_that_is_no_socket_is_left_alone(void)
{
	struct config c = { .socket_mode = 0600 };
	struct stat st;

	dir_open();
	close(open(in_dir("s"), O_CREAT | O_WRONLY, 0600));
	refused(in_dir("s"), &c, "not a socket");
	CU_ASSERT_EQUAL(stat(in_dir("s"), &st), 0);
	dir_close();
}

static void
socket_of_another_kind_is_left_alone(void)
{
	struct config c = { .socket_mode = 0600 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	dir_open();
	strcpy(un.sun_path, in_dir("s"));
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	refused(in_dir("s"), &c, "not ours");
	CU_ASSERT_EQUAL(stat(in_dir("s"), &st), 0);
	close(fd);
	dir_close();
}

static void
folder_that_is_missing_is_named(void)
{
	struct config c = { .socket_mode = 0600 };

	dir_open();
	refused(in_dir("no/such/s"), &c, "make the folder");
	dir_close();
}

/* Its table of sessions would be anybody's. */
static void
folder_that_others_may_write_is_refused(void)
{
	struct config c = { .socket_mode = 0600 };
	struct listening l;
	char *error;

	dir_open();
	CU_ASSERT_EQUAL(chmod(dir, 01777), 0);
	refused(in_dir("s"), &c, "others may write there");
	c.runtime_dir = strdup("/");
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	CU_ASSERT_STRING_EQUAL(l.runtime_dir, "/");
	listen_close(&l);
	free(c.runtime_dir);
	dir_close();
}

static void
path_that_is_too_long_is_refused(void)
{
	struct config c = { .socket_mode = 0600 };
	char path[200];

	memset(path, 'x', sizeof path - 1);
	memcpy(path, "/", 1);
	path[sizeof path - 1] = '\0';
	refused(path, &c, "1 to 107 bytes");
}

static void
option_goes_before_file_and_file_before_environment(void)
{
	struct config c = { .socket_mode = 0600 };
	struct listening l;
	char *error;

	dir_open();
	setenv("NFSWB_SOCKET", in_dir("nfswbd.sock"), 1);
	c.socket = strdup(in_dir("t"));
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, in_dir("s"), &nothing,
				      &error), 0);
	CU_ASSERT_STRING_EQUAL(l.path, in_dir("s"));
	listen_close(&l);
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, NULL, &nothing, &error), 0);
	CU_ASSERT_STRING_EQUAL(l.path, in_dir("t"));
	listen_close(&l);
	free(c.socket);
	c.socket = NULL;
	CU_ASSERT_EQUAL_FATAL(listen_open(&l, &c, NULL, &nothing, &error), 0);
	CU_ASSERT_STRING_EQUAL(l.path, in_dir("nfswbd.sock"));
	listen_close(&l);
	unsetenv("NFSWB_SOCKET");
	dir_close();
}

UNIT_TESTS(listen,
	UNIT(socket_is_made_with_its_rights_and_goes_at_the_end),
	UNIT(second_daemon_on_a_socket_is_refused),
	UNIT(second_daemon_that_starts_at_the_same_time_is_refused),
	UNIT(stale_socket_is_replaced),
	UNIT(file_that_is_no_socket_is_left_alone),
	UNIT(socket_of_another_kind_is_left_alone),
	UNIT(folder_that_is_missing_is_named),
	UNIT(folder_that_others_may_write_is_refused),
	UNIT(path_that_is_too_long_is_refused),
	UNIT(option_goes_before_file_and_file_before_environment),
)
