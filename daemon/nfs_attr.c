/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfs_attr.c - attributes of NFSv3 and of our clients, one as the other */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "daemon/namespace_impl.h"
#include "include/nfswb.h"

#define NSEC 1000000000ll

static unsigned
type_bits(ftype3 type)
{
	switch (type) {
	case NF3REG:	return S_IFREG;
	case NF3DIR:	return S_IFDIR;
	case NF3BLK:	return S_IFBLK;
	case NF3CHR:	return S_IFCHR;
	case NF3LNK:	return S_IFLNK;
	case NF3SOCK:	return S_IFSOCK;
	case NF3FIFO:	return S_IFIFO;
	}
	return 0;		/* a server's own invention */
}

static int64_t
nsec_from_time(const nfstime3 *t)
{
	return (int64_t)t->seconds * NSEC + (int64_t)t->nseconds;
}

/* NFSv3's seconds have 32 bits and no sign. */
static nfstime3
time_from_nsec(int64_t nsec)
{
	nfstime3 t = { 0, 0 };

	if (nsec < 0)
		return t;
	if (nsec / NSEC > UINT32_MAX)
		nsec = UINT32_MAX * NSEC;
	t.seconds = (uint32_t)(nsec / NSEC);
	t.nseconds = (uint32_t)(nsec % NSEC);
	return t;
}

void
attr_from_fattr(struct nfswb_attr *a, const fattr3 *f)
{
	memset(a, 0, sizeof *a);
	a->type = type_bits(f->type);
	a->mode = f->mode & 07777;
	a->nlink = f->nlink;
	a->uid = f->uid;
	a->gid = f->gid;
	a->size = f->size;
	a->used = f->used;
	a->rdev = makedev(f->rdev.specdata1, f->rdev.specdata2);
	a->fsid = f->fsid;
	a->fileid = f->fileid;
	a->atime_nsec = nsec_from_time(&f->atime);
	a->mtime_nsec = nsec_from_time(&f->mtime);
	a->ctime_nsec = nsec_from_time(&f->ctime);
}

bool
attr_from_post_op(struct nfswb_attr *a, const post_op_attr *p)
{
	if (!p->attributes_follow)
		return false;
	attr_from_fattr(a, &p->post_op_attr_u.attributes);
	return true;
}

void
sattr_from_mode(sattr3 *s, unsigned mode)
{
	memset(s, 0, sizeof *s);
	s->mode.set_it = TRUE;
	s->mode.set_mode3_u.mode = mode & 07777;
}

void
sattr_from_attr(sattr3 *s, unsigned which, const struct nfswb_attr *a)
{
	memset(s, 0, sizeof *s);
	if (which & NFSWB_SET_MODE) {
		s->mode.set_it = TRUE;
		s->mode.set_mode3_u.mode = a->mode & 07777;
	}
	if (which & NFSWB_SET_UID) {
		s->uid.set_it = TRUE;
		s->uid.set_uid3_u.uid = a->uid;
	}
	if (which & NFSWB_SET_GID) {
		s->gid.set_it = TRUE;
		s->gid.set_gid3_u.gid = a->gid;
	}
	if (which & NFSWB_SET_SIZE) {
		s->size.set_it = TRUE;
		s->size.set_size3_u.size = a->size;
	}
	if (which & NFSWB_SET_ATIME) {
		s->atime.set_it = SET_TO_CLIENT_TIME;
		s->atime.set_atime_u.atime = time_from_nsec(a->atime_nsec);
	}
	if (which & NFSWB_SET_MTIME) {
		s->mtime.set_it = SET_TO_CLIENT_TIME;
		s->mtime.set_mtime_u.mtime = time_from_nsec(a->mtime_nsec);
	}
}
