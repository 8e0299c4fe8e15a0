/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_keys_test.c - the keys of a [mount], and what FSINFO says, on the wire
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/writeback/file.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/unit.h"

/* What the server saw of WRITEs. */
static struct {
	unsigned nr, of_stable[3];
	uint32_t largest;
} writes;

static void
watch_writes(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	(void)v;
	if (c->prog != NFSSIM_NFS || c->proc != NFSPROC3_WRITE)
		return;
	writes.nr++;
	writes.of_stable[c->stable]++;
	if (c->count > writes.largest)
		writes.largest = c->count;
}

/* A world whose mount "m" is the export; set its keys, then open_there. */
static struct config_server *
start_mount(void)
{
	static char target[128];

	world_start(NULL);
	memset(&writes, 0, sizeof writes);
	snprintf(target, sizeof target,
		 "nfs://127.0.0.1:%u/export?mountport=%u", w.port, w.port);
	w.mount = (struct config_mount){ .name = (char *)"m",
					 .target = target,
					 .server = w.config->server };
	w.config->mount = &w.mount;
	w.config->mount_nr = 1;
	nfssim_set_fault(w.sim, watch_writes, NULL);
	return &w.mount.server;
}

static void
end_mount(void)
{
	w.config->mount = NULL;
	w.config->mount_nr = 0;
	world_end();
}

static struct wb_handle *
open_there(const char *path, int oflags)
{
	struct wb_handle *h;
	char target[128];

	snprintf(target, sizeof target, "m:/%s", path);
	w.file = NULL;
	ns_open(w.ns, target, w.cred, oflags, 0644, 77, answered, NULL);
	CU_ASSERT_EQUAL_FATAL(answer(), 0);
	h = handle_open(w.file, w.cred, oflags);
	file_put(w.file);
	return h;
}

static void
sync_it(struct wb_handle *h)
{
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
}

/* Two ranges, so that no WRITE is all there is. */
static void
write_two(struct wb_handle *h)
{
	write_text(h, "one", 0);
	write_text(h, "two", 100000);
	sync_it(h);
}

static void
stable_is_what_the_mount_says(void)
{
	static const enum wb_stable how[] = { WB_UNSTABLE, WB_DATA_SYNC,
					      WB_FILE_SYNC };
	unsigned i;

	for (i = 0; i < 3; i++) {
		struct wb_handle *h;

		start_mount()->stable = how[i];
		h = open_there("f", O_WRONLY | O_CREAT);
		write_two(h);
		CU_ASSERT_EQUAL(writes.nr, 2);
		CU_ASSERT_EQUAL(writes.of_stable[how[i]], 2);
		CU_ASSERT_EQUAL(calls(NFSPROC3_COMMIT), how[i] ? 0 : 1);
		CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE),
				100003);
		CU_ASSERT_EQUAL(do_close(h), 0);
		end_mount();
	}
}

static void
wsize_is_what_the_mount_says(void)
{
	static char text[20000];
	struct wb_handle *h;

	memset(text, 'x', sizeof text - 1);
	start_mount()->wsize = 4096;
	h = open_there("f", O_WRONLY | O_CREAT);
	write_text(h, text, 0);
	sync_it(h);
	CU_ASSERT_EQUAL(writes.largest, 4096);
	CU_ASSERT_EQUAL(writes.nr, 5);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

static void
files_end_where_fsinfo_says(void)
{
	struct wb_handle *h;

	start_mount();
	nfssim_fsinfo(w.sim)->maxfilesize = 1000;
	h = open_there("f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(file_max_size(handle_file(h)), 1000);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

static void
soft_mount_gives_up_after_retrans_times_timeo(void)
{
	struct nfssim_verdict lost = { .lose_reply = true };
	struct config_server *c = start_mount();
	uint64_t began, took;
	struct wb_handle *h;

	c->soft = true;
	c->timeo = 1;
	c->retrans = 3;
	h = open_there("f", O_WRONLY | O_CREAT);
	break_next(NFSPROC3_GETATTR, lost, 1000);
	began = loop_now(w.loop);
	ns_getattr(w.ns, handle_file(h), w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -ETIMEDOUT);
	took = loop_now(w.loop) - began;
	CU_ASSERT(took >= 300000);
	CU_ASSERT(calls(NFSPROC3_GETATTR) >= 2);	/* resent by timeo */
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

static bool
asked_six_times(void)
{
	return calls(NFSPROC3_GETATTR) >= 6;
}

static void
hard_mount_goes_on(void)
{
	struct nfssim_verdict lost = { .lose_reply = true };
	struct config_server *c = start_mount();
	struct wb_handle *h;

	c->timeo = 1;
	c->retrans = 1;
	h = open_there("f", O_WRONLY | O_CREAT);
	break_next(NFSPROC3_GETATTR, lost, 6);
	ns_getattr(w.ns, handle_file(h), w.cred, answered, NULL);
	CU_ASSERT(comes_true(asked_six_times));
	CU_ASSERT_EQUAL(answer(), 0);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

/* What is logged while fn runs. */
static const char *
logged(void (*fn)(void))
{
	static char text[4096];
	int saved = dup(2), pipes[2];
	ssize_t n;

	CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_NONBLOCK), 0);
	dup2(pipes[1], 2);
	log_set_level(LOG_LEVEL_WARNING);
	fn();
	dup2(saved, 2);
	close(saved);
	close(pipes[1]);
	n = read(pipes[0], text, sizeof text - 1);
	close(pipes[0]);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static unsigned other_timeo;

static void
use_both_mounts(void)
{
	struct wb_handle *h;

	start_mount()->timeo = other_timeo;
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	h = open_there("f", O_WRONLY);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

static void
mounts_of_one_server_that_disagree_are_told(void)
{
	other_timeo = 600;
	CU_ASSERT_PTR_NULL(strstr(logged(use_both_mounts), "timeo"));
	other_timeo = 70;
	CU_ASSERT_PTR_NOT_NULL(strstr(logged(use_both_mounts), "timeo"));
}

UNIT_TESTS(mount_keys,
	UNIT(stable_is_what_the_mount_says),
	UNIT(wsize_is_what_the_mount_says),
	UNIT(files_end_where_fsinfo_says),
	UNIT(soft_mount_gives_up_after_retrans_times_timeo),
	UNIT(hard_mount_goes_on),
	UNIT(mounts_of_one_server_that_disagree_are_told),
)
