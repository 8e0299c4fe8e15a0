/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock.h - real time, for programs that measure it */
#ifndef NFSWB_BENCH_CLOCK_H
#define NFSWB_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
now_nsec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t
now_usec(void)
{
	return now_nsec() / 1000;
}

static inline void
sleep_until(uint64_t usec)
{
	struct timespec t = { (time_t)(usec / 1000000),
			      (long)(usec % 1000000) * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

#endif
