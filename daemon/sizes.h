/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sizes.h - wsize, rsize and limits from what FSINFO and the configuration say */
#ifndef NFSWB_SIZES_H
#define NFSWB_SIZES_H

#include <stdint.h>

struct fsinfo {			/* RFC 1813, 3.3.19 */
	uint32_t rtmax, rtpref, wtmax, wtpref, wtmult;
	uint64_t maxfilesize;
};

#define SIZE_MIN_BYTES 4096u
#define SIZE_MAX_BYTES 1048576u

/* wanted: the configuration's, 0: the server's preference.  where is for the
   warning about a server that says nonsense. */
uint32_t sizes_wsize(const struct fsinfo *, uint32_t wanted,
		     const char *where);
uint32_t sizes_rsize(const struct fsinfo *, uint32_t wanted,
		     const char *where);
uint64_t sizes_max_file(const struct fsinfo *);

/* The async congestion limit in bytes for nfs_congestion_kb; 0: as the kernel
   computes it from the machine's memory. */
uint64_t sizes_congestion_bytes(uint64_t congestion_kb, uint64_t ram_pages,
				uint64_t page_bytes);

#endif
