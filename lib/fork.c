/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fork.c - tells a child from its parent by counting forks, without getpid */
#include <stdatomic.h>

#include "lib/fork.h"
#include "lib/session.h"

static _Atomic unsigned generation;

unsigned
fork_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void
fork_count(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

bool
fork_is_stale(const struct nfswb *wb)
{
	return wb->born != fork_generation();
}
