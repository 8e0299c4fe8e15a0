/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * peer.c - who is at the other end of a socket, as the kernel says it
 *
 * SO_PEERCRED and SO_PEERGROUPS are what the peer was when it connected; a
 * client is never asked.  A process is known by its id and start time, so that
 * an id used again is not taken for it.
 */
#include "daemon/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"

/* The start of /proc/PID/NAME as a string; its length, or -errno. */
static ssize_t
read_proc(pid_t pid, const char *name, char *buf, size_t room)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, room - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

uint64_t
peer_starttime(pid_t pid)
{
	char buf[1024], *at;
	int field;

	if (pid <= 0 || read_proc(pid, "stat", buf, sizeof buf) <= 0)
		return 0;
	at = strrchr(buf, ')');		/* comm may hold blanks and brackets */
	if (at && (at[2] == 'Z' || at[2] == 'X'))
		return 0;		/* ended, not yet waited for */
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

int
peer_pidfd(pid_t pid)
{
	int fd;

	if (pid <= 0)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

static void
peer_comm(struct peer *p)
{
	char *c;

	if (read_proc(p->pid, "comm", p->comm, sizeof p->comm) <= 0)
		strcpy(p->comm, "?");
	for (c = p->comm; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = c[1] ? '?' : '\0';
}

/* The supplementary groups in memory the caller frees; their number in *nr.
   NULL: none known. */
static gid_t *
peer_groups(int fd, unsigned *nr)
{
	socklen_t len = 0;
	gid_t *group;

	*nr = 0;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) ||
	    errno != ERANGE || !len)
		return NULL;
	group = malloc(len);
	if (!group || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &len)) {
		free(group);
		return NULL;
	}
	*nr = (unsigned)(len / sizeof *group);
	return group;
}

int
peer_init(struct peer *p, int fd)
{
	struct ucred u;
	socklen_t len = sizeof u;
	unsigned nr;
	gid_t *group;

	memset(p, 0, sizeof *p);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len))
		return -errno;
	group = peer_groups(fd, &nr);
	p->pid = u.pid;
	p->starttime = peer_starttime(u.pid);
	p->cred = cred_get(u.uid, u.gid, group, nr);
	free(group);
	peer_comm(p);
	if (!p->cred)
		return -ENOMEM;
	if (nr > CRED_GROUPS_MAX)
		log_warning("uid %u is in %u groups: AUTH_SYS carries the "
			    "first %u only", (unsigned)u.uid, nr,
			    CRED_GROUPS_MAX);
	return 0;
}

void
peer_gone(struct peer *p, pid_t pid, struct cred *cred)
{
	memset(p, 0, sizeof *p);
	p->pid = pid;
	p->cred = cred_ref(cred);
	strcpy(p->comm, "(ended)");
}

void
peer_clear(struct peer *p)
{
	cred_put(p->cred);
	p->cred = NULL;
}
