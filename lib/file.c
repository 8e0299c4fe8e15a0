/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file.c - open and close, fsync, truncate, the position
 *
 * The session's list holds a file from the moment its OPEN is answered until
 * its CLOSE is, so that a RESUME in between tells of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/fork.h"
#include "lib/room.h"
#include "lib/session.h"

#define OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | \
		    O_SYNC | O_DSYNC)

void
file_free(struct nfswb *wb, struct nfswb_file *f)
{
	call_forget_file(wb, f);
	LIST_REMOVE(f, link);
	free(f);
}

/* Nobody waits for this file any more: it is closed at once. */
static void
close_unwanted(struct nfswb *wb, unsigned number)
{
	struct ask ask = { .args.type = NFSWB_CLOSE, .keep = true };

	ask.args.nfswb_args_u.close_file = number;
	call_post(wb, &ask);
}

static void
opened(struct nfswb *wb, struct call *c, const nfswb_reply *reply)
{
	const nfswb_open_res *res;
	struct nfswb_file *f = c->file;

	if (!reply || reply->answer.error ||
	    reply->answer.nfswb_answer_u.res.type != NFSWB_OPEN)
		return;
	res = &reply->answer.nfswb_answer_u.res.nfswb_res_u.open;
	if (c->abandoned) {
		close_unwanted(wb, res->file);
		return;
	}
	if (res->file >= NFSWB_FILES_MAX)
		return;
	f->wb = wb;
	f->number = res->file;
	memcpy(f->token, res->token, sizeof f->token);
	f->max_size = res->max_size && res->max_size < INT64_MAX ?
		      res->max_size : INT64_MAX;
	LIST_INSERT_HEAD(&wb->files, f, link);
}

static int
open_inner(struct nfswb *wb, const char *target, int oflags, mode_t mode,
	   struct nfswb_file **file)
{
	struct ask ask = { .args.type = NFSWB_OPEN, .apply = opened,
			   .deadline = deadline_of(wb) };
	nfswb_open_args *args = &ask.args.nfswb_args_u.open;
	struct nfswb_file *f;
	int rc;

	if (!target || (oflags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	if (strlen(target) > NFSWB_TARGET_MAX)
		return -ENAMETOOLONG;
	f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->oflags = oflags & OPEN_FLAGS;
	f->chunk.nr = NFSWB_NO_CHUNK;
	args->target = (char *)target;
	args->oflags = f->oflags;
	args->mode = mode & 07777;
	ask.file = f;
	rc = call_plain(wb, &ask);
	if (f->wb) {
		*file = f;
		return 0;
	}
	if (rc == 0) {
		error_cause("nfswbd's answer makes no sense");
		rc = -EPROTO;
	}
	free(f);
	return rc;
}

struct nfswb_file *
nfswb_open(struct nfswb *wb, const char *target, int oflags, mode_t mode)
{
	struct nfswb_file *f = NULL;
	int rc = error_enter(wb);

	if (rc == 0)
		rc = open_inner(wb, target, oflags, mode, &f);
	error_leave(wb, "nfswb_open", rc);
	return f;
}

/* Answered, or the session is dead.  Else it stays listed: a RESUME must tell
   of what the daemon may still hold. */
static void
closed(struct nfswb *wb, struct call *c, const nfswb_reply *reply)
{
	if (c->file && (reply || wb->link == LINK_DEAD))
		file_free(wb, c->file);
}

static int
close_inner(struct nfswb *wb, struct nfswb_file *f)
{
	struct ask ask = { .args.type = NFSWB_CLOSE, .apply = closed,
			   .file = f, .keep = true,
			   .deadline = deadline_of(wb) };

	ask.args.nfswb_args_u.close_file = f->number;
	session_lock(wb);
	room_leave(wb, f);
	session_unlock(wb);
	return call_plain(wb, &ask);
}

int
nfswb_close(struct nfswb_file *f)
{
	struct nfswb *wb = f ? f->wb : NULL;
	int rc = error_enter(wb);

	if (rc == 0)
		rc = close_inner(wb, f);
	else if (f)
		free(f);	/* the child's copy; its parent has its own */
	return (int)error_leave(wb, "nfswb_close", rc);
}

int
file_fsync(struct nfswb_file *f, uint64_t deadline)
{
	struct ask ask = { .args.type = NFSWB_FSYNC, .deadline = deadline };

	ask.args.nfswb_args_u.fsync_file = f->number;
	return call_plain(f->wb, &ask);
}

int
nfswb_fsync(struct nfswb_file *f)
{
	int rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = file_fsync(f, deadline_of(f->wb));
	return (int)error_leave(f ? f->wb : NULL, "nfswb_fsync", rc);
}

/* Later writes may go. */
static void
truncated(struct nfswb *wb, struct call *c, const nfswb_reply *reply)
{
	(void)reply;
	if (!c->file)
		return;
	c->file->hold_nr--;
	wake(wb, WAKE_TURN);
}

static int
truncate_inner(struct nfswb_file *f, off_t len)
{
	struct ask ask = { .args.type = NFSWB_TRUNCATE, .apply = truncated,
			   .file = f, .deadline = deadline_of(f->wb) };
	nfswb_range_args *args = &ask.args.nfswb_args_u.truncate;

	if (len < 0 || (f->oflags & O_ACCMODE) == O_RDONLY)
		return -EINVAL;
	if ((uint64_t)len > f->max_size) {
		error_cause("the server's files end at %llu bytes",
			    (unsigned long long)f->max_size);
		return -EFBIG;
	}
	args->file = f->number;
	args->length = (uint64_t)len;
	session_lock(f->wb);
	f->hold_nr++;
	session_unlock(f->wb);
	return call_plain(f->wb, &ask);
}

int
nfswb_ftruncate(struct nfswb_file *f, off_t len)
{
	int rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = truncate_inner(f, len);
	return (int)error_leave(f ? f->wb : NULL, "nfswb_ftruncate", rc);
}

static int
fstat_inner(struct nfswb_file *f, uint64_t deadline, struct stat *st)
{
	struct ask ask = { .args.type = NFSWB_FSTAT, .deadline = deadline };
	nfswb_reply reply;
	int rc;

	ask.args.nfswb_args_u.fstat_file = f->number;
	rc = call_run(f->wb, &ask, &reply);
	if (rc < 0)
		return rc;
	stat_from_attr(st, &reply.answer.nfswb_answer_u.res.nfswb_res_u.fstat);
	codec_free(&reply);
	return 0;
}

int
nfswb_fstat(struct nfswb_file *f, struct stat *st)
{
	int rc = error_enter(f ? f->wb : NULL);

	if (rc == 0)
		rc = st ? fstat_inner(f, deadline_of(f->wb), st) : -EFAULT;
	return (int)error_leave(f ? f->wb : NULL, "nfswb_fstat", rc);
}

int
file_size_now(struct nfswb_file *f, uint64_t deadline, int64_t *size)
{
	struct stat st;
	int rc = fstat_inner(f, deadline, &st);

	*size = rc == 0 ? st.st_size : 0;
	return rc;
}

int
file_take_position(struct nfswb_file *f, uint64_t deadline, bool resolve,
		   int64_t *position)
{
	int rc;

	session_lock(f->wb);
	rc = turn_take(f->wb, &f->moving, deadline);
	*position = f->position;
	session_unlock(f->wb);
	if (rc < 0 || *position != POSITION_AT_END || !resolve)
		return rc;
	rc = file_size_now(f, deadline, position);
	if (rc < 0)
		file_end_position(f, POSITION_AT_END);
	return rc;
}

void
file_end_position(struct nfswb_file *f, int64_t position)
{
	session_lock(f->wb);
	f->position = position;
	turn_end(f->wb, &f->moving);
	session_unlock(f->wb);
}
