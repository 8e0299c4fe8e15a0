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

def fattr(kind=1, size=4096):
    return (u32(kind, 0o644, 1, 1000, 1000) + u64(size, size) + u32(8, 1) +
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


config()
nfs3()
rpc()
