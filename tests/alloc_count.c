/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* alloc_count.c - see alloc_count.h; on tests/inject */
#include "tests/alloc_count.h"

#include <limits.h>
#include <malloc.h>

#include "tests/inject/inject.h"

void
alloc_watch(bool refuse)
{
	inject_begin(&(struct injection){
		.kind = INJECT_ALLOC, .nth = refuse, .times = UINT_MAX });
}

uint64_t
alloc_end(void)
{
	return inject_end()->seen_nr;
}

uint64_t
alloc_in_use(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0;
#else
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
}
