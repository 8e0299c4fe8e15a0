/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * two_daemons_test.c - close-to-open: what one daemon closed, another that opens
 * the file then sees
 *
 * Two pipelines with a namespace each, over TCP to one nfssim; they take turns,
 * and each is done with what it does before the other's turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/writeback/file.h"
#include "daemon/writeback/pipeline.h"
#include "rpc/nfs3_prot.h"
#include "tests/names_rig.h"
#include "tests/unit.h"

static struct {
	struct wb *wb;
	struct namespace *ns;
	struct slab *slab;
	struct shm_view view;
} other;

/* The other daemon's turn. */
static void
swap(void)
{
	struct wb *wb = w.wb;
	struct namespace *ns = w.ns;
	struct slab *slab = w.slab;
	struct shm_view view = w.view;

	w.wb = other.wb;
	w.ns = other.ns;
	w.slab = other.slab;
	w.view = other.view;
	other.wb = wb;
	other.ns = ns;
	other.slab = slab;
	other.view = view;
}

static void
start(void)
{
	world_start(NULL);
	memset(&other, 0, sizeof other);
	swap();
	start_pipeline();
	start_namespace();
	swap();
}

static void
end(void)
{
	namespace_free(other.ns);
	wb_free(other.wb);
	free(other.view.control);
	free(other.view.data);
	world_end();
}

static void
write_and_close(const char *path, int oflags, const char *text,
		uint64_t offset)
{
	struct wb_handle *h = open_file(path, oflags);

	write_text(h, text, offset);
	CU_ASSERT_EQUAL(do_close(h), 0);
}

/* As a session reads: what is here, else from the server. */
static bool
reads(struct wb_handle *h, const char *text, bool here)
{
	uint32_t len = (uint32_t)strlen(text);
	struct wb_file *f = handle_file(h);
	char buf[256];

	CU_ASSERT_EQUAL(file_size(f), len);
	if (file_size(f) != len)
		return false;
	CU_ASSERT_EQUAL(file_read_cached(f, w.cred, 0, len, buf), here);
	if (here)
		return !memcmp(buf, text, len);
	ns_read(w.ns, f, w.cred, 0, sizeof buf, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT(w.eof);
	return w.length == len && !memcmp(w.data, text, len);
}

static void
open_sees_what_another_daemon_closed(void)
{
	struct wb_handle *h;

	start();
	write_and_close("f", O_WRONLY | O_CREAT, "hello", 0);
	swap();
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "hello", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	/* an update here, one there, of the same size */
	write_and_close("f", O_RDWR, "HELLO", 0);
	swap();
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "HELLO", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	write_and_close("f", O_RDWR, "Hello", 0);
	swap();
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "Hello", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
open_keeps_what_nobody_else_changed(void)
{
	struct wb_handle *h;

	start();
	write_and_close("f", O_RDWR | O_CREAT, "hello", 0);
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "hello", true));
	CU_ASSERT_EQUAL(do_close(h), 0);
	swap();			/* the other only reads */
	h = open_file("f", O_RDONLY);
	CU_ASSERT(reads(h, "hello", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	swap();
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "hello", true));
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
open_sees_sizes_that_another_daemon_set(void)
{
	struct wb_handle *h;

	start();
	write_and_close("f", O_RDWR | O_CREAT, "hello, world", 0);
	swap();
	write_and_close("f", O_RDWR | O_TRUNC, "new", 0);
	swap();
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "new", false));
	swap();
	write_and_close("f", O_RDWR, "er", 3);
	swap();
	/* it is open here: seen when it is asked for, and at the next open */
	ns_getattr(w.ns, handle_file(h), w.cred, answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	CU_ASSERT_EQUAL(w.attr.size, 5);
	file_put(w.file);
	CU_ASSERT_EQUAL(do_close(h), 0);
	h = open_file("f", O_RDWR);
	CU_ASSERT(reads(h, "newer", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
open_keeps_what_is_not_written_yet(void)
{
	struct wb_handle *h, *again;

	start();
	h = open_file("f", O_RDWR | O_CREAT);
	write_text(h, "0123456789", 0);
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), 0);
	write_text(h, "ab", 2);
	swap();
	write_and_close("f", O_RDWR, "XY", 8);
	write_and_close("f", O_RDWR, "longer", 10);
	swap();
	again = open_file("f", O_RDWR);
	CU_ASSERT_EQUAL(file_size(handle_file(again)), 16);
	CU_ASSERT_EQUAL(do_close(again), 0);
	CU_ASSERT_EQUAL(do_close(h), 0);
	swap();
	h = open_file("f", O_RDONLY);
	CU_ASSERT(reads(h, "01ab4567XYlonger", false));
	CU_ASSERT_EQUAL(do_close(h), 0);
	end();
}

static void
removed_by_another_daemon_is_stale_at_the_write_back(void)
{
	struct wb_handle *h;

	start();
	h = open_file("f", O_RDWR | O_CREAT);
	write_text(h, "0123456789", 0);
	swap();
	CU_ASSERT_EQUAL(do_unlink("f"), 0);
	swap();
	handle_fsync(h, loop_now(w.loop), file_answered, NULL);
	CU_ASSERT_EQUAL(answer(), -ESTALE);
	CU_ASSERT_EQUAL(do_close(h), -ESTALE);
	CU_ASSERT_EQUAL(do_open("f", O_RDWR, 0), -ENOENT);
	end();
}

UNIT_TESTS(two_daemons,
	UNIT(open_sees_what_another_daemon_closed),
	UNIT(open_keeps_what_nobody_else_changed),
	UNIT(open_sees_sizes_that_another_daemon_set),
	UNIT(open_keeps_what_is_not_written_yet),
	UNIT(removed_by_another_daemon_is_stale_at_the_write_back),
)
