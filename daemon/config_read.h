/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_read.h - a configuration file while it is read: its sections, the line
 * of each key, the faults found so far
 */
#ifndef NFSWB_CONFIG_READ_H
#define NFSWB_CONFIG_READ_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/config.h"
#include "daemon/config_keys.h"

/* A section as it was met; index: of the mount or uid it fills in. */
struct section {
	enum { SECTION_NFSWBD, SECTION_MOUNT, SECTION_UID, SECTION_SKIP } kind;
	unsigned index, line;
	unsigned seen[CONFIG_KEYS_MAX];	/* line of each key; 0: not there */
};

struct reading {
	const char *path;
	FILE *file;
	unsigned line;
	struct config *config;
	struct section *section;	/* [0] is [nfswbd] */
	unsigned section_nr, current;
	FILE *faults;			/* a memory stream */
	unsigned fault_nr;
	bool no_memory;
};

/* --- config_read.c --- */
/* Takes the file apart, line by line, into r->config and r->section. */
void config_read(struct reading *);
void config_fault(struct reading *, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* More than that were found than are told. */
unsigned config_faults_untold(const struct reading *);
/* What the key of a section is a member of. */
void *config_base(struct config *, const struct section *, const struct key *);
/* The line in which the section has the key; 0: it has not. */
unsigned config_line(const struct section *, const char *key);

/* --- config_check.c --- */
/* The built-in value of each key of a scope that has one. */
void config_set_defaults(enum key_scope, void *base);
/* Defaults that depend on other keys or on the machine; NULL: there is no
   file. */
void config_settle(struct config *, const struct reading *);
/* What must hold between keys. */
void config_check(struct reading *);

#endif
