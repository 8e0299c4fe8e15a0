/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unit.c - runs a CUnit suite and prints TAP */
#include <stdio.h>
#include <string.h>

#include <CUnit/Automated.h>

#include "tests/unit.h"

static unsigned done_nr;

static void
completed(const CU_pTest test, const CU_pSuite suite,
	  const CU_pFailureRecord failure)
{
	CU_pFailureRecord f;

	(void)suite;
	printf("%sok %u - %s\n", failure ? "not " : "", ++done_nr,
	       test->pName);
	for (f = failure; f; f = f->pNext)
		printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber,
		       f->strCondition);
	fflush(stdout);
}

int
unit_main(const char *suite_name, const struct unit_test *tests, int argc,
	  char **argv)
{
	CU_pSuite suite;
	unsigned nr = 0;
	const struct unit_test *t;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 99;
	suite = CU_add_suite(suite_name, NULL, NULL);
	for (t = tests; suite && t->name; t++) {
		if (argc > 1 && !strstr(t->name, argv[1]))
			continue;
		if (!CU_add_test(suite, t->name, t->run))
			return 99;
		nr++;
	}
	printf("1..%u\n", nr);
	CU_set_test_complete_handler(completed);
	CU_run_all_tests();
	nr = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	return nr ? 1 : 0;
}
