/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * api.c - what messages mean: the table, and those that name no open file
 *
 * The size caps are those of the largest whole call of a kind, so that nothing
 * longer is ever decoded.  Costs are what a user's allowance is charged: 1, and
 * more for what goes over all sessions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/access.h"
#include "daemon/request.h"
#include "daemon/session_impl.h"

static struct namespace *
ns_of(const struct request *r)
{
	return r->session->owner->env.ns;
}

static struct cred *
cred_of(const struct request *r)
{
	return r->session->cred;
}

/* --- names --- */

/* Asked before, of an instance that died: it may have done it, and what is asked
   again finds that. */
static bool
done_before(const struct request *r, int err)
{
	if (!(r->call.flags & NFSWB_AGAIN))
		return false;
	switch (r->api->type) {
	case NFSWB_UNLINK:
	case NFSWB_RMDIR:
	case NFSWB_RENAME:
		return err == -ENOENT;
	case NFSWB_MKDIR:
	case NFSWB_SYMLINK:
		return err == -EEXIST;
	default:
		return false;
	}
}

/* Every answer of the namespace that is passed on as it comes. */
static void
named(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct request *r = arg;
	nfswb_res res;

	if (err && !done_before(r, err)) {
		request_fail(r, err, text);
		return;
	}
	memset(&res, 0, sizeof res);
	switch (r->api->type) {
	case NFSWB_STAT:
	case NFSWB_LSTAT:
		res.nfswb_res_u.stat = a->attr;
		break;
	case NFSWB_READLINK:
		res.nfswb_res_u.content = (char *)(uintptr_t)a->content;
		break;
	case NFSWB_READDIR:
		res.nfswb_res_u.readdir = *a->dir;
		break;
	default:
		break;
	}
	request_reply(r, &res);
}

static void
api_stat(struct request *r)
{
	ns_stat(ns_of(r), r->call.args.nfswb_args_u.stat, cred_of(r),
		r->api->type == NFSWB_STAT, named, r);
}

static void
api_setattr(struct request *r)
{
	const nfswb_setattr_args *a = &r->call.args.nfswb_args_u.setattr;

	ns_setattr(ns_of(r), a->target, cred_of(r), a->which, &a->attr, named,
		   r);
}

static void
api_unlink(struct request *r)
{
	ns_unlink(ns_of(r), r->call.args.nfswb_args_u.unlink, cred_of(r),
		  named, r);
}

static void
api_rename(struct request *r)
{
	const nfswb_rename_args *a = &r->call.args.nfswb_args_u.rename;

	ns_rename(ns_of(r), a->from, a->to, cred_of(r), named, r);
}

static void
api_mkdir(struct request *r)
{
	const nfswb_make_args *a = &r->call.args.nfswb_args_u.mkdir;

	ns_mkdir(ns_of(r), a->target, a->mode, cred_of(r), named, r);
}

static void
api_rmdir(struct request *r)
{
	ns_rmdir(ns_of(r), r->call.args.nfswb_args_u.rmdir, cred_of(r), named,
		 r);
}

static void
api_symlink(struct request *r)
{
	const nfswb_make_args *a = &r->call.args.nfswb_args_u.symlink;

	ns_symlink(ns_of(r), a->content, a->target, cred_of(r), named, r);
}

static void
api_readlink(struct request *r)
{
	ns_readlink(ns_of(r), r->call.args.nfswb_args_u.readlink, cred_of(r),
		    named, r);
}

static void
api_readdir(struct request *r)
{
	const nfswb_readdir_args *a = &r->call.args.nfswb_args_u.readdir;

	ns_readdir(ns_of(r), a->target, cred_of(r), a->cookie, a->verifier,
		   named, r);
}

/* --- the whole daemon --- */

static void
ended(void *arg, int err)
{
	request_end(arg, err);
}

static bool
below(void *arg, struct wb_file *file)
{
	struct request *r = arg;

	return ns_below(ns_of(r), r->call.args.nfswb_args_u.sync, file);
}

static void
api_sync(struct request *r)
{
	bool all = !*r->call.args.nfswb_args_u.sync;
	int err;

	err = wb_sync(r->session->owner->env.wb, all ? NULL : below, r,
		      session_now(r->session), ended, r);
	if (err)
		request_fail(r, err, NULL);
}

static void
reply_json(struct request *r, char *json)
{
	nfswb_res res;

	if (!json) {
		request_fail(r, -ENOMEM, NULL);
	} else if (strlen(json) > NFSWB_JSON_MAX) {
		request_fail(r, -EMSGSIZE, NULL);
	} else {
		memset(&res, 0, sizeof res);
		res.nfswb_res_u.control = json;	/* and statistics */
		request_reply(r, &res);
	}
	free(json);
}

/* As the kernel tells it, whatever its calls go out as. */
static struct asker
asker_of(const struct request *r)
{
	return access_asker(r->session->owner->env.config,
			    r->session->peer.cred);
}

static void
api_control(struct request *r)
{
	const struct sessions_env *env = &r->session->owner->env;

	struct asker who = asker_of(r);
	int err = 0;
	char *json = env->control(env->arg,
				  r->call.args.nfswb_args_u.control, &who,
				  &err);

	if (err) {
		request_fail(r, err, json);
		free(json);
		return;
	}
	reply_json(r, json);
}

static void
api_statistics(struct request *r)
{
	const struct sessions_env *env = &r->session->owner->env;

	struct asker who = asker_of(r);

	reply_json(r, env->statistics(env->arg, &who));
}

static void
api_failed_room(struct request *r)
{
	struct session *s = r->session;

	if (!s->slab || s->state != SESSION_LIVE)
		request_ok(r);
	else
		slab_retry_failed(s->slab, session_now(s), ended, r);
}

/* --- the table --- */

#define CALL	16			/* id, flags, type */
#define TARGET	(4 + NFSWB_TARGET_MAX)
#define NUMBER	(CALL + 4)
#define RANGE	(CALL + 20)
#define ATTR	84
#define MAKE	(CALL + TARGET + 4 + 4 + 4096)

static const struct api_entry table[] = {
	{ NFSWB_HELLO, "hello", CALL + 16, API_ANYTIME | API_FIRST, 1,
	  session_hello },
	{ NFSWB_RESUME, "resume",
	  CALL + 8 + 8 + NFSWB_TOKEN_SIZE + 4 +
		  NFSWB_FILES_MAX * (4 + NFSWB_TOKEN_SIZE + 4 + 8),
	  API_ANYTIME | API_FIRST, 1, resume_request },
	{ NFSWB_OPEN, "open", CALL + TARGET + 8, 0, 1, api_open },
	{ NFSWB_CLOSE, "close", NUMBER, API_FILE, 1, api_close },
	{ NFSWB_WRITE, "write", CALL + 16 + NFSWB_DATA_MAX, API_FILE, 1,
	  api_write },
	{ NFSWB_READ, "read", RANGE, API_FILE, 1, api_read },
	{ NFSWB_FSYNC, "fsync", NUMBER, API_FILE, 1, api_fsync },
	{ NFSWB_TRUNCATE, "truncate", RANGE, API_FILE, 1, api_truncate },
	{ NFSWB_FSTAT, "fstat", NUMBER, API_FILE, 1, api_fstat },
	{ NFSWB_RESERVE, "reserve", RANGE, API_FILE, 1, api_reserve },
	{ NFSWB_STAT, "stat", CALL + TARGET, 0, 1, api_stat },
	{ NFSWB_LSTAT, "lstat", CALL + TARGET, 0, 1, api_stat },
	{ NFSWB_SETATTR, "setattr", CALL + TARGET + 4 + ATTR, 0, 1,
	  api_setattr },
	{ NFSWB_UNLINK, "unlink", CALL + TARGET, 0, 1, api_unlink },
	{ NFSWB_RENAME, "rename", CALL + 2 * TARGET, API_EVERY, 5, api_rename },
	{ NFSWB_MKDIR, "mkdir", MAKE, 0, 1, api_mkdir },
	{ NFSWB_RMDIR, "rmdir", CALL + TARGET, 0, 1, api_rmdir },
	{ NFSWB_SYMLINK, "symlink", MAKE, 0, 1, api_symlink },
	{ NFSWB_READLINK, "readlink", CALL + TARGET, 0, 1, api_readlink },
	{ NFSWB_READDIR, "readdir", CALL + TARGET + 16, 0, 1, api_readdir },
	{ NFSWB_SYNC, "sync", CALL + TARGET, API_EVERY, 20, api_sync },
	{ NFSWB_CONTROL, "control", CALL + 4 + NFSWB_JSON_MAX, API_ANYTIME, 50,
	  api_control },
	{ NFSWB_STATISTICS, "statistics", CALL, API_ANYTIME, 50, api_statistics },
	{ NFSWB_READ_PLACE, "read", RANGE, API_FILE, 1, api_read },
	{ NFSWB_FAILED_ROOM, "write", CALL, API_ANYTIME, 1, api_failed_room },
};

const struct api_entry *
api_find(nfswb_type type)
{
	size_t i;

	for (i = 0; i < sizeof table / sizeof table[0]; i++)
		if (table[i].type == type)
			return &table[i];
	return NULL;
}
