/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* names.c - the calls that go by target, and those to the daemon itself */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/session.h"

static int
check_text(const char *s, size_t max)
{
	if (!s)
		return -EINVAL;
	return strlen(s) > max ? -ENAMETOOLONG : 0;
}

static int
check_target(const char *target)
{
	return check_text(target, NFSWB_TARGET_MAX);
}

static int
stat_inner(struct nfswb *wb, const char *target, struct stat *st)
{
	struct ask ask = { .args.type = NFSWB_STAT,
			   .args.nfswb_args_u.stat = (char *)target,
			   .deadline = deadline_of(wb) };
	nfswb_reply reply;
	int rc = check_target(target);

	if (rc == 0 && !st)
		rc = -EFAULT;
	if (rc == 0)
		rc = call_run(wb, &ask, &reply);
	if (rc < 0)
		return rc;
	stat_from_attr(st, &reply.answer.nfswb_answer_u.res.nfswb_res_u.stat);
	codec_free(&reply);
	return 0;
}

int
nfswb_stat(struct nfswb *wb, const char *target, struct stat *st)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = stat_inner(wb, target, st);
	return (int)error_leave(wb, "nfswb_stat", rc);
}

static int
setattr_inner(struct nfswb *wb, const char *target, const struct stat *st,
	      unsigned which)
{
	const unsigned all = NFSWB_SET_MODE | NFSWB_SET_UID | NFSWB_SET_GID |
			     NFSWB_SET_SIZE | NFSWB_SET_ATIME |
			     NFSWB_SET_MTIME;
	struct ask ask = { .args.type = NFSWB_SETATTR,
			   .deadline = deadline_of(wb) };
	nfswb_setattr_args *args = &ask.args.nfswb_args_u.setattr;
	int rc = check_target(target);

	if (rc < 0)
		return rc;
	if (!st || which & ~all || (which & NFSWB_SET_SIZE && st->st_size < 0))
		return -EINVAL;
	args->target = (char *)target;
	args->which = which;
	attr_from_stat(&args->attr, st);
	return call_plain(wb, &ask);
}

int
nfswb_setattr(struct nfswb *wb, const char *target, const struct stat *st,
	      unsigned which)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = setattr_inner(wb, target, st, which);
	return (int)error_leave(wb, "nfswb_setattr", rc);
}

/* UNLINK, RMDIR, SYNC: a target is all they take, at one place. */
static int
by_target(struct nfswb *wb, nfswb_type type, const char *target)
{
	struct ask ask = { .args.type = type, .deadline = deadline_of(wb) };
	int rc = check_target(target);

	if (rc < 0)
		return rc;
	ask.args.nfswb_args_u.unlink = (char *)target;
	return call_plain(wb, &ask);
}

int
nfswb_unlink(struct nfswb *wb, const char *target)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = by_target(wb, NFSWB_UNLINK, target);
	return (int)error_leave(wb, "nfswb_unlink", rc);
}

int
nfswb_rmdir(struct nfswb *wb, const char *target)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = by_target(wb, NFSWB_RMDIR, target);
	return (int)error_leave(wb, "nfswb_rmdir", rc);
}

int
nfswb_sync(struct nfswb *wb, const char *target)
{
	int rc = error_enter(wb);

	if (rc == 0 && target && !target[0])
		rc = -EINVAL;	/* on the wire that would be everything */
	if (rc == 0)
		rc = by_target(wb, NFSWB_SYNC, target ? target : "");
	return (int)error_leave(wb, "nfswb_sync", rc);
}

static int
rename_inner(struct nfswb *wb, const char *from, const char *to)
{
	struct ask ask = { .args.type = NFSWB_RENAME,
			   .deadline = deadline_of(wb) };
	int rc = check_target(from);

	if (rc == 0)
		rc = check_target(to);
	if (rc < 0)
		return rc;
	ask.args.nfswb_args_u.rename.from = (char *)from;
	ask.args.nfswb_args_u.rename.to = (char *)to;
	return call_plain(wb, &ask);
}

int
nfswb_rename(struct nfswb *wb, const char *from, const char *to)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = rename_inner(wb, from, to);
	return (int)error_leave(wb, "nfswb_rename", rc);
}

/* MKDIR, SYMLINK */
static int
make(struct nfswb *wb, nfswb_type type, const char *target, mode_t mode,
     const char *content)
{
	struct ask ask = { .args.type = type, .deadline = deadline_of(wb) };
	nfswb_make_args *args = &ask.args.nfswb_args_u.mkdir;
	int rc = check_target(target);

	if (rc == 0)
		rc = check_text(content, 4096);
	if (rc < 0)
		return rc;
	args->target = (char *)target;
	args->mode = mode & 07777;
	args->content = (char *)content;
	return call_plain(wb, &ask);
}

int
nfswb_mkdir(struct nfswb *wb, const char *target, mode_t mode)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = make(wb, NFSWB_MKDIR, target, mode, "");
	return (int)error_leave(wb, "nfswb_mkdir", rc);
}

int
nfswb_symlink(struct nfswb *wb, const char *content, const char *target)
{
	int rc = error_enter(wb);

	if (rc == 0)
		rc = make(wb, NFSWB_SYMLINK, target, 0777, content);
	return (int)error_leave(wb, "nfswb_symlink", rc);
}

/* Takes the one string out of an answer. */
static int
text_of(struct nfswb *wb, const struct ask *ask, char **text)
{
	nfswb_reply reply;
	char **from = &reply.answer.nfswb_answer_u.res.nfswb_res_u.control;
	int rc = call_run(wb, ask, &reply);

	if (rc < 0)
		return rc;
	*text = strdup(*from);
	codec_free(&reply);
	return *text ? 0 : -ENOMEM;
}

char *
nfswb_control(struct nfswb *wb, const char *request)
{
	struct ask ask = { .args.type = NFSWB_CONTROL,
			   .args.nfswb_args_u.control = (char *)request };
	char *text = NULL;
	int rc = error_enter(wb);

	if (rc == 0)
		rc = check_text(request, NFSWB_JSON_MAX);
	if (rc == 0) {
		ask.deadline = deadline_of(wb);
		rc = text_of(wb, &ask, &text);
	}
	error_leave(wb, "nfswb_control", rc);
	return text;
}

char *
nfswb_statistics(struct nfswb *wb)
{
	struct ask ask = { .args.type = NFSWB_STATISTICS };
	char *text = NULL;
	int rc = error_enter(wb);

	if (rc == 0) {
		ask.deadline = deadline_of(wb);
		rc = text_of(wb, &ask, &text);
	}
	error_leave(wb, "nfswb_statistics", rc);
	return text;
}
