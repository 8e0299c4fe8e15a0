/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* play_server.c - the server's moods, and what is on its stable storage */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rpc/nfs3_prot.h"
#include "tests/model/play_impl.h"
#include "tests/random.h"

static bool
in_10000(unsigned of)
{
	return of && random_next(&st->random, 10000) < of;
}

static uint64_t
now(void)
{
	return loop_now(st->world->loop);
}

struct image *
stage_image(const struct fh *fh)
{
	struct image *m;

	for (m = st->images; m; m = m->next)
		if (fh_equal(&m->fh, fh))
			return m;
	return NULL;
}

/* ---- what is on it ---- */

const char *
stage_name(const struct image *m)
{
	static char name[8];
	struct fh fh;
	unsigned i;

	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "f%u", i);
		if (nfssim_lookup(st->world->sim, name, &fh) == 0 &&
		    fh_equal(&fh, &m->fh))
			return name;
	}
	return NULL;
}

static int64_t
contents(const struct image *m, enum nfssim_which which, unsigned char *buf)
{
	const char *name = stage_name(m);
	int64_t size;

	if (!name)
		return -ENOENT;
	size = nfssim_size(st->world->sim, name, which);
	if (size > IMAGE_MAX)
		world_fail("%s has %lld bytes", name, (long long)size);
	if (nfssim_read(st->world->sim, name, which, 0, buf, IMAGE_MAX) !=
	    size)
		world_fail("%s can't be read", name);
	return size;
}

void
stage_promise(struct image *m, const struct state *s, unsigned nr,
	      const char *who)
{
	static unsigned char there[IMAGE_MAX];
	int64_t size = contents(m, NFSSIM_STABLE, there);

	st->played->fsyncs++;
	if (size >= 0 && !image_promise(m, s, nr, there, size))
		world_fail("%s answered 0, and %s is not on stable storage",
			   who, stage_name(m));
}

void
stage_check_promises(const char *when)
{
	static unsigned char there[IMAGE_MAX];
	struct image *m;
	int64_t size;

	for (m = st->images; m; m = m->next) {
		if (!m->promise || !m->linked)
			continue;
		size = contents(m, NFSSIM_STABLE, there);
		if (size >= 0 && !image_holds(m, there, size))
			world_fail("%s: %s lost what was promised", when,
				   stage_name(m));
	}
}

/* ---- its moods ---- */

/* Connections end: what left just now may not arrive. */
static void
unsure(void)
{
	struct image *m;

	for (m = st->images; m; m = m->next)
		if (m->sure_usec + DELIVERY_USEC >= now())
			m->sure_nr = 0;
}

void
stage_trouble(enum trouble t)
{
	struct nfssim *sim = st->world->sim;
	uint64_t verifier = 1 + random_next(&st->random, 1ull << 40);

	st->played->troubles++;
	unsure();
	switch (t) {
	case TROUBLE_CRASH:
		st->played->crashes++;
		nfssim_restart(sim, verifier);
		stage_check_promises("the server came up again");
		break;
	case TROUBLE_CUT:
		nfssim_cut(sim);
		break;
	default:
		nfssim_set_verifier(sim, verifier);
	}
}

static void
crash(void *arg)
{
	struct nfssim *sim = st->world->sim;

	(void)arg;
	if (!st->down && !st->calm)
		stage_trouble(TROUBLE_CRASH);
	st->down = !st->down && !st->calm &&
		   random_next(&st->random, 30) == 0;
	nfssim_set_up(sim, !st->down);
	stage_crash_later();
}

/* Or come up again. */
void
stage_crash_later(void)
{
	struct loop *l = st->world->loop;
	uint64_t usec = st->down ? SECOND : st->play->moods.crash_usec;

	if (!st->play->moods.crash_usec)
		return;
	if (!st->crash)
		st->crash = loop_timer(l, crash, NULL);
	if (!st->crash)
		world_fail("no memory");
	loop_timer_set(l, st->crash, 1 + random_next(&st->random, 2 * usec));
}

static void
trouble_soon(void *arg)
{
	(void)arg;
	stage_trouble(st->play->trouble);
}

static bool
is_first_copy(uint32_t xid)
{
	unsigned i;

	for (i = 0; i < XIDS; i++)
		if (st->xid[i] == xid)
			return false;
	st->xid[st->xid_nr++ % XIDS] = xid;
	return true;
}

static void
say_error(const struct nfssim_call *c, struct nfssim_verdict *v, bool first)
{
	static const struct {
		uint32_t status;
		int err;
	} errors[] = { { NFS3ERR_NOSPC, ENOSPC }, { NFS3ERR_DQUOT, EDQUOT },
		       { NFS3ERR_IO, EIO } };
	unsigned which = now() < st->full_until ? 0 :
			 (unsigned)random_next(&st->random, 3);
	struct image *m = stage_image(&c->fh);

	v->status = errors[which].status;
	st->played->errors++;
	if (st->loud)
		printf("# an error for %s%s\n", m ? stage_name(m) : "?",
		       first ? "" : ", to a copy");
	if (!m)
		return;
	m->errs[m->err_nr++ % IMAGE_ERRS] = errors[which].err;
	if (first) {
		m->sure_nr = m->err_nr;
		m->sure_usec = now();
	}
}

/* True: it is an error, and nothing else befalls it. */
static bool
data_fault(const struct nfssim_call *c, struct nfssim_verdict *v, bool first)
{
	const struct moods *m = &st->play->moods;

	if (in_10000(m->full))
		st->full_until = now() + random_next(&st->random, 2 * SECOND);
	if (in_10000(m->error) ||
	    (now() < st->full_until && c->proc == NFSPROC3_WRITE)) {
		say_error(c, v, first);
		return true;
	}
	if (in_10000(m->hold))
		v->hold_usec = random_next(&st->random, 8 * SECOND);
	if (c->proc != NFSPROC3_WRITE)
		return false;
	if (in_10000(m->shortened) && c->count)
		v->short_count = 1 + (uint32_t)random_next(&st->random,
							   c->count);
	v->sync = in_10000(m->stable);
	return false;
}

static void
line_fault(struct nfssim_verdict *v)
{
	const struct moods *m = &st->play->moods;
	struct nfssim *sim = st->world->sim;

	v->lose_call = in_10000(m->lose_call);
	v->lose_reply = in_10000(m->lose_reply);
	v->copies = in_10000(m->copies);
	v->cut = in_10000(m->cut);
	if (v->cut)
		unsure();
	if (in_10000(m->delay))
		v->delay_usec = random_next(&st->random, 3 * SECOND);
	if (in_10000(m->cut_later)) {
		nfssim_cut_after(sim, 1 + random_next(&st->random, 40000));
		st->cut_any_time = true;
	}
	if (in_10000(m->crash))
		stage_trouble(TROUBLE_CRASH);
	if (in_10000(m->new_verifier))
		stage_trouble(TROUBLE_VERIFIER);
}

void
stage_fault(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	struct played *p = st->played;
	bool first = is_first_copy(c->xid);

	(void)arg;
	p->trace = (p->trace ^ c->xid ^ c->proc ^ c->offset ^ c->count ^
		    now()) * 1099511628211ull;
	p->calls++;
	if (st->counting && ++p->counted == st->play->at_call) {
		if (st->play->after_reply)
			world_soon(st->world, trouble_soon, NULL);
		else
			stage_trouble(st->play->trouble);
	}
	if (c->proc == NFSPROC3_COMMIT)
		v->delay_usec = st->play->commit_delay_usec;
	if (st->calm)
		return;
	if (in_10000(st->play->moods.jukebox))
		v->status = NFS3ERR_JUKEBOX;
	if ((c->proc == NFSPROC3_WRITE || c->proc == NFSPROC3_COMMIT) &&
	    !v->status && data_fault(c, v, first))
		return;
	line_fault(v);
}

/* ---- the end ---- */

static void
bring_home(struct client *c, struct slot *s)
{
	static struct state whole;
	unsigned tries;

	for (tries = 0; nfswb_fsync(s->file); tries++)
		if (tries == 3)
			world_fail("fsync fails on a calm server: %s",
				   nfswb_strerror(c->nfs));
	image_state(s->image, &whole);
	stage_promise(s->image, &whole, 1, "the last fsync");
}

static void
close_all(void)
{
	struct client *c;
	struct slot *s;

	for (c = st->client; c < st->client + CLIENTS; c++) {
		for (s = c->slot; s < c->slot + SLOTS; s++)
			if (s->file)
				bring_home(c, s);
		for (s = c->slot; s < c->slot + SLOTS; s++) {
			if (s->file && nfswb_close(s->file))
				world_fail("close fails after fsync: %s",
					   nfswb_strerror(c->nfs));
			s->file = NULL;
		}
		if (c->nfs)
			nfswb_disconnect(c->nfs);
	}
}

static void
check_contents(void)
{
	static unsigned char there[IMAGE_MAX];
	static struct state whole;
	struct image *m;
	unsigned i;
	int64_t size;

	for (i = 0; i < NAMES; i++) {
		char name[8];
		struct fh fh;
		bool is;

		snprintf(name, sizeof name, "f%u", i);
		is = nfssim_lookup(st->world->sim, name, &fh) == 0;
		if (is != (st->name[i] != NULL) ||
		    (is && !fh_equal(&fh, &st->name[i]->fh)))
			world_fail("%s is not what it should be", name);
	}
	for (m = st->images; m; m = m->next) {
		if (!m->linked)
			continue;
		image_state(m, &whole);
		stage_promise(m, &whole, 1, "everything");
		size = contents(m, NFSSIM_VOLATILE, there);
		if (!image_promise(m, &whole, 1, there, size))
			world_fail("the server's memory is not its disk");
	}
}

void
stage_end(void)
{
	struct world *w = st->world;

	st->calm = true;
	w->beside = NULL;
	world_pass(w, 2 * SECOND);
	close_all();
	/* what was held, late or repeated must not change that */
	world_pass(w, 60 * SECOND);
	check_contents();
	if (wb_left_bytes(w->wb))
		world_fail("%llu bytes are left",
			   (unsigned long long)wb_left_bytes(w->wb));
	if (nfssim_stats(w->sim)->overlapping_writes)
		world_fail("two WRITEs in flight overlapped");
}
