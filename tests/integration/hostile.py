#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hostile.py - clients that mean nfswbd no good

    hostile.py SOCKET TARGET SEED closed	each must be closed by the daemon
    hostile.py SOCKET TARGET SEED borne		each does what it does, some stay
    hostile.py SOCKET TARGET SEED crowd		a thousand connect, and stay
    hostile.py SOCKET TARGET SEED resume	memory that was tampered with
    hostile.py SOCKET TARGET SEED soak		all but resume, again and again

TARGET is a file that may be written.  Prints the name of each client that went
as it should.  Who stays, stays until a line is read.  "resume" opens and writes
honestly, prints "restart" and reads a line: meanwhile another daemon is started,
to which the memory is then handed over.
"""
import array
import ctypes
import fcntl
import mmap
import os
import random
import select
import socket
import struct
import sys
import threading

PROTOCOL, INLINE = 1, 1
(HELLO, RESUME, OPEN, CLOSE, WRITE, READ, FSYNC, TRUNCATE, FSTAT, RESERVE,
 STAT, LSTAT, SETATTR, UNLINK, RENAME, MKDIR, RMDIR, SYMLINK, READLINK,
 READDIR, SYNC, CONTROL, STATISTICS, FAILED_ROOM) = range(1, 25)
LAST = 0x80000000
CHUNK = 65536
FILES = RING = 16384
HEAD, TAIL, SLEEPS, WAITS, WANT, WANT_CHUNK, G_HEAD, G_TAIL = (
    64, 128, 192, 256, 260, 264, 320, 384)
libc = ctypes.CDLL(None, use_errno=True)


class Gone(Exception):
    """The daemon closed the session."""


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def call(number, kind, args=b""):
    return struct.pack(">QII", number, 0, kind) + args


class Client:
    def __init__(self, path, dice):
        self.dice, self.id, self.fds = dice, 0, []
        self.control = self.data = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)

    def raw(self, data, fds=()):
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                  array.array("i", fds))] if fds else []
        try:
            sent = self.socket.sendmsg([data], extra)
            self.socket.sendall(data[sent:])
        except (BrokenPipeError, ConnectionResetError):
            raise Gone from None

    def send(self, record, fds=()):
        self.raw(struct.pack(">I", LAST | len(record)) + record, fds)

    def bell(self):
        self.send(b"")

    def recv(self, n):
        try:
            data, extra, _, _ = self.socket.recvmsg(n, socket.CMSG_SPACE(8))
        except ConnectionResetError:
            raise Gone from None
        for _, _, fds in extra:
            got = array.array("i")
            got.frombytes(fds)
            self.fds += got
        if not data:
            raise Gone
        return data

    def exactly(self, n):
        data = b""
        while len(data) < n:
            data += self.recv(n - len(data))
        return data

    def reply(self):
        record = b""
        while not record:
            mark, = struct.unpack(">I", self.exactly(4))
            record = self.exactly(mark & ~LAST)
        return record

    def ask(self, kind, args=b"", fds=()):
        """The error, and the result's bytes."""
        self.id += 1
        self.send(call(self.id, kind, args), fds)
        reply = self.reply()
        error, = struct.unpack(">i", reply[8:12])
        return error, reply[16:]

    def hello(self, flags=0, fds=()):
        error, r = self.ask(HELLO, struct.pack(
            ">IIQ", PROTOCOL, flags, 64 * CHUNK), fds)
        assert not error, os.strerror(error)
        self.session, = struct.unpack(">Q", r[8:16])
        self.secret = r[16:32]
        self.bytes, = struct.unpack(">Q", r[32:40])
        if self.fds:
            self.map()
        return self

    def map(self):
        self.control = mmap.mmap(self.fds[0], 0)
        self.data = mmap.mmap(self.fds[1], 0)
        self.words = {form: memoryview(self.control).cast(form)
                      for form in "IQ"}
        self.chunks, self.ring_nr, self.grants, self.list_nr = \
            struct.unpack("@IIII", self.control[24:40])

        def up(n):
            return (n + 63) & ~63
        self.grant_at = 448
        self.shared_at = up(448 + 4 * self.grants)
        self.mark_at = up(self.shared_at + FILES)
        self.ring_at = up(self.mark_at + 8 * self.chunks)
        self.list_at = up(self.ring_at + 32 * self.ring_nr)

    def open(self, target, flags=os.O_RDWR | os.O_CREAT):
        error, r = self.ask(OPEN, opaque(target.encode()) +
                            struct.pack(">iI", flags, 0o644))
        assert not error, os.strerror(error)
        self.token = r[4:20]
        self.file, = struct.unpack(">I", r[:4])
        return self

    # One load or store, as the daemon's: struct.pack_into would not do, as it
    # stores zeros first, and a head of 0 is out of range.
    def get(self, at, form="Q"):
        return self.words[form][at // struct.calcsize(form)]

    def put(self, at, value, form="Q"):
        self.words[form][at // struct.calcsize(form)] = value

    def room(self):
        """Waits until a chunk is granted, takes it off the queue."""
        self.put(WANT, 4096, "I")
        self.put(WANT_CHUNK, 0xffffffff, "I")
        self.put(WAITS, 1, "I")
        self.bell()
        while self.get(G_HEAD) == self.get(G_TAIL):
            self.recv(4)
        tail = self.get(G_TAIL)
        self.put(G_TAIL, tail + 1)
        return self.get(self.grant_at + 4 * (tail % self.grants), "I")

    def post(self, offset, place, length, file=None, kind=1):
        head = self.get(HEAD)
        struct.pack_into("@QQIIII", self.control,
                         self.ring_at + 32 * (head % self.ring_nr), offset,
                         place, length,
                         self.file if file is None else file, kind, 0)
        self.put(HEAD, head + 1)

    def write(self, length=4096, offset=0):
        """An honest write, by hand."""
        chunk = self.room()
        mark = self.mark_at + 8 * chunk
        fill = self.get(mark) & 0xffffffff
        limit = self.get(mark) >> 32 & 0x7fffffff
        length = max(1, min(length, min(limit, CHUNK) - fill))
        fill = min(fill, CHUNK - length)
        self.data[chunk * CHUNK + fill:chunk * CHUNK + fill + length] = \
            b"x" * length
        self.put(mark, self.get(mark) + length)
        self.post(offset, chunk * CHUNK + fill, length)
        self.bell()
        return chunk

    def until_closed(self):
        while True:
            self.recv(65536)


def resume_args(c, files=b"\0\0\0\0", secret=None, session=None):
    return struct.pack(">IIQ", PROTOCOL, 0, session or c.session) + \
        (secret or c.secret) + files


def memfd(size, seals):
    fd = os.memfd_create("hostile", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if seals:
        libc.fcntl(fd, 1033, 7)
    return fd


# --- bytes that are no messages ---

def garbage(c, t):
    c.raw(c.dice.randbytes(c.dice.randrange(4, 100000)) + b"\xff" * 8)


def garbage_record(c, t):
    c.hello()
    c.send(c.dice.randbytes(c.dice.randrange(1, 3000)))


def huge_mark(c, t):
    c.hello()
    c.raw(struct.pack(">I", c.dice.choice((0x7fffffff, 0xffffffff, 1 << 30,
                                           1179649))) + b"x" * 1000)


def endless_fragments(c, t):
    c.hello()
    while True:
        c.raw(struct.pack(">I", 1000) + bytes(1000))


def before_hello(c, t):
    c.send(call(1, c.dice.choice((OPEN, FSYNC, STATISTICS, SYNC)),
                opaque(b"x")))


def second_hello(c, t):
    c.hello()
    c.send(call(2, HELLO, struct.pack(">IIQ", 1, 0, 0)))


def wrong_lengths(c, t):
    c.hello().open(t)
    n = c.dice.choice((0xffffffff, 0x7fffffff, 8193, 1 << 20, 100))
    c.send(c.dice.choice((
        call(2, OPEN, struct.pack(">I", n) + b"abc"),
        call(2, WRITE, struct.pack(">IQI", 0, 0, n) + b"abc"),
        call(2, CONTROL, struct.pack(">I", n | 1 << 20) + b"abc"),
        call(2, RENAME, opaque(b"a") + struct.pack(">I", n) + b"abc"),
        call(2, FSYNC, struct.pack(">III", 0, 0, 0)),
        call(2, STATISTICS, b"more"),
        call(2, SETATTR, opaque(b"a") + b"\0" * 8))))


def wrong_resume_lengths(c, t):
    c.send(call(1, RESUME, struct.pack(">IIQ", 1, 0, 1) + bytes(16) +
                struct.pack(">I", 0x07ffffff)))


def no_such_kind(c, t):
    c.hello()
    c.send(call(2, c.dice.choice((0, 25, 0xffffffff))))


# --- shared memory ---

def head_jumps(c, t):
    c.hello().open(t)
    c.put(HEAD, c.dice.choice((RING + 1, 1 << 63, (1 << 64) - 5, 1 << 40)))
    c.bell()


def random_entries(c, t):
    c.hello().open(t)
    c.room()
    for i in range(c.dice.randrange(1, 64)):
        c.post(c.dice.getrandbits(64), c.dice.getrandbits(64),
               c.dice.getrandbits(32), c.dice.getrandbits(2),
               c.dice.getrandbits(2))
    c.bell()


def not_granted(c, t):
    c.hello().open(t)
    c.room()
    chunk = c.chunks - 1
    c.put(c.mark_at + 8 * chunk, CHUNK << 32 | CHUNK)
    c.post(0, chunk * CHUNK, 4096)
    c.bell()


def no_such_file(c, t):
    c.hello().open(t)
    chunk = c.room()
    c.put(c.mark_at + 8 * chunk, CHUNK << 32 | 4096)
    c.post(0, chunk * CHUNK, 100, c.dice.choice((7, FILES, 0xffffffff)))
    c.bell()


def posted_twice(c, t):
    c.hello().open(t)
    chunk = c.write()
    for _ in range(100):
        c.post(0, chunk * CHUNK, 4096)
    c.bell()


def racing(c, t):
    """Another thread overwrites slots, marks and head while they are read."""
    c.hello().open(t)
    c.room()
    stop = []

    def scribble():
        dice = random.Random(c.dice.random())
        while not stop:
            at = c.ring_at + 32 * dice.randrange(64)
            struct.pack_into("@QQIIII", c.control, at, dice.getrandbits(40),
                             dice.randrange(c.chunks) * CHUNK,
                             dice.choice((1, 4096, 1 << 31)),
                             dice.choice((c.file, c.file, c.file, 9)),
                             dice.choice((1, 1, 1, 2, 3)), 0)
            c.put(c.mark_at + 8 * dice.randrange(c.chunks),
                  dice.getrandbits(64))

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(100000):
            c.put(HEAD, c.get(HEAD) + c.dice.randrange(1, 8))
            c.bell()
        raise TimeoutError
    finally:
        stop.append(True)
        thread.join()


# --- what need not be noticed ---

def slow(c, t):
    """A byte at a time."""
    record = struct.pack(">I", LAST | 32) + call(1, HELLO, struct.pack(
        ">IIQ", 1, INLINE, 0))
    for byte in record:
        c.raw(bytes((byte,)))
    c.reply()


def out_of_order(c, t):
    c.hello()
    for kind in (FSYNC, CLOSE, FSTAT):
        assert c.ask(kind, struct.pack(">I", 0))[0]
    c.open(t)
    assert not c.ask(CLOSE, struct.pack(">I", c.file))[0]
    for kind in (CLOSE, FSYNC, CLOSE, FSTAT):
        assert c.ask(kind, struct.pack(">I", c.file))[0]
    assert c.ask(READ, struct.pack(">IQQ", c.file, 0, 1))[0]


def flags_changed(c, t):
    """Of all that is shared; the daemon must not come to wait by it."""
    c.hello().open(t)
    for fd in c.fds + [c.socket.fileno()]:
        for flags in (0, os.O_APPEND, os.O_NONBLOCK, os.O_ASYNC, os.O_DIRECT):
            try:
                fcntl.fcntl(fd, fcntl.F_SETFL, flags)
            except OSError:
                pass
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
    for _ in range(20):
        c.write(4096, c.dice.randrange(1 << 20))
    assert not c.ask(FSYNC, struct.pack(">I", c.file))[0]


def more_memory(c, t):
    """It is as long as it was made, whatever is tried."""
    c.hello().open(t)
    for fd, size in ((c.fds[0], len(c.control)), (c.fds[1], c.bytes)):
        for attempt in (lambda: os.ftruncate(fd, 1 << 40),
                        lambda: os.ftruncate(fd, 0),
                        lambda: os.posix_fallocate(fd, 0, size + 4096),
                        lambda: os.pwrite(fd, b"x", size)):
            try:
                attempt()
                raise AssertionError("it grew, or shrank")
            except PermissionError:
                pass
        assert os.fstat(fd).st_size == size
        assert libc.fcntl(fd, 1033, 8) < 0      # F_SEAL_WRITE
    assert not c.ask(FSYNC, struct.pack(">I", c.file))[0]


def half_message(c, t):
    c.hello()
    c.raw(struct.pack(">I", LAST | 100000) + bytes(c.dice.randrange(99999)))
    return "stay"


def half_mark(c, t):
    c.raw(b"\x80\0")
    return "stay"


def empty_fragments(c, t):
    c.hello()
    c.raw(bytes(4) * 200000)


def silent(c, t):
    return "stay"


def many_fds(c, t):
    c.hello()
    fd = os.open("/dev/null", os.O_RDONLY)
    c.send(c.dice.choice((b"", call(2, STATISTICS))),
           [fd] * c.dice.choice((1, 2, 3, 8, 9, 100, 253)))
    os.close(fd)


def fds_with_hello(c, t):
    fd = os.open("/dev/null", os.O_RDONLY)
    c.hello(fds=[fd] * c.dice.choice((1, 2)))
    os.close(fd)


def fds_only(c, t):
    """Descriptors by dribs and drabs, before there is a record."""
    fd = os.open("/dev/null", os.O_RDONLY)
    record = struct.pack(">I", LAST | 32) + call(1, HELLO, struct.pack(
        ">IIQ", 1, 0, 0))
    for byte in record:
        c.raw(bytes((byte,)), [fd] * 5)


def marks_overwritten(c, t):
    c.hello().open(t)
    for _ in range(20):
        c.write(c.dice.randrange(1, 4096))
        for n in range(c.chunks):
            if c.dice.randrange(2):
                c.put(c.mark_at + 8 * n, c.dice.getrandbits(64))
        c.bell()
        c.ask(FSYNC, struct.pack(">I", c.file))


def queue_overwritten(c, t):
    c.hello().open(t)
    for _ in range(20):
        c.put(G_TAIL, c.dice.getrandbits(64))
        c.put(G_HEAD, c.dice.getrandbits(64))
        c.put(WANT, c.dice.getrandbits(32), "I")
        c.put(WANT_CHUNK, c.dice.choice((0, 1, c.chunks, 0x7fffffff,
                                         c.dice.getrandbits(32))), "I")
        c.put(WAITS, 1, "I")
        c.bell()
        assert not c.ask(STATISTICS)[0]


def everything_overwritten(c, t):
    c.hello().open(t)
    for _ in range(20):
        at = c.dice.randrange(len(c.control) - 4096)
        c.control[at:at + 4096] = c.dice.randbytes(4096)
        if c.dice.randrange(2):
            c.control[:4096] = c.dice.randbytes(4096)
        c.bell()
        c.ask(FSYNC, struct.pack(">I", c.file))


def holes(c, t):
    c.hello().open(t)
    for _ in range(50):
        c.write(c.dice.randrange(1, 4096), c.dice.randrange(1 << 20))
        for fd, size in ((c.fds[0], len(c.control)), (c.fds[1], c.bytes)):
            at = c.dice.randrange(size) & ~4095
            libc.fallocate(fd, 3, ctypes.c_long(at), ctypes.c_long(65536))
    c.ask(FSYNC, struct.pack(">I", c.file))


def odd_calls(c, t):
    c.hello(c.dice.choice((0, INLINE))).open(t)
    big = (1 << 64) - 1
    odd = (b"", b"/", b"nfs://", b"nfs:///", b"x:/y", b"\0" * 8, b"\xff" * 99,
           b"nfs://127.0.0.1:99999/", b"nfs://[::1", b"%" * 8192,
           t.encode() + b"&nfsport=-1", b"nfs://127.0.0.1" + b"/.." * 2000,
           t.encode().replace(b"?", b"/" + b"a" * 300 + b"?"))
    for _ in range(30):
        name = c.dice.choice(odd)
        off = c.dice.choice((0, big, 1 << 63, (1 << 63) - 1, 1 << 62))
        length = c.dice.choice((0, big, 1 << 63, 1 << 32, 1))
        number = c.dice.choice((c.file, 1, FILES, 0xffffffff))
        c.ask(*c.dice.choice((
            (OPEN, opaque(name) + struct.pack(">iI", -1, 0xffffffff)),
            (OPEN, opaque(name) + struct.pack(">iI", 2, 0)),
            (READ, struct.pack(">IQQ", number, off, length)),
            (WRITE, struct.pack(">IQ", number, off) + opaque(b"y" * 10)),
            (TRUNCATE, struct.pack(">IQQ", number, off,
                                   max(length, 1 << 63))),
            (RESERVE, struct.pack(">IQQ", number, off, length)),
            (FSYNC, struct.pack(">I", number)),
            (FSTAT, struct.pack(">I", number)),
            (STAT, opaque(name)), (RMDIR, opaque(name)),
            (RENAME, opaque(name) + opaque(name)),
            (SYMLINK, opaque(name) + struct.pack(">I", 0) + opaque(b"")),
            (READDIR, opaque(name) + struct.pack(">QQ", big, big)),
            (SYNC, opaque(name or b"x")), (FAILED_ROOM,),
            (CONTROL, opaque(b"[" * 100000)), (CONTROL, opaque(name)),
            (CLOSE, struct.pack(">I", 77)))))


def never_reads(c, t):
    """Asks for ever, takes no answer, until the daemon reads no more."""
    c.hello(INLINE)
    c.socket.settimeout(None)
    c.socket.setblocking(False)
    record = call(1, STATISTICS)
    record = struct.pack(">I", LAST | len(record)) + record
    try:
        for _ in range(200000):
            c.socket.send(record)
    except BlockingIOError:
        pass
    return "stay"


def bells(c, t):
    c.hello()
    for _ in range(200):
        c.raw(struct.pack(">I", LAST) * 1000)


def hangs_up_at_once(c, t):
    c.hello().open(t)
    c.write()


def resume_of_nothing(c, t):
    c.session, c.secret = c.dice.getrandbits(8), c.dice.randbytes(16)
    assert c.ask(RESUME, resume_args(c))[0]


# --- memory handed to the next instance ---

def prepare(c, t):
    c.hello().open(t)
    for n in range(c.dice.randrange(1, 30)):
        c.write(c.dice.randrange(1, 4096), c.dice.randrange(1 << 20))
    return c


def files_of(c):
    return struct.pack(">II", 1, c.file) + c.token + struct.pack(">iQ", 2, 0)


def resume(old, c, fds=None, **more):
    error, _ = c.ask(RESUME, resume_args(old, files_of(old), **more),
                     old.fds if fds is None else fds)
    return error


def list_slot(c, n, seq, length, offset, place, file, state):
    struct.pack_into("@QQQQII", c.control, c.list_at + 64 * n, seq, length,
                     offset, place, file, state)


def random_list(old, c):
    for n in range(c.dice.randrange(1, 500)):
        at = old.list_at + 64 * c.dice.randrange(old.list_nr)
        old.control[at:at + 64] = c.dice.randbytes(64)
    return resume(old, c)


def likely_list(old, c):
    """Entries that make sense one by one, and none together."""
    for n in range(old.list_nr):
        at = c.dice.randrange(CHUNK - 1)
        list_slot(old, n, c.dice.randrange(1, 1000),
                  c.dice.randrange(1, CHUNK - at) |
                  c.dice.getrandbits(32) << 32,
                  c.dice.randrange(1 << 21),
                  c.dice.randrange(old.chunks) * CHUNK + at,
                  c.dice.choice((old.file, old.file, old.file, 9)),
                  c.dice.randrange(4))
    return resume(old, c)


def same_list(old, c):
    for n in range(old.list_nr):
        list_slot(old, n, 5, 1000, 3000, 2 * CHUNK, old.file, 1)
    return resume(old, c)


def far_list(old, c):
    for n in range(8):
        list_slot(old, n, 5 + n, 1000, (1 << 63) - 1001 - n, 2 * CHUNK,
                  old.file, 0)
    return resume(old, c)


def ring_and_list(old, c):
    for n in range(old.ring_nr):
        struct.pack_into("@QQIIII", old.control, old.ring_at + 32 * n,
                         c.dice.randrange(1 << 21),
                         c.dice.randrange(old.chunks) * CHUNK,
                         c.dice.randrange(1, CHUNK), old.file,
                         c.dice.choice((1, 2)), 0)
    for n in range(old.chunks):
        old.put(old.mark_at + 8 * n, CHUNK << 32 | CHUNK)
    old.put(HEAD, old.get(TAIL) + old.ring_nr)
    return resume(old, c)


def head_out_of_range(old, c):
    old.put(HEAD, old.get(TAIL) - 1)
    return resume(old, c)


def no_magic(old, c):
    old.put(0, 0)
    return resume(old, c)


def wrong_secret(old, c):
    assert resume(old, c, secret=bytes(16))
    return 1


def no_fds(old, c):
    return resume(old, c, ())


def swapped_fds(old, c):
    return resume(old, c, old.fds[::-1])


def not_sealed(old, c):
    return resume(old, c, (memfd(len(old.control), False),
                           memfd(old.bytes, False)))


def huge_pages(old, c):
    try:
        fds = [os.memfd_create("hostile", os.MFD_ALLOW_SEALING | 4)
               for _ in range(2)]
        for fd, size in zip(fds, (len(old.control), old.bytes)):
            os.ftruncate(fd, size)
            libc.fcntl(fd, 1033, 7)
    except OSError:
        fds = old.fds[:1]
    return resume(old, c, fds)


def forged_token(old, c):
    old.token = bytes(16)
    return resume(old, c)


def other_sizes(old, c):
    return resume(old, c, (memfd(4096, True), memfd(4096, True)))


def empty_memory(old, c):
    return resume(old, c, (memfd(len(old.control), True),
                           memfd(old.bytes, True)))


def no_memory(old, c):
    a, b = os.pipe()
    return resume(old, c, (a, b))


CLOSED = [garbage, garbage_record, huge_mark, endless_fragments, before_hello,
          second_hello, wrong_lengths, wrong_resume_lengths, no_such_kind,
          head_jumps, random_entries, not_granted, no_such_file, posted_twice,
          many_fds, fds_with_hello, fds_only, racing]
BORNE = [half_message, half_mark, empty_fragments, silent, slow, out_of_order,
         flags_changed, more_memory,
         marks_overwritten, queue_overwritten, everything_overwritten, holes,
         odd_calls, never_reads, bells, hangs_up_at_once, resume_of_nothing]
RESUMED = [random_list, likely_list, same_list, far_list, ring_and_list,
           head_out_of_range, no_magic, wrong_secret, no_fds, swapped_fds,
           not_sealed, huge_pages, forged_token, other_sizes, empty_memory, no_memory]


def one(f, path, target, dice, stay):
    c = Client(path, dice)
    try:
        more = f(c, target)
        if f in CLOSED:
            c.until_closed()
        if more:
            stay.append(c)
        c.data = c.control = c.words = None
        print(f.__name__, flush=True)
    except Gone:
        print(f.__name__, "" if f in CLOSED else "(closed)", flush=True)
    except TimeoutError:
        print("not answered, not closed:", f.__name__, flush=True)
    for fd in c.fds:
        os.close(fd)
    if c not in stay:
        c.socket.close()


def crowd(path, dice, stay):
    for _ in range(1000):
        try:
            stay.append(Client(path, dice))
        except OSError:
            break
    print("crowd of", len(stay), flush=True)


def soak(path, target, dice):
    """Ends when it is killed.  Those who stay do so for a round."""
    while True:
        stay = []
        clients = CLOSED + BORNE + [crowd]
        dice.shuffle(clients)
        for f in clients:
            try:
                if f is crowd:
                    crowd(path, dice, stay)
                else:
                    one(f, path, target, dice, stay)
            except (OSError, AssertionError) as why:
                print(f.__name__, "(%s)" % why, flush=True)
        for c in stay:
            c.socket.close()


def main(path, target, seed, phase):
    dice = random.Random(int(seed))
    stay = []
    if phase == "crowd":
        crowd(path, dice, stay)
        sys.stdin.readline()
        return
    if phase == "soak":
        soak(path, target, dice)
    if phase == "resume":
        olds = [(f, prepare(Client(path, dice), target)) for f in RESUMED]
        print("restart", flush=True)
        sys.stdin.readline()
        dice.shuffle(olds)
        for f, old in olds:
            old.socket.close()
        for f, old in olds:
            c = Client(path, dice)
            c.socket.setblocking(True)
            c.socket.settimeout(60)
            c.id += 1
            # an answer comes when all have come back; some never do
            try:
                c.socket.settimeout(0.05)
                f(old, c)
            except (Gone, TimeoutError):
                pass
            stay.append((f, c))
        for f, c in stay:
            print(f.__name__, flush=True)
        sys.stdin.readline()
        return
    if phase == "borne":
        # a file of its own: who opens the others' is told what those lost
        name, mark, options = target.partition("?")
        target = name + "-borne" + mark + options
    for f in {"closed": CLOSED, "borne": BORNE}[phase]:
        one(f, path, target, dice, stay)
    if phase == "borne":
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
