/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inherit.c - the descriptors this process was started with, by their names
 *
 *	LISTEN_PID=P LISTEN_FDS=N LISTEN_FDNAMES=A:B:…	from the service manager:
 *					3, 4, … (sd_listen_fds(3))
 *	NFSWB_HANDOVER=P:F		from ourselves, before we were executed
 *					anew: F holds lines "NUMBER NAME"
 *
 * P is the process it is meant for: a child that inherits the environment must
 * not take its own descriptors for these.
 */
#include "daemon/inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/log.h"

#define FIRST 3
#define HANDOVER "NFSWB_HANDOVER"

int
inherit_add(struct inherit *in, const char *name, int fd)
{
	struct inherited *more;

	more = realloc(in->each, (in->nr + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	in->each = more;
	more[in->nr].name = strdup(name);
	if (!more[in->nr].name)
		return -ENOMEM;
	more[in->nr++].fd = fd;
	return 0;
}

/* false: it is not open. */
static bool
set_cloexec(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 &&
	       !fcntl(fd, F_SETFD, on ? flags | FD_CLOEXEC
				      : flags & ~FD_CLOEXEC);
}

/* Is it meant for us?  What follows the process' number in *rest. */
static bool
is_ours(const char *text, const char **rest)
{
	char *end;

	if (!text || strtol(text, &end, 10) != (long)getpid() || end == text)
		return false;
	*rest = end;
	return true;
}

/* --- from the service manager --- */

static int
take_listen_fds(struct inherit *in, const char *count, const char *names)
{
	const char *at = names ? names : "";
	long nr = count ? strtol(count, NULL, 10) : 0;
	char name[256];
	size_t len;
	int err = 0, i;

	for (i = 0; i < nr && !err; i++) {
		len = strcspn(at, ":");
		snprintf(name, sizeof name, "%.*s", (int)len, at);
		at += at[len] ? len + 1 : len;
		if (set_cloexec(FIRST + i, true))
			err = inherit_add(in, name, FIRST + i);
	}
	return err;
}

/* --- from ourselves --- */

static int
take_line(struct inherit *in, const char *line)
{
	int fd, at = 0;

	if (sscanf(line, "%d %n", &fd, &at) != 1 || !at ||
	    !set_cloexec(fd, true))
		return 0;
	return inherit_add(in, line + at, fd);
}

static int
take_handover(struct inherit *in, int fd)
{
	char *line = NULL;
	size_t room = 0;
	int err = 0;
	FILE *f = fdopen(fd, "re");

	if (!f)
		return -errno;
	in->again = true;
	while (!err && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		err = take_line(in, line);
	}
	free(line);
	fclose(f);
	return err;
}

int
inherit_take(struct inherit *in)
{
	const char *rest;
	int err = 0;

	*in = (struct inherit){ .each = NULL };
	if (is_ours(getenv(HANDOVER), &rest) && *rest == ':')
		err = take_handover(in, atoi(rest + 1));
	if (!err && is_ours(getenv("LISTEN_PID"), &rest))
		err = take_listen_fds(in, getenv("LISTEN_FDS"),
				      getenv("LISTEN_FDNAMES"));
	unsetenv(HANDOVER);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return err;
}

static void
forget(struct inherit *in)
{
	while (in->nr)
		free(in->each[--in->nr].name);
	free(in->each);
	in->each = NULL;
}

void
inherit_free(struct inherit *in)
{
	unsigned i;

	for (i = 0; i < in->nr; i++) {
		if (in->each[i].fd < 0)
			continue;
		log_warning("descriptor %d (\"%s\") that nfswbd was started "
			    "with is not for it; closed", in->each[i].fd,
			    in->each[i].name);
		close(in->each[i].fd);
	}
	forget(in);
}

/* --- to what is executed next --- */

static int
write_names(const struct inherit *in, int fd)
{
	unsigned i;

	for (i = 0; i < in->nr; i++)
		if (dprintf(fd, "%d %s\n", in->each[i].fd,
			    in->each[i].name) < 0)
			return -errno;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int
inherit_leave(struct inherit *in)
{
	char text[64];
	unsigned i;
	int err, fd = memfd_create("nfswbd-handover", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	err = write_names(in, fd);
	snprintf(text, sizeof text, "%ld:%d", (long)getpid(), fd);
	if (!err && setenv(HANDOVER, text, 1))
		err = -ENOMEM;
	if (err) {
		close(fd);
		return err;
	}
	for (i = 0; i < in->nr; i++)
		set_cloexec(in->each[i].fd, false);
	set_cloexec(fd, false);
	return 0;
}

void
inherit_stay(struct inherit *in)
{
	const char *rest;
	unsigned i;

	for (i = 0; i < in->nr; i++)
		set_cloexec(in->each[i].fd, true);
	if (is_ours(getenv(HANDOVER), &rest))
		close(atoi(rest + 1));
	unsetenv(HANDOVER);
	forget(in);
}
