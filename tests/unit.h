/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unit.h - a CUnit suite that speaks TAP, so that every test counts
 *
 *	static void record_is_whole_after_last_fragment(void) { CU_ASSERT(…); }
 *	UNIT_TESTS(record,
 *		UNIT(record_is_whole_after_last_fragment),
 *	)
 */
#ifndef NFSWB_TESTS_UNIT_H
#define NFSWB_TESTS_UNIT_H

#include <CUnit/CUnit.h>

struct unit_test {
	const char *name;
	void (*run)(void);
};

/* Runs them in order (or those whose name contains argv[1]); the exit code. */
int unit_main(const char *suite, const struct unit_test *, int argc,
	      char **argv);

#define UNIT(fn) { #fn, fn }
#define UNIT_TESTS(suite, ...) \
	int main(int argc, char **argv) \
	{ \
		static const struct unit_test tests[] = { \
			__VA_ARGS__ { NULL, NULL } \
		}; \
		return unit_main(#suite, tests, argc, argv); \
	}

#endif
