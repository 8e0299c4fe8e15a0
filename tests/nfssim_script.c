/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfssim_script.c - what the rules make of a call, and do to the server
 *
 * All rules are asked, in their order; what several want is added up, and of
 * two that want the same thing the later one has its way.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_int.h"
#include "tests/nfssim_rule.h"

#define XIDS 4096u

STAILQ_HEAD(rule_list, rule);

struct script {
	struct rule_list rules;
	struct loop_timer *up;		/* after "down" */
	uint64_t random, verifier;
	uint64_t calls;
	uint64_t total;			/* bytes WRITEs brought */
	uint32_t seen[XIDS];		/* xids, for "copy" */
};

static uint64_t
next_random(struct script *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static uint64_t
within(struct script *s, const struct span *span)
{
	uint64_t wide = span->to - span->from;

	return span->from + (wide && wide < UINT64_MAX ?
			     next_random(s) % (wide + 1) : 0);
}

static bool
is_in(const struct span *s, uint64_t v)
{
	return v >= s->from && v <= s->to;
}

/* when */

static bool
name_fits(const char *pattern, const struct node *dir, const char *name)
{
	char buf[STORE_PATH_BYTES];
	const char *path;

	if (!fnmatch(pattern, name, 0))
		return true;
	path = store_path(dir, name, buf);
	return path && !fnmatch(pattern, path, FNM_PATHNAME);
}

static bool
file_fits(struct nfssim *sim, const char *pattern,
	  const struct nfssim_call *call)
{
	struct node *n, *dir;
	const char *name;

	if (store_find(&sim->store, call->fh.data, call->fh.len, &n) !=
	    NFS3_OK)
		return false;
	if (call->name)
		return name_fits(pattern, n, call->name);
	name = store_name(&sim->store, n, &dir);
	return name && name_fits(pattern, dir, name);
}

static uint32_t
bit_of(const struct nfssim_call *call)
{
	if (call->prog == NFSSIM_NFS)
		return 1u << call->proc;
	return call->proc == 1 ? RULE_MNT : 0;
}

static bool
has_stable(const struct rule *r, const struct nfssim_call *call)
{
	return !r->stable || (call->proc == NFSPROC3_WRITE &&
			      call->stable < 3 &&
			      r->stable & 1u << call->stable);
}

static bool
applies(struct nfssim *sim, struct rule *r, const struct nfssim_call *call,
	bool copy)
{
	struct script *s = sim->script;
	uint64_t now = loop_now(sim->loop) - sim->start_usec;

	if (r->has_at || !(r->procs & bit_of(call)) ||
	    !is_in(&r->call, s->calls) || !is_in(&r->offset, call->offset) ||
	    !is_in(&r->size, call->count) || !is_in(&r->uid, call->uid) ||
	    !is_in(&r->time, now) || !has_stable(r, call) ||
	    (r->copy && !copy) ||
	    (r->reach && call->offset + call->count < r->reach) ||
	    (r->total && s->total < r->total) ||
	    (r->file && !file_fits(sim, r->file, call)))
		return false;
	r->matched++;
	return is_in(&r->nth, r->matched) &&
	       (!r->every || r->matched % r->every == 0) &&
	       (r->chance >= 1 || (double)(next_random(s) >> 11) /
				  9007199254740992.0 < r->chance);
}

/* what */

static void
set_fsinfo(struct nfssim_fsinfo *f, uint64_t which, uint64_t v)
{
	uint32_t *const small[] = {
		&f->rtmax, &f->rtpref, &f->rtmult, &f->wtmax, &f->wtpref,
		&f->wtmult, &f->dtpref, NULL, &f->properties,
	};

	if (small[which])
		*small[which] = (uint32_t)v;
	else
		f->maxfilesize = v;
}

static void
go_down(struct nfssim *sim, uint64_t usec)
{
	nfssim_set_up(sim, false);
	loop_timer_set(sim->loop, sim->script->up, usec);
}

static uint64_t
new_verifier(struct nfssim *sim, bool same)
{
	return same ? sim->verifier : sim->verifier + 1;
}

static void
do_to_server(struct nfssim *sim, struct script *s,
	     const struct rule_action *a)
{
	switch ((int)a->kind) {
	case RULE_RESTART:
		nfssim_restart(sim, new_verifier(sim, a->value.from));
		break;
	case RULE_DOWN:
		go_down(sim, a->value.from);
		break;
	case RULE_CUT_ALL:
		nfssim_cut(sim);
		break;
	case RULE_CUT_IN:
		nfssim_cut_after(sim, a->value.from);
		break;
	case RULE_VERIFIER:
		nfssim_set_verifier(sim, a->value.from ? a->value.from :
						new_verifier(sim, false));
		break;
	case RULE_FULL:
		nfssim_set_full(sim, a->value.from);
		break;
	case RULE_QUOTA:
		nfssim_set_quota(sim, (uint32_t)a->value.from, a->value.to);
		break;
	case RULE_DRC:
		nfssim_set_drc(sim, (enum nfssim_drc)a->value.from);
		break;
	case RULE_FSINFO:
		set_fsinfo(&sim->fsinfo, a->value.from, a->value.to);
		break;
	case RULE_SLOW:
		nfssim_set_delay(sim, a->value.from);
		break;
	case RULE_EARLY:
		sim->early += a->value.from;
		break;
	}
	(void)s;
}

static void
do_to_call(struct nfssim *sim, struct script *s, const struct rule_action *a,
	   struct nfssim_verdict *v)
{
	switch (a->kind) {
	case RULE_STATUS:
		v->status = (uint32_t)a->value.from;
		break;
	case RULE_SHORT:
		v->short_count = (uint32_t)a->value.from;
		break;
	case RULE_COUNT_0:
		v->count_0 = true;
		break;
	case RULE_LIE:
		v->lie = true;
		break;
	case RULE_SYNC:
		v->sync = true;
		break;
	case RULE_COMMITTED:
		v->set_committed = true;
		v->committed = (uint32_t)a->value.from;
		break;
	case RULE_OWN_VERIFIER:
		v->verifier = 0x4e4f000000000000ull + ++s->verifier;
		break;
	case RULE_DELAY:
		v->delay_usec += within(s, &a->value);
		break;
	case RULE_HOLD:
		v->hold_usec += within(s, &a->value);
		break;
	case RULE_LOSE_CALL:
		v->lose_call = true;
		break;
	case RULE_LOSE_REPLY:
		v->lose_reply = true;
		break;
	case RULE_REORDER:
		v->reorder = (unsigned)a->value.from;
		break;
	case RULE_COPIES:
		v->copies = (unsigned)a->value.from;
		break;
	case RULE_GARBAGE:
		v->garbage = (enum nfssim_garbage)a->value.from;
		break;
	case RULE_CUT:
		v->cut = true;
		break;
	case RULE_CUT_HALF:
		v->cut_half = true;
		break;
	case RULE_CUT_AFTER:
		v->cut_after = true;
		break;
	case RULE_RESTART_DONE:
	case RULE_RESTART_REPLIED:
		v->restart = a->kind == RULE_RESTART_DONE ? NFSSIM_DONE :
							    NFSSIM_REPLIED;
		v->restart_verifier = new_verifier(sim, a->value.from);
		break;
	case RULE_RESTART:
	case RULE_DOWN:
		/* it never came */
		v->lose_call = true;
		do_to_server(sim, s, a);
		break;
	default:
		do_to_server(sim, s, a);
	}
}

/* Did a call under this xid come before? */
static bool
see_xid(struct script *s, uint32_t xid)
{
	uint32_t *slot = &s->seen[xid % XIDS];
	bool before = *slot == xid;

	*slot = xid;
	return before;
}

void
script_judge(struct nfssim *sim, const struct nfssim_call *call,
	     struct nfssim_verdict *v)
{
	struct script *s = sim->script;
	bool copy = see_xid(s, call->xid);
	const struct rule_action *a;
	struct rule *r;

	s->calls++;
	if (call->prog == NFSSIM_NFS && call->proc == NFSPROC3_WRITE)
		s->total += call->count;
	STAILQ_FOREACH(r, &s->rules, link)
		if (applies(sim, r, call, copy))
			STAILQ_FOREACH(a, &r->actions, link)
				do_to_call(sim, s, a, v);
}

/* reading */

static void
timer_due(void *arg)
{
	struct rule *r = arg;
	const struct rule_action *a;

	STAILQ_FOREACH(a, &r->actions, link)
		do_to_server(r->sim, r->sim->script, a);
}

static void
up_again(void *arg)
{
	nfssim_set_up(arg, true);
}

static bool
make_script(struct nfssim *sim)
{
	struct script *s;

	if (sim->script)
		return true;
	s = calloc(1, sizeof *s);
	if (s)
		s->up = loop_timer(sim->loop, up_again, sim);
	if (!s || !s->up) {
		free(s);
		return false;
	}
	STAILQ_INIT(&s->rules);
	s->random = 88172645463325252ull ^
		    (sim->opt.seed ? sim->opt.seed : 1) * 2654435761ull;
	sim->script = s;
	return true;
}

/* A rule that was read becomes one of the server's. */
static bool
take(struct nfssim *sim, struct rule *r)
{
	uint64_t now = loop_now(sim->loop) - sim->start_usec;
	const struct rule_action *a;

	r->sim = sim;
	if (r->is_set) {
		STAILQ_FOREACH(a, &r->actions, link)
			do_to_server(sim, sim->script, a);
		rule_free(r, sim->loop);
		return true;
	}
	if (r->has_at) {
		r->timer = loop_timer(sim->loop, timer_due, r);
		if (!r->timer)
			return false;
		loop_timer_set(sim->loop, r->timer, r->at_usec > now ?
						    r->at_usec - now : 0);
	}
	STAILQ_INSERT_TAIL(&sim->script->rules, r, link);
	return true;
}

static void
drop_rules(struct nfssim *sim, struct rule_list *rules)
{
	struct rule *r;

	while ((r = STAILQ_FIRST(rules))) {
		STAILQ_REMOVE_HEAD(rules, link);
		rule_free(r, sim->loop);
	}
}

/* All of text, or nothing: where it goes wrong is in why. */
static bool
read_rules(struct nfssim *sim, char *text, struct rule_list *rules, char *why,
	   size_t room)
{
	char reason[160], *line, *part, *comment;
	unsigned line_nr = 0;
	struct rule *r;

	while ((line = strsep(&text, "\n"))) {
		line_nr++;
		comment = strchr(line, '#');
		if (comment)
			*comment = 0;
		while ((part = strsep(&line, ";"))) {
			if (!part[strspn(part, " \t\r")])
				continue;
			r = rule_parse(part, reason, sizeof reason);
			if (!r) {
				snprintf(why, room, "line %u: %s", line_nr,
					 reason);
				drop_rules(sim, rules);
				return false;
			}
			STAILQ_INSERT_TAIL(rules, r, link);
		}
	}
	return true;
}

const char *
nfssim_script(struct nfssim *sim, const char *text)
{
	static char why[200];
	struct rule_list rules = STAILQ_HEAD_INITIALIZER(rules);
	char *copy = strdup(text);
	struct rule *r;
	bool ok;

	if (!copy || !make_script(sim)) {
		free(copy);
		return "no memory";
	}
	ok = read_rules(sim, copy, &rules, why, sizeof why);
	free(copy);
	while (ok && (r = STAILQ_FIRST(&rules))) {
		STAILQ_REMOVE_HEAD(&rules, link);
		if (!take(sim, r)) {
			rule_free(r, sim->loop);
			drop_rules(sim, &rules);
			return "no memory";
		}
	}
	return ok ? NULL : why;
}

void
nfssim_script_clear(struct nfssim *sim)
{
	if (sim->script)
		drop_rules(sim, &sim->script->rules);
}

void
script_free(struct nfssim *sim)
{
	if (!sim->script)
		return;
	nfssim_script_clear(sim);
	loop_timer_free(sim->loop, sim->script->up);
	free(sim->script);
	sim->script = NULL;
}
