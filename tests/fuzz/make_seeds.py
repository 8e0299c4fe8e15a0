#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make_seeds.py - writes the seeds that are made, not found
#
# Run in the source folder; what it writes is committed.  What a fuzzer found
# lies beside it and is left alone (its names begin with "found-").
import os
import struct

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")


def seed(target, name, data):
    folder = os.path.join(TOP, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


def config():
    def conf(name, text):
        seed("config", name, text)

    conf("empty", "")
    conf("all", """\
# every kind of value
[nfswbd]
socket = /run/nfswbd/nfswbd.sock
socket_mode = 0660
socket_group = root
runtime_dir = /run/nfswbd
allow_urls = yes
admin_group = 0
map_root = 65534:65534
slab_bytes = 64M
dirty_bytes = 1G
dirty_background_bytes = 512M
dirty_expire_centisecs = 3000
log_level = debug
experiments = yes
dirty_throttling = foreground
reclaim_policy = timed
congestion_kb = 0
congestion_policy = hysteresis
stable = unstable
wsize = 1048576
soft = yes
weight = 7
max_sessions = 10
max_slab_bytes = 1T
""")
    conf("mounts", """\
[nfswbd]
allow_urls = no
[mount home]
target = nfs://server/export/home
allow_users = root, 1000 daemon
wsize = 64K
[mount other]
target = nfs://[::1]:2049/x?nfsport=1&mountport=2
allow_groups = root
[uid root]
weight = 10000
[uid 1000]
max_files = 5
""")
    conf("faults", """\
timeo = 5
[nfswbd
[nfswbd]
no_such_key = 1
timeo = 5
timeo = 6
timeo
slab_bytes = 17Q
socket_mode = 999
log_level = loud
[mount]
[mount a:b]
[mount a]
[mount a]
weight = 1
[uid no such user]
[else]
""")
    conf("blanks", "\t [nfswbd] ; c\r\n  timeo\t:  600 ; tenths\r\n\n"
         "retrans=3\n  soft = no\n\xef\xbb\xbf\n")
    conf("long-line", "[nfswbd]\nsocket = /" + "x" * 300 + "\n")
    conf("nul", b"[nfswbd]\ntimeo = 6\0\n")
    conf("bom", b"\xef\xbb\xbf[nfswbd]\ntimeo = 7")
    conf("huge-numbers", "[nfswbd]\ndirty_bytes = 18446744073709551615T\n"
         "timeo = -1\nretrans = 99999999999999999999\nslab_bytes = 0x10\n")


# --- XDR ---


def u32(*values):
    return b"".join(struct.pack(">I", v & 0xffffffff) for v in values)


def u64(*values):
    return b"".join(struct.pack(">Q", v & 0xffffffffffffffff) for v in values)


def opaque(data):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data)) + data + bytes(-len(data) % 4)


# --- results of NFSv3 ---

def fattr(kind=1, size=4096, mode=0o644):
    return (u32(kind, mode, 1, 1000, 1000) + u64(size, size) + u32(8, 1) +
            u64(7, 42) + u32(1700000000, 1, 1700000001, 2, 1700000002, 3))


POST = u32(1) + fattr()
NONE = u32(0)
WCC = u32(1) + u64(10) + u32(1, 2, 3, 4) + POST
FH = opaque(bytes(range(32)))
VERF = b"verifier"
OK = u32(0)

RESULTS = [
    ("null", 0, b""),
    ("getattr", 1, OK + fattr(2)),
    ("setattr", 2, OK + WCC),
    ("lookup", 3, OK + FH + POST + NONE),
    ("access", 4, OK + POST + u32(0x3f)),
    ("readlink", 5, OK + NONE + opaque("../elsewhere")),
    ("read", 6, OK + POST + u32(5, 1) + opaque("hello")),
    ("write", 7, OK + WCC + u32(4096, 2) + VERF),
    ("create", 8, OK + u32(1) + FH + POST + WCC),
    ("mkdir", 9, OK + u32(0) + NONE + NONE + NONE),
    ("symlink", 10, OK + u32(1) + FH + POST + WCC),
    ("mknod", 11, OK + u32(1) + FH + NONE + WCC),
    ("remove", 12, OK + WCC),
    ("rmdir", 13, OK + NONE + NONE),
    ("rename", 14, OK + WCC + WCC),
    ("link", 15, OK + POST + WCC),
    ("readdir", 16, OK + POST + VERF +
     u32(1) + u64(1) + opaque(".") + u64(1) +
     u32(1) + u64(2) + opaque("name") + u64(2) + u32(0, 1)),
    ("readdirplus", 17, OK + POST + VERF +
     u32(1) + u64(1) + opaque(".") + u64(1) + POST + u32(1) + FH +
     u32(1) + u64(2) + opaque("name") + u64(2) + NONE + NONE + u32(0, 1)),
    ("fsstat", 18, OK + POST + u64(1, 2, 3, 4, 5, 6) + u32(0)),
    ("fsinfo", 19, OK + POST + u32(65536, 65536, 4096, 1 << 20, 1 << 20, 4096,
                                   32768) + u64(1 << 40) + u32(0, 1, 0x1b)),
    ("pathconf", 20, OK + POST + u32(255, 255, 1, 1, 0, 1)),
    ("commit", 21, OK + WCC + VERF),
    ("read-in-place", 22, OK + POST + u32(5, 0) + opaque("hello")),
    ("read-head", 23, OK + POST + u32(5, 0, 5)),
]


def nfs3():
    for name, kind, body in RESULTS:
        seed("nfs3", name, bytes([kind]) + body)
    seed("nfs3", "getattr-odd", bytes([1]) + OK +
         fattr(9, (1 << 64) - 1, 0o100644))
    seed("nfs3", "getattr-stale", bytes([1]) + u32(70))
    seed("nfs3", "write-nospc", bytes([7]) + u32(28) + NONE + NONE)
    seed("nfs3", "rename-no-status", bytes([14]) + u32(4711) + WCC + WCC)
    seed("nfs3", "read-too-much", bytes([22]) + OK + NONE +
         u32(9, 0, 0xffffffff))
    seed("nfs3", "readlink-nul", bytes([5]) + OK + NONE + opaque("a\0b"))
    seed("nfs3", "readlink-too-long", bytes([5]) + OK + NONE + u32(8193))


# --- a server and its network: enum step of rpc.c ---

def rpc():
    def call(kind):
        return bytes([0, kind])

    def raw(data):
        return bytes([1, len(data)]) + data

    def record(which, data):
        return bytes([2, which]) + struct.pack(">H", len(data)) + data

    def accepted(which, data):
        return bytes([3, which]) + struct.pack(">H", len(data)) + data

    def wait(ms):
        return bytes([4, ms])

    def wait_long(s):
        return bytes([5, s])

    cut = bytes([6])

    def slices(n):
        return bytes([7, n])

    body = {n: b for n, _, b in RESULTS}
    five = b"".join(call(k) for k in range(5))
    read80 = OK + POST + u32(80, 0) + opaque(bytes(80))

    seed("rpc", "each-answered", bytes([0]) + five +
         accepted(4, body["getattr"]) + accepted(3, body["lookup"]) +
         accepted(2, body["commit"]) + accepted(1, body["write"]) +
         accepted(0, read80))
    seed("rpc", "in-slices", bytes([2]) + slices(3) + call(4) +
         accepted(0, read80) + call(3) + accepted(0, body["write"]))
    seed("rpc", "read-too-much", bytes([0]) + call(4) +
         accepted(0, OK + POST + u32(200, 1) + opaque(bytes(200))))
    seed("rpc", "read-refused", bytes([0]) + call(4) +
         accepted(0, u32(70) + NONE))
    seed("rpc", "read-cut-short", bytes([0]) + call(4) +
         raw(u32(0x80000080, 1, 1, 0)) + cut + wait_long(3))
    seed("rpc", "timeout-and-late", bytes([1]) + call(0) + wait_long(1) +
         accepted(0, body["getattr"]) + accepted(0, body["getattr"]))
    seed("rpc", "soft-gives-up", bytes([1]) + five + wait_long(20))
    seed("rpc", "reconnects", bytes([0]) + five + cut + wait_long(4) +
         accepted(0, body["getattr"]) + cut + call(1) + wait_long(30))
    seed("rpc", "denied", bytes([0]) + call(0) +
         record(0, u32(1, 1, 1, 5)) + call(0) +
         record(0, u32(1, 1, 0, 2, 2)) + wait(200))
    seed("rpc", "program-mismatch", bytes([0]) + call(0) +
         record(0, u32(1, 0, 0, 0, 2, 2, 4)))
    seed("rpc", "garbage-results", bytes([0]) + call(1) +
         accepted(0, OK + u32(65)) + wait_long(2))
    seed("rpc", "garbage", bytes([0]) + call(2) + raw(b"HTTP/1.1 400 no\r\n"))
    seed("rpc", "fragments", bytes([0]) + call(0) +
         raw(u32(4) + u32(1)) + raw(u32(0)) + raw(u32(0x80000000)))
    seed("rpc", "endless", bytes([0]) + call(0) + raw(u32(0xffffffff, 1, 1, 0)))
    seed("rpc", "not-asked", bytes([0]) + accepted(0, b"") + call(0) +
         accepted(200, body["getattr"]) + call(0) + record(0, u32(0)))
    seed("rpc", "a-call", u32(9, 0, 2, 100003, 3, 1, 1, 20) + u32(5) +
         opaque("h") + u32(0, 0, 0) + u32(0, 0) + FH)
    seed("rpc", "a-reply", u32(9, 1, 0, 0, 0, 0) + body["getattr"])


# --- clients: enum step of socket.c and ring.c ---

def call(kind, file=0, offset=0, length=0):     # attack_call
    return bytes([kind, file]) + u32(offset)[1:] + u32(length)[1:]


OPEN, CLOSE, WRITE, FSYNC, READ, READ_PLACE, TRUNCATE, RESERVE, FAILED_ROOM = \
    0, 1, 2, 3, 5, 6, 7, 8, 9
SECRET = bytes(16)
ATTR = u32(0, 0o600, 1, 0, 0) + u64(5, 0, 0, 0, 0, 0, 0, 0)

MESSAGES = [
    ("hello", 1, u32(1, 1) + u64(0)),
    ("hello-memory", 1, u32(1, 0) + u64(1 << 20)),
    ("resume", 2, u32(1, 0) + u64(1) + SECRET + u32(1, 0) + SECRET +
     u32(2) + u64(0)),
    ("open", 3, opaque("b") + u32(0x42, 0o644)),
    ("close", 4, u32(0)),
    ("write", 5, u32(0) + u64(100) + opaque("some bytes")),
    ("read", 6, u32(0) + u64(0, 100)),
    ("fsync", 7, u32(0)),
    ("truncate", 8, u32(0) + u64(0, 3)),
    ("fstat", 9, u32(0)),
    ("reserve", 10, u32(0) + u64(0, 10)),
    ("stat", 11, opaque("a")),
    ("lstat", 12, opaque("none")),
    ("setattr", 13, opaque("a") + u32(1) + ATTR),
    ("unlink", 14, opaque("a")),
    ("rename", 15, opaque("a") + opaque("b")),
    ("mkdir", 16, opaque("d") + u32(0o755) + opaque("")),
    ("rmdir", 17, opaque("d")),
    ("symlink", 18, opaque("l") + u32(0) + opaque("elsewhere")),
    ("readlink", 19, opaque("l")),
    ("readdir", 20, opaque("d") + u64(0, 0)),
    ("sync", 21, opaque("")),
    ("control", 22, opaque('{"request": "config"}')),
    ("statistics", 23, b""),
    ("failed-room", 24, b""),
    ("read-place", 25, u32(0) + u64(0, 100)),
]


def socket():
    memory, inline, shared = 1, 2, 4
    bell, reply = bytes([3]), bytes([7])

    def record(data):
        return bytes([0]) + struct.pack(">H", len(data)) + data

    def raw(data):
        return bytes([1, len(data)]) + data

    def step_call(*args):
        return bytes([2]) + call(*args)

    def wait(ms):
        return bytes([4, ms])

    def wait_long(s):
        return bytes([5, s])

    def server(bits):
        return bytes([6, bits])

    def fds(n):
        return bytes([8, n - 1])

    def connect(bits):
        return bytes([9, bits])

    def attack(name, bits, *steps):
        seed("socket", name, bytes([bits]) + b"".join(steps))

    def message(kind, args, id=9):
        return u64(id) + u32(0, kind) + args

    for name, kind, args in MESSAGES:
        begin = 0 if kind <= 2 else memory if kind == 25 else inline
        attack("message-" + name, begin | (shared if kind > 2 else 0),
               record(message(kind, args)), reply)
    attack("all-messages", memory | shared, *(
        record(message(kind, args, kind)) for _, kind, args in MESSAGES))
    attack("before-hello", 0, record(message(7, u32(0))), reply,
           record(message(1, u32(1, 1) + u64(0))), reply)
    attack("wrong-protocol", 0, record(message(1, u32(99, 0) + u64(0))), reply)
    attack("no-such-kind", inline, record(message(4711, b"")), reply)
    attack("cut-short", inline, record(message(5, u32(0) + u64(0) + u32(99))))
    attack("half-a-mark", inline, raw(b"\x80\x00"), wait_long(5), connect(0))
    attack("huge-mark", inline, raw(u32(0xffffffff)), wait(1))
    attack("endless-fragments", inline, *[raw(u32(0)) for _ in range(20)])
    attack("bells", memory, *[bell for _ in range(30)])
    attack("never-reads", inline, *[step_call(READ, 0, 0, 700)
                                    for _ in range(40)])
    attack("refused", inline | shared, server(4), step_call(WRITE, 0, 0, 600),
           step_call(FSYNC), reply, step_call(FAILED_ROOM), step_call(CLOSE),
           reply)
    attack("leaves-with-calls-out", inline, server(3), step_call(OPEN, 1),
           step_call(WRITE, 0, 5, 600), step_call(FSYNC), step_call(CLOSE),
           connect(inline))
    attack("server-away", memory | shared, server(1),
           step_call(WRITE, 0, 0, 500), step_call(TRUNCATE, 0, 0, 100),
           step_call(READ_PLACE, 0, 50, 300), step_call(FSYNC), wait_long(90),
           server(8), wait_long(60))
    attack("append", inline, step_call(OPEN, 1, 1), step_call(RESERVE, 1, 0, 9),
           step_call(WRITE, 1, 0, 100), step_call(FSYNC, 1), reply, reply)
    attack("descriptors", 0, fds(2), raw(u32(0x80000020)[1:]), fds(4), fds(1))
    attack("descriptors-later", memory, fds(1), wait(1), step_call(FSYNC))


def ring():
    def post(file, offset, length):
        return bytes([0, file]) + (u32(offset)[1:] if not file & 1 else b"") + \
            struct.pack(">H", length)

    def entry(offset, place, length, file, kind):
        return bytes([1]) + u64(offset, place) + u32(length, file, kind, 0)

    def near(file, kind, chunk, place, length, offset):
        return bytes([2, file, kind, chunk]) + \
            struct.pack(">HH", place, length) + u32(offset)[1:]

    def head(by):
        return bytes([3]) + struct.pack(">h", by)

    def mark(chunk, value):
        return bytes([4, chunk]) + u64(value)

    def control(word, value):
        return bytes([5, word]) + u64(value)

    def anywhere(at, data):
        return bytes([6]) + u32(at)[1:] + bytes([len(data)]) + data

    def wants(n, chunk):
        return bytes([7]) + u32(n) + struct.pack(">H", chunk)

    bell, reply = bytes([8]), bytes([13])

    def wait(n):
        return bytes([9, n])

    def wait_long(s):
        return bytes([10, s])

    def server(bits):
        return bytes([11, bits])

    def step_call(*args):
        return bytes([12]) + call(*args)

    def attack(name, *steps):
        seed("ring", name, b"".join(steps))

    attack("writes", post(0, 0, 100), post(0, 50, 100), bell, wait(20),
           post(1, 0, 30), post(1, 0, 31), step_call(FSYNC, 0), reply,
           step_call(FSYNC, 1), reply, step_call(CLOSE, 0), reply)
    attack("until-full", *[post(0, n * 30000, 30000) for n in range(40)],
           wants(65536, 0xffff), bell, wait(50), step_call(FSYNC), reply,
           *[post(0, n * 30000, 30000) for n in range(20)])
    attack("server-holds", server(1), post(0, 0, 5000), bell, wait(10),
           step_call(FSYNC), post(0, 100, 50), wait_long(40), server(0),
           reply, post(0, 0, 10))
    attack("refused", server(4), post(0, 0, 5000), step_call(FSYNC), reply,
           step_call(FSYNC), reply, post(0, 9, 9), server(0),
           step_call(FSYNC), reply)
    attack("reads", post(0, 0, 9000), step_call(READ_PLACE, 0, 100, 5000),
           reply, step_call(TRUNCATE, 0, 0, 10), reply,
           step_call(READ, 0, 0, 90), reply)
    attack("no-such-file", near(2, 1, 0, 0, 10, 0), bell, wait(20))
    attack("no-such-kind", near(0, 3, 0, 0, 10, 0), bell, wait(20))
    attack("not-granted", near(0, 1, 63, 0, 65535, 0), bell, wait(20))
    attack("posted-twice", post(0, 0, 100), near(0, 1, 0, 0, 100, 500), bell,
           wait(20))
    attack("across-chunks", near(0, 1, 0, 65535, 2, 0), bell, wait(20))
    attack("far-offset", entry((1 << 63) - 1, 0, 10, 0, 1), bell, wait(20))
    attack("all-ones", entry(-1, -1, -1, -1, -1), bell, wait(20))
    attack("empty", near(0, 1, 0, 0, 0, 0), bell, wait(20))
    attack("head-jumps", post(0, 0, 10), head(20000), bell, wait(20))
    attack("head-goes-back", post(0, 0, 10), bell, wait(20), head(-5), bell,
           wait(20))
    attack("marks", mark(0, -1), mark(1, 0), mark(2, 1 << 62), post(0, 0, 10),
           bell, wait(20), wants(100000, 2), bell, wait(20),
           step_call(READ_PLACE, 0, 0, 5000), reply)
    attack("control-words", *[control(n, -1) for n in range(64)], bell,
           wait(50), step_call(FSYNC), reply)
    attack("queue-overwritten", anywhere(0x240, b"\xff" * 200), post(0, 0, 10),
           bell, wait(20), wants(70000, 3), bell, wait(50))
    attack("list-overwritten", post(0, 0, 10), bell, wait(20),
           *[anywhere(0x84a40 + 64 * n, b"\xa5" * 64) for n in range(4)],
           step_call(FSYNC), reply, post(0, 5, 10), step_call(FSYNC), reply)


# --- enum step of resume.c ---

def resume():
    other, sent, mute, hold = 1, 2, 4, 8

    def any_entry(index, seq, length, position, offset, place, file, state):
        return bytes([0]) + struct.pack(">H", index) + \
            u64(seq, position << 32 | length, offset, place) + u32(file, state)

    def near(index, seq, length, position, offset, chunk, place, file, state):
        return bytes([1, index, 128 + seq]) + \
            struct.pack(">HB", length, position) + u32(offset)[1:] + \
            bytes([chunk]) + struct.pack(">H", place) + bytes([file, state])

    def ring_entry(index, offset, place, length, file, kind):
        return bytes([2]) + struct.pack(">H", index) + u64(offset, place) + \
            u32(length, file, kind)

    def head(value):
        return bytes([3]) + u64(value)

    def tail(value):
        return bytes([4]) + u64(value)

    def anywhere(at, data):
        return bytes([5]) + u32(at)[1:] + bytes([len(data)]) + data

    token, secret, go = bytes([6]), bytes([7]), bytes([10])

    def session(by):
        return bytes([8, by])

    def memory(which):
        return bytes([9, which])

    def wait(ms):
        return bytes([11, ms])

    def wait_long(s):
        return bytes([12, s])

    def server(bits):
        return bytes([13, bits])

    def step_call(*args):
        return bytes([14]) + call(*args)

    def attack(name, bits, *steps):
        seed("resume", name, bytes([bits]) + b"".join(steps))

    for bits in range(16):
        attack("as-it-should-%d" % bits, bits, go, wait(5), step_call(FSYNC, 0),
               step_call(FSYNC, 1), wait(5), server(0), wait_long(12))
    attack("token", 0, token, go, step_call(FSYNC))
    attack("secret", 0, secret, go, wait_long(100))
    attack("session", other, session(3), go)
    for which, name in enumerate(("swapped", "unsealed", "null", "same",
                                  "none")):
        attack("memory-" + name, 0, memory(which), go)
    attack("head-and-tail", sent, head(1 << 40), tail(7), go)
    attack("tail-behind-head", 0, tail(100), head(3), go)
    attack("ring", 0, ring_entry(3, -1, -1, -1, -1, -1), go)
    attack("ring-other-room", 0, ring_entry(3, 0, 65536 * 63, 100, 0, 1), go)
    attack("list-all-ones", 0, any_entry(0, -1, 0xffffffff, 0xffffffff, -1, -1,
                                         -1, -1), go)
    attack("list-twice-one-seq", 0, near(5, 0, 10, 1, 100, 0, 100, 0, 0), go)
    attack("list-overlaps", sent, *[near(n, n, 100, 1, 50 * n, 1, 100 * n, 0,
                                         n % 3) for n in range(3, 12)], go,
           step_call(FSYNC), wait_long(20))
    attack("list-same-place", hold, *[near(n, n, 100, 1, 5000 * n, 1, 0, 0, 1)
                                      for n in range(3, 6)], go)
    attack("list-across-chunks", 0, near(4, 3, 2, 1, 0, 0, 65535, 0, 0), go)
    attack("list-beyond-memory", 0, near(4, 3, 20, 1, 0, 255, 0, 0, 0), go)
    attack("list-no-such-file", 0, near(4, 3, 20, 1, 0, 1, 0, 9, 0), go,
           step_call(FSYNC))
    attack("list-no-such-state", 0, near(4, 3, 20, 1, 0, 1, 0, 0, 7), go)
    attack("list-empty-entry", 0, near(4, 3, 0, 1, 0, 1, 0, 0, 0), go)
    attack("list-far-offset", 0, any_entry(9, 1, 10, 1, (1 << 63) - 1, 0, 0,
                                           0), go)
    attack("after-it", 0, go, near(0, 9, 100, 200, 0, 9, 9, 1, 1),
           step_call(FSYNC), wait(9), head(1 << 30), wait(9))
    attack("no-magic", 0, anywhere(0, bytes(64)), go)
    attack("marks", other, anywhere(0x4240 + 0x240, b"\xff" * 255), go,
           step_call(WRITE, 0, 0, 500), step_call(FSYNC), wait_long(100))


config()
nfs3()
resume()
rpc()
socket()
ring()
