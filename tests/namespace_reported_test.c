/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * namespace_reported_test.c - troubles with names and mounts that users of other
 * NFS clients met, and servers that answer garbage
 *
 * A sick server may answer nothing at all, and time is real here.  So there is
 * one for each illness, and all are asked at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "include/nfswb.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/unit.h"

/* ---- sick servers ---- */

#define MOUNTPROC3_MNT 1
#define MOUNTPROC3_EXPORT 5

struct sick {
	struct nfssim *sim;
	int fd;
	unsigned port;
	uint32_t prog, proc;		/* it is sick in this */
	struct nfssim_verdict verdict;
	unsigned times;
	unsigned answers;
	int err;
	struct wb_file *file;
};

#define SICK_MAX 128
static struct sick sick[SICK_MAX];
static unsigned sick_nr, waiting_nr;

static void
sick_fault(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	struct sick *s = arg;

	if (c->prog != s->prog || c->proc != s->proc || !s->times)
		return;
	s->times--;
	*v = s->verdict;
}

static struct sick *
sick_add(uint32_t prog, uint32_t proc, struct nfssim_verdict v)
{
	struct nfssim_options options = { .fault = sick_fault };
	struct sick *s = &sick[sick_nr++];

	CU_ASSERT_FATAL(sick_nr <= SICK_MAX);
	memset(s, 0, sizeof *s);
	options.fault_arg = s;
	s->sim = nfssim_new(w.loop, &options);
	s->fd = listen_on_loopback(&s->port);
	if (!s->sim || nfssim_listen(s->sim, s->fd) < 0)
		abort();
	s->prog = prog;
	s->proc = proc;
	s->verdict = v;
	return s;
}

static const char *
sick_url(const struct sick *s, const char *path)
{
	static char text[2][256];
	static unsigned i;

	i = !i;
	snprintf(text[i], sizeof text[i], "nfs://127.0.0.1:%u/export/%s"
		 "?mountport=%u", s->port, path, s->port);
	return text[i];
}

static void
sick_answered(void *arg, int err, const char *text, const struct ns_answer *a)
{
	struct sick *s = arg;

	CU_ASSERT_EQUAL(err != 0, a == NULL);
	CU_ASSERT(!err || (text && *text));
	s->answers++;
	s->err = err;
	if (a && a->file && !s->file)
		s->file = file_ref(a->file);
	if (--waiting_nr == 0)
		loop_stop(w.loop);
}

typedef void ask_fn(struct sick *);

/* Each is sick for so many calls; all of them answer once. */
static void
ask_all(ask_fn *ask, unsigned times)
{
	unsigned i;

	waiting_nr = sick_nr;
	for (i = 0; i < sick_nr; i++) {
		sick[i].times = times;
		sick[i].answers = 0;
		ask(&sick[i]);
	}
	while (waiting_nr && !w.late)
		run();
	for (i = 0; i < sick_nr; i++) {
		if (sick[i].answers != 1)
			printf("# number %u was answered %u times\n", i,
			       sick[i].answers);
		CU_ASSERT_EQUAL(sick[i].answers, 1);
	}
}

static void
ask_stat(struct sick *s)
{
	ns_stat(w.ns, sick_url(s, ""), w.cred, true, sick_answered, s);
}

static unsigned
failed_nr(void)
{
	unsigned i, nr = 0;

	for (i = 0; i < sick_nr; i++)
		nr += sick[i].err != 0;
	return nr;
}

/* They are well again; connections may still be in a pause. */
static void
ask_healed(ask_fn *ask)
{
	unsigned i, rounds = 0;

	do
		ask_all(ask, 0);
	while (failed_nr() && ++rounds < 15 && !w.late);
	for (i = 0; i < sick_nr; i++)
		if (sick[i].err)
			printf("# number %u: %s\n", i,
			       strerror(-sick[i].err));
	CU_ASSERT_EQUAL(failed_nr(), 0);
}

static void
start(bool soft)
{
	world_start(NULL);
	w.config->server.soft = soft;
	w.config->server.timeo = 5;	/* half a second */
	w.config->server.retrans = 2;
	namespace_free(w.ns);
	start_namespace();
	log_set_level(LOG_LEVEL_ERROR);
	sick_nr = 0;
}

static void
end(void)
{
	unsigned i;

	for (i = 0; i < sick_nr; i++)
		file_put(sick[i].file);
	/* those who mounted go first */
	namespace_free(w.ns);
	wb_free(w.wb);
	free(w.view.control);
	free(w.view.data);
	for (i = 0; i < sick_nr; i++) {
		nfssim_free(sick[i].sim);
		close(sick[i].fd);
	}
	start_pipeline();
	start_namespace();
	world_end();
}

/* ---- mounts ---- */

static const struct {
	uint32_t prog, proc;
} half_way[] = {
	{ NFSSIM_NFS, NFSPROC3_NULL }, { NFSSIM_MOUNT, 0 },
	{ NFSSIM_MOUNT, MOUNTPROC3_EXPORT }, { NFSSIM_MOUNT, MOUNTPROC3_MNT },
	{ NFSSIM_NFS, NFSPROC3_FSINFO },
};

static void
add_half_way(struct nfssim_verdict v)
{
	unsigned i;

	for (i = 0; i < sizeof half_way / sizeof *half_way; i++)
		sick_add(half_way[i].prog, half_way[i].proc, v);
}

#define VERDICT(...) ((struct nfssim_verdict){ __VA_ARGS__ })

/* sahlberg/libnfs#528: concurrent mounts of unhealthy exports, freed twice */
static void
mounts_refused_half_way_and_at_once_are_each_answered(void)
{
	start(true);
	add_half_way(VERDICT(.status = 13));	/* permission denied */
	add_half_way(VERDICT(.status = 99999));
	add_half_way(VERDICT(.cut = true));
	add_half_way(VERDICT(.cut_half = true));
	add_half_way(VERDICT(.cut_after = true));
	add_half_way(VERDICT(.lose_reply = true));
	add_half_way(VERDICT(.copies = 3));
	ask_all(ask_stat, UINT32_MAX);
	CU_ASSERT(failed_nr() > sick_nr / 2);
	ask_healed(ask_stat);
	end();
}

/* sahlberg/libnfs README.security-scan, F-1 to F-4 */
static void
mounts_answered_with_garbage_are_each_answered(void)
{
	int g;

	start(true);
	for (g = NFSSIM_SANE + 1; g < NFSSIM_GARBAGE_NR; g++)
		add_half_way(VERDICT(.garbage = (enum nfssim_garbage)g));
	ask_all(ask_stat, 1);
	ask_healed(ask_stat);
	end();
}

static void
stopping_among_mounts_half_way_answers_all(void)
{
	unsigned i;

	start(true);
	add_half_way(VERDICT(.lose_call = true));
	add_half_way(VERDICT(.garbage = NFSSIM_XID));
	add_half_way(VERDICT(.delay_usec = 1000));
	waiting_nr = sick_nr + 1;
	for (i = 0; i < sick_nr; i++) {
		sick[i].times = UINT32_MAX;
		ask_stat(&sick[i]);
	}
	for (i = 0; i < 20; i++) {	/* some of the way */
		loop_timer_set(w.loop, w.guard, 1000);
		loop_run(w.loop);
	}
	w.late = false;
	namespace_free(w.ns);
	for (i = 0; i < sick_nr; i++)
		CU_ASSERT_EQUAL(sick[i].answers, 1);
	start_namespace();
	end();
}

/* ---- garbage for names and attributes ---- */

static void
add_all_garbage(uint32_t proc)
{
	int g;

	for (g = NFSSIM_SANE + 1; g < NFSSIM_GARBAGE_NR; g++)
		sick_add(NFSSIM_NFS, proc,
			 VERDICT(.garbage = (enum nfssim_garbage)g));
}

static void
ask_create(struct sick *s)
{
	ns_open(w.ns, sick_url(s, "new"), w.cred, O_RDWR | O_CREAT, 0640, 1,
		sick_answered, s);
}

static void
ask_exclusive(struct sick *s)
{
	ns_open(w.ns, sick_url(s, "own"), w.cred, O_RDWR | O_CREAT | O_EXCL,
		0640, 1, sick_answered, s);
}

static void
ask_open(struct sick *s)
{
	ns_open(w.ns, sick_url(s, "f"), w.cred, O_RDWR, 0, 1, sick_answered,
		s);
}

static void
ask_stat_f(struct sick *s)
{
	ns_stat(w.ns, sick_url(s, "f"), w.cred, true, sick_answered, s);
}

static void
ask_getattr(struct sick *s)
{
	ns_getattr(w.ns, s->file, w.cred, sick_answered, s);
}

static void
ask_read(struct sick *s)
{
	ns_read(w.ns, s->file, w.cred, 0, 3000, sick_answered, s);
}

static void
ask_mkdir(struct sick *s)
{
	ns_mkdir(w.ns, sick_url(s, "d"), 0755, w.cred, sick_answered, s);
}

static void
ask_symlink(struct sick *s)
{
	ns_symlink(w.ns, "f", sick_url(s, "link"), w.cred, sick_answered, s);
}

static void
ask_follow(struct sick *s)
{
	ns_stat(w.ns, sick_url(s, "link"), w.cred, true, sick_answered, s);
}

static void
ask_setattr(struct sick *s)
{
	struct nfswb_attr attr = { .mode = 0600 };

	ns_setattr(w.ns, sick_url(s, "f"), w.cred, NFSWB_SET_MODE, &attr,
		   sick_answered, s);
}

static void
ask_rename(struct sick *s)
{
	ns_rename(w.ns, sick_url(s, "g"), sick_url(s, "h"), w.cred,
		  sick_answered, s);
}

static void
ask_unlink(struct sick *s)
{
	ns_unlink(w.ns, sick_url(s, "link"), w.cred, sick_answered, s);
}

static void
ask_rmdir(struct sick *s)
{
	ns_rmdir(w.ns, sick_url(s, "empty"), w.cred, sick_answered, s);
}

static void
ask_readdir(struct sick *s)
{
	ns_readdir(w.ns, sick_url(s, ""), w.cred, 0, 0, sick_answered, s);
}

static const struct {
	uint32_t proc;
	ask_fn *ask;
} garbage_asks[] = {
	{ NFSPROC3_LOOKUP, ask_stat_f },
	{ NFSPROC3_ACCESS, ask_open },
	{ NFSPROC3_GETATTR, ask_getattr },
	{ NFSPROC3_READ, ask_read },
	{ NFSPROC3_CREATE, ask_create },
	{ NFSPROC3_CREATE, ask_exclusive },
	{ NFSPROC3_MKDIR, ask_mkdir },
	{ NFSPROC3_SYMLINK, ask_symlink },
	{ NFSPROC3_READLINK, ask_follow },
	{ NFSPROC3_SETATTR, ask_setattr },
	{ NFSPROC3_RENAME, ask_rename },
	{ NFSPROC3_REMOVE, ask_unlink },
	{ NFSPROC3_RMDIR, ask_rmdir },
};

static void
prepare(struct sick *s)
{
	struct fh fh;

	nfssim_create(s->sim, "f", &fh);
	nfssim_create(s->sim, "g", &fh);
	nfssim_mkdir(s->sim, "empty", &fh);
}

/* Whatever a call was answered with, the next are answered well. */
static void
names_answered_with_garbage_are_answered_and_nothing_is_amiss_later(void)
{
	unsigned i, n;

	start(false);
	add_all_garbage(0);
	for (i = 0; i < sick_nr; i++)
		prepare(&sick[i]);
	ask_all(ask_open, 0);
	for (n = 0; n < sizeof garbage_asks / sizeof *garbage_asks; n++) {
		for (i = 0; i < sick_nr; i++)
			sick[i].proc = garbage_asks[n].proc;
		ask_all(garbage_asks[n].ask, 1);
		ask_healed(ask_stat_f);
	}
	end();
}

static void
listings_answered_with_garbage_are_answered_and_asked_anew(void)
{
	unsigned i;

	start(true);
	add_all_garbage(NFSPROC3_READDIRPLUS);
	for (i = 0; i < sick_nr; i++)
		prepare(&sick[i]);
	ask_all(ask_stat, 0);
	ask_all(ask_readdir, 1);
	ask_healed(ask_readdir);
	end();
}

/* ---- rights ---- */

/* sahlberg/fuse-nfs#48: readable, and writing failed after it was buffered */
static void
squashed_root_is_refused_at_open_and_ids_are_the_callers(void)
{
	struct nfssim_options options = { .check_access = true,
					  .root_squash = true };
	struct cred *caller;

	world_start(&options);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	CU_ASSERT_EQUAL(w.attr.uid, 1000);
	CU_ASSERT_EQUAL(w.attr.gid, 100);
	file_put(w.file);
	caller = w.cred;
	w.cred = cred_get(0, 0, NULL, 0);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY, 0), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "Permission denied"));
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_TRUNC, 0), -EACCES);
	CU_ASSERT_EQUAL(do_open("f", O_RDONLY, 0), 0);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_open("roots", O_WRONLY | O_CREAT, 0644), 0);
	CU_ASSERT_EQUAL(w.attr.uid, 65534);
	file_put(w.file);
	cred_put(w.cred);
	w.cred = caller;
	world_end();
}

/* ---- sizes ---- */

/* sahlberg/libnfs#206, #207, #214 */
static void
absurd_limits_of_the_server_are_clamped_and_work(void)
{
	static const struct nfssim_fsinfo absurd[] = {
		{ .maxfilesize = INT64_MAX },
		{ .wtmax = UINT32_MAX, .rtmax = UINT32_MAX,
		  .wtpref = UINT32_MAX, .rtpref = UINT32_MAX,
		  .wtmult = UINT32_MAX, .rtmult = UINT32_MAX,
		  .dtpref = UINT32_MAX, .maxfilesize = UINT64_MAX },
		{ .wtmax = 65536, .wtpref = 1 << 20, .rtmax = 65536,
		  .rtpref = 1 << 20, .maxfilesize = 1 << 30 },
		{ .wtmax = 1, .wtpref = 1, .rtmax = 1, .rtpref = 1,
		  .wtmult = 1, .maxfilesize = 1 << 30 },
		{ .wtmax = 10000, .wtpref = 10000, .wtmult = 7777,
		  .rtmax = 4097, .rtpref = 4097, .maxfilesize = 1 << 30 },
	};
	char text[5001], back[5000];
	struct wb_handle *h;
	unsigned i;

	memset(text, 'x', 5000);
	text[5000] = 0;
	for (i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		world_start(NULL);
		log_set_level(LOG_LEVEL_ERROR);
		*nfssim_fsinfo(w.sim) = absurd[i];
		h = open_file("f", O_RDWR | O_CREAT);
		write_text(h, text, 3);
		handle_fsync(h, loop_now(w.loop), file_answered, NULL);
		CU_ASSERT_EQUAL(answer(), 0);
		ns_read(w.ns, handle_file(h), w.cred, 0, 5003, answered, NULL);
		CU_ASSERT_EQUAL(answer(), 0);
		CU_ASSERT_EQUAL(w.length, 5003);
		CU_ASSERT(!memcmp(w.data + 3, text, 5000));
		CU_ASSERT_EQUAL(do_close(h), 0);
		CU_ASSERT_EQUAL(nfssim_read(w.sim, "f", NFSSIM_STABLE, 3, back,
					    5000), 5000);
		CU_ASSERT(!memcmp(back, text, 5000));
		world_end();
	}
}

/* ---- calls repeated ---- */

/* marmos91/dittofs#1003 */
static void
symlink_sent_twice_has_worked_and_a_second_one_has_not(void)
{
	world_start(NULL);
	break_next(NFSPROC3_SYMLINK, VERDICT(.cut = true), 1);
	CU_ASSERT_EQUAL(do_symlink("a", "link"), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_SYMLINK), 2);
	CU_ASSERT_EQUAL(do_symlink("a", "link"), -EEXIST);
	world_end();
}

UNIT_TESTS(namespace_reported,
	UNIT(mounts_refused_half_way_and_at_once_are_each_answered),
	UNIT(mounts_answered_with_garbage_are_each_answered),
	UNIT(stopping_among_mounts_half_way_answers_all),
	UNIT(names_answered_with_garbage_are_answered_and_nothing_is_amiss_later),
	UNIT(listings_answered_with_garbage_are_answered_and_asked_anew),
	UNIT(squashed_root_is_refused_at_open_and_ids_are_the_callers),
	UNIT(absurd_limits_of_the_server_are_clamped_and_work),
	UNIT(symlink_sent_twice_has_worked_and_a_second_one_has_not),
)
