/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lib_test.c - libnfswb against a daemon that serves from memory */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/nfswb.h"
#include "tests/fakewbd.h"
#include "tests/pattern.h"
#include "tests/unit.h"

#define MIB (1u << 20)

static struct fake *fake;
static struct nfswb *wb;

static void
begin_with(uint64_t slab_bytes, unsigned flags)
{
	fake = fake_start(slab_bytes);
	wb = nfswb_connect(fake->path, flags);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wb);
}

static void
begin(uint64_t slab_bytes)
{
	begin_with(slab_bytes, 0);
}

static void
end(void)
{
	nfswb_disconnect(wb);
	CU_ASSERT_EQUAL(fake_end(fake), 0);
}

static struct nfswb_file *
open_file(const char *name, int oflags)
{
	struct nfswb_file *f = nfswb_open(wb, name, oflags, 0644);

	if (!f)
		printf("# %s\n", nfswb_strerror(wb));
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	return f;
}

static unsigned char *
pattern(size_t len, uint64_t seed)
{
	unsigned char *p = malloc(len);

	pattern_fill(p, len, seed, 0);
	return p;
}

/* All that was posted is taken, and the file holds just that. */
static void
check_file(const char *name, const void *data, size_t len)
{
	struct fake_file *f;

	fake_lock(fake);
	f = fake_find(fake, name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->size, len);
	CU_ASSERT(f->size == len && (!len || !memcmp(f->data, data, len)));
	fake_unlock(fake);
}

static void
close_file(struct nfswb_file *f)
{
	CU_ASSERT_EQUAL(nfswb_close(f), 0);
}

/* A thread's one call. */
struct job {
	pthread_t thread;
	struct nfswb_file *f;
	const void *data;
	size_t len;
	off_t offset;
	ssize_t result;
	int error;
	_Atomic bool done;
};

static void *
job_main(void *arg)
{
	struct job *j = arg;

	j->result = nfswb_pwrite(j->f, j->data, j->len, j->offset);
	j->error = errno;
	j->done = true;
	return NULL;
}

static void
job_start(struct job *j)
{
	j->done = false;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&j->thread, NULL, job_main, j), 0);
}

static void
job_join(struct job *j)
{
	pthread_join(j->thread, NULL);
}

static void
nothing(int sig)
{
	(void)sig;
}

static unsigned
new_seed(void)
{
	const char *given = getenv("TEST_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) :
				(unsigned)time(NULL) ^ (unsigned)getpid() << 8;

	printf("# TEST_SEED=%u\n", seed);
	return seed;
}

/* ---- connecting ---- */

static void
no_socket_is_said_with_its_path(void)
{
	CU_ASSERT_PTR_NULL(nfswb_connect("/nonexistent/sock", 0));
	CU_ASSERT_EQUAL(errno, ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(NULL),
				      "nfswb_connect: /nonexistent/sock: "));
}

static void
a_stranger_on_the_socket_is_EPROTO(void)
{
	fake = fake_start(MIB);
	fake_lock(fake);
	fake->nonsense = true;
	fake_unlock(fake);
	CU_ASSERT_PTR_NULL(nfswb_connect(fake->path, 0));
	CU_ASSERT_EQUAL(errno, EPROTO);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(NULL), "not nfswbd"));
	fake_end(fake);
}

static void
first_socket_that_exists_is_taken(void)
{
	fake = fake_start(MIB);
	setenv("NFSWB_SOCKET", "/nonexistent/sock", 1);
	setenv("XDG_RUNTIME_DIR", fake->dir, 1);
	wb = nfswb_connect(NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wb);
	nfswb_disconnect(wb);
	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	setenv("NFSWB_SOCKET", fake->path, 1);
	wb = nfswb_connect(NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wb);
	unsetenv("NFSWB_SOCKET");
	unsetenv("XDG_RUNTIME_DIR");
	end();
}

/* ---- writing ---- */

static void
bytes_written_arrive(void)
{
	struct nfswb_file *f;
	struct iovec iov[3] = { { "one", 3 }, { NULL, 0 }, { "three", 5 } };

	begin(MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "hello", 5, 2), 5);
	CU_ASSERT_EQUAL(nfswb_pwritev(f, iov, 3, 7), 8);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "", 0, 99), 0);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	check_file("/f", "\0\0helloonethree", 15);
	close_file(f);
	end();
}

/* sahlberg/libnfs#445: handles and lengths mixed, the buffer was in use still */
static void
callers_buffer_is_its_own_again_when_the_call_returns(void)
{
	static char want[300 * 500];
	struct nfswb_file *f;
	char buf[500];
	unsigned i;

	begin(MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	for (i = 0; i < 300; i++) {
		memset(buf, 'a' + (int)(i % 26), sizeof buf);
		memcpy(want + i * 500, buf, sizeof buf);
		CU_ASSERT_EQUAL(nfswb_pwrite(f, buf, 500, i * 500), 500);
		memset(buf, 0, sizeof buf);
	}
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	check_file("/f", want, sizeof want);
	close_file(f);
	end();
}

static void
set_fsync_error(int error)
{
	fake_lock(fake);
	fake->fsync_error = error;
	fake_unlock(fake);
}

static unsigned
fsyncs(void)
{
	unsigned nr;

	fake_lock(fake);
	nr = fake->fsync_nr;
	fake_unlock(fake);
	return nr;
}

static void
write_to_a_sync_file_returns_when_it_is_stable(void)
{
	static const int how[] = { O_SYNC, O_DSYNC, O_SYNC | O_APPEND };
	struct nfswb_file *f;
	unsigned i, nr = 0;

	begin(MIB);
	for (i = 0; i < 3; i++) {
		f = open_file("/f", O_WRONLY | O_CREAT | how[i]);
		CU_ASSERT_EQUAL(nfswb_write(f, "ab", 2), 2);
		CU_ASSERT_EQUAL(fsyncs(), ++nr);
		CU_ASSERT_EQUAL(nfswb_pwrite(f, "c", 1, 2), 1);
		CU_ASSERT_EQUAL(fsyncs(), ++nr);
		set_fsync_error(ENOSPC);
		CU_ASSERT_EQUAL(nfswb_pwrite(f, "d", 1, 3), -1);
		CU_ASSERT_EQUAL(errno, ENOSPC);
		set_fsync_error(0);
		CU_ASSERT_EQUAL(fsyncs(), ++nr);
		close_file(f);
	}
	f = open_file("/f", O_WRONLY);
	CU_ASSERT_EQUAL(nfswb_write(f, "ab", 2), 2);
	CU_ASSERT_EQUAL(fsyncs(), nr);
	close_file(f);
	end();
}

static void
bytes_beyond_the_servers_largest_file_are_EFBIG_at_the_write(void)
{
	const off_t last = INT64_MAX - 1;
	struct nfswb_file *f, *g;

	begin(MIB);
	f = open_file("/f", O_RDWR | O_CREAT);	/* no limit was told */
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "ab", 2, last), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	fake_lock(fake);
	fake->max_size = 1000;
	fake_unlock(fake);
	g = open_file("/g", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(g, "hello", 5, 996), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(wb), "1000"));
	CU_ASSERT_EQUAL(nfswb_pwrite(g, "x", 1, last), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	CU_ASSERT_EQUAL(nfswb_pwrite(g, "", 0, last), 0);
	CU_ASSERT_EQUAL(nfswb_ftruncate(g, 1001), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	CU_ASSERT_EQUAL(nfswb_ftruncate(g, 1000), 0);
	CU_ASSERT_EQUAL(nfswb_pwrite(g, "hello", 5, 995), 5);
	CU_ASSERT_EQUAL(nfswb_lseek(g, 998, SEEK_SET), 998);
	CU_ASSERT_EQUAL(nfswb_write(g, "hello", 5), -1);
	CU_ASSERT_EQUAL(errno, EFBIG);
	CU_ASSERT_EQUAL(nfswb_lseek(g, 0, SEEK_CUR), 998);
	close_file(g);
	close_file(f);
	end();
}

static void
write_larger_than_the_slab_waits_for_room_and_goes_on(void)
{
	unsigned char *data = pattern(3 * MIB + 77, 1);
	struct nfswb_file *f;

	begin(2 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 4096;
	fake_unlock(fake);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 3 * MIB + 77, 0), 3 * MIB + 77);
	close_file(f);
	check_file("/f", data, 3 * MIB + 77);
	end();
	free(data);
}

/* Bytes of the slab that are there. */
static uint64_t
slab_memory(void)
{
	struct stat st;

	fake_lock(fake);
	CU_ASSERT_EQUAL(fstat(fake->memory_fd[1], &st), 0);
	fake_unlock(fake);
	return (uint64_t)st.st_blocks * 512;
}

static void
who_writes_little_takes_little_memory_and_no_more_than_a_chunk_ahead(void)
{
	unsigned char *data = pattern(3 * MIB, 2);
	struct nfswb_file *f;

	begin(16 * MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 100, 0), 100);
	CU_ASSERT(slab_memory() <= 16384);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data + 100, 3 * MIB - 100, 100),
			3 * MIB - 100);
	CU_ASSERT(slab_memory() <= 3 * MIB + 2 * NFSWB_CHUNK_BYTES);
	close_file(f);
	check_file("/f", data, 3 * MIB);
	end();
	free(data);
}

#define PACKED_NR 3000

static void
small_sequential_writes_are_packed_one_behind_the_other(void)
{
	unsigned char *data = pattern(MIB / 2, 2);
	struct nfswb_file *f, *g;
	unsigned i, gaps = 0;

	begin(4 * MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	g = open_file("/g", O_WRONLY | O_CREAT);
	for (i = 0; i < PACKED_NR; i++)
		CU_ASSERT_EQUAL(nfswb_write(f, data + i * 128, 128), 128);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->entry_nr, PACKED_NR);
	for (i = 1; i < fake->entry_nr; i++)
		gaps += fake->place[i] != fake->place[i - 1] + 128 &&
			fake->place[i] % NFSWB_CHUNK_BYTES;
	/* once, when it gets a chunk of its own */
	CU_ASSERT(gaps <= 1);
	i = fake->entry_nr;
	fake_unlock(fake);
	/* another file does not get in between */
	CU_ASSERT_EQUAL(nfswb_pwrite(g, data, 128, 0), 128);
	CU_ASSERT_EQUAL(nfswb_write(f, data, 128), 128);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	CU_ASSERT_NOT_EQUAL(fake->place[i] / NFSWB_CHUNK_BYTES,
			    fake->place[i + 1] / NFSWB_CHUNK_BYTES);
	fake_unlock(fake);
	close_file(f);
	close_file(g);
	end();
	free(data);
}

/* One go; true: the chunk that f had was granted anew to g, which is up to the
   fake daemon's choice. */
static bool
take_back_and_grant_anew(const unsigned char *data)
{
	struct nfswb_file *f, *g;
	unsigned i;
	bool same;

	begin(4 * NFSWB_CHUNK_BYTES);
	f = open_file("/f", O_WRONLY | O_CREAT);
	g = open_file("/g", O_WRONLY | O_CREAT);
	for (i = 0; i < 80; i++)
		CU_ASSERT_EQUAL(nfswb_write(f, data + i * 1000, 1000), 1000);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	for (i = 0; i < 4; i++)
		atomic_fetch_or(&fake->shm.mark[i], NFSWB_MARK_CLOSED);
	fake->grant_bytes = 4096;
	i = fake->entry_nr;
	fake_unlock(fake);
	CU_ASSERT_EQUAL(nfswb_write(g, data, 4096), 4096);
	CU_ASSERT_EQUAL(nfswb_write(f, data, 1000), 1000);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	same = fake->place[i] / NFSWB_CHUNK_BYTES ==
	       fake->place[i - 1] / NFSWB_CHUNK_BYTES;
	if (same)
		CU_ASSERT_NOT_EQUAL(fake->place[i] / NFSWB_CHUNK_BYTES,
				    fake->place[i + 1] / NFSWB_CHUNK_BYTES);
	fake_unlock(fake);
	close_file(f);
	close_file(g);
	end();
	return same;
}

static void
chunk_taken_back_unseen_and_granted_anew_has_one_filler(void)
{
	unsigned char *data = pattern(80000, 6);
	unsigned tries = 0;

	while (tries < 100 && !take_back_and_grant_anew(data))
		tries++;
	CU_ASSERT(tries < 100);
	free(data);
}

#define THREADS 16
#define FILE_BYTES (2 * MIB)

/* Each thread writes its own part of one file in random pieces, in order. */
struct writer {
	pthread_t thread;
	struct nfswb_file *f;
	const unsigned char *data;
	unsigned nr, seed, failures;
	bool fsyncs;
};

static void *
writer_main(void *arg)
{
	struct writer *w = arg;
	size_t part = FILE_BYTES / THREADS, at = w->nr * part;
	size_t to = at + part, n;

	while (at < to) {
		n = rand_r(&w->seed) % 4 ? rand_r(&w->seed) % 300 + 1 :
		    rand_r(&w->seed) % 100000 + 1;
		if (n > to - at)
			n = to - at;
		if (nfswb_pwrite(w->f, w->data + at, n, (off_t)at) !=
		    (ssize_t)n)
			w->failures++;
		at += n;
		if (w->fsyncs && rand_r(&w->seed) % 64 == 0)
			w->failures += nfswb_fsync(w->f) != 0;
	}
	return NULL;
}

static void
write_by_threads(unsigned seed, bool fsyncs)
{
	unsigned char *data = pattern(FILE_BYTES, seed);
	struct nfswb_file *f = open_file("/f", O_WRONLY | O_CREAT);
	struct writer w[THREADS];
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		w[i] = (struct writer){ .f = f, .data = data, .nr = i,
					.seed = seed + i, .fsyncs = fsyncs };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&w[i].thread, NULL,
						     writer_main, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		CU_ASSERT_EQUAL(w[i].failures, 0);
	}
	close_file(f);
	check_file("/f", data, FILE_BYTES);
	free(data);
}

/* Each has its own file, of the same session. */
static void
threads_with_a_file_each_lose_nothing(void)
{
	unsigned seed = new_seed(), i;
	unsigned char *data = pattern(FILE_BYTES, seed);
	size_t part = FILE_BYTES / THREADS;
	struct writer w[THREADS];
	char name[16];

	begin(MIB);
	for (i = 0; i < THREADS; i++) {
		snprintf(name, sizeof name, "/f%u", i);
		w[i] = (struct writer){ .f = open_file(name, O_WRONLY |
						       O_CREAT),
					.data = data, .nr = i,
					.seed = seed + i, .fsyncs = true };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&w[i].thread, NULL,
						     writer_main, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		CU_ASSERT_EQUAL(w[i].failures, 0);
		close_file(w[i].f);
	}
	for (i = 0; i < THREADS; i++) {
		snprintf(name, sizeof name, "/f%u", i);
		memset(data, 0, i * part);
		check_file(name, data, (i + 1) * part);
	}
	free(data);
	end();
}

static void
threads_on_one_file_lose_nothing(void)
{
	unsigned seed = new_seed();

	begin(8 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 8192;
	fake_unlock(fake);
	write_by_threads(seed, true);
	end();
}

static void
write_to_a_shared_file_returns_when_it_is_taken(void)
{
	struct nfswb_file *f;
	unsigned i, late = 0;

	begin(MIB);
	fake_lock(fake);
	fake->shared = true;
	fake_unlock(fake);
	f = open_file("/f", O_WRONLY | O_CREAT);
	for (i = 0; i < 2000; i++) {
		CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, i), 1);
		fake_lock(fake);
		late += fake->entry_nr != i + 1;
		fake_unlock(fake);
	}
	CU_ASSERT_EQUAL(late, 0);
	close_file(f);
	end();
}

static void
ring_that_is_full_holds_the_writer(void)
{
	unsigned i, nr = NFSWB_RING_SLOTS * 2 + 5, failures = 0;
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), 1);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	fake->paused = true;
	fake->awake = true;
	fake_unlock(fake);
	nfswb_set_timeout(wb, 20);
	for (i = 1; i < nr && nfswb_pwrite(f, "x", 1, i) == 1; i++)
		;
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	CU_ASSERT_EQUAL(i, NFSWB_RING_SLOTS + 1);
	fake_lock(fake);
	fake->paused = false;
	fake_unlock(fake);
	nfswb_set_timeout(wb, -1);
	for (; i < nr; i++)
		failures += nfswb_pwrite(f, "x", 1, i) != 1;
	CU_ASSERT_EQUAL(failures, 0);
	close_file(f);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->entry_nr, nr);
	CU_ASSERT_EQUAL(fake_find(fake, "/f")->size, nr);
	fake_unlock(fake);
	end();
}

/* ---- bells ---- */

static void
post_while_paused(bool awake, unsigned nr)
{
	struct nfswb_file *f = open_file("/f", O_WRONLY | O_CREAT);
	unsigned before, i;

	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), 1);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	fake->paused = true;
	fake->awake = awake;
	before = fake->bell_nr;
	fake_unlock(fake);
	fake_lock(fake);
	fake_wait(fake);
	fake_wait(fake);
	fake_unlock(fake);
	for (i = 1; i <= nr; i++)
		CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, i), 1);
	fake_lock(fake);
	fake->paused = false;
	fake_unlock(fake);
	close_file(f);
	fake_lock(fake);
	fake->bell_nr -= before;
	fake_unlock(fake);
}

static void
no_bell_rings_while_the_daemon_is_awake(void)
{
	begin(MIB);
	post_while_paused(true, 1000);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->bell_nr, 0);
	fake_unlock(fake);
	end();
}

static void
one_bell_wakes_the_daemon_however_many_posts(void)
{
	begin(MIB);
	post_while_paused(false, 1000);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->bell_nr, 1);
	fake_unlock(fake);
	end();
}

/* ---- time and signals ---- */

static void
timed_out_write_returns_the_bytes_posted(void)
{
	unsigned char *data = pattern(MIB, 3);
	struct nfswb_file *f;

	begin(2 * NFSWB_CHUNK_BYTES);
	f = open_file("/f", O_WRONLY | O_CREAT);
	fake_lock(fake);
	fake->grant_bytes = 4096;
	fake_unlock(fake);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 1000, 0), 1000);
	fake_lock(fake);
	fake->hold_grants = true;
	fake_unlock(fake);
	nfswb_set_timeout(wb, 30);
	/* what is left of the first grant, then nothing */
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data + 1000, MIB - 1000, 1000), 3096);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(wb), "nfswb_pwrite: "));
	nfswb_set_timeout(wb, -1);
	close_file(f);
	check_file("/f", data, 4096);
	end();
	free(data);
}

static void
mute(nfswb_type type)
{
	fake_lock(fake);
	fake->mute = type;
	fake_unlock(fake);
}

static void
wait_until_one_waits(void)
{
	fake_lock(fake);
	while (!fake->waits)
		fake_wait(fake);
	fake_unlock(fake);
}

static void
signal_two_writers(unsigned flags, struct job job[2])
{
	struct sigaction sa = { .sa_handler = nothing };
	unsigned i, n;

	sigaction(SIGUSR1, &sa, NULL);
	begin_with(2 * NFSWB_CHUNK_BYTES, flags);
	fake_lock(fake);
	fake->hold_grants = true;
	fake_unlock(fake);
	for (i = 0; i < 2; i++) {
		job[i].f = open_file(i ? "/f" : "/g", O_WRONLY | O_CREAT);
		job[i].data = "data";
		job[i].len = 4;
		job[i].offset = 0;
		job_start(&job[i]);
	}
	wait_until_one_waits();
	if (flags & NFSWB_INTR) {
		for (i = 0; i < 2; i++)
			while (!job[i].done) {
				pthread_kill(job[i].thread, SIGUSR1);
				sched_yield();
			}
	} else {
		for (n = 0; n < 50; n++)
			for (i = 0; i < 2; i++)
				pthread_kill(job[i].thread, SIGUSR1);
		fake_lock(fake);
		fake->hold_grants = false;
		fake_unlock(fake);
	}
	for (i = 0; i < 2; i++) {
		job_join(&job[i]);
		close_file(job[i].f);
	}
	end();
}

static void
signal_ends_a_waiting_write_under_INTR(void)
{
	struct job job[2];

	signal_two_writers(NFSWB_INTR, job);
	CU_ASSERT_EQUAL(job[0].result, -1);
	CU_ASSERT_EQUAL(job[0].error, EINTR);
	CU_ASSERT_EQUAL(job[1].result, -1);
	CU_ASSERT_EQUAL(job[1].error, EINTR);
}

static void
signal_does_not_end_a_waiting_write_else(void)
{
	struct job job[2];

	signal_two_writers(0, job);
	CU_ASSERT_EQUAL(job[0].result, 4);
	CU_ASSERT_EQUAL(job[1].result, 4);
}

static void
failed_data_that_fills_the_slab_ends_the_write_with_its_reason(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	fake_lock(fake);
	fake->hold_grants = true;
	fake->failed_room = ENOSPC;
	fake_unlock(fake);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), -1);
	CU_ASSERT_EQUAL(errno, ENOSPC);
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(wb),
			       "nfswb_pwrite: the disk is full");
	close_file(f);
	end();
}

/* ---- errors ---- */

static void
strerror_names_the_call_and_the_daemons_reason(void)
{
	struct nfswb_file *f;

	begin(MIB);
	CU_ASSERT_PTR_NULL(nfswb_open(wb, "/none", O_RDONLY, 0));
	CU_ASSERT_EQUAL(errno, ENOENT);
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(wb),
			       "nfswb_open: /none: no such file there");
	CU_ASSERT_PTR_NULL(nfswb_open(wb, "/odd", O_RDONLY, 0));
	CU_ASSERT_EQUAL(errno, EPROTO);
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(wb),
			       "nfswb_open: /odd: an odd server");
	f = open_file("/f", O_RDONLY);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EBADF);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(wb), "nfswb_pwrite: "));
	CU_ASSERT_EQUAL(nfswb_pread(f, NULL, 1, -1), -1);
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(nfswb_open(wb, NULL, O_RDONLY, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_EQUAL(nfswb_sync(wb, ""), -1);
	CU_ASSERT_EQUAL(nfswb_sync(wb, NULL), 0);
	CU_ASSERT_EQUAL(nfswb_unlink(NULL, "/f"), -1);
	CU_ASSERT_EQUAL(errno, EINVAL);
	close_file(f);
	end();
}

static void *
fails_elsewhere(void *arg)
{
	(void)arg;
	CU_ASSERT_PTR_NULL(nfswb_opendir(wb, NULL));
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(wb), "nfswb_opendir: "));
	return NULL;
}

static void
each_thread_has_its_own_last_failure(void)
{
	pthread_t t;

	begin(MIB);
	CU_ASSERT_PTR_NULL(nfswb_open(wb, "/none", O_RDONLY, 0));
	pthread_create(&t, NULL, fails_elsewhere, NULL);
	pthread_join(t, NULL);
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(wb),
			       "nfswb_open: /none: no such file there");
	end();
}

static void
each_connection_has_its_own_last_failure(void)
{
	struct fake *other_fake = fake_start(MIB);
	struct nfswb *other = nfswb_connect(other_fake->path, 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	begin(MIB);
	CU_ASSERT_PTR_NULL(nfswb_open(wb, "/none", O_RDONLY, 0));
	CU_ASSERT_PTR_NULL(nfswb_opendir(other, NULL));
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(wb),
			       "nfswb_open: /none: no such file there");
	CU_ASSERT_STRING_EQUAL(nfswb_strerror(other),
			       "nfswb_opendir: Invalid argument");
	end();
	nfswb_disconnect(other);
	CU_ASSERT_EQUAL(fake_end(other_fake), 0);
}

static void *
fsync_main(void *arg)
{
	struct job *j = arg;

	j->result = nfswb_fsync(j->f);
	return NULL;
}

static void
thread_that_has_its_answer_lets_another_read(void)
{
	struct job job[2] = { { 0 }, { 0 } };
	struct nfswb_file *f;
	unsigned i;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	mute(NFSWB_FSYNC);
	for (i = 0; i < 2; i++) {
		job[i].f = f;
		pthread_create(&job[i].thread, NULL, fsync_main, &job[i]);
		fake_lock(fake);
		while (fake->muted_nr != i + 1)
			fake_wait(fake);
		fake_unlock(fake);
	}
	/* the first reads the socket; the second gets its answer later */
	fake_lock(fake);
	fake->answer_nr = 1;
	fake_unlock(fake);
	job_join(&job[0]);
	mute(0);
	job_join(&job[1]);
	CU_ASSERT_EQUAL(job[0].result, 0);
	CU_ASSERT_EQUAL(job[1].result, 0);
	close_file(f);
	end();
}

/* ---- files ---- */

static void
position_moves_with_reads_and_writes(void)
{
	char buf[16] = "";
	struct nfswb_file *f;
	struct stat st;

	begin(MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_write(f, "abc", 3), 3);
	CU_ASSERT_EQUAL(nfswb_write(f, "def", 3), 3);
	CU_ASSERT_EQUAL(nfswb_lseek(f, 0, SEEK_CUR), 6);
	CU_ASSERT_EQUAL(nfswb_lseek(f, -5, SEEK_END), 1);
	CU_ASSERT_EQUAL(nfswb_read(f, buf, 3), 3);
	CU_ASSERT_STRING_EQUAL(buf, "bcd");
	CU_ASSERT_EQUAL(nfswb_read(f, buf, 9), 2);
	CU_ASSERT_EQUAL(nfswb_read(f, buf, 9), 0);
	CU_ASSERT_EQUAL(nfswb_lseek(f, -1, SEEK_SET), -1);
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_EQUAL(nfswb_lseek(f, 0, SEEK_CUR), 6);
	CU_ASSERT_EQUAL(nfswb_fstat(f, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 6);
	CU_ASSERT_EQUAL(st.st_mode, S_IFREG | 0644);
	CU_ASSERT_EQUAL(st.st_mtim.tv_sec, -1);
	CU_ASSERT_EQUAL(st.st_mtim.tv_nsec, 999999999);
	close_file(f);
	end();
}

static void
read_larger_than_a_message_is_whole(void)
{
	unsigned char *data = pattern(3 * MIB, 4), *got = malloc(3 * MIB);
	struct nfswb_file *f;

	begin(4 * MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 3 * MIB, 0), 3 * MIB);
	CU_ASSERT_EQUAL(nfswb_pread(f, got, 3 * MIB, 0), 3 * MIB);
	CU_ASSERT_EQUAL(memcmp(got, data, 3 * MIB), 0);
	close_file(f);
	end();
	free(data);
	free(got);
}

/* A file of 3 MiB is there, and its writer's chunks are free again. */
static struct nfswb_file *
file_to_read(const unsigned char *data)
{
	struct nfswb_file *f;

	begin(8 * MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 3 * MIB, 0), 3 * MIB);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	return f;
}

static void
read_comes_through_shared_memory_and_not_in_messages(void)
{
	unsigned char *data = pattern(3 * MIB, 5), *got = malloc(3 * MIB);
	struct nfswb_file *f = file_to_read(data);

	CU_ASSERT_EQUAL(nfswb_pread(f, got, 3 * MIB, 0), 3 * MIB);
	CU_ASSERT_EQUAL(memcmp(got, data, 3 * MIB), 0);
	CU_ASSERT_EQUAL(nfswb_pread(f, got, 100, 3 * MIB - 50), 50);
	CU_ASSERT_EQUAL(memcmp(got, data + 3 * MIB - 50, 50), 0);
	CU_ASSERT_EQUAL(nfswb_pread(f, got, 100, 3 * MIB), 0);
	fake_lock(fake);
	CU_ASSERT(fake->place_nr > 3);
	CU_ASSERT_EQUAL(fake->inline_nr, 0);
	fake_unlock(fake);
	close_file(f);
	end();
	free(data);
	free(got);
}

static void
place_used_anew_while_it_is_copied_is_read_again(void)
{
	unsigned char *data = pattern(3 * MIB, 6), *got = malloc(3 * MIB);
	struct nfswb_file *f = file_to_read(data);
	unsigned spoil, second;

	for (spoil = 1; spoil <= 5; spoil++)
		for (second = 0; second < 2; second++) {
			fake_lock(fake);
			fake->spoil_nr = spoil;
			fake->spoil_second = second;
			fake_unlock(fake);
			memset(got, 0, 3 * MIB);
			CU_ASSERT_EQUAL(nfswb_pread(f, got, 3 * MIB, 0),
					3 * MIB);
			CU_ASSERT_EQUAL(memcmp(got, data, 3 * MIB), 0);
		}
	fake_lock(fake);
	CU_ASSERT(fake->inline_nr > 0);	/* after two in vain */
	fake_unlock(fake);
	close_file(f);
	end();
	free(data);
	free(got);
}

static void
place_outside_of_the_memory_is_an_error_and_not_read(void)
{
	static const uint64_t odd[] = { 8 * MIB, UINT64_MAX - 1,
					NFSWB_CHUNK_BYTES - 1, 1ull << 63 };
	unsigned char *data = pattern(3 * MIB, 7), *got = malloc(3 * MIB);
	struct nfswb_file *f = file_to_read(data);
	unsigned i;

	for (i = 0; i < sizeof odd / sizeof *odd; i++) {
		fake_lock(fake);
		fake->odd_place = odd[i];
		fake_unlock(fake);
		CU_ASSERT_EQUAL(nfswb_pread(f, got, 1000, 0), -1);
		CU_ASSERT_EQUAL(errno, EPROTO);
	}
	close_file(f);
	end();
	free(data);
	free(got);
}

static void
zeros_that_nobody_wrote_are_read_as_such(void)
{
	unsigned char *got = malloc(MIB), *data = pattern(100, 8);
	struct nfswb_file *f;
	size_t i;

	begin(8 * MIB);
	f = open_file("/f", O_RDWR | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data, 100, 200000), 100);
	memset(got, 0x55, MIB);
	CU_ASSERT_EQUAL(nfswb_pread(f, got, MIB, 0), 200100);
	for (i = 0; i < 200000 && !got[i]; i++)
		;
	CU_ASSERT_EQUAL(i, 200000);
	CU_ASSERT_EQUAL(memcmp(got + 200000, data, 100), 0);
	close_file(f);
	end();
	free(data);
	free(got);
}

static void
directory_is_listed_over_pages(void)
{
	struct nfswb_dir *d;
	struct dirent *e;
	char names[64] = "";

	begin(MIB);
	d = nfswb_opendir(wb, "/");
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	errno = 0;
	while (strlen(names) < 32 && (e = nfswb_readdir(d)))
		strcat(strcat(names, e->d_name), " ");
	CU_ASSERT_EQUAL(errno, 0);
	CU_ASSERT_STRING_EQUAL(names, ". .. a b c ");
	CU_ASSERT_EQUAL(nfswb_closedir(d), 0);
	end();
}

static void
control_and_statistics_answer_with_text(void)
{
	char *s;

	begin(MIB);
	s = nfswb_control(wb, "{\"a\":1}");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_STRING_EQUAL(s, "{\"a\":1}");
	free(s);
	s = nfswb_statistics(wb);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_STRING_EQUAL(s, "{}");
	free(s);
	end();
}

static void
truncate_that_timed_out_still_holds_later_writes(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "0123456789", 10, 0), 10);
	mute(NFSWB_TRUNCATE);
	nfswb_set_timeout(wb, 20);
	CU_ASSERT_EQUAL(nfswb_ftruncate(f, 5), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 7), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	nfswb_set_timeout(wb, -1);
	mute(0);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 7), 1);
	close_file(f);
	check_file("/f", "01234\0\0x", 8);
	end();
}

static void
open_that_timed_out_is_closed_when_it_is_answered(void)
{
	unsigned i, nr;

	begin(MIB);
	mute(NFSWB_OPEN);
	nfswb_set_timeout(wb, 20);
	CU_ASSERT_PTR_NULL(nfswb_open(wb, "/f", O_RDONLY, 0));
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	nfswb_set_timeout(wb, -1);
	mute(0);
	for (nr = i = 0; i < 1000 && !nr; i++) {
		CU_ASSERT_EQUAL(nfswb_sync(wb, NULL), 0);
		fake_lock(fake);
		nr = fake->close_nr;
		fake_unlock(fake);
	}
	CU_ASSERT_EQUAL(nr, 1);
	end();
}

/* ---- appends ---- */

static void
append_larger_than_its_room_is_whole(void)
{
	unsigned char *data = pattern(300000, 5);
	struct nfswb_file *f;

	begin(2 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 4096;
	fake_unlock(fake);
	f = open_file("/f", O_RDWR | O_CREAT | O_APPEND);
	CU_ASSERT_EQUAL(nfswb_write(f, data, 100), 100);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, data + 100, 250000, 3), 250000);
	CU_ASSERT_EQUAL(nfswb_write(f, data + 250100, 49900), 49900);
	CU_ASSERT_EQUAL(nfswb_lseek(f, 0, SEEK_CUR), 300000);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->append_nr, 1);
	CU_ASSERT_EQUAL(fake->reserve_nr, 2);
	fake_unlock(fake);
	close_file(f);
	check_file("/f", data, 300000);
	end();
	free(data);
}

/* A record: its length, its writer, and as many bytes of that writer's. */
struct record {
	uint32_t length, nr, count;
};

#define RECORDS 150

static void *
appender_main(void *arg)
{
	struct writer *w = arg;
	unsigned char buf[sizeof(struct record) + 20000];
	struct record r = { .nr = w->nr };
	ssize_t done;

	for (r.count = 0; r.count < RECORDS; r.count++) {
		r.length = rand_r(&w->seed) % 8 ? rand_r(&w->seed) % 500 :
			   rand_r(&w->seed) % 20000;
		memcpy(buf, &r, sizeof r);
		memset(buf + sizeof r, (int)(r.nr * 16 + r.count % 16),
		       r.length);
		/* by the position or not, it is the end of file */
		done = w->nr % 2 ? nfswb_write(w->f, buf, sizeof r + r.length) :
		       nfswb_pwrite(w->f, buf, sizeof r + r.length, 0);
		w->failures += done != (ssize_t)(sizeof r + r.length);
	}
	return NULL;
}

static void
check_records(const struct fake_file *f)
{
	uint32_t next[THREADS] = { 0 }, i;
	struct record r;
	size_t at;

	for (at = 0; at + sizeof r <= f->size; at += sizeof r + r.length) {
		memcpy(&r, f->data + at, sizeof r);
		CU_ASSERT_FATAL(r.nr < THREADS &&
				at + sizeof r + r.length <= f->size);
		CU_ASSERT_EQUAL_FATAL(r.count, next[r.nr]);
		next[r.nr]++;
		for (i = 0; i < r.length; i++)
			CU_ASSERT_EQUAL_FATAL(f->data[at + sizeof r + i],
					      r.nr * 16 + r.count % 16);
	}
	CU_ASSERT_EQUAL(at, f->size);
	for (i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(next[i], RECORDS);
}

static void
append_by_threads(unsigned seed)
{
	struct nfswb_file *f = open_file("/f", O_WRONLY | O_CREAT | O_APPEND);
	struct nfswb_file *g = open_file("/f", O_WRONLY | O_CREAT | O_APPEND);
	struct writer w[THREADS];
	unsigned i;

	/* the fake has one number for both: they share it */
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct writer){ .f = f, .nr = i, .seed = seed + i };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&w[i].thread, NULL,
						     appender_main, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		CU_ASSERT_EQUAL(w[i].failures, 0);
	}
	CU_ASSERT_EQUAL(nfswb_fsync(g), 0);
	fake_lock(fake);
	check_records(fake_find(fake, "/f"));
	fake_unlock(fake);
}

static void
appends_of_several_threads_stay_whole(void)
{
	unsigned seed = new_seed();

	begin(4 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 8192;
	fake_unlock(fake);
	append_by_threads(seed);
	end();
}

/* ---- the daemon dies ---- */

static void
die_now_and_then(unsigned seed, unsigned in)
{
	fake_lock(fake);
	fake->seed = seed;
	fake->die_in = in;
	fake_unlock(fake);
}

static void
daemon_that_dies_and_comes_back_costs_no_byte(void)
{
	unsigned seed = new_seed();

	begin(8 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 8192;
	fake_unlock(fake);
	die_now_and_then(seed, 12);
	write_by_threads(seed, true);
	fake_lock(fake);
	printf("# died %u times, %u resumes, %u calls again\n",
	       fake->died_nr, fake->resume_nr, fake->again_nr);
	CU_ASSERT(fake->died_nr > 0);
	fake->die_in = 0;
	fake_unlock(fake);
	end();
}

static void
without_a_thread_the_callers_resume(void)
{
	unsigned seed = new_seed();

	begin_with(8 * NFSWB_CHUNK_BYTES, NFSWB_NO_THREAD);
	die_now_and_then(seed, 12);
	write_by_threads(seed, true);
	fake_lock(fake);
	CU_ASSERT(fake->resume_nr > 0);
	fake->die_in = 0;
	fake_unlock(fake);
	end();
}

static void
appends_stay_whole_and_single_when_the_daemon_dies(void)
{
	unsigned seed = new_seed();

	begin(8 * NFSWB_CHUNK_BYTES);
	fake_lock(fake);
	fake->grant_bytes = 8192;
	fake_unlock(fake);
	die_now_and_then(seed, 12);
	append_by_threads(seed);
	die_now_and_then(seed, 0);
	end();
}

static void
set_away(bool away)
{
	fake_lock(fake);
	fake->away = away;
	fake_unlock(fake);
	fake_lock(fake);
	while (away ? fake->listen_fd >= 0 : fake->listen_fd < 0)
		fake_wait(fake);
	fake_unlock(fake);
}

static void
idle_session_is_resumed_by_the_thread(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "a", 1, 0), 1);
	fake_lock(fake);
	fake->paused = true;
	fake_unlock(fake);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "b", 1, 1), 1);
	fake_lock(fake);
	fake->paused = false;
	fake->away = true;
	fake_unlock(fake);
	set_away(true);
	set_away(false);
	fake_lock(fake);
	while (!fake->resume_nr || fake_find(fake, "/f")->size != 2)
		fake_wait(fake);
	fake_unlock(fake);
	close_file(f);
	end();
}

static void
write_waits_while_the_daemon_is_away(void)
{
	struct job job = { .data = "data", .len = 4 };
	struct nfswb_file *f;

	begin(MIB);
	job.f = f = open_file("/f", O_WRONLY | O_CREAT);
	set_away(true);
	nfswb_set_timeout(wb, 20);
	CU_ASSERT_EQUAL(nfswb_fsync(f), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	nfswb_set_timeout(wb, -1);
	job_start(&job);
	set_away(false);
	job_join(&job);
	CU_ASSERT_EQUAL(job.result, 4);
	close_file(f);
	check_file("/f", "data", 4);
	end();
}

static void
call_without_an_answer_is_asked_again_under_its_id(void)
{
	struct job job = { 0 };
	uint64_t id;

	begin(MIB);
	job.f = open_file("/f", O_WRONLY | O_CREAT);
	mute(NFSWB_FSYNC);
	pthread_create(&job.thread, NULL, fsync_main, &job);
	fake_lock(fake);
	while (!fake->muted_id)
		fake_wait(fake);
	id = fake->muted_id;
	fake_unlock(fake);
	set_away(true);
	mute(0);
	set_away(false);
	pthread_join(job.thread, NULL);
	CU_ASSERT_EQUAL(job.result, 0);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->again_nr, 1);
	CU_ASSERT_EQUAL(fake->again_id, id);
	fake_unlock(fake);
	close_file(job.f);
	end();
}

static void
refused_resume_is_ESTALE_in_words(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	fake_lock(fake);
	fake->refuse = true;
	fake_unlock(fake);
	set_away(true);
	set_away(false);
	CU_ASSERT_EQUAL(nfswb_fsync(f), -1);
	CU_ASSERT_EQUAL(errno, ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(nfswb_strerror(wb), "who are you?"));
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "x", 1, 0), -1);
	CU_ASSERT_EQUAL(errno, ESTALE);
	CU_ASSERT_EQUAL(nfswb_close(f), -1);
	CU_ASSERT_EQUAL(errno, ESTALE);
	end();
}

static void
close_that_timed_out_is_finished_after_the_resume(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	set_away(true);
	nfswb_set_timeout(wb, 20);
	CU_ASSERT_EQUAL(nfswb_close(f), -1);
	CU_ASSERT_EQUAL(errno, ETIMEDOUT);
	nfswb_set_timeout(wb, -1);
	set_away(false);
	CU_ASSERT_EQUAL(nfswb_sync(wb, NULL), 0);
	fake_lock(fake);
	CU_ASSERT_EQUAL(fake->close_nr, 1);
	fake_unlock(fake);
	end();
}

static void
disconnect_while_the_daemon_is_away_loses_nothing(void)
{
	struct nfswb_file *f;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "a", 1, 0), 1);
	CU_ASSERT_EQUAL(nfswb_fsync(f), 0);
	fake_lock(fake);
	fake->paused = true;
	fake_unlock(fake);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "b", 1, 1), 1);
	fake_lock(fake);
	fake->paused = false;
	fake->away = true;
	fake_unlock(fake);
	set_away(true);
	nfswb_set_timeout(wb, 10);
	CU_ASSERT_EQUAL(nfswb_close(f), -1);
	nfswb_disconnect(wb);
	set_away(false);
	fake_lock(fake);
	while (fake_find(fake, "/f")->size != 2)
		fake_wait(fake);
	fake_unlock(fake);
	CU_ASSERT_EQUAL(fake_end(fake), 0);
}

/* ---- fork ---- */

static int
child(struct nfswb_file *f, struct nfswb_dir *d)
{
	int bad = 0;

	bad |= nfswb_pwrite(f, "c", 1, 0) != -1 || errno != ESTALE;
	bad |= nfswb_fsync(f) != -1 || errno != ESTALE;
	bad |= !strstr(nfswb_strerror(wb), "nfswb_fsync: ");
	bad |= nfswb_readdir(d) || errno != ESTALE;
	bad |= nfswb_closedir(d) != -1 || errno != ESTALE;
	bad |= nfswb_close(f) != -1 || errno != ESTALE;
	nfswb_disconnect(wb);
	return bad;
}

static void
forked_child_gets_ESTALE_and_harms_nothing(void)
{
	struct nfswb_dir *d;
	struct nfswb_file *f;
	int status = -1;
	pid_t pid;

	begin(MIB);
	f = open_file("/f", O_WRONLY | O_CREAT);
	d = nfswb_opendir(wb, "/");
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "ab", 2, 0), 2);
	pid = fork();
	if (pid == 0)
		_exit(child(f, d));
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CU_ASSERT_EQUAL(nfswb_pwrite(f, "c", 1, 2), 1);
	CU_ASSERT_EQUAL(nfswb_closedir(d), 0);
	close_file(f);
	check_file("/f", "abc", 3);
	end();
}

UNIT_TESTS(lib,
	UNIT(no_socket_is_said_with_its_path),
	UNIT(a_stranger_on_the_socket_is_EPROTO),
	UNIT(first_socket_that_exists_is_taken),
	UNIT(bytes_written_arrive),
	UNIT(callers_buffer_is_its_own_again_when_the_call_returns),
	UNIT(write_to_a_sync_file_returns_when_it_is_stable),
	UNIT(bytes_beyond_the_servers_largest_file_are_EFBIG_at_the_write),
	UNIT(write_larger_than_the_slab_waits_for_room_and_goes_on),
	UNIT(who_writes_little_takes_little_memory_and_no_more_than_a_chunk_ahead),
	UNIT(small_sequential_writes_are_packed_one_behind_the_other),
	UNIT(chunk_taken_back_unseen_and_granted_anew_has_one_filler),
	UNIT(threads_on_one_file_lose_nothing),
	UNIT(threads_with_a_file_each_lose_nothing),
	UNIT(write_to_a_shared_file_returns_when_it_is_taken),
	UNIT(ring_that_is_full_holds_the_writer),
	UNIT(no_bell_rings_while_the_daemon_is_awake),
	UNIT(one_bell_wakes_the_daemon_however_many_posts),
	UNIT(timed_out_write_returns_the_bytes_posted),
	UNIT(signal_ends_a_waiting_write_under_INTR),
	UNIT(signal_does_not_end_a_waiting_write_else),
	UNIT(failed_data_that_fills_the_slab_ends_the_write_with_its_reason),
	UNIT(strerror_names_the_call_and_the_daemons_reason),
	UNIT(each_thread_has_its_own_last_failure),
	UNIT(each_connection_has_its_own_last_failure),
	UNIT(thread_that_has_its_answer_lets_another_read),
	UNIT(position_moves_with_reads_and_writes),
	UNIT(read_larger_than_a_message_is_whole),
	UNIT(read_comes_through_shared_memory_and_not_in_messages),
	UNIT(place_used_anew_while_it_is_copied_is_read_again),
	UNIT(place_outside_of_the_memory_is_an_error_and_not_read),
	UNIT(zeros_that_nobody_wrote_are_read_as_such),
	UNIT(directory_is_listed_over_pages),
	UNIT(control_and_statistics_answer_with_text),
	UNIT(truncate_that_timed_out_still_holds_later_writes),
	UNIT(open_that_timed_out_is_closed_when_it_is_answered),
	UNIT(append_larger_than_its_room_is_whole),
	UNIT(appends_of_several_threads_stay_whole),
	UNIT(daemon_that_dies_and_comes_back_costs_no_byte),
	UNIT(without_a_thread_the_callers_resume),
	UNIT(appends_stay_whole_and_single_when_the_daemon_dies),
	UNIT(idle_session_is_resumed_by_the_thread),
	UNIT(write_waits_while_the_daemon_is_away),
	UNIT(call_without_an_answer_is_asked_again_under_its_id),
	UNIT(refused_resume_is_ESTALE_in_words),
	UNIT(close_that_timed_out_is_finished_after_the_resume),
	UNIT(disconnect_while_the_daemon_is_away_loses_nothing),
	UNIT(forked_child_gets_ESTALE_and_harms_nothing),
)
