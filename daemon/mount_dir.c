/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_dir.c - directory listings of one server share a link
 *
 * A connection a page would use up the source ports below 1024 within one long
 * listing, so the link stays for a few seconds after the last page.  When it
 * dies, the listings on it fail with -ENOTCONN and may be asked for again; the
 * next one makes another link.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/mount_link.h"
#include "rpc/nfs3.h"

#define IDLE_USEC 5000000

struct listing {
	TAILQ_ENTRY(listing) entry;
	struct lister *lister;
	struct fh dir;
	struct cred *cred;
	uint64_t cookie, verifier;
	bool plus;
	mount_dir_fn *done;
	void *arg;
};

struct lister {
	LIST_ENTRY(lister) entry;
	struct mounter *m;
	struct link *link;		/* NULL: none */
	bool connected;
	struct loop_timer *idle;
	TAILQ_HEAD(, listing) listings;
	unsigned port;
	char address[];
};

static void
listing_free(struct listing *li)
{
	struct lister *s = li->lister;

	TAILQ_REMOVE(&s->listings, li, entry);
	if (TAILQ_EMPTY(&s->listings)) {
		loop_timer_set(s->m->loop, s->idle, IDLE_USEC);
		if (s->link)
			link_set_deadline(s->link, 0);
	}
	cred_put(li->cred);
	free(li);
}

static void
listing_fail(struct listing *li, int err, const char *text)
{
	mount_dir_fn *done = li->done;
	void *arg = li->arg;

	listing_free(li);
	done(arg, err, text, NULL, 0, 0, 0);
}

static void listing_came(void *, int, const char *, unsigned,
			 const struct mount_name *, unsigned, uint64_t, bool);

static void
listing_ask(struct listing *li)
{
	struct lister *s = li->lister;

	link_set_deadline(s->link, loop_now(s->m->loop) +
			  (uint64_t)s->m->timeout_ms * 1000);
	if (link_readdir(s->link, li->plus, &li->dir, li->cred, li->cookie,
			 li->verifier, listing_came, li))
		listing_fail(li, -ENOMEM, "out of memory");
}

static void
listing_came(void *arg, int err, const char *text, unsigned status,
	     const struct mount_name *names, unsigned nr, uint64_t verifier,
	     bool eof)
{
	struct listing *li = arg;
	mount_dir_fn *done = li->done;

	if (status == NFS3ERR_NOTSUPP && li->plus) {
		li->plus = false;
		listing_ask(li);
		return;
	}
	arg = li->arg;
	listing_free(li);
	done(arg, err ? err : nfs3_errno(status), text, names, nr, verifier,
	     eof);
}

static void
lister_free(struct lister *s)
{
	link_drop(s->link);
	loop_timer_free(s->m->loop, s->idle);
	LIST_REMOVE(s, entry);
	free(s);
}

static void
lister_idle(void *arg)
{
	lister_free(arg);
}

static void
lister_failed(struct lister *s, const char *text)
{
	struct listing *li;
	unsigned nr = 0;

	s->link = NULL;
	s->connected = false;
	TAILQ_FOREACH(li, &s->listings, entry)
		nr++;
	if (!nr)		/* an idle connection was closed */
		return;
	/* Those that come in meanwhile are not meant. */
	while (nr-- && (li = TAILQ_FIRST(&s->listings)))
		listing_fail(li, -ENOTCONN, text);
}

static void
lister_event(void *arg, int err, const char *text)
{
	struct lister *s = arg;
	struct listing *li, *next;

	if (err) {
		lister_failed(s, text);
		return;
	}
	s->connected = true;
	for (li = TAILQ_FIRST(&s->listings); li; li = next) {
		next = TAILQ_NEXT(li, entry);
		listing_ask(li);
	}
}

static struct lister *
lister_get(struct mounter *m, const char *address, unsigned port)
{
	struct lister *s;

	LIST_FOREACH(s, &m->listers, entry)
		if (s->port == port && !strcmp(s->address, address))
			return s;
	s = calloc(1, sizeof *s + strlen(address) + 1);
	if (!s)
		return NULL;
	s->m = m;
	s->port = port;
	strcpy(s->address, address);
	TAILQ_INIT(&s->listings);
	LIST_INSERT_HEAD(&m->listers, s, entry);
	s->idle = loop_timer(m->loop, lister_idle, s);
	if (!s->idle) {
		lister_free(s);
		return NULL;
	}
	return s;
}

static bool
lister_connect(struct lister *s)
{
	if (!s->link)
		s->link = link_new(s->m, s->address, s->port, NFS_PROG,
				   NFS_VERSION, lister_event, s);
	if (s->link)
		link_set_deadline(s->link, loop_now(s->m->loop) +
				  (uint64_t)s->m->timeout_ms * 1000);
	return s->link;
}

void
mount_readdir(struct mounter *m, const char *address, unsigned nfsport,
	      const struct fh *dir, struct cred *cred, uint64_t cookie,
	      uint64_t verifier, mount_dir_fn *done, void *arg)
{
	struct lister *s = lister_get(m, address, nfsport);
	struct listing *li = s ? calloc(1, sizeof *li) : NULL;

	if (!li) {
		done(arg, -ENOMEM, "out of memory", NULL, 0, 0, 0);
		return;
	}
	li->lister = s;
	li->dir = *dir;
	li->cred = cred_ref(cred);
	li->cookie = cookie;
	li->verifier = verifier;
	li->plus = true;
	li->done = done;
	li->arg = arg;
	TAILQ_INSERT_TAIL(&s->listings, li, entry);
	loop_timer_clear(m->loop, s->idle);
	if (!lister_connect(s))
		listing_fail(li, -ENOMEM, "out of memory");
	else if (s->connected)
		listing_ask(li);
}

void
listers_free(struct mounter *m)
{
	struct lister *s;
	struct listing *li;

	while ((s = LIST_FIRST(&m->listers))) {
		while ((li = TAILQ_FIRST(&s->listings)))
			listing_fail(li, -ECANCELED, "nfswbd is stopping");
		lister_free(s);
	}
}
