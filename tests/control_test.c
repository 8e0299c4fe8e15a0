/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* control_test.c - requests to the daemon itself, and who may make them */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/given_up.h"
#include "tests/unit.h"

static json_t *
ask_as(uid_t uid, const char *request)
{
	struct control_env env = { config_default(), given_up_new() };
	json_t *j;
	char *text;

	given_up_add((struct given_up_list *)env.given_up, "nfs://h/f", 1, 2,
		     -28);
	text = control_answer(&env, request, uid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	j = json_loads(text, 0, NULL);
	CU_ASSERT(json_is_object(j));
	free(text);
	config_free((struct config *)env.config);
	given_up_free((struct given_up_list *)env.given_up);
	return j;
}

static void
refused(uid_t uid, const char *request, const char *why)
{
	json_t *j = ask_as(uid, request);
	const char *error = json_string_value(json_object_get(j, "error"));

	CU_ASSERT_PTR_NOT_NULL(error);
	CU_ASSERT(error && strstr(error, why));
	CU_ASSERT_EQUAL(json_object_size(j), 1);
	json_decref(j);
}

static void
log_level_can_be_changed(void)
{
	json_t *j = ask_as(0, "{\"command\": \"log\", \"level\": \"warning\"}");

	CU_ASSERT_PTR_NULL(json_object_get(j, "error"));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(j, "level")),
			       "warning");
	json_decref(j);
}

static void
unknown_log_level_is_refused(void)
{
	refused(0, "{\"command\": \"log\", \"level\": \"loud\"}", "no such");
	refused(0, "{\"command\": \"log\"}", "no such level");
	refused(0, "{\"command\": \"log\", \"level\": 3}", "no such level");
}

static void
failed_lists_what_was_given_up(void)
{
	json_t *j = ask_as(geteuid(), "{\"command\": \"failed\"}");
	json_t *list = json_object_get(j, "given_up");

	CU_ASSERT_EQUAL(json_array_size(list), 1);
	json_decref(j);
}

static void
config_shows_value_and_sentence(void)
{
	json_t *j = ask_as(0, "{\"command\": \"config\"}");
	json_t *key = json_object_get(json_object_get(j, "config"),
				      "slab_bytes");

	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(key, "value")),
			       "256M");
	CU_ASSERT(json_is_string(json_object_get(key, "sentence")));
	json_decref(j);
}

static void
other_users_are_refused(void)
{
	refused(geteuid() + 1, "{\"command\": \"failed\"}", "may not");
}

static void
what_is_no_request_is_refused_in_words(void)
{
	refused(0, "", "not JSON");
	refused(0, "{", "not JSON");
	refused(0, "[1]", "no object");
	refused(0, "{}", "no object");
	refused(0, "{\"command\": 7}", "no object");
	refused(0, "{\"command\": \"dance\"}", "unknown command \"dance\"");
}

UNIT_TESTS(control,
	UNIT(log_level_can_be_changed),
	UNIT(unknown_log_level_is_refused),
	UNIT(failed_lists_what_was_given_up),
	UNIT(config_shows_value_and_sentence),
	UNIT(other_users_are_refused),
	UNIT(what_is_no_request_is_refused_in_words),
)
