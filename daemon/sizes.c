/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sizes.c - how large a WRITE, a READ, a file and a queue may be
 *
 * A server's word is taken where it makes sense: a preference above the maximum,
 * a maximum of nothing or of half a page is nonsense, clamped and told once a
 * mount.  Sizes are whole pages, and whole wtmult where that is larger.
 */
#include "common/log.h"
#include "daemon/sizes.h"

#define SIZE_WHEN_UNKNOWN 32768u
#define CONGESTION_MAX_KB (256u * 1024)
#define CONGESTION_MIN_BYTES (512u * 1024)

static uint32_t
size_max(uint32_t max, const char *what, const char *where)
{
	if (!max) {
		log_warning("%s: the server says its largest %s is 0 bytes; "
			    "taken as %u", where, what, SIZE_WHEN_UNKNOWN);
		return SIZE_WHEN_UNKNOWN;
	}
	if (max < SIZE_MIN_BYTES) {
		log_warning("%s: the server says its largest %s is %u bytes; "
			    "taken as %u", where, what, max, SIZE_MIN_BYTES);
		return SIZE_MIN_BYTES;
	}
	return max < SIZE_MAX_BYTES ? max : SIZE_MAX_BYTES;
}

static uint32_t
size_choose(uint32_t max, uint32_t pref, uint32_t wanted, uint32_t mult,
	    const char *what, const char *where)
{
	uint32_t limit = size_max(max, what, where), size = pref;

	if (max && pref > max)
		log_warning("%s: the server prefers a %s of %u bytes and takes "
			    "%u at most; taken as %u", where, what, pref, max,
			    limit);
	if (wanted)
		size = wanted;
	if (!size || size > limit)
		size = limit;
	if (size < SIZE_MIN_BYTES)
		size = SIZE_MIN_BYTES;
	size -= size % SIZE_MIN_BYTES;
	if (mult > 1 && mult <= size)
		size -= size % mult;
	return size;
}

uint32_t
sizes_wsize(const struct fsinfo *f, uint32_t wanted, const char *where)
{
	return size_choose(f->wtmax, f->wtpref, wanted, f->wtmult, "WRITE",
			   where);
}

uint32_t
sizes_rsize(const struct fsinfo *f, uint32_t wanted, const char *where)
{
	return size_choose(f->rtmax, f->rtpref, wanted, 1, "READ", where);
}

uint64_t
sizes_max_file(const struct fsinfo *f)
{
	return f->maxfilesize && f->maxfilesize < INT64_MAX ? f->maxfilesize
							    : INT64_MAX;
}

static uint64_t
square_root(uint64_t n)
{
	uint64_t low = 0, high = UINT32_MAX;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (middle * middle <= n)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The kernel: 16 * sqrt(pages of memory) pages, 256 MB at most. */
uint64_t
sizes_congestion_bytes(uint64_t congestion_kb, uint64_t ram_pages,
		       uint64_t page_bytes)
{
	uint64_t kb = 16 * square_root(ram_pages) * (page_bytes / 1024);

	if (congestion_kb)
		return congestion_kb * 1024;
	if (kb > CONGESTION_MAX_KB)
		kb = CONGESTION_MAX_KB;
	return kb * 1024 > CONGESTION_MIN_BYTES ? kb * 1024
						: CONGESTION_MIN_BYTES;
}
