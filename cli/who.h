/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* who.h - the table of sessions, for nfswb who and nfswb top */
#ifndef NFSWB_CLI_WHO_H
#define NFSWB_CLI_WHO_H

#include <jansson.h>

/* The most lines at most (0: all), those with the most held data first; this
   process' own session is left out. */
void who_print(const json_t *statistics, unsigned most);

#endif
