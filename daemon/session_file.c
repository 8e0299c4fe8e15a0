/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session_file.c - a session's open files, by number
 *
 *	open -> shut (its CLOSE is under way) -> free
 *
 * The number of a file that is being closed is not given out again before the
 * close was answered: until then the next instance must know what it means.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/session_impl.h"

struct session_file *
session_file(const struct session *s, uint32_t number)
{
	struct session_file *sf;

	sf = number < s->file_room ? s->file[number] : NULL;
	return sf && sf->handle ? sf : NULL;
}

static int
make_room(struct session *s, uint32_t number)
{
	uint32_t room = s->file_room ? s->file_room : 8;
	struct session_file **file;

	if (number >= NFSWB_FILES_MAX)
		return -EMFILE;
	while (room <= number)
		room *= 2;
	if (room == s->file_room)
		return 0;
	file = realloc(s->file, room * sizeof *file);
	if (!file)
		return -ENOMEM;
	memset(file + s->file_room, 0,
	       (room - s->file_room) * sizeof *file);
	s->file = file;
	s->file_room = room;
	return 0;
}

static uint32_t
lowest_free(struct session *s)
{
	while (s->file_free < s->file_room && s->file[s->file_free])
		s->file_free++;
	return s->file_free;
}

struct session_file *
session_file_new(struct session *s, uint32_t number, struct wb_file *file,
		 int oflags, int *err)
{
	struct session_file *sf;

	if (number == UINT32_MAX)
		number = lowest_free(s);
	*err = make_room(s, number);
	if (!*err && s->file[number])
		*err = -EEXIST;
	if (*err)
		return NULL;
	*err = -ENOMEM;
	sf = calloc(1, sizeof *sf);
	if (!sf)
		return NULL;
	/* Where inline data is appended api_write.c decides. */
	sf->handle = handle_open(file, s->cred,
				 s->memory.control_fd < 0 ?
				 oflags & ~O_APPEND : oflags);
	if (!sf->handle) {
		free(sf);
		return NULL;
	}
	if (s->slab && (oflags & O_ACCMODE) != O_RDONLY)
		slab_expect(s->slab, sf->handle);
	sf->session = s;
	sf->number = number;
	sf->oflags = oflags;
	sf->file = file_ref(file);
	s->file[number] = sf;
	s->file_nr++;
	s->user->file_nr++;
	*err = opens_add(sf);
	if (!*err)
		return sf;
	handle_close(session_file_shut(sf), session_now(s), NULL, NULL);
	session_file_free(sf);
	return NULL;
}

struct wb_handle *
session_file_shut(struct session_file *sf)
{
	struct wb_handle *h = sf->handle;

	opens_remove(sf);
	sf->handle = NULL;
	return h;
}

void
session_file_free(struct session_file *sf)
{
	struct session *s = sf->session;

	if (sf->record && s->owner->runtime)
		runtime_closed(s->owner->runtime, s->record, sf->record);
	file_put(sf->file);
	s->file[sf->number] = NULL;
	s->file_nr--;
	s->user->file_nr--;
	if (sf->number < s->file_free)
		s->file_free = sf->number;
	free(sf);
}
