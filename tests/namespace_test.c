/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * namespace_test.c - names against nfssim, over TCP on loopback
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "daemon/mount.h"
#include "daemon/namespace.h"
#include "daemon/resolve.h"
#include "daemon/writeback/slab.h"
#include "daemon/writeback/stats.h"
#include "include/nfswb.h"
#include "rpc/client.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/unit.h"

static void
start(void)
{
	world_start(NULL);
}

static void
end(void)
{
	world_end();
}

/* ---- mounting ---- */

static void
an_open_creates_the_file_on_the_server(void)
{
	start();
	CU_ASSERT_EQUAL(do_open("a", O_WRONLY | O_CREAT, 0640), 0);
	CU_ASSERT_EQUAL(w.attr.mode, 0640);
	CU_ASSERT_EQUAL(w.attr.uid, 1000);
	CU_ASSERT_EQUAL(w.attr.size, 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "a", NFSSIM_STABLE), 0);
	file_put(w.file);
	end();
}

static void
opens_at_once_share_one_mount(void)
{
	unsigned i;

	start();
	for (i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof name, "f%u", i);
		ns_mkdir(w.ns, url(name), 0755, w.cred, answered, NULL);
	}
	while (w.answers < 20 && !w.late)
		run();
	CU_ASSERT_EQUAL(w.err, 0);
	w.answers = 0;
	CU_ASSERT_EQUAL(calls(NFSPROC3_FSINFO), 1);
	CU_ASSERT_EQUAL(nfssim_stats(w.sim)->mount_calls, 3); /* NULL, EXPORT,
								 MNT */
	end();
}

static void
an_unknown_export_is_refused_by_name(void)
{
	char target[256];

	start();
	snprintf(target, sizeof target, "nfs://127.0.0.1/nowhere/x?nfsport=%u"
		 "&mountport=%u", w.port, w.port);
	ns_stat(w.ns, target, w.cred, true, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "exports nothing that holds "
				      "'/nowhere/x'"));
	end();
}

static void
a_server_that_is_down_is_named_with_its_port(void)
{
	char target[256], words[256];
	unsigned port;
	int fd;

	start();
	fd = listen_on_loopback(&port);
	close(fd);
	snprintf(target, sizeof target, "nfs://127.0.0.1:%u/export/x?"
		 "mountport=%u", port, port);
	snprintf(words, sizeof words, "cannot reach server 127.0.0.1 port %u: "
		 "Connection refused; is the NFS server running?", port);
	ns_stat(w.ns, target, w.cred, true, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -ECONNREFUSED);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, words));
	end();
}

static void
a_malformed_target_is_refused_from_the_loop(void)
{
	start();
	ns_stat(w.ns, "nfs:/x", w.cred, true, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "malformed target 'nfs:/x'"));
	end();
}

static void
a_named_mount_is_its_folder(void)
{
	char target[256];

	start();
	CU_ASSERT_EQUAL(do_mkdir("sub"), 0);
	snprintf(target, sizeof target, "nfs://127.0.0.1:%u/export/sub?"
		 "mountport=%u", w.port, w.port);
	w.mount.name = (char *)"m";
	w.mount.target = target;
	w.mount.server = w.config->server;
	namespace_free(w.ns);
	w.config->mount = &w.mount;
	w.config->mount_nr = 1;
	start_namespace();
	ns_mkdir(w.ns, "m:/x", 0755, w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(do_stat("sub/x", true), 0);
	namespace_free(w.ns);
	w.config->mount = NULL;
	w.config->mount_nr = 0;
	start_namespace();
	end();
}

static void
a_mount_for_some_users_only_refuses_others(void)
{
	uint32_t user = 1000;
	char target[256];
	struct cred *other = cred_get(1001, 100, NULL, 0);

	start();
	snprintf(target, sizeof target, "nfs://127.0.0.1:%u/export?"
		 "mountport=%u", w.port, w.port);
	w.mount.name = (char *)"m";
	w.mount.target = target;
	w.mount.server = w.config->server;
	w.mount.allow_users = (struct config_ids){ 1, &user };
	namespace_free(w.ns);
	w.config->mount = &w.mount;
	w.config->mount_nr = 1;
	start_namespace();
	ns_mkdir(w.ns, "m:/x", 0755, other, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "allow_users"));
	ns_mkdir(w.ns, "m:/x", 0755, w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	/* either name of a rename */
	ns_rename(w.ns, url("x"), "m:/y", other, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -EACCES);
	ns_rename(w.ns, "m:/x", url("y"), other, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -EACCES);
	namespace_free(w.ns);
	w.config->mount = NULL;
	w.config->mount_nr = 0;
	start_namespace();
	cred_put(other);
	end();
}

static void
a_host_name_is_looked_up(void)
{
	char target[256];

	start();
	snprintf(target, sizeof target, "nfs://localhost:%u/export?"
		 "mountport=%u", w.port, w.port);
	ns_stat(w.ns, target, w.cred, true, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.attr.type, S_IFDIR);
	end();
}

static void
stopping_answers_what_waits(void)
{
	struct nfssim_verdict hold = { .lose_call = true };

	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	break_next(NFSPROC3_LOOKUP, hold, 1);
	ns_stat(w.ns, url("d"), w.cred, true, answered, NULL);
	ns_stat(w.ns, "nfs://127.0.0.1:9/x?mountport=9", w.cred, true,
		answered, NULL);
	namespace_free(w.ns);
	CU_ASSERT_EQUAL(w.answers, 2);
	CU_ASSERT_EQUAL(w.err, -ECANCELED);
	start_namespace();
	end();
}

/* ---- the walk ---- */

static void
symbolic_links_are_followed(void)
{
	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(do_mkdir("d/e"), 0);
	CU_ASSERT_EQUAL(do_symlink("d/../d/e", "rel"), 0);
	CU_ASSERT_EQUAL(do_symlink("/export/d", "abs"), 0);
	CU_ASSERT_EQUAL(do_symlink("../../rel/", "d/e/up"), 0);
	CU_ASSERT_EQUAL(do_stat("rel", true), 0);
	CU_ASSERT_EQUAL(w.attr.type, S_IFDIR);
	CU_ASSERT_EQUAL(do_stat("rel", false), 0);
	CU_ASSERT_EQUAL(w.attr.type, S_IFLNK);
	CU_ASSERT_EQUAL(do_stat("abs/e/up/up/up", true), 0);
	CU_ASSERT_EQUAL(w.attr.type, S_IFDIR);
	ns_readlink(w.ns, url("abs"), w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_STRING_EQUAL(w.content, "/export/d");
	end();
}

static void
links_in_a_circle_or_out_of_the_export_are_refused(void)
{
	start();
	CU_ASSERT_EQUAL(do_symlink("b", "a"), 0);
	CU_ASSERT_EQUAL(do_symlink("a", "b"), 0);
	CU_ASSERT_EQUAL(do_symlink("/etc/passwd", "out"), 0);
	CU_ASSERT_EQUAL(do_stat("a", true), -ELOOP);
	CU_ASSERT_EQUAL(do_stat("out", true), -EXDEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "'out'"));
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "'/etc/passwd'"));
	CU_ASSERT_EQUAL(do_stat("a/x", true), -ELOOP);
	end();
}

static void
creating_through_a_dangling_link_makes_its_target(void)
{
	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(do_symlink("d/new", "link"), 0);
	CU_ASSERT_EQUAL(do_open("link", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "d/new", NFSSIM_STABLE), 0);
	CU_ASSERT_EQUAL(do_open("link", O_WRONLY | O_CREAT | O_EXCL, 0644),
			-EEXIST);
	end();
}

static void
what_is_missing_or_no_folder_is_said(void)
{
	start();
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_stat("f/x", true), -ENOTDIR);
	CU_ASSERT_EQUAL(do_stat("no/x", true), -ENOENT);
	CU_ASSERT_EQUAL(do_open("no", O_RDONLY, 0), -ENOENT);
	CU_ASSERT_EQUAL(do_open("", O_RDONLY, 0), -EISDIR);
	CU_ASSERT_EQUAL(do_unlink(""), -EISDIR);
	CU_ASSERT_EQUAL(do_mkdir(""), -EEXIST);
	end();
}

/* ---- calls that do not go well ---- */

static void
jukebox_is_unseen(void)
{
	struct nfssim_verdict later = { .status = NFS3ERR_JUKEBOX };

	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	CU_ASSERT_EQUAL(wb_server_stats(file_server(w.file), 0)->delays, 0);
	break_next(NFSPROC3_LOOKUP, later, 2);
	CU_ASSERT_EQUAL(do_stat("d", true), 0);
	CU_ASSERT_EQUAL(fault.times, 0);
	CU_ASSERT_EQUAL(wb_server_stats(file_server(w.file), 0)->delays, 2);
	file_put(w.file);
	end();
}

static void
jukebox_at_the_first_mount_is_unseen(void)
{
	struct nfssim_verdict later = { .status = NFS3ERR_JUKEBOX };

	start();
	break_next(NFSPROC3_FSINFO, later, 1);
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(fault.times, 0);
	end();
}

/* Done, and not answered; then the server asks for time, as after a restart. */
static void
done_then_busy(void *arg, const struct nfssim_call *c,
	       struct nfssim_verdict *v)
{
	unsigned *nr = arg;

	if (c->prog != NFSSIM_NFS || c->proc != NFSPROC3_REMOVE)
		return;
	if (++*nr == 1)
		v->cut = true;
	else if (*nr == 2)
		v->status = NFS3ERR_JUKEBOX;
}

static void
jukebox_does_not_hide_that_a_call_was_sent_twice(void)
{
	unsigned nr = 0;
	struct fh fh;

	start();
	CU_ASSERT(nfssim_create(w.sim, "f", &fh) == 0);
	nfssim_set_fault(w.sim, done_then_busy, &nr);
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT_EQUAL(nr, 3);
	end();
}

static void
a_call_sent_twice_that_finds_its_work_done_has_worked(void)
{
	struct nfssim_verdict cut = { .lose_reply = true, .cut = true };

	start();
	break_next(NFSPROC3_MKDIR, cut, 1);
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(do_mkdir("d"), -EEXIST);
	break_next(NFSPROC3_RENAME, cut, 1);
	CU_ASSERT_EQUAL(do_rename("d", "e"), 0);
	CU_ASSERT_EQUAL(do_rename("d", "e"), -ENOENT);
	break_next(NFSPROC3_RMDIR, cut, 1);
	ns_rmdir(w.ns, url("e"), w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	break_next(NFSPROC3_REMOVE, cut, 1);
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT_EQUAL(do_unlink("f"), -ENOENT);
	break_next(NFSPROC3_SYMLINK, cut, 1);
	CU_ASSERT_EQUAL(do_symlink("x", "s"), 0);
	CU_ASSERT_EQUAL(do_symlink("x", "s"), -EEXIST);
	break_next(NFSPROC3_CREATE, cut, 1);
	CU_ASSERT_EQUAL(do_open("h", O_WRONLY | O_CREAT, 0640), 0);
	CU_ASSERT_EQUAL(w.attr.mode, 0640);
	file_put(w.file);
	break_next(NFSPROC3_CREATE, cut, 1);
	CU_ASSERT_EQUAL(do_open("g", O_WRONLY | O_CREAT | O_EXCL, 0600), 0);
	CU_ASSERT_EQUAL(w.attr.mode, 0600);
	file_put(w.file);
	ns_open(w.ns, url("g"), w.cred, O_WRONLY | O_CREAT | O_EXCL, 0600, 78,
		answered, NULL);	/* another's question */
	CU_ASSERT_EQUAL(answer(), -EEXIST);
	end();
}

static void
a_stale_handle_on_the_way_is_looked_up_again(void)
{
	struct nfssim_verdict stale = { .status = NFS3ERR_STALE };

	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	CU_ASSERT_EQUAL(do_mkdir("d/e"), 0);
	break_next(NFSPROC3_LOOKUP, stale, 1);
	CU_ASSERT_EQUAL(do_stat("d/e", true), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_FSINFO), 2);	/* mounted anew */
	break_next(NFSPROC3_LOOKUP, stale, 100);
	CU_ASSERT_EQUAL(do_stat("d/e", true), -ESTALE);
	end();
}

static void
a_refused_write_is_told_at_open(void)
{
	struct nfssim_verdict readonly = { .status = NFS3ERR_ROFS };
	struct nfssim_verdict denied = { .status = NFS3ERR_ACCES };

	start();
	break_next(NFSPROC3_CREATE, readonly, 1);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), -EROFS);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	break_next(NFSPROC3_ACCESS, denied, 1);
	CU_ASSERT_EQUAL(do_open("f", O_RDWR, 0), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.text, "Permission denied"));
	end();
}

/* ---- with data here ---- */

static void
stat_sees_what_is_not_written_yet(void)
{
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "hello", 10);
	CU_ASSERT_EQUAL(do_stat("f", true), 0);
	CU_ASSERT_EQUAL(w.attr.size, 15);
	CU_ASSERT(w.drains > 0);
	ns_getattr(w.ns, handle_file(h), w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.attr.size, 15);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE), 15);
	end();
}

static void
opening_with_truncate_drops_what_was_there(void)
{
	struct wb_handle *h, *again;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "old contents", 0);
	again = open_file("f", O_WRONLY | O_TRUNC);
	CU_ASSERT_EQUAL(w.attr.size, 0);
	write_text(again, "new", 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(do_close(again), 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE), 3);
	end();
}

static void
a_set_time_survives_the_writes_before_it(void)
{
	struct nfswb_attr attr = { .mtime_nsec = 1234567890123456789,
				   .mode = 0600 };
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "hello", 0);
	ns_setattr(w.ns, url("f"), w.cred, NFSWB_SET_MTIME | NFSWB_SET_MODE,
		   &attr, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(do_stat("f", true), 0);
	CU_ASSERT_EQUAL(w.attr.mtime_nsec, 1234567890123456789);
	CU_ASSERT_EQUAL(w.attr.mode, 0600);
	CU_ASSERT_EQUAL(w.attr.size, 5);
	end();
}

static void
a_set_size_cuts_what_is_here_and_there(void)
{
	struct nfswb_attr attr = { .size = 2 };
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "hello", 0);
	ns_setattr(w.ns, url("f"), w.cred, NFSWB_SET_SIZE, &attr, answered,
		   NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE), 2);
	attr.size = 9;
	ns_setattr(w.ns, url("f"), w.cred, NFSWB_SET_SIZE, &attr, answered,
		   NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE), 9);
	end();
}

static void
reading_joins_pieces_and_fills_the_hole_before_what_is_here(void)
{
	struct wb_handle *h;
	unsigned i;

	start();
	w.config->server.rsize = 4096;
	h = open_file("f", O_RDWR | O_CREAT);
	for (i = 0; i < 100; i++)
		write_text(h, "0123456789012345678901234567890123456789"
			   "0123456789", i * 50);
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	write_text(h, "end", 7000);
	ns_read(w.ns, handle_file(h), w.cred, 0, 6000, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.length, 6000);
	CU_ASSERT_FALSE(w.eof);
	CU_ASSERT_EQUAL(w.data[4999], '9');
	CU_ASSERT_EQUAL(w.data[5000], 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_READ), 2);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static bool
removed(void)
{
	return calls(NFSPROC3_REMOVE) == 1;
}

static void
an_unlinked_open_file_lives_until_its_last_close(void)
{
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "hello", 0);
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT_EQUAL(do_stat("f", true), -ENOENT);
	CU_ASSERT_EQUAL(calls(NFSPROC3_REMOVE), 0);
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	ns_readdir(w.ns, url(""), w.cred, 0, 0, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.name_nr, 3);		/* . .. .nfs… */
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT(comes_true(removed));
	CU_ASSERT_EQUAL(w.memory.hide, 1);
	CU_ASSERT_EQUAL(w.memory.unhide, 1);
	end();
}

/* As a daemon that is killed and its next instance. */
static void
another_instance(void)
{
	namespace_free(w.ns);
	wb_free(w.wb);
	free(w.view.control);
	free(w.view.data);
	start_pipeline();
	start_namespace();
}

static void
a_hidden_name_is_removed_by_the_next_instance(void)
{
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	write_text(h, "hello", 0);
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT_EQUAL(w.memory.hide, 1);
	CU_ASSERT_EQUAL(w.memory.renames, 0);	/* remembered before it was */
	another_instance();
	CU_ASSERT_EQUAL(w.memory.unhide, 0);
	CU_ASSERT(ns_restore_hidden(w.ns, w.memory.text, w.memory.id));
	CU_ASSERT(comes_true(removed));
	ns_readdir(w.ns, url(""), w.cred, 0, 0, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.name_nr, 2);		/* . .. */
	CU_ASSERT_EQUAL(w.memory.unhide, 1);
	CU_ASSERT_FALSE(ns_restore_hidden(w.ns, "{}", 5));
	end();
}

static void
a_hidden_name_waits_for_who_has_its_file_open_again(void)
{
	struct wb_handle *h;
	struct wb_file *f;
	char *text;
	int err;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	text = ns_describe(w.ns, handle_file(h));
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	another_instance();
	f = ns_restore(w.ns, text, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	h = handle_open(f, w.cred, O_WRONLY);
	file_put(f);
	CU_ASSERT(ns_restore_hidden(w.ns, w.memory.text, w.memory.id));
	write_text(h, "hello", 0);
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_REMOVE), 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT(comes_true(removed));
	free(text);
	end();
}

static void
what_can_not_be_hidden_keeps_its_name(void)
{
	struct nfssim_verdict refused = { .status = NFS3ERR_ACCES };
	struct wb_handle *h;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	break_next(NFSPROC3_RENAME, refused, 1);
	CU_ASSERT_EQUAL(do_unlink("f"), -EACCES);
	CU_ASSERT_EQUAL(w.memory.hide, 1);
	CU_ASSERT_EQUAL(w.memory.unhide, 1);
	w.memory.full = true;
	CU_ASSERT_EQUAL(do_unlink("f"), -ENOSPC);
	CU_ASSERT_EQUAL(calls(NFSPROC3_RENAME), 1);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(do_stat("f", true), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_REMOVE), 0);
	end();
}

static void
renaming_over_an_open_file_hides_it(void)
{
	struct wb_handle *h, *other;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	other = open_file("g", O_WRONLY | O_CREAT);
	write_text(h, "hello", 0);
	CU_ASSERT_EQUAL(do_rename("g", "f"), 0);
	CU_ASSERT_STRING_EQUAL(file_name(handle_file(other)), url("f"));
	CU_ASSERT_EQUAL(w.memory.described, 1);
	write_text(other, "renamed", 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_EQUAL(do_close(other), 0);
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE), 7);
	CU_ASSERT(comes_true(removed));
	end();
}

static void
renaming_to_another_server_is_refused(void)
{
	static const struct nfssim_options none;
	struct nfssim *other;
	unsigned port;
	int fd = listen_on_loopback(&port);
	char there[128];

	start();
	other = nfssim_new(w.loop, &none);
	CU_ASSERT_FATAL(other && nfssim_listen(other, fd) == 0);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	snprintf(there, sizeof there, "nfs://127.0.0.1:%u/export/g"
		 "?mountport=%u", port, port);
	ns_rename(w.ns, url("f"), there, w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -EXDEV);
	CU_ASSERT_EQUAL(calls(NFSPROC3_RENAME), 0);
	CU_ASSERT_EQUAL(do_stat("f", true), 0);
	nfssim_free(other);
	end();
	close(fd);
}

static void
unlinking_forgets_what_is_here(void)
{
	struct wb_server *server;
	struct wb_handle *h;
	struct fh fh;

	start();
	h = open_file("f", O_WRONLY | O_CREAT);
	fh = *file_fh(handle_file(h));
	server = file_server(handle_file(h));
	write_text(h, "hello", 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	CU_ASSERT_PTR_NOT_NULL(file_find(server, &fh));
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT_EQUAL(calls(NFSPROC3_REMOVE), 1);
	world_turn(NULL);
	CU_ASSERT_PTR_NULL(file_find(server, &fh));
	end();
}

/* Holds WRITEs back for a moment, and counts those that come too late. */
static struct {
	uint32_t taker;			/* REMOVE or RENAME */
	bool taken;
	unsigned writes, late;
} last_name;

static void
watch_last_name(void *arg, const struct nfssim_call *c,
		struct nfssim_verdict *v)
{
	(void)arg;
	if (c->prog != NFSSIM_NFS)
		return;
	if (c->proc == last_name.taker) {
		last_name.taken = true;
		v->delay_usec = 400000;	/* time enough for a mistake */
	}
	if (c->proc != NFSPROC3_WRITE && c->proc != NFSPROC3_COMMIT)
		return;
	last_name.writes++;
	last_name.late += last_name.taken;
	v->delay_usec = 30000;
	if (last_name.writes == 1)
		v->status = NFS3ERR_JUKEBOX;
}

static bool
a_write_is_out(void)
{
	return last_name.writes > 0;
}

/* A file whose writer is gone, in the middle of being written back. */
static void
start_flush(uint32_t taker, const char *path)
{
	static char text[3000];
	struct wb_handle *h;

	memset(text, 'x', sizeof text - 1);
	memset(&last_name, 0, sizeof last_name);
	last_name.taker = taker;
	start();
	w.config->server.wsize = 4096;
	h = open_file(path, O_WRONLY | O_CREAT);
	for (unsigned i = 0; i < 8; i++)
		write_text(h, text, i * 10000);
	nfssim_set_fault(w.sim, watch_last_name, NULL);
	handle_close(h, loop_now(w.loop), NULL, NULL);
	CU_ASSERT(comes_true(a_write_is_out));
}

static void
unlinking_what_is_being_written_sends_no_write_after_remove(void)
{
	struct wb_file *f;

	start_flush(NFSPROC3_REMOVE, "f");
	f = file_ref(w.file);
	CU_ASSERT(file_left_bytes(f) > 0);
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	CU_ASSERT(last_name.taken);
	CU_ASSERT_EQUAL(w.memory.hide, 0);
	world_turn(NULL);
	CU_ASSERT_EQUAL(file_left_bytes(f), 0);
	CU_ASSERT_EQUAL(file_handle_nr(f), 0);
	CU_ASSERT_EQUAL(do_stat("f", true), -ENOENT);
	CU_ASSERT_EQUAL(last_name.late, 0);
	file_put(f);
	end();
}

static bool
all_written(void)
{
	return !file_left_bytes(w.file);
}

static void
unlink_that_is_refused_lets_writing_go_on(void)
{
	struct nfssim_verdict refused = { .status = NFS3ERR_ACCES };
	struct wb_file *f;

	start_flush(NFSPROC3_REMOVE, "f");
	f = file_ref(w.file);
	break_next(NFSPROC3_REMOVE, refused, 1);
	CU_ASSERT_EQUAL(do_unlink("f"), -EACCES);
	w.file = f;
	CU_ASSERT(comes_true(all_written));
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "f", NFSSIM_STABLE),
			7 * 10000 + 2999);
	file_put(f);
	end();
}

static void
renaming_over_what_is_being_written_sends_no_write_after_rename(void)
{
	start_flush(NFSPROC3_RENAME, "f");
	nfssim_set_fault(w.sim, NULL, NULL);
	CU_ASSERT_EQUAL(do_open("g", O_WRONLY | O_CREAT, 0644), 0);
	file_put(w.file);
	nfssim_set_fault(w.sim, watch_last_name, NULL);
	CU_ASSERT_EQUAL(do_rename("g", "f"), 0);
	CU_ASSERT(last_name.taken);
	CU_ASSERT_EQUAL(w.memory.hide, 0);
	world_turn(NULL);
	CU_ASSERT_EQUAL(do_stat("f", true), 0);
	CU_ASSERT_EQUAL(w.attr.size, 0);
	CU_ASSERT_EQUAL(last_name.late, 0);
	end();
}

static void
find_client(void *arg, struct wb_server *s, struct rpc_client *c)
{
	(void)s;
	*(struct rpc_client **)arg = c;
}

static void
linked(void *arg, int err, const void *res, const struct rpc_timing *t)
{
	(void)arg;
	(void)t;
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_EQUAL(((const LINK3res *)res)->status, NFS3_OK);
	w.answers++;
	loop_stop(w.loop);
}

/* By another client of the server. */
static void
make_link(const char *path, const char *name)
{
	struct rpc_client *client = NULL;
	LINK3args args = { .link.name = (char *)(uintptr_t)name };
	struct rpc_request r = {
		.proc = NFSPROC3_LINK, .cred = w.cred,
		.encode = (rpc_xdr_fn *)xdr_LINK3args, .args = &args,
		.decode = (rpc_xdr_fn *)xdr_LINK3res,
		.res_bytes = sizeof(LINK3res), .done = linked,
	};
	struct fh fh, dir;

	CU_ASSERT_EQUAL(nfssim_lookup(w.sim, path, &fh), 0);
	CU_ASSERT_EQUAL(nfssim_lookup(w.sim, "", &dir), 0);
	args.file.data.data_len = fh.len;
	args.file.data.data_val = (char *)fh.data;
	args.link.dir.data.data_len = dir.len;
	args.link.dir.data.data_val = (char *)dir.data;
	ns_each_server(w.ns, find_client, &client);
	CU_ASSERT_EQUAL(rpc_client_call(client, &r, NULL), 0);
	answer();
}

static void
a_second_link_keeps_what_is_being_written(void)
{
	struct wb_file *f;

	start_flush(NFSPROC3_REMOVE, "f");
	f = file_ref(w.file);
	make_link("f", "g");
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	w.file = f;
	CU_ASSERT(comes_true(all_written));
	CU_ASSERT_EQUAL(nfssim_size(w.sim, "g", NFSSIM_STABLE),
			7 * 10000 + 2999);
	file_put(f);
	end();
}

static void
what_a_writer_adds_beside_a_read_is_no_hole_in_it(void)
{
	struct wb_handle *h;
	struct wb_file *f;

	start();
	h = open_file("f", O_RDWR | O_CREAT);
	f = handle_file(h);
	write_text(h, "hello", 3);
	file_flush_range(f, 0, 8, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	ns_read(w.ns, f, w.cred, 0, 100, answered, NULL);
	write_text(h, "more", 40);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.length, 8);	/* what it was when the read began */
	CU_ASSERT(!w.eof);
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
another_users_read_is_flushed_and_asked_of_the_server(void)
{
	struct cred *mine = w.cred;
	struct wb_handle *h;
	struct wb_file *f;
	char buf[16];

	start();
	mine = w.cred;
	h = open_file("f", O_RDWR | O_CREAT);
	f = handle_file(h);
	write_text(h, "hello", 3);
	w.cred = cred_get(2000, 200, NULL, 0);
	CU_ASSERT_EQUAL(file_read_cached(f, w.cred, 0, 8, buf), 0);
	file_flush_range(f, 0, 8, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	ns_read(w.ns, f, w.cred, 0, 100, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.length, 8);
	CU_ASSERT(w.eof);
	CU_ASSERT(!memcmp(w.data, "\0\0\0hello", 8));
	ns_read(w.ns, f, w.cred, 8, 100, answered, NULL);	/* behind it */
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.length, 0);
	CU_ASSERT(w.eof);
	cred_put(w.cred);
	w.cred = mine;
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
who_may_not_read_opens_for_writing_only(void)
{
	struct nfssim_options o = { .check_access = true };

	world_start(&o);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0222), 0);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_open("f", O_RDWR, 0), -EACCES);
	CU_ASSERT_EQUAL(do_open("f", O_RDONLY, 0), -EACCES);
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY, 0), 0);
	file_put(w.file);
	world_end();
}

/* ---- listing ---- */

#define MANY 3000

static void
a_long_directory_is_listed_whole(void)
{
	unsigned i, pages = 0;
	struct fh fh;

	start();
	for (i = 0; i < MANY; i++) {
		char name[32];

		snprintf(name, sizeof name, "file-number-%u", i);
		nfssim_create(w.sim, name, &fh);
	}
	while (!w.eof && pages++ < MANY) {
		ns_readdir(w.ns, url(""), w.cred, w.cookie, w.verifier,
			   answered, NULL);
		CU_ASSERT_EQUAL_FATAL(answer(), 0);
	}
	CU_ASSERT_EQUAL(w.name_nr, MANY + 2);
	/* one for the names, one for all pages, and what mounting took */
	CU_ASSERT(nfssim_stats(w.sim)->connections <= 4);
	end();
}

static void
a_listing_outlives_a_lost_connection(void)
{
	struct nfssim_verdict cut = { .lose_reply = true, .cut = true };

	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	break_next(NFSPROC3_READDIRPLUS, cut, 1);
	ns_readdir(w.ns, url(""), w.cred, 0, 0, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.name_nr, 3);
	ns_readdir(w.ns, url("d/x"), w.cred, 0, 0, answered, NULL);
	CU_ASSERT_EQUAL(answer(), -ENOENT);
	end();
}

static void
a_server_without_readdirplus_is_asked_for_readdir(void)
{
	struct nfssim_verdict none = { .status = NFS3ERR_NOTSUPP };

	start();
	CU_ASSERT_EQUAL(do_mkdir("d"), 0);
	break_next(NFSPROC3_READDIRPLUS, none, 100);
	ns_readdir(w.ns, url(""), w.cred, 0, 0, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.name_nr, 3);
	CU_ASSERT_EQUAL(calls(NFSPROC3_READDIR), 1);
	end();
}

/* ---- another instance ---- */

static void
a_described_file_is_found_again_without_asking_anybody(void)
{
	struct wb_file *f;
	struct fh fh;
	char *text;
	int err;

	start();
	CU_ASSERT_EQUAL(do_open("f", O_WRONLY | O_CREAT, 0644), 0);
	fh = *file_fh(w.file);
	text = ns_describe(w.ns, w.file);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	file_put(w.file);
	namespace_free(w.ns);
	wb_free(w.wb);
	free(w.view.control);
	free(w.view.data);
	start_pipeline();
	start_namespace();
	nfssim_set_up(w.sim, false);
	f = ns_restore(w.ns, text, &err);
	free(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT(fh_equal(file_fh(f), &fh));
	CU_ASSERT(ns_below(w.ns, url(""), f));
	CU_ASSERT(ns_below(w.ns, url("f"), f));
	CU_ASSERT_FALSE(ns_below(w.ns, url("g"), f));
	CU_ASSERT_FALSE(ns_below(w.ns, "nfs://elsewhere/export", f));
	nfssim_set_up(w.sim, true);
	ns_look(w.ns, f, w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	file_put(w.file);
	file_put(f);
	end();
}

static void
nonsense_is_not_restored(void)
{
	int err;

	start();
	CU_ASSERT_PTR_NULL(ns_restore(w.ns, "", &err));
	CU_ASSERT_EQUAL(err, -EINVAL);
	CU_ASSERT_PTR_NULL(ns_restore(w.ns, "{}", &err));
	CU_ASSERT_PTR_NULL(ns_restore(w.ns, "{\"name\":\"nfs://a/b\",\"fh\":"
			   "\"00\",\"mount\":{}}", &err));
	CU_ASSERT_EQUAL(err, -EINVAL);
	end();
}

UNIT_TESTS(namespace,
	UNIT(an_open_creates_the_file_on_the_server),
	UNIT(opens_at_once_share_one_mount),
	UNIT(an_unknown_export_is_refused_by_name),
	UNIT(a_server_that_is_down_is_named_with_its_port),
	UNIT(a_malformed_target_is_refused_from_the_loop),
	UNIT(a_named_mount_is_its_folder),
	UNIT(a_mount_for_some_users_only_refuses_others),
	UNIT(a_host_name_is_looked_up),
	UNIT(stopping_answers_what_waits),
	UNIT(symbolic_links_are_followed),
	UNIT(links_in_a_circle_or_out_of_the_export_are_refused),
	UNIT(creating_through_a_dangling_link_makes_its_target),
	UNIT(what_is_missing_or_no_folder_is_said),
	UNIT(jukebox_is_unseen),
	UNIT(jukebox_at_the_first_mount_is_unseen),
	UNIT(jukebox_does_not_hide_that_a_call_was_sent_twice),
	UNIT(a_call_sent_twice_that_finds_its_work_done_has_worked),
	UNIT(a_stale_handle_on_the_way_is_looked_up_again),
	UNIT(a_refused_write_is_told_at_open),
	UNIT(stat_sees_what_is_not_written_yet),
	UNIT(opening_with_truncate_drops_what_was_there),
	UNIT(a_set_time_survives_the_writes_before_it),
	UNIT(a_set_size_cuts_what_is_here_and_there),
	UNIT(reading_joins_pieces_and_fills_the_hole_before_what_is_here),
	UNIT(an_unlinked_open_file_lives_until_its_last_close),
	UNIT(a_hidden_name_is_removed_by_the_next_instance),
	UNIT(a_hidden_name_waits_for_who_has_its_file_open_again),
	UNIT(what_can_not_be_hidden_keeps_its_name),
	UNIT(renaming_over_an_open_file_hides_it),
	UNIT(renaming_to_another_server_is_refused),
	UNIT(unlinking_forgets_what_is_here),
	UNIT(unlinking_what_is_being_written_sends_no_write_after_remove),
	UNIT(unlink_that_is_refused_lets_writing_go_on),
	UNIT(renaming_over_what_is_being_written_sends_no_write_after_rename),
	UNIT(a_second_link_keeps_what_is_being_written),
	UNIT(what_a_writer_adds_beside_a_read_is_no_hole_in_it),
	UNIT(another_users_read_is_flushed_and_asked_of_the_server),
	UNIT(who_may_not_read_opens_for_writing_only),
	UNIT(a_long_directory_is_listed_whole),
	UNIT(a_listing_outlives_a_lost_connection),
	UNIT(a_server_without_readdirplus_is_asked_for_readdir),
	UNIT(a_described_file_is_found_again_without_asking_anybody),
	UNIT(nonsense_is_not_restored),
)
