/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * transport.h - the pipeline's table of NFS calls, on rpc/'s client
 */
#ifndef NFSWB_TRANSPORT_H
#define NFSWB_TRANSPORT_H

#include "daemon/writeback/nfs_calls.h"
#include "daemon/writeback/server.h"
#include "rpc/client.h"

struct transport;

/* now comes from the loop.  The client stays the caller's. */
struct transport *transport_new(struct loop *, struct rpc_client *);
/* What becomes of the client's foreground calls, the pipeline's or not, is told to
   this server, which calls through this transport. */
void transport_watch(struct transport *, struct wb_server *);
void transport_free(struct transport *);
/* Whose arg is the struct transport. */
extern const struct wb_calls transport_calls;

#endif
