/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * error.c - each thread's last failure on each connection, in words
 *
 * A thread remembers a handful of connections, the one that failed longest ago
 * is forgotten first.  All of it is thread-local storage: saying that memory
 * ran out needs none.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/error.h"
#include "lib/fork.h"
#include "lib/session.h"

#define SLOTS 6
#define TEXT_MAX 640

struct slot {
	uint64_t serial;	/* of the connection; 0: nfswb_connect */
	uint64_t age;
	char text[TEXT_MAX];
};

static _Thread_local struct slot slots[SLOTS];
static _Thread_local uint64_t failures;
static _Thread_local char cause[TEXT_MAX - 64];

void
error_cause(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cause, sizeof cause, fmt, ap);
	va_end(ap);
}

/* What errno numbers mean where nobody said more. */
static const char *
meaning(int err)
{
	const char *s;

	switch (err) {
	case ETIMEDOUT:
		return "the time given by nfswb_set_timeout ran out";
	case EINTR:
		return "interrupted by a signal";
	}
	s = strerrordesc_np(err);
	return s ? s : "unknown error";
}

static struct slot *
slot_for(uint64_t serial)
{
	struct slot *oldest = &slots[1];
	unsigned i;

	if (!serial)
		return &slots[0];
	for (i = 1; i < SLOTS; i++) {
		if (slots[i].serial == serial)
			return &slots[i];
		if (slots[i].age < oldest->age)
			oldest = &slots[i];
	}
	return oldest;
}

int
error_enter(const struct nfswb *wb)
{
	cause[0] = '\0';
	if (!wb)
		return -EINVAL;
	if (fork_is_stale(wb)) {
		error_cause("the connection belongs to the parent process; "
			    "a child needs its own nfswb_connect");
		return -ESTALE;
	}
	return 0;
}

ssize_t
error_leave(const struct nfswb *wb, const char *call, ssize_t ret)
{
	struct slot *s;

	if (ret >= 0)
		return ret;
	s = slot_for(wb ? wb->serial : 0);
	s->serial = wb ? wb->serial : 0;
	s->age = ++failures;
	snprintf(s->text, sizeof s->text, "%s: %s", call,
		 cause[0] ? cause : meaning((int)-ret));
	errno = (int)-ret;
	return -1;
}

const char *
nfswb_strerror(struct nfswb *wb)
{
	struct slot *s = slot_for(wb ? wb->serial : 0);

	if (s->serial != (wb ? wb->serial : 0) || !s->text[0])
		return "no failure";
	return s->text;
}
