/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_keys.h - the configuration's keys as data
 *
 * Each key is one entry: name, where it may stand, type, range, default and a
 * sentence for its reader.  Parsing, `nfswb config`, the checks and the tests
 * all go by this table.
 */
#ifndef NFSWB_CONFIG_KEYS_H
#define NFSWB_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_scope {
	KEY_GLOBAL,		/* [nfswbd] */
	KEY_SERVER,		/* [nfswbd], and overridden in [mount NAME] */
	KEY_MOUNT,		/* [mount NAME] */
	KEY_UID,		/* [nfswbd], and overridden in [uid NAME] */
};

enum key_type { KEY_PATH, KEY_GROUP, KEY_TARGET, KEY_SIZE, KEY_NUMBER,
		KEY_OCTAL, KEY_CHOICE, KEY_USERS, KEY_GROUPS, KEY_ACCOUNT };

struct key_choice {
	const char *name;
	unsigned value;
	bool unsafe;		/* brings back known bad behaviour */
};

struct key {
	const char *name;
	enum key_scope scope;
	enum key_type type;
	size_t offset, width;	/* in struct config, config_server,
				   config_mount or config_limits, by scope */
	uint64_t min, max;
	bool or_zero;		/* 0 is allowed too, and means "not set" */
	const struct key_choice *choice;	/* up to one without a name; of a number:
					   words that stand for values */
	const char *fallback;	/* the default as in a file; NULL: worked out,
				   or none */
	const char *sentence;
};

extern const struct key config_keys[];
extern const unsigned config_key_nr;
#define CONFIG_KEYS_MAX 64

/* NULL: there is no such key. */
const struct key *key_find(const char *name);
unsigned key_index(const struct key *);

/* The name of the choice that base holds and that is unsafe; NULL: none. */
const char *key_unsafe(const struct key *, const void *base);

/* Reads text into base (which scope says what it is).  0, -ENOMEM, or -EINVAL
   and why (what is wrong, and what would be right). */
int key_set(const struct key *, void *base, const char *text, char *why,
	    size_t why_size);
/* As in a file; "" where a text is not set. */
void key_format(const struct key *, const void *base, char *out, size_t size);
/* Copies a number or choice from one base to another. */
void key_copy(const struct key *, void *to, const void *from);

#endif
