/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rpcb_stub.c - preloaded into nfs-ganesha, so that it starts without rpcbind
 *
 * ganesha registers its programs with the portmapper and ends where nobody
 * answers.  Our tests name their ports in the URL, so nobody will ever ask;
 * every question about registration is answered "done".  The arguments are of
 * no interest, so the library's own types need not be known here.
 */
#include <stdbool.h>
#include <stddef.h>

bool rpcb_set(void);
bool rpcb_unset(void);
void *rpcb_find_mapped_addr(void);

bool
rpcb_set(void)
{
	return true;
}

bool
rpcb_unset(void)
{
	return true;
}

void *
rpcb_find_mapped_addr(void)
{
	return NULL;
}
