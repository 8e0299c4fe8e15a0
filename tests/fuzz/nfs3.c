/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs3.c - fuzz target: the results of every NFSv3 procedure
 *
 * The first byte chooses the procedure (22 and 23: READ as the daemon reads it,
 * in place, and its head alone); the rest is what the server answered.  What
 * can be decoded can be encoded, to no more bytes (a text ends at its first NUL),
 * and that is decoded to the same again.  Then it goes through what looks at
 * results.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "daemon/namespace_impl.h"
#include "rpc/nfs3.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "nfs3";

typedef bool_t xdr_fn(XDR *, void *);

union result {
	nfsstat3 status;
	GETATTR3res getattr;
	SETATTR3res setattr;
	LOOKUP3res lookup;
	ACCESS3res access;
	READLINK3res readlink;
	READ3res read;
	READ3res_head read_head;
	WRITE3res write;
	CREATE3res create;
	MKDIR3res mkdir;
	SYMLINK3res symlink;
	MKNOD3res mknod;
	REMOVE3res remove;
	RMDIR3res rmdir;
	RENAME3res rename;
	LINK3res link;
	READDIR3res readdir;
	READDIRPLUS3res readdirplus;
	FSSTAT3res fsstat;
	FSINFO3res fsinfo;
	PATHCONF3res pathconf;
	COMMIT3res commit;
};

enum { READ_IN_PLACE = NFS3_PROC_NR, READ_HEAD, KIND_NR };

/* Each by its own type. */
static bool
code(unsigned kind, XDR *x, union result *r)
{
	switch (kind) {
	case NFSPROC3_NULL:	return xdr_void();
	case NFSPROC3_GETATTR:	return xdr_GETATTR3res(x, &r->getattr);
	case NFSPROC3_SETATTR:	return xdr_SETATTR3res(x, &r->setattr);
	case NFSPROC3_LOOKUP:	return xdr_LOOKUP3res(x, &r->lookup);
	case NFSPROC3_ACCESS:	return xdr_ACCESS3res(x, &r->access);
	case NFSPROC3_READLINK:	return xdr_READLINK3res(x, &r->readlink);
	case NFSPROC3_READ:	return xdr_READ3res(x, &r->read);
	case NFSPROC3_WRITE:	return xdr_WRITE3res(x, &r->write);
	case NFSPROC3_CREATE:	return xdr_CREATE3res(x, &r->create);
	case NFSPROC3_MKDIR:	return xdr_MKDIR3res(x, &r->mkdir);
	case NFSPROC3_SYMLINK:	return xdr_SYMLINK3res(x, &r->symlink);
	case NFSPROC3_MKNOD:	return xdr_MKNOD3res(x, &r->mknod);
	case NFSPROC3_REMOVE:	return xdr_REMOVE3res(x, &r->remove);
	case NFSPROC3_RMDIR:	return xdr_RMDIR3res(x, &r->rmdir);
	case NFSPROC3_RENAME:	return xdr_RENAME3res(x, &r->rename);
	case NFSPROC3_LINK:	return xdr_LINK3res(x, &r->link);
	case NFSPROC3_READDIR:	return xdr_READDIR3res(x, &r->readdir);
	case NFSPROC3_READDIRPLUS:
		return xdr_READDIRPLUS3res(x, &r->readdirplus);
	case NFSPROC3_FSSTAT:	return xdr_FSSTAT3res(x, &r->fsstat);
	case NFSPROC3_FSINFO:	return xdr_FSINFO3res(x, &r->fsinfo);
	case NFSPROC3_PATHCONF:	return xdr_PATHCONF3res(x, &r->pathconf);
	case NFSPROC3_COMMIT:	return xdr_COMMIT3res(x, &r->commit);
	case READ_IN_PLACE:	return nfs3_xdr_read_res(x, &r->read);
	case READ_HEAD:		return xdr_READ3res_head(x, &r->read_head);
	}
	return false;
}

static bool
decode(unsigned kind, const void *data, size_t size, union result *r,
       size_t *used)
{
	bool good;
	XDR x;

	memset(r, 0, sizeof *r);
	xdrmem_create(&x, (char *)(uintptr_t)data, (u_int)size, XDR_DECODE);
	good = code(kind, &x, r);
	*used = xdr_getpos(&x);
	return good;
}

/* What was decoded in part is freed as well. */
static void
release(unsigned kind, union result *r)
{
	XDR x = { .x_op = XDR_FREE };

	code(kind, &x, r);
}

/* It takes *size bytes at most. */
static char *
encode(unsigned kind, union result *r, size_t *size)
{
	char *out = malloc(*size + 1);
	XDR x;

	FUZZ_CHECK(out);
	xdrmem_create(&x, out, (u_int)*size, XDR_ENCODE);
	FUZZ_CHECK(code(kind, &x, r));
	*size = xdr_getpos(&x);
	return out;
}

static void
check_again(unsigned kind, union result *r, size_t size)
{
	char *once = encode(kind, r, &size), *twice;
	size_t used, again = size;
	union result s;

	FUZZ_CHECK(decode(kind, once, size, &s, &used) && used == size);
	twice = encode(kind, &s, &again);
	FUZZ_CHECK(again == size && !memcmp(once, twice, size));
	free(twice);
	release(kind, &s);
	free(once);
}

static void
look_at_attributes(const fattr3 *f)
{
	struct nfswb_attr a;
	sattr3 s;

	attr_from_fattr(&a, f);
	FUZZ_CHECK(!(a.type & ~(unsigned)S_IFMT) && a.mode <= 07777);
	sattr_from_attr(&s, ~0u, &a);
	FUZZ_CHECK(s.size.set_size3_u.size == f->size);
}

static void
look(unsigned kind, const union result *r)
{
	struct nfswb_attr a;
	int err;

	if (kind == NFSPROC3_NULL)
		return;
	err = nfs3_errno(r->status);
	FUZZ_CHECK(err <= 0 && !err == (r->status == NFS3_OK));
	FUZZ_CHECK(err == -EIO || nfs3_status_name(r->status));
	if (err)
		return;
	if (kind == NFSPROC3_GETATTR)
		look_at_attributes(&r->getattr.GETATTR3res_u.resok.
				   obj_attributes);
	if (kind == NFSPROC3_LOOKUP)
		attr_from_post_op(&a, &r->lookup.LOOKUP3res_u.resok.
				  obj_attributes);
	if (kind == NFSPROC3_WRITE)
		attr_from_post_op(&a, &r->write.WRITE3res_u.resok.file_wcc.
				  after);
	if (kind == READ_HEAD)
		FUZZ_CHECK(nfs3_read_payload(&r->read_head) ==
			   r->read_head.READ3res_head_u.resok.data_length);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned kind = (unsigned)fuzz_take(&in, 1) % KIND_NR;
	union result r;
	size_t used;

	log_set_level(LOG_LEVEL_ERROR);
	if (decode(kind, in.at, in.left, &r, &used)) {
		look(kind, &r);
		check_again(kind, &r, used);
	}
	release(kind, &r);
	return 0;
}
