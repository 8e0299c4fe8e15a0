/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * listen.c - the socket that clients find the daemon at
 *
 * A socket file on which somebody answers is left alone; a stale one is
 * replaced.  A lock beside it, SOCKET.lock, makes that safe against a second
 * daemon that does the same at the same time.  A socket that we were started
 * with goes before all: the service manager's, or our own before we were
 * executed anew.
 *
 * All of this is before the loop runs, so it may wait; nothing here does.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/listen.h"

#define SYSTEM_DIR "/run/nfswbd"
#define SYSTEM_SOCKET SYSTEM_DIR "/nfswbd.sock"
#define USER_SOCKET "nfswbd.sock"
/* names under which what is executed in our place gets it */
#define OURS "listening"
#define THEIRS "listening-manager"

static int
fail(char **error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
fail(char **error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(error, fmt, ap) < 0)
		*error = NULL;
	va_end(ap);
	return -1;
}

/* NULL: no memory. */
static char *
default_path(void)
{
	const char *named = getenv("NFSWB_SOCKET");
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char *path;

	if (named && *named)
		return strdup(named);
	if (geteuid() && dir && *dir == '/')
		return asprintf(&path, "%s/" USER_SOCKET, dir) < 0 ? NULL : path;
	if (!geteuid())
		mkdir(SYSTEM_DIR, 0755);	/* if it fails, bind says so */
	return strdup(SYSTEM_SOCKET);
}

static char *
folder_of(const char *path)
{
	char *copy = strdup(path);
	char *dir = copy ? strdup(dirname(copy)) : NULL;

	free(copy);
	return dir;
}

static int
address(struct sockaddr_un *un, const char *path, char **error)
{
	memset(un, 0, sizeof *un);
	un->sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof un->sun_path)
		return fail(error, "%s: a socket's path has 1 to %zu bytes; "
			    "name another with -s", path,
			    sizeof un->sun_path - 1);
	strcpy(un->sun_path, path);
	return 0;
}

/* What is at the path: 0 nothing, 1 a socket that nobody answers on, -1 and
   *error what is not ours to replace. */
static int
look_at(const struct sockaddr_un *un, char **error)
{
	const char *path = un->sun_path;
	struct stat st;
	int fd, rc, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 :
		       fail(error, "%s: %s; name another socket with -s", path,
			    strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return fail(error, "%s exists and is not a socket; remove it, "
			    "or name another with -s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(error, "no socket can be made: %s",
			    strerror(errno));
	rc = connect(fd, (const struct sockaddr *)un, sizeof *un);
	err = errno;
	close(fd);
	if (!rc || err == EAGAIN)
		return fail(error, "a daemon already runs on %s; stop it, or "
			    "name another socket with -s", path);
	if (err != ECONNREFUSED)
		return fail(error, "%s is a socket that is not ours: %s; name "
			    "another with -s", path, strerror(err));
	return 1;
}

/* With the lock held: nobody has put a living socket there since we looked. */
static int
clear_way(const struct sockaddr_un *un, char **error)
{
	int rc = look_at(un, error);

	if (rc <= 0)
		return rc;
	if (unlink(un->sun_path) && errno != ENOENT)
		return fail(error, "%s is left from a daemon that is gone and "
			    "can't be removed: %s", un->sun_path,
			    strerror(errno));
	log_info("%s: left from a daemon that is gone, replaced",
		 un->sun_path);
	return 0;
}

static int
set_rights(const char *path, const struct config *config, char **error)
{
	struct group *gr;

	if (config->socket_group) {
		gr = getgrnam(config->socket_group);
		if (!gr)
			return fail(error, "%s: no group \"%s\"; mend "
				    "socket_group", path,
				    config->socket_group);
		if (chown(path, (uid_t)-1, gr->gr_gid))
			return fail(error, "%s can't be given to group %s: "
				    "%s; mend socket_group", path,
				    config->socket_group, strerror(errno));
	}
	if (chmod(path, config->socket_mode))
		return fail(error, "%s: its permissions can't be set: %s",
			    path, strerror(errno));
	return 0;
}

static int
bind_at(struct listening *l, const struct config *config, char **error)
{
	struct sockaddr_un un;
	mode_t mask;
	int rc;

	if (address(&un, l->path, error) || clear_way(&un, error))
		return -1;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return fail(error, "no socket can be made: %s",
			    strerror(errno));
	mask = umask(0177);
	rc = bind(l->fd, (struct sockaddr *)&un, sizeof un);
	umask(mask);
	if (rc)
		return fail(error, "%s: can't listen there: %s; name another "
			    "socket with -s", l->path, strerror(errno));
	l->ours = true;
	if (set_rights(l->path, config, error))
		return -1;
	if (listen(l->fd, SOMAXCONN))
		return fail(error, "%s: can't listen there: %s", l->path,
			    strerror(errno));
	return 0;
}

static bool
is_listening(int fd)
{
	int family, type, listens;
	socklen_t len = sizeof family;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) &&
	       family == AF_UNIX && type == SOCK_STREAM && listens;
}

/* The listening socket that we were started with, if there is one. */
static void
take_passed(struct listening *l, struct inherit *in)
{
	struct inherited *e;
	unsigned i;

	for (i = 0; i < in->nr && l->fd < 0; i++) {
		e = &in->each[i];
		if (e->fd < 0 || !is_listening(e->fd))
			continue;
		l->fd = e->fd;
		l->ours = in->again && !strcmp(e->name, OURS);
		e->fd = -1;
	}
}

int
listen_leave(const struct listening *l, int fd, struct inherit *in)
{
	return inherit_add(in, l->ours ? OURS : THEIRS, fd);
}

static char *
path_of(int fd)
{
	struct sockaddr_un un;
	socklen_t len = sizeof un;

	memset(&un, 0, sizeof un);
	if (getsockname(fd, (struct sockaddr *)&un, &len) || !un.sun_path[0])
		return strdup(SYSTEM_SOCKET);
	return strndup(un.sun_path, sizeof un.sun_path);
}

static int
lock_path(struct listening *l, char **error)
{
	char *name;

	if (asprintf(&name, "%s.lock", l->path) < 0)
		return fail(error, "out of memory; try again");
	l->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			  0600);
	if (l->lock_fd < 0) {
		fail(error, "%s can't be written: %s; make the folder, or name "
		     "another socket with -s", name, strerror(errno));
		free(name);
		return -1;
	}
	free(name);
	if (flock(l->lock_fd, LOCK_EX | LOCK_NB))
		return fail(error, "a daemon already runs on %s, or starts "
			    "there; stop it, or name another socket with -s",
			    l->path);
	return 0;
}

/* Where we listen already the lock is not needed: who has it for a moment will
   find that we answer. */
static void
lock_quietly(struct listening *l)
{
	char *error = NULL;

	(void)lock_path(l, &error);
	free(error);
}

/* Before the lock: where a daemon answers, that is the message. */
static int
probe(const struct listening *l, char **error)
{
	struct sockaddr_un un;

	return address(&un, l->path, error) || look_at(&un, error) < 0 ? -1 : 0;
}

/* The table of sessions in there is believed. */
static int
check_runtime_dir(const char *dir, char **error)
{
	struct stat st;

	if (stat(dir, &st))
		return fail(error, "%s: %s; make the folder, or name another "
			    "(socket, runtime_dir)", dir, strerror(errno));
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & 022))
		return fail(error, "%s: others may write there; set "
			    "runtime_dir to a folder that only the daemon's "
			    "user may write", dir);
	return 0;
}

static int
open_at(struct listening *l, const struct config *config, char **error)
{
	l->runtime_dir = config->runtime_dir ? strdup(config->runtime_dir)
					     : folder_of(l->path);
	if (!l->runtime_dir)
		return fail(error, "out of memory; try again");
	if (check_runtime_dir(l->runtime_dir, error))
		return -1;
	if (l->fd < 0)
		return probe(l, error) || lock_path(l, error) ||
		       bind_at(l, config, error) ? -1 : 0;
	if (l->ours)	/* who has the lock now will find us answering */
		lock_quietly(l);
	if (fcntl(l->fd, F_SETFL, fcntl(l->fd, F_GETFL) | O_NONBLOCK))
		return fail(error, "%s: %s", l->path, strerror(errno));
	return 0;
}

int
listen_open(struct listening *l, const struct config *config, const char *path,
	    struct inherit *in, char **error)
{
	*l = (struct listening){ .fd = -1, .lock_fd = -1 };
	*error = NULL;
	take_passed(l, in);
	if (l->fd >= 0)
		l->path = path_of(l->fd);
	else if (path)
		l->path = strdup(path);
	else if (config->socket)
		l->path = strdup(config->socket);
	else
		l->path = default_path();
	if (l->path ? !open_at(l, config, error)
		    : fail(error, "out of memory; try again"))
		return 0;
	listen_close(l);
	return -1;
}

void
listen_close(struct listening *l)
{
	if (l->ours)
		unlink(l->path);
	if (l->fd >= 0)
		close(l->fd);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	free(l->path);
	free(l->runtime_dir);
	*l = (struct listening){ .fd = -1, .lock_fd = -1 };
}
