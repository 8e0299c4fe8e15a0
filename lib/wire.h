/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * wire.h - the socket of a session that is up
 *
 * All under the session's lock, none of them waits.  A connection found lost is
 * handed to link_lost.
 */
#ifndef NFSWB_LIB_WIRE_H
#define NFSWB_LIB_WIRE_H

struct nfswb;

/* Sends of wb->out what the socket takes. */
void wire_send(struct nfswb *);
/* Takes in what is there: answers go to their calls, a bell wakes. */
void wire_receive(struct nfswb *);
/* "Look at the shared memory." */
void wire_bell(struct nfswb *);

#endif
