/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * control.h - requests to the daemon itself: JSON in, JSON out
 */
#ifndef NFSWB_CONTROL_H
#define NFSWB_CONTROL_H

#include "daemon/access.h"

struct config;
struct given_up_list;

struct control_env {
	const struct config *config;
	struct given_up_list *given_up;
};
/* An object, {"error": …} where the request makes no sense; or *err is set to
   -errno and the text says why in words.  The caller frees; NULL: no memory. */
char *control_answer(const struct control_env *, const char *request,
		     const struct asker *, int *err);

#endif
