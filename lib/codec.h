/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* codec.h - calls and replies as records, by rpcgen's XDR */
#ifndef NFSWB_LIB_CODEC_H
#define NFSWB_LIB_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "include/nfswb_prot.h"

/* Where in a record (mark included) a call's id and flags lie. */
#define CODEC_ID_AT	4
#define CODEC_FLAGS_AT	12

/* The call as one record with its mark; the caller frees.  0, -ENOMEM, or
   -EMSGSIZE where it is longer than the protocol allows. */
int codec_encode(const nfswb_call *, unsigned char **record, size_t *length);
/* 0, or -EPROTO with nothing to free; else codec_free. */
int codec_decode(unsigned char *data, size_t length, nfswb_reply *);
void codec_free(nfswb_reply *);

void codec_put32(unsigned char *, uint32_t);
void codec_put64(unsigned char *, uint64_t);
uint64_t codec_get64(const unsigned char *);

#endif
