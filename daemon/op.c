/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * op.c - an operation's life: begun, answered once, freed
 *
 * The answer never comes from inside the call that began it: what ends that
 * early is put off to the loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/access.h"
#include "daemon/namespace_impl.h"

static void
op_answer(struct op *op)
{
	ns_done_fn *done = op->done;

	op->done = NULL;
	if (done)
		done(op->arg, op->err, op->text, op->err ? NULL : &op->answer);
	op_free(op);
}

static void
op_answer_later(void *arg)
{
	op_answer(arg);
}

struct op *
op_new(struct namespace *ns, const char *verb, struct cred *cred,
       ns_done_fn *done, void *arg)
{
	struct op *op = calloc(1, sizeof *op);

	if (op) {
		op->ns = ns;
		op->verb = verb;
		op->cred = cred_ref(cred);
		op->done = done;
		op->arg = arg;
		op->starting = true;
		LIST_INSERT_HEAD(&ns->ops, op, entry);
		op->later = loop_deferred(ns->loop, op_answer_later, op);
		if (op->later)
			return op;
		op_free(op);
	}
	if (done)
		done(arg, -ENOMEM, "out of memory", NULL);
	return NULL;
}

void
op_go_on(struct op *op)
{
	if (!op->paused)
		return;
	op->paused = false;
	file_go_on(op->file);
	file_put(op->file);
	op->file = NULL;
}

void
op_free(struct op *op)
{
	LIST_REMOVE(op, entry);
	if (op->waits_for_file)
		handle_abandon(op->file, op);
	hidden_leave(op);
	op_go_on(op);
	loop_deferred_free(op->ns->loop, op->later);
	loop_timer_free(op->ns->loop, op->timer);
	file_put(op->file);
	cred_put(op->cred);
	target_clear(&op->target);
	target_clear(&op->to);
	walk_clear(&op->walk);
	free(op->content);
	free(op->buffer);
	free(op->from_leaf);
	free(op->hidden_leaf);
	free(op->text);
	free(op);
}

static void
op_end(struct op *op)
{
	op->ended = true;
	if (op->starting)
		loop_defer(op->ns->loop, op->later);
	else
		op_answer(op);
}

void
op_started(struct op *op)
{
	op->starting = false;
}

void
op_done(struct op *op)
{
	op->err = 0;
	op_end(op);
}

void
op_fail_text(struct op *op, int err, const char *text)
{
	op->err = err;
	free(op->text);
	op->text = text ? strdup(text) : NULL;
	op_end(op);
}

void
op_fail(struct op *op, int err, const char *more)
{
	const char *server = op->server ? op->server->name : "?";
	const char *name = op->target.text ? op->target.text :
			   op->file ? file_name(op->file) : "?";
	char *text = NULL;

	if (asprintf(&text, "cannot %s '%s' on server %s: %s%s%s", op->verb,
		     name, server, strerror(-err), more ? "; " : "",
		     more ? more : "") < 0)
		text = NULL;
	op_fail_text(op, err, text);
	free(text);
}

bool
op_refused(struct op *op, int err)
{
	if (err)
		op_fail(op, err, NULL);
	return err;
}

uint64_t
op_now(const struct op *op)
{
	return loop_now(op->ns->loop);
}

/* ---- finding the mount ---- */

static void
mount_found(void *arg, int err, const char *text, struct mount *m)
{
	struct op *op = arg;
	void (*next)(struct op *) = op->retry;
	char *all = NULL;

	if (!err) {
		op->mount = m;
		op->server = m->server;
		next(op);
		return;
	}
	if (asprintf(&all, "cannot %s '%s': %s", op->verb, op->target.text,
		     text ? text : strerror(-err)) < 0)
		all = NULL;
	op_fail_text(op, err, all);
	free(all);
}

void
op_mount(struct op *op, void (*next)(struct op *))
{
	struct mount *m;

	op->retry = next;
	m = servers_mount(op->ns->servers, &op->target, op->cred, mount_found,
			  op);
	if (!m)
		return;			/* mount_found comes, or has come */
	op->mount = m;
	op->server = m->server;
	next(op);
}

int
op_target(struct op *op, const char *text, struct target *t, char **error)
{
	int err = target_parse(op->ns->config, text, t, error);

	return err ? err : access_mount(t->mount, op->cred, error);
}

void
op_begin(struct op *op, const char *target, void (*next)(struct op *))
{
	char *error;
	int err = op_target(op, target, &op->target, &error);

	if (!err) {
		op_mount(op, next);
		return;
	}
	op_fail_text(op, err, error);
	free(error);
}

/* ---- waiting for the pipeline ---- */

static void
file_waited(void *arg, int err)
{
	struct op *op = arg;
	void (*next)(struct op *) = op->retry;

	op->waits_for_file = false;
	if (!op_refused(op, err))
		next(op);
}

void
op_flush_file(struct op *op, uint64_t offset, uint64_t length,
	      void (*next)(struct op *))
{
	op->retry = next;
	op->waits_for_file = true;
	file_flush_range(op->file, offset, length, op_now(op), file_waited,
			 op);
}

void
op_truncate_file(struct op *op, uint64_t size, void (*next)(struct op *))
{
	op->retry = next;
	op->waits_for_file = true;
	file_truncate(op->file, op->cred, size, op_now(op), file_waited, op);
}

void
op_pause_file(struct op *op, struct wb_file *f, void (*next)(struct op *))
{
	op->file = file_ref(f);
	op->paused = true;
	op->retry = next;
	op->waits_for_file = true;
	file_pause(f, op_now(op), file_waited, op);
}
