/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * control.h - requests to the daemon itself: JSON in, JSON out
 */
#ifndef NFSWB_CONTROL_H
#define NFSWB_CONTROL_H

#include <sys/types.h>

struct config;
struct given_up_list;

struct control_env {
	const struct config *config;
	const struct given_up_list *given_up;
};
/* Always an object, {"error": …} where the request was refused.  The caller
   frees; NULL: no memory. */
char *control_answer(const struct control_env *, const char *request,
		     uid_t uid);

#endif
