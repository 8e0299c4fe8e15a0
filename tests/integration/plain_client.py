#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""plain_client.py - a client of nfswbd with nothing but a socket and struct

    plain_client.py SOCKET write TARGET FILE	FILE's bytes to TARGET, fsync
    plain_client.py SOCKET read TARGET		TARGET's bytes to standard output
    plain_client.py SOCKET bad NAME		a message that must not be sent
    plain_client.py SOCKET protocol N	HELLO in another version

Shows what include/nfswb_prot.x means to other languages: record marks, XDR,
HELLO with NFSWB_HELLO_INLINE, then calls with an id each.
"""
import os
import socket
import struct
import sys

PROTOCOL, INLINE, DATA_MAX = 1, 1, 1 << 20
HELLO, OPEN, CLOSE, WRITE, READ, FSYNC, FSTAT = 1, 3, 4, 5, 6, 7, 9
LAST_FRAGMENT = 0x80000000


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


class Session:
    def __init__(self, path):
        self.id = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)

    def hello(self):
        self.call(HELLO, struct.pack(">IIQ", PROTOCOL, INLINE, 0))
        return self

    def send(self, record):
        mark = struct.pack(">I", LAST_FRAGMENT | len(record))
        self.socket.sendall(mark + record)

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise EOFError("the daemon closed the session")
            data += more
        return data

    def receive(self):
        record, last = b"", False
        while not last:
            mark, = struct.unpack(">I", self.exactly(4))
            last = bool(mark & LAST_FRAGMENT)
            record += self.exactly(mark & ~LAST_FRAGMENT)
        return record

    def call(self, kind, args):
        """Sends one call, returns its result's bytes behind the type."""
        self.id += 1
        self.send(struct.pack(">QII", self.id, 0, kind) + args)
        reply = b""
        while not reply:        # an empty record is a bell
            reply = self.receive()
        number, error = struct.unpack(">Qi", reply[:12])
        assert number == self.id, "an answer to another call"
        if error:
            length, = struct.unpack(">I", reply[12:16])
            raise OSError(error, reply[16:16 + length].decode())
        result, = struct.unpack(">I", reply[12:16])
        assert result == kind, "a result of another kind"
        return reply[16:]

    def open(self, target, flags):
        result = self.call(OPEN, opaque(target.encode()) +
                           struct.pack(">iI", flags, 0o644))
        return struct.unpack(">I", result[:4])[0]


def write(session, target, path):
    data = open(path, "rb").read()
    file = session.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for at in range(0, len(data), 700001):
        part, done = data[at:at + 700001], 0
        while done < len(part):
            result = session.call(WRITE, struct.pack(">IQ", file, at + done) +
                                  opaque(part[done:]))
            done += struct.unpack(">I", result)[0]
    session.call(FSYNC, struct.pack(">I", file))
    session.call(CLOSE, struct.pack(">I", file))


def read(session, target):
    file, at, eof = session.open(target, os.O_RDONLY), 0, False
    while not eof:
        result = session.call(READ, struct.pack(">IQQ", file, at, DATA_MAX))
        length, = struct.unpack(">I", result[:4])
        sys.stdout.buffer.write(result[4:4 + length])
        at += length
        eof = result[-1] == 1
    session.call(CLOSE, struct.pack(">I", file))


BAD = {
    "no-hello": lambda s: s.send(struct.pack(">QIII", 1, 0, FSYNC, 1)),
    "too-long": lambda s: s.socket.sendall(
        struct.pack(">I", LAST_FRAGMENT | 0x7fffffff) + b"x" * 100),
    "garbage": lambda s: (s.hello(), s.send(b"\xff" * 64)),
    "cut-short": lambda s: (s.hello(),
                            s.send(struct.pack(">QII", 2, 0, OPEN))),
    "string-too-long": lambda s: (
        s.hello(), s.send(struct.pack(">QIII", 2, 0, OPEN, 0xfffffff0))),
    "second-hello": lambda s: (
        s.hello(), s.send(struct.pack(">QIIIIQ", 2, 0, HELLO, 1, 1, 0))),
    "many-fragments": lambda s: (
        s.hello(), s.socket.sendall(struct.pack(">I", 100000) + b"\0" * 100000
                                    + struct.pack(">I", 0x7ffffff0))),
}


def bad(session, name):
    """Ends well only if the daemon closes this session."""
    try:
        BAD[name](session)
        while True:
            session.receive()
    except (EOFError, ConnectionResetError, BrokenPipeError):
        print("closed")


def main(path, verb, *args):
    session = Session(path)
    if verb == "bad":
        return bad(session, *args)
    if verb == "protocol":
        return session.call(HELLO, struct.pack(">IIQ", int(args[0]), 1, 0))
    session.hello()
    return {"write": write, "read": read}[verb](session, *args)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as e:
        sys.exit("plain_client: %s" % e)
