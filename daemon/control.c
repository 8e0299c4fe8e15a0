/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * control.c - requests to the daemon itself, by a table of commands
 *
 *	{"command": "log", "level": "debug"}	changes the log level
 *	{"command": "config"}			the keys and what is in force
 *	{"command": "failed"}			what was given up
 *	{"command": "acknowledge", "id": 7}	that was read: it is listed no more
 *
 * The first two are the administrators'; of the others everybody has what is his
 * own.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
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
command_log(const struct control_env *env, const struct asker *who,
	    const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "level"));
	enum log_level level;

	(void)env;
	(void)who;
	if (!name || log_level_parse(name, &level))
		return refuse("log: no such level; give \"level\": \"error\", "
			      "\"warning\", \"info\" or \"debug\"");
	log_set_level(level);
	return json_pack("{s:s}", "level", log_level_name(level));
}

static json_t *
command_failed(const struct control_env *env, const struct asker *who,
	       const json_t *request)
{
	(void)request;
	return json_pack("{s:o}", "given_up",
			 given_up_json(env->given_up, who));
}

static json_t *
command_acknowledge(const struct control_env *env, const struct asker *who,
		    const json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	json_int_t n = json_integer_value(id);
	int err = -ENOENT;

	if (!json_is_integer(id))
		return refuse("acknowledge: give the \"id\" of an entry that "
			      "\"failed\" lists");
	if (n > 0)
		err = given_up_acknowledge(env->given_up, (uint64_t)n, who);
	if (err == -EPERM)
		return json_null();
	if (err)
		return refuse("acknowledge: nothing is listed under this id");
	return json_pack("{s:I}", "acknowledged", n);
}

static void
add_key(void *arg, const char *key, const char *value, const char *sentence)
{
	json_object_set_new(arg, key, json_pack("{s:s, s:s}", "value", value,
						"sentence", sentence));
}

static json_t *
command_config(const struct control_env *env, const struct asker *who,
	       const json_t *request)
{
	json_t *keys = json_object();

	(void)request;
	(void)who;
	config_each(env->config, add_key, keys);
	return json_pack("{s:o}", "config", keys);
}

static const struct {
	const char *name;
	bool admins;		/* only */
	json_t *(*run)(const struct control_env *, const struct asker *,
		       const json_t *request);	/* null: it is another's */
} commands[] = {
	{ "log", true, command_log },
	{ "config", true, command_config },
	{ "failed", false, command_failed },
	{ "acknowledge", false, command_acknowledge },
};

/* JSON's null: this asker may not. */
static json_t *
run(const struct control_env *env, const struct asker *who,
    const json_t *request)
{
	const char *name = json_string_value(json_object_get(request,
							     "command"));
	unsigned i;

	if (!name)
		return refuse("the request is no object with a \"command\"; "
			      "see nfswbd(8)");
	for (i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].admins && !who->admin ? json_null() :
			       commands[i].run(env, who, request);
	return refuse("unknown command \"%.100s\"; there are log, config, "
		      "failed and acknowledge", name);
}

static char *
not_allowed(const struct asker *who, int *err)
{
	char *text;

	*err = -EPERM;
	if (asprintf(&text, "control: user %u may not do that; ask as root, as "
		     "user %u or as a member of admin_group",
		     (unsigned)who->uid, (unsigned)geteuid()) < 0)
		return NULL;
	return text;
}

char *
control_answer(const struct control_env *env, const char *text,
	       const struct asker *who, int *err)
{
	json_error_t error;
	json_t *request = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	json_t *res;
	char *answer;

	if (request)
		res = run(env, who, request);
	else
		res = refuse("the request is not JSON: %s, at byte %d",
			     error.text, error.position);
	json_decref(request);
	if (json_is_null(res))
		return not_allowed(who, err);
	answer = res ? json_dumps(res, JSON_COMPACT) : NULL;
	json_decref(res);
	return answer;
}
