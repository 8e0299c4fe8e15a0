/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runtime.c - the table of sessions and tokens, in memory and on disk
 *
 *	{"session":1,"secret":"…","pid":…,"starttime":…,"uid":…,"gid":…,
 *	 "groups":[…],"data_bytes":…}			born
 *	{"file":3,"of":1,"token":"…","oflags":…,"description":"…"}
 *	{"described":3,"of":1,"description":"…"}	another from now on
 *	{"closed":3,"of":1}
 *	{"ended":1}
 *	{"hidden":7,"description":"…"}
 *	{"unhidden":7}
 *	{"late":…}					until then, see runtime.h
 *
 * Appended with one write(2) a line, so that a SIGKILL leaves whole lines; a
 * line that is cut short all the same (no room) is taken back.  The file is
 * written anew at start, and when it has grown to several times what is alive.
 */
#include "daemon/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define GROWN_BYTES (1u << 20)	/* never written anew below this */

struct runtime {
	char *path;
	int lock_fd, fd;
	uint64_t bytes;		/* of the file now */
	uint64_t fresh_bytes;	/* when it was last written anew */
	uint64_t last_id, last_hidden, late_usec;
	struct runtime_sessions sessions;
	struct runtime_hidden_list hidden;
};

struct runtime_sessions *
runtime_list(struct runtime *rt)
{
	return &rt->sessions;
}

struct runtime_hidden_list *
runtime_hidden_list(struct runtime *rt)
{
	return &rt->hidden;
}

/* --- the table in memory --- */

static struct runtime_hidden *
find_hidden(struct runtime *rt, uint64_t id)
{
	struct runtime_hidden *h;

	LIST_FOREACH(h, &rt->hidden, link)
		if (h->id == id)
			return h;
	return NULL;
}

static void
hidden_free(struct runtime_hidden *h)
{
	LIST_REMOVE(h, link);
	free(h->description);
	free(h);
}

static struct runtime_hidden *
hidden_new(struct runtime *rt, uint64_t id, const char *description)
{
	struct runtime_hidden *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->id = id;
	h->description = strdup(description);
	LIST_INSERT_HEAD(&rt->hidden, h, link);
	if (!h->description) {
		hidden_free(h);
		return NULL;
	}
	if (id > rt->last_hidden)
		rt->last_hidden = id;
	return h;
}

static void
file_free(struct runtime_file *f)
{
	if (!f)
		return;
	free(f->description);
	free(f);
}

static void
session_free(struct runtime_session *s)
{
	struct runtime_file *f;

	while ((f = LIST_FIRST(&s->files))) {
		LIST_REMOVE(f, link);
		file_free(f);
	}
	cred_put(s->cred);
	free(s);
}

static struct runtime_session *
find_session(struct runtime *rt, uint64_t id)
{
	struct runtime_session *s;

	LIST_FOREACH(s, &rt->sessions, link)
		if (s->id == id)
			return s;
	return NULL;
}

static struct runtime_file *
find_file(struct runtime_session *s, uint32_t number)
{
	struct runtime_file *f;

	LIST_FOREACH(f, &s->files, link)
		if (f->number == number)
			return f;
	return NULL;
}

/* --- one line --- */

static void
to_hex(char out[2 * RUNTIME_SECRET + 1], const unsigned char *in)
{
	int i;

	for (i = 0; i < RUNTIME_SECRET; i++)
		sprintf(out + 2 * i, "%02x", in[i]);
}

static int
from_hex(unsigned char *out, const char *in)
{
	int i;
	unsigned byte;

	if (!in || strlen(in) != 2 * RUNTIME_SECRET)
		return -EINVAL;
	for (i = 0; i < RUNTIME_SECRET; i++) {
		if (sscanf(in + 2 * i, "%2x", &byte) != 1)
			return -EINVAL;
		out[i] = (unsigned char)byte;
	}
	return 0;
}

static json_t *
session_line(const struct runtime_session *s)
{
	char secret[2 * RUNTIME_SECRET + 1];
	json_t *groups = json_array();
	unsigned i;

	to_hex(secret, s->secret);
	for (i = 0; groups && i < s->cred->group_nr; i++)
		json_array_append_new(groups, json_integer(s->cred->group[i]));
	return json_pack("{sI ss si sI sI sI so sI}",
			 "session", (json_int_t)s->id, "secret", secret,
			 "pid", (int)s->pid,
			 "starttime", (json_int_t)s->starttime,
			 "uid", (json_int_t)s->cred->uid,
			 "gid", (json_int_t)s->cred->gid, "groups", groups,
			 "data_bytes", (json_int_t)s->data_bytes);
}

static json_t *
file_line(const struct runtime_session *s, const struct runtime_file *f)
{
	char token[2 * RUNTIME_SECRET + 1];

	to_hex(token, f->token);
	return json_pack("{sI sI ss si ss}", "file", (json_int_t)f->number,
			 "of", (json_int_t)s->id, "token", token,
			 "oflags", f->oflags, "description", f->description);
}

static json_t *
hidden_line(const struct runtime_hidden *h)
{
	return json_pack("{sI ss}", "hidden", (json_int_t)h->id,
			 "description", h->description);
}

static json_t *
late_line(const struct runtime *rt)
{
	return json_pack("{sI}", "late", (json_int_t)rt->late_usec);
}

/* Writes and frees a line.  0 or -errno: then nothing of it is there. */
static int
put_line(int fd, uint64_t *bytes, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	size_t len;
	ssize_t n;
	int err;

	json_decref(line);
	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n';		/* in place of the NUL */
	n = write(fd, text, len);
	err = n < 0 ? -errno : n < (ssize_t)len ? -ENOSPC : 0;
	free(text);
	if (!err)
		*bytes += len;
	else if (n > 0 && ftruncate(fd, (off_t)*bytes))
		*bytes += (uint64_t)n;
	return err;
}

/* --- the file written anew --- */

static int
put_all(struct runtime *rt, int fd, uint64_t *bytes)
{
	struct runtime_session *s;
	struct runtime_file *f;
	struct runtime_hidden *h;
	int err = rt->late_usec ? put_line(fd, bytes, late_line(rt)) : 0;

	for (h = LIST_FIRST(&rt->hidden); h && !err; h = LIST_NEXT(h, link))
		err = put_line(fd, bytes, hidden_line(h));
	if (err)
		return err;
	LIST_FOREACH(s, &rt->sessions, link) {
		err = put_line(fd, bytes, session_line(s));
		for (f = LIST_FIRST(&s->files); f && !err;
		     f = LIST_NEXT(f, link))
			err = put_line(fd, bytes, file_line(s, f));
		if (err)
			break;
	}
	return err;
}

static int
write_anew(struct runtime *rt)
{
	char *path;
	uint64_t bytes = 0;
	int fd, err;

	if (asprintf(&path, "%s.new", rt->path) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
		  0600);
	err = fd < 0 ? -errno : put_all(rt, fd, &bytes);
	if (!err && rename(path, rt->path))
		err = -errno;
	if (err) {
		if (fd >= 0) {
			close(fd);
			unlink(path);
		}
	} else {
		if (rt->fd >= 0)
			close(rt->fd);
		rt->fd = fd;
		rt->bytes = rt->fresh_bytes = bytes;
	}
	free(path);
	return err;
}

/* What the line tells must be in the table already: the file may be written
   anew, from the table. */
static int
append(struct runtime *rt, json_t *line)
{
	int err = put_line(rt->fd, &rt->bytes, line);

	if (!err && rt->bytes > GROWN_BYTES &&
	    rt->bytes > 4 * rt->fresh_bytes && write_anew(rt))
		rt->fresh_bytes = rt->bytes;	/* not again at once */
	return err;
}

/* --- reading what an earlier instance left --- */

static bool
read_session(struct runtime *rt, json_t *line)
{
	json_int_t id, starttime, uid, gid, data_bytes;
	gid_t group[CRED_GROUPS_MAX];
	unsigned group_nr = 0;
	const char *secret;
	json_t *groups, *g;
	size_t i;
	int pid;
	struct runtime_session *s;

	if (json_unpack(line, "{sI ss si sI sI sI so sI}", "session", &id,
			"secret", &secret, "pid", &pid, "starttime",
			&starttime, "uid", &uid, "gid", &gid, "groups",
			&groups, "data_bytes", &data_bytes))
		return false;
	json_array_foreach(groups, i, g)
		if (group_nr < CRED_GROUPS_MAX)
			group[group_nr++] = (gid_t)json_integer_value(g);
	s = calloc(1, sizeof *s);
	if (!s || from_hex(s->secret, secret) || find_session(rt, id)) {
		free(s);
		return false;
	}
	s->id = (uint64_t)id;
	s->pid = pid;
	s->starttime = (uint64_t)starttime;
	s->data_bytes = (uint64_t)data_bytes;
	s->cred = cred_get((uid_t)uid, (gid_t)gid, group, group_nr);
	if (!s->cred) {
		free(s);
		return false;
	}
	LIST_INSERT_HEAD(&rt->sessions, s, link);
	if (s->id > rt->last_id)
		rt->last_id = s->id;
	return true;
}

static bool
read_file(struct runtime *rt, json_t *line)
{
	json_int_t number, of;
	const char *token, *description;
	int oflags;
	struct runtime_session *s;
	struct runtime_file *f;

	if (json_unpack(line, "{sI sI ss si ss}", "file", &number, "of", &of,
			"token", &token, "oflags", &oflags, "description",
			&description))
		return false;
	s = find_session(rt, (uint64_t)of);
	if (!s || find_file(s, (uint32_t)number))
		return false;
	f = calloc(1, sizeof *f);
	if (f)
		f->description = strdup(description);
	if (!f || !f->description || from_hex(f->token, token)) {
		file_free(f);
		return false;
	}
	f->number = (uint32_t)number;
	f->oflags = oflags;
	LIST_INSERT_HEAD(&s->files, f, link);
	return true;
}

static bool
read_described(struct runtime *rt, json_t *line)
{
	json_int_t number, of;
	const char *description;
	struct runtime_session *s;
	struct runtime_file *f;
	char *copy;

	if (json_unpack(line, "{sI sI ss}", "described", &number, "of", &of,
			"description", &description))
		return false;
	s = find_session(rt, (uint64_t)of);
	f = s ? find_file(s, (uint32_t)number) : NULL;
	copy = f ? strdup(description) : NULL;
	if (!copy)
		return false;
	free(f->description);
	f->description = copy;
	return true;
}

static bool
read_closed(struct runtime *rt, json_t *line)
{
	struct runtime_session *s;
	struct runtime_file *f;

	s = find_session(rt, (uint64_t)json_integer_value(
				     json_object_get(line, "of")));
	f = s ? find_file(s, (uint32_t)json_integer_value(
				     json_object_get(line, "closed"))) : NULL;
	if (!f)
		return false;
	LIST_REMOVE(f, link);
	file_free(f);
	return true;
}

static bool
read_ended(struct runtime *rt, json_t *line)
{
	struct runtime_session *s = find_session(rt,
		(uint64_t)json_integer_value(json_object_get(line, "ended")));

	if (!s)
		return false;
	LIST_REMOVE(s, link);
	session_free(s);
	return true;
}

static bool
read_hidden(struct runtime *rt, json_t *line)
{
	const char *description;
	json_int_t id;

	return !json_unpack(line, "{sI ss}", "hidden", &id, "description",
			    &description) &&
	       !find_hidden(rt, (uint64_t)id) &&
	       hidden_new(rt, (uint64_t)id, description);
}

static bool
read_unhidden(struct runtime *rt, json_t *line)
{
	struct runtime_hidden *h = find_hidden(rt,
		(uint64_t)json_integer_value(json_object_get(line,
							     "unhidden")));

	if (h)
		hidden_free(h);
	return h;
}

static bool
read_late(struct runtime *rt, json_t *line)
{
	json_int_t until = json_integer_value(json_object_get(line, "late"));

	if (until > 0 && (uint64_t)until > rt->late_usec)
		rt->late_usec = (uint64_t)until;
	return until > 0;
}

static const struct {
	const char *key;
	bool (*read)(struct runtime *, json_t *);
} kinds[] = {
	{ "session", read_session },
	{ "file", read_file },
	{ "described", read_described },
	{ "closed", read_closed },
	{ "ended", read_ended },
	{ "hidden", read_hidden },
	{ "unhidden", read_unhidden },
	{ "late", read_late },
};

static bool
read_line(struct runtime *rt, const char *text)
{
	json_t *line = json_loads(text, 0, NULL);
	bool good = false;
	size_t i;

	for (i = 0; line && i < sizeof kinds / sizeof kinds[0]; i++)
		if (json_object_get(line, kinds[i].key)) {
			good = kinds[i].read(rt, line);
			break;
		}
	json_decref(line);
	return good;
}

static int
read_all(struct runtime *rt)
{
	FILE *f = fopen(rt->path, "re");
	char *text = NULL;
	size_t room = 0;
	unsigned nr;

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	for (nr = 1; getline(&text, &room, f) > 0; nr++)
		if (!read_line(rt, text))
			log_warning("%s:%u: not a line of ours, skipped",
				    rt->path, nr);
	free(text);
	fclose(f);
	return 0;
}

/* --- opening and closing --- */

static int
lock_dir(struct runtime *rt, const char *dir, char **error)
{
	char *path;
	int err = 0;

	if (asprintf(&path, "%s/lock", dir) < 0)
		return -ENOMEM;
	rt->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (rt->lock_fd < 0) {
		err = -errno;
		if (asprintf(error, "%s: %s; the runtime folder must exist and "
			     "be the daemon's (key runtime_dir)", path,
			     strerror(errno)) < 0)
			*error = NULL;
	} else if (flock(rt->lock_fd, LOCK_EX | LOCK_NB)) {
		err = -errno;
		if (asprintf(error, "%s is locked: another nfswbd runs with "
			     "this runtime folder; stop it, or set another "
			     "runtime_dir", path) < 0)
			*error = NULL;
	}
	free(path);
	return err;
}

struct runtime *
runtime_open(const char *dir, char **error)
{
	struct runtime *rt = calloc(1, sizeof *rt);
	int err = -ENOMEM;

	*error = NULL;
	if (!rt) {
		*error = strdup("out of memory");
		return NULL;
	}
	rt->lock_fd = rt->fd = -1;
	LIST_INIT(&rt->sessions);
	LIST_INIT(&rt->hidden);
	if (asprintf(&rt->path, "%s/sessions", dir) < 0)
		rt->path = NULL;
	else
		err = lock_dir(rt, dir, error);
	if (!err)
		err = read_all(rt);
	if (!err)
		err = write_anew(rt);
	if (!err)
		return rt;
	if (!*error && asprintf(error, "%s: %s; the table of sessions must be "
				"readable and writable",
				rt->path ? rt->path : dir, strerror(-err)) < 0)
		*error = NULL;
	runtime_close(rt);
	return NULL;
}

void
runtime_close(struct runtime *rt)
{
	struct runtime_session *s;

	if (!rt)
		return;
	while ((s = LIST_FIRST(&rt->sessions))) {
		LIST_REMOVE(s, link);
		session_free(s);
	}
	while (!LIST_EMPTY(&rt->hidden))
		hidden_free(LIST_FIRST(&rt->hidden));
	if (rt->fd >= 0)
		close(rt->fd);
	if (rt->lock_fd >= 0)
		close(rt->lock_fd);
	free(rt->path);
	free(rt);
}

/* --- what happens to sessions and files --- */

static int
random_bytes(unsigned char *out)
{
	return getrandom(out, RUNTIME_SECRET, 0) == RUNTIME_SECRET ? 0 : -EIO;
}

bool
runtime_same(const void *a, const void *b)
{
	const unsigned char *p = a, *q = b;
	unsigned char diff = 0;
	int i;

	for (i = 0; i < RUNTIME_SECRET; i++)	/* in constant time */
		diff |= p[i] ^ q[i];
	return !diff;
}

int
runtime_born(struct runtime *rt, pid_t pid, uint64_t starttime,
	     struct cred *cred, uint64_t data_bytes,
	     struct runtime_session **out)
{
	struct runtime_session *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->id = rt->last_id + 1;
	s->pid = pid;
	s->starttime = starttime;
	s->cred = cred_ref(cred);
	s->data_bytes = data_bytes;
	LIST_INSERT_HEAD(&rt->sessions, s, link);
	err = random_bytes(s->secret);
	if (!err)
		err = append(rt, session_line(s));
	if (err) {
		LIST_REMOVE(s, link);
		session_free(s);
		return err;
	}
	rt->last_id = s->id;
	*out = s;
	return 0;
}

int
runtime_opened(struct runtime *rt, struct runtime_session *s, uint32_t number,
	       int oflags, const char *description, struct runtime_file **out)
{
	struct runtime_file *f = calloc(1, sizeof *f);
	int err;

	if (!f)
		return -ENOMEM;
	f->number = number;
	f->oflags = oflags;
	f->description = strdup(description);
	LIST_INSERT_HEAD(&s->files, f, link);
	err = f->description ? random_bytes(f->token) : -ENOMEM;
	if (!err)
		err = append(rt, file_line(s, f));
	if (err) {
		LIST_REMOVE(f, link);
		file_free(f);
		return err;
	}
	*out = f;
	return 0;
}

int
runtime_described(struct runtime *rt, struct runtime_session *s,
		  struct runtime_file *f, const char *description)
{
	char *copy = strdup(description), *old = f->description;
	int err;

	if (!copy)
		return -ENOMEM;
	/* first here: the line may have the whole file written anew */
	f->description = copy;
	err = append(rt, json_pack("{sI sI ss}", "described",
				   (json_int_t)f->number, "of",
				   (json_int_t)s->id, "description", copy));
	if (err)
		f->description = old;
	free(err ? copy : old);
	return err;
}

void
runtime_closed(struct runtime *rt, struct runtime_session *s,
	       struct runtime_file *f)
{
	int err;

	LIST_REMOVE(f, link);
	err = append(rt, json_pack("{sI sI}", "closed", (json_int_t)f->number,
				   "of", (json_int_t)s->id));
	if (err)
		log_warning("%s: %s; file %u of session %llu stays listed",
			    rt->path, strerror(-err), f->number,
			    (unsigned long long)s->id);
	file_free(f);
}

void
runtime_ended(struct runtime *rt, struct runtime_session *s)
{
	int err;

	LIST_REMOVE(s, link);
	err = append(rt, json_pack("{sI}", "ended", (json_int_t)s->id));
	if (err)
		log_warning("%s: %s; session %llu stays listed", rt->path,
			    strerror(-err), (unsigned long long)s->id);
	session_free(s);
}

int
runtime_hide(struct runtime *rt, const char *description, uint64_t *id)
{
	struct runtime_hidden *h = hidden_new(rt, rt->last_hidden + 1,
					      description);
	int err = h ? append(rt, hidden_line(h)) : -ENOMEM;

	if (!err)
		*id = h->id;
	else if (h)
		hidden_free(h);
	return err;
}

void
runtime_unhide(struct runtime *rt, uint64_t id)
{
	struct runtime_hidden *h = find_hidden(rt, id);
	int err;

	if (!h)
		return;
	hidden_free(h);
	err = append(rt, json_pack("{sI}", "unhidden", (json_int_t)id));
	if (err)
		log_warning("%s: %s; a hidden name that is gone stays listed",
			    rt->path, strerror(-err));
}

int
runtime_late(struct runtime *rt, uint64_t until_usec)
{
	if (until_usec <= rt->late_usec)
		return 0;
	rt->late_usec = until_usec;
	return append(rt, late_line(rt));
}

uint64_t
runtime_late_until(const struct runtime *rt)
{
	return rt->late_usec;
}
