/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fakewbd.c - see fakewbd.h; one loop, a step at a time under the lock */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/fakewbd.h"

#define SESSION 4711
#define SECRET "0123456789abcde"

static void
fault(struct fake *k, const char *what)
{
	k->fault_nr++;
	printf("# fake daemon: %s\n", what);
}

void
fake_lock(struct fake *k)
{
	pthread_mutex_lock(&k->lock);
}

void
fake_unlock(struct fake *k)
{
	pthread_mutex_unlock(&k->lock);
	eventfd_write(k->kick_fd, 1);
}

void
fake_wait(struct fake *k)
{
	eventfd_write(k->kick_fd, 1);
	pthread_cond_wait(&k->changed, &k->lock);
}

struct fake_file *
fake_find(struct fake *k, const char *name)
{
	unsigned i;

	for (i = 0; i < FAKE_FILES; i++)
		if (!strcmp(k->file[i].name, name))
			return &k->file[i];
	return NULL;
}

/* ---- its files ---- */

static void
store(struct fake *k, struct fake_file *f, uint64_t offset, const void *data,
      size_t len)
{
	size_t end = offset + len;

	if (end > f->room) {
		f->data = realloc(f->data, end * 2);
		memset(f->data + f->room, 0, end * 2 - f->room);
		f->room = end * 2;
	}
	memcpy(f->data + offset, data, len);
	if (end > f->size)
		f->size = end;
	(void)k;
}

/* ---- its memory ---- */

static int
make_memfd(size_t bytes)
{
	int fd = memfd_create("fakewbd", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (ftruncate(fd, (off_t)bytes) < 0)
		abort();
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static void
map_memory(struct fake *k)
{
	struct nfswb_layout l;

	if (nfswb_layout(&l, k->data_bytes) < 0)
		abort();
	k->memory[0] = mmap(NULL, l.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    k->memory_fd[0], 0);
	k->memory[1] = mmap(NULL, k->data_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED, k->memory_fd[1], 0);
	shm_view_init(&k->shm, k->memory[0], k->memory[1], k->data_bytes);
	k->chunk = calloc(l.chunk_nr, sizeof *k->chunk);
}

static void
unmap_memory(struct fake *k)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (k->memory[i])
			munmap(k->memory[i], i ? k->data_bytes :
			       k->shm.layout.bytes);
		if (k->memory_fd[i] >= 0)
			close(k->memory_fd[i]);
		k->memory[i] = NULL;
		k->memory_fd[i] = -1;
	}
	free(k->chunk);
	k->chunk = NULL;
}

/* ---- its socket ---- */

static void
send_all(struct fake *k, const void *buf, size_t len, const int *fds)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(2 * sizeof(int))]; } c;
	struct iovec iov;
	struct msghdr m;
	size_t done = 0;
	ssize_t n;

	while (k->fd >= 0 && done < len) {
		memset(&m, 0, sizeof m);
		memset(&c, 0, sizeof c);
		iov.iov_base = (char *)buf + done;
		iov.iov_len = len - done;
		m.msg_iov = &iov;
		m.msg_iovlen = 1;
		if (fds && !done) {
			c.h.cmsg_level = SOL_SOCKET;
			c.h.cmsg_type = SCM_RIGHTS;
			c.h.cmsg_len = CMSG_LEN(2 * sizeof(int));
			memcpy(CMSG_DATA(&c.h), fds, 2 * sizeof(int));
			m.msg_control = &c;
			m.msg_controllen = sizeof c;
		}
		n = sendmsg(k->fd, &m, MSG_NOSIGNAL);
		if (n < 0)
			return;
		done += (size_t)n;
	}
}

static void
bell(struct fake *k)
{
	static const unsigned char empty[4] = { 0x80, 0, 0, 0 };

	if (k->fd >= 0)
		(void)send(k->fd, empty, 4, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
answer_fds(struct fake *k, nfswb_reply *reply, const int *fds)
{
	size_t size = xdr_sizeof((xdrproc_t)xdr_nfswb_reply, reply);
	unsigned char *p = malloc(size + 4);
	XDR x;

	record_mark(p, size);
	xdrmem_create(&x, (char *)p + 4, (u_int)size, XDR_ENCODE);
	if (!xdr_nfswb_reply(&x, reply))
		fault(k, "its own reply makes no sense");
	send_all(k, p, size + 4, fds);
	free(p);
}

static void
refuse(struct fake *k, uint64_t id, int err, const char *text)
{
	nfswb_reply r = { .id = id };

	r.answer.error = err;
	r.answer.nfswb_answer_u.text = (char *)text;
	answer_fds(k, &r, NULL);
}

static void
hang_up(struct fake *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	k->resumed = false;
	k->owes_bell = false;
	record_reader_reset(&k->in);
}

static void
listen_again(struct fake *k)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	strcpy(a.sun_path, k->path);
	k->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink(k->path);
	if (bind(k->listen_fd, (void *)&a, sizeof a) < 0 ||
	    listen(k->listen_fd, 8) < 0)
		abort();
}

/* As SIGKILL would: nothing of its own stays but files and runtime table. */
static void
die(struct fake *k)
{
	k->died_nr++;
	hang_up(k);
	if (k->listen_fd >= 0)
		close(k->listen_fd);
	k->listen_fd = -1;
	unmap_memory(k);
	while (k->muted_nr)
		xdr_free((xdrproc_t)xdr_nfswb_call,
			 (char *)&k->muted[--k->muted_nr]);
	k->waits = false;
}

/* ---- the ring ---- */

static void
take(struct fake *k, const struct nfswb_ring_entry *e)
{
	struct fake_file *f = &k->file[e->file % FAKE_FILES];
	uint32_t nr = (uint32_t)(e->place / NFSWB_CHUNK_BYTES);
	uint32_t in = (uint32_t)(e->place % NFSWB_CHUNK_BYTES);
	uint32_t fill = nfswb_mark_fill(atomic_load(&k->shm.mark[nr]));

	if (e->file >= FAKE_FILES || !f->open)
		fault(k, "an entry for a file that is not open");
	if (in + e->length > fill || in + e->length > NFSWB_CHUNK_BYTES)
		fault(k, "an entry beyond what was claimed");
	if (k->resumed && (!k->chunk[nr].granted ||
			   in + e->length > k->chunk[nr].limit))
		fault(k, "an entry beyond what was granted");
	store(k, f, e->kind == NFSWB_RING_APPEND ? f->size : e->offset,
	      k->shm.data + e->place, e->length);
	if (e->kind == NFSWB_RING_WRITE && f->oflags & O_APPEND)
		f->reserved_left -= e->length;
	k->chunk[nr].posted += e->length;
	k->append_nr += e->kind == NFSWB_RING_APPEND;
	if (k->entry_nr < FAKE_PLACES)
		k->place[k->entry_nr] = e->place;
	k->entry_nr++;
}

static void
drain(struct fake *k)
{
	uint64_t head = atomic_load(&k->shm.control->head);

	if (head == k->tail)
		return;
	if (head - k->tail > k->shm.layout.ring_nr) {
		fault(k, "a head out of range");
		return;
	}
	while (k->tail != head)
		take(k, ring_slot(&k->shm, k->tail++));
	atomic_store(&k->shm.control->tail, k->tail);
	if (atomic_exchange(&k->shm.control->c_waits, 0)) {
		bell(k);
		k->owes_bell |= atomic_load(&k->shm.control->want) != 0;
	}
}

/* ---- grants ---- */

/* Closed or full, and all of it posted: free. */
static void
recover(struct fake *k)
{
	struct fake_chunk *c;
	uint64_t mark;
	uint32_t i, fill;

	for (i = 0; i < k->shm.layout.chunk_nr; i++) {
		c = &k->chunk[i];
		mark = atomic_load(&k->shm.mark[i]);
		fill = nfswb_mark_fill(mark);
		if (c->granted && c->posted == fill &&
		    (mark & NFSWB_MARK_CLOSED || fill == NFSWB_CHUNK_BYTES))
			c->granted = false;
	}
}

static bool
raise_limit(struct fake *k, uint32_t nr)
{
	uint32_t bytes = k->grant_bytes;
	struct fake_chunk *c;

	if (nr >= k->shm.layout.chunk_nr)
		return false;
	c = &k->chunk[nr];
	if (!c->granted || c->limit == NFSWB_CHUNK_BYTES)
		return false;
	if (atomic_load(&k->shm.mark[nr]) & NFSWB_MARK_CLOSED)
		return false;
	if (bytes > NFSWB_CHUNK_BYTES - c->limit)
		bytes = NFSWB_CHUNK_BYTES - c->limit;
	c->limit += bytes;
	atomic_fetch_add(&k->shm.mark[nr], bytes * NFSWB_MARK_LIMIT_1);
	return true;
}

static bool
grant_free(struct fake *k)
{
	uint32_t i;

	for (i = 0; i < k->shm.layout.chunk_nr; i++) {
		if (k->chunk[i].granted)
			continue;
		if (!(atomic_load(&k->shm.mark[i]) & NFSWB_MARK_CLOSED) &&
		    nfswb_mark_fill(k->shm.mark[i]) < NFSWB_CHUNK_BYTES)
			fault(k, "a chunk open that was never granted");
		k->chunk[i] = (struct fake_chunk){
			.granted = true, .limit = k->grant_bytes };
		atomic_store(&k->shm.mark[i],
			     k->grant_bytes * NFSWB_MARK_LIMIT_1);
		ring_grant(&k->shm, i);
		return true;
	}
	return false;
}

/* No chunk is free: the first with room left is taken back. */
static void
take_back(struct fake *k)
{
	uint32_t i;

	for (i = 0; i < k->shm.layout.chunk_nr; i++)
		if (!(atomic_fetch_or(&k->shm.mark[i], NFSWB_MARK_CLOSED) &
		      NFSWB_MARK_CLOSED))
			return;
}

static bool
grant(struct fake *k)
{
	uint32_t i;

	for (i = 0; i <= k->shm.layout.chunk_nr; i++) {
		recover(k);
		if (raise_limit(k, atomic_load(&k->shm.control->want_chunk)) ||
		    grant_free(k))
			return true;
		take_back(k);
	}
	return false;
}

static void
serve(struct fake *k)
{
	if (atomic_exchange(&k->shm.control->c_waits, 0))
		k->owes_bell = true;
	if (!k->owes_bell)
		return;
	if (atomic_load(&k->shm.control->want)) {
		k->waits = true;
		if (k->hold_grants || !grant(k))
			return;
	}
	k->waits = false;
	k->owes_bell = false;
	bell(k);
}

/* ---- calls ---- */

static bool
dies_now(struct fake *k)
{
	if (!k->die_in)
		return false;
	/* once at least, however fast the test is */
	if (!k->died_nr && k->entry_nr > 100)
		return true;
	return rand_r(&k->seed) % k->die_in == 0;
}

static struct fake_file *
file_of(struct fake *k, unsigned nr)
{
	return nr < FAKE_FILES && k->file[nr].open ? &k->file[nr] : NULL;
}

static void
cut(struct fake_file *f, uint64_t size)
{
	if (size >= f->size)
		return;
	memset(f->data + size, 0, f->size - size);
	f->size = size;
}

static void
do_open(struct fake *k, const nfswb_open_args *a, nfswb_reply *r)
{
	nfswb_open_res *res = &r->answer.nfswb_answer_u.res.nfswb_res_u.open;
	struct fake_file *f = fake_find(k, a->target);
	unsigned i;

	for (i = 0; !f && i < FAKE_FILES; i++)
		if (!k->file[i].name[0])
			f = &k->file[i];
	if (!strcmp(a->target, "/none") || !f) {
		r->answer.error = ENOENT;
		r->answer.nfswb_answer_u.text = "/none: no such file there";
		return;
	}
	if (!strcmp(a->target, "/odd")) {
		r->answer.error = EPROTO;
		r->answer.nfswb_answer_u.text = "/odd: an odd server";
		return;
	}
	snprintf(f->name, sizeof f->name, "%s", a->target);
	f->open = true;
	f->oflags = a->oflags;
	if (a->oflags & O_TRUNC)
		cut(f, 0);
	res->file = (u_int)(f - k->file);
	memset(res->token, (int)res->file, sizeof res->token);
	res->max_size = k->max_size;
	atomic_store(&k->shm.shared[res->file], k->shared);
}

static uint64_t
left_of(const struct fake_file *f, const nfswb_range_args *a)
{
	uint64_t n = f && a->offset < f->size ? f->size - a->offset : 0;

	return n < a->length ? n : a->length;
}

/* A chunk that nobody was granted, from the end; it may be granted later. */
static uint32_t
place_for(struct fake *k, uint32_t below)
{
	while (below-- > 0)
		if (!k->chunk[below].granted)
			return below;
	return NFSWB_NO_CHUNK;
}

static void
use_anew(struct fake *k, const nfswb_piece *p)
{
	atomic_store(&k->shm.mark[p->place / NFSWB_CHUNK_BYTES],
		     nfswb_mark_read(++k->read_mark));
	memset(k->shm.data + p->place, 0xff, p->length);
}

/* Four pieces at most, what is less than a chunk behind zeros that are said. */
static void
do_read_place(struct fake *k, const nfswb_range_args *a, nfswb_reply *r)
{
	static nfswb_piece piece[4];
	nfswb_read_place_res *res =
		&r->answer.nfswb_answer_u.res.nfswb_res_u.read_place;
	struct fake_file *f = file_of(k, a->file);
	uint64_t n = left_of(f, a), done = 0;
	uint32_t nr = k->shm.layout.chunk_nr;
	unsigned i = 0;

	k->place_nr++;
	while (done < n && i < 4) {
		nfswb_piece *p = &piece[i];
		unsigned char *from = f->data + a->offset + done;

		p->length = n - done < NFSWB_CHUNK_BYTES ?
			    (u_int)(n - done) : NFSWB_CHUNK_BYTES;
		p->place = NFSWB_PLACE_ZEROS;
		if (*from || memcmp(from, from + 1, p->length - 1)) {
			nr = place_for(k, nr);
			if (nr == NFSWB_NO_CHUNK)
				break;
			p->place = (uint64_t)nr * NFSWB_CHUNK_BYTES;
			p->mark = nfswb_mark_read(++k->read_mark);
			atomic_store(&k->shm.mark[nr], p->mark);
			memcpy(k->shm.data + p->place, from, p->length);
		}
		done += p->length;
		i++;
	}
	res->pieces.pieces_val = piece;
	res->pieces.pieces_len = i;
	res->eof = f && a->offset + done >= f->size;
	if (done < n && !i) {
		if (n > NFSWB_DATA_MAX)
			n = NFSWB_DATA_MAX;
		res->data.data_val = (char *)f->data + a->offset;
		res->data.data_len = (u_int)n;
		res->eof = a->offset + n >= f->size;
	}
	if (k->odd_place && i)
		piece[0].place = k->odd_place;
	if (k->spoil_nr && i) {
		k->spoil_nr--;
		use_anew(k, &piece[k->spoil_second && i > 1]);
	}
}

static void
do_read(struct fake *k, const nfswb_range_args *a, nfswb_reply *r)
{
	nfswb_read_res *res = &r->answer.nfswb_answer_u.res.nfswb_res_u.read;
	struct fake_file *f = file_of(k, a->file);
	uint64_t n = left_of(f, a);

	k->inline_nr++;
	res->data.data_val = n ? (char *)f->data + a->offset : NULL;
	res->data.data_len = (u_int)n;
	res->eof = f && a->offset + n >= f->size;
}

static void
do_reserve(struct fake *k, const nfswb_call *c, nfswb_reply *r)
{
	const nfswb_range_args *a = &c->args.nfswb_args_u.reserve;
	struct fake_file *f = file_of(k, a->file);

	k->reserve_nr++;
	if (c->id != k->reserve_id) {
		k->reserve_id = c->id;
		k->reserve_start = f->size;
		if (f->reserved_left)
			fault(k, "two reserved appends at once");
		f->reserved_left = a->length;
		store(k, f, f->size + a->length - 1, "", 1);
	}
	r->answer.nfswb_answer_u.res.nfswb_res_u.reserved = k->reserve_start;
}

static void
do_readdir(const nfswb_readdir_args *a, nfswb_reply *r)
{
	static nfswb_name names[5] = {
		{ 1, S_IFDIR, 10, "." }, { 2, S_IFDIR, 20, ".." },
		{ 3, S_IFREG, 30, "a" }, { 4, S_IFLNK, 40, "b" },
		{ 5, 0, 50, "c" },
	};
	nfswb_readdir_res *res =
		&r->answer.nfswb_answer_u.res.nfswb_res_u.readdir;
	unsigned at = (unsigned)(a->cookie / 10);

	res->verifier = 99;
	res->names.names_val = names + at;
	res->names.names_len = at + 2 < 5 ? 2 : 5 - at;
	res->eof = at + 2 >= 5;
	if (a->cookie && a->verifier != 99) {
		r->answer.error = EINVAL;
		r->answer.nfswb_answer_u.text = "not the verifier it gave";
	}
}

static void
do_fstat(struct fake *k, unsigned nr, nfswb_reply *r)
{
	nfswb_attr *a = &r->answer.nfswb_answer_u.res.nfswb_res_u.fstat;
	struct fake_file *f = file_of(k, nr);

	a->type = S_IFREG;
	a->mode = 0644;
	a->size = f ? f->size : 0;
	a->mtime_nsec = -1;
}

static void
act(struct fake *k, nfswb_call *c)
{
	nfswb_reply r = { .id = c->id };
	nfswb_res *res = &r.answer.nfswb_answer_u.res;
	struct fake_file *f;

	res->type = c->args.type;
	switch (c->args.type) {
	case NFSWB_OPEN:
		do_open(k, &c->args.nfswb_args_u.open, &r);
		break;
	case NFSWB_CLOSE:
		k->close_nr++;
		f = file_of(k, c->args.nfswb_args_u.close_file);
		if (f)
			f->open = false;
		else if (!c->flags)
			fault(k, "CLOSE of a file that is not open");
		break;
	case NFSWB_FSYNC:
		k->fsync_nr++;
		r.answer.error = k->fsync_error;
		if (k->fsync_error)
			r.answer.nfswb_answer_u.text = "fsync: refused";
		break;
	case NFSWB_READ:
		do_read(k, &c->args.nfswb_args_u.read, &r);
		break;
	case NFSWB_READ_PLACE:
		do_read_place(k, &c->args.nfswb_args_u.read_place, &r);
		break;
	case NFSWB_TRUNCATE:
		f = file_of(k, c->args.nfswb_args_u.truncate.file);
		if (f)
			cut(f, c->args.nfswb_args_u.truncate.length);
		break;
	case NFSWB_FSTAT:
		do_fstat(k, c->args.nfswb_args_u.fstat_file, &r);
		break;
	case NFSWB_RESERVE:
		do_reserve(k, c, &r);
		break;
	case NFSWB_READDIR:
		do_readdir(&c->args.nfswb_args_u.readdir, &r);
		break;
	case NFSWB_STATISTICS:
		res->nfswb_res_u.statistics = "{}";
		break;
	case NFSWB_CONTROL:
		res->nfswb_res_u.control = c->args.nfswb_args_u.control;
		break;
	case NFSWB_FAILED_ROOM:
		r.answer.error = k->failed_room;
		if (r.answer.error)
			r.answer.nfswb_answer_u.text = "the disk is full";
		break;
	default:
		break;
	}
	if (dies_now(k))
		die(k);
	else
		answer_fds(k, &r, NULL);
}

static void
hello(struct fake *k, const nfswb_call *c)
{
	nfswb_reply r = { .id = c->id };
	nfswb_hello_res *h = &r.answer.nfswb_answer_u.res.nfswb_res_u.hello;
	struct nfswb_layout l;

	if (k->nonsense) {
		send_all(k, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, NULL);
		hang_up(k);
		return;
	}
	unmap_memory(k);
	if (nfswb_layout(&l, k->data_bytes) < 0)
		abort();
	k->memory_fd[0] = make_memfd(l.bytes);
	k->memory_fd[1] = make_memfd(k->data_bytes);
	map_memory(k);
	shm_view_format(&k->shm, SESSION);
	k->tail = 0;
	k->resumed = true;
	r.answer.nfswb_answer_u.res.type = NFSWB_HELLO;
	h->session = SESSION;
	h->data_bytes = k->data_bytes;
	memcpy(h->secret, SECRET, sizeof h->secret);
	answer_fds(k, &r, k->memory_fd);
}

/* Every file that is open here must be told of. */
static void
check_files(struct fake *k, const nfswb_resume_args *a)
{
	unsigned i, j;
	bool told;

	for (i = 0; i < FAKE_FILES; i++) {
		told = !k->file[i].open;
		for (j = 0; j < a->files.files_len; j++)
			told |= a->files.files_val[j].file == i;
		/* its OPEN was never answered: asked again */
		if (!told)
			k->file[i].open = false;
	}
}

static void
resume(struct fake *k, const nfswb_call *c)
{
	const nfswb_resume_args *a = &c->args.nfswb_args_u.resume;
	nfswb_reply r = { .id = c->id };
	uint32_t i;

	k->resume_nr++;
	if (k->refuse || a->session != SESSION ||
	    memcmp(a->secret, SECRET, sizeof a->secret)) {
		refuse(k, c->id, ESTALE, "who are you?");
		return;
	}
	if (k->memory_fd[0] < 0 || k->memory_fd[1] < 0) {
		fault(k, "RESUME without memory");
		return;
	}
	map_memory(k);
	for (i = 0; i < k->shm.layout.chunk_nr; i++)
		if (!(atomic_load(&k->shm.mark[i]) & NFSWB_MARK_CLOSED))
			fault(k, "RESUME with a mark open");
	check_files(k, a);
	k->tail = atomic_load(&k->shm.control->tail);
	drain(k);
	atomic_store(&k->shm.control->g_head, 0);
	atomic_store(&k->shm.control->g_tail, 0);
	memset(k->chunk, 0, k->shm.layout.chunk_nr * sizeof *k->chunk);
	k->resumed = true;
	r.answer.nfswb_answer_u.res.type = NFSWB_RESUME;
	answer_fds(k, &r, NULL);
}

static void
message(struct fake *k, unsigned char *data, size_t len)
{
	nfswb_call c;
	XDR x;
	bool_t ok;

	memset(&c, 0, sizeof c);
	xdrmem_create(&x, (char *)data, (u_int)len, XDR_DECODE);
	ok = xdr_nfswb_call(&x, &c);
	if (!ok)
		fault(k, "a call that makes no sense");
	if (ok && c.args.type == NFSWB_HELLO) {
		hello(k, &c);
	} else if (ok && c.args.type == NFSWB_RESUME) {
		resume(k, &c);
	} else if (ok && k->memory[0]) {
		if (c.flags & NFSWB_AGAIN) {
			k->again_nr++;
			k->again_id = c.id;
		}
		drain(k);
		if (k->mute == c.args.type) {
			if (k->muted_nr == FAKE_MUTED)
				abort();
			k->muted_id = c.id;
			k->muted[k->muted_nr++] = c;
			return;		/* c is kept */
		}
		act(k, &c);
	}
	xdr_free((xdrproc_t)xdr_nfswb_call, (char *)&c);
}

/* ---- its loop ---- */

static ssize_t
receive(struct fake *k, void *buf, size_t len)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(2 * sizeof(int))]; } c;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &c, .msg_controllen = sizeof c };
	ssize_t n = recvmsg(k->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h;

	if (n < 0 && errno == EAGAIN)
		return -1;
	if (n <= 0)
		return 0;
	for (h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		unmap_memory(k);
		memcpy(k->memory_fd, CMSG_DATA(h), sizeof k->memory_fd);
	}
	return n;
}

static void
read_socket(struct fake *k)
{
	unsigned char buf[65536], *p = buf;
	ssize_t n = receive(k, buf, sizeof buf);
	size_t used;
	int rc;

	if (n == 0) {
		if (k->memory[0] && k->resumed)
			drain(k);
		hang_up(k);
	}
	while (n > 0) {
		rc = record_feed(&k->in, p, (size_t)n, &used);
		p += used;
		n -= (ssize_t)used;
		if (rc == 1 && k->in.length == 0)
			k->bell_nr++;
		else if (rc == 1)
			message(k, k->in.data, k->in.length);
		else if (rc < 0)
			n = 0;
		if (k->fd < 0)
			return;
	}
}

/* Nothing is left to do: says that it sleeps, and looks once more. */
static bool
goes_to_sleep(struct fake *k)
{
	struct nfswb_control *c = k->shm.control;

	if (!k->memory[0] || !k->resumed)
		return true;
	atomic_store(&c->d_sleeps, NFSWB_RING);
	if (atomic_load(&c->head) == k->tail && !atomic_load(&c->c_waits))
		return true;
	atomic_store(&c->d_sleeps, NFSWB_AWAKE);
	return false;
}

static void
work(struct fake *k)
{
	nfswb_call late;

	if (k->listen_fd < 0)
		listen_again(k);
	while (k->muted_nr && (!k->mute || k->answer_nr)) {
		late = k->muted[0];
		memmove(k->muted, k->muted + 1,
			--k->muted_nr * sizeof late);
		k->answer_nr -= k->answer_nr != 0;
		act(k, &late);
		xdr_free((xdrproc_t)xdr_nfswb_call, (char *)&late);
	}
	if (k->memory[0] && k->resumed) {
		drain(k);
		serve(k);
	}
}

static void
poll_once(struct fake *k, bool sleep)
{
	struct pollfd p[3] = {
		{ .fd = k->kick_fd, .events = POLLIN },
		{ .fd = k->fd < 0 ? k->listen_fd : -1, .events = POLLIN },
		{ .fd = k->fd, .events = POLLIN },
	};
	eventfd_t n;

	if (k->paused || k->away)
		p[1].fd = p[2].fd = -1;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
	poll(p, 3, sleep ? -1 : 0);
	pthread_mutex_lock(&k->lock);
	if (p[0].revents)
		eventfd_read(k->kick_fd, &n);
	if (k->paused || k->away)
		return;
	if (p[1].fd >= 0 && p[1].revents)
		k->fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	else if (p[2].fd >= 0 && p[2].revents)
		read_socket(k);
}

static void
step(struct fake *k)
{
	bool sleep = true;

	if (k->away) {
		if (k->listen_fd >= 0)
			die(k);
	} else if (k->paused) {
		if (k->memory[0])
			atomic_store(&k->shm.control->d_sleeps, k->awake ?
				     NFSWB_AWAKE : NFSWB_RING);
	} else {
		if (k->resumed && k->memory[0] && dies_now(k))
			die(k);
		work(k);
		if (k->resumed && k->memory[0] && dies_now(k))
			die(k);
		sleep = k->listen_fd >= 0 && goes_to_sleep(k);
	}
	poll_once(k, sleep);
}

static void *
fake_main(void *arg)
{
	struct fake *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->stop)
		step(k);
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

struct fake *
fake_start(uint64_t data_bytes)
{
	struct fake *k = calloc(1, sizeof *k);

	k->data_bytes = data_bytes;
	k->grant_bytes = NFSWB_CHUNK_BYTES;
	k->listen_fd = k->fd = k->memory_fd[0] = k->memory_fd[1] = -1;
	strcpy(k->dir, "/tmp/nfswb-lib-XXXXXX");
	if (!mkdtemp(k->dir))
		abort();
	snprintf(k->path, sizeof k->path, "%s/nfswbd.sock", k->dir);
	record_reader_init(&k->in, NFSWB_RECORD_MAX);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	k->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	listen_again(k);
	if (pthread_create(&k->thread, NULL, fake_main, k))
		abort();
	return k;
}

unsigned
fake_end(struct fake *k)
{
	unsigned faults, i;

	fake_lock(k);
	k->stop = true;
	fake_unlock(k);
	pthread_join(k->thread, NULL);
	die(k);
	faults = k->fault_nr;
	for (i = 0; i < FAKE_FILES; i++)
		free(k->file[i].data);
	unlink(k->path);
	rmdir(k->dir);
	close(k->kick_fd);
	record_reader_free(&k->in);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	free(k);
	return faults;
}
