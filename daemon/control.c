/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * control.c - requests to the daemon itself, by a table of commands
 *
 *	{"command": "log", "level": "debug"}	changes the log level
 *	{"command": "failed"}			what was given up
 *	{"command": "config"}			the keys and what is in force
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/given_up.h"

static json_t *
refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static json_t *
refuse(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return json_pack("{s:s}", "error", text);
}

static json_t *
command_log(const struct control_env *env, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "level"));
	enum log_level level;

	(void)env;
	if (!name || log_level_parse(name, &level))
		return refuse("log: no such level; give \"level\": \"error\", "
			      "\"warning\", \"info\" or \"debug\"");
	log_set_level(level);
	return json_pack("{s:s}", "level", log_level_name(level));
}

static json_t *
command_failed(const struct control_env *env, const json_t *request)
{
	(void)request;
	return json_pack("{s:o}", "given_up", given_up_json(env->given_up));
}

static void
add_key(void *arg, const char *key, const char *value, const char *sentence)
{
	json_object_set_new(arg, key, json_pack("{s:s, s:s}", "value", value,
						"sentence", sentence));
}

static json_t *
command_config(const struct control_env *env, const json_t *request)
{
	json_t *keys = json_object();

	(void)request;
	config_each(env->config, add_key, keys);
	return json_pack("{s:o}", "config", keys);
}

static const struct {
	const char *name;
	json_t *(*run)(const struct control_env *, const json_t *request);
} commands[] = {
	{ "log", command_log },
	{ "failed", command_failed },
	{ "config", command_config },
};

static json_t *
run(const struct control_env *env, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request,
							     "command"));
	unsigned i;

	if (!name)
		return refuse("the request is no object with a \"command\"; "
			      "see nfswbd(8)");
	for (i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run(env, request);
	return refuse("unknown command \"%.100s\"; there are log, failed and "
		      "config", name);
}

static json_t *
answer(const struct control_env *env, const char *text, uid_t uid)
{
	json_error_t error;
	json_t *request, *res;

	if (uid && uid != geteuid())
		return refuse("user %u may not control nfswbd; ask as root or "
			      "as user %u", (unsigned)uid, (unsigned)geteuid());
	request = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!request)
		return refuse("the request is not JSON: %s, at byte %d",
			      error.text, error.position);
	res = run(env, request);
	json_decref(request);
	return res;
}

char *
control_answer(const struct control_env *env, const char *request, uid_t uid)
{
	json_t *res = answer(env, request, uid);
	char *text = res ? json_dumps(res, JSON_COMPACT) : NULL;

	json_decref(res);
	return text;
}
