/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * image.h - a file as plain memory says it must be, and what was promised of it
 *
 *	data, size	what a read must see
 *	promised	what an fsync or close that answered 0 said is on stable
 *			storage; bytes that were written since may be anything
 *	lost		bytes given up after a reported error: nobody promises
 *			that they are stable, until they are written anew
 *	vague		the same until a read has told what they are
 *	errs		each error the server gave for it
 */
#ifndef NFSWB_TESTS_MODEL_IMAGE_H
#define NFSWB_TESTS_MODEL_IMAGE_H

#include "tests/model/world.h"

#define IMAGE_MAX 49152u
#define IMAGE_ERRS 4096

struct image {
	struct image *next;
	struct fh fh;
	bool linked;
	uint32_t size;
	bool vague_size, lost_size;
	bool promise;
	uint32_t promised_size;
	int errs[IMAGE_ERRS];
	unsigned err_nr;
	unsigned seen_nr;	/* of them when a call that told of one began */
	unsigned sure_nr;	/* this many, if not 0, have been failures */
	uint64_t sure_usec;	/* when the last of those was */
	unsigned char data[IMAGE_MAX], promised[IMAGE_MAX];
	bool over[IMAGE_MAX], lost[IMAGE_MAX], vague[IMAGE_MAX];
};

/* What it was at some moment. */
struct state {
	uint32_t size;
	unsigned char data[IMAGE_MAX];
};

void image_state(const struct image *, struct state *);
/* A change begins: what is promised of these bytes no longer binds. */
void image_touch(struct image *, uint32_t offset, uint32_t end);
void image_touch_cut(struct image *, uint32_t size);
/* It is done. */
void image_write(struct image *, uint32_t offset, const void *, uint32_t len);
void image_cut(struct image *, uint32_t size);
void image_give_up(struct image *, uint64_t offset, uint64_t length);

/*
 * fsync or close answered 0: stable storage is a mixture of the states the file
 * had since the call began; that is remembered.  false: it is not, and said so.
 */
bool image_promise(struct image *, const struct state *, unsigned nr,
		   const void *stable, int64_t size);
/* Does what was promised before still hold? */
bool image_holds(const struct image *, const void *stable, int64_t size);
/* Is this what a read of the range may see?  Vague bytes are learnt. */
bool image_read_is(struct image *, const struct state *, unsigned nr,
		   uint32_t offset, uint32_t len, const void *data,
		   int64_t got);
bool image_err_since(const struct image *, unsigned nr, int err);

#endif
