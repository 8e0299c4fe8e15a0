/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory.c - the two memfds of a session: made, sealed, checked, mapped
 *
 * Sealed against shrinking, a page that was mapped stays there: the daemon's
 * touch of it can't end in SIGBUS.  What comes back after a restart is believed
 * only with all three seals and the very size that was made.
 */
#include "daemon/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* The unified hierarchy's memory.max of one process; UINT64_MAX: none. */
static uint64_t
cgroup_limit(pid_t pid)
{
	char path[4096 + 64], line[4096], *end;
	uint64_t limit = UINT64_MAX;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = !strncmp(line, "0::/", 4);
	if (f)
		fclose(f);
	if (!found || strstr(line, "/../"))
		return UINT64_MAX;
	line[strcspn(line, "\n")] = '\0';
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
	f = fopen(path, "re");
	if (!f)
		return UINT64_MAX;
	if (fgets(line, sizeof line, f)) {
		limit = strtoull(line, &end, 10);
		if (end == line)
			limit = UINT64_MAX;	/* "max" */
	}
	fclose(f);
	return limit;
}

uint64_t
memory_size(uint64_t configured, uint64_t wanted, pid_t client)
{
	uint64_t size = configured, quarter = UINT64_MAX;

	if (client > 0)
		quarter = cgroup_limit(client) / 4;
	if (wanted && wanted < size)
		size = wanted;
	if (quarter < size)
		size = quarter;
	if (size > 1ull << 31)
		size = 1ull << 31;
	size -= size % NFSWB_CHUNK_BYTES;
	if (size < MEMORY_MIN)
		size = MEMORY_MIN;
	return size;
}

static void *
map(int fd, size_t bytes)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE :
			     MAP_SHARED;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Maps what the descriptors hold; they stay the caller's on failure. */
static int
map_both(struct memory *m, int control_fd, int data_fd, uint64_t data_bytes)
{
	struct nfswb_layout l;
	void *control, *data;
	int err;

	if (nfswb_layout(&l, data_bytes))
		return -EINVAL;
	control = map(control_fd, l.bytes);
	data = control ? map(data_fd, data_bytes) : NULL;
	if (!data || shm_view_init(&m->view, control, data, data_bytes)) {
		err = errno ? -errno : -EINVAL;
		if (control)
			munmap(control, l.bytes);
		if (data)
			munmap(data, data_bytes);
		return err;
	}
	m->control_fd = control_fd;
	m->data_fd = data_fd;
	m->data_bytes = data_bytes;
	return 0;
}

static int
sealed_memfd(const char *name, uint64_t bytes)
{
	unsigned flags = MFD_ALLOW_SEALING | MFD_CLOEXEC;
	int fd, err;

	fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)		/* before Linux 6.3 */
		fd = memfd_create(name, flags);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, SEALS)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
memory_new(struct memory *m, uint64_t data_bytes, uint64_t session)
{
	struct nfswb_layout l;
	int control_fd, data_fd, err;

	memset(m, 0, sizeof *m);
	if (nfswb_layout(&l, data_bytes))
		return -EINVAL;
	control_fd = sealed_memfd("nfswb-control", l.bytes);
	if (control_fd < 0)
		return control_fd;
	data_fd = sealed_memfd("nfswb-data", data_bytes);
	err = data_fd < 0 ? data_fd :
			    map_both(m, control_fd, data_fd, data_bytes);
	if (err) {
		close(control_fd);
		if (data_fd >= 0)
			close(data_fd);
		return err;
	}
	shm_view_format(&m->view, session);
	return 0;
}

int
memory_private(struct memory *m, uint64_t data_bytes, uint64_t session)
{
	int err;

	memset(m, 0, sizeof *m);
	err = map_both(m, -1, -1, data_bytes);
	if (!err)
		shm_view_format(&m->view, session);
	return err;
}

/* NULL: fd is what we made. */
static const char *
not_ours(int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);	/* first: waits for nobody */
	struct statfs fs;
	struct stat st;

	if (seals < 0)
		return "a descriptor is no memory file";
	if ((seals & SEALS) != SEALS)
		return "a memory file is not sealed";
	/* huge pages may run out when they are touched */
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return "a memory file is of huge pages";
	if (fstat(fd, &st) || (uint64_t)st.st_size != bytes)
		return "a memory file has another size than it was made with";
	return NULL;
}

const char *
memory_not_ours(int control_fd, int data_fd, uint64_t data_bytes)
{
	struct nfswb_layout l;
	const char *why;

	if (nfswb_layout(&l, data_bytes))
		return "no such size was ever made";
	why = not_ours(control_fd, l.bytes);
	return why ? why : not_ours(data_fd, data_bytes);
}

int
memory_adopt(struct memory *m, int control_fd, int data_fd,
	     uint64_t data_bytes, const char **why)
{
	int err;

	memset(m, 0, sizeof *m);
	*why = memory_not_ours(control_fd, data_fd, data_bytes);
	if (*why)
		return -EPERM;
	*why = "the memory can't be mapped";
	err = map_both(m, control_fd, data_fd, data_bytes);
	if (err)
		return err;
	if (m->view.control->magic == NFSWB_SHM_MAGIC)
		return 0;
	*why = "the control area is not of this version";
	m->control_fd = m->data_fd = -1;
	memory_free(m);
	return -EPROTO;
}

void
memory_free(struct memory *m)
{
	if (!m->data_bytes)
		return;
	munmap(m->view.control, m->view.layout.bytes);
	munmap(m->view.data, m->data_bytes);
	if (m->control_fd >= 0)
		close(m->control_fd);
	if (m->data_fd >= 0)
		close(m->data_fd);
	memset(m, 0, sizeof *m);
}

void
memory_punch(struct memory *m, uint64_t place, uint64_t length)
{
	if (m->data_fd < 0)
		(void)madvise(m->view.data + place, length, MADV_DONTNEED);
	else	/* where that fails the pages stay, that is all */
		(void)fallocate(m->data_fd, FALLOC_FL_PUNCH_HOLE |
				FALLOC_FL_KEEP_SIZE, (off_t)place,
				(off_t)length);
}
