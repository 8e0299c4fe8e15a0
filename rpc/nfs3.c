/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs3.c - names, errors and payloads of NFSv3 (RFC 1813)
 *
 * Most of NFSv3's errors are those of Unix.  The others:
 *
 *	NFS3ERR_DQUOT		EDQUOT
 *	NFS3ERR_STALE		ESTALE
 *	NFS3ERR_BADHANDLE	ESTALE		for the caller it is the same: the
 *						file has to be looked up again
 *	NFS3ERR_NOT_SYNC	EBUSY		somebody changed it in between
 *	NFS3ERR_BAD_COOKIE	EINVAL
 *	NFS3ERR_NOTSUPP		EOPNOTSUPP
 *	NFS3ERR_TOOSMALL	EINVAL		our request's fault
 *	NFS3ERR_SERVERFAULT	EREMOTEIO
 *	NFS3ERR_BADTYPE		EINVAL
 *	NFS3ERR_JUKEBOX		EAGAIN		nothing else is: try again later
 *	any other number	EIO
 */
#include <errno.h>
#include <stddef.h>

#include "common/log.h"
#include "rpc/nfs3.h"

static const char *const proc_name[NFS3_PROC_NR] = {
	"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ",
	"WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR",
	"RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO",
	"PATHCONF", "COMMIT",
};

const char *
nfs3_proc_name(uint32_t proc)
{
	return proc < NFS3_PROC_NR ? proc_name[proc] : "?";
}

bool
nfs3_is_idempotent(uint32_t proc)
{
	switch (proc) {
	case NFSPROC3_SETATTR:
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
	case NFSPROC3_LINK:
		return false;
	}
	return proc < NFS3_PROC_NR;
}

#define STATUS(X) \
	X(NFS3_OK, 0) \
	X(NFS3ERR_PERM, EPERM) \
	X(NFS3ERR_NOENT, ENOENT) \
	X(NFS3ERR_IO, EIO) \
	X(NFS3ERR_NXIO, ENXIO) \
	X(NFS3ERR_ACCES, EACCES) \
	X(NFS3ERR_EXIST, EEXIST) \
	X(NFS3ERR_XDEV, EXDEV) \
	X(NFS3ERR_NODEV, ENODEV) \
	X(NFS3ERR_NOTDIR, ENOTDIR) \
	X(NFS3ERR_ISDIR, EISDIR) \
	X(NFS3ERR_INVAL, EINVAL) \
	X(NFS3ERR_FBIG, EFBIG) \
	X(NFS3ERR_NOSPC, ENOSPC) \
	X(NFS3ERR_ROFS, EROFS) \
	X(NFS3ERR_MLINK, EMLINK) \
	X(NFS3ERR_NAMETOOLONG, ENAMETOOLONG) \
	X(NFS3ERR_NOTEMPTY, ENOTEMPTY) \
	X(NFS3ERR_DQUOT, EDQUOT) \
	X(NFS3ERR_STALE, ESTALE) \
	X(NFS3ERR_REMOTE, EREMOTE) \
	X(NFS3ERR_BADHANDLE, ESTALE) \
	X(NFS3ERR_NOT_SYNC, EBUSY) \
	X(NFS3ERR_BAD_COOKIE, EINVAL) \
	X(NFS3ERR_NOTSUPP, EOPNOTSUPP) \
	X(NFS3ERR_TOOSMALL, EINVAL) \
	X(NFS3ERR_SERVERFAULT, EREMOTEIO) \
	X(NFS3ERR_BADTYPE, EINVAL) \
	X(NFS3ERR_JUKEBOX, EAGAIN)

/* No default in these two: the compiler finds the missing one. */
int
nfs3_errno(nfsstat3 status)
{
	switch (status) {
#define X(name, number) case name: return -number;
	STATUS(X)
#undef X
	}
	log_warning("the server answered with status %u, which NFSv3 does not "
		    "have: taken as an I/O error", (unsigned)status);
	return -EIO;
}

const char *
nfs3_status_name(nfsstat3 status)
{
	switch (status) {
#define X(name, number) case name: return #name;
	STATUS(X)
#undef X
	}
	return NULL;
}

/* An opaque<max> whose bytes stay in the memory that x decodes. */
static bool_t
bytes_in_place(XDR *x, char **data, u_int *len, u_int max)
{
	if (x->x_op == XDR_FREE)
		return TRUE;
	if (x->x_op == XDR_ENCODE)
		return xdr_bytes(x, data, len, max);
	if (!xdr_u_int(x, len) || *len > max)
		return FALSE;
	if (!*len) {
		*data = NULL;
		return TRUE;
	}
	*data = (char *)XDR_INLINE(x, RNDUP(*len));
	return *data != NULL;
}

bool_t
nfs3_xdr_read_res(XDR *x, READ3res *res)
{
	READ3resok *ok = &res->READ3res_u.resok;

	if (!xdr_nfsstat3(x, &res->status))
		return FALSE;
	if (res->status != NFS3_OK)
		return xdr_READ3resfail(x, &res->READ3res_u.resfail);
	return xdr_post_op_attr(x, &ok->file_attributes) &&
	       xdr_count3(x, &ok->count) && xdr_bool(x, &ok->eof) &&
	       bytes_in_place(x, &ok->data.data_val, &ok->data.data_len,
			      NFS3_DATA_MAX);
}

bool_t
nfs3_xdr_write_args(XDR *x, WRITE3args *args)
{
	return xdr_nfs_fh3(x, &args->file) && xdr_offset3(x, &args->offset) &&
	       xdr_count3(x, &args->count) &&
	       xdr_stable_how(x, &args->stable) &&
	       bytes_in_place(x, &args->data.data_val, &args->data.data_len,
			      NFS3_DATA_MAX);
}

int64_t
nfs3_read_payload(const void *res)
{
	const READ3res_head *head = res;

	return head->status == NFS3_OK ?
	       (int64_t)head->READ3res_head_u.resok.data_length : -1;
}
