/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_link.h - the wire between clients and the server: a rate, a way
 *
 * Each direction carries one message after the other; half a round trip after
 * its last bit has left, a message is there.
 */
#ifndef NFSWB_TESTS_NFSSIM_LINK_H
#define NFSWB_TESTS_NFSSIM_LINK_H

#include <stdint.h>

enum link_way { LINK_IN, LINK_OUT };	/* as the server sees it */

struct link {
	uint64_t bits_per_sec;		/* each way; 0: no limit */
	uint64_t rtt_nsec;
	uint64_t busy_until[2];
};

/* When a message that is handed over at now arrives. */
uint64_t link_pass(struct link *, enum link_way, uint64_t now_nsec,
		   uint64_t bytes);
/* How long what was handed over until now keeps that direction busy. */
uint64_t link_backlog(const struct link *, enum link_way, uint64_t now_nsec);

#endif
