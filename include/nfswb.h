/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfswb.h - write to NFS through the writeback daemon nfswbd
 *
 * How to use it:
 *
 *	struct nfswb *wb = nfswb_connect(NULL, 0);
 *	struct nfswb_file *f = nfswb_open(wb, "nfs://server/export/file",
 *					  O_WRONLY | O_CREAT, 0644);
 *	nfswb_pwrite(f, buf, len, 0);	// accepted: survives your exit
 *	nfswb_fsync(f);			// 0: on stable storage
 *	nfswb_close(f);			// flushes, commits, reports, frees
 *	nfswb_disconnect(wb);
 *
 * Ownership.  What nfswb_connect, nfswb_open and nfswb_opendir return belongs
 * to the caller until nfswb_disconnect, nfswb_close and nfswb_closedir, which
 * always free, also when they report an error.  Close all files and
 * directories before the connection they belong to.  Buffers handed to a call
 * are the caller's again when it returns.  Strings that a comment says "the
 * caller frees" end with free(3).
 *
 * Errors.  Calls answer as POSIX's of the same name: -1 (or NULL) and errno.
 * nfswb_strerror() says the calling thread's last failure in words.  A write
 * that was accepted can still fail at the server; then every open handle of
 * that file learns it exactly once, at its next nfswb_fsync or nfswb_close,
 * with the server's own reason (as the kernel's errseq_t does it).  The data
 * stays and nfswb_fsync tries it again: nfswb_fsync returns 0 only when every
 * byte accepted before it is on stable storage.
 *
 * Threads.  All calls may be made from several threads at once, also on one
 * connection and one file, except that nothing may run on an object while it
 * is being closed or disconnected.  The library starts one thread per process
 * (all signals blocked), which watches for the daemon's restart; see
 * NFSWB_NO_THREAD.
 *
 * Signals, fork.  The library raises no signal, never exits, prints nothing.
 * A handled signal does not end a call unless NFSWB_INTR was given.  After
 * fork() the child's calls on an inherited connection fail with ESTALE; the
 * parent is not disturbed.
 *
 * Terms are RFC 1813's (NFSv3) and the Linux kernel's vm.dirty_*.
 */
#ifndef NFSWB_H
#define NFSWB_H

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nfswb;			/* a connection to the daemon: one session */
struct nfswb_file;		/* an open file */
struct nfswb_dir;		/* an open directory */

/* nfswb_connect flags */
#define NFSWB_INTR	0x1u	/* a handled signal ends a waiting call: EINTR */
#define NFSWB_NO_THREAD	0x2u	/* start no watching thread: the daemon's
				   restart is then seen by the next call only,
				   and the caller must make one for its data
				   to survive that restart */

/* nfswb_setattr: which members of struct stat to set */
#define NFSWB_SET_MODE	0x01u
#define NFSWB_SET_UID	0x02u
#define NFSWB_SET_GID	0x04u
#define NFSWB_SET_SIZE	0x08u
#define NFSWB_SET_ATIME	0x10u
#define NFSWB_SET_MTIME	0x20u

/*
 * Connects to the daemon.  socket_path NULL: the first that exists of
 * $NFSWB_SOCKET, $XDG_RUNTIME_DIR/nfswbd.sock, /run/nfswbd/nfswbd.sock.
 * Errors: ENOENT or ECONNREFUSED (no daemon there), EPROTO (what listens there
 * is not nfswbd), EACCES, ENOMEM, EMFILE.
 */
struct nfswb *nfswb_connect(const char *socket_path, unsigned flags);

/* Ends the session.  Does not wait: the daemon goes on writing back. */
void nfswb_disconnect(struct nfswb *);

/*
 * The most that any one later call may wait, in milliseconds; -1: no limit,
 * which is the default.  A call that runs out of it fails with ETIMEDOUT; a
 * write returns the bytes that it had posted, if any.
 */
int nfswb_set_timeout(struct nfswb *, int msec);

/*
 * Opens a file.  target is "nfs://server[:port]/export/path[?nfsport=N&
 * mountport=N]" or "NAME:/path" for a mount that nfswbd's configuration names.
 * oflags: O_RDONLY, O_WRONLY or O_RDWR with O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
 * O_SYNC, O_DSYNC.  Appends through one daemon are atomic: every record whole.
 * mode is applied to a new file as it stands; there is no umask.
 */
struct nfswb_file *nfswb_open(struct nfswb *, const char *target, int oflags,
			      mode_t mode);

/*
 * Accepts len bytes at byte offset off.  Returns len, or fewer only after a
 * timeout, a signal under NFSWB_INTR, or a failure behind the first bytes.
 * Waits while the daemon grants no room (that is how writers are paced).
 * Errors: EBADF, EINVAL, EFBIG, ENOSPC and such when data that failed at the
 * server takes up the room and fails once more; ETIMEDOUT, EINTR, ESTALE.
 */
ssize_t nfswb_pwrite(struct nfswb_file *, const void *buf, size_t len,
		     off_t off);
ssize_t nfswb_pwritev(struct nfswb_file *, const struct iovec *iov, int iovcnt,
		      off_t off);

/* The same at the file's own position, which moves; at the end of file under
   O_APPEND. */
ssize_t nfswb_write(struct nfswb_file *, const void *buf, size_t len);

/* Reads what is there, as all that was accepted before left it: 0 at the end
   of file.  nfswb_read reads at the file's own position, which moves. */
ssize_t nfswb_pread(struct nfswb_file *, void *buf, size_t len, off_t off);
ssize_t nfswb_read(struct nfswb_file *, void *buf, size_t len);

/* SEEK_SET, SEEK_CUR, SEEK_END. */
off_t nfswb_lseek(struct nfswb_file *, off_t off, int whence);

int nfswb_ftruncate(struct nfswb_file *, off_t len);
int nfswb_fstat(struct nfswb_file *, struct stat *);

/*
 * Waits until all that was accepted for this file before the call, from
 * anybody, is on stable storage (RFC 1813, 3.3.21).  See "Errors" above.
 */
int nfswb_fsync(struct nfswb_file *);

/* Flushes and commits as nfswb_fsync, reports, and frees always. */
int nfswb_close(struct nfswb_file *);

/* By target.  nfswb_stat follows a symbolic link at the end, the others do
   not. */
int nfswb_stat(struct nfswb *, const char *target, struct stat *);
int nfswb_setattr(struct nfswb *, const char *target, const struct stat *,
		  unsigned which);
int nfswb_unlink(struct nfswb *, const char *target);
int nfswb_rename(struct nfswb *, const char *from, const char *to);
int nfswb_mkdir(struct nfswb *, const char *target, mode_t mode);
int nfswb_rmdir(struct nfswb *, const char *target);
int nfswb_symlink(struct nfswb *, const char *content, const char *target);

/*
 * Directory listing.  The entry nfswb_readdir returns is the library's, until
 * the next nfswb_readdir or nfswb_closedir on that directory; NULL at the end
 * (errno unchanged) or on failure (errno set).
 */
struct nfswb_dir *nfswb_opendir(struct nfswb *, const char *target);
struct dirent *nfswb_readdir(struct nfswb_dir *);
int nfswb_closedir(struct nfswb_dir *);

/*
 * Waits until all that anybody on this machine wrote below target before the
 * call is on stable storage; target NULL: everything the daemon holds.
 */
int nfswb_sync(struct nfswb *, const char *target);

/* A request to the daemon itself, JSON in, JSON out; the caller frees.  The
   requests are listed in nfswbd(8). */
char *nfswb_control(struct nfswb *, const char *request);

/* The daemon's statistics as JSON (sizes in bytes, times in microseconds); the
   caller frees.  The keys are listed in nfswb(1). */
char *nfswb_statistics(struct nfswb *);

/* This thread's last failure on this connection in words, with the call's
   name; NULL: nfswb_connect's.  The string is the library's, until this
   thread's next call. */
const char *nfswb_strerror(struct nfswb *);

#ifdef __cplusplus
}
#endif

#endif /* NFSWB_H */
