/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs3_errno.h - an nfsstat3 as errno
 *
 * By number, so that both users of libtirpc's and of libnfs' headers can ask.
 */
#ifndef NFSWB_RPC_NFS3_ERRNO_H
#define NFSWB_RPC_NFS3_ERRNO_H

#include <errno.h>
#include <stdint.h>

/* 0 or -errno; -EAGAIN is JUKEBOX: ask again later. */
static inline int
nfs3_errno(uint32_t status)
{
	switch (status) {
	case 0:		return 0;
	case 1:		return -EPERM;
	case 2:		return -ENOENT;
	case 5:		return -EIO;
	case 6:		return -ENXIO;
	case 13:	return -EACCES;
	case 17:	return -EEXIST;
	case 18:	return -EXDEV;
	case 19:	return -ENODEV;
	case 20:	return -ENOTDIR;
	case 21:	return -EISDIR;
	case 22:	return -EINVAL;
	case 27:	return -EFBIG;
	case 28:	return -ENOSPC;
	case 30:	return -EROFS;
	case 31:	return -EMLINK;
	case 63:	return -ENAMETOOLONG;
	case 66:	return -ENOTEMPTY;
	case 69:	return -EDQUOT;
	case 70:	return -ESTALE;
	case 71:	return -EREMOTE;
	case 10001:	return -ESTALE;		/* BADHANDLE */
	case 10002:	return -EIO;		/* NOT_SYNC */
	case 10003:	return -ESTALE;		/* BAD_COOKIE */
	case 10004:	return -EOPNOTSUPP;	/* NOTSUPP */
	case 10005:	return -EIO;		/* TOOSMALL */
	case 10006:	return -EREMOTEIO;	/* SERVERFAULT */
	case 10007:	return -EINVAL;		/* BADTYPE */
	case 10008:	return -EAGAIN;		/* JUKEBOX */
	default:	return -EIO;
	}
}

#endif
