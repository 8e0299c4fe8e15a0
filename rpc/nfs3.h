/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfs3.h - what NFSv3's XDR does not say: names, errors, payloads in place
 */
#ifndef NFSWB_RPC_NFS3_H
#define NFSWB_RPC_NFS3_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/nfs3_prot.h"

#define NFS3_PROC_NR 22

/* "WRITE"; "?" for a number that is none. */
const char *nfs3_proc_name(uint32_t proc);

/*
 * May it be sent again under a fresh xid, out of reach of the server's reply
 * cache?  Not what changes names, and not SETATTR: a late second truncate would
 * cut newer data (for WRITE the pipeline guards against that).
 */
bool nfs3_is_idempotent(uint32_t proc);

/* 0 or -errno; the table is in nfs3.c.  A number that RFC 1813 does not know is
   -EIO, and logged. */
int nfs3_errno(nfsstat3);
/* "NFS3ERR_NOSPC"; NULL for a number that is none. */
const char *nfs3_status_name(nfsstat3);

/*
 * As xdr_READ3res and xdr_WRITE3args, but decoding leaves the payload where it
 * is: data_val points into the record, good as long as that is, and freeing
 * leaves it alone.
 */
bool_t nfs3_xdr_read_res(XDR *, READ3res *);
bool_t nfs3_xdr_write_args(XDR *, WRITE3args *);

/* Of a READ3res_head: the bytes of data that follow, -1: none (a refusal). */
int64_t nfs3_read_payload(const void *res);

#endif
