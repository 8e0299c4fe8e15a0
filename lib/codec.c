/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* codec.c - encode, decode */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/record.h"
#include "lib/codec.h"

int
codec_encode(const nfswb_call *call, unsigned char **record, size_t *length)
{
	size_t size = xdr_sizeof((xdrproc_t)xdr_nfswb_call, (void *)call);
	unsigned char *p;
	XDR x;
	bool_t ok;

	/* xdr_sizeof says 0 for what breaks a bound of the protocol */
	if (size == 0 || size > NFSWB_RECORD_MAX)
		return -EMSGSIZE;
	p = malloc(size + 4);
	if (!p)
		return -ENOMEM;
	record_mark(p, size);
	xdrmem_create(&x, (char *)p + 4, (u_int)size, XDR_ENCODE);
	ok = xdr_nfswb_call(&x, (nfswb_call *)call);
	xdr_destroy(&x);
	if (!ok) {
		free(p);
		return -EMSGSIZE;
	}
	*record = p;
	*length = size + 4;
	return 0;
}

int
codec_decode(unsigned char *data, size_t length, nfswb_reply *reply)
{
	XDR x;
	bool_t ok;

	memset(reply, 0, sizeof *reply);
	xdrmem_create(&x, (char *)data, (u_int)length, XDR_DECODE);
	ok = xdr_nfswb_reply(&x, reply);
	xdr_destroy(&x);
	if (ok)
		return 0;
	codec_free(reply);
	return -EPROTO;
}

void
codec_free(nfswb_reply *reply)
{
	xdr_free((xdrproc_t)xdr_nfswb_reply, (char *)reply);
	memset(reply, 0, sizeof *reply);
}

void
codec_put32(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)(v >> 24);
	p[1] = (unsigned char)(v >> 16);
	p[2] = (unsigned char)(v >> 8);
	p[3] = (unsigned char)v;
}

void
codec_put64(unsigned char *p, uint64_t v)
{
	codec_put32(p, (uint32_t)(v >> 32));
	codec_put32(p + 4, (uint32_t)v);
}

uint64_t
codec_get64(const unsigned char *p)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}
