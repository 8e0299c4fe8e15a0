/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_alloc.c - malloc and its kin, which fail when they are told to
 *
 * A program's own definitions stand in front of those of every library.  Below
 * them is libc's, or the sanitizer's that libc's are replaced by.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/inject/inject.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BELOW(name) __interceptor_##name
#else
#define BELOW(name) __libc_##name
#endif

void *BELOW(malloc)(size_t);
void *BELOW(calloc)(size_t, size_t);
void *BELOW(realloc)(void *, size_t);
void BELOW(free)(void *);

/* Called also before the sanitizer is ready. */
#define BARE __attribute__((no_sanitize("address", "thread", "undefined")))

BARE static bool
refused(const char *name, const void *caller)
{
	static const int ways[] = { ENOMEM };
	int err;

	if (!inject_on || !inject_fails(INJECT_ALLOC, name, ways, 1, caller, &err))
		return false;
	errno = err;
	return true;
}

BARE static void *
counted(void *p)
{
	if (p && !inject_uncounted)
		__atomic_fetch_add(&inject_live, 1, __ATOMIC_RELAXED);
	return p;
}

BARE void *
malloc(size_t size)
{
	return refused("malloc", __builtin_return_address(0)) ? NULL :
	       counted(BELOW(malloc)(size));
}

BARE void *
calloc(size_t nr, size_t size)
{
	return refused("calloc", __builtin_return_address(0)) ? NULL :
	       counted(BELOW(calloc)(nr, size));
}

BARE void *
realloc(void *p, size_t size)
{
	void *q;

	if (p && !size) {
		free(p);
		return NULL;
	}
	if (refused("realloc", __builtin_return_address(0)))
		return NULL;
	q = BELOW(realloc)(p, size);
	return p ? q : counted(q);
}

BARE void
free(void *p)
{
	if (p)
		__atomic_fetch_sub(&inject_live, 1, __ATOMIC_RELAXED);
	BELOW(free)(p);
}
