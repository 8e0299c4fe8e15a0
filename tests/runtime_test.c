/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtime_test.c - the table of sessions and tokens outlives its daemon */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/runtime.h"
#include "tests/unit.h"

static char dir[64];

static struct runtime *
open_it(void)
{
	char *error;
	struct runtime *rt = runtime_open(dir, &error);

	if (!rt)
		fprintf(stderr, "# %s\n", error);
	free(error);
	return rt;
}

static struct runtime *
fresh(void)
{
	strcpy(dir, "/tmp/nfswb-runtime.XXXXXX");
	if (!mkdtemp(dir))
		abort();
	return open_it();
}

static void
path_of(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", dir, name);
}

static void
clean(struct runtime *rt)
{
	char path[128];

	runtime_close(rt);
	path_of(path, "sessions");
	unlink(path);
	path_of(path, "lock");
	unlink(path);
	rmdir(dir);
}

static struct runtime_session *
born(struct runtime *rt, pid_t pid)
{
	static const gid_t groups[] = { 7, 8, 9 };
	struct cred *cred = cred_get(1000, 100, groups, 3);
	struct runtime_session *s = NULL;

	CU_ASSERT_EQUAL(runtime_born(rt, pid, 12345, cred, 1 << 20, &s), 0);
	cred_put(cred);
	return s;
}

static struct runtime_session *
only_session(struct runtime *rt)
{
	struct runtime_session *s = LIST_FIRST(runtime_list(rt));

	return s && !LIST_NEXT(s, link) ? s : NULL;
}

static void
table_is_the_same_for_the_next_instance(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 42), copy = *s;
	struct runtime_file *f, filed;

	CU_ASSERT_EQUAL(runtime_opened(rt, s, 3, 02, "{\"fh\":\"0a\"}", &f),
			0);
	filed = *f;
	runtime_close(rt);	/* writes nothing: as if killed */
	rt = open_it();
	s = only_session(rt);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(s->id, copy.id);
	CU_ASSERT(!memcmp(s->secret, copy.secret, sizeof s->secret));
	CU_ASSERT_EQUAL(s->pid, 42);
	CU_ASSERT_EQUAL(s->starttime, 12345);
	CU_ASSERT_EQUAL(s->data_bytes, 1 << 20);
	CU_ASSERT_EQUAL(s->cred->uid, 1000);
	CU_ASSERT_EQUAL(s->cred->gid, 100);
	CU_ASSERT_EQUAL(s->cred->group_nr, 3);
	CU_ASSERT_EQUAL(s->cred->group[2], 9);
	f = LIST_FIRST(&s->files);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->number, 3);
	CU_ASSERT_EQUAL(f->oflags, 02);
	CU_ASSERT(!memcmp(f->token, filed.token, sizeof f->token));
	CU_ASSERT_STRING_EQUAL(f->description, "{\"fh\":\"0a\"}");
	clean(rt);
}

static void
what_was_closed_or_ended_is_not_there(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *a = born(rt, 1), *b = born(rt, 2);
	struct runtime_file *f;
	uint64_t id = b->id;

	CU_ASSERT_EQUAL(runtime_opened(rt, b, 0, 0, "x", &f), 0);
	runtime_closed(rt, b, f);
	CU_ASSERT_EQUAL(runtime_opened(rt, b, 0, 0, "y", &f), 0);
	runtime_ended(rt, a);
	runtime_close(rt);
	rt = open_it();
	b = only_session(rt);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_EQUAL(b->id, id);
	f = LIST_FIRST(&b->files);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_STRING_EQUAL(f->description, "y");
	CU_ASSERT_PTR_NULL(LIST_NEXT(f, link));
	clean(rt);
}

static void
what_is_said_of_an_open_file_can_change(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 1);
	struct runtime_file *f;

	CU_ASSERT_EQUAL(runtime_opened(rt, s, 0, 0, "old", &f), 0);
	CU_ASSERT_EQUAL(runtime_described(rt, s, f, "new"), 0);
	CU_ASSERT_STRING_EQUAL(f->description, "new");
	runtime_close(rt);
	rt = open_it();
	s = only_session(rt);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	f = LIST_FIRST(&s->files);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_STRING_EQUAL(f->description, "new");
	runtime_close(rt);
	rt = open_it();		/* it was written anew in between */
	CU_ASSERT_STRING_EQUAL(LIST_FIRST(&only_session(rt)->files)
			       ->description, "new");
	clean(rt);
}

static void
hidden_names_outlive_all_sessions(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 1);
	struct runtime_hidden *h;
	uint64_t a = 0, b = 0, c = 0;

	CU_ASSERT_EQUAL(runtime_hide(rt, "a", &a), 0);
	CU_ASSERT_EQUAL(runtime_hide(rt, "b", &b), 0);
	CU_ASSERT(a && b && a != b);
	runtime_unhide(rt, a);
	runtime_unhide(rt, a);		/* is no matter */
	runtime_ended(rt, s);
	runtime_close(rt);
	rt = open_it();
	h = LIST_FIRST(runtime_hidden_list(rt));
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	CU_ASSERT_EQUAL(h->id, b);
	CU_ASSERT_STRING_EQUAL(h->description, "b");
	CU_ASSERT_PTR_NULL(LIST_NEXT(h, link));
	CU_ASSERT_EQUAL(runtime_hide(rt, "c", &c), 0);
	CU_ASSERT(c != b);
	clean(rt);
}

static void
line_cut_short_is_skipped_and_the_rest_counts(void)
{
	struct runtime *rt = fresh();
	char path[128];
	FILE *out;

	born(rt, 1);
	runtime_close(rt);
	path_of(path, "sessions");
	out = fopen(path, "a");
	fputs("{\"file\":0,\"of\":1,\"tok", out);
	fclose(out);
	rt = open_it();
	CU_ASSERT_PTR_NOT_NULL(only_session(rt));
	clean(rt);
}

/* True once: when the file has become shorter. */
static bool
written_anew(off_t *size)
{
	char path[128];
	struct stat st;
	off_t before = *size;

	path_of(path, "sessions");
	CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
	*size = st.st_size;
	return st.st_size < before;
}

static void
new_session_is_in_the_file_that_is_written_anew(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 1);
	off_t size = 0;
	int i;

	for (i = 0; i < 20000 && !written_anew(&size); i++) {
		runtime_ended(rt, s);
		(void)written_anew(&size);
		s = born(rt, 1);
	}
	CU_ASSERT(i < 20000);
	runtime_close(rt);
	rt = open_it();
	CU_ASSERT_PTR_NOT_NULL(only_session(rt));
	clean(rt);
}

static void
new_file_is_in_the_file_that_is_written_anew(void)
{
	static char description[10000];
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 1);
	struct runtime_file *f = NULL;
	off_t size = 0;
	int i;

	memset(description, 'x', sizeof description - 1);
	for (i = 0; i < 2000 && !written_anew(&size); i++) {
		if (f)
			runtime_closed(rt, s, f);
		(void)written_anew(&size);
		CU_ASSERT_EQUAL(runtime_opened(rt, s, 0, 0, description, &f),
				0);
	}
	CU_ASSERT(i < 2000);
	runtime_close(rt);
	rt = open_it();
	s = only_session(rt);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_PTR_NOT_NULL(LIST_FIRST(&s->files));
	clean(rt);
}

static void
second_daemon_in_the_folder_is_refused_in_words(void)
{
	struct runtime *rt = fresh();
	char *error = NULL;

	CU_ASSERT_PTR_NULL(runtime_open(dir, &error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "another nfswbd"));
	free(error);
	clean(rt);
}

static void
missing_folder_is_refused_in_words(void)
{
	char *error = NULL;

	CU_ASSERT_PTR_NULL(runtime_open("/nowhere/at/all", &error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "No such file"));
	free(error);
}

static void
file_does_not_grow_without_end(void)
{
	struct runtime *rt = fresh();
	struct runtime_session *s = born(rt, 1);
	struct runtime_file *f;
	char path[128], text[1000];
	struct stat st;
	int i;

	memset(text, 'd', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (i = 0; i < 5000; i++) {
		CU_ASSERT_EQUAL(runtime_opened(rt, s, 0, 0, text, &f), 0);
		runtime_closed(rt, s, f);
	}
	path_of(path, "sessions");
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT(st.st_size < 2 << 20);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
	runtime_close(rt);
	rt = open_it();
	CU_ASSERT_PTR_NOT_NULL(only_session(rt));
	clean(rt);
}

UNIT_TESTS(runtime,
	UNIT(table_is_the_same_for_the_next_instance),
	UNIT(what_was_closed_or_ended_is_not_there),
	UNIT(what_is_said_of_an_open_file_can_change),
	UNIT(hidden_names_outlive_all_sessions),
	UNIT(line_cut_short_is_skipped_and_the_rest_counts),
	UNIT(new_session_is_in_the_file_that_is_written_anew),
	UNIT(new_file_is_in_the_file_that_is_written_anew),
	UNIT(second_daemon_in_the_folder_is_refused_in_words),
	UNIT(missing_folder_is_refused_in_words),
	UNIT(file_does_not_grow_without_end),
)
