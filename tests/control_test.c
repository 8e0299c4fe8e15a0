/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* control_test.c - requests to the daemon itself, and who may make them */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/given_up.h"
#include "tests/unit.h"

static const struct asker admin = { 1000, true }, other = { 1001, false };
static struct given_up_list *list;	/* 1: 1000's, 2: 1001's */
static int err;

static void
start(void)
{
	list = given_up_new();
	given_up_add(list, "nfs://h/f", 1000, 1, 2, -28);
	given_up_add(list, "nfs://h/g", 1001, 1, 2, -28);
}

static json_t *
ask(const struct asker *who, const char *request)
{
	struct control_env env = { config_default(), list };
	json_t *j = NULL;
	char *text;

	err = 0;
	text = control_answer(&env, request, who, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	if (!err) {
		j = json_loads(text, 0, NULL);
		CU_ASSERT(json_is_object(j));
	}
	free(text);
	config_free((struct config *)(uintptr_t)env.config);
	return j;
}

static json_t *
ask_as(const struct asker *who, const char *request)
{
	json_t *j;

	start();
	j = ask(who, request);
	given_up_free(list);
	return j;
}

static void
refused(const char *request, const char *why)
{
	json_t *j = ask_as(&other, request);
	const char *error = json_string_value(json_object_get(j, "error"));

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, why));
	CU_ASSERT_EQUAL(json_object_size(j), 1);
	json_decref(j);
}

static void
log_level_can_be_changed(void)
{
	json_t *j = ask_as(&admin, "{\"command\": \"log\", \"level\": \"warning\"}");

	CU_ASSERT_PTR_NULL(json_object_get(j, "error"));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(j, "level")),
			       "warning");
	json_decref(j);
}

static void
unknown_log_level_is_refused(void)
{
	const char *const bad[] = {
		"{\"command\": \"log\", \"level\": \"loud\"}",
		"{\"command\": \"log\"}",
		"{\"command\": \"log\", \"level\": 3}",
	};
	unsigned i;
	json_t *j;

	for (i = 0; i < 3; i++) {
		j = ask_as(&admin, bad[i]);
		CU_ASSERT_PTR_NOT_NULL(json_object_get(j, "error"));
		json_decref(j);
	}
}

static size_t
listed(const struct asker *who)
{
	json_t *j = ask(who, "{\"command\": \"failed\"}");
	size_t n = json_array_size(json_object_get(j, "given_up"));

	json_decref(j);
	return n;
}

static void
failed_lists_what_was_given_up_of_ones_own(void)
{
	struct asker nobody = { 7, false };

	start();
	CU_ASSERT_EQUAL(listed(&admin), 2);
	CU_ASSERT_EQUAL(listed(&other), 1);
	CU_ASSERT_EQUAL(listed(&nobody), 0);
	given_up_free(list);
}

static void
what_is_acknowledged_is_listed_no_more(void)
{
	start();
	json_decref(ask(&other, "{\"command\":\"acknowledge\",\"id\":1}"));
	CU_ASSERT_EQUAL(err, -EPERM);
	CU_ASSERT_EQUAL(listed(&admin), 2);
	json_decref(ask(&other, "{\"command\":\"acknowledge\",\"id\":2}"));
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_EQUAL(listed(&other), 0);
	CU_ASSERT_EQUAL(listed(&admin), 1);
	json_decref(ask(&admin, "{\"command\":\"acknowledge\",\"id\":1}"));
	CU_ASSERT_EQUAL(listed(&admin), 0);
	given_up_free(list);
	refused("{\"command\":\"acknowledge\",\"id\":9}", "nothing");
	refused("{\"command\":\"acknowledge\",\"id\":-1}", "nothing");
	refused("{\"command\":\"acknowledge\"}", "\"id\"");
}

static void
config_shows_value_and_sentence(void)
{
	json_t *j = ask_as(&admin, "{\"command\": \"config\"}");
	json_t *key = json_object_get(json_object_get(j, "config"),
				      "slab_bytes");

	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(key, "value")),
			       "256M");
	CU_ASSERT(json_is_string(json_object_get(key, "sentence")));
	json_decref(j);
}

static void
only_administrators_change_or_see_the_daemon(void)
{
	json_decref(ask_as(&other, "{\"command\": \"config\"}"));
	CU_ASSERT_EQUAL(err, -EPERM);
	log_set_level(LOG_LEVEL_INFO);
	json_decref(ask_as(&other, "{\"command\": \"log\", "
				   "\"level\": \"error\"}"));
	CU_ASSERT_EQUAL(err, -EPERM);
	CU_ASSERT_EQUAL(log_get_level(), LOG_LEVEL_INFO);
}

static void
what_is_no_request_is_refused_in_words(void)
{
	refused("", "not JSON");
	refused("{", "not JSON");
	refused("[1]", "no object");
	refused("null", "not JSON");
	refused("{}", "no object");
	refused("{\"command\": 7}", "no object");
	refused("{\"command\": \"dance\"}", "unknown command \"dance\"");
}

UNIT_TESTS(control,
	UNIT(log_level_can_be_changed),
	UNIT(unknown_log_level_is_refused),
	UNIT(failed_lists_what_was_given_up_of_ones_own),
	UNIT(what_is_acknowledged_is_listed_no_more),
	UNIT(config_shows_value_and_sentence),
	UNIT(only_administrators_change_or_see_the_daemon),
	UNIT(what_is_no_request_is_refused_in_words),
)
