/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_check.c - is a reply well formed? (see mount_screen.h)
 *
 * Goes over the words of a record as RFC 5531, RFC 1833 and RFC 1813 lay them
 * down, and keeps nothing.  Only what our links ask for is known; whatever else
 * comes is not well formed.
 */
#include "daemon/mount_link.h"
#include "daemon/mount_screen.h"

#define VERF_MAX 400
#define FH_MAX 64
#define PATH_MAX_BYTES 1024
#define NAME_MAX_BYTES 1024
#define FLAVORS_MAX 64
#define NODES_MAX 16384		/* of a list: libnfs goes down a level, some 150
				   bytes of stack, for each */
#define FATTR_BYTES 84

struct walk {
	const unsigned char *p;
	size_t left, took;
	bool bad;
};

static void
skip(struct walk *w, size_t n)
{
	if (n > w->left) {
		w->bad = true;
		return;
	}
	w->p += n;
	w->left -= n;
	w->took += n;
}

static uint32_t
word(struct walk *w)
{
	const unsigned char *p = w->p;

	skip(w, 4);
	return w->bad ? 0 : (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
			    (uint32_t)p[2] << 8 | p[3];
}

static bool
follows(struct walk *w)
{
	uint32_t is = word(w);

	if (is > 1)
		w->bad = true;
	return !w->bad && is;
}

static void
opaque(struct walk *w, uint32_t max)
{
	uint32_t len = word(w);

	if (len > max)
		w->bad = true;
	else
		skip(w, (size_t)len + (-len & 3));
}

static void
attributes(struct walk *w)
{
	if (follows(w))
		skip(w, FATTR_BYTES);
}

/* ---- results ---- */

static void
mnt(struct walk *w)
{
	uint32_t flavors;

	if (word(w))
		return;
	opaque(w, FH_MAX);
	flavors = word(w);
	if (flavors > FLAVORS_MAX)
		w->bad = true;
	else
		skip(w, (size_t)flavors * 4);
}

static void
exports(struct walk *w)
{
	unsigned nr = 0;

	while (follows(w) && nr++ < NODES_MAX) {
		opaque(w, PATH_MAX_BYTES);
		while (follows(w) && nr++ < NODES_MAX)
			opaque(w, NAME_MAX_BYTES);
	}
	if (nr >= NODES_MAX)
		w->bad = true;
}

static void
listing(struct walk *w, bool plus)
{
	uint32_t status = word(w);
	unsigned nr = 0;

	attributes(w);
	if (status)
		return;
	skip(w, 8);			/* verifier */
	while (follows(w) && nr++ < NODES_MAX) {
		skip(w, 8);		/* fileid */
		opaque(w, NAME_MAX_BYTES);
		skip(w, 8);		/* cookie */
		if (!plus)
			continue;
		attributes(w);
		if (follows(w))
			opaque(w, FH_MAX);
	}
	if (nr >= NODES_MAX)
		w->bad = true;
	(void)follows(w);		/* eof */
}

static void
results(struct walk *w, uint32_t prog, uint32_t vers, uint32_t proc)
{
	if (proc == 0)
		return;
	if (prog == PORTMAP_PROG && vers == 2 && proc == 3)
		(void)word(w);
	else if (prog == PORTMAP_PROG && proc == 3)
		opaque(w, NAME_MAX_BYTES);
	else if (prog == MOUNT_PROG && proc == 1)
		mnt(w);
	else if (prog == MOUNT_PROG && proc == 5)
		exports(w);
	else if (prog == NFS_PROG && (proc == 16 || proc == 17))
		listing(w, proc == 17);
	else
		w->bad = true;
}

/* ---- the reply ---- */

enum { ACCEPTED, DENIED };
enum { SUCCESS, PROG_MISMATCH = 2, SYSTEM_ERR = 5 };

static void
accepted(struct walk *w, uint32_t prog, uint32_t vers, uint32_t proc)
{
	uint32_t stat;

	(void)word(w);			/* the verifier's flavor */
	opaque(w, VERF_MAX);
	stat = word(w);
	if (w->bad)
		return;
	if (stat == SUCCESS)
		results(w, prog, vers, proc);
	else if (stat == PROG_MISMATCH)
		skip(w, 8);
	else if (stat > SYSTEM_ERR)
		w->bad = true;
}

static void
denied(struct walk *w)
{
	uint32_t why = word(w);

	if (why > 1)
		w->bad = true;
	else
		skip(w, why == 0 ? 8 : 4);
}

size_t
screen_check(const unsigned char *record, size_t len, uint32_t prog,
	     uint32_t vers, uint32_t proc)
{
	struct walk w = { .p = record, .left = len };
	uint32_t is_reply, stat;

	skip(&w, 4);			/* the xid */
	is_reply = word(&w);
	stat = word(&w);
	if (w.bad || is_reply != 1)
		return 0;
	if (stat == ACCEPTED)
		accepted(&w, prog, vers, proc);
	else if (stat == DENIED)
		denied(&w);
	else
		return 0;
	return w.bad ? 0 : w.took;
}
