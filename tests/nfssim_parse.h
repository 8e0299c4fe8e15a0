/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_parse.h - numbers, sizes and times as nfssim's users write them */
#ifndef NFSWB_TESTS_NFSSIM_PARSE_H
#define NFSWB_TESTS_NFSSIM_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* "17", "0x11"; with 2^10, 2^20 … "4k", "1M", "2G"; with 10^3 … "80MB". */
bool parse_size(const char *text, uint64_t *bytes);
/* "250us", "8ms", "1.5s", "2min"; no unit: seconds. */
bool parse_time(const char *text, uint64_t *usec);
/* "40%", "0.4". */
bool parse_share(const char *text, double *share);

#endif
