/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config_ids.h - users and groups in the configuration, by name or by number
 *
 * Looked up while the file is read, so that nothing has to be asked later.
 */
#ifndef NFSWB_CONFIG_IDS_H
#define NFSWB_CONFIG_IDS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"

enum ids_kind { IDS_USERS, IDS_GROUPS };

/* One name or number; 0 or -ENOENT. */
int ids_find(enum ids_kind, const char *name, uint32_t *id);
/* A list, by blanks or commas.  0, -ENOMEM, or -EINVAL and why. */
int ids_parse(enum ids_kind, const char *text, struct config_ids *, char *why,
	      size_t why_size);
bool ids_has(const struct config_ids *, uint32_t id);
void ids_clear(struct config_ids *);
/* NAME, UID:GID, or "no".  0, or -EINVAL and why. */
int account_parse(const char *text, struct config_account *, char *why,
		  size_t why_size);
void account_format(const struct config_account *, char *out, size_t size);

#endif
