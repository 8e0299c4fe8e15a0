/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir.c - directory listing, a page of names at a time
 *
 * The first page is read at opendir, which so has the server's refusal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/codec.h"
#include "lib/error.h"
#include "lib/session.h"

struct nfswb_dir {
	struct nfswb *wb;
	pthread_mutex_t lock;
	char *target;
	bool have_page;
	nfswb_reply page;
	u_int next;		/* of the page's names */
	uint64_t cookie;	/* of the last name given out */
	struct dirent entry;
};

static nfswb_readdir_res *
page_of(struct nfswb_dir *d)
{
	return &d->page.answer.nfswb_answer_u.res.nfswb_res_u.readdir;
}

static void
drop_page(struct nfswb_dir *d)
{
	if (d->have_page)
		codec_free(&d->page);
	d->have_page = false;
}

static int
fetch_page(struct nfswb_dir *d, uint64_t verifier)
{
	struct ask ask = { .args.type = NFSWB_READDIR,
			   .deadline = deadline_of(d->wb) };
	nfswb_readdir_args *args = &ask.args.nfswb_args_u.readdir;
	nfswb_reply page;
	int rc;

	args->target = d->target;
	args->cookie = d->cookie;
	args->verifier = verifier;
	rc = call_run(d->wb, &ask, &page);
	if (rc < 0)
		return rc;
	drop_page(d);
	d->page = page;
	d->have_page = true;
	d->next = 0;
	return 0;
}

static void
dir_free(struct nfswb_dir *d)
{
	drop_page(d);
	pthread_mutex_destroy(&d->lock);
	free(d->target);
	free(d);
}

static int
opendir_inner(struct nfswb *wb, const char *target, struct nfswb_dir **out)
{
	struct nfswb_dir *d;
	int rc;

	if (!target)
		return -EINVAL;
	if (strlen(target) > NFSWB_TARGET_MAX)
		return -ENAMETOOLONG;
	d = calloc(1, sizeof *d);
	if (!d)
		return -ENOMEM;
	d->wb = wb;
	pthread_mutex_init(&d->lock, NULL);
	d->target = strdup(target);
	rc = d->target ? fetch_page(d, 0) : -ENOMEM;
	if (rc < 0)
		dir_free(d);
	else
		*out = d;
	return rc;
}

struct nfswb_dir *
nfswb_opendir(struct nfswb *wb, const char *target)
{
	struct nfswb_dir *d = NULL;
	int rc = error_enter(wb);

	if (rc == 0)
		rc = opendir_inner(wb, target, &d);
	error_leave(wb, "nfswb_opendir", rc);
	return d;
}

/* 1: the next name; 0: the end. */
static int
next_name(struct nfswb_dir *d, const nfswb_name **name)
{
	nfswb_readdir_res *page = page_of(d);
	int rc;

	while (d->next == page->names.names_len) {
		if (page->eof)
			return 0;
		/* a page with nothing on it would come for ever */
		if (page->names.names_len == 0)
			return -EPROTO;
		rc = fetch_page(d, page->verifier);
		if (rc < 0)
			return rc;
	}
	*name = &page->names.names_val[d->next++];
	return 1;
}

static int
readdir_inner(struct nfswb_dir *d)
{
	struct dirent *e = &d->entry;
	const nfswb_name *name;
	size_t len;
	int rc;

	rc = next_name(d, &name);
	if (rc <= 0)
		return rc;
	d->cookie = name->cookie;
	len = strlen(name->name);
	e->d_ino = (ino_t)name->fileid;
	e->d_off = (off_t)name->cookie;
	e->d_reclen = sizeof *e;
	e->d_type = (unsigned char)IFTODT(name->type);
	memcpy(e->d_name, name->name, len + 1);
	return 1;
}

struct dirent *
nfswb_readdir(struct nfswb_dir *d)
{
	int saved = errno, rc = error_enter(d ? d->wb : NULL);

	if (rc == 0) {
		pthread_mutex_lock(&d->lock);
		rc = readdir_inner(d);
		pthread_mutex_unlock(&d->lock);
	}
	errno = saved;
	error_leave(d ? d->wb : NULL, "nfswb_readdir", rc);
	return rc == 1 ? &d->entry : NULL;
}

int
nfswb_closedir(struct nfswb_dir *d)
{
	struct nfswb *wb = d ? d->wb : NULL;
	int rc = error_enter(wb);

	if (d)
		dir_free(d);
	return (int)error_leave(wb, "nfswb_closedir", rc);
}
