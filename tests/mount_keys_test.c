/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_keys_test.c - the keys of a [mount], and what FSINFO says, on the wire
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/writeback/file.h"
#include "rpc/client.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/reserved_port.h"
#include "tests/unit.h"

/* What the server saw of WRITEs and READs. */
static struct {
	unsigned nr, of_stable[3];
	uint32_t largest, largest_read;
	unsigned wanted;
	bool lose;			/* what WRITEs are answered */
} writes;

static void
watch_writes(void *arg, const struct nfssim_call *c, struct nfssim_verdict *v)
{
	(void)arg;
	if (c->prog != NFSSIM_NFS)
		return;
	if (c->proc == NFSPROC3_READ && c->count > writes.largest_read)
		writes.largest_read = c->count;
	if (c->proc != NFSPROC3_WRITE)
		return;
	v->lose_reply = writes.lose;
	writes.nr++;
	writes.of_stable[c->stable]++;
	if (c->count > writes.largest)
		writes.largest = c->count;
}

/* A world whose mount "m" is the export; set its keys, then open_there. */
static struct config_server *
start_mount_of(const struct nfssim_options *options)
{
	static char target[128];

	world_start(options);
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

static struct config_server *
start_mount(void)
{
	return start_mount_of(NULL);
}

static void
end_mount(void)
{
	w.config->mount = NULL;
	w.config->mount_nr = 0;
	world_end();
}

static int
try_open_there(const char *path, int oflags)
{
	char target[128];

	snprintf(target, sizeof target, "m:/%s", path);
	w.file = NULL;
	ns_open(w.ns, target, w.cred, oflags, 0644, 77, answered, NULL);
	return answer();
}

static struct wb_handle *
open_there(const char *path, int oflags)
{
	struct wb_handle *h;

	CU_ASSERT_EQUAL_FATAL(try_open_there(path, oflags), 0);
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
rsize_is_what_the_mount_says(void)
{
	static char text[8001];
	struct wb_handle *h;

	memset(text, 'x', sizeof text - 1);
	start_mount()->rsize = 4096;
	h = open_there("f", O_RDWR | O_CREAT);
	write_text(h, text, 0);
	sync_it(h);
	ns_read(w.ns, handle_file(h), w.cred, 0, 8000, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.length, 8000);
	CU_ASSERT_EQUAL(writes.largest_read, 4096);
	CU_ASSERT_EQUAL(calls(NFSPROC3_READ), 2);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
}

/* ---- what is under way at once: no WRITE is answered until all has come ---- */

static bool
as_many_as_wanted(void)
{
	return writes.nr >= writes.wanted;
}

static unsigned turns;

static bool
turned_often(void)
{
	return ++turns == 50;
}

/* Whatever could still come has come then. */
static unsigned
writes_out(unsigned wanted)
{
	writes.wanted = wanted;
	CU_ASSERT(comes_true(as_many_as_wanted));
	turns = 0;
	comes_true(turned_often);
	return writes.nr;
}

static void
answer_from_now_on(void)
{
	writes.lose = false;
	nfssim_cut(w.sim);
}

static char much[(2 << 20) + 1];

static void
slot_table_entries_is_the_most_calls_in_flight(void)
{
	static const unsigned slots[] = { 2, 5, 20 };
	unsigned i;

	memset(much, 'x', 30 * 4096);
	much[30 * 4096] = 0;
	for (i = 0; i < 3; i++) {
		struct config_server *c = start_mount();
		struct wb_handle *h;

		c->slot_table_entries = slots[i];
		c->wsize = 4096;
		h = open_there("f", O_WRONLY | O_CREAT);
		writes.lose = true;
		write_text(h, much, 0);
		handle_fsync(h, loop_now(w.loop), file_answered, NULL);
		CU_ASSERT_EQUAL(writes_out(slots[i]), slots[i]);
		answer_from_now_on();
		CU_ASSERT_EQUAL(answer(), 0);
		CU_ASSERT_EQUAL(writes.nr, 30 + slots[i]);
		CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE),
				30 * 4096);
		CU_ASSERT_EQUAL(do_close(h), 0);
		end_mount();
	}
}

static void
client_found(void *arg, struct wb_server *s, struct rpc_client *c)
{
	(void)s;
	*(struct rpc_client **)arg = c;
}

static void
nconnect_is_the_number_of_connections(void)
{
	static const unsigned nconnect[] = { 1, 4, 16 };
	unsigned i, up;

	memset(much, 'x', 30 * 4096);
	much[30 * 4096] = 0;
	for (i = 0; i < 3; i++) {
		struct config_server *c = start_mount();
		struct rpc_client *client = NULL;
		struct wb_handle *h;

		c->nconnect = nconnect[i];
		c->wsize = 4096;
		h = open_there("f", O_WRONLY | O_CREAT);
		write_text(h, much, 0);
		sync_it(h);
		CU_ASSERT_EQUAL(writes.nr, 30);
		ns_each_server(w.ns, client_found, &client);
		CU_ASSERT_PTR_NOT_NULL_FATAL(client);
		CU_ASSERT_EQUAL(rpc_client_connections(client, &up),
				nconnect[i]);
		CU_ASSERT_EQUAL(up, nconnect[i]);
		CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE),
				30 * 4096);
		CU_ASSERT_EQUAL(do_close(h), 0);
		end_mount();
	}
}

/* Nobody fsyncs: a writer lacks room. */
static void
write_until_full(struct wb_handle *h)
{
	uint64_t at = 0;
	int64_t n;

	do {
		n = slab_write(w.slab, h, much, 1 << 20, at, loop_now(w.loop));
		CU_ASSERT_FATAL(n >= 0);
		at += (uint64_t)n;
	} while (n);
}

/* How many WRITEs of 64 KiB are under way where the mount says 64 KiB. */
static unsigned
under_way(enum congestion_policy policy, bool sync, unsigned wanted)
{
	struct config_server *c = start_mount();
	struct wb_handle *h;
	unsigned nr;

	memset(much, 'x', 2 << 20);
	much[2 << 20] = 0;
	c->congestion_kb = 64;
	c->congestion_policy = policy;
	c->wsize = 65536;
	h = open_there("f", O_WRONLY | O_CREAT);
	writes.lose = true;
	if (sync) {
		write_text(h, much, 0);
		handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	} else {
		write_until_full(h);
	}
	nr = writes_out(wanted);
	answer_from_now_on();
	if (!sync)
		handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end_mount();
	return nr;
}

/* As congestion.c says it: a pass ends when it has passed its mark; the one of
   sync passes is twice as high. */
static void
congestion_is_what_the_mount_says(void)
{
	CU_ASSERT_EQUAL(under_way(CONGESTION_SPLIT, false, 2), 2);
	CU_ASSERT_EQUAL(under_way(CONGESTION_SPLIT, true, 3), 3);
	CU_ASSERT_EQUAL(under_way(CONGESTION_SINGLE, false, 2), 2);
	CU_ASSERT_EQUAL(under_way(CONGESTION_SINGLE, true, 32), 32);
	CU_ASSERT(under_way(CONGESTION_NONE, false, 32) >= 32);
	CU_ASSERT_EQUAL(under_way(CONGESTION_NONE, true, 32), 32);
}

/* ---- ports ---- */

/* kofemann/ms-nfs41-client#13, sahlberg/libnfs#237: the server wants a port
   below 1024, and there was no way to choose */
static void
resvport_is_what_the_mount_says(void)
{
	struct nfssim_options secure = { .secure_port = true };

	start_mount_of(&secure)->resvport = RPC_RESVPORT_NO;
	CU_ASSERT_EQUAL(try_open_there("f", O_WRONLY | O_CREAT), -EPERM);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "1024"));
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "resvport = yes"));
	end_mount();
	start_mount()->resvport = RPC_RESVPORT_NO;
	CU_ASSERT_EQUAL(do_close(open_there("f", O_WRONLY | O_CREAT)), 0);
	end_mount();
	if (!may_bind_reserved())
		return;
	start_mount_of(&secure)->resvport = RPC_RESVPORT_YES;
	CU_ASSERT_EQUAL(do_close(open_there("f", O_WRONLY | O_CREAT)), 0);
	end_mount();
	start_mount_of(&secure)->resvport = RPC_RESVPORT_AUTO;
	CU_ASSERT_EQUAL(do_close(open_there("f", O_WRONLY | O_CREAT)), 0);
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
	UNIT(rsize_is_what_the_mount_says),
	UNIT(slot_table_entries_is_the_most_calls_in_flight),
	UNIT(nconnect_is_the_number_of_connections),
	UNIT(congestion_is_what_the_mount_says),
	UNIT(resvport_is_what_the_mount_says),
	UNIT(files_end_where_fsinfo_says),
	UNIT(soft_mount_gives_up_after_retrans_times_timeo),
	UNIT(hard_mount_goes_on),
	UNIT(mounts_of_one_server_that_disagree_are_told),
)
