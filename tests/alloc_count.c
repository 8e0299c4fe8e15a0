/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* alloc_count.c - see alloc_count.h */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "tests/alloc_count.h"

static bool watching, refusing, installed;
static uint64_t counted;

static bool
refused(void)
{
	if (!watching)
		return false;
	counted++;
	if (getenv("ALLOC_ABORT"))
		abort();
	if (!refusing)
		return false;
	errno = ENOMEM;
	return true;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t),
	void (*on_free)(const volatile void *));

static void
on_malloc(const volatile void *p, size_t size)
{
	(void)p;
	(void)size;
	(void)refused();
}

static void
on_free(const volatile void *p)
{
	(void)p;
}

static void
install(void)
{
	if (!installed)
		(void)__sanitizer_install_malloc_and_free_hooks(on_malloc,
								on_free);
	installed = true;
	refusing = false;
}

uint64_t
alloc_in_use(void)
{
	return 0;
}

#else

/* glibc's own names for its own */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *
malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t nr, size_t size)
{
	return refused() ? NULL : __libc_calloc(nr, size);
}

void *
realloc(void *p, size_t size)
{
	return refused() ? NULL : __libc_realloc(p, size);
}

static void
install(void)
{
	installed = true;
}

uint64_t
alloc_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

#endif

void
alloc_watch(bool refuse)
{
	refusing = refuse;
	install();
	counted = 0;
	watching = true;
}

uint64_t
alloc_end(void)
{
	watching = false;
	return counted;
}
